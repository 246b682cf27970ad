"""``skconftree fit``: fit a confidence tree to a table and compare it with CART.

A confidence tree only splits a node if the split has enough *evidence*: the number of
candidate splits that would look as good by chance is small. Nodes are records of
`tree.node_table`: split, branches, class counts and evidence. A partially linear tree
adds a linear *score* of the columns to the values of its leaves. With `--in-parts`, the
file is read in parts, because it may be larger than memory. `lookahead` infers the
types of the columns from the first rows. The *dialect* of a file is its delimiter,
decimal sign and encoding. The path STANDARD is "-", standard input or output.
"""

import textwrap
import time
import warnings
from itertools import chain, islice

import numpy as np
from sklearn.model_selection import StratifiedKFold

from .. import PartiallyLinearTreeClassifier, __version__, large
from ..tree import export_text, node_table
from ..utils import save

# POINT: parser of numbers with a decimal point; UnknownCategories: counts rows with
# categories that the tree has not seen, for notes
from ._columns import POINT, UnknownCategories, excluded_notes
from ._common import (
    aligned,
    as_json,
    check_number_of_classes,
    has_score,
    is_missing,
    json_settings,
    make_tree,
    missing_label,
    tree_lines,
    tree_of,
    tree_settings,
    typed_labels,
    with_columns,
    with_dates,
    with_feature_names,
    with_names,
)
from ._cross_validation import (
    OUR_MODEL,
    Validated,
    class_metrics,
    classes_table,
    compare,
    majority,
    make_models,
    results_rows,
    share,
    tested_sentence,
)
from ._files import STANDARD, check_files, write_json
from ._options import BASELINES
from ._readers import (
    Dialect,
    indices_of,
    is_parquet,
    listed,
    missing_header_note,
)
from ._report import (
    MAX_COLUMNS,
    Fitted,
    ShownRows,
    base_name,
    baselines_lines,
    calibration_sentence,
    headline,
    splits_by_column,
    write_report,
)
from ._report_figures import calibration, check_picture, draw_tree
from ._sources import files_of, open_selected, open_stream
from ._stream import FITTED
from ._table import (
    ModelColumns,
    bundled_table,
    read_table,
)
from ._text import UserError, counted, say, shorten

SKIPPED_BASELINES = {
    "cart": "CART but not with pruned CART",
    "none": "neither CART nor pruned CART",
}
N_FOLDS = 10
MIN_PROBA = 1e-15  # in log losses
MAX_FEATURES = 12
MAX_NAME_CHARACTERS = 60
WIDTH = 100
HELD_OUT = "Each row was predicted by a tree that was fitted without it."
IMPORTANCE = "Share of the total impurity decrease of all splits."


def run_fit(options, progress):
    """Run ``skconftree fit`` and return the exit code."""
    if options.in_parts:
        return _run_in_parts(options, progress)
    options.folds = options.folds or N_FOLDS
    check_files(options, saves_model=True)
    check_picture(options.plot, of_tree=True)
    table = input_table(options, progress)
    notes = list(table.notes)
    progress.note(*notes)
    classes, counts = np.unique(table.y, return_counts=True)
    if len(counts) < 2:
        raise UserError(
            f"all rows of {table.name} have the class {table.y[0]}; a tree needs at "
            "least two classes"
        )
    if options.folds > counts.max():
        raise UserError(
            f"--folds {options.folds} is more than the number of rows of each class, "
            f"at most {counts.max()}; use fewer folds"
        )
    if counts.min() < options.folds:
        rarest = classes.tolist()[counts.argmin()]
        progress.note(
            f"class {rarest!r} has only {counted(counts.min(), 'row')} for "
            f"{options.folds} folds"
        )
    settings = tree_settings(options)
    tree = make_tree(settings, categorical_features=table.nominal or None)
    model = _with_linear(tree, table, options)
    # which kinds of CART to compare with, by the number of rows
    baselines = options.baselines or next(
        name for name, largest in BASELINES.items() if len(table.y) <= largest
    )
    progress.update(f"growing a tree on {len(table.y):,} rows")
    notes += _grow(model, table, progress)
    model = with_dates(model, table.dates)
    tree = tree_of(model)
    names = {"feature_names": table.feature_names, "class_names": table.class_names}
    if options.output is not None:
        _save_tree(model, table.feature_names, table.parsers, table.dialect, options)
    if options.plot is not None:
        draw_tree(options.plot, tree, names)
    baseline = majority(table.y)  # frequency, log loss, class
    nodes = node_table(tree, **names)
    fitted = Fitted(
        *(table.name, len(table.y), tree, names, len(table.nominal), notes), model=model
    )
    # All files are written before printing, because the reader of a pipe may close it.
    at_once = options.report is None and options.json is None

    def show_summary(results, predicted):
        # printed before the baselines, which take longer
        classes = class_metrics(table.y, predicted)
        progress.clear()
        lines = headline(results, baseline, classes, nodes)
        say("\n".join([*fitted.lines(), "", _wrapped(lines)]))

    if options.test is not None:
        # the saved model reads other tables with the same decimal sign
        like = table.dialect._replace(decimal=options.decimal)
        test = _tested(fitted, table.parsers, options, progress, like)
        fitted = fitted._replace(test=test)
    models = make_models(model, baselines, options.seed)
    with warnings.catch_warnings(action="ignore"):  # shown for the whole table already
        results, predicted, confidence, unfinished = compare(
            table,
            models,
            options.folds,
            options.seed,
            progress,
            options.budget,
            show_summary if at_once else None,
        )
    progress.clear()
    fitted = fitted._replace(
        validated=Validated(
            results,
            baseline,
            class_metrics(table.y, predicted),
            calibration(confidence, predicted == table.y),
            unfinished,
            remarks(results, unfinished, options, baselines, table.nominal),
        )
    )

    def all_rows():
        codes = np.unique(table.y, return_inverse=True)[1]
        return ShownRows(table.X.T, codes, table.parsers, table.dates)

    _write_files(options, fitted, {**settings, "baselines": baselines}, all_rows)
    if options.json != STANDARD:
        if not at_once:
            show_summary(results, predicted)
        compared = baselines_lines(results)
        if compared:
            say(_wrapped(compared))
        say("\n" + "\n\n".join(_sections(fitted, options, baselines)))
        _say_saved(options)
    return 0


def _write_files(options, fitted, settings, rows):
    """Write the files of --report, with `rows()`, and of --json."""
    tested = fitted.test and {"name": base_name(options.test), **fitted.test}
    if options.report is not None:
        write_report(options.report, fitted._replace(test=tested), rows())
    if options.json is None:
        return
    tree, names, validated = fitted.tree, fitted.names, fitted.validated
    report = {
        "version": __version__,
        "data": {
            "name": fitted.name,
            "rows": fitted.n_rows,
            "features": names["feature_names"],
            "classes": names["class_names"],
            "notes": fitted.notes,
        },
        "settings": json_settings(options, settings),
        "tree": {
            "leaves": int(tree.get_n_leaves()),
            "text": export_text(fitted.model, **names, fold_weak=False),
            "nodes": tree_nodes(tree, names),
        },
    }
    if has_score(fitted.model):
        report["linear_score"] = _score_json(fitted.model, names)
    if validated is not None:
        frequency, loss, largest = validated.baseline
        report |= {
            "cross_validation": validated.results,
            "cross_validation_not_finished": validated.unfinished,
            "majority": {"share": frequency, "class": largest, "log_loss": loss},
            "classes": as_json(validated.classes),
        }
    if fitted.test is not None:
        report["test"] = as_json(fitted.test)
    write_json(options.json, report)


def _sections(fitted, options, baselines):
    """Yield the sections of the output."""
    tree, names, validated = fitted.tree, fitted.names, fitted.validated
    yield section("Tree", tree_text(fitted.model, names, options))
    if validated is not None:
        yield from tables(validated, options, baselines)
        yield section("Feature importance", importance_table(tree, names))
        yield section("Calibration", calibration_table(validated.calibration))
    if fitted.test is not None:
        text = f"{tested_sentence(fitted.test)}\n\n{classes_table(fitted.test)}"
        yield section(f"Test table {options.test}", text)


def _say_saved(options):
    if options.output is not None:
        path = options.output
        say(f"\nSaved in {path}. Predict with `skconftree predict {path} DATA`.")


def _grow(tree, table, progress):
    """Fit the tree; report its warnings, with column names, and return them."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tree.fit(table.X, table.y)
    except ValueError as error:
        raise UserError(with_names(str(error), table.feature_names)) from error
    notes = [with_names(str(w.message), table.feature_names) for w in caught]
    # a partially linear model, whose tree is `tree_of(tree)`, without a linear score
    if tree_of(tree) is not tree and not has_score(tree):
        alone, with_score = tree.cv_log_loss_
        notes.append(
            f"the linear score was dropped: the cross-validated log loss with it is "
            f"{with_score:.3f}, and that of the tree alone {alone:.3f}"
        )
    progress.note(*notes)
    return notes


def _with_linear(tree, table, options):
    """Return an estimator with a linear score if --linear asks for one."""
    n_columns, n_features = options.linear, len(table.feature_names)
    if n_columns is None:
        return tree
    if n_columns not in ("all", "auto") and n_columns > n_features:
        raise UserError(
            f"--linear {n_columns} is more than the number of columns, {n_features}; "
            "use --linear all"
        )
    return PartiallyLinearTreeClassifier(
        tree,
        n_linear_features=None if n_columns == "all" else n_columns,
        random_state=options.seed,
    )


def _score_json(model, names):
    """Describe the linear score: its terms, and the constants of leaves."""
    columns = names["feature_names"]
    terms = [term._asdict() for term in model.terms_]
    return as_json(
        {
            # of the scores; of two classes, only the second one has a score
            "classes": names["class_names"][-len(model.coef_) :],
            "intercept": model.intercept_,
            "terms": [t | {"column": columns[t["column"]]} for t in terms],
            "leaves": [leaf._asdict() for leaf in model.leaves_],
            "cross_validated_log_loss": dict(
                zip(("tree", "with_score"), model.cv_log_loss_, strict=True)
            ),
        }
    )


def _labeled_rows(path, fitted, parsers, options, progress, like=None, used=None):
    """Yield columns, labels and row indices of labeled rows, chunk by chunk.

    `like` is the dialect unless options specify another. `used` are the indices of the
    columns; None means all, with notes on them.
    """
    tree, features = fitted.tree, fitted.names["feature_names"]
    indices = range(len(features)) if used is None else used
    with open_stream(path, options.target, options, like) as stream:
        columns = ModelColumns(
            options,
            stream,
            [features[j] for j in indices],
            [parsers[j] for j in indices],
            options.target,
            UnknownCategories(features, tree.categories_) if used is None else None,
        )
        for X, texts, rows in columns.labeled(progress, options.skip_missing):
            y = np.array(texts)
            if tree.classes_.dtype.kind in "iu":
                y = typed_labels(texts, options.target)
            yield X, y, rows
    if used is None:
        progress.note(*(f"{path}: {note}" for note in columns.notes))


def _tested(fitted, parsers, options, progress, like=None):
    """Test the tree on the table of --test, chunk by chunk."""
    classes = fitted.tree.classes_
    index = {label: code for code, label in enumerate(classes.tolist())}
    # without column names, because the chunks are arrays
    model, true, predicted, losses = with_columns(fitted.model, names=None), [], [], []
    chunks = _labeled_rows(options.test, fitted, parsers, options, progress, like)
    with warnings.catch_warnings(action="ignore"):  # the notes contain the warnings
        for X, y, _ in chunks:
            proba = model.predict_proba(X)
            codes = np.array([index.get(label, -1) for label in y.tolist()])
            proba_true = proba[np.arange(len(codes)), codes].clip(MIN_PROBA)
            losses.append(np.where(codes < 0, np.nan, -np.log(proba_true)))
            true.append(y)
            predicted.append(classes[proba.argmax(axis=1)])
        true, predicted = map(np.concatenate, (true, predicted))
        kind = np.result_type(true, predicted)
        true, predicted = true.astype(kind), predicted.astype(kind)
        return {
            "n_rows": len(true),
            "accuracy": float((predicted == true).mean()),
            "log_loss": float(np.concatenate(losses).mean()),
            **class_metrics(true, predicted),
        }


def _save_tree(tree, features, parsers, dialect, options):
    """Save a tree, with the metadata to read other tables in the same way.

    The readings are the names of the parsers of the columns.
    """
    metadata = {
        "kind": FITTED,  # not by `stream`, which can resume its models
        "target": options.target,
        "--decimal": options.decimal,
        "delimiter": dialect.delimiter,
        "features": features,
        "readings": [parser and parser.name for parser in parsers],
    }
    # A tree that was fitted to an array is saved with column names.
    tree = with_columns(tree, np.array(features, dtype=object))
    save(options.output, tree, metadata)


def input_table(options, progress):
    """Return the table of the command, or the example table."""
    if options.data is not None:
        if options.target is None:
            with open_stream(options.data, target=None, options=options) as stream:
                hint = missing_header_note(stream, stream.lookahead())
            raise UserError(
                f"--target COLUMN is missing; choose the column of {options.data} to "
                f"predict: {listed(stream.features)}{hint and f'. {hint}'}"
            )
        return read_table(options, progress)
    for option in ("nominal", "numeric", "drop", "target", "test"):
        if getattr(options, option):
            raise UserError(
                f"--{option} needs a table; - reads one from standard input"
            )
    return bundled_table()


def tree_text(tree, names, options):
    """Format the tree, or its upper levels if it is large."""
    hint = "; --json and --report have all"
    text = tree_lines(tree, names, verbose=options.verbose, full_tree_hint=hint)
    if options.verbose:
        return f"{with_feature_names(tree, names['feature_names'])}\n\n{text}"
    return text


def _lines(text):
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _wrapped(lines):
    return "\n".join(part for line in lines for part in _lines(line))


def section(heading, text):
    """Format a section of the output with its heading."""
    return f"{heading}\n{'-' * len(heading)}\n{text}"


def tables(validated, options, baselines):
    """Yield the sections of cross-validation and confusion matrix."""
    searched = " (of pruned CART including the search)"
    searched = searched if baselines == "all" and not validated.unfinished else ""
    text = [
        aligned(results_rows(validated.results, validated.baseline)),
        "",
        f"Means over {options.folds} folds. SE: standard error of the accuracy, in "
        f"points.\nFit time: CPU time{searched}.",
        _wrapped(validated.remarks),
    ]
    yield section("Cross-validation", "\n".join(text).rstrip())
    yield section(
        "Confusion matrix", f"{classes_table(validated.classes)}\n\n{HELD_OUT}"
    )


def importance_table(tree, names):
    """Format the importance of the features that the tree uses, largest first."""
    values = tree.feature_importances_
    order = [j for j in np.argsort(-values, kind="stable") if values[j] > 0.0]
    if not order:
        return "The tree is a single leaf."
    rows = [
        (shorten(names["feature_names"][j], MAX_NAME_CHARACTERS), f"{values[j]:.3f}")
        for j in order[:MAX_FEATURES]
    ]
    n_more = len(order) - len(rows)
    more = f"\nand {counted(n_more, 'further feature')}" if n_more else ""
    return f"{aligned(rows)}{more}\n\n{IMPORTANCE}"


def calibration_table(groups):
    """Format the accuracy by predicted probability."""
    rows = [("predicted probability", "accuracy", "rows")]
    rows += [(share(proba), share(accuracy), f"{n:,}") for proba, accuracy, n in groups]
    return f"{aligned(rows)}\n\n{_wrapped([calibration_sentence(groups)])}"


def remarks(results, unfinished, options, baselines, nominal):
    """Return remarks on the comparison."""
    lines = []
    if "CART" in results and nominal:
        lines.append("CART gets one column per category (one-hot encoding).")
    if unfinished:
        lines.append(
            f"{' and '.join(unfinished)}: not finished within {options.budget:g} s of "
            "CPU time (--budget)."
        )
    if options.baselines is None and baselines != "all":
        lines.append(
            f"A table of this size is compared with {SKIPPED_BASELINES[baselines]}; "
            "`--baselines all` runs both."
        )
    return lines


def tree_nodes(tree, names):
    """Describe every node of a fitted tree, including the evidence."""
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
                "evidence": {  # the statistics that apply to the split rule
                    name: as_json(value)
                    for name, value in row.evidence.applying().items()
                },
            }
            if row.keeps_unknown:  # a split on categories; unknown ones end here
                described["categories"] = [branch.categories for branch in row.branches]
            elif row.missing_seen:
                (described["missing"],) = (
                    branch.node for branch in row.branches if branch.takes_missing
                )
        nodes.append(described)
    return nodes


# `--in-parts` fits files larger than memory.
BINS = 255  # of a numeric column, whose codes are bytes
# Options that need the table in memory, or strings that are parsed as numbers.
UNSUPPORTED_OPTIONS = ("linear", "baselines", "numeric", "decimal", "dates")
PROGRESS_SECONDS = 1.0  # minimal time between two reports
MAX_DRAWN = 100_000  # rows whose values a report shows


def _run_in_parts(options, progress):
    """Run ``skconftree fit --in-parts`` and return the exit code."""
    for name in UNSUPPORTED_OPTIONS:
        if getattr(options, name):
            raise UserError(
                f"--{name} needs the table in memory and cannot be used with --in-parts"
            )
    if options.data is None or options.target is None:
        raise UserError("--in-parts needs a table in a Parquet file, and --target")
    check_files(options, saves_model=True)
    check_picture(options.plot, of_tree=True)
    settings = {"max_bins": BINS} | tree_settings(options)
    features, texts, n_rows, notes = _columns_in_parts(options)
    tree = make_tree(settings)
    notes += _grow_in_parts(tree, options, features, texts, progress)
    progress.note(*notes)
    parsers = [None if nominal else POINT for nominal in _nominal_mask(tree)]
    names = {"feature_names": features, "class_names": list(map(str, tree.classes_))}
    if options.output is not None:
        _save_tree(tree, features, parsers, Dialect(), options)
    if options.plot is not None:
        draw_tree(options.plot, tree, names)
    n_learned, n_nominal = int(tree.n_rows_seen_), parsers.count(None)
    fitted = Fitted(options.data, n_learned, tree, names, n_nominal, notes, model=tree)
    if options.test is not None:
        test = _tested(fitted, parsers, options, progress)
        fitted = fitted._replace(test=test)
    if options.folds is not None:
        validated = _validated_in_parts(fitted, settings, texts, options, progress)
        fitted = fitted._replace(validated=validated)

    def drawn_rows():
        return _drawn_rows(fitted, parsers, options, n_rows, progress)

    _write_files(options, fitted, {**settings, "baselines": "none"}, drawn_rows)
    progress.clear()
    if options.json != STANDARD:
        say(", ".join(fitted.lines()) + ", in parts\n")
        if fitted.validated is not None:
            nodes = node_table(tree, **names)
            results, baseline, classes, *_ = fitted.validated
            say(_wrapped(headline(results, baseline, classes, nodes)) + "\n")
        say("\n\n".join(_sections(fitted, options, "none")))
        _say_saved(options)
    return 0


def _columns_in_parts(options):
    """Check the columns and the target.

    Returns the features, the columns to read as texts, the number of rows, and notes.
    """
    if not is_parquet(files_of(options.data)[0]):
        raise UserError(
            f"--in-parts reads Parquet files, which {options.data} is not; without "
            "--in-parts, CSV is read too"
        )
    with open_selected(options, options.skip_missing) as stream:
        indices_of(options.nominal, stream.features, "--nominal")
        notes = [
            f"column {name!r}: its strings are read as categories here, but as numbers "
            "or dates without --in-parts; store numbers in the file"
            for name, column in zip(stream.features, stream.lookahead(), strict=True)
            if stream.holds_texts(name)
            and column.parser is not None
            and name not in options.nominal
        ]
        # an invalid target is detected before the other columns are read
        labels = stream.labels()
        if any(map(is_missing, labels)):
            raise UserError(_missing_labels(options))
        check_number_of_classes(len(labels), stream.n_rows, options.target)
    texts = list(options.nominal)
    for batch in islice(large.iter_batches(options.data, [options.target]), 1):
        if not str(batch.schema.field(0).type).startswith(("int", "uint")):
            texts.append(options.target)  # 1.0 and true, as a table of --test has them
    notes = [*excluded_notes(stream.excluded), *notes]
    return stream.features, texts, stream.n_rows, notes


def _missing_labels(options):
    """Describe the rows without a label in the first file that has any."""
    for file in files_of(options.data):
        batches = large.iter_batches(str(file), [options.target])
        texts = chain.from_iterable(b[0].cast("string").to_pylist() for b in batches)
        missing = [(i, t) for i, t in enumerate(texts, 1) if is_missing(t or "")]
        if missing:
            row, text = missing[0]
            return (
                f"{missing_label(options.target, row, text or '')} "
                f"({counted(len(missing), 'row')} of {file} in all); --skip-missing "
                "ignores such rows"
            )
    raise RuntimeError(f"{options.data} has changed while it was read; start again")


def _grow_in_parts(tree, options, features, texts, progress, step="", rows=None):
    """Fit a tree; return warnings."""
    shown = 0.0

    def report(state):
        nonlocal shown
        if state.seconds < shown + PROGRESS_SECONDS:
            return
        shown = state.seconds
        now = f"pass {state.n_passes}, {state.n_rows:,} of {state.n_total_rows:,} rows"
        if state.seconds_left is None:  # the tree grows, after a pass over the rows
            now = f"level {state.level} of the tree, {state.n_nodes:,} nodes"
        elif state.seconds_left >= 1.0:
            now += f", about {state.seconds_left:.0f} s left"
        progress.update(f"{step}{now}")

    progress.update(f"{step}reading {options.data}")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            large.fit(
                tree,
                options.data,
                target=options.target,
                columns=features,
                # a function that recognizes missing labels, which are skipped
                skip_missing=is_missing if options.skip_missing else False,
                text_columns=texts,
                rows=rows,
                callback=report,
            )
    except (ValueError, OSError, RuntimeError) as error:
        raise UserError(str(error)) from error
    if len(tree.classes_) < 2 and rows is None:
        raise UserError(
            f"all rows of {options.data} have the class {tree.classes_[0]}; a tree "
            "needs at least two classes"
        )
    return [str(w.message) for w in caught]


def _nominal_mask(tree):
    nominal = tree.is_categorical_
    return [False] * tree.n_features_in_ if nominal is None else nominal.tolist()


def _drawn_rows(fitted, parsers, options, n_rows, progress):
    """Return the columns that the report shows, of all rows or of a random sample."""
    drawn = np.arange(n_rows)
    if n_rows > MAX_DRAWN:
        rng = np.random.default_rng(options.seed)
        drawn = np.sort(rng.choice(n_rows, MAX_DRAWN, replace=False))
    splits = splits_by_column(node_table(fitted.tree, **fitted.names))
    columns, parts, labels = list(splits)[:MAX_COLUMNS], [], []
    for X, y, rows in _labeled_rows(
        options.data, fitted, parsers, options, progress, None, columns
    ):
        shown = np.isin(rows, drawn, assume_unique=True)
        parts.append(X[shown])
        labels.append(y[shown])
    codes = np.searchsorted(fitted.tree.classes_, np.concatenate(labels))
    values = dict(zip(columns, np.concatenate(parts).T, strict=True))
    is_sample = n_rows > MAX_DRAWN
    return ShownRows(values, codes, parsers, None, is_sample)


def _validated_in_parts(fitted, settings, texts, options, progress):
    """Cross-validate the tree; all folds are predicted in one pass over the rows."""
    tree, features = fitted.tree, fitted.names["feature_names"]
    index = {label: code for code, label in enumerate(tree.classes_.tolist())}
    codes = np.concatenate(
        [
            [index.get(label, -1) for label in batch[0].to_pylist()]
            for batch in _batches_in_parts(options.data, [options.target], texts)
        ]
    ).astype(np.int32)
    known = np.flatnonzero(codes >= 0)
    if options.folds > (largest := np.bincount(codes[known]).max()):
        raise UserError(
            f"--folds {options.folds} is more than the number of rows of each class, "
            f"at most {largest}; use fewer folds"
        )
    folds = StratifiedKFold(options.folds, shuffle=True, random_state=options.seed)
    fold_of = np.full(len(codes), -1, np.int16)
    with warnings.catch_warnings(action="ignore"):  # a class with fewer rows than folds
        for fold, (_, test) in enumerate(folds.split(known, codes[known])):
            fold_of[known[test]] = fold
    trees = []
    metrics = {"accuracy": [], "log_loss": [], "leaves": [], "seconds": []}
    for fold in range(options.folds):
        begin = time.process_time()
        trees.append(make_tree(settings))
        step = f"fold {fold + 1} of {options.folds}: "
        rows = (fold_of >= 0) & (fold_of != fold)
        _grow_in_parts(trees[-1], options, features, texts, progress, step, rows)
        metrics["seconds"].append(time.process_time() - begin)
        metrics["leaves"].append(int(trees[-1].get_n_leaves()))
    predicted, confidence = np.zeros(len(codes), np.int32), np.zeros(len(codes))
    losses, start = np.zeros(len(codes)), 0
    codes_of_classes = [np.searchsorted(tree.classes_, t.classes_) for t in trees]
    for batch in _batches_in_parts(options.data, features, texts):
        for fold, fold_tree in enumerate(trees):
            rows = np.flatnonzero(fold_of[start : start + len(batch)] == fold)
            if not len(rows):
                continue
            proba = np.zeros((len(rows), len(index)))
            with warnings.catch_warnings(action="ignore"):
                proba[:, codes_of_classes[fold]] = fold_tree.predict_proba(
                    batch.take(rows)
                )
            predicted[start + rows] = proba.argmax(axis=1)
            confidence[start + rows] = proba.max(axis=1)
            own = proba[np.arange(len(rows)), codes[start + rows]]
            losses[start + rows] = -np.log(np.clip(own, MIN_PROBA, None))
        start += len(batch)
        progress.update(f"predicting folds: {start:,} of {len(codes):,} rows")
    right = predicted == codes
    for fold in range(options.folds):
        rows = fold_of == fold
        metrics["accuracy"].append(float(right[rows].mean()))
        metrics["log_loss"].append(float(losses[rows].mean()))
    names = fitted.names["class_names"]
    classes = class_metrics(codes[known], predicted[known])
    classes["classes"] = [names[int(code)] for code in classes["classes"]]
    frequency, loss, largest = majority(codes[known])
    return Validated(
        {OUR_MODEL: metrics},
        (frequency, loss, names[int(largest)]),
        classes,
        calibration(confidence[known], right[known]),
    )


def _batches_in_parts(path, columns, texts):
    """Read chunks of rows as `large.fit` does with `texts` as its `text_columns`."""
    for batch in large.iter_batches(path, columns):
        for name in set(texts).intersection(columns):
            column = batch.column(name).cast("string")
            batch = batch.set_column(columns.index(name), name, column)
        yield batch
