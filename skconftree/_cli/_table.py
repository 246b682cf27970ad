"""Tables in memory: for `fit`, and for the predictions of a saved model.

A *reader* (`stream`) reads a table once, in chunks of rows. The *dialect* of a file is
its delimiter, decimal sign and encoding; `readings` are names of parsers of columns.
`lookahead` infers the types of the columns from the first rows. `like` is the dialect
of the table that a model was trained on.
"""

from itertools import islice
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer

from ..utils import load
from ._columns import (
    DECIMALS,
    MAX_UNPARSEABLE,
    PARSERS,
    UnparseableValues,
    column_notes,
    date_types,
    excluded_notes,
    identifies_rows,
    label_notes,
    redundancy_notes,
    sign_note,
    with_decimal,
    with_times,
)
from ._common import (
    categories_of,
    check_labels_known,
    check_number_of_classes,
    is_missing,
    missing_label,
    typed_labels,
)
from ._options import did_you_mean
from ._readers import (
    Dialect,
    as_matrix,
    check_categories,
    header_notes,
    indices_of,
    listed,
    missing_header_note,
    nominal_indices,
    set_column_types,
)
from ._sources import open_selected, open_stream
from ._text import UserError, counted
from ._text_model import load_text_model

CHUNK_ROWS = 10_000
PROGRESS_ROWS = 100_000


class LabeledTable(NamedTuple):
    """A table with labels."""

    name: str
    X: np.ndarray  # of objects if any column is nominal
    y: np.ndarray
    feature_names: list[str]
    class_names: list[str]
    nominal: list[int]  # indices of the nominal columns
    notes: list[str]  # on the columns, for the user
    parsers: list  # how each column is parsed, see `_columns.ColumnParser`
    dialect: Dialect  # of the file

    @property
    def dates(self):
        """Types of the columns of dates, see `date_types`."""
        return date_types(self.parsers, with_times(self.X, self.parsers))


def bundled_table():
    """Return the example table, which is included in scikit-learn."""
    data = load_breast_cancer()
    names = [str(name) for name in data.feature_names]
    return LabeledTable(
        "breast cancer Wisconsin (comes with scikit-learn)",
        data.data,
        data.target_names[data.target],
        names,
        sorted(map(str, data.target_names)),
        [],
        [],
        [PARSERS["decimal point"]] * len(names),
        Dialect(),
    )


def read_table(options, progress):
    """Read the table of `fit`; columns of texts become nominal."""
    target = options.target
    nominal_names = list(options.nominal)
    while True:
        with open_selected(options) as stream:  # without the columns of --drop
            notes = header_notes(stream)
            notes += set_column_types(
                stream, nominal_names, options.numeric, is_complete=True
            )  # is_complete: columns of IDs are reported below (`_identifiers`)
            chunks, unparseable = _read_chunks(stream, progress)
        if not chunks:
            raise UserError(f"{stream.path} has no rows below its header")
        X = np.concatenate([chunk.X for chunk in chunks])
        late_nominal = [
            index
            for index in unparseable
            if _unparseable_share(unparseable, X, index) > MAX_UNPARSEABLE
        ]
        if not late_nominal:
            break
        # Too many texts after the first rows: read again with these columns as nominal.
        nominal_names += [stream.features[index] for index in late_nominal]
        for name in options.numeric:
            if name in nominal_names:
                raise UserError(
                    f"--numeric {name}: more than 10% of the values of this column are "
                    "not numbers"
                )
    problem = chunks[-1].problem
    if problem is not None:
        raise problem
    labels = [label for chunk in chunks for label in chunk.labels]
    known, more = _known_labels(labels, target, options.skip_missing)
    notes += [*stream.late_notes, *unparseable.notes(stream), *more]
    if len(known) < len(labels):
        X = X[known]
    y = typed_labels([labels[row].strip() for row in known], target)
    check_number_of_classes(len(np.unique(y)), len(y), target)
    # `excluded`: columns that `skconftree label` or `predict` wrote
    notes += excluded_notes(stream.excluded)
    retained, more = _identifiers(X, stream, target)
    notes += more
    if len(retained) < X.shape[1]:
        stream.select(retained)
        X = as_matrix(list(X[:, retained].T), len(X), stream.parsers)
    notes += column_notes(X, stream)
    notes += label_notes(y, target)
    notes += redundancy_notes(X, y, stream.features, target)
    _, problem = check_categories(known=None, X=X, first_row=1, stream=stream)
    if problem is not None:
        raise problem
    classes = [str(label) for label in np.unique(y)]
    nominal = nominal_indices(stream.parsers)
    return LabeledTable(
        str(stream.path),
        X,
        y,
        stream.features,
        classes,
        nominal,
        notes,
        stream.parsers,
        stream.dialect,
    )


# Keys of the metadata of a model that `label` saved: its number of labels, and the
# names of its columns of texts.
LABELED = "n_labels"
TEXTS = "texts"


def check_is_tree(path, metadata):
    """Raise UserError if the metadata of a file are those of a model of texts."""
    if TEXTS in metadata:
        raise UserError(
            f"{path} has a model of texts, which only `skconftree predict` can use"
        )


class Model(NamedTuple):
    """A saved tree, and how columns of tables are parsed for it."""

    tree: object
    features: list[str]
    parsers: list  # how each column is parsed, see `_columns.ColumnParser`
    target: str
    dialect: Dialect  # of the training table


def model_columns(path):
    """Load a model that `fit`, `stream` or `save_model` saved."""
    tree, metadata = load(path)
    if TEXTS in metadata:  # "run" has its vocabulary and coefficients
        tree = load_text_model(tree, metadata["run"])
    if "readings" not in metadata:  # saved in Python
        return _model_of_frame(path, tree)
    try:
        parsers = [
            None if name is None else PARSERS[name] for name in metadata["readings"]
        ]
        features = metadata.get("features")
        if features is None:  # of a stream
            features = [
                name for name in metadata["columns"] if name != metadata["target"]
            ]
        like = Dialect(metadata["delimiter"], metadata["--decimal"])
        if len(like.delimiter) != 1 or like.decimal not in (None, *DECIMALS):
            raise ValueError(like)
        return Model(tree, features, parsers, metadata["target"], like)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is corrupt: {error!r}") from None


def _model_of_frame(path, model):
    names = getattr(model, "feature_names_in_", None)
    if not hasattr(model, "predict_proba"):
        raise UserError(f"{path} has a {type(model).__name__}, not a classifier")
    if names is None:
        raise UserError(
            f"the model in {path} has no names of columns; fit it to a data frame"
        )
    number = PARSERS["decimal point"]
    categories = categories_of(model) or [None] * len(names)
    parsers = [number if known is None else None for known in categories]
    return Model(model, list(map(str, names)), parsers, None, Dialect())


class ModelColumns:
    """The columns of a model in another table, and optionally the target, in chunks.

    `stream` is the reader of the table. `unknown` counts categories that are not in the
    model (None: they are not counted). `notes` are complete after the last chunk.
    """

    def __init__(self, options, stream, features, parsers, target=None, unknown=None):
        missing = [name for name in features if name not in stream.features]
        if missing:
            raise UserError(_missing_columns_message(stream, missing, features, target))
        if hasattr(stream, "restrict"):  # a reader of Parquet can omit columns
            stream.restrict(features)
        parsers = [with_decimal(parser, options.decimal) for parser in parsers]
        parser_of = dict(zip(features, parsers, strict=True))
        types = stream.lookahead()
        stream.parsers = [parser_of.get(name) for name in stream.features]
        self._stream, self._features, self._target = stream, features, target
        self._is_mixed = None in parsers
        self._notes = [] if options.decimal else _sign_notes(stream, types)
        self._unparseable, self._unknown = UnparseableValues(), unknown
        self._n_ignored = 0  # rows without a label

    def chunks(self, progress, done="read"):
        """Yield the columns and the labels of some rows; an error comes last."""
        stream, problem = self._stream, None
        indices = [stream.features.index(name) for name in self._features]
        progress.update(f"reading {stream.path}")
        shown = 0
        for chunk in stream.chunks(CHUNK_ROWS):
            for _, index, text in chunk.unparseable:
                self._unparseable.add(index, text)
            problem = chunk.problem
            if chunk.labels:
                X = chunk.X[:, indices]
                if self._unknown is not None:
                    self._unknown.add(X)
                yield X if self._is_mixed else X.astype(np.float32), chunk.labels
            if stream.n_rows >= shown + PROGRESS_ROWS:
                shown = stream.n_rows
                progress.update(f"{shown:,} rows of {stream.path} {done}")
        if problem is not None:
            raise problem
        if not stream.n_rows:
            raise UserError(f"{stream.path} has no rows below its header")

    def labeled(self, progress, skip_missing):
        """Yield the columns, the labels and the indices of some labeled rows."""
        n_known, start, first = 0, 0, {}  # the first row without a label, by its text
        for X, labels in self.chunks(progress):
            known = [row for row, label in enumerate(labels) if not is_missing(label)]
            if len(known) < len(labels) and not (skip_missing or first):
                row, text = next(r for r in enumerate(labels) if is_missing(r[1]))
                first[text] = start + row + 1
            n_known += len(known)
            if known:
                remedy = "; --skip-missing ignores them"
                check_labels_known(first, self._target, remedy)
                texts = [labels[row].strip() for row in known]
                yield X[known], texts, start + np.array(known)
            start += len(labels)
        if not n_known:
            raise UserError(f"target column {self._target!r} has no value in any row")
        check_labels_known(first, self._target, remedy)
        self._n_ignored = start - n_known

    @property
    def notes(self):
        """Notes on the columns of the model, and on rows without a label."""
        notes = [
            *self._notes,
            *self._unparseable.notes(self._stream, types_are_fixed=True),
        ]
        subjects = tuple(f"column {name!r}" for name in self._features)
        notes = [note for note in notes if note.startswith(subjects)]
        if self._unknown is not None:
            notes += self._unknown.notes()
        return notes + ignored_notes(self._n_ignored, self._target)


def _sign_notes(stream, types):
    """Return notes on numbers whose decimal sign may differ from that of the model."""
    # `ambiguous`: a text of the first rows that depends on the decimal sign
    reason = ", as in the table of the model"
    return [
        f"column {name!r}: {sign_note(column.ambiguous, parser, reason)}"
        for name, parser, column in zip(
            stream.features, stream.parsers, types, strict=True
        )
        if column.ambiguous is not None
        and parser in DECIMALS.values()
        and column.parser is not parser
    ]


class CopiedColumns:
    """Columns of --keep, which are copied from a table to its predictions.

    `take` returns lists of texts, or with `as_arrays` Arrow arrays if the table has
    types. ``--keep all`` means all columns.
    """

    def __init__(self, options, like, as_arrays):
        stream = open_stream(options.data, target=None, options=options, like=like)
        self._stream = stream
        try:
            names = stream.features if options.keep == ["all"] else options.keep
            indices = indices_of(names, stream.features, "--keep")
            stream.lookahead()
        except BaseException:
            stream.__exit__()
            raise
        self.names = names
        self._table = self._tables = None
        if as_arrays and getattr(stream, "tables", None):
            self._tables = stream.tables(names)
            return
        stream.parsers = [None] * len(stream.features)
        chunks = stream.chunks(CHUNK_ROWS)
        self._rows = (row for chunk in chunks for row in chunk.X[:, indices].tolist())

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._stream.__exit__(*error)

    def take(self, n_rows):
        """Return the values of the columns in the next rows."""
        if self._tables is None:
            return list(map(list, zip(*islice(self._rows, n_rows), strict=True)))
        import pyarrow as pa

        while self._table is None or self._table.num_rows < n_rows:
            table = next(self._tables)
            self._table = pa.concat_tables([self._table or table.slice(0, 0), table])
        table, self._table = self._table.slice(0, n_rows), self._table.slice(n_rows)
        return table.columns


def _missing_columns_message(stream, missing, features, target):
    """Return an error message about columns that a model needs and a table lacks."""
    unused = [name for name in stream.features if name not in (*features, target)]
    shown = listed(list(map(repr, missing)))
    what = f"has no column {shown}"
    if len(missing) > 1:
        what = f"lacks {len(missing)} columns, {shown}"
    text = f"{stream.path} {what}, which the model needs; "
    header_note = missing_header_note(stream, stream.lookahead())
    if header_note:
        return text + header_note
    if not unused:
        return f"{text}all of its columns are in use"
    hint = did_you_mean(missing[0], unused) if len(missing) == 1 else ""
    return f"{text}columns that the model does not use: {listed(unused)}.{hint}"


def _read_chunks(stream, progress):
    # Returns the chunks of rows of a reader, and unparseable values.
    chunks, unparseable = [], UnparseableValues()
    progress.update(f"reading {stream.path}")
    for chunk in stream.chunks(CHUNK_ROWS):
        chunks.append(chunk)
        for _, index, text in chunk.unparseable:
            unparseable.add(index, text)
        if stream.n_rows % PROGRESS_ROWS == 0:
            progress.update(f"{stream.n_rows:,} rows of {stream.path} read")
    return chunks, unparseable


def read_labeled(options, path, features, parsers, progress, target, like):
    """Read labeled rows of another table; return columns, labels and notes."""
    with open_stream(path, target, options, like) as stream:
        columns = ModelColumns(options, stream, features, parsers, target)
        chunks = list(columns.labeled(progress, options.skip_missing))
    X = np.concatenate([X for X, _, _ in chunks])
    return X, [label for _, labels, _ in chunks for label in labels], columns.notes


def ignored_notes(n_rows, target):
    """Return a note on rows without a label, if there are any."""
    rows = counted(n_rows, "row")
    return [f"ignored {rows} without a value of the target {target!r}"] * (n_rows > 0)


def _known_labels(labels, target, skip):
    """Return the rows with a label, and a note if there are others."""
    known = [row for row, label in enumerate(labels) if not is_missing(label)]
    n_missing = len(labels) - len(known)
    if not known:
        raise UserError(f"target column {target!r} has no value in any row")
    if n_missing and not skip:
        first = next(row for row, label in enumerate(labels) if is_missing(label))
        raise UserError(
            f"{missing_label(target, first + 1, labels[first])} "
            f"({counted(n_missing, 'row')} of {len(labels)} in all); --skip-missing "
            "ignores them"
        )
    return known, ignored_notes(n_missing, target)


def _identifiers(X, stream, target):
    """Find columns that identify rows; trees ignore them, but CART would not.

    Returns the indices of the other columns, and notes.
    """
    nominal = nominal_indices(stream.parsers)
    out = [index for index in nominal if identifies_rows(X[:, index])]
    notes = [
        f"column {stream.features[index]!r} is ignored: more than half of the rows "
        "have a unique category there, which new rows will not have"
        for index in out
    ]
    if len(out) == X.shape[1]:
        raise UserError(
            f"{stream.path} has no column besides the target {target!r} that describes "
            f"rows: {notes[0]}"
        )
    return [index for index in range(X.shape[1]) if index not in out], notes


def _unparseable_share(unparseable, X, index):
    """Return the share of the values of a column that are unparseable."""
    n_numbers = len(X) - np.count_nonzero(np.isnan(X[:, index].astype(np.float32)))
    return unparseable.count(index) / (unparseable.count(index) + n_numbers)
