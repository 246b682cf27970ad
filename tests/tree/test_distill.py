"""A tree that is distilled from a classifier."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import entropy
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.inspection import audit_splits
from skconftree.tree import distill, export_text, node_table


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, LogisticRegression(max_iter=1000).fit(X, y)


def test_leaves_have_the_mean_of_what_the_classifier_says(iris):
    X, _, teacher = iris
    tree = distill(teacher, X, n_rows=None, max_leaf_nodes=6)
    said, leaves = teacher.predict_proba(X), tree.apply(X)
    expected = np.array([said[leaves == leaf].mean(axis=0) for leaf in leaves])
    np.testing.assert_allclose(tree.predict_proba(X), expected, rtol=1e-12)
    agree = (tree.predict(X) == teacher.predict(X)).mean()
    assert tree.fidelity_ == agree


def test_counts_are_of_the_real_rows(iris):
    X, _, teacher = iris
    tree = distill(teacher, X, random_state=0, n_rows=3000)
    nodes = tree.tree_
    path = tree.decision_path(X)
    np.testing.assert_array_equal(nodes.n_node_samples, np.ravel(path.sum(axis=0)))
    assert nodes.counts[0].sum() == pytest.approx(150.0)
    split = np.flatnonzero(nodes.children_left >= 0)
    for node in split:
        children = nodes.children(node)
        assert nodes.counts[children].sum(axis=0) == pytest.approx(nodes.counts[node])
    for name in set(nodes.evidence.dtype.names) - {"runner_up_z", "runner_up_feature"}:
        assert np.isnan(nodes.evidence[name]).all()
    share = nodes.counts / nodes.counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(nodes.impurity, entropy(share, base=2, axis=1))


def test_real_rows_improve_a_leaf():
    """Every probability, from what the classifier was asked and said."""
    X, y = load_wine(return_X_y=True)

    class Noted(RandomForestClassifier):
        def predict_proba(self, X):
            asked.append(X)
            return super().predict_proba(X)

    teacher = Noted(20, random_state=0).fit(X, y)
    asked = []
    weight = 1.0 + np.arange(len(X)) % 3
    tree = distill(teacher, X, sample_weight=weight, n_rows=3000, random_state=0)
    real, made = asked[:2]
    np.testing.assert_array_equal(real, X)
    assert len(made) == 3000 - len(X)
    said = teacher.predict_proba(X) * weight[:, None], teacher.predict_proba(made)
    leaves, others = tree.apply(X), tree.apply(made)
    for leaf in np.unique(tree.apply(made)):
        own = said[0][leaves == leaf].sum(axis=0)
        every = own + said[1][others == leaf].sum(axis=0)
        expected = own + 20.0 * every / every.sum()
        expected /= expected.sum()
        (row,) = made[others == leaf][:1]
        np.testing.assert_allclose(tree.predict_proba([row])[0], expected, rtol=1e-9)
        count = tree.tree_.counts[leaf].sum()
        share = weight.sum() / (weight.sum() + len(made))
        np.testing.assert_allclose(count, every.sum() * share, rtol=1e-9)


def test_made_up_rows_have_a_say_in_the_probabilities(iris):
    X, _, teacher = iris
    tree = distill(teacher, X, random_state=0, n_rows=5000, max_leaf_nodes=4)
    plain = distill(teacher, X, n_rows=None, max_leaf_nodes=4)
    assert (tree.predict_proba(X) != plain.predict_proba(X)).any()
    again = distill(teacher, X, random_state=0, n_rows=5000, max_leaf_nodes=4)
    np.testing.assert_array_equal(tree.predict_proba(X), again.predict_proba(X))


def test_fidelity_is_of_rows_that_were_not_drawn():
    X, y = load_breast_cancer(return_X_y=True)
    teacher = RandomForestClassifier(20, random_state=0).fit(X, y)
    tree = distill(teacher, X, n_rows=200, random_state=0)
    drawn = np.sort(np.random.RandomState(0).permutation(len(X))[:200])
    others = np.setdiff1d(np.arange(len(X)), drawn)
    assert tree.tree_.n_node_samples[0] == 200
    agree = tree.predict(X[others]) == teacher.predict(X[others])
    assert tree.fidelity_ == agree.mean()


def test_a_known_label_counts_instead(iris):
    X, _, teacher = iris
    wrong = np.full(150, None)
    wrong[:20] = 2
    tree = distill(teacher, X, wrong, n_rows=None, max_leaf_nodes=6)
    said = teacher.predict_proba(X)
    said[:20] = [0.0, 0.0, 1.0]
    leaves = tree.apply(X)
    expected = np.array([said[leaves == leaf].mean(axis=0) for leaf in leaves])
    np.testing.assert_allclose(tree.predict_proba(X), expected, rtol=1e-12)


def test_weights_count_rows(iris):
    X, _, teacher = iris
    weight = np.arange(150) % 3
    one = distill(teacher, X, sample_weight=weight, n_rows=None, max_leaf_nodes=6)
    two = distill(teacher, np.repeat(X, weight, axis=0), n_rows=None, max_leaf_nodes=6)
    np.testing.assert_array_equal(one.tree_.feature, two.tree_.feature)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), rtol=1e-12)


def test_weight_0_is_absence_and_fidelity_has_weights(iris):
    X, _, teacher = iris
    weight = np.arange(150) % 3
    given = {"max_leaf_nodes": 3, "n_rows": 400, "random_state": 0}
    one = distill(teacher, X, sample_weight=weight, **given)
    two = distill(teacher, X[weight > 0], sample_weight=weight[weight > 0], **given)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert one.tree_.n_node_samples[0] == 100
    agree = one.predict(X) == teacher.predict(X)
    assert not agree[weight > 0].all()
    assert one.fidelity_ == two.fidelity_ == np.average(agree, weights=weight)
    with pytest.raises(ValueError, match="above 0 for at least one row"):
        distill(teacher, X, sample_weight=np.zeros(150))


def test_real_rows_determine_ties():
    """Without made-up rows the comparison is that of a tree of the predicted classes.

    Numbers, categories and missing values; of some nodes each has no other test.
    """
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 4)).round(1), columns=list("abcd"))
    X["e"] = pd.Categorical(rng.choice(["r", "g", "b", "w"], 400))
    X.loc[rng.random(400) < 0.1, "b"] = np.nan
    y = (X["a"] + X["b"].fillna(0.5) > 0.2 * X["e"].isin(["r", "g"])).astype(int)
    teacher = ConfidenceForestClassifier(20, random_state=0).fit(X, y)
    weight = rng.integers(1, 4, 400)
    tree = distill(teacher, X, sample_weight=weight, n_rows=None, max_leaf_nodes=8)
    plain = ConfidenceTreeClassifier(max_leaf_nodes=8, pruning=None)
    plain.fit(X, teacher.predict(X), sample_weight=weight)
    ours, theirs = tree.tree_, plain.tree_
    np.testing.assert_array_equal(ours.feature, theirs.feature)
    z = ours.evidence["runner_up_z"]
    assert np.isfinite(z).sum() == 7
    np.testing.assert_allclose(z, theirs.evidence["runner_up_z"], rtol=1e-9, atol=1e-12)
    names = list(X.columns)
    for row, node in zip(node_table(tree), range(ours.node_count), strict=True):
        if not row.branches:
            continue
        competitor = names[theirs.evidence["runner_up_feature"][node]]
        said = "decided" if z[node] >= 1.96 else f"near tie with {competitor}"
        assert row.evidence_text.endswith(f" rows, {said}")
    decided = np.count_nonzero(z >= 1.96)
    cells = re.findall(r"^\|.*  (decided|near tie .*)$", export_text(tree), re.M)
    assert len(cells) == 7
    assert cells.count("decided") == decided > 0


def test_synthetic_rows_do_not_count_as_evidence():
    """Two columns that tell the same apart but for one row stay a tie."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:, 1] = X[:, 0]
    X[0, 1] *= -1.0
    teacher = LogisticRegression().fit(X, X[:, 0] > 0)
    tree = distill(teacher, X, n_rows=20_000, max_leaf_nodes=2, random_state=0)
    root = node_table(tree)[0]
    assert root.evidence_text.endswith(f"; 60 rows, near tie with x{1 - root.feature}")


def test_how_many_leaves():
    X, y = load_breast_cancer(return_X_y=True)
    teacher = RandomForestClassifier(20, random_state=0).fit(X, y)
    assert distill(teacher, X, n_rows=5000, random_state=0).get_n_leaves() == 16
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4000, 2))
    y = 5 * np.floor(5 * X[:, 0]) + np.floor(5 * X[:, 1])
    teacher = RandomForestClassifier(20, random_state=0).fit(X, y)
    default = ConfidenceTreeClassifier().fit(X, y)
    assert default.get_n_leaves() >= 25
    tree = distill(teacher, X, y, n_rows=5000, random_state=0)
    assert tree.get_n_leaves() == default.get_n_leaves()


@pytest.mark.slow
def test_nearer_to_the_classifier_than_a_tree_of_the_labels():
    """The mean over divisions of two tables, for a boosted model and a pipeline."""
    gains = []
    for load in (load_wine, load_breast_cancer):
        X, y = load(return_X_y=True)
        for seed in range(2):
            A, B, a, _ = train_test_split(X, y, random_state=seed, test_size=0.5)
            for teacher in (
                HistGradientBoostingClassifier(max_iter=30),
                make_pipeline(StandardScaler(), LogisticRegression()),
            ):
                teacher.fit(A, a)
                tree = distill(teacher, A, n_rows=3000, random_state=seed)
                cart = DecisionTreeClassifier(
                    max_leaf_nodes=tree.get_n_leaves(), random_state=0
                ).fit(A, a)
                said = teacher.predict(B)
                gains.append((tree.predict(B) == said).mean())
                gains[-1] -= (cart.predict(B) == said).mean()
    assert np.mean(gains) > 0.005


def test_frames_of_categories_go_through_a_pipeline():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"number": rng.normal(size=300), "color": rng.choice(["r", "g"], 300)}
    )
    X["color"] = X["color"].astype("category")
    y = np.where((X["color"] == "r") ^ (X["number"] > 0), "yes", "no")
    coder = make_column_transformer(
        (OneHotEncoder(), ["color"]), remainder="passthrough"
    )
    teacher = make_pipeline(coder, RandomForestClassifier(20, random_state=0)).fit(X, y)
    tree = distill(teacher, X, random_state=0, n_rows=2000)
    assert tree.score(X, y) > 0.97
    assert "color" in export_text(tree)
    assert list(tree.feature_names_in_) == ["number", "color"]


def test_sparse_rows_are_taken_as_they_are(iris):
    X, _, teacher = iris
    tree = distill(teacher, csr_array(X), max_leaf_nodes=6)
    plain = distill(teacher, X, n_rows=None, max_leaf_nodes=6)
    np.testing.assert_allclose(
        tree.predict_proba(X), plain.predict_proba(X), rtol=1e-12
    )


def test_classes_that_are_never_predicted_remain():
    X = np.linspace(0.0, 1.0, 200)[:, None]
    teacher = LogisticRegression().fit(X, np.repeat([0, 1, 2], [5, 95, 100]))
    tree = distill(teacher, X, n_rows=None)
    assert list(tree.classes_) == [0, 1, 2]
    assert tree.predict_proba(X).shape == (200, 3)
    assert (tree.predict_proba(X)[:, 0] > 0.0).all()


def test_of_a_forest(iris):
    X, y, _ = iris
    forest = ConfidenceForestClassifier(20, random_state=0).fit(X[::3], y[::3])
    tree = forest.to_tree(X, random_state=3, n_rows=1000, max_leaf_nodes=5)
    same = distill(forest, X, random_state=3, n_rows=1000, max_leaf_nodes=5)
    np.testing.assert_array_equal(tree.predict_proba(X), same.predict_proba(X))
    assert tree.get_n_leaves() == 5


def test_it_says_that_it_is_distilled(iris):
    X, _, teacher = iris
    tree = distill(teacher, X, random_state=0, n_rows=1000, max_leaf_nodes=4)
    for text in (export_text(tree), tree.explain_text(X[:1]), tree.summary()):
        assert "distilled" in text
        assert "expected by chance" not in text
    rows = node_table(tree)
    assert {row.evidence.level for row in rows if row.branches} == {"distilled"}
    assert [row.weight for row in rows] == tree.tree_.n_node_samples.tolist()
    html = tree._repr_html_().lower()
    assert "nan" not in html.replace("nanum", "")
    assert "no bound" not in html
    np.testing.assert_array_equal(
        tree.to_sklearn().predict_proba(X), tree.predict_proba(X)
    )


def test_limits_and_audits_rest_on_labels():
    X, y = load_breast_cancer(return_X_y=True)
    forest = ConfidenceForestClassifier(20, random_state=0).fit(X[:100], y[:100])
    tree = forest.to_tree(X[:300], n_rows=1000, max_leaf_nodes=4, random_state=0)
    with pytest.raises(ValueError, match="distilled from a classifier.*recount_leaves"):
        tree.predict_proba_interval(X)
    audit = audit_splits(tree, X[300:], y[300:])
    for text in (str(audit), export_text(tree, audit=audit)):
        assert "distilled: labels that the classifier was trained on" in text
    plain = ConfidenceTreeClassifier().fit(X[:300], y[:300])
    assert "distilled" not in str(audit_splits(plain, X[300:], y[300:]))
    tree.recount_leaves(X[300:], y[300:])
    low, high = np.moveaxis(tree.predict_proba_interval(X, method="honest"), 2, 0)
    assert (low < high).all()


def test_it_is_pickled_and_does_not_grow(iris):
    X, y, teacher = iris
    tree = distill(teacher, X, random_state=0, n_rows=1000)
    other = pickle.loads(pickle.dumps(tree))
    assert other.fidelity_ == tree.fidelity_
    np.testing.assert_array_equal(other.predict_proba(X), tree.predict_proba(X))
    with pytest.raises(ValueError, match="distilled from a classifier"):
        tree.partial_fit(X, y)
    assert tree.fidelity_ == other.fidelity_
    tree.fit(X, y)
    assert not hasattr(tree, "fidelity_")


def test_bad_input(iris):
    X, y, teacher = iris
    with pytest.raises(TypeError, match="must have predict_proba"):
        distill(LinearSVC().fit(X, y), X)
    with pytest.raises(NotFittedError):
        distill(LogisticRegression(), X)
    lone = ConfidenceTreeClassifier().fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="at least two classes"):
        distill(lone, X)
    with pytest.raises(ValueError, match="features"):
        distill(teacher, X[:, :2])
    with pytest.raises(ValueError, match="'n_rows' parameter .* at least 3"):
        distill(teacher, X, n_rows=2)
    with pytest.raises(ValueError, match="'max_leaf_nodes' parameter"):
        distill(teacher, X, max_leaf_nodes=1)
    with pytest.raises(ValueError, match="7"):
        distill(teacher, X, np.full(150, 7))
    with pytest.raises(ValueError, match="inconsistent"):
        distill(teacher, X, y[:10])
    with pytest.raises(ValueError, match="not classes of the classifier: .-1.*None"):
        distill(teacher, X, np.where(np.arange(150) < 9, y, -1))
    for some in (distill, lambda model, *given, **more: model.to_tree(*given, **more)):
        few = ConfidenceForestClassifier(5, random_state=0).fit(X, y)
        with pytest.warns(UserWarning, match="only 1 row to") as told:
            some(few, X[:1], n_rows=10)
        assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="only 10 rows to synthesize 990 others"):
        distill(teacher, X[::15], n_rows=1000, random_state=0)


@pytest.mark.parametrize(
    ("classes", "proba"),
    [
        ([0, 1, 2], np.full((150, 3), np.nan)),
        ([0, 1, 2], np.full((150, 3), -1.0)),
        ([0, 1, 2], np.full((150, 2), 0.5)),
        ([0, 1, 2], np.full((149, 3), 0.5)),
    ],
)
def test_probabilities_that_are_none(iris, classes, proba):
    class Strange(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            return self

        def __sklearn_is_fitted__(self):
            return True

        def predict_proba(self, X):
            return proba

    X = iris[0]
    with pytest.raises(TypeError, match="must have classes_"):
        distill(Strange(), X)
    strange = Strange()
    strange.classes_ = classes
    with pytest.raises(TypeError, match="array of the classes of one output"):
        distill(strange, X)
    strange.classes_ = np.array(classes)
    with pytest.raises(ValueError, match="predict_proba of Strange must return"):
        distill(strange, X)
