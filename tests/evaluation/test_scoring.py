"""Figures of probabilities are those of scikit-learn for the same predictions."""

import math
import pickle

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    fbeta_score,
    log_loss,
    make_scorer,
    recall_score,
    roc_auc_score,
)
from sklearn.naive_bayes import GaussianNB

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.evaluation import (
    PrequentialEvaluator,
    iter_prequential,
    prequential_score,
)

N = 200
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=N) > 0).astype(int)
Y3 = Y + (X[:, 1] > 0.5)
NAMES = ["log_loss", "roc_auc", "neg_brier_score", "average_precision", "accuracy"]


def tree():
    return ConfidenceTreeClassifier(bound=None, grace_period=5)


def forest():
    return ConfidenceForestClassifier(3, grace_period=10, random_state=0)


def by_rows(model, y):
    """Probabilities before each row, told row by row."""
    classes, told = np.unique(y), []
    for row in range(N):
        part = slice(row, row + 1)
        if row:
            told.append(model.predict_proba(X[part])[0])
        model.partial_fit(X[part], y[part], classes=classes)
    return np.array(told)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [tree, forest], ids=["tree", "forest"])
def test_probabilities_are_those_before_each_row(make, weighted):
    weight = RNG.uniform(0.5, 2.0, N) if weighted else None
    if weighted:
        model, told = make(), []
        for row in range(N):
            part = slice(row, row + 1)
            if row:
                told.append(model.predict_proba(X[part])[0])
            model.partial_fit(X[part], Y[part], [0, 1], weight[part])
        told = np.array(told)
    else:
        told = by_rows(make(), Y)
    known = slice(1, None)
    found = prequential_score(
        make(), X, Y, scoring=NAMES, sample_weight=weight, delay=0
    )
    if make is tree:  # which tells the first row too
        told, known = np.vstack([[0.5, 0.5], told]), slice(None)
    rest = {"sample_weight": None if weight is None else weight[known]}
    assert found["roc_auc"] == pytest.approx(
        roc_auc_score(Y[known], told[:, 1], **rest)
    )
    assert found["log_loss"] == pytest.approx(log_loss(Y[known], told, **rest))
    assert found["average_precision"] == pytest.approx(
        average_precision_score(Y[known], told[:, 1], **rest)
    )


def test_several_classes_are_averaged():
    found = prequential_score(tree(), X, Y3, scoring=["roc_auc", "neg_log_loss"])
    told = np.vstack([np.full(3, 1 / 3), by_rows(tree(), Y3)])
    assert found["roc_auc"] == pytest.approx(roc_auc_score(Y3, told, multi_class="ovr"))
    assert found["neg_log_loss"] == pytest.approx(-log_loss(Y3, told))
    only = prequential_score(tree(), X, Y3, scoring="roc_auc", pos_label=2)
    assert only == pytest.approx(roc_auc_score(Y3 == 2, told[:, 2]))


def test_scikit_learn_and_custom_scorers():
    predicted = tree().partial_fit_predict(X, Y3, classes=[0, 1, 2])
    scorer = make_scorer(fbeta_score, beta=2, average="macro")

    def share_of_zero(estimator, rows, y):
        return np.mean(estimator.predict(rows) == 0)

    scoring = ["recall_macro", scorer, share_of_zero]
    found = list(prequential_score(tree(), X, Y3, scoring=scoring).values())
    want = [
        recall_score(Y3, predicted, average="macro"),
        fbeta_score(Y3, predicted, beta=2, average="macro"),
        np.mean(predicted == 0),
    ]
    assert found == pytest.approx(want)
    assert prequential_score(tree(), X, Y3, scoring=share_of_zero) == want[2]


def test_means_over_classes():
    predicted = tree().partial_fit_predict(X, Y3, classes=[0, 1, 2])
    (record,) = iter_prequential(tree(), X, Y3)
    recalls = recall_score(Y3, predicted, average=None)
    assert record.balanced_accuracy == pytest.approx(
        balanced_accuracy_score(Y3, predicted)
    )
    assert record.geometric_mean == pytest.approx(np.prod(recalls) ** (1 / 3))
    assert prequential_score(tree(), X, Y3, scoring="geometric_mean") == (
        record.geometric_mean
    )
    (record,) = iter_prequential(tree(), X[:5], [0, 0, 0, 0, 1])
    assert record.geometric_mean == 0.0
    assert record.balanced_accuracy == 0.5


def test_windows_have_figures_of_their_own():
    told = np.vstack([[0.5, 0.5], by_rows(tree(), Y)])
    records = list(
        iter_prequential(tree(), X, Y, scoring=["roc_auc", "f1_macro"], report_every=60)
    )
    for record, start in zip(records, range(0, N, 60), strict=True):
        part = slice(start, min(start + 60, N))
        assert record.window_scores["roc_auc"] == pytest.approx(
            roc_auc_score(Y[part], told[part, 1])
        )
    assert next(iter_prequential(tree(), X, Y)).window_scores == {}


@pytest.mark.parametrize("chunk_size", [7, 1000])
@pytest.mark.parametrize("make", [tree, forest], ids=["tree", "forest"])
def test_pieces_change_no_figure(make, chunk_size):
    settings = {"scoring": ["roc_auc", "accuracy"], "delay": 3}
    want = prequential_score(make(), X, Y, **settings)
    assert prequential_score(make(), X, Y, chunk_size=chunk_size, **settings) == want


def test_a_run_that_scores_can_be_pickled():
    run = PrequentialEvaluator(tree(), classes=[0, 1], scoring=["roc_auc", "f1"])
    run.update(X[:80], Y[:80])
    again = pickle.loads(pickle.dumps(run))
    run.update(X[80:], Y[80:])
    again.update(X[80:], Y[80:])
    assert run.report().window_scores == again.report().window_scores


def test_what_is_not_defined_is_nan():
    records = list(
        iter_prequential(
            GaussianNB(), X, Y, scoring=["roc_auc", "log_loss"], report_every=1000
        )
    )
    assert all(math.isnan(one) for one in records[0].window_scores.values())
    same = np.zeros(N, dtype=int)
    records = iter_prequential(
        tree(), X, same, classes=[0, 1], scoring=["roc_auc", "average_precision"]
    )
    assert math.isnan(next(records).window_scores["roc_auc"])
    records = iter_prequential(
        tree(), X, Y, sample_weight=np.zeros(N), scoring="log_loss", report_every=9
    )
    assert math.isnan(next(records).window_scores["log_loss"])


def test_invalid_requests():
    with pytest.raises(TypeError, match="scoring needs predict_proba, which SGDCl"):
        iter_prequential(SGDClassifier(), X, Y, scoring="roc_auc")
    with pytest.raises(ValueError, match="Got 'roc_auc_ovr_w' instead"):
        prequential_score(tree(), X, Y, scoring="roc_auc_ovr_w")

    def silhouette(estimator, rows, y):
        return estimator.transform(rows)

    with pytest.raises(
        ValueError, match="scoring 'silhouette' cannot be computed for 2"
    ):
        prequential_score(tree(), X, Y, scoring=silhouette)
    found = prequential_score(
        SGDClassifier(random_state=0), X, Y, scoring="f1_macro", chunk_size=20
    )
    assert 0.5 < found <= 1.0


def test_a_score_that_cannot_be_computed_is_nan():
    def fails(estimator, rows, y):
        if len(y) > 4:  # as many are tried first
            raise ValueError("too few classes")
        return 1.0

    records = iter_prequential(tree(), X, Y, scoring=fails, report_every=50)
    assert math.isnan(next(records).window_scores["fails"])
