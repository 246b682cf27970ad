"""Functions shared by the commands.

A *bound* is the rule that accepts or rejects a candidate split, with the threshold
`delta`. The *evidence* for a split is the number of candidate splits that would look as
good by chance. A partially linear tree adds a linear *score* of the columns to the
values of its leaves. The *schema* of a model has the names, types and categories of its
columns. The other options of the commands are explained in `_options`.
"""

import ast
import math
import re
from collections import Counter
from decimal import Decimal, InvalidOperation

import numpy as np
from sklearn.base import BaseEstimator

import skconftree.bounds
import skconftree.tree
from skconftree import ConfidenceTreeClassifier, PartiallyLinearTreeClassifier
from skconftree.tree import export_text

from ._options import BOUNDS, CRITERIA, PRUNINGS, did_you_mean
from ._text import UserError, counted

# Texts, in lower case, that denote a missing value in columns and in the target: those
# of programs, error values of spreadsheets, and abbreviations of "not available" or "no
# answer" in English, German and French.
MISSING = {
    *("", "?", "na", "nan", "<na>", "n/a", "null", "none"),
    *("#n/a", "#na", "#nv", "#n/d"),
    *("n.a.", "n. a.", "k.a.", "k. a.", "keine angabe", "n.d.", "n/d"),
}
MISSING_CATEGORY = MISSING - {"none"}  # "none" can be a category
# Parameters of the tree that are estimators with parameters of their own: the module of
# their classes, and the names that the tree accepts for them.
NESTED_ESTIMATORS = {
    "bound": (skconftree.bounds, BOUNDS),
    "pruning": (skconftree.tree, PRUNINGS),
}
# Options that are not reported separately: they are reported as parameters of the tree,
# or do not affect the result.
IRRELEVANT_OPTIONS = set(
    "bound delta criterion set run data verbose in_parts output plot report json "
    "resume checkpoint_every chunk_size append position predictions alarms source "
    "known_columns".split()
)
# More than MANY_CLASSES classes require this mean number of rows per class.
MANY_CLASSES = 100
MIN_ROWS_PER_CLASS = 3


def is_missing(text):
    """Whether a text denotes a missing value."""
    return text.strip().lower() in MISSING


def parse_decimal(text):
    """Parse a finite number without rounding; None if the text is not a number."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def parse_int64(text):
    """Parse a text that exactly represents a 64-bit integer; None for other texts."""
    value = parse_decimal(text)
    if value is None or value.adjusted() > 18 or value % 1:
        return None
    value = int(value)
    return value if -(2**63) <= value < 2**63 else None


def typed_labels(texts, target):
    """Convert labels to int64 if all are integers; UserError for decimal fractions."""
    if any("\0" in text for text in texts):  # NumPy strips trailing zero bytes
        raise UserError(
            f"target column {target!r} has a label with a zero byte; remove it from "
            "the labels"
        )
    integers = {text: parse_int64(text) for text in set(texts)}
    if None not in integers.values():
        return np.array([integers[text] for text in texts], dtype=np.int64)
    values = list(map(parse_decimal, integers))
    fractions = [
        value
        for value in values
        if value is not None and value.adjusted() <= 18 and value % 1
    ]
    if fractions and None not in values:
        raise UserError(
            f"target column {target!r} has amounts such as {min(fractions)}, not "
            "classes; use a column of a few ranges, such as low and high"
        )
    return np.array(texts)


def check_labels_known(first_rows, target, remedy=""):
    """Raise UserError if a label is missing. `first_rows` maps labels to rows."""
    for text, row in first_rows.items():
        if is_missing(text):
            raise UserError(f"{missing_label(target, row, text)}{remedy}")


def missing_label(target, row, text):
    """Describe a missing label, for an error message."""
    if not text.strip():
        return f"target column {target!r} has no value in row {row}"
    return (
        f"target column {target!r} has {text.strip()!r} in row {row}, which counts as "
        "missing"
    )


def check_number_of_classes(n_classes, n_rows, target, remedy=""):
    """Raise UserError if a target has too many different values to be classes."""
    if n_classes > MANY_CLASSES and n_rows < MIN_ROWS_PER_CLASS * n_classes:
        raise UserError(
            f"target column {target!r} has {n_classes:,} different values in "
            f"{n_rows:,} rows; this predicts classes, not amounts. Make a column with "
            f"a few ranges, such as low and high, and predict that column{remedy}"
        )


def tree_settings(options):
    """Return the options that are parameters of the tree, its bound and pruning."""
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
            # the constructor suggests counterparts of scikit-learn's parameters
            try:
                ConfidenceTreeClassifier(**{name: None})
            except TypeError as error:
                if hasattr(error, "counterpart"):
                    raise UserError(f"--set {text!r}: {error}") from error
        if not equals or (name not in known and "__" not in name):
            raise UserError(
                f"--set {text!r} must be NAME=VALUE with NAME one of "
                f"{', '.join(known)}.{did_you_mean(name, known)}"
            )
        if name == "categorical_features":
            raise UserError(f"--set {text!r}: use --nominal to name the columns")
        if name in settings:
            raise UserError(f"--set {text!r}: {name} is given twice")
        try:
            settings[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            settings[name] = value
    make_tree(settings)  # checks the names of the parameters of objects
    return settings


def make_tree(settings, **more):
    """Create a tree from `tree_settings` and further parameters."""
    parameters = {name: value for name, value in settings.items() if "__" not in name}
    for nested, value in settings.items():
        owner, separator, name = nested.partition("__")
        if separator:
            estimator = _nested_estimator(owner, parameters, nested)
            known = sorted(estimator.get_params())
            if name not in known:
                raise UserError(
                    f"--set {nested}: {type(estimator).__name__} has the parameters "
                    f"{', '.join(known)}.{did_you_mean(name, known)}"
                )
            parameters[owner] = estimator.set_params(**{name: value})
    return ConfidenceTreeClassifier(**parameters, **more)


def _nested_estimator(owner, parameters, nested):
    """Return a bound or pruning as an object, created from its name if needed."""
    if owner not in NESTED_ESTIMATORS:
        raise UserError(
            f"--set {nested}: only {' and '.join(NESTED_ESTIMATORS)} have nested "
            "parameters"
        )
    module, names = NESTED_ESTIMATORS[owner]
    value = parameters.get(owner, ConfidenceTreeClassifier().get_params()[owner])
    if isinstance(value, BaseEstimator):
        return value
    if value not in names:
        raise UserError(
            f"--set {nested} needs a {owner}, named by --set {owner}=NAME with NAME "
            f"one of {', '.join(names)}"
        )
    class_name = f"{value.replace('_', '')}{owner}"  # in lower case
    classes = {name.lower(): getattr(module, name) for name in module.__all__}
    return classes[class_name]()


def tree_of(model):
    """Return the tree of a model with a linear score, or the tree itself."""
    return model.tree_ if isinstance(model, PartiallyLinearTreeClassifier) else model


def categories_of(model):
    """Return the categories of each column of a model; None without any."""
    return getattr(tree_of(model), "categories_", None)


def has_score(model):
    """Whether a model has a linear score that cross-validation did not remove."""
    return model is not tree_of(model) and model.coef_.shape[1] > 0


def json_settings(options, settings, **more):
    """Return the options that affect the result, and the parameters of the tree."""
    shown = {k: v for k, v in vars(options).items() if k not in IRRELEVANT_OPTIONS}
    shown |= {k: v for k, v in settings.items() if k != "random_state"}  # the seed
    return as_json(shown | more)


def _check_name(option, name, known):
    if name not in known:
        raise UserError(
            f"{option} must be one of {', '.join(known)}, not {name!r}."
            f"{did_you_mean(name, known)}"
        )


def with_names(message, features):
    """Replace column numbers in a message by column names."""

    def named(match):
        index = int(match[2])
        if index >= len(features):
            return match[0]
        return f"{match[1]} {features[index]!r}"

    return re.sub(r"\b([Cc]olumn) (\d+)\b", named, message)


def aligned(rows):
    """Format rows of cells: first column left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def table_lines(name, n_rows, n_columns, n_classes, n_nominal):
    """Describe a table in one or two lines."""
    size = f"{counted(n_rows, 'row')}, {counted(n_columns, 'column')}"
    text = f"{name}: {size}, {n_classes} classes"
    return [text, f"nominal columns: {n_nominal}"] if n_nominal else [text]


def duration(seconds):
    """Format a duration with about three digits and its unit."""
    if seconds < 0.9995:
        return f"{1e3 * seconds:.{1 if seconds < 0.1 else 0}f} ms"
    return f"{seconds:.2f} s"


def as_json(value):
    """Convert a value to JSON types; NaN and infinity become None."""
    if isinstance(value, dict):
        return {name: as_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return list(map(as_json, value))
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def with_columns(tree, names):
    """Return a copy of a tree with column names; None removes them."""
    return _with_schema(tree, names=names)


def with_dates(tree, kinds):
    """Return a copy of the tree that prints columns of dates as dates.

    `kinds` is the result of `date_types` of `_columns`.
    """
    return tree if kinds is None else _with_schema(tree, dates=kinds)


def with_feature_names(tree, names):
    """Format the parameters of the tree, with names of its nominal columns."""
    owner = tree if tree_of(tree) is tree else tree.tree
    features = owner.categorical_features
    if features is None or isinstance(features, str):  # a rule instead of indices
        return repr(tree)
    try:
        owner.categorical_features = [names[index] for index in features]
        return repr(tree)
    finally:
        owner.categorical_features = features


def _with_schema(tree, **changes):
    # Returns a copy of a tree with a changed schema, for example without column names.
    copy = type(tree)()
    copy.__setstate__(_changed_schema(tree.__getstate__(), changes))
    return copy


def _changed_schema(state, changes):
    model = state["_model"]
    model = {**model, "schema": {**model["schema"], **changes}}
    if "score" in model:  # a linear score has a tree
        model["tree"] = _changed_schema(model["tree"], changes)
    return {**state, "_model": model}


# Levels of evidence of a split: categories of its adjusted p-value, or "distilled" in a
# surrogate tree.
LEVELS = ("overwhelming", "strong", "weak", "none", "distilled")
MAX_LEAVES = 200  # of a tree that is printed completely
MAX_PRINTED_LEVELS = 5


def tree_lines(
    tree,
    names,
    *,
    verbose=False,
    unfold_option="--verbose",
    full_tree_hint="",
    audit=None,
):
    """Format a tree, or only the upper levels of a large one.

    Unless verbose, subtrees without strong splits are folded, that is, shown as one
    line. `unfold_option` is the option that shows them. `full_tree_hint` names the
    options that write a large tree completely. `audit` is a result of `audit_splits`.
    """
    n_leaves = tree_of(tree).get_n_leaves()
    if n_leaves == 1 and not has_score(tree):
        tree = tree_of(tree)
        return tree.summary()
    text = export_text(
        tree,
        **names,
        max_depth=None if n_leaves <= MAX_LEAVES else MAX_PRINTED_LEVELS,
        fold_weak=not verbose,
        verbose=verbose,
        audit=audit,
    ).replace("fold_weak=False", unfold_option)
    if n_leaves <= MAX_LEAVES:
        return text
    levels = f"these are the upper {MAX_PRINTED_LEVELS} levels{full_tree_hint}"
    return f"{text}\n\n{n_leaves:,} leaves; {levels}"


def count_levels(nodes):
    """Return the number of splits per level of evidence, as text."""
    counts = Counter(row.evidence.level for row in nodes if row.branches)
    return ", ".join(f"{counts[level]:,} {level}" for level in LEVELS if counts[level])
