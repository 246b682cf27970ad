"""``skconftree label``: active learning with labels from a person.

The *pool* is the table whose rows are labeled. The labels are saved in a *journal*, a
file of JSON lines (``--answers``). `stream.lookahead` infers the types of the columns
from the first rows of the table. The *dialect* of a file is its delimiter, decimal sign
and encoding; `COMMA` parses decimal commas. A recall is *certified* by rows drawn at
random. *Delivered* labels are those of a person, otherwise the suggestions. The options
of the command are explained in `_options`.
"""

import contextlib
import csv
import io
import os
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from .. import ConfidenceForestClassifier, ConfidenceTreeClassifier
from ..active import (
    ActiveLearner,
    LabelingSession,
    MostLikelySampling,
    RecallAbove,
    RiskBelow,
    SuggestedErrorBelow,
    WebOracle,
)
from ..active.session import JournalError
from ..utils import load_metadata, save
from ._columns import (
    COMMA,
    LABELED_AT,
    LABELED_BY,
    MAX_UNPARSEABLE,
    PREDICTED,
    SHARE,
    added_name,
    as_date,
    changed_by_sign,
    date_types,
    excluded_notes,
    identifies_rows,
    read_numbers,
    sign_note,
    unparseable_note,
    with_times,
    written_columns,
)
from ._common import (
    check_number_of_classes,
    is_missing,
    typed_labels,
    with_columns,
    with_dates,
)
from ._files import STANDARD, check_files, write_text
from ._options import TABLES, did_you_mean
from ._readers import as_matrix, as_numeric, header_notes, indices_of
from ._sources import open_stream
from ._stream import FITTED

# keys of metadata: number of labels, and names of the columns of texts
from ._table import LABELED, TEXTS
from ._text import Progress, UserError, say
from ._text_model import (
    CATEGORIES,
    NUMBERS,
    WORDS,
    TextFeatures,
    TextModel,
    save_text_model,
)

CHUNK_ROWS = 10_000
# Query strategies that select a leaf: by the upper limit of its number of errors, by
# its class entropy, or by the expected decrease of its errors.
TREE_STRATEGIES = {"leaf_risk", "leaf_entropy", "expected_error"}


class Pool(NamedTuple):
    """A table whose rows are to be labeled."""

    X: object  # an array, or a sparse matrix if there are texts
    y: np.ndarray  # None for unlabeled rows
    labels: list  # to choose from
    target: str
    shown: dict  # texts of each column except the target, by name
    nominal: list[int]  # indices of the nominal columns
    columns: list | None  # pairs of `_column_formats`; None if X is sparse
    notes: list[str]
    features: list[str]  # columns of the model, in its order
    parsers: list  # how each of them is parsed
    dialect: object  # of the table
    texts: TextFeatures | None  # that computed X
    text_names: list[str]  # columns of texts
    suggested: dict  # texts of the columns with suggested labels, by name


def read_pool(options):
    """Read a table whose target column may be missing or incomplete."""
    columns, types, notes, dialect = all_texts(options)
    target = options.target
    # columns that `label` or `predict` wrote
    written = written_columns(list(columns), target)
    columns = {name: texts for name, texts in columns.items() if name not in written}
    label_texts = columns.pop(target, None)
    indices_of(options.suggest, list(columns), "--suggest")
    suggested = {name: columns.pop(name) for name in dict.fromkeys(options.suggest)}
    if not columns:
        raise UserError(f"{options.data} has no column besides the target {target!r}")
    for option in ("text", "ignore", "nominal", "numeric"):
        indices_of(getattr(options, option), list(columns), f"--{option}")
    y, labels = _labels(label_texts, options, len(next(iter(columns.values()))))
    notes += excluded_notes(written)
    used = {*options.text, *options.ignore, *options.nominal, *options.numeric}
    others = [name for name in columns if name not in used]
    found = [name for name in others if types[name].parser is None]
    text_names = list(options.text)
    pictures = [name for name in found if _are_pictures(columns[name])]
    for name in found:
        if name in pictures:
            notes.append(PICTURES.format(name=name))
        elif _are_texts(columns[name]):
            text_names.append(name)
            notes.append(
                f"column {name!r} has texts, whose words become features; --ignore "
                f"{name} only shows it"
            )
    feature_texts = {
        name: texts
        for name, texts in columns.items()
        if name not in text_names
        and name not in options.ignore
        and name not in pictures
    }
    tables, parsers, feature_names = [], [], []
    for name, texts in feature_texts.items():
        column = types[name]
        if name in options.numeric:
            column = as_numeric(column, name, options.nominal)
        parser, unparseable = column.parser, []
        if name in options.nominal:
            parser = None
        else:
            notes += [f"column {name!r}: {note}" for note in column.notes]
            # `ambiguous`: a text of the first rows that depends on the decimal sign
            is_specified = options.decimal is not None or column.ambiguous
            if column.parser is COMMA and not is_specified:
                # later numbers may depend on the decimal sign
                if (text := changed_by_sign(texts, COMMA)) is not None:
                    notes.append(f"column {name!r}: {sign_note(text, COMMA)}")
        if parser is not None:
            values, unparseable = read_numbers(texts, parser)
            if len(unparseable) > MAX_UNPARSEABLE * sum(
                not is_missing(text) for text in texts
            ):
                parser = None
        if parser is None:
            values = np.array([None if is_missing(text) else text for text in texts])
            values = values.astype(object)
            if identifies_rows(values.tolist()) and name not in options.nominal:
                notes.append(
                    f"column {name!r} is shown but not used as a feature, because "
                    f"nearly each row has a unique value; --text {name} uses its words"
                )
                continue
        elif unparseable:
            shown = list(dict.fromkeys(texts[row].strip() for row in unparseable))
            notes.append(unparseable_note(name, shown[:4], len(unparseable), parser))
        tables.append(values)
        parsers.append(parser)
        feature_names.append(name)
    nominal = [j for j, parser in enumerate(parsers) if parser is None]
    formats = text_features = None
    if text_names:
        kinds = [CATEGORIES if parser is None else NUMBERS for parser in parsers]
        parts = [(WORDS, columns[name]) for name in text_names]
        parts += zip(kinds, tables, strict=True)
        text_features = TextFeatures.fit(parts)
        X = text_features.transform([values for _, values in parts])
        feature_names = [*text_names, *feature_names]
        parsers = [None] * len(text_names) + parsers
    elif tables:
        X = as_matrix(tables, len(y), parsers)
        formats = _column_formats(feature_names, X, parsers)
    else:
        raise UserError(f"{options.data} has no features. {' '.join(notes)}")
    return Pool(
        *(X, y, labels, target, columns, nominal, formats, notes),
        *(feature_names, parsers, dialect, text_features, text_names, suggested),
    )


MIN_WORDS = 5  # of most values of a column of texts
PICTURE_ENDINGS = (".avif", ".gif", ".jpeg", ".jpg", ".png", ".webp")
PICTURES = (
    "column {name!r} has names of pictures, which --web --images FOLDER shows, but "
    "which are not features; compute an embedding of each picture, for example with a "
    "pretrained network, and join its numbers to the table by this column"
)


def _are_texts(values):
    known = [text for text in values if not is_missing(text)]
    n_texts = sum(len(text.split()) >= MIN_WORDS for text in known)
    return 2 * n_texts > len(known)


def _are_pictures(values):
    known = [text for text in values if not is_missing(text)]
    n_pictures = sum(text.strip().lower().endswith(PICTURE_ENDINGS) for text in known)
    return 2 * n_pictures > len(known)


def make_estimator(options, pool):
    """Create the classifier: a linear model for texts, otherwise a forest.

    Strategies that query by leaves need a single tree.
    """
    parameters = {"random_state": options.seed}
    if pool.texts is None and pool.nominal:
        parameters["categorical_features"] = pool.nominal
    if options.strategy in TREE_STRATEGIES:
        return ConfidenceTreeClassifier(**parameters)
    if pool.texts is not None:
        return LogisticRegression(C=10.0, max_iter=1000)
    return ConfidenceForestClassifier(**parameters)


def all_texts(options):
    """Read a table; return columns of texts, their types by name, notes, and dialect.

    Texts of missing values are empty.
    """
    with open_stream(options.data, target=None, options=options) as stream:
        types = dict(zip(stream.features, stream.lookahead(), strict=True))
        notes = header_notes(stream)
        stream.parsers = [None] * len(stream.features)
        chunks = list(stream.chunks(CHUNK_ROWS))
        names, dialect = stream.features, stream.dialect
    if not chunks:
        raise UserError(f"{options.data} has no rows below its header")
    if chunks[-1].problem is not None:
        raise chunks[-1].problem
    X = np.concatenate([chunk.X for chunk in chunks])
    columns = {
        name: ["" if value is None else str(value) for value in X[:, index].tolist()]
        for index, name in enumerate(names)
    }
    return columns, types, notes, dialect


def _labels(texts, options, n_rows):
    # Returns the labels of the rows, None for unlabeled rows, and all possible labels.
    known = {}
    for row, label in enumerate(texts or ()):
        if not is_missing(label):
            known[row] = label.strip()
    choice = list(dict.fromkeys([*options.labels, *sorted(set(known.values()))]))
    if not options.labels:
        check_number_of_classes(
            len(choice),
            len(known),
            options.target,
            "; if they are classes nevertheless, list them by --labels",
        )
    if options.labels:
        unknown = [label for label in known.values() if label not in options.labels]
        if unknown:
            raise UserError(
                f"target column {options.target!r} has the label {unknown[0]!r}, which "
                f"is not one of --labels {','.join(options.labels)}"
            )
    if len(choice) < 2:
        raise UserError(
            f"at least two labels are needed, got "
            f"{', '.join(choice) or 'none'}; give --labels A,B"
        )
    typed = dict(zip(choice, typed_labels(choice, options.target), strict=True))
    y = np.full(n_rows, None)
    for row, label in known.items():
        y[row] = typed[label].item()
    return y, [label.item() for label in typed.values()]


def _column_formats(names, X, parsers):
    # Returns pairs of a column name and a function that formats its numbers.
    with_time = with_times(X, parsers)
    return [
        (name, "{:.4g}".format if kind is None else as_date(kind))
        for name, kind in zip(
            names, date_types(parsers, with_time) or [None] * len(names), strict=True
        )
    ]


DEFAULT_BUDGET = 50
N_FORECAST = 20  # further labels whose benefit is estimated


def run_label(options):
    """Run ``skconftree label`` and return the exit code."""
    check_images(options)
    options.answers = options.answers or sibling_path(options.data, ".answers.jsonl")
    options.output = options.output or sibling_path(options.data, ".labeled.csv")
    if options.model is None:
        options.model = sibling_path(options.data, ".model")
        _check_default_model(options.model)
    check_files(options, read=("data",), written=("output", "answers", "model"))
    with Progress() as progress:
        progress.update(f"reading {options.data}")
        pool = read_pool(options)
        progress.note(*pool.notes)
    show = options.show or options.text or None
    unknown = [name for name in show or () if name not in pool.shown]
    if unknown:
        raise UserError(
            f"--show {unknown[0]!r} is not one of the columns besides the target: "
            f"{', '.join(pool.shown)}"
        )
    positive, strategy = _positive(options, pool), options.strategy
    if strategy == "most_likely":
        strategy = MostLikelySampling(positive)
    stop = []
    if options.stop_risk is not None:
        # audit: random rows, by which the error rate is estimated
        stop.append(RiskBelow(options.stop_risk, method="audit"))
    if options.max_error is not None:
        if len(pool.suggested) != 1:
            raise UserError("--max-error needs --suggest with one column of labels")
        stop.append(SuggestedErrorBelow(options.max_error))
    if options.stop_recall is not None:
        stop.append(
            RecallAbove(positive, recall=options.stop_recall, certify=options.certify)
        )
    elif options.certify:
        raise UserError("--certify needs --stop-recall, the recall to certify")
    elif options.budget is None and options.max_error is None:
        options.budget = DEFAULT_BUDGET
    learner = ActiveLearner(
        make_estimator(options, pool),
        strategy=strategy,
        classes=pool.labels,
        random_state=options.seed,
    )
    with warnings.catch_warnings(action="ignore"):  # warnings of fits to few labels
        try:
            session = LabelingSession(
                learner,
                options.answers,
                pool.X,
                pool.y,
                budget=options.budget,
                repeat=options.repeat,
                random_share=options.random_share,
                stop=stop or None,
                annotator=options.annotator,
                shown=pool.shown,
                columns=pool.columns,
                suggested=_suggestions(pool),
                positive=positive,
            )
        except JournalError as error:
            raise UserError(f"{error} Use --answers to name another file.") from error
        with session:
            answer_questions(session, options, show)
            _finish(session, pool, options)
    return 0


def check_images(options):
    """Raise UserError if the folder of --images cannot be shown."""
    if options.images is not None and not options.web:
        raise UserError("--images needs --web, because a terminal cannot show images")
    if options.images is not None and not Path(options.images).is_dir():
        raise UserError(f"--images {options.images!r} is not a folder")


def answer_questions(session, options, show=None):
    """Ask for labels on a page or at the terminal, until the session ends."""
    show = show or options.show
    if not options.web:
        session.label(show)
        return
    with WebOracle(session, show=show, images=options.images) as page:
        say(
            f"The questions are at {page.url}\n"
            "Press q there or Ctrl-C here to end; all answers are saved."
        )
        page.wait()


def _suggestions(pool):
    # Suggested labels by column; other texts stay texts, which are not labels.
    labels = {str(label): label for label in pool.labels}
    return {
        name: [
            None if is_missing(text) else labels.get(text.strip(), text)
            for text in texts
        ]
        for name, texts in pool.suggested.items()
    }


def _positive(options, pool):
    # Returns the class to look for, or None.
    if options.pos_label is None:
        if options.stop_recall is not None:
            option = "--stop-recall"
        elif options.strategy == "most_likely":
            option = "--strategy most_likely"
        else:
            return None
        if len(pool.labels) > 2:
            raise UserError(
                f"{option} with {len(pool.labels)} labels needs --pos-label, the label "
                "to look for"
            )
        return pool.labels[-1]
    label = {str(label): label for label in pool.labels}.get(options.pos_label)
    if label is None:
        known = list(map(str, pool.labels))
        raise UserError(
            f"--pos-label {options.pos_label!r} is not one of the labels "
            f"{', '.join(known)}.{did_you_mean(options.pos_label, known)}"
        )
    return label


def _finish(session, pool, options):
    """Write the table, then print the names of the files."""
    session.close()  # learns the labels of an incomplete query
    n = session.progress().n_answers
    lines = [f"\n{n} {'label is' if n == 1 else 'labels are'} in {options.answers}."]
    if session.learner.n_labeled_:
        with Progress() as progress:
            progress.update("predicting the table")
            predicted, proba = session.predictions()
            try:
                delivers = options.max_error is not None
                text = _as_csv(session, pool, predicted, proba, delivers)
                write_text(options.output, text)
            except UserError as error:
                raise UserError(f"{error}; {lines[0].strip()}") from error
            progress.update("estimating the error rate and the benefit of more labels")
            recall = session.progress().recall
            estimate = "\n".join(
                [
                    str(session.estimate_error()),
                    *([] if recall is None else [str(recall)]),
                    *(
                        f"{error.sentence(f'labels in column {source!r}')}."
                        for source, error in session.estimate_suggested_error().items()
                    ),
                ]
            )
            forecast = session.forecast(N_FORECAST)
            if options.max_error is not None:
                estimate = f"{session.delivered_labels()}\n{estimate}"
        contents = ""
        if predicted is not None:
            contents = " and predictions"
            _save_model(session, pool, options)
        lines.append(
            f"{options.output} has the table with labels{contents}.\n{estimate}\n"
            f"{forecast}"
        )
        if predicted is not None:
            lines.append(
                f"{options.model} has the model. Predict other rows with `skconftree "
                f"predict {options.model} DATA`."
            )
    say("\n".join(lines))


def _check_default_model(path):
    # A model of another command next to the table is not replaced.
    if not os.path.exists(path):
        return
    with contextlib.suppress(ValueError):
        if LABELED in load_metadata(path):
            return
    raise UserError(
        f"{path} exists, and `skconftree label` did not write it; name the file of the "
        "model by --model"
    )


def _save_model(session, pool, options):
    """Save the classifier for ``skconftree predict``."""
    model = session.learner.estimator_
    metadata = {
        "kind": FITTED,  # not by `stream`, which can resume its models
        LABELED: session.progress().n_answers,
        "target": options.target,
        "--decimal": options.decimal,
        "delimiter": pool.dialect.delimiter,
        "features": pool.features,
        # how the values of each column are parsed
        "readings": [parser and parser.name for parser in pool.parsers],
    }
    if pool.texts is None:
        X, parsers = pool.X, pool.parsers
        model = with_columns(model, np.array(pool.features, dtype=object))
        model = with_dates(model, date_types(parsers, with_times(X, parsers)))
        save(options.model, model, metadata)
    else:
        metadata[TEXTS] = pool.text_names
        save_text_model(options.model, TextModel(pool.texts, model), metadata)


def sibling_path(path, ending):
    """Return the path of a file next to a table, with another extension."""
    if path == STANDARD:
        raise UserError(
            "a table on standard input cannot be labeled; save it as a file"
        )
    folder, name = os.path.split(path)
    while name.lower().endswith(TABLES) and name.rpartition(".")[0]:
        name = name.rpartition(".")[0]
    return os.path.join(folder, name + ending)


def _as_csv(session, pool, predicted, proba, delivers):
    answers = {answer["row"]: answer for answer in session.answers()}
    delivered = session.delivered_labels() if delivers else None
    classes = session.learner.classes_.tolist()
    names = [PREDICTED, *(f"{SHARE}{c}" for c in classes), LABELED_BY, LABELED_AT]
    names = [
        added_name(name, {*pool.shown, *pool.suggested, pool.target}) for name in names
    ]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    columns = pool.shown | pool.suggested
    writer.writerow([*columns, pool.target, *names])
    for row, values in enumerate(zip(*columns.values(), strict=True)):
        label, at = pool.y[row], ""
        by = "" if label is None else "the table"
        if row in answers:
            label, at = answers[row]["label"], answers[row]["at"]
            by = answers[row]["annotator"] or "a person"
        elif label is None and delivers and delivered.labels[row] is not None:
            label, by = delivered.labels[row], delivered.source
        line = ["" if label is None else label]
        if predicted is None:  # while only one class has labels
            line += [""] * (1 + len(classes))
        else:
            line += [predicted[row], *(f"{part:.6g}" for part in proba[row])]
        if label is None:
            by = at = ""
        writer.writerow([*values, *line, by, at])
    return file.getvalue()
