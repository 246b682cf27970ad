"""``skconftree audit``: test the splits of a saved tree on new labeled rows.

The *level of evidence* of a split is a category of its adjusted p-value in the training
rows, from overwhelming to none. The *verdict* of the audit is based on the new rows.
The *dialect* of a table is its delimiter, decimal sign and encoding. The `level` of a
tested split is its significance level after the correction for several tests.
"""

import warnings
from collections import Counter

import numpy as np

from .. import __version__
from ..inspection import audit_splits
from ..tree import node_table
from ._columns import unknown_categories
from ._common import (
    LEVELS,
    aligned,
    as_json,
    tree_lines,
    tree_of,
    typed_labels,
    with_columns,
)
from ._files import STANDARD, check_files, write_json
from ._readers import listed
from ._table import model_columns, read_labeled
from ._text import UserError, counted, say

VERDICTS = {  # verdicts of `audit_splits`, with their names in the output
    "confirmed": "confirmed",
    "not confirmed": "not confirmed",
    "too few rows": "undecided (too few rows)",
}


def run_audit(options, progress):
    """Run ``skconftree audit`` and return the exit code."""
    check_files(options)
    model = model_columns(options.model)
    # without column names: the columns of X are already in its order
    tree = with_columns(tree_of(model.tree), names=None)
    X, y, notes = _read_rows(options, model, progress)
    progress.note(*notes)
    progress.update(f"testing splits on {len(y):,} rows")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        audit = audit_splits(tree, X, y, alpha=options.alpha)
    fit_notes = [str(w.message).replace("X_new", options.data) for w in caught]
    progress.note(*fit_notes)
    progress.clear()
    names = {
        "feature_names": model.features,
        "class_names": [str(c) for c in tree.classes_.tolist()],
    }
    rows = {row.node: row for row in node_table(tree, **names)}
    if options.json is not None:
        write_json(options.json, _report(options, audit, rows, [*notes, *fit_notes]))
    if options.json != STANDARD:  # the report was not written to the standard output
        say("\n\n".join(_parts(options, tree, audit, rows, names)))
    return 0


def _read_rows(options, model, progress):
    """Return the labeled rows of the table, and notes on them."""
    target = model.target
    if target is None:
        raise UserError(
            f"{options.model} does not name the column that it predicts; save the "
            "model by --output of fit or stream"
        )
    # columns are parsed as those of the table that the model was trained on
    X, labels, notes = read_labeled(
        options,
        options.data,
        model.features,
        model.parsers,
        progress,
        target,
        model.dialect,
    )
    y = _typed(labels, options, model)
    is_unknown = unknown_categories(X, tree_of(model.tree).categories_)
    if is_unknown.any():
        notes.append(
            f"ignored {counted(np.count_nonzero(is_unknown), 'row')} with categories "
            "that the model has not seen"
        )
        X, y = X[~is_unknown], y[~is_unknown]
    n_classes = len(model.tree.classes_)
    if len(y) < n_classes:
        raise UserError(
            f"{options.data} has {counted(len(y), 'labeled row')} for the {n_classes} "
            f"classes of {options.model}; an audit needs at least one row per class"
        )
    return X, y, notes


def _typed(texts, options, model):
    """Convert labels to the type of the classes; UserError for unknown labels."""
    classes = model.tree.classes_
    y = np.array(texts, dtype=str)
    if classes.dtype.kind in "iu":
        y = typed_labels(texts, model.target)
    unknown = list(dict.fromkeys(y[~np.isin(y, classes)].tolist()))
    if unknown:
        raise UserError(
            f"target column {model.target!r} of {options.data} has labels that the "
            f"model has not seen: {listed(list(map(repr, unknown)))}; its classes are "
            f"{listed(list(map(repr, classes.tolist())))}"
        )
    return y


def _parts(options, tree, audit, rows, names):
    """Yield the parts of the output: counts, tree, and if verbose each split."""
    verdicts = Counter(split.verdict for split in audit.splits_)
    counts = ", ".join(f"{verdicts[name]:,} {text}" for name, text in VERDICTS.items())
    yield (
        f"{options.data}: {counted(audit.n_rows_, 'labeled row')}\n"
        f"{counted(len(audit.splits_), 'split')}: {counts}, at a family-wise error of "
        f"{100 * audit.alpha:g}%"
    )
    if not audit.splits_:
        yield "The tree is a single leaf: it has no split to test."
        return
    yield _by_level(audit, rows)
    yield tree_lines(tree, names, verbose=options.verbose, audit=audit)
    if options.verbose:
        yield "\n".join(_line(split, rows[split.node]) for split in audit.splits_)


def _by_level(audit, rows):
    """Format a table of verdicts by level of evidence."""
    counts = Counter(
        (rows[split.node].evidence.level, split.verdict) for split in audit.splits_
    )
    table = [("evidence", "confirmed", "not confirmed", "undecided")]
    table += [
        (level, *(f"{counts[level, verdict]:,}" for verdict in VERDICTS))
        for level in LEVELS
        if any(counts[level, verdict] for verdict in VERDICTS)
    ]
    return aligned(table)


def _line(split, row):
    text = f"node {split.node}, {row.test}: {split.verdict}"
    if split.method is None:  # there was nothing to test
        return f"{text} ({counted(split.n_rows, 'new row')})"
    return (
        f"{text} (p = {split.p_value:.2g}, level {split.level:.2g}, {split.method}, "
        f"{counted(split.n_rows, 'new row')})"
    )


def _report(options, audit, rows, notes):
    """Return the report of --json."""
    verdicts = Counter(split.verdict for split in audit.splits_)
    splits = []
    for split in audit.splits_:
        row = rows[split.node]
        splits.append(
            {
                "id": split.node,
                "depth": split.depth,
                "test": row.test,
                "level_of_evidence": row.evidence.level,
                "verdict": split.verdict,
                "p_value": split.p_value,
                "level": split.level,
                # the smallest p-value that so many rows per branch and class allow
                "least_p_value": split.least_p,
                "method": split.method,
                "rows": split.n_rows,
                "counts": split.counts,
            }
        )
    return as_json(
        {
            "version": __version__,
            "model": options.model,
            "data": {"name": options.data, "rows": audit.n_rows_, "notes": notes},
            "settings": {"alpha": audit.alpha, "correction": audit.correction},
            "verdicts": {name: verdicts[name] for name in VERDICTS},
            "splits": splits,
        }
    )
