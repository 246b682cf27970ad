"""Permutation importance: values, standard errors, p-values, groups and tables.

Values are compared with the definition over all pairs of rows, and the standard error
with the spread of importances over other held-out rows.
"""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import cases, examples
from scipy.sparse import csr_array, issparse
from scipy.stats import false_discovery_control, spearmanr, ttest_1samp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics import log_loss, zero_one_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.inspection import (
    FeatureImportance,
    FeatureImportanceDisplay,
    feature_importance,
)
from skconftree.inspection._audit import holm, holm_pvalues
from skconftree.inspection._importance import (
    Columns,
    correlated_groups,
    draw_donors,
    mean_and_error,
)

mpl.use("Agg")


def make_rows(rng, n_rows):
    """Two useful columns, of which one is rarely 1, and two useless ones."""
    X = rng.normal(size=(n_rows, 4))
    X[:, 1] = rng.random(n_rows) < 0.1
    z = 1.5 * X[:, 0] + 3.0 * X[:, 1] - 0.5
    return X, (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-z))).astype(int)


class Recorded(ClassifierMixin, BaseEstimator):
    """Classifier with constant probabilities that stores the tables that it gets."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.tables_ = []
        return self

    def predict_proba(self, X):
        self.tables_.append(X)
        return np.full((X.shape[0], len(self.classes_)), 1.0 / len(self.classes_))


@pytest.mark.parametrize("loss", cases(["log_loss", "zero_one"], ["log_loss"]))
@pytest.mark.slow
def test_importances_approach_the_mean_over_all_pairs(loss):
    rng = np.random.default_rng(0)
    model = LogisticRegression().fit(*make_rows(rng, 200))
    X, y = make_rows(rng, 20)
    found = feature_importance(model, X, y, loss=loss, n_repeats=400)

    def loss_of(X):
        if loss == "zero_one":
            return zero_one_loss(y, model.predict(X))
        return log_loss(y, model.predict_proba(X))

    assert found.mean_loss == pytest.approx(loss_of(X))
    for j in range(4):
        total = 0.0
        for shift in range(1, 20):  # every pair of different rows
            others = X.copy()
            others[:, j] = np.roll(X[:, j], shift)
            total += loss_of(others) - loss_of(X)
        assert found.importances[j] == pytest.approx(total / 19, abs=0.02)


@settings(max_examples=examples(200), deadline=None)
@given(seed=st.integers(0, 10**6), n_rows=st.integers(2, 12))
def test_donors_are_other_rows(seed, n_rows):
    rng = np.random.RandomState(seed)
    donors = draw_donors(rng, np.ones(n_rows))
    assert sorted(donors) == list(range(n_rows))
    assert (donors != np.arange(n_rows)).all()
    weight = rng.randint(0, 3, n_rows).astype(float)
    if np.count_nonzero(weight) >= 2:
        donors = draw_donors(rng, weight)
        assert (weight[donors] > 0.0).all()
        used = weight > 0.0
        assert (donors[used] != np.flatnonzero(used)).all()


def test_donors_are_drawn_in_proportion_to_their_weights():
    rng, weight = np.random.RandomState(0), np.array([1.0, 2.0, 3.0, 0.5])
    drawn = np.array([draw_donors(rng, weight) for _ in range(20_000)])
    for row in range(4):
        others = np.where(np.arange(4) == row, 0.0, weight)
        share = np.bincount(drawn[:, row], minlength=4) / len(drawn)
        assert np.allclose(share, others / others.sum(), atol=0.015)


def error_by_hand(differences, donors):
    """Standard error by loops, with equal weights."""
    n_repeats, n_rows = differences.shape
    of_row = [sum(differences[:, i]) / n_repeats for i in range(n_rows)]
    of_donor = [0.0] * n_rows
    for r in range(n_repeats):
        for i in range(n_rows):
            of_donor[donors[r, i]] += (differences[r, i] - of_row[i]) / (n_repeats - 1)
    parts = [a + b for a, b in zip(of_row, of_donor, strict=True)]
    return np.std(parts, ddof=1) / n_rows**0.5


@settings(max_examples=examples(100), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_standard_error_equals_the_formula(seed):
    rng = np.random.RandomState(seed)
    n_repeats, n_rows = rng.randint(2, 5), rng.randint(3, 9)
    differences = rng.normal(size=(n_repeats, n_rows))
    donors = np.array([rng.permutation(n_rows) for _ in range(n_repeats)])
    for is_frequency in (True, False):
        mean, error, freedom = mean_and_error(
            differences, donors, np.ones(n_rows), is_frequency
        )
        assert mean == pytest.approx(differences.mean())
        assert error == pytest.approx(error_by_hand(differences, donors))
        assert freedom == n_rows - 1
    # relative weights have no scale
    weight = rng.uniform(0.5, 2.0, n_rows)
    first = mean_and_error(differences, donors, weight, False)
    assert mean_and_error(differences, donors, 3.7 * weight, False) == pytest.approx(
        first
    )


def test_without_an_effect_of_donors_the_test_is_a_paired_t_test():
    differences = np.tile(np.random.default_rng(0).normal(0.3, 1.0, 40), (3, 1))
    donors = np.array([np.roll(np.arange(40), r + 1) for r in range(3)])
    mean, error, _ = mean_and_error(differences, donors, np.ones(40), True)
    expected = ttest_1samp(differences[0], 0.0)
    assert mean / error == pytest.approx(expected.statistic)


def spread_and_errors(n_samples, n_rows):
    rng = np.random.default_rng(1)
    model = LogisticRegression().fit(*make_rows(rng, 300))
    results = [
        feature_importance(model, *make_rows(rng, n_rows), random_state=i)
        for i in range(n_samples)
    ]
    spread = np.std([result.importances for result in results], axis=0, ddof=1)
    errors = np.mean([result.standard_errors for result in results], axis=0)
    return errors / spread


@pytest.mark.slow
def test_standard_errors_are_those_over_other_rows():
    ratio = spread_and_errors(40, 150)
    assert (ratio > 0.75).all()
    assert (ratio < 1.35).all()


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["log_loss", "zero_one"])
def test_intervals_cover_and_p_values_keep_their_level(loss):
    rng = np.random.default_rng(15)
    covered, useless_small, any_small = [], [], []
    for _ in range(10):
        tree = ConfidenceTreeClassifier(None, shrinkage=0.0).fit(*make_rows(rng, 300))
        large = make_rows(rng, 30_000)
        truth = feature_importance(tree, *large, loss=loss, n_repeats=2).importances
        for seed in range(40):
            new = make_rows(rng, 300)
            found = feature_importance(tree, *new, loss=loss, random_state=seed)
            low, high = found.intervals.T
            covered.append((low <= truth) & (truth <= high))
            useless_small.append(found.p_values[2:] <= 0.05)
            any_small.append((found.adjusted_p_values[2:] <= 0.05).any())
    coverage = np.mean(covered, axis=0)
    assert (coverage >= 0.92).all(), coverage
    most = 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / len(covered))
    assert (np.mean(useless_small, axis=0) <= most).all()
    assert np.mean(any_small) <= most


def test_a_column_that_is_not_used_has_importance_0():
    X, y = make_rows(np.random.default_rng(2), 300)
    tree = ConfidenceTreeClassifier(max_depth=1).fit(X[:150], y[:150])
    unused = np.arange(4) != tree.tree_.feature[0]
    found = feature_importance(tree, X[150:], y[150:])
    assert (found.importances[unused] == 0.0).all()
    assert (found.intervals[unused] == 0.0).all()
    assert (found.adjusted_p_values[unused] == 1.0).all()
    assert (found.adjusted_p_values[~unused] < 0.01).all()


def test_the_result_of_a_column_does_not_depend_on_the_others():
    X, y = make_rows(np.random.default_rng(3), 200)
    model = LogisticRegression().fit(X[:100], y[:100])
    found = feature_importance(model, X[100:], y[100:])
    grouped = feature_importance(
        model, X[100:], y[100:], groups={"noise": [2, 3], "first": "x0"}
    )
    assert grouped.names == ["first", "x1", "noise"]
    assert [part.tolist() for part in grouped.columns] == [[0], [1], [2, 3]]
    assert np.array_equal(grouped.importances[:2], found.importances[:2])
    assert np.array_equal(grouped.p_values[:2], found.p_values[:2])


@pytest.mark.parametrize("p", [[0.01, 0.04, 0.03], [0.5], [0.2, 0.02, 1.0, 0.02]])
def test_adjusted_p_values_are_holms(p):
    adjusted = holm_pvalues(p)
    smallest = min(p) * len(p)
    assert adjusted.min() == pytest.approx(min(smallest, 1.0))
    for alpha in (0.01, 0.03, 0.05, 0.1, 0.45, 0.7):
        rejected = np.array(p) <= holm(np.array(p), alpha)
        assert np.array_equal(adjusted <= alpha + 1e-12, rejected)
    # Holm's procedure controls more than that of Benjamini and Hochberg
    assert (adjusted >= false_discovery_control(p) - 1e-12).all()


def test_holms_adjusted_p_values_by_hand():
    assert holm_pvalues([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def with_correlations(rng, n_rows=300):
    base = rng.normal(size=(n_rows, 3))
    noise = 0.3 * rng.normal(size=(n_rows, 2))
    # x0 and x2 are nearly equal, x1 and x4 are opposite, x3 is alone
    return np.column_stack(
        [
            base[:, 0],
            base[:, 1],
            np.exp(base[:, 0] + noise[:, 0]),
            base[:, 2],
            noise[:, 1] - base[:, 1],
        ]
    )


def test_correlated_columns_are_grouped():
    X = with_correlations(np.random.default_rng(4))
    groups = correlated_groups(Columns(X, None), 0.7)
    assert [group.tolist() for group in groups] == [[0, 2], [1, 4], [3]]
    correlation = np.abs(spearmanr(X).statistic)
    assert correlation[0, 2] > 0.7
    assert len(correlated_groups(Columns(X, None), 1.0)) == 5
    (all_columns,) = correlated_groups(Columns(X, None), 1e-9)
    assert len(all_columns) == 5
    for least in (0.05, 0.1, 0.5):
        for group in correlated_groups(Columns(X, None), least):
            assert (correlation[np.ix_(group, group)] >= least).all()


def test_nominal_columns_of_two_categories_can_be_grouped():
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"a": rng.normal(size=100)})
    X["b"] = np.where(X["a"] > 0.0, "yes", "no")
    X["c"] = np.where(X["a"] > 1.0, "u", X["b"])
    X.loc[X.index[:5], "b"] = None
    groups = correlated_groups(Columns(X, None), 0.7)
    assert [group.tolist() for group in groups] == [[0, 1], [2]]


@pytest.mark.parametrize("kind", ["array", "text", "category"])
def test_categories_that_look_like_numbers_have_no_correlation(kind):
    number = np.arange(60) % 3
    text = np.array(["1", "2", "nan"])[number]
    if kind == "array":
        X = np.column_stack([text, text]).astype(object)
    elif kind == "text":
        X = pd.DataFrame({"a": text, "b": text})
    else:
        X = pd.DataFrame({"a": pd.Categorical(number), "b": pd.Categorical(number)})
    groups = correlated_groups(Columns(X, None), 0.7)
    assert [group.tolist() for group in groups] == [[0], [1]]


def test_a_group_of_correlated_columns_is_more_important_than_each():
    rng = np.random.default_rng(6)
    X = with_correlations(rng, 600)
    X[:, 2] = X[:, 0]
    y = (X[:, 0] > 0).astype(int)
    forest = ConfidenceForestClassifier(20, random_state=0).fit(X[:300], y[:300])
    alone = feature_importance(forest, X[300:], y[300:])
    grouped = feature_importance(forest, X[300:], y[300:], groups="correlated")
    assert grouped.names[0] == "x0, x2"
    assert grouped.importances[0] > alone.importances[[0, 2]].sum()


def frame_of(kind, rng):
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=60),
            "color": pd.Categorical(rng.choice(["red", "green", "blue"], 60)),
            "count": rng.integers(0, 5, 60),
        },
        index=np.repeat([3, 1], 30),  # not unique
    )
    if kind == "pandas":
        return frame
    if kind == "polars":
        return pytest.importorskip("polars").from_pandas(frame)
    return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)


@pytest.mark.parametrize("kind", cases(["pandas", "polars", "pyarrow"], ["pandas"]))
def test_frames_are_permuted_by_column(kind):
    rng = np.random.default_rng(7)
    X = frame_of(kind, rng)
    y = rng.integers(0, 2, 60)
    model = Recorded().fit(None, y)
    found = feature_importance(model, X, y, groups={"both": ["color", "count"]})
    assert found.names == ["number", "both"]
    given = [t if kind == "pandas" else t.to_pandas() for t in model.tables_]
    intact, permuted = given[0], given[11:]
    assert len(permuted) == 10
    for table in permuted:
        assert list(table.dtypes.astype(str)) == list(intact.dtypes.astype(str))
        assert table["number"].tolist() == intact["number"].tolist()
        rows = list(zip(table["color"], table["count"], strict=True))
        expected = list(zip(intact["color"], intact["count"], strict=True))
        assert rows != expected
        assert sorted(rows) == sorted(expected)
    before = X if kind == "pandas" else X.to_pandas()
    assert before.equals(intact)  # not modified


def test_frames_give_the_importances_of_arrays():
    rng = np.random.default_rng(8)
    X, y = make_rows(rng, 200)
    X[:, 2] = rng.integers(0, 3, 200)
    tree = ConfidenceTreeClassifier(None, max_depth=4)
    expected = feature_importance(tree.fit(X, y), X, y).importances
    frame = pd.DataFrame(X, columns=list("abcd"))
    found = feature_importance(tree.fit(frame, y), frame, y)
    assert found.names == list("abcd")
    assert np.array_equal(found.importances, expected)
    found = feature_importance(tree.fit(X, y), X.tolist(), y.tolist())
    assert np.array_equal(found.importances, expected)
    sparse = csr_array(X)
    found = feature_importance(tree.fit(sparse, y), sparse, y, groups="correlated")
    assert np.array_equal(found.importances, expected)


def test_numbers_in_lists_next_to_text_stay_numbers():
    rows = [[0.5, "a"], [1.5, "b"], [2.5, "a"]]
    model = Recorded().fit(rows, [0, 1, 1])
    feature_importance(model, rows, [0, 1, 1], n_repeats=2)
    assert all(sorted(table[:, 0]) == [0.5, 1.5, 2.5] for table in model.tables_)


def test_sparse_tables_stay_sparse():
    rng = np.random.default_rng(9)
    X = csr_array(rng.integers(0, 2, (50, 4)).astype(float))
    y = rng.integers(0, 2, 50)
    model = Recorded().fit(X, y)
    feature_importance(model, X, y, groups={"pair": [1, 3]}, n_repeats=2)
    assert all(issparse(table) for table in model.tables_)
    tables = [table.toarray() for table in model.tables_]
    for table in tables[3:5]:  # of the pair
        assert np.array_equal(table[:, [0, 2]], X.toarray()[:, [0, 2]])
        pairs = sorted(map(tuple, table[:, [1, 3]].tolist()))
        assert pairs == sorted(map(tuple, X.toarray()[:, [1, 3]].tolist()))


def test_frequencies_have_the_error_of_repeated_rows():
    rng = np.random.default_rng(10)
    model = LogisticRegression().fit(*make_rows(rng, 300))
    X, y = make_rows(rng, 200)
    weight = rng.integers(0, 4, 200)
    rows = np.repeat(np.arange(200), weight)
    repeated = feature_importance(model, X[rows], y[rows], n_repeats=50)
    weighted = feature_importance(model, X, y, n_repeats=50, sample_weight=weight)
    assert weighted.mean_loss == pytest.approx(repeated.mean_loss)
    difference = np.abs(weighted.importances - repeated.importances)
    assert (difference < 0.6 * repeated.standard_errors).all()
    ratio = weighted.standard_errors / repeated.standard_errors
    assert (np.abs(ratio - 1.0) < 0.1).all()
    relative = feature_importance(model, X, y, sample_weight=weight + 0.5)
    scaled = feature_importance(model, X, y, sample_weight=4.3 * (weight + 0.5))
    assert relative.importances == pytest.approx(scaled.importances, abs=1e-3)


def test_any_classifier_has_importances():
    X, y = make_rows(np.random.default_rng(11), 300)
    labels = np.array(["no", "yes"])[y]
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    pipeline.fit(X[:150], labels[:150])
    found = feature_importance(pipeline, X[150:], labels[150:])
    assert found.order()[0] == 0
    model = Perceptron().fit(X[:150], y[:150])
    assert feature_importance(model, X[150:], y[150:], loss="zero_one").n_rows == 150
    with pytest.raises(ValueError, match="Pass loss='zero_one'"):
        feature_importance(model, X[150:], y[150:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "brier"}, "loss must be one of"),
        ({"n_repeats": 1}, "n_repeats must be an integer of at least 2"),
        ({"confidence_level": 1.0}, "confidence_level must be a number"),
        ({"min_correlation": 0.0}, "min_correlation must be a number"),
        ({"groups": "columns"}, "groups must be None, 'correlated'"),
        ({"groups": {"a": ["x9"]}}, "Group 'a' has the column 'x9'"),
        ({"groups": {"a": [4]}}, "indices from 0 to 3"),
        ({"groups": {"a": []}}, "needs at least one column"),
        ({"groups": {"a": [0, 1], "b": ["x1"]}}, "must not overlap. Column 'x1'"),
        ({"groups": {"a": 1}}, "Group 'a' must be a list of columns. Got 1"),
        ({"groups": {"x2": [0, 1]}}, "Group 'x2' has the name of a column that is not"),
        ({"loss": ["log_loss"]}, "loss must be one of"),
        ({"sample_weight": [1.0]}, "one weight per row"),
        ({"sample_weight": [-1.0] * 50}, "must be finite and not negative. Got -1"),
        ({"sample_weight": [1.0] + [0.0] * 49}, "At least two rows"),
        ({"sample_weight": [1.5] + [1e-20] * 49}, "One row has all of the weight"),
        ({"sample_weight": ["a"] * 50}, "must be an array of numbers"),
    ],
)
def test_invalid_arguments(options, message):
    X, y = make_rows(np.random.default_rng(12), 50)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match=message):
        feature_importance(model, X, y, **options)


def test_invalid_rows():
    X, y = make_rows(np.random.default_rng(13), 50)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="the classifier does not know: 2"):
        feature_importance(model, X, np.full(50, 2))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        feature_importance(model, X, y[1:])
    with pytest.raises(ValueError, match="rows and columns"):
        feature_importance(model, X[0], y)
    with pytest.raises(TypeError, match="must be a classifier"):
        feature_importance(StandardScaler().fit(X), X, y)
    model = DecisionTreeClassifier(max_depth=1).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="must predict one output"):
        feature_importance(model, X, y)


def test_groups_may_have_the_name_of_one_of_their_columns():
    X, y = make_rows(np.random.default_rng(13), 50)
    model = LogisticRegression().fit(X, y)
    found = feature_importance(model, X, y, groups={"x1": [1, 3]}, n_repeats=2)
    assert found.names == ["x0", "x1", "x2"]
    assert [part.tolist() for part in found.columns] == [[0], [1, 3], [2]]


def result_of(importances, p_values, names=None):
    n = len(importances)
    importances = np.array(importances)
    return FeatureImportance(
        names or [f"x{j}" for j in range(n)],
        [np.array([j]) for j in range(n)],
        importances,
        np.full(n, 0.1),
        np.column_stack([importances - 0.2, importances + 0.2]),
        np.array(p_values),
        holm_pvalues(p_values),
        loss="log_loss",
        mean_loss=0.25,
        n_rows=1000,
        confidence_level=0.95,
    )


def test_a_result_is_printed_by_importance():
    result = result_of([0.1, 0.5, -0.1], [0.1, 1e-5, 0.8], ["a", "b" * 50, "c"])
    lines = str(result).splitlines()
    assert lines[0].endswith("increase of the log loss (0.250) of 1,000 new rows")
    assert lines[3].split() == ["b" * 37 + "...", "0.5000", *"0.3000 to 0.7000".split(),
                                "3e-05"]  # fmt: skip
    assert [line[0] for line in lines[3:6]] == ["b", "a", "c"]
    assert repr(result) == "<FeatureImportance of 3 columns: 1 with p <= 0.05 (Holm)>"
    assert result.to_frame().index.tolist() == ["b" * 50, "a", "c"]
    assert result.to_frame()["upper"].tolist() == pytest.approx([0.7, 0.3, 0.1])
    many = str(result_of(np.arange(50.0), np.full(50, 0.5)))
    assert "and 10 more, see to_frame()" in many


def test_the_display_shows_dots_and_intervals():
    result = result_of([0.1, 0.5, -0.1], [0.1, 1e-5, 0.8])
    display = FeatureImportanceDisplay(result).plot()
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [
        "x1",
        "x0",
        "x2",
    ]
    assert display.dots_.get_offsets().tolist() == [[0.5, 2], [0.1, 1], [-0.1, 0]]
    assert display.lines_[0].get_xdata() == pytest.approx([0.3, 0.7])
    filled, *hollow = display.dots_.get_facecolors().tolist()
    assert filled != hollow[0] == hollow[1]
    first = FeatureImportanceDisplay(result).plot(display.ax_, max_columns=1)
    assert first.ax_ is display.ax_
    assert len(first.lines_) == 1
    with pytest.raises(ValueError, match="max_columns must be an integer"):
        FeatureImportanceDisplay(result).plot(max_columns=0)
    X, y = make_rows(np.random.default_rng(14), 60)
    model = LogisticRegression().fit(X, y)
    display = FeatureImportanceDisplay.from_estimator(model, X, y, loss="zero_one")
    assert display.ax_.get_xlabel() == "increase of the zero-one loss if permuted"
    mpl.pyplot.close("all")
