"""Evaluations without `classes`: labels become classes when they first arrive."""

import pickle

import numpy as np
import pytest

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.evaluation import (
    PrequentialEvaluator,
    iter_prequential,
    prequential_score,
)

N = 300
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = np.array(["m", "p"])[(X[:, 0] > 0).astype(int)]
Y[100:][RNG.random(N - 100) < 0.2] = "a"  # before the other classes
Y[200:][RNG.random(N - 200) < 0.2] = "z"
WEIGHT = RNG.integers(0, 3, N).astype(float)
MAKE = {
    "tree": lambda: ConfidenceTreeClassifier(grace_period=20),
    "forest": lambda: ConfidenceForestClassifier(2, random_state=0),
}
CASES = [
    ("tree", {}, False),
    ("tree", {"scoring": ["log_loss", "roc_auc"]}, False),
    ("tree", {"delay": 7, "scoring": "log_loss", "pos_label": "p"}, True),
    ("forest", {"delay": 2}, False),
]


def evaluated(make, sizes, weight=None, **settings):
    """Figures of a stream that arrives in calls of some sizes, and predictions."""
    run, predicted, start = PrequentialEvaluator(make(), **settings), [], 0
    for size in sizes:
        rows = slice(start, start + size)
        given = None if weight is None else weight[rows]
        part = run.update(X[rows], Y[rows], given)
        predicted += [None] * len(Y[rows]) if part is None else part.tolist()
        start += size
        run = pickle.loads(pickle.dumps(run))
    run.finish()
    record = run.report()
    figures = {
        name: getattr(record, name)
        for name in record.__slots__
        if name not in ("cpu_seconds", "n_bytes", "window_scores")
    }
    return run, figures | record.window_scores, predicted


@pytest.mark.parametrize(("name", "settings", "is_weighted"), CASES)
@pytest.mark.slow
def test_chunks_do_not_matter(name, settings, is_weighted):
    weight = WEIGHT if is_weighted else None
    run, figures, predicted = evaluated(MAKE[name], [N], weight, **settings)
    assert run.classes_.tolist() == run.estimator.classes_.tolist() == list("ampz")
    for size in (17, 90):
        other = evaluated(MAKE[name], [size] * -(-N // size), weight, **settings)
        assert other[0].classes_.tolist() == list("ampz")
        assert pickle.dumps(other[0].estimator) == pickle.dumps(run.estimator)
        assert other[1] == pytest.approx(figures, nan_ok=True)
        assert other[2] == predicted


def test_figures_are_those_of_the_predictions():
    run, figures, predicted = evaluated(MAKE["tree"], [100] * 3, pos_label="z")
    right = np.array(predicted) == Y
    assert figures["accuracy"] == right.mean()
    recalls = [right[label == Y].mean() for label in "ampz"]
    assert figures["balanced_accuracy"] == pytest.approx(np.mean(recalls))
    assert figures["no_change_accuracy"] == np.mean(Y[1:] == Y[:-1]) * (N - 1) / N
    either = np.count_nonzero(Y == "z") + predicted.count("z")
    assert figures["f1"] == pytest.approx(2.0 * right[Y == "z"].sum() / either)
    assert run.pos_label_ == "z"


@pytest.mark.parametrize("delay", [0, 3])
def test_an_error_adds_no_class(delay):
    run = PrequentialEvaluator(MAKE["tree"](), delay=delay)
    run.update(X[:100], Y[:100])
    classes, before = run.classes_.tolist(), run.n_rows_
    for rows, label, message in [
        ([[np.inf, 0.0, 0.0]], "new", "infinity"),
        (X[:1, :2], "new", "2 features"),
    ]:
        with pytest.raises(ValueError, match=message):
            run.update(rows, [label])
        assert run.classes_.tolist() == classes == ["m", "p"]
        assert len(run._window.true) == len(run._baselines.counts) == 2
    run.update(X[100:], Y[100:])
    run.finish()
    assert run.n_rows_ == N >= before
    declared = PrequentialEvaluator(MAKE["tree"](), classes=["m", "p"])
    with pytest.raises(ValueError, match="'new', which is not one of the classes"):
        declared.update(X[:1], ["new"])


@pytest.mark.parametrize("settings", [{}, {"scoring": "log_loss"}, {"delay": 3}])
def test_the_model_may_have_been_trained_elsewhere(settings):
    tree = MAKE["tree"]()
    run = PrequentialEvaluator(tree, **settings)
    tree.fit(X, Y)
    rows = X[tree.predict(X) == "m"][:5]
    assert run.update(rows, ["p"] * 5)[0] == "m"
    run.finish()
    assert run.classes_.tolist() == list("ampz")
    assert run.report().window_scores.get("log_loss", 1.0) > 0.1


def test_an_iterable_needs_no_classes():
    chunks = [(X[i : i + 70], Y[i : i + 70]) for i in range(0, N, 70)]
    *_, last = iter_prequential(MAKE["tree"](), chunks)
    _, figures, _ = evaluated(MAKE["tree"], [N])
    assert last.accuracy == figures["accuracy"]
    assert prequential_score(MAKE["tree"](), chunks) == last.accuracy
    with pytest.raises(ValueError, match="as there are no declared classes"):
        prequential_score(MAKE["tree"](), chunks, scoring="f1")
