"""``skconftree label``: labels of a table, by a person."""

import csv
import io
import os
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from .. import ConfidenceForestClassifier, ConfidenceTreeClassifier
from ..active import ActiveLearner, LabelingSession, RiskBelow, WebOracle
from ..active.session import JournalError
from ._columns import (
    COMMA,
    MAX_UNPARSEABLE,
    PREDICTED,
    SAID_AT,
    SAID_BY,
    SHARE,
    as_date,
    changed_by_sign,
    date_kinds,
    names_rows,
    own_columns,
    own_name,
    own_notes,
    read_numbers,
    sign_note,
    unparseable_note,
    with_times,
)
from ._common import check_number_of_classes, is_missing, typed_labels
from ._files import STANDARD, check_files, write_text
from ._options import TABLES
from ._readers import as_matrix, as_numeric, header_notes, indices_of, open_stream
from ._text import Progress, UserError, say

ROWS_AT_A_TIME = 10_000
OF_LEAVES = {"leaf_risk", "leaf_entropy", "expected_error"}


class Pool(NamedTuple):
    """A table to be labelled."""

    X: object  # an array, or sparse if there are texts
    y: np.ndarray  # None where there is no label
    labels: list  # to choose from
    target: str
    shown: dict  # texts of each column besides the target, by its name
    nominal: list[int]  # places of the columns of categories
    columns: list | None  # of X: names, and how numbers are written; None of words
    notes: list[str]


def read_pool(options):
    """Read a table whose target may be missing, as a whole or in places."""
    columns, guesses, notes = _texts(options)
    target = options.target
    ours = own_columns(list(columns), target)
    columns = {name: texts for name, texts in columns.items() if name not in ours}
    told = columns.pop(target, None)
    if not columns:
        raise UserError(f"{options.data} has no column besides the target {target!r}")
    for option in ("text", "ignore", "nominal", "numeric"):
        indices_of(getattr(options, option), list(columns), f"--{option}")
    y, labels = _labels(told, options, len(next(iter(columns.values()))))
    notes += own_notes(ours)
    left = {
        name: texts
        for name, texts in columns.items()
        if name not in options.text and name not in options.ignore
    }
    tables, readings, kept = [], [], []
    for name, texts in left.items():
        found = guesses[name]
        if name in options.numeric:
            found = as_numeric(found, name, options.nominal)
        reading, strays = found.reading, []
        if name in options.nominal:
            reading = None
        else:
            notes += [f"column {name!r}: {note}" for note in found.notes]
            is_settled = options.decimal is not None or found.ambiguous
            if found.reading is COMMA and not is_settled:
                # numbers behind the first rows, which the other sign would change
                if (text := changed_by_sign(texts, COMMA)) is not None:
                    notes.append(f"column {name!r}: {sign_note(text, COMMA)}")
        if reading is not None:
            values, strays = read_numbers(texts, reading)
            if len(strays) > MAX_UNPARSEABLE * sum(
                not is_missing(one) for one in texts
            ):
                reading = None
        if reading is None:
            values = np.array([None if is_missing(one) else one for one in texts])
            values = values.astype(object)
            if names_rows(values.tolist()) and name not in options.nominal:
                notes.append(
                    f"column {name!r} is shown but not learnt from, as nearly each row "
                    f"has a value of its own there; --text {name} makes words of it"
                )
                continue
        elif strays:
            shown = list(dict.fromkeys(texts[row].strip() for row in strays))
            notes.append(unparseable_note(name, shown[:4], len(strays), reading))
        tables.append(values)
        readings.append(reading)
        kept.append(name)
    nominal = [place for place, one in enumerate(readings) if one is None]
    named = None
    if options.text:
        X = _words([columns[name] for name in options.text], tables, readings)
    elif tables:
        X = as_matrix(tables, len(y), readings)
        named = _column_formats(kept, X, readings)
    else:
        raise UserError(
            f"{options.data} has no column to learn from. {' '.join(notes)}"
        )
    return Pool(X, y, labels, target, columns, nominal, named, notes)


def make_estimator(options, pool):
    """Make the classifier that asks: of words a line, of a table a forest.

    A forest is unsure of single rows, a tree of leaves, which some strategies ask in.
    """
    given = {"random_state": options.seed}
    if not options.text and pool.nominal:
        given["categorical_features"] = pool.nominal
    if options.strategy in OF_LEAVES:
        return ConfidenceTreeClassifier(**given)
    if options.text:
        return LogisticRegression(C=10.0, max_iter=1000)
    return ConfidenceForestClassifier(**given)


def _texts(options):
    # All columns as texts, empty where a value is missing; what their first values tell
    # of each, by names; and notes.
    with open_stream(options.data, None, options) as stream:
        guesses = dict(zip(stream.features, stream.lookahead(), strict=True))
        notes = header_notes(stream)
        stream.readings = [None] * len(stream.features)
        pieces = list(stream.pieces(ROWS_AT_A_TIME))
        names = stream.features
    if not pieces:
        raise UserError(f"{options.data} has no rows below its header")
    if pieces[-1].problem is not None:
        raise pieces[-1].problem
    X = np.concatenate([piece.X for piece in pieces])
    columns = {
        name: ["" if one is None else str(one) for one in X[:, place].tolist()]
        for place, name in enumerate(names)
    }
    return columns, guesses, notes


def _labels(told, options, n_rows):
    # Labels of the rows, None where there is none, and all to choose from.
    known = {}
    for row, label in enumerate(told or ()):
        if not is_missing(label):
            known[row] = label.strip()
    choice = list(dict.fromkeys([*options.labels, *sorted(set(known.values()))]))
    if not options.labels:
        check_number_of_classes(
            len(choice),
            len(known),
            options.target,
            "; if they are classes all the same, list them by --labels",
        )
    if options.labels:
        others = [one for one in known.values() if one not in options.labels]
        if others:
            raise UserError(
                f"target column {options.target!r} has the label {others[0]!r}, which "
                f"is not one of --labels {','.join(options.labels)}"
            )
    if len(choice) < 2:
        raise UserError(
            f"there must be two labels at least to choose from, got "
            f"{', '.join(choice) or 'none'}; give --labels A,B"
        )
    typed = dict(zip(choice, typed_labels(choice, options.target), strict=True))
    y = np.full(n_rows, None)
    for row, label in known.items():
        y[row] = typed[label].item()
    return y, [one.item() for one in typed.values()]


def _column_formats(names, X, readings):
    # Names of columns, and how their numbers are written.
    timed = with_times(X, readings)
    return [
        (name, "{:.4g}".format if kind is None else as_date(kind))
        for name, kind in zip(
            names, date_kinds(readings, timed) or [None] * len(names), strict=True
        )
    ]


def _words(texts, tables, readings):
    # Words of texts beside numbers and categories; distances make sense as they are.
    parts = []
    for one in texts:
        try:
            parts.append(TfidfVectorizer(sublinear_tf=True).fit_transform(one))
        except ValueError as error:
            raise UserError(f"--text: {error}") from error
    for values, reading in zip(tables, readings, strict=True):
        column = values.reshape(-1, 1)
        if reading is None:
            encoder = OneHotEncoder(max_categories=30)
            column = np.array([["" if one is None else one] for one in values])
            parts.append(encoder.fit_transform(column))
        else:
            scaled = StandardScaler().fit_transform(column.astype(np.float64))
            parts.append(sparse.csr_array(np.nan_to_num(scaled)))
    return sparse.csr_matrix(sparse.hstack(parts, format="csr"))


FORECAST = 20  # labels


def run_label(options):
    """Do the command; return the exit code."""
    if options.images is not None and not options.web:
        raise UserError("--images needs --web: a terminal shows no pictures")
    if options.images is not None and not Path(options.images).is_dir():
        raise UserError(f"--images {options.images!r} is not a folder")
    options.answers = options.answers or _beside(options.data, ".answers.jsonl")
    options.output = options.output or _beside(options.data, ".labelled.csv")
    check_files(options)
    with Progress() as progress:
        progress.tell(f"reading {options.data}")
        pool = read_pool(options)
        progress.note(*pool.notes)
    show = options.show or options.text or None
    unknown = [name for name in show or () if name not in pool.shown]
    if unknown:
        raise UserError(
            f"--show {unknown[0]!r} is not one of the columns besides the target: "
            f"{', '.join(pool.shown)}"
        )
    stop = None
    if options.stop_risk is not None:
        stop = RiskBelow(options.stop_risk, method="audit")
    learner = ActiveLearner(
        make_estimator(options, pool),
        strategy=options.strategy,
        classes=pool.labels,
        random_state=options.seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits to a few labels
        try:
            session = LabelingSession(
                learner,
                options.answers,
                pool.X,
                pool.y,
                budget=options.budget,
                stop=stop,
                annotator=options.annotator,
                shown=pool.shown,
                columns=pool.columns,
            )
        except JournalError as error:
            raise UserError(f"{error} --answers names another file.") from error
        with session:
            if options.web:
                with WebOracle(session, show=show, images=options.images) as page:
                    say(
                        f"The questions are at {page.url}\n"
                        "q there or Ctrl-C here ends; all answers are saved."
                    )
                    page.wait()
            else:
                session.label(show)
            _finish(session, pool, options)
    return 0


def _finish(session, pool, options):
    """Write the table, then say where everything is."""
    n = session.progress().n_answers
    said = [f"\n{n} {'label is' if n == 1 else 'labels are'} in {options.answers}."]
    if session.learner.n_labeled_:
        with Progress() as progress:
            progress.tell("predicting the table")
            predicted, proba = session.predictions()
            try:
                write_text(options.output, _as_csv(session, pool, predicted, proba))
            except UserError as error:
                raise UserError(f"{error}; {said[0].strip()}") from error
            progress.tell("estimating what more labels would bring")
            forecast = session.forecast(FORECAST)
        told = " and predictions" if predicted is not None else ""
        said.append(f"{options.output} has the table with labels{told}.\n{forecast}")
    say("\n".join(said))


def _beside(path, ending):
    """Name of a file beside a table, whose own endings are cut off."""
    if path == STANDARD:
        raise UserError(
            "a table on standard input cannot be labelled; save it as a file"
        )
    folder, name = os.path.split(path)
    while name.lower().endswith(TABLES) and name.rpartition(".")[0]:
        name = name.rpartition(".")[0]
    return os.path.join(folder, name + ending)


def _as_csv(session, pool, predicted, proba):
    told = {one["row"]: one for one in session.answers()}
    classes = session.learner.classes_.tolist()
    ours = [PREDICTED, *(f"{SHARE}{one}" for one in classes), SAID_BY, SAID_AT]
    ours = [own_name(name, {*pool.shown, pool.target}) for name in ours]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*pool.shown, pool.target, *ours])
    for row, values in enumerate(zip(*pool.shown.values(), strict=True)):
        label, by, at = pool.y[row], "", ""
        if label is not None:
            by = "the table"
        if row in told:
            one = told[row]
            label, by, at = one["label"], one["annotator"] or "a person", one["at"]
        line = ["" if label is None else label]
        if predicted is None:  # while there are labels of one class alone
            line += [""] * (1 + len(classes))
        else:
            line += [predicted[row], *(f"{part:.6g}" for part in proba[row])]
        if label is None:
            by = at = ""
        writer.writerow([*values, *line, by, at])
    return file.getvalue()
