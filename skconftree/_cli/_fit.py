"""``skconftree fit``: a confidence tree of a table, compared with CART."""

import os
import textwrap
import warnings

import numpy as np

from .. import __version__, large
from ..tree import export_text, node_table
from ._columns import POINT, left_out, own_notes, unknown_notes
from ._common import (
    about,
    aligned,
    as_json,
    check_labels_known,
    check_number_of_classes,
    json_settings,
    make_tree,
    tree_lines,
    tree_settings,
    typed_labels,
    with_columns,
    with_dates,
    with_feature_names,
    with_names,
)
from ._cross_validation import (
    class_figures,
    classes_table,
    compare,
    majority,
    make_models,
    results_table,
    share,
    tested,
)
from ._files import STANDARD, check_files, write_json
from ._model_file import save
from ._options import BASELINES
from ._readers import ParquetStream, headless, indices_of, listed, open_stream
from ._report import baselines_lines, calibration_sentence, headline, write_report
from ._report_figures import calibration, check_picture, draw_tree
from ._stream import FITTED
from ._table import bundled_table, read_labeled, read_table
from ._text import Progress, UserError, at_words, counted, say

LEFT = {"cart": "CART but not with pruned CART", "none": "neither CART nor pruned CART"}
MAX_FEATURES = 12
LONGEST_NAME = 60
WIDTH = 100
HELD_OUT = "Each row was predicted by a tree that was fitted without it."
IMPORTANCE = "Share of the total impurity decrease of all splits."


def run_fit(options):
    """Do the command; return the exit code."""
    with Progress(verbose=options.verbose) as progress:
        return _run_fit(options, progress)


def _run_fit(options, progress):
    check_files(options, saves_model=True)
    check_picture(options.plot, of_tree=True)
    table = asked_table(options, progress)
    notes = list(table.notes)
    progress.note(*notes)
    counts = np.unique(table.y, return_counts=True)[1]
    if len(counts) < 2:
        raise UserError(f"all rows of {table.name} have the class {table.y[0]}")
    if options.folds > counts.max():
        raise UserError(
            f"--folds {options.folds} is more than the rows of any class "
            f"({counts.max()} at most)"
        )
    if counts.min() < options.folds:
        progress.note(f"a class has {counted(counts.min(), 'row')} only")
    settings = tree_settings(options)
    tree = make_tree(settings, categorical_features=table.nominal or None)
    baselines = options.baselines or next(
        name for name, largest in BASELINES.items() if len(table.y) <= largest
    )
    progress.tell(f"growing a tree on {len(table.y):,} rows")
    notes += _grow(tree, table, progress)
    tree = with_dates(tree, table.dates)
    names = {"feature_names": table.feature_names, "class_names": table.class_names}
    if options.output is not None:
        save_tree(options.output, tree, table, options)
    if options.plot is not None:
        draw_tree(options.plot, tree, names)
    base = majority(table, options.folds, options.seed)
    nodes = node_table(tree, **names)
    # All files are written before anything is printed, as a reader may go away.
    at_once = options.report is None and options.json is None

    def show_summary(found, predicted):
        # before the baselines, which take longer
        classes = class_figures(table.y, predicted)
        progress.clear()
        lines = headline(found, base, classes, nodes)
        say(f"{summary(table)}\n\n{_wrapped(lines)}")

    test = None
    if options.test is not None:
        test = _tested(options, table, tree, progress)
    models = make_models(tree, baselines, options.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said of the whole table already
        found, predicted, sure, late = compare(
            table,
            models,
            options.folds,
            options.seed,
            progress,
            options.budget,
            show_summary if at_once else None,
        )
    progress.clear()
    classes = class_figures(table.y, predicted)
    groups = calibration(sure, predicted == table.y)
    sentences = [*headline(found, base, classes, nodes), *baselines_lines(found)]
    if options.report is not None:
        # a page that is sent says nothing of the folders here
        bare = table._replace(name=os.path.basename(table.name))
        told = {
            "sentences": sentences,
            "about": summary(bare).replace("\n", "; "),
            "tested": f"{options.folds}-fold cross-validation",
            "classes": classes,
            "test": test and {"name": options.test, **test},
            "calibration": groups,
            "found": found,
            "base": base,
            "remarks": remarks(found, late, options, baselines, table.nominal),
            "notes": notes,
            "settings": with_feature_names(tree, table.feature_names),
        }
        write_report(options.report, table, tree, names, told)
    if options.json is not None:
        shown = json_settings(options, settings, baselines=baselines)
        report = {
            "version": __version__,
            "data": {
                "name": table.name,
                "rows": len(table.y),
                "features": table.feature_names,
                "classes": table.class_names,
                "notes": notes,
            },
            "settings": shown,
            "cross_validation": found,
            "tree": {
                "leaves": int(tree.get_n_leaves()),
                "text": export_text(tree, **names, fold_weak=False),
                "nodes": tree_nodes(tree, names),
            },
        }
        report["cross_validation_not_finished"] = late
        report["majority"] = {"share": base[0], "class": base[2], "log_loss": base[1]}
        report["classes"] = as_json(classes)
        if test is not None:
            report["test"] = as_json(test)
        write_json(options.json, report)
    if options.json != STANDARD:
        if not at_once:
            show_summary(found, predicted)
        compared = baselines_lines(found)
        if compared:
            say(_wrapped(compared))
        parts = [
            section("Tree", tree_text(tree, names, options)),
            *tables(found, base, classes, late, options, baselines, table.nominal),
            section("Feature importance", importance_table(tree, names)),
            section("Calibration", calibration_table(groups)),
        ]
        if test is not None:
            parts.append(section_of_test(options.test, test))
        say("\n" + "\n\n".join(parts))
        if options.output is not None:
            say(saved_text(options.output))
    return 0


def _grow(tree, table, progress):
    """Fit the tree; tell and return what it warns of, with the names of columns."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tree.fit(table.X, table.y)
    except ValueError as error:
        raise UserError(with_names(str(error), table.feature_names)) from error
    notes = [with_names(str(one.message), table.feature_names) for one in caught]
    progress.note(*notes)
    return notes


def _tested(options, table, tree, progress):
    X, labels, notes = read_labeled(
        options,
        options.test,
        table.feature_names,
        table.readings,
        progress,
        options.target,
        table.dialect._replace(decimal=options.decimal),
    )
    notes += unknown_notes(X, table.feature_names, tree.categories_)
    progress.note(*(f"{options.test}: {note}" for note in notes))
    y = typed_labels(labels, options.target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said with more words already
        return tested(tree, X, y.astype(np.result_type(y, table.y)))


def save_tree(path, tree, table, options):
    """Save a tree, with what is needed to read other tables as this one."""
    facts = {
        "kind": FITTED,
        "version": __version__,
        "target": options.target,
        "--decimal": options.decimal,
        "delimiter": table.dialect.delimiter,
        "features": table.feature_names,
        "readings": [one and one.name for one in table.readings],
    }
    # The tree is given arrays, which have no names; who loads it wants them.
    save(path, with_columns(tree, np.array(table.feature_names, dtype=object)), facts)


def asked_table(options, progress):
    """Return the table that the command is about."""
    if options.data is not None:
        if options.target is None:
            with open_stream(options.data, None, options) as stream:
                hint = headless(stream, stream.lookahead())
            raise UserError(
                f"say which column of {options.data} to predict: --target COLUMN, with "
                f"one of {listed(stream.features)}{hint and f'. {hint}'}"
            )
        return read_table(options, progress)
    for option in ("nominal", "numeric", "drop", "target", "test"):
        if getattr(options, option):
            raise UserError(
                f"--{option} needs a table to look in; - reads one from standard input"
            )
    return bundled_table()


def summary(table):
    """Say what the table is."""
    n_columns, n_classes = len(table.feature_names), len(table.class_names)
    lines = about(table.name, len(table.y), n_columns, n_classes, len(table.nominal))
    return "\n".join(lines)


def saved_text(path):
    """Say where a model is."""
    return f"\nSaved in {path}; `skconftree predict {path} DATA` predicts."


def tree_text(tree, names, options):
    """The tree, or its upper levels."""
    whole = "" if options.in_parts else "; --json and --report have all"
    text = tree_lines(tree, names, verbose=options.verbose, whole=whole)
    if options.verbose:
        return f"{with_feature_names(tree, names['feature_names'])}\n\n{text}"
    return text


def _lines(text):
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _wrapped(lines):
    return "\n".join(part for one in lines for part in _lines(one))


def section(heading, text):
    """A part of what is printed, under a heading."""
    return f"{heading}\n{'-' * len(heading)}\n{text}"


def tables(found, base, classes, late, options, baselines, nominal):
    """Write the figures of cross-validation."""
    searched = " (of pruned CART including the search)"
    text = [
        results_table(found, base),
        "",
        f"Means over {options.folds} folds. SE: standard error of the accuracy, in "
        f"points.\nFit time: CPU time{searched * (baselines == 'all' and not late)}.",
        _wrapped(remarks(found, late, options, baselines, nominal)),
    ]
    yield section("Cross-validation", "\n".join(text).rstrip())
    yield section("Confusion matrix", f"{classes_table(classes)}\n\n{HELD_OUT}")


def importance_table(tree, names):
    """Write the importance of the features that the tree uses, largest first."""
    values = tree.feature_importances_
    order = [j for j in np.argsort(-values, kind="stable") if values[j] > 0.0]
    if not order:
        return "The tree is a single leaf."
    rows = [
        (at_words(names["feature_names"][j], LONGEST_NAME), f"{values[j]:.3f}")
        for j in order[:MAX_FEATURES]
    ]
    left_out = len(order) - len(rows)
    more = f"\nand {counted(left_out, 'further feature')}" if left_out else ""
    return f"{aligned(rows)}{more}\n\n{IMPORTANCE}"


def calibration_table(groups):
    """Write accuracy by predicted probability."""
    rows = [("predicted probability", "accuracy", "rows")]
    rows += [(share(sure), share(right), f"{n:,}") for sure, right, n in groups]
    return f"{aligned(rows)}\n\n{_wrapped([calibration_sentence(groups)])}"


def section_of_test(name, test):
    """Write the figures of the table of --test."""
    loss = f", log loss {test['log_loss']:.3f}" if test["log_loss"] >= 0.0 else ""
    text = (
        f"{counted(test['n_rows'], 'row')}: accuracy {share(test['accuracy'])}{loss}"
        f"\n\n{classes_table(test)}"
    )
    return section(f"Test table {name}", text)


def remarks(found, late, options, baselines, nominal):
    """Say what has to be known about the comparison."""
    lines = []
    if "CART" in found and nominal:
        lines.append("CART gets one column per category (one-hot encoding).")
    if late:
        lines.append(
            f"{' and '.join(late)}: not finished within {options.budget:g} s of CPU "
            "time (--budget)."
        )
    if options.baselines is None and baselines != "all":
        lines.append(
            f"A table of this size is compared with {LEFT[baselines]}; "
            "`--baselines all` runs both."
        )
    return lines


def tree_nodes(tree, names):
    """Describe every node of a fitted tree, evidence included."""
    nodes = []
    for row in node_table(tree, **names):
        counts = zip(names["class_names"], row.counts, strict=True)
        described = {
            "id": row.node,
            "parent": row.parent,
            "depth": row.depth,
            "class": row.label,
            "counts": {name: as_json(count) for name, count in counts},
            "probability": as_json(max(row.value)),
        }
        if row.branches:
            described |= {
                "feature": row.name,
                "test": row.test,
                "threshold": as_json(row.threshold),
                "children": [branch.node for branch in row.branches],
                "evidence": {
                    name: as_json(value)
                    for name, value in row.evidence.applying().items()
                },
            }
            if row.keeps_unknown:
                described["categories"] = [one.categories for one in row.branches]
            elif row.missing_seen:
                (described["missing"],) = (
                    one.node for one in row.branches if one.takes_missing
                )
        nodes.append(described)
    return nodes


BINS = 255
# What looks at the rows of a table in memory, or reads its texts in another way.
REFUSED = (
    *("test", "report", "json", "baselines", "skip_missing"),
    *("nominal", "numeric", "decimal", "dates"),
)


def run_in_parts(options):
    """Do the command; return the exit code."""
    with Progress(verbose=options.verbose) as progress:
        for name in REFUSED:
            if getattr(options, name):
                raise UserError(
                    f"--{name.replace('_', '-')} needs the table in memory, and "
                    "--in-parts does not have it there"
                )
        if options.data is None or options.target is None:
            raise UserError("--in-parts needs a table in a Parquet file, and --target")
        check_files(options, saves_model=True)
        check_picture(options.plot, of_tree=True)
        tree = make_tree({"max_bins": BINS} | tree_settings(options))
        progress.tell(f"reading {options.data} and growing a tree")
        progress.note(*_fit(tree, options))
        progress.clear()
        _finish(tree, options)
    return 0


def _fit(tree, options):
    """Fit the tree; give what it warns of."""
    with ParquetStream(options.data, options.target) as stream:
        ours = left_out(stream, options.drop)
        out = set(indices_of([*options.drop, *ours], stream.features, "--drop"))
        columns = [name for j, name in enumerate(stream.features) if j not in out]
        guesses = dict(zip(stream.features, stream.lookahead(), strict=True))
        notes = [
            f"column {name!r}: strings such as these are numbers or dates to `fit` "
            "without --in-parts, and are categories here; write numbers to the file"
            for name in columns
            if stream.holds_texts(name) and guesses[name].reading is not None
        ]
    if not columns:
        raise UserError("--drop leaves no column to learn from")
    # a target that is not one of classes is refused before the work on the others
    with ParquetStream(options.data, options.target) as stream:
        labels = stream.labels()
        check_labels_known(labels, options.target)
        check_number_of_classes(len(labels), stream.n_rows, options.target)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            large.fit(tree, options.data, target=options.target, columns=columns)
    except (ValueError, OSError, RuntimeError) as error:
        raise UserError(str(error)) from error
    if len(tree.classes_) < 2:
        raise UserError(f"all rows of {options.data} have the class {tree.classes_[0]}")
    return [*own_notes(ours), *notes, *(str(one.message) for one in caught)]


def _finish(tree, options):
    """Write the files, then print."""
    names = tree.feature_names_in_.tolist()
    shown = {"feature_names": names, "class_names": [str(one) for one in tree.classes_]}
    if options.output is not None:
        nominal = tree.is_categorical_
        facts = {
            "kind": FITTED,
            "version": __version__,
            "target": options.target,
            "features": names,
            "readings": [
                None if nominal is not None and nominal[j] else POINT.name
                for j in range(len(names))
            ],
        }
        save(options.output, tree, facts)
    if options.plot is not None:
        draw_tree(options.plot, tree, shown)
    say(
        f"{options.data}: {tree.n_rows_seen_} rows, {len(names)} columns, "
        f"{len(tree.classes_)} classes, in parts\n\n{tree_text(tree, shown, options)}"
    )
    if options.output is not None:
        say(saved_text(options.output))
