"""``skconftree predict``: predict the rows of a table with a saved model."""

import contextlib
import csv
import io
import warnings

import numpy as np

from ._columns import unknown_notes
from ._common import with_columns
from ._files import atomic_write, check_files
from ._table import copied_columns, model_columns, read_columns
from ._text import Progress, standard_output


def run_predict(options):
    """Run ``skconftree predict`` and return the exit code."""
    with Progress(verbose=options.verbose) as progress:
        return _run_predict(options, progress)


def _run_predict(options, progress):
    check_files(options)
    tree, features, readings, target, like = model_columns(options.model)
    X, _, notes, dialect = read_columns(
        options, options.data, features, readings, progress, like=like
    )
    tree = with_columns(tree, None)  # the columns are already in its order
    progress.note(*notes, *unknown_notes(X, features, tree.categories_))
    progress.update(f"predicting {len(X)} rows")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the notes contain the warnings
        proba = tree.predict_proba(X)
    labels = tree.classes_[proba.argmax(axis=1)]
    if not dialect.can_encode([target or "", *map(str, tree.classes_)]):
        progress.note(
            f"the encoding {dialect.encoding} lacks characters of the classes; the "
            "predictions are written in UTF-8"
        )
        dialect = dialect._replace(encoding="utf-8")
    write = dialect.number
    rows = _rows(tree.classes_, labels, proba, options.proba, target or "class", write)
    if options.keep:
        rows = _with_copied_columns(
            copied_columns(options, options.data, options.keep, like), rows
        )
    progress.clear()
    if options.output is None:
        with standard_output() as file, _encoded(file, dialect.encoding) as encoded:
            _write(encoded, rows, dialect)
        return 0
    encoding = dialect.encoding
    with atomic_write(options.output, "w", encoding=encoding, newline="") as file:
        _write(file, rows, dialect)
    return 0


def _rows(classes, labels, proba, all_classes, target, write):
    if all_classes:
        yield [target, *(f"probability of {label}" for label in classes.tolist())]
        for label, shares in zip(labels.tolist(), proba.tolist(), strict=True):
            yield [label, *map(write, shares)]
        return
    yield [target, "probability"]
    best = np.max(proba, axis=1).tolist()
    for label, share in zip(labels.tolist(), best, strict=True):
        yield [label, write(share)]


def _with_copied_columns(copied, rows):
    """Prepend columns of the table to the predictions; rename equal names."""
    (names, *texts), (titles, *predicted) = copied, rows
    yield [
        *names,
        *(f"predicted {title}" if title in names else title for title in titles),
    ]
    for text, row in zip(texts, predicted, strict=True):
        yield [*text, *row]


@contextlib.contextmanager
def _encoded(file, encoding):
    """Yield standard output with an encoding; a terminal keeps its own."""
    if encoding == "utf-8" or file.isatty():
        yield file
        return
    file.flush()
    wrapper = io.TextIOWrapper(file.buffer, encoding, newline="")
    try:
        yield wrapper
    finally:
        wrapper.detach()


def _write(file, rows, dialect):
    table = csv.writer(file, delimiter=dialect.delimiter, lineterminator="\n")
    table.writerows(rows)
