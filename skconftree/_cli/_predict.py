"""``skconftree predict``: predict the rows of a table with a saved model.

Rows are read, predicted and written in chunks, so that no table is held in memory.
`model` is a `_table.Model`: a saved model with the names and parsers of its columns,
and the dialect (delimiter, decimal sign and encoding) of its table. A partially linear
tree adds a linear *score* of the columns to the values of its leaves.
"""

import contextlib
import csv
import io
import warnings

import numpy as np

from .. import ConfidenceTreeClassifier
from ..tree import node_table
from ._columns import EXPLANATION, PREDICTED, SHARE, UnknownCategories, added_name
from ._common import categories_of, has_score, tree_of, with_columns
from ._files import atomic_write, check_files
from ._readers import is_parquet
from ._report import leaf_rules
from ._sources import open_stream
from ._table import CopiedColumns, ModelColumns, model_columns
from ._text import UserError, standard_output
from ._text_model import TextModel

GROUP_BYTES = 2**24  # of the rows of a group in a Parquet file


def run_predict(options, progress):
    """Run ``skconftree predict`` and return the exit code."""
    check_files(options)
    model = model_columns(options.model)
    tree = tree_of(model.tree)
    if options.explain and not isinstance(tree, ConfidenceTreeClassifier):
        raise UserError(
            f"--explain is for a tree, but {options.model} has a {_name_of(tree)}"
        )
    unknown = UnknownCategories(model.features, categories_of(tree))
    with contextlib.ExitStack() as stack:
        stream = open_stream(
            options.data, target=None, options=options, like=model.dialect
        )
        stack.enter_context(stream)
        as_table, copied = is_parquet(options.output), None
        if options.keep:
            copied = stack.enter_context(
                CopiedColumns(options, model.dialect, as_table)
            )
        columns = ModelColumns(
            options, stream, model.features, model.parsers, unknown=unknown
        )
        blocks = _blocks(options, model, columns, copied, progress)
        if as_table:
            with atomic_write(options.output) as file:
                _write_parquet(file, blocks)
        else:
            _write_csv(options, blocks, _dialect_of(stream, model, progress), progress)
    progress.note(*columns.notes)
    return 0


def _name_of(model):
    return "model of texts" if isinstance(model, TextModel) else type(model).__name__


def _blocks(options, model, columns, copied, progress):
    """Yield the columns to write, chunk by chunk: dicts of columns by name."""
    tree = model.tree
    if not isinstance(tree, TextModel):  # the columns are already in its order
        tree = with_columns(tree, names=None)
    classes, names = tree.classes_, [] if copied is None else copied.names
    titles = [model.target or "class", "probability"]
    if options.proba:
        titles[1:] = [f"{SHARE}{label}" for label in classes.tolist()]
    titles += [added_name(EXPLANATION, names)] * options.explain
    titles = [
        added_name(f"{PREDICTED} {title}", names) if title in names else title
        for title in titles
    ]
    for X, _ in columns.chunks(progress, "predicted"):
        with warnings.catch_warnings(action="ignore"):  # the notes contain the warnings
            proba = tree.predict_proba(X)
        labels = classes[proba.argmax(axis=1)]
        shares = proba if options.proba else proba.max(axis=1, keepdims=True)
        explanations = (
            [_explanations(tree, X, model.features)] if options.explain else []
        )
        copied_columns = [] if copied is None else copied.take(len(X))
        yield dict(
            zip(
                [*names, *titles],
                [*copied_columns, labels, *shares.T, *explanations],
                strict=True,
            )
        )


def _explanations(model, X, names):
    """Explain each prediction: by the conditions of its leaf, or by a sum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if has_score(model):
            two = len(model.classes_) == 2
            records = model.explain(X)
            return [
                _as_sum(record, names, model.classes_[1] if two else record["class"])
                for record in records
            ]
        tree = tree_of(model)
        rules = leaf_rules(node_table(tree, feature_names=names))
        return [rules[node] for node in tree.apply(X).tolist()]


def _as_sum(record, names, label):
    # With two classes, the score is the log odds of `label`; with more, its linear
    # score relative to the other classes. It is the sum of a base (the intercept) and
    # of terms of the columns and the leaf.
    parts = [("base", record["base"])]
    parts += [(names[column], value) for column, value in record["columns"]]
    parts.append((f"leaf {record['leaf'][0]}", record["leaf"][1]))
    text = ", ".join(f"{name} {value:+.3g}" for name, value in parts)
    return f"{text}; score of {label} {record['score']:+.3g}"


def _dialect_of(stream, model, progress):
    """Return delimiter, decimal sign, and an encoding that has all classes."""
    dialect = stream.dialect
    if dialect.can_encode([model.target or "", *map(str, model.tree.classes_)]):
        return dialect
    progress.note(
        f"the encoding {dialect.encoding} lacks characters of the classes; the "
        "predictions are written in UTF-8"
    )
    return dialect._replace(encoding="utf-8")


def _write_csv(options, blocks, dialect, progress):
    """Write blocks of columns to the file of --output or to standard output."""
    progress.clear()
    encoding = dialect.encoding
    with contextlib.ExitStack() as stack:
        if options.output is None:
            file = stack.enter_context(standard_output())
            file = stack.enter_context(_encoded(file, encoding))
        else:
            file = stack.enter_context(
                atomic_write(options.output, "w", encoding=encoding, newline="")
            )
        table = csv.writer(file, delimiter=dialect.delimiter, lineterminator="\n")
        for i, block in enumerate(blocks):
            if i == 0:
                table.writerow(block)
            texts = [_texts(column, dialect) for column in block.values()]
            table.writerows(zip(*texts, strict=True))


def _texts(column, dialect):
    if not isinstance(column, np.ndarray):
        return column
    if column.dtype.kind == "f":
        return map(dialect.number, column.tolist())
    return column.tolist()


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


def _write_parquet(file, blocks):
    """Write blocks of columns to a Parquet file, in groups of many rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with contextlib.ExitStack() as stack:
        writer, tables = None, []
        for block in blocks:
            columns = [
                pa.array(column, pa.string()) if isinstance(column, list) else column
                for column in block.values()
            ]
            tables.append(pa.table(columns, names=list(block)))
            if writer is None:
                writer = pq.ParquetWriter(file, tables[0].schema)
                stack.enter_context(writer)
            if sum(table.nbytes for table in tables) >= GROUP_BYTES:
                writer.write_table(pa.concat_tables(tables))
                tables = []
        if tables:
            writer.write_table(pa.concat_tables(tables))
