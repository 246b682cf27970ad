"""The records of a tree say what it predicts, and all that shows it says the same.

Words are checked by following them: a row walks from the root along the branches whose
categories or thresholds hold for it, and must end where `apply` puts it.
"""

import math
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from skconftree import ConfidenceTreeClassifier
from skconftree.inspection import ConfidenceTreeDisplay
from skconftree.tree import export_text, node_table

COLORS = np.array(["red", "green", "blue", "grey"])


def make_table(n=500, seed=0):
    """Color, size and shape decide the class, with noise and holes."""
    rng = np.random.default_rng(seed)
    color, shape = rng.integers(0, len(COLORS), n), rng.integers(0, 11, n)
    size, age = rng.normal(size=n), rng.normal(size=n)
    y = np.where(np.isin(color, [0, 3]) ^ (size > 0.8), 1, 3 * np.isin(shape, [2, 7]))
    y = np.where(rng.random(n) < 0.1, rng.integers(0, 4, n), y)
    frame = pd.DataFrame(
        {
            "color": pd.Series(COLORS[color]).where(rng.random(n) > 0.1),
            "size": np.where(rng.random(n) < 0.2, np.nan, size),
            "shape": pd.Categorical(shape),
            "age": age,
        }
    )
    return frame, np.where(np.isnan(frame["size"]) & (y == 0), 2, y)


FRAME, Y = make_table()
STRANGE = FRAME.assign(color="mauve", age=np.nan)
SETTINGS = {
    "no bound": {"bound": None},
    "default": {},
    "multiway": {"bound": None, "nominal_splits": "multiway"},
    "interval": {"bound": "possibilistic"},
    "race": {"bound": "hoeffding", "delta": 0.3},
    "evidence": {"bound": "bayes_factor"},
    "reweighted": {"bound": None, "class_weight": {0: 1, 1: 9, 2: 0.5, 3: 4}},
    "unsplit": {"min_samples_leaf": 400},
}


def make_tree(name, stream):
    tree = ConfidenceTreeClassifier(**SETTINGS[name], random_state=0)
    if not stream:
        return tree.fit(FRAME, Y)
    tree.set_params(grace_period=10, leaf_prediction="majority")
    first = (FRAME["color"] != "grey").to_numpy()  # grey comes late
    tree.partial_fit(FRAME[first], Y[first], [0, 1, 2, 3])
    return tree.partial_fit(FRAME[~first], Y[~first])


@pytest.fixture(params=[f"{one} {how}" for one in SETTINGS for how in ("fit", "grown")])
def tree(request):
    name, how = request.param.rsplit(" ", 1)
    return make_tree(name, how == "grown")


def follow(table, values):
    """Node in which a row ends that goes where the words are true of it."""
    row = table[0]
    while row.branches:
        value = values[row.feature]
        missing = value is None or value != value
        if row.keeps_unknown:
            value = None if missing else value
            ways = [value in branch.categories for branch in row.branches]
        elif missing:
            ways = [branch.takes_missing for branch in row.branches]
        else:
            ways = [value <= row.threshold, value > row.threshold]
        assert sum(ways) <= 1
        if not any(ways):
            assert row.keeps_unknown
            break
        row = table[row.branches[ways.index(True)].node]
    return row.node


@pytest.mark.filterwarnings("ignore:Column .* has only unknown categories")
@pytest.mark.parametrize("rows", [FRAME, STRANGE], ids=["known", "strange"])
def test_records_send_and_label_rows_as_the_tree_does(tree, rows):
    table = node_table(tree)
    leaves = tree.apply(rows)
    objects = rows.astype({"size": np.float32, "age": np.float32}).astype(object)
    assert [follow(table, row) for row in objects.to_numpy()] == leaves.tolist()
    assert_array_equal([table[leaf].label for leaf in leaves], tree.predict(rows))
    assert_array_equal([table[leaf].value for leaf in leaves], tree.predict_proba(rows))


def test_records_agree_with_the_arrays(tree):
    table, arrays = node_table(tree), tree.tree_
    assert [row.node for row in table] == list(range(arrays.node_count))
    for name in ("parent", "depth", "n_children", "feature", "impurity"):
        assert_array_equal([getattr(row, name) for row in table], getattr(arrays, name))
    assert_array_equal([row.counts for row in table], arrays.counts)
    assert_array_equal([row.weight for row in table], arrays.counts.sum(axis=1))
    for row in table:
        children = [branch.node for branch in row.branches]
        assert children == arrays.children(row.node).tolist()
        assert all(table[child].parent == row.node for child in children)
        if not children:
            assert (row.name, row.test, row.evidence) == (None, None, None)
            assert math.isnan(row.threshold)
            continue
        assert row.name == FRAME.columns[row.feature]
        assert_array_equal(row.threshold, arrays.threshold[row.node])
        if len(children) == 2:
            assert row.test == row.branches[0].condition
        else:
            assert row.test == f"{row.name} = ?"
        for branch in row.branches:
            assert branch.condition.startswith(f"{row.name} ")
            if branch.categories is None:
                assert not row.keeps_unknown
                if row.missing_seen and row.threshold < math.inf:
                    said = branch.condition.endswith(" or missing")
                    assert said == branch.takes_missing
            else:
                assert row.keeps_unknown
                assert branch.takes_missing == (None in branch.categories)
                named = ["missing" if c is None else str(c) for c in branch.categories]
                if " not in {" in branch.condition:
                    known = tree.categories_[row.feature]
                    named = [str(c) for c in known if c not in branch.categories]
                assert all(name in branch.condition for name in named[:8])


def test_evidence_is_that_of_the_tree(tree):
    for row, said in zip(node_table(tree), tree.tree_.evidence, strict=True):
        if not row.branches:
            assert row.evidence is None
            continue
        evidence = row.evidence.applying()
        assert evidence.pop("level") == row.evidence.level
        assert evidence.pop("expected_by_chance") == row.evidence.expected_by_chance
        if "cost" in evidence:
            costs = tree.tree_.trial_costs[row.node]
            assert evidence.pop("cost") == costs["cost"]
            assert evidence.pop("tried_cost") == costs["runner_up_cost"]
            assert evidence.pop("tried") == FRAME.columns[costs["runner_up_feature"]]
        if "runner_up_name" in evidence:
            name = evidence.pop("runner_up_name")
            has_name = evidence["runner_up_feature"] >= 0
            named = FRAME.columns[evidence["runner_up_feature"]]
            assert name == (named if has_name else "no split")
        statistic_name = evidence.pop("statistic_name", None)
        assert ("statistic" in evidence) == (statistic_name is not None)
        if statistic_name is not None:
            assert statistic_name == tree.bound_.statistic_name
        for name, value in evidence.items():
            assert value == said[name]
        left_out = set(said.dtype.names) - set(evidence)
        runner_up = {"runner_up_score", "runner_up_feature"}
        assert not np.isfinite([said[name] for name in left_out - runner_up]).any()
        if left_out & runner_up:
            assert runner_up <= left_out
            assert not np.isfinite(said["runner_up_score"])


def test_records_make_a_data_frame(tree):
    frame = pd.DataFrame(node_table(tree))
    assert frame["node"].tolist() == list(range(tree.tree_.node_count))
    for name in ("parent", "depth", "n_children", "feature", "label"):
        assert frame[name].dtype.kind == "i", name
    leaves = frame[frame["n_children"] == 0]
    assert len(leaves) == tree.get_n_leaves()
    assert leaves["weight"].sum() == len(FRAME)


# -- one reader ---------------------------------------------------------------------


def test_every_reader_names_the_predicted_class_of_a_leaf():
    """A rare class that weighs more, and one that wins by being the first of equals."""
    X = np.repeat([[0.0], [1.0]], 10, axis=0)
    y = np.repeat(["a", "b", "a", "b"], [8, 2, 5, 5])
    tree = ConfidenceTreeClassifier(None, pruning=None, class_weight={"a": 1, "b": 8})
    tree.fit(X, y)
    assert tree.predict([[0.0], [1.0]]).tolist() == ["b", "b"]
    equals = ConfidenceTreeClassifier(None, pruning=None).fit(X, y)
    assert equals.predict([[0.0], [1.0]]).tolist() == ["a", "a"]
    for one, label in ((tree, "b"), (equals, "a")):
        assert [row.label for row in node_table(one) if not row.branches] == [label] * 2
        assert export_text(one).count(f"class {label} (") == 2
        drawn = ConfidenceTreeDisplay.from_estimator(one)
        texts = [text.get_text() for text in drawn.ax_.texts]
        assert [text for text in texts if text in {"a", "b"}] == [label] * 2
        widths = [
            patch.get_width()
            for patch in drawn.ax_.patches
            if patch.get_height() == pytest.approx(0.05)
        ]
        shares = [row.value for row in node_table(one)]
        np.testing.assert_allclose(np.divide(widths, 0.82), np.ravel(shares))


class Counted:
    """A tree that counts how often it is asked for each of its arrays."""

    def __init__(self, tree):
        self.tree = tree
        self.asked = Counter()

    def __getattr__(self, name):
        found = getattr(self.tree, name)
        if isinstance(found, np.ndarray):
            self.asked[name] += 1
        return found


@pytest.mark.filterwarnings("ignore:Some splits send missing values to the left")
@pytest.mark.parametrize(
    ("reader", "most"),
    [
        (node_table, 1),
        (export_text, 1),
        (lambda tree: export_text(tree, max_depth=2), 2),  # depth, to leave nodes out
        (lambda tree: tree.explain(FRAME), 2),  # evidence, to give all its fields
        (lambda tree: tree.to_sklearn(), 2),  # in records and as arrays
        (ConfidenceTreeDisplay.from_estimator, 1),
    ],
    ids=["records", "text", "upper text", "explain", "to_sklearn", "picture"],
)
def test_no_array_is_made_again_for_each_node(reader, most):
    """Most of them are, when asked for: a loop over n nodes would take n * n steps."""
    tree = make_tree("no bound", stream=False)
    tree._model._tree = counted = Counted(tree.tree_)
    reader(tree)
    assert len(counted.asked) >= 5
    asked = {name: n for name, n in counted.asked.items() if name != "class_weight"}
    assert max(asked.values()) <= most, asked


def test_a_deep_tree_is_read_without_recursion():
    X = np.arange(2500.0)[:, None]
    tree = ConfidenceTreeClassifier(None, pruning=None).fit(X, np.arange(2500) % 2)
    assert tree.get_depth() > sys.getrecursionlimit()
    table = node_table(tree)
    assert max(row.depth for row in table) == tree.get_depth()
    assert export_text(tree).count("--- class ") == tree.get_n_leaves()
    steps = tree.explain(X[tree.apply(X).argmax() :][:1])[0]
    assert len(steps) == table[tree.apply(X).max()].depth


# -- categories -----------------------------------------------------------------------


def test_a_row_that_stays_is_explained_however_late_its_category():
    """A node makes room for more codes than there are categories."""
    late = [3] + [4] * 200
    X = np.concatenate([np.arange(400) % 3, late]).astype(float)[:, None]
    tree = ConfidenceTreeClassifier(None, categorical_features=[0], grace_period=10)
    tree.partial_fit(X, X[:, 0] > 0, [False, True])
    assert len(tree.tree_.branches(0)) > len(tree.categories_[0])
    ((step,),) = tree.explain([[77.0]])
    assert (step["goes"], step["value"], step["categories"]) == ("stays", None, [])
    named = [branch.categories for branch in node_table(tree)[0].branches]
    assert sorted(sum(named, ())) == [0, 1, 2, 3, 4]


def test_categories_without_a_name_are_left_out(monkeypatch):
    """As those of codes that were given in a call which did not end."""
    X = np.repeat(np.array(["a", "b"], dtype=object), 50)[:, None]
    tree = ConfidenceTreeClassifier(None, categorical_features=[0]).fit(X, X[:, 0])
    monkeypatch.setattr(ConfidenceTreeClassifier, "categories_", [["a"]])
    root = node_table(tree)[0]
    assert [branch.categories for branch in root.branches] == [("a",), ()]
    assert [branch.condition for branch in root.branches] == ["x0 = a", "x0 in {}"]
    assert "x0 in {}" in export_text(tree)
    assert [step["categories"] for (step,) in tree.explain(X[[0, 99]])] == [["a"], []]
    ConfidenceTreeDisplay.from_estimator(tree)


# -- names ----------------------------------------------------------------------------


def test_passed_names_are_used():
    tree = make_tree("default", stream=False)
    table = node_table(
        tree, feature_names=["c", "z", "s", "a"], class_names=["no", "yes", "x", "?"]
    )
    new = dict(zip(FRAME.columns, ["c", "z", "s", "a"], strict=True))
    for given, row in zip(table, node_table(tree), strict=True):
        assert given.label == ["no", "yes", "x", "?"][row.label]
        if row.branches:
            assert given.name == new[row.name]
            assert given.test == row.test.replace(row.name, given.name)
    cuts = [
        row.test for row in node_table(tree, decimals=9) if "<=" in (row.test or "")
    ]
    assert max(map(len, cuts)) > len("size <= -0.1234 or missing")


@pytest.mark.parametrize(
    "reader", [node_table, export_text, ConfidenceTreeDisplay.from_estimator]
)
def test_wrong_names_are_errors(reader):
    with pytest.raises(NotFittedError):
        reader(ConfidenceTreeClassifier())
    tree = make_tree("default", stream=False)
    with pytest.raises(
        ValueError, match=r"feature_names must contain 4 elements, got 1"
    ):
        reader(tree, feature_names=["a"])
    with pytest.raises(ValueError, match=r"class_names must contain 4 elements, got 5"):
        reader(tree, class_names=list("abcde"))
