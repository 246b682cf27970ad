"""``skconftree evaluate``: estimate how good a saved model is from few labels.

The rows of a table are drawn at random, the more probably the more the model doubts
their prediction, and a person labels them. The labels are saved in a *journal*, a file
of JSON lines (``--answers``). The *dialect* of a file is its delimiter, decimal sign
and encoding, and the *half width* that of the confidence interval.
"""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from .. import __version__
from ..active import HalfWidthBelow, LabelingSession, ModelEvaluator
from ..active.session import JournalError
from ._common import as_json, is_missing, with_columns
from ._files import check_files, write_json
from ._label import all_texts, answer_questions, check_images, sibling_path
from ._options import EVALUATE_BUDGET
from ._readers import indices_of
from ._sources import open_stream
from ._table import ModelColumns, model_columns
from ._text import Progress, UserError, say
from ._text_model import TextModel


class _OfTexts(ClassifierMixin, BaseEstimator):
    """Adapter of a `TextModel` to the interface of a scikit-learn classifier."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        return self

    @property
    def classes_(self):
        return self.model.classes_

    def predict_proba(self, X):
        return self.model.predict_proba(X)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def run_evaluate(options):
    """Run ``skconftree evaluate`` and return the exit code."""
    check_images(options)
    options.answers = options.answers or sibling_path(options.data, ".evaluation.jsonl")
    check_files(options, read=("data", "model"), written=("answers", "json"))
    if options.budget is None and options.half_width is None:
        options.budget = EVALUATE_BUDGET
    model = model_columns(options.model)
    classifier = (
        _OfTexts(model.tree)
        if isinstance(model.tree, TextModel)
        else with_columns(model.tree, names=None)  # the columns are in its order
    )
    target = options.target or model.target or "label"
    with Progress() as progress:
        progress.update(f"reading {options.data}")
        shown, _, notes, _ = all_texts(options)  # texts of columns to show
        X, more = _rows(options, model, progress)
        progress.note(*notes, *more)
        given = shown.pop(target, None)
    indices_of(options.show or (), list(shown), "--show")
    known = {str(label): label for label in classifier.classes_.tolist()}
    for text in options.labels:
        known.setdefault(text, _typed(text, known))
    y = None if given is None else _known_labels(given, known, target)
    evaluator = ModelEvaluator(
        classifier,
        metric=options.metric,
        pos_label=_positive(options, known),
        confidence=options.confidence,
        classes=list(known.values()),
        random_state=options.seed,
    )
    with warnings.catch_warnings(action="ignore"):  # the notes contain the warnings
        try:
            session = LabelingSession(
                evaluator,
                options.answers,
                X,
                y,
                budget=options.budget,
                stop=options.half_width and HalfWidthBelow(options.half_width),
                annotator=options.annotator,
                shown=shown,
            )
        except JournalError as error:
            raise UserError(f"{error} Use --answers to name another file.") from error
        with session:
            answer_questions(session, options)
            session.close()
            report = evaluator.report()
    say(
        f"\n{report}\nThe labels are in {options.answers}. The same command continues "
        "with more of them."
    )
    if options.json is not None:
        write_json(options.json, _record(options, report, X.shape[0]))
    return 0


def _rows(options, model, progress):
    """Return the columns of the model, and notes on them."""
    with open_stream(
        options.data, target=None, options=options, like=model.dialect
    ) as stream:
        columns = ModelColumns(options, stream, model.features, model.parsers)
        chunks = [X for X, _ in columns.chunks(progress)]
    return np.concatenate(chunks), columns.notes


def _typed(text, known):
    # Another label, of the type of the labels of the model.
    if all(isinstance(label, int) for label in known.values()):
        try:
            return int(text)
        except ValueError:
            raise UserError(
                f"--labels {text!r} is not a number, but the labels of the model are"
            ) from None
    return text


def _known_labels(texts, known, target):
    """Return the labels of the table, None for rows without one."""
    labels = [None if is_missing(text) else text.strip() for text in texts]
    unknown = [label for label in labels if label is not None and label not in known]
    if unknown:
        raise UserError(
            f"target column {target!r} has the label {unknown[0]!r}, which the model "
            f"does not know; --labels {unknown[0]} adds it"
        )
    y = np.full(len(labels), None)
    y[:] = [label if label is None else known[label] for label in labels]
    return y


def _positive(options, known):
    if options.pos_label is None:
        return None
    if options.pos_label not in known:
        raise UserError(
            f"--pos-label {options.pos_label!r} is not one of the labels of the model: "
            f"{', '.join(known)}"
        )
    return known[options.pos_label]


def _record(options, report, n_rows):
    """Return the report of --json."""
    return as_json(
        {
            "version": __version__,
            "model": options.model,
            "data": {"name": options.data, "rows": n_rows},
            "metric": report.metric,
            "pos_label": report.pos_label,
            "estimate": report.estimate,
            "limits": report.interval,
            "confidence": report.confidence,
            "labels": report.n_labels,
        }
    )
