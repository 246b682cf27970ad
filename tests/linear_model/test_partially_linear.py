"""The partially linear tree: a tree plus a linear score, and what it reports."""

import datetime
import math
import pickle
import sqlite3
import warnings
from enum import StrEnum

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression

from skconftree import ConfidenceTreeClassifier, PartiallyLinearTreeClassifier
from skconftree.linear_model import _partially_linear
from skconftree.linear_model._logistic import (
    Curvature,
    Rows,
    _log_sf,
    _objective,
    _score_statistics,
    fit_score,
    probabilities,
)
from skconftree.tree import export_html, export_rules, export_text


def sample(n=600, seed=0):
    """Columns of all kinds, and labels that need a line, a category and a region."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, n),
            "income": rng.lognormal(size=n),
            "city": pd.Categorical(rng.choice(list("abcdefgh"), n, p=P_CITY)),
        }
    )
    score = 0.12 * (X.age - 40) + 1.5 * X.city.isin(["a", "b"]).astype(float)
    score += np.where((X.income > 1.0) & (X.age > 40), 1.5, -1.0)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    X.loc[rng.random(n) < 0.15, "city"] = None
    return X, y


P_CITY = np.array([8, 7, 6, 5, 4, 1, 1, 1]) / 33


@pytest.fixture(scope="module")
def fitted():
    X, y = sample()
    model = PartiallyLinearTreeClassifier(random_state=0, max_categories=6)
    return model.fit(X, y), X, y


def test_probabilities_are_those_of_logistic_regression(fitted):
    """The design matrix, written down: mean, indicator, one-hot columns and leaves."""
    model, X, y = fitted
    age, income = X.age.fillna(X.age.mean()), X.income
    missing = X.age.isna().astype(float)
    columns = [(v - v.mean()) / v.std(ddof=0) for v in (age, income, missing)]
    city = X.city.astype(object).where(X.city.notna(), "?")
    counts = city.value_counts()
    rare = counts.index[counts.argsort(kind="stable")][: len(counts) - 5]
    city = city.where(~city.isin(rare), "others")
    columns += [(city == one).astype(float) for one in sorted(set(city))]
    leaves = model.tree_.apply(X)
    columns += [(leaves == one).astype(float) for one in np.unique(leaves)]
    design = np.column_stack(columns)
    peer = LogisticRegression(tol=1e-10, max_iter=10_000).fit(design, y)
    assert model.coef_.shape == (1, 3 + 6)
    assert_allclose(model.predict_proba(X), peer.predict_proba(design), atol=1e-6)
    assert_array_equal(model.tree_.classes_, model.classes_)


def test_leaf_constants_and_categories_are_centered(fitted):
    model, X, _ = fitted
    weights = np.array([leaf.weight for leaf in model.leaves_])
    assert weights.sum() == len(X)
    assert abs(model.leaf_coef_[0] @ weights) < 1e-9 * len(X)
    city = [term for term in model.terms_ if term.column == "city"]
    known = {term.category: term.coef for term in city}
    assert {"missing", "infrequent", "a", "b"} <= set(known)
    values = X.city.astype(object).where(X.city.notna(), "missing")
    coefs = [known.get(value, known["infrequent"]) for value in values]
    assert abs(np.mean(coefs)) < 1e-9


@pytest.mark.parametrize("n_classes", [2, 3])
def test_covariance_is_the_inverse_of_the_hessian(n_classes):
    """The Hessian by finite differences of the penalized likelihood."""
    rng = np.random.default_rng(1)
    n, n_leaves, q = 80, 3, 2
    rows = Rows(
        rng.normal(size=(n, q)),
        rng.integers(n_leaves, size=n),
        rng.integers(n_classes, size=n),
        rng.integers(1, 3, size=n).astype(float),
        n_leaves,
        n_classes,
    )
    curvature = Curvature(fit_score(rows, 0.5), rows, 0.5)
    theta = curvature.score.theta
    size, step = theta.size, 1e-4

    def value(flat):
        theta_ = flat.reshape(theta.shape)
        return _objective(rows, theta_, 0.5)

    hessian = np.empty((size, size))
    unit = step * np.eye(size)
    for i in range(size):
        gradient = (value(theta.ravel() + unit[i]) - value(theta.ravel() - unit[i])) / (
            2 * step
        )
        assert abs(gradient) < 1e-5
        for j in range(size):
            hessian[i, j] = sum(
                a * b * value(theta.ravel() + a * unit[i] + b * unit[j])
                for a in (1, -1)
                for b in (1, -1)
            ) / (4 * step**2)
    # a common shift of all intercepts is not identified
    keep = np.ones(size, bool)
    keep[theta.shape[1] - 1 :: theta.shape[1]] = n_classes == 2
    contrast = np.eye(theta.shape[1])[: -1 if n_classes > 2 else None]
    expected = np.linalg.pinv(hessian, rcond=1e-6)
    expected = np.diag(expected)[keep].reshape(len(theta), -1)
    assert_allclose(curvature.variances(contrast), expected, rtol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("is_small", [True, False])
def test_solvers_reach_the_optimum_of_logistic_regression(
    n_classes, is_small, monkeypatch
):
    """Newton's method without the leaves, and L-BFGS from any start."""
    rng = np.random.default_rng(0)
    leaves, y = rng.integers(4, size=90), rng.integers(n_classes, size=90)
    weight = rng.uniform(0.5, 2.0, size=90)
    rows = Rows(rng.normal(size=(90, 3)), leaves, y, weight, 4, n_classes)
    design = np.hstack([rows.terms, np.eye(4)[leaves]])
    peer = LogisticRegression(C=2.0, tol=1e-12, max_iter=10_000)
    peer.fit(design, y, sample_weight=weight)
    monkeypatch.setattr(Rows, "is_small", lambda self, limit: is_small)
    start = np.full((1 if n_classes == 2 else 3, 8), 0.5)
    for begin in (None, start):
        score = Curvature(fit_score(rows, 2.0, begin), rows, 2.0).score
        found = probabilities(score.values(rows.terms, leaves), n_classes)
        atol = 1e-6 if is_small or n_classes == 2 else 1e-3
        assert_allclose(found, peer.predict_proba(design), atol=atol)


def test_score_statistics_are_those_of_the_whole_information_matrix():
    """Of columns with one and two terms, of leaves and a column in the model."""
    rng = np.random.default_rng(1)
    leaves, y = rng.integers(3, size=120), rng.integers(2, size=120)
    rows = Rows(rng.normal(size=(120, 5)), leaves, y, np.ones(120), 3, 2)
    at, groups = np.array([1]), [[0], [2, 3], [4]]
    theta = np.zeros((1, 9))
    theta[:, [1, 5, 6, 7, 8]] = fit_score(rows.with_terms(at), 1.0).theta
    proba = rows.proba(theta)
    found = _score_statistics(rows, proba, 1.0, at, groups)
    design = np.hstack([rows.terms, np.eye(3)[leaves], np.ones((120, 1))])
    penalty = np.diag([1.0] * 8 + [0.0])
    hessian = design.T @ (design * proba * (1.0 - proba)) + penalty
    gradient = design.T @ (proba[:, 0] - y)
    for value, own in zip(found, groups, strict=True):
        with_own = [*own, 1, 5, 6, 7, 8]
        variance = np.linalg.inv(hessian[np.ix_(with_own, with_own)])
        part = variance[: len(own), : len(own)]
        assert_allclose(value, gradient[own] @ part @ gradient[own], rtol=1e-6)


def test_very_small_p_values_keep_their_order():
    log_p = _log_sf(np.array([1300.0, 1500.0, 1500.0]), np.array([1, 1, 9]))
    assert log_p[1] < log_p[2] < log_p[0] < -600
    assert_allclose(_log_sf(40.0, 3), chi2.logsf(40.0, 3))


def test_clear_decisions_skip_folds(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    model = PartiallyLinearTreeClassifier(random_state=0)
    fits = []
    fit = ConfidenceTreeClassifier.fit
    monkeypatch.setattr(
        ConfidenceTreeClassifier, "fit", lambda *a: fits.append(1) or fit(*a)
    )
    short = clone(model).fit(X, y)
    assert 3 <= len(fits) < 6
    monkeypatch.setattr(_partially_linear, "CLEAR", np.inf)
    assert_allclose(clone(model).fit(X, y).coef_, short.coef_)


def test_p_values_are_those_of_likelihood_ratio_tests(fitted):
    """Of a column: by a fit without it."""
    model, X, y = fitted
    columns = model._model.columns
    codes = (y == "yes").astype(np.intp)
    terms = columns.transform(model._model.schema.predict(X, "").X)
    leaves = np.searchsorted(np.unique(model.apply(X)), model.apply(X))
    rows = Rows(terms, leaves, codes, np.ones(len(y)), leaves.max() + 1, 2)
    without = columns.column != 1  # income
    full, restricted = (
        Curvature(fit_score(one, 1.0), one, 1.0).minimum
        for one in (rows, rows.with_terms(without))
    )
    expected = min(3 * chi2.sf(2 * (restricted - full), 1), 1.0)
    (term,) = (term for term in model.terms_ if term.column == "income")
    assert_allclose(term.p_value, expected, rtol=0.02)


def test_weights_are_copies():
    X, y = sample(200)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    model = PartiallyLinearTreeClassifier(random_state=0)
    weighted = clone(model).fit(X, y, weight)
    copied = clone(model).fit(X.loc[X.index.repeat(weight)], np.repeat(y, weight))
    assert weighted.coef_.shape[1] > 0
    assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), rtol=1e-7)
    twice = clone(model).fit(X, y, 2.0).predict_proba(X)
    same = clone(model).fit(X, y, np.full(len(y), 2.0))
    assert_array_equal(twice, same.predict_proba(X))


def test_log_loss_of_rows_with_few_values():
    """A row is not held out while equal rows with the other label are learned."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (1000, 4)).astype(float)
    y = (rng.logistic(size=1000) < X.sum(axis=1) - 2).astype(int)
    model = PartiallyLinearTreeClassifier(random_state=0).fit(X, y)
    assert model.cv_log_loss_[1] < np.log(2)


@pytest.mark.parametrize("n_values", [1, 2, 3])
def test_there_may_be_fewer_distinct_rows_than_folds(n_values):
    X = np.arange(12.0).reshape(-1, 1) % n_values
    y = np.arange(12) // 2 % 2
    for seed in range(5):
        model = PartiallyLinearTreeClassifier(random_state=seed).fit(X, y)
        assert np.isfinite(model.cv_log_loss_).all()


def test_a_useless_line_is_dropped():
    """Labels that depend on a product have no linear part."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], size=(800, 2)) * rng.uniform(0.5, 1.0, size=(800, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = PartiallyLinearTreeClassifier(random_state=0).fit(X, y)
    assert model.coef_.shape == (1, 0)
    assert model.terms_ == []
    assert_array_equal(model.predict_proba(X), model.tree_.predict_proba(X))
    assert_array_equal(model.apply(X), model.tree_.apply(X))
    assert export_text(model) == export_text(model.tree_)
    assert_array_equal(
        model.decision_function(X) > 0, model.tree_.predict_proba(X)[:, 1] > 0.5
    )
    with pytest.raises(ValueError, match="linear score was dropped"):
        model.explain(X)


def test_selected_columns():
    X, y = sample()
    X["noise"] = np.random.default_rng(1).normal(size=len(X))
    model = PartiallyLinearTreeClassifier(n_linear_features=2, random_state=0)
    model.fit(X, y)
    assert_array_equal(model.linear_features_, [0, 2])
    auto = clone(model).set_params(n_linear_features="auto").fit(X, y)
    assert 1 <= len(auto.linear_features_) <= 3
    assert 3 not in auto.linear_features_


def test_merged_leaves():
    """Where the line explains all, few leaves remain; where it does not, they do."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 2))
    y = (rng.random(1500) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    model = PartiallyLinearTreeClassifier(prune_leaves=True, random_state=0)
    line = clone(model).fit(X, y)
    assert line.tree_.get_n_leaves() > 2
    assert line.leaf_coef_.shape[1] == 1
    assert_array_equal(line.apply(X), 0)
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0) ^ (rng.random(1500) < 0.1)).astype(int)
    y = np.where(rng.random(1500) < 0.3, X[:, 0] + X[:, 1] > 0, y)
    kept = clone(model).fit(X, y)
    assert kept.leaf_coef_.shape[1] >= 4
    assert sum(leaf.weight for leaf in kept.leaves_) == 1500
    assert set(kept.apply(X)) == {leaf.node for leaf in kept.leaves_}


def test_explanations_add_up(fitted):
    model, X, _ = fitted
    score = model.decision_function(X)
    proba = model.predict_proba(X)
    for i, record in enumerate(model.explain(X.iloc[:20])):
        total = record["base"] + record["leaf"][1]
        total += sum(value for _, value in record["columns"])
        assert_allclose([total, record["score"]], score[i])
        assert record["class"] == model.classes_[proba[i].argmax()]
        assert_allclose(record["probability"], proba[i].max())
        sizes = [abs(value) for _, value in record["columns"]]
        assert sizes == sorted(sizes, reverse=True)
        assert record["leaf"][0] == model.apply(X)[i]


def test_text_has_score_and_constants(fitted):
    model, _, _ = fitted
    text = export_text(model)
    assert "log odds of class yes = base" in text
    for term in model.terms_:
        assert f"{term.coef:+.4g}" in text
    assert text.count("constant ") >= len(model.leaves_) + 1
    assert "city: infrequent" in text
    assert "age is missing" in text
    html = export_html(model)
    assert "log odds of class yes" in html
    assert html.count("constant ") >= len(model.leaves_) + 1


@pytest.mark.parametrize("prune_leaves", [False, True])
def test_rules_give_the_same_probabilities(fitted, prune_leaves):
    _, X, y = fitted
    model = PartiallyLinearTreeClassifier(
        random_state=0, max_categories=6, prune_leaves=prune_leaves
    ).fit(X, y)
    program = {}
    exec(export_rules(model, name="score"), program)
    X = pd.concat([X, X.iloc[:3].assign(city=["new", "a", None])])
    X["city"] = X.city.astype(object)
    proba = PartiallyLinearTreeClassifier.predict_proba(model, X.iloc[:-3])
    found = [list(program["score"](row).values()) for row in X.to_dict("records")]
    assert_allclose(found[:-3], proba, atol=1e-5)
    assert np.isfinite(found).all()
    database = sqlite3.connect(":memory:")
    database.create_function("EXP", 1, math.exp)
    X.iloc[:-3].to_sql("rows", database, index=False)
    query = f"SELECT {export_rules(model, 'sql')} FROM rows"
    assert_allclose(database.execute(query).fetchall(), proba, atol=1e-5)


class Kind(StrEnum):
    ONE = "one"
    TWO = "two"


def test_rules_contain_plain_categories_and_classes():
    """The representation of an enumeration, or of a date, is not an expression."""
    x, kind = np.linspace(0, 1, 80), np.array([*Kind], dtype=object)[np.arange(80) % 2]
    y = np.array([*Kind], dtype=object)[(np.roll(x, 3) + (kind == "one") > 0.9) + 0]
    X = pd.DataFrame({"x": x, "kind": pd.Categorical(kind)})
    model = PartiallyLinearTreeClassifier(random_state=0).fit(X, y)
    assert any(term.column == "kind" for term in model.terms_)
    program = {}
    exec(export_rules(model), program)
    rows = X.astype(object).to_dict("records")
    found = [list(program["predict"](row).values()) for row in rows]
    assert_allclose(found, model.predict_proba(X), atol=1e-5)
    days = [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]
    X["kind"] = X["kind"].cat.rename_categories(days)
    with pytest.raises(ValueError, match=r"The category datetime.* is a date"):
        export_rules(model.fit(X, y))


def test_three_classes():
    X, y = load_iris(return_X_y=True)
    model = PartiallyLinearTreeClassifier(random_state=0).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-6)
    program = {}
    exec(export_rules(model), program)
    found = [list(program["predict"](row).values()) for row in X]
    assert_allclose(found, model.predict_proba(X), atol=1e-5)
    with sqlite3.connect(":memory:") as base:
        base.create_function("EXP", 1, math.exp)
        base.execute("CREATE TABLE t (x0 REAL, x1 REAL, x2 REAL, x3 REAL)")
        base.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", X.tolist())
        found = base.execute(f"SELECT {export_rules(model, 'sql')} FROM t").fetchall()
    assert_allclose(found, model.predict_proba(X), atol=1e-5)
    for arguments in ({"language": "list"}, {"response_method": "predict"}):
        with pytest.raises(ValueError, match="for a single tree"):
            export_rules(model, **arguments)
    assert "relative to the mean of the classes" in export_text(model)
    assert len(model.explain(X[:2])[0]["columns"]) == 4


def test_without_joint_covariance(monkeypatch):
    """Many classes and leaves: errors of each class alone are of the same size."""
    X, y = load_iris(return_X_y=True)
    joint = PartiallyLinearTreeClassifier(random_state=0).fit(X, y)
    monkeypatch.setattr("skconftree.linear_model._logistic.MAX_JOINT", 0)
    single = PartiallyLinearTreeClassifier(random_state=0).fit(X, y)
    assert_allclose(single.predict_proba(X), joint.predict_proba(X), atol=2e-3)
    for one, other in zip(single.terms_, joint.terms_, strict=True):
        assert_allclose(one.standard_error, other.standard_error, rtol=0.5)
        assert (one.p_value < 0.01) == (other.p_value < 0.01)
    monkeypatch.setattr(_partially_linear, "MAX_TERMS", 5)
    none = PartiallyLinearTreeClassifier(random_state=0).fit(X, y)
    assert np.isnan(none.terms_[0].standard_error).all()
    assert "-" in export_text(none)
    monkeypatch.setattr(_partially_linear, "MAX_TERMS", 3)
    with pytest.raises(ValueError, match="must be None for more than 3 terms"):
        PartiallyLinearTreeClassifier(n_linear_features=2).fit(X, y)


def test_pickle_and_attributes(fitted):
    model, X, _ = fitted
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert list(model.feature_names_in_) == list(X)
    assert model.n_features_in_ == 3
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["income", "age", "city"]])
    refitted = clone(model).fit(X, model.predict(X)).fit(X[["age"]].to_numpy(), _)
    assert not hasattr(refitted, "feature_names_in_")


def test_class_weight_moves_the_base():
    X, y = load_breast_cancer(return_X_y=True)
    tree = ConfidenceTreeClassifier(class_weight={0: 10.0, 1: 1.0})
    plain = PartiallyLinearTreeClassifier(random_state=0).fit(X, y)
    heavy = PartiallyLinearTreeClassifier(tree, random_state=0).fit(X, y)
    assert heavy.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean()


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
def test_a_class_of_weight_zero(classes):
    """It has a probability near 0; the other classes can be one or more."""
    X, y = load_iris(return_X_y=True)
    X, y = X[np.isin(y, classes)], y[np.isin(y, classes)]
    tree = ConfidenceTreeClassifier(class_weight={0: 1.0, 1: 1.0} | {classes[-1]: 0.0})
    model = PartiallyLinearTreeClassifier(tree, random_state=0).fit(X, y)
    assert_allclose(model.predict_proba(X)[:, -1], 0.0, atol=1e-6)


def test_columns_without_variation_and_collinear_ones():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :3]
    plain = PartiallyLinearTreeClassifier(random_state=0).fit(X, y)
    odd = np.column_stack([X, np.full(len(X), 7.0), X[:, 0], np.full(len(X), np.nan)])
    model = PartiallyLinearTreeClassifier(random_state=0).fit(odd, y)
    assert_array_equal(model.linear_features_, [0, 1, 2, 4])
    assert_allclose(model.coef_[0, 0], model.coef_[0, 3], rtol=1e-6)  # shared equally
    assert np.isfinite([term.standard_error for term in model.terms_]).all()
    assert abs(model.score(odd, y) - plain.score(X, y)) < 0.02


@pytest.mark.parametrize("n_linear_features", [None, 1])
def test_singular_problems_are_solved(n_linear_features):
    """No penalty to speak of, classes that a column separates, columns of any scale."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = rng.integers(3, size=60) * (X[:, 0] > 0)
    X[:, 1], X[:, 2] = X[:, 0], 1e-30 * X[:, 3]
    model = PartiallyLinearTreeClassifier(
        C=1e15, n_linear_features=n_linear_features, random_state=0
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The coefficient of column")
        for rows in (X, csr_array(1e25 * X)):
            model.fit(rows, y)
            assert np.isfinite(model.predict_proba(rows)).all()
            assert np.isfinite([term.coef for term in model.terms_]).all()


def test_a_class_with_one_row():
    X, y = load_iris(return_X_y=True)
    X, y = X[:101], y[:101]
    model = PartiallyLinearTreeClassifier(random_state=0).fit(X, y)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert np.isfinite(model.predict_proba(X)).all()


def test_separated_classes_are_reported():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
    model = PartiallyLinearTreeClassifier(C=1e5, random_state=0)
    with pytest.warns(UserWarning, match=r"of column 0 and column 1 is .*separate"):
        model.fit(X, y)
    assert np.isfinite(model.coef_).all()


def test_unknown_categories_and_missing_values(fitted):
    model, X, _ = fitted
    rows = X.iloc[:4].assign(city="nowhere", income=np.nan)
    proba = model.predict_proba(rows)
    assert_allclose(proba.sum(axis=1), 1.0)
    rare = X.iloc[:4].assign(city="h", income=np.nan)  # one of the infrequent ones
    assert_allclose(proba, model.predict_proba(rare), atol=0.2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_linear_features": 31}, "at most the number of columns, 30"),
        ({"n_linear_features": 0}, "n_linear_features"),
        ({"C": 0.0}, "'C' parameter"),
        ({"tree": LogisticRegression()}, "'tree' parameter"),
        ({"max_categories": 1}, "max_categories"),
        ({"tree": ConfidenceTreeClassifier(max_depth=-1)}, "'max_depth' parameter"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = load_breast_cancer(return_X_y=True)
    model = PartiallyLinearTreeClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "tree_")


def test_unknown_parameter_has_a_suggestion():
    with pytest.raises(TypeError, match="Did you mean 'n_linear_features'"):
        PartiallyLinearTreeClassifier(n_linear_feature=3)
