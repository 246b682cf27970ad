"""What the commands share."""

import ast
import math
import re
from collections import Counter
from decimal import Decimal, InvalidOperation

import numpy as np
from sklearn.base import BaseEstimator

import skconftree.bounds
import skconftree.tree
from skconftree import ConfidenceTreeClassifier
from skconftree.tree import export_text

from ._options import BOUNDS, CRITERIA, PRUNINGS, meant
from ._text import UserError, counted

# Words, in lower case, that stand for a missing value in columns and in the target:
# those of programs, error values of spreadsheets, and "not available" (or "no answer")
# as English, German and French abbreviate it.
MISSING = {
    *("", "?", "na", "nan", "<na>", "n/a", "null", "none"),
    *("#n/a", "#na", "#nv", "#n/d"),
    *("n.a.", "n. a.", "k.a.", "k. a.", "keine angabe", "n.d.", "n/d"),
}
MISSING_CATEGORY = MISSING - {"none"}  # that is a category among others
# Parameters of the tree that have parameters of their own: public classes, names.
PLUG_INS = {
    "bound": (skconftree.bounds, BOUNDS),
    "pruning": (skconftree.tree, PRUNINGS),
}
# Options that are parameters of the tree, and those that have no part in the result.
NO_PART = {"bound", "delta", "criterion", "set", "run", "data", "verbose", "in_parts"}
NO_PART |= {"output", "plot", "report", "json", "resume", "checkpoint_every"}
NO_PART |= {"chunk_size"}
# More classes than these need so many rows of each on average.
MANY_CLASSES = 100
FEWEST_ROWS_PER_CLASS = 3


def is_missing(text):
    """Whether a text says that there is no value."""
    return text.strip().lower() in MISSING


def as_decimal(text):
    """Finite number that a text is, to the last digit; None if it is none."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def whole_number(text):
    """Integer of 64 bits that a text represents exactly, or None."""
    value = as_decimal(text)
    if value is None or value.adjusted() > 18 or value % 1:
        return None
    value = int(value)
    return value if -(2**63) <= value < 2**63 else None


def typed_labels(texts, target):
    """Convert labels to 64-bit integers if all of them are; refuse measurements."""
    if any("\0" in text for text in texts):  # NumPy would cut it off at an end
        raise UserError(f"target column {target!r} has a label with a zero byte")
    whole = {text: whole_number(text) for text in set(texts)}
    if None not in whole.values():
        return np.array([whole[text] for text in texts], dtype=np.int64)
    values = list(map(as_decimal, whole))
    if None not in values and any(
        value.adjusted() <= 18 and value % 1 for value in values
    ):
        raise UserError(
            f"target column {target!r} holds measurements, not classes; a column of "
            "a few ranges, such as low and high, would do"
        )
    return np.array(texts)


def check_labels_known(found, target, remedy=""):
    """Refuse missing values in the target, given each label with its first row."""
    for text, row in found.items():
        if is_missing(text):
            raise UserError(
                f"target column {target!r} has no value in row {row}"
                f"{missing_word(text)}{remedy}"
            )


def missing_word(label):
    """Say which word stands for the missing value of a target."""
    return f", but {label.strip()!r}" if label.strip() else ""


def check_number_of_classes(n_classes, n_rows, target, remedy=""):
    """Refuse a target whose values are too many for the rows to be classes."""
    if n_classes > MANY_CLASSES and n_rows < FEWEST_ROWS_PER_CLASS * n_classes:
        raise UserError(
            f"target column {target!r} has {n_classes:,} different values in "
            f"{n_rows:,} rows; this predicts classes, not amounts. Make a column with "
            f"a few ranges of them, such as low and high, and predict that{remedy}"
        )


def tree_settings(options):
    """Parameters given for the tree, its bound and its pruning, and the seed."""
    settings = {"delta": options.delta, "criterion": options.criterion}
    settings = {name: value for name, value in settings.items() if value is not None}
    if options.bound is not None:
        _check_name("--bound", options.bound, [*BOUNDS, "none"])
        settings["bound"] = None if options.bound == "none" else options.bound
    if options.criterion is not None:
        _check_name("--criterion", options.criterion, CRITERIA)
    settings["random_state"] = options.seed
    known = sorted(ConfidenceTreeClassifier().get_params())
    for text in options.set:
        name, equals, value = text.partition("=")
        if equals and name not in known and "__" not in name:
            # of scikit-learn, whose counterparts the constructor knows
            try:
                ConfidenceTreeClassifier(**{name: None})
            except TypeError as error:
                if hasattr(error, "counterpart"):
                    raise UserError(f"--set {text!r}: {error}") from error
        if not equals or (name not in known and "__" not in name):
            raise UserError(
                f"--set {text!r} must be NAME=VALUE with NAME one of "
                f"{', '.join(known)}.{meant(name, known)}"
            )
        if name == "categorical_features":
            raise UserError(f"--set {text!r}: name the columns by --nominal")
        if name in settings:
            raise UserError(f"--set {text!r}: {name} is given already")
        try:
            settings[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            settings[name] = value
    make_tree(settings)  # checks the names of the parameters of objects
    return settings


def make_tree(settings, **more):
    """Make a tree of `tree_settings` and of further parameters."""
    parameters = {name: value for name, value in settings.items() if "__" not in name}
    for nested, value in settings.items():
        owner, nests, name = nested.partition("__")
        if nests:
            plug_in = _plug_in(owner, parameters, nested)
            known = sorted(plug_in.get_params())
            if name not in known:
                raise UserError(
                    f"--set {nested}: {type(plug_in).__name__} has the parameters "
                    f"{', '.join(known)}.{meant(name, known)}"
                )
            parameters[owner] = plug_in.set_params(**{name: value})
    return ConfidenceTreeClassifier(**parameters, **more)


def _plug_in(owner, parameters, nested):
    """Object of the bound or the pruning that was named, or is already made."""
    if owner not in PLUG_INS:
        raise UserError(
            f"--set {nested}: only {' and '.join(PLUG_INS)} have parameters of "
            "their own"
        )
    module, names = PLUG_INS[owner]
    given = parameters.get(owner, ConfidenceTreeClassifier().get_params()[owner])
    if isinstance(given, BaseEstimator):
        return given
    if given not in names:
        raise UserError(
            f"--set {nested} needs a {owner}, named by --set {owner}=NAME with NAME "
            f"one of {', '.join(names)}"
        )
    name_of_class = f"{given.replace('_', '')}{owner}"  # but for upper case
    classes = {name.lower(): getattr(module, name) for name in module.__all__}
    return classes[name_of_class]()


def json_settings(options, settings, **more):
    """Options that affect the result, and the parameters given for the tree."""
    shown = {k: v for k, v in vars(options).items() if k not in NO_PART}
    shown |= {k: v for k, v in settings.items() if k != "random_state"}  # the seed
    return as_json(shown | more)


def _check_name(option, name, known):
    if name not in known:
        raise UserError(
            f"{option} {name!r} is none of {', '.join(known)}.{meant(name, known)}"
        )


def with_names(message, features):
    """Name columns of which a message knows the places only."""

    def named(found):
        place = int(found[2])
        if place >= len(features):
            return found[0]
        return f"{found[1]} {features[place]!r}"

    return re.sub(r"\b([Cc]olumn) (\d+)\b", named, message)


def aligned(rows):
    """Lay out rows of cells: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def about(name, n_rows, n_columns, n_classes, n_nominal):
    """Lines that say what a table is."""
    size = f"{counted(n_rows, 'row')}, {counted(n_columns, 'column')}"
    text = f"{name}: {size}, {n_classes} classes"
    return [text, f"nominal columns: {n_nominal}"] if n_nominal else [text]


def duration(seconds):
    """Write a time with three digits or so and its unit."""
    if seconds < 0.9995:
        return f"{1e3 * seconds:.{1 if seconds < 0.1 else 0}f} ms"
    return f"{seconds:.2f} s"


def as_json(value):
    """Turn a value, or those in it, into what JSON has; NaN and inf become null."""
    if isinstance(value, dict):
        return {name: as_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return list(map(as_json, value))
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def with_columns(tree, names):
    """A tree like this one whose columns have such names; None: it takes arrays."""
    return _with_schema(tree, names=names)


def with_dates(tree, kinds):
    """The tree, told which columns are days since 1970-01-01; see `date_kinds`."""
    return tree if kinds is None else _with_schema(tree, dates=kinds)


def with_feature_names(tree, names):
    """Write the tree's parameters, its nominal columns by name."""
    given = tree.categorical_features
    if given is None or isinstance(given, str):  # a rule instead of places
        return repr(tree)
    try:
        tree.categorical_features = [names[place] for place in given]
        return repr(tree)
    finally:
        tree.categorical_features = given


def _with_schema(tree, **changes):
    state, made = tree.__getstate__(), type(tree)()
    schema = {**state["_model"]["schema"], **changes}
    made.__setstate__({**state, "_model": {**state["_model"], "schema": schema}})
    return made


LEVELS = ("overwhelming", "strong", "weak", "none", "distilled")
MAX_LEAVES = 200  # of a tree that is printed whole
TOP = 5


def tree_lines(tree, names, *, verbose=False, unfold="--verbose", whole="", audit=None):
    """Write a tree, weak splits folded unless verbose; of a large one the top.

    `unfold` is what a user of the command line writes to see folded splits, `whole`
    names the options that write all of a large tree.
    """
    n_leaves = tree.get_n_leaves()
    if n_leaves == 1:
        return tree.summary()
    text = export_text(
        tree,
        **names,
        max_depth=None if n_leaves <= MAX_LEAVES else TOP,
        fold_weak=not verbose,
        verbose=verbose,
        audit=audit,
    ).replace("fold_weak=False", unfold)
    if n_leaves <= MAX_LEAVES:
        return text
    return f"{text}\n\n{n_leaves:,} leaves; these are the upper {TOP} levels{whole}"


def count_levels(nodes):
    """How many splits have each level of evidence, in words."""
    counts = Counter(row.evidence.level for row in nodes if row.branches)
    return ", ".join(f"{counts[level]:,} {level}" for level in LEVELS if counts[level])
