"""Tables that fit into memory: of `fit`, and those that a model predicts."""

from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer

from ._columns import (
    DECIMALS,
    MAX_UNPARSEABLE,
    READINGS,
    column_notes,
    date_kinds,
    label_notes,
    left_out,
    names_rows,
    own_notes,
    same_notes,
    sign_note,
    with_decimal,
    with_times,
)
from ._common import check_number_of_classes, is_missing, missing_word, typed_labels
from ._model_file import load
from ._options import meant
from ._readers import (
    Dialect,
    Strays,
    check_categories,
    header_notes,
    headless,
    indices_of,
    listed,
    nominal_indices,
    open_stream,
    settle_columns,
)
from ._text import UserError, counted

ROWS_AT_A_TIME = 10_000
ROWS_A_NOTE = 100_000


class LabelledTable(NamedTuple):
    """A table with a class to predict."""

    name: str
    X: np.ndarray  # of objects if any column is nominal
    y: np.ndarray
    feature_names: list[str]
    class_names: list[str]
    nominal: list[int]  # places of the columns of text
    notes: list[str]  # what a user may want to know about columns
    readings: list  # what each column is, see `_columns`
    dialect: Dialect  # of its file

    @property
    def dates(self):
        """What a tree is told of columns of dates, see `date_kinds`."""
        return date_kinds(self.readings, with_times(self.X, self.readings))


def bundled_table():
    """Return the real set that comes with scikit-learn."""
    data = load_breast_cancer()
    names = [str(name) for name in data.feature_names]
    return LabelledTable(
        "breast cancer Wisconsin (comes with scikit-learn)",
        data.data,
        data.target_names[data.target],
        names,
        sorted(map(str, data.target_names)),
        [],
        [],
        [READINGS["decimal point"]] * len(names),
        Dialect(),
    )


def read_table(options, progress):
    """Read a table of which a column that holds texts is nominal."""
    path, target = options.data, options.target
    named = list(options.nominal)
    while True:
        with open_stream(path, target, options) as stream:
            notes = header_notes(stream)
            notes += settle_columns(stream, named, options.numeric, whole=True)
            ours = left_out(stream, options.drop)
            dropped = indices_of([*options.drop, *ours], stream.features, "--drop")
            pieces, strays = _pieces(stream, progress)
        if not pieces:
            raise UserError(f"{stream.path} has no rows below its header")
        X = np.concatenate([piece.X for piece in pieces])
        late = [place for place in strays if _share(strays, X, place) > MAX_UNPARSEABLE]
        if not late:
            break
        # So many texts behind the first rows: categories after all, so once more.
        named += [stream.features[place] for place in late]
        for name in options.numeric:
            if name in named:
                raise UserError(
                    f"--numeric {name}: more than a tenth of the values of this column "
                    "are not numbers"
                )
    problem = pieces[-1].problem
    if problem is not None:
        raise problem
    labels = [label for piece in pieces for label in piece.labels]
    known, more = known_labels(labels, target, options.skip_missing)
    notes += [*stream.late_notes, *strays.notes(stream), *more]
    if len(known) < len(labels):
        X = X[known]
    y = typed_labels([labels[row].strip() for row in known], target)
    check_number_of_classes(len(np.unique(y)), len(y), target)
    notes = [note for note in notes if not _is_of(note, [*options.drop, *ours])]
    notes += own_notes(ours)
    X = _without(X, stream, dropped)
    X, more = _without_names(X, stream, target)
    notes += more
    notes += column_notes(X, stream)
    notes += label_notes(y, target)
    notes += same_notes(X, y, stream.features, target)
    _, problem = check_categories(None, X, 1, stream)
    if problem is not None:
        raise problem
    classes = [str(one) for one in np.unique(y)]
    nominal = nominal_indices(stream.readings)
    return LabelledTable(
        str(stream.path),
        X,
        y,
        stream.features,
        classes,
        nominal,
        notes,
        stream.readings,
        stream.dialect,
    )


class Model(NamedTuple):
    """A saved tree, and how the columns of tables are read for it."""

    tree: object
    features: list[str]
    readings: list  # see `_columns`
    target: str
    dialect: Dialect  # of the table that it was fitted to


def model_columns(path):
    """Load a model that `fit` or `stream` has saved."""
    tree, facts = load(path)
    try:
        readings = [None if one is None else READINGS[one] for one in facts["readings"]]
        features = facts.get("features")
        if features is None:  # of a stream
            features = [one for one in facts["columns"] if one != facts["target"]]
        # older files lack both
        like = Dialect(facts.get("delimiter", ","), facts.get("--decimal"))
        if len(like.delimiter) != 1 or like.decimal not in (None, *DECIMALS):
            raise ValueError(like)
        return Model(tree, features, readings, facts["target"], like)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is damaged: {error!r}") from None


def read_columns(options, path, features, readings, progress, target=None, like=None):
    """Read a model's columns, and perhaps a target, from another table.

    Returns the columns, the labels, notes, and the dialect of the table.
    """
    with open_stream(path, target, options, like) as stream:
        missing = [name for name in features if name not in stream.features]
        if missing:
            raise UserError(_lacks(stream, missing, features, target))
        readings = [with_decimal(one, options.decimal) for one in readings]
        what = dict(zip(features, readings, strict=True))
        guesses = stream.lookahead()
        stream.readings = [what.get(name) for name in stream.features]
        notes = [] if options.decimal else _sign_notes(stream, guesses)
        pieces, strays = _pieces(stream, progress)
    if not pieces:
        raise UserError(f"{stream.path} has no rows below its header")
    if pieces[-1].problem is not None:
        raise pieces[-1].problem
    places = [stream.features.index(name) for name in features]
    X = np.concatenate([piece.X[:, places] for piece in pieces])
    if None not in readings:
        X = X.astype(np.float32)
    labels = [label for piece in pieces for label in piece.labels]
    notes += strays.notes(stream, settled=True)
    notes = [one for one in notes if _is_of(one, features)]
    return X, labels, notes, stream.dialect


def _sign_notes(stream, guesses):
    """Say which numbers seem to have another decimal sign than those of the model."""
    reason = ", as in the table of the model"
    return [
        f"column {name!r}: {sign_note(one.ambiguous, reading, reason)}"
        for name, reading, one in zip(
            stream.features, stream.readings, guesses, strict=True
        )
        if one.ambiguous is not None
        and reading in DECIMALS.values()
        and one.reading is not reading
    ]


def kept_texts(options, path, names, like):
    """Yield the names of columns, then their texts in each row; `all` names all."""
    with open_stream(path, None, options, like) as stream:
        if names == ["all"]:
            names = stream.features
        places = indices_of(names, stream.features, "--keep")
        stream.lookahead()
        stream.readings = [None] * len(stream.features)
        yield names
        for piece in stream.pieces(ROWS_AT_A_TIME):
            for row in piece.X[:, places].tolist():
                yield ["" if text is None else text for text in row]


def _lacks(stream, missing, features, target):
    """Say which columns a model needs and a table does not have."""
    unused = [one for one in stream.features if one not in (*features, target)]
    shown = listed(list(map(repr, missing)))
    what = f"has no column {shown}"
    if len(missing) > 1:
        what = f"lacks {len(missing)} columns, {shown}"
    text = f"{stream.path} {what}, which the model needs; "
    doubt = headless(stream, stream.lookahead())
    if doubt:
        return text + doubt
    if not unused:
        return f"{text}all of its columns are in use"
    hint = meant(missing[0], unused) if len(missing) == 1 else ""
    return f"{text}columns there that it does not use: {listed(unused)}.{hint}"


def _pieces(stream, progress):
    pieces, strays = [], Strays()
    progress.tell(f"reading {stream.path}")
    for piece in stream.pieces(ROWS_AT_A_TIME):
        pieces.append(piece)
        for _, place, text in piece.strays:
            strays.add(place, text)
        if stream.n_rows % ROWS_A_NOTE == 0:
            progress.tell(f"{stream.n_rows:,} rows of {stream.path} read")
    return pieces, strays


def read_labeled(options, path, features, readings, progress, target, like):
    """Read labeled rows of another table: a model's columns, labels as texts, notes."""
    X, labels, notes, _ = read_columns(
        options, path, features, readings, progress, target, like
    )
    known, more = known_labels(labels, target, options.skip_missing)
    return X[known], [labels[row].strip() for row in known], [*notes, *more]


def known_labels(labels, target, skip):
    """Rows whose label is known, and a note if there are others."""
    known = [row for row, label in enumerate(labels) if not is_missing(label)]
    n_missing = len(labels) - len(known)
    if not n_missing:
        return known, []
    rows = counted(n_missing, "row")
    if not known:
        raise UserError(f"target column {target!r} has no value in any row")
    if not skip:
        first = next(row for row, label in enumerate(labels) if is_missing(label))
        raise UserError(
            f"target column {target!r} has no value in row {first + 1}"
            f"{missing_word(labels[first])} ({rows} of {len(labels)} in all); "
            "--skip-missing leaves them out"
        )
    return known, [f"{rows} without a value of the target {target!r} left out"]


def _is_of(note, names):
    return any(note.startswith(f"column {name!r}") for name in names)


def _without(X, stream, places):
    """Leave columns out."""
    if not places:
        return X
    kept = np.setdiff1d(np.arange(X.shape[1]), places)
    if not len(kept):
        raise UserError("--drop leaves no column to learn from")
    stream.features = [stream.features[place] for place in kept]
    stream.readings = [stream.readings[place] for place in kept]
    X = X[:, kept]
    return X if None in stream.readings else X.astype(np.float32)


def _without_names(X, stream, target):
    """Leave out columns that identify rows, as a tree does and CART does not."""
    nominal = nominal_indices(stream.readings)
    out = [place for place in nominal if names_rows(X[:, place])]
    if not out:
        return X, []
    notes = [
        f"column {stream.features[place]!r} is left out: more than half of the rows "
        "have a category of their own there, which no new row has"
        for place in out
    ]
    if len(out) == X.shape[1]:
        raise UserError(
            f"{stream.path} has no column besides the target {target!r} that describes "
            f"rows: {notes[0]}"
        )
    return _without(X, stream, out), notes


def _share(strays, X, place):
    """How many of the values of a column are strays."""
    n_numbers = len(X) - np.count_nonzero(np.isnan(X[:, place].astype(np.float32)))
    return strays.count(place) / (strays.count(place) + n_numbers)
