"""Label noise is estimated where a classifier is confident; wrong labels are ranked."""

import numpy as np
import pandas as pd
import pytest
from reference.effort import NIGHT
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.evaluation import estimate_label_noise, rank_label_issues


class Knows(ClassifierMixin, BaseEstimator):
    """Class 1 with the probability that stands in the first column."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_disagreement_by_hand():
    """Confidences .9, .9, .8, .7, .7, .6; the labels contradict two of them."""
    X = np.array([0.9, 0.1, 0.8, 0.7, 0.3, 0.6])[:, np.newaxis]
    y = np.array(["b", "a", "a", "a", "a", "b"])
    for share, wrong in ((1, 2 / 6), (1 / 2, 1 / 3), (1 / 3, 0), (4 / 6, 1.5 / 4)):
        assert estimate_label_noise(Knows(), X, y, 2, share=share) == pytest.approx(
            wrong
        )


def test_parts_of_rows_sum_to_no_more_than_all():
    """Rows that are equally sure, and all of them wrong."""
    for n in range(4, 60, 1 if NIGHT else 5):
        y = np.arange(n) % 2
        X = np.where(y == 1, 0.25, 0.75)[:, np.newaxis]
        for share in (0.7, 0.999, 0.01):
            assert estimate_label_noise(Knows(), X, y, 2, share=share) <= 1.0


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("noise", [0.0, 0.15, 0.3])
def test_planted_noise_is_detected(n_classes, noise):
    rng = np.random.default_rng(n_classes)
    X, y = make_blobs(3000, centers=n_classes, cluster_std=1.2, random_state=3)
    wrong = rng.random(len(y)) < noise
    y = np.where(wrong, (y + rng.integers(1, n_classes, len(y))) % n_classes, y)
    found = estimate_label_noise(GaussianNB(), X, y)
    standard_error = np.sqrt(max(noise, 0.01) / (len(y) / 2))
    assert abs(found - noise) < 3 * standard_error


def test_classes_that_overlap_look_like_noise():
    """Less so where the classifier is sure."""
    X, y = make_blobs(3000, centers=5, cluster_std=2.5, random_state=3)
    error, half, quarter = (
        estimate_label_noise(GaussianNB(), X, y, share=share)
        for share in (1, 0.5, 0.25)
    )
    assert error > 0.15 > 0.1 > half > quarter


def test_frames_and_custom_folds():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=400)})
    y = pd.Series(np.where(X["a"] > 0, "up", "down"))
    found = estimate_label_noise(
        ConfidenceTreeClassifier(), X, y, KFold(4, shuffle=True, random_state=0)
    )
    assert 0.0 <= found < 0.01


def test_the_estimator_stays_as_it_is():
    model = GaussianNB()
    X, y = make_blobs(60, centers=2, random_state=0)
    estimate_label_noise(model, X, y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("share", [0.0, 1.1, -1.0])
def test_share_out_of_range(share):
    with pytest.raises(ValueError, match=f"share == {share}"):
        estimate_label_noise(
            GaussianNB(), np.ones((9, 1)), np.arange(9) % 2, share=share
        )


def test_bad_input():
    X, y = np.ones((10, 1)), np.arange(10) % 2
    with pytest.raises(TypeError, match="predict_proba.*LinearSVC"):
        estimate_label_noise(LinearSVC(), X, y)
    with pytest.raises(ValueError, match=r"at least two classes. Got \[1\]"):
        estimate_label_noise(GaussianNB(), X, np.ones(10, dtype=int))
    with pytest.raises(ValueError, match="inconsistent"):
        estimate_label_noise(GaussianNB(), X, y[:9])
    with pytest.raises(ValueError, match="continuous"):
        estimate_label_noise(GaussianNB(), X, y + 0.5)
    with pytest.raises(ValueError, match="one-dimensional"):
        estimate_label_noise(GaussianNB(), X, np.column_stack([y, y]))


class Recalls(ClassifierMixin, BaseEstimator):
    """Its out-of-bag votes are the columns of X, or others once rows have weights."""

    weights = []

    def __init__(self, oob_score=False, random_state=None, n_jobs=None):
        self.oob_score, self.random_state, self.n_jobs = oob_score, random_state, n_jobs

    def fit(self, X, y, sample_weight=None):
        assert self.oob_score
        Recalls.weights.append(sample_weight)
        self.oob_decision_function_ = X if sample_weight is None else X[:, ::-1]
        return self


def test_ranking_by_hand():
    """Votes p, q of the label in both fits; the score is 1 - (p + q) / 2."""
    X = np.array([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.0, 0.1, 0.9], [np.nan] * 3])
    y = np.array(["a", "b", "a", "c"])
    Recalls.weights.clear()
    issues = rank_label_issues(X, y, Recalls())
    first, second = Recalls.weights
    assert first is None
    # 0.3 at least; a row without votes is not suspicious
    np.testing.assert_allclose(second, [0.3, 0.8, 0.3, 1.0])
    assert issues.row.tolist() == [0, 2, 1, 3]
    assert issues.label.tolist() == ["a", "a", "b", "c"]
    assert issues.suggested.tolist() == ["c", "c", "a", "a"]
    np.testing.assert_allclose(issues.score, [0.65, 0.55, 0.2, 0.0])


def test_wrong_labels_rank_first():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    true = np.where(X["a"] > 0, "up", "down")
    wrong = rng.choice(np.flatnonzero(X["a"].abs() > 0.3), 20, replace=False)
    y = true.copy()
    y[wrong] = np.where(true[wrong] == "up", "down", "up")
    forest = ConfidenceForestClassifier(40)
    issues = rank_label_issues(X, y, forest, random_state=0)
    assert set(issues.row[:20]) == set(wrong)
    assert (issues.suggested[:20] == true[issues.row[:20]]).all()
    assert sorted(issues.row) == list(range(300))
    assert (np.diff(issues.score) <= 0.0).all()
    again = rank_label_issues(X, y, forest, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(again.score, issues.score)
    assert not hasattr(forest, "classes_")


def test_ranking_needs_a_forest():
    with pytest.raises(TypeError, match="parameter oob_score.*GaussianNB"):
        rank_label_issues(np.ones((4, 1)), [0, 1, 0, 1], GaussianNB())
    with pytest.raises(ValueError, match="at least two classes"):
        rank_label_issues(np.ones((4, 1)), [1, 1, 1, 1])
