"""Labels queried from a pool and from a stream, each in a few calls of its own."""

import pickle
import re

import numpy as np
from sklearn.base import clone

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    OASISClassifier,
)
from skconftree.active import (
    ActiveLearner,
    ArrayOracle,
    EC2Sampling,
    LabelBudget,
    LTSSampling,
    RiskBelow,
    StableModel,
    StreamActiveLearner,
    WeightedSampling,
)
from skconftree.active._registry import STRATEGIES
from skconftree.active.stream._strategies import STREAM_STRATEGIES

from . import invariants
from .failures import require
from .parameters import NAMES

OBJECTS = (
    EC2Sampling(clustered=True),
    EC2Sampling(pure=True, on_exhausted="resample"),
    LTSSampling(alpha=0.0, max_dimensions=2),
    WeightedSampling([("a", "margin", 0.5), ("b", "density", 0.5)]),
)
REFUSALS = re.compile(
    "only be .leaf. if the estimator is a single tree|needs .* which .* does not have"
)
ROUNDS = 3


def _tree(sequence):
    draw, table = sequence.draw, sequence.table
    parameters = {
        "lookahead": 0,  # which takes most of the time
        "bound": draw.one([None, None, "gtest", *NAMES]),
        "categorical_features": table.categorical_features,
        "grace_period": draw.one([1, 20]),
    }
    if draw.chance(0.25):
        del parameters["lookahead"]
        return ConfidenceForestClassifier(3, **parameters)
    return ConfidenceTreeClassifier(**parameters)


def query_a_pool(sequence):
    """What is asked, taught, taken back and taught again."""
    draw, table = sequence.draw, sequence.table
    rows = table.rows(draw, draw.one([6, 30, 70]), weights=False)
    X, y = table.give(draw, rows.X), table.labels[rows.y]
    known = draw.rng.random(len(rows)) < draw.one([0.0, 0.2, 0.9])
    start = np.full(len(rows), None)
    start[known] = y[known]
    learner = ActiveLearner(
        _tree(sequence),
        strategy=draw.one([*STRATEGIES, *OBJECTS]),
        batch_size=draw.one([1, 3]),
        refit=draw.chance(0.7),
        tie_break=draw.one(["auto", "random", "leaf", "density"]),
        classes=draw.one([None, None, table.classes]),
        random_state=draw.whole(0, 1000),
    )
    if not _unless_refused(sequence, "pool: fit", learner.fit, X, start):
        return
    plain = clone(learner).fit(X, start)
    for _ in range(ROUNDS):
        k = draw.one([None, 1, 7, len(rows)])
        asked, scores = sequence.call(
            "pool: query", learner.query, k, return_scores=True
        )
        left = len(rows) - learner.n_labeled_
        wanted = min(left, learner.batch_size if k is None else k)
        require(
            len(asked) == len(scores) == len(np.unique(asked)) == wanted,
            "pool: rows asked for",
            lambda asked=asked, wanted=wanted: f"{asked}, {wanted} wanted",
        )
        require(not known[asked].any(), "pool: a row with a label is asked for")
        if not len(asked):
            break
        other = sequence.call("pool: pickle", _copied, learner)
        same = draw.one([learner, other]).query(k)
        require(np.array_equal(same, asked), "pool: other rows are asked for")
        answers = y[asked].astype(object)
        answers[draw.rng.random(len(asked)) < 0.2] = None
        sequence.call("pool: teach", learner.teach, asked, answers)
        if draw.chance(0.3):
            learner.undo()
            require(
                np.array_equal(learner.query(k), asked),
                "pool: what was taken back is not as if it had not been given",
            )
            learner.teach(asked, answers)
        plain.teach(asked, answers)
        taught = np.array([one is not None for one in answers])
        known[asked[taught]] = True
        require(learner.n_labeled_ == known.sum(), "pool: number of labels")
        _same_answers(learner, plain, X)
    if hasattr(learner, "estimator_"):
        stop = [
            LabelBudget(draw.whole(1, 9)),
            draw.one([StableModel(), RiskBelow(0.2)]),
        ]
        _unless_refused(sequence, "pool: run", learner.run, ArrayOracle(y), stop=stop)


def _unless_refused(sequence, name, function, *arguments, **options):
    """Whether a strategy or a rule works with the estimator."""
    try:
        sequence.call(name, function, *arguments, **options)
    except ValueError as error:
        if not REFUSALS.search(str(error)):
            raise
        return False
    return True


def _copied(learner):
    return pickle.loads(pickle.dumps(learner))


def _same_answers(learner, other, X):
    require(
        hasattr(learner, "estimator_") == hasattr(other, "estimator_"),
        "pool: only one has learned",
    )
    if not hasattr(learner, "estimator_"):
        return
    proba = learner.predict_proba(X)
    require(
        proba.shape[1] == len(learner.classes_) and np.isfinite(proba).all(),
        "pool: probabilities",
    )
    require(
        np.array_equal(proba, other.predict_proba(X)),
        "pool: the same answers give another model",
    )


def query_a_stream(sequence):
    """Rows decided on in any chunks, within a budget."""
    draw, table = sequence.draw, sequence.table
    if table.n_classes < 2:
        return
    rows = table.rows(draw, draw.one([30, 200]), weights=False)
    n = len(rows)
    strategy = draw.one(list(STREAM_STRATEGIES))
    planes = strategy in ("oasis", "gbs", "uc")
    if planes:
        if table.categories or np.isnan(rows.X).any():
            return
        X, model = np.clip(rows.X, -1e9, 1e9), OASISClassifier(n_particles=20)
    else:
        X, model = table.give(draw, rows.X), _tree(sequence)
    y = table.labels[rows.y]
    budget = draw.one([0.05, 0.5, 1.0])
    learner = StreamActiveLearner(
        model,
        strategy=strategy,
        budget=budget,
        strict_budget=draw.chance(0.7),
        budget_estimate=draw.one(["exact", "exact", "windowed"]),
        drift="ddm" if strategy.startswith("split") and draw.chance(0.5) else None,
        classes=table.classes,
        random_state=draw.whole(0, 1000),
    )
    other = clone(learner)
    found = []
    if not _unless_refused(
        sequence, "stream: run", lambda: found.append(learner.run(X, y))
    ):
        return
    asked = found[0].queried
    require(len(asked) == n == learner.n_rows_seen_, "stream: rows")
    require(learner.n_queried_ == asked.sum(), "stream: labels asked for")
    if learner.strict_budget and learner.budget_estimate == "exact":
        spent = np.cumsum(asked) <= budget * np.arange(1, n + 1) + 1e-9
        require(spent.all(), "stream: more labels than the budget")
    again = sequence.call("stream: pickle", _copied, learner)
    require(
        invariants.state_of(again) == invariants.state_of(learner),
        "stream: a pickle is not the same",
    )
    # the same by hand: labels are learned as soon as they have been asked for
    told = []
    for i in range(min(n, 60)):
        row = _row(X, i)
        wanted = other.query(row)
        told.append(bool(wanted[0]))
        if wanted[0]:
            other.teach(row, y[i : i + 1])
    sequence.call("stream: query, teach", len, told)
    require(
        told == asked[: len(told)].tolist(),
        "stream: run asks for other rows than query",
    )


def _row(X, i):
    return X.slice(i, 1) if hasattr(X, "slice") else X[i : i + 1]
