"""Tables with nominal columns and holes: read rightly, predicted rightly, told rightly.

Which tests the tree chooses is compared with the slow reference elsewhere; here are
the ways in which such tables come and what users may get wrong.
"""

import pickle

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from reference.registries import PRUNINGS
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier
from skconftree.inspection import ConfidenceTreeDisplay
from skconftree.tables._features import MAX_CATEGORIES
from skconftree.tree import export_text
from skconftree.tree.nodes._tree_state import ARRAYS, BRANCHING_DTYPE, NODE_DTYPE

TO_SKLEARN = pytest.mark.filterwarnings("ignore:Some tests send missing values")
COLORS = ["red", "green", "blue", "grey", "pink"]


def make_frame(n=400, seed=0, holes=0.1):
    """Colour and size decide the class, with noise; some values are missing."""
    rng = np.random.default_rng(seed)
    color = rng.integers(0, len(COLORS), n)
    size = rng.normal(size=n)
    shape = rng.integers(0, 12, n)
    y = np.where(np.isin(shape, [2, 5, 11]), 2, np.isin(color, [0, 3]) ^ (size > 1))
    y = np.where(rng.random(n) < 0.05, rng.integers(0, 3, n), y)
    frame = pd.DataFrame(
        {
            "color": pd.Series(np.array(COLORS)[color]).where(rng.random(n) > holes),
            "size": np.where(rng.random(n) < holes, np.nan, size),
            "shape": pd.Categorical(shape),
            "useless": rng.integers(0, 2, n).astype(bool),
        }
    )
    return frame, y


FRAME, Y = make_frame()
SETTINGS = {
    "binary": {},
    "multiway": {"nominal_splits": "multiway"},
    "no bound": {"bound": None},
    "possibilistic": {"bound": "possibilistic"},
    "raised": {"bound": None, "nominal_splits": "multiway", "pruning": "c45"},
    "best first": {"bound": None, "nominal_splits": "multiway", "max_leaf_nodes": 30},
    "drawn": {"splitter": "random", "random_state": 3},
}


@pytest.fixture(params=SETTINGS)
def tree(request):
    return ConfidenceTreeClassifier(**SETTINGS[request.param]).fit(FRAME, Y)


# -- the ways in which a table comes ----------------------------------------------


def same_table():
    """The same table for each library; dtypes that stand for categories."""
    tables = {"pandas": FRAME}
    tables["pandas objects"] = FRAME.astype({"color": object, "shape": object})
    try:
        import polars

        tables["polars"] = polars.DataFrame(
            {
                "color": [None if pd.isna(c) else c for c in FRAME["color"]],
                "size": polars.Series(FRAME["size"].to_numpy()).fill_nan(None),
                "shape": FRAME["shape"].tolist(),
                "useless": FRAME["useless"].tolist(),
            }
        )
        tables["polars enum"] = tables["polars"].with_columns(
            polars.col("color").cast(polars.Enum(COLORS[::-1]))
        )
        tables["polars categorical"] = tables["polars"].with_columns(
            polars.col("color").cast(polars.Categorical)
        )
    except ImportError:
        pass
    try:
        import pyarrow

        tables["pyarrow"] = pyarrow.table(
            {
                "color": pyarrow.array(FRAME["color"], from_pandas=True),
                "size": pyarrow.array(FRAME["size"], from_pandas=True),
                "shape": pyarrow.array(FRAME["shape"].tolist()),
                "useless": pyarrow.array(FRAME["useless"]),
            }
        )
        halves = [
            tables["pyarrow"].slice(0, 100).append_column("z", [[0] * 100]),
            tables["pyarrow"].slice(100).append_column("z", [[0] * 300]),
        ]
        tables["pyarrow chunks"] = pyarrow.concat_tables(halves).drop_columns("z")
        tables["pyarrow dictionary"] = tables["pyarrow"].set_column(
            0, "color", tables["pyarrow"]["color"].dictionary_encode()
        )
    except ImportError:
        pass
    return tables


TABLES = same_table()


@pytest.mark.parametrize("library", TABLES)
def test_every_library_gives_the_same_tree(library):
    X = TABLES[library]
    expected = ConfidenceTreeClassifier().fit(FRAME, Y)
    tree = ConfidenceTreeClassifier(categorical_features=["color", "shape"]).fit(X, Y)
    assert tree.get_n_leaves() > 3
    assert pickle.dumps(tree.tree_) == pickle.dumps(expected.tree_)
    assert tree.categories_ == expected.categories_
    assert_array_equal(tree.predict_proba(X), expected.predict_proba(FRAME))
    assert_array_equal(tree.feature_names_in_, FRAME.columns)
    # a model may meet another library than it was fitted with
    assert_array_equal(expected.predict(X), tree.predict(FRAME))


@pytest.mark.parametrize("library", [name for name in TABLES if "object" not in name])
def test_dtypes_say_what_is_nominal(library):
    X = TABLES[library]
    tree = ConfidenceTreeClassifier().fit(X, Y)
    nominal = [True, False, library == "pandas", False]
    assert_array_equal(tree.is_categorical_, nominal)
    assert tree.categories_[0] == [*sorted(COLORS), None]
    assert tree.categories_[1] is None


def test_arrays_with_a_mask():
    array = np.column_stack(
        [FRAME["color"].map({c: i * 10 for i, c in enumerate(sorted(COLORS))}),
         FRAME["size"], FRAME["shape"].astype(float), FRAME["useless"]]
    )  # fmt: skip
    expected = ConfidenceTreeClassifier().fit(FRAME, Y)
    for chosen in ([True, False, True, False], [2, 0], np.array([0, 2])):
        tree = ConfidenceTreeClassifier(categorical_features=chosen).fit(array, Y)
        assert tree.categories_[0] == [0.0, 10.0, 20.0, 30.0, 40.0, None]
        assert_array_equal(tree.predict_proba(array), expected.predict_proba(FRAME))
    objects = FRAME.to_numpy(dtype=object)
    tree = ConfidenceTreeClassifier(categorical_features=[0, 2]).fit(objects, Y)
    assert_array_equal(tree.predict_proba(objects), expected.predict_proba(FRAME))


def test_numbers_alone_need_no_dictionary():
    X, y = load_iris(return_X_y=True)
    for chosen in ("from_dtype", None, [], [False] * 4):
        tree = ConfidenceTreeClassifier(categorical_features=chosen).fit(X, y)
        assert tree.categories_ is None
        assert tree.is_categorical_ is None
        assert tree._features is None


def test_order_of_rows_changes_no_code():
    shuffled = np.random.default_rng(1).permutation(len(FRAME))
    tree = ConfidenceTreeClassifier().fit(FRAME, Y)
    other = ConfidenceTreeClassifier().fit(FRAME.iloc[shuffled], Y[shuffled])
    assert other.categories_ == tree.categories_
    assert_array_equal(other.tree_.counts, tree.tree_.counts)


def test_weights_are_frequencies():
    weight = np.random.default_rng(2).integers(0, 4, len(FRAME))
    repeated = FRAME.loc[np.repeat(FRAME.index, weight)]
    weighted = ConfidenceTreeClassifier(bound=None).fit(FRAME, Y, sample_weight=weight)
    rows = ConfidenceTreeClassifier(bound=None).fit(repeated, np.repeat(Y, weight))
    assert_array_equal(weighted.predict_proba(FRAME), rows.predict_proba(FRAME))


# -- prediction -------------------------------------------------------------------


def test_unknown_category_stays_at_its_node(tree):
    """The node's own proportions are the prediction (section B3)."""
    strange = FRAME.assign(color="mauve", shape=99)
    reached = tree.apply(strange)
    first = tree.tree_.feature[0]
    if tree.is_categorical_[first]:
        assert (reached == 0).all()
    stays = tree.tree_.n_children[reached] > 0
    assert stays.any()
    assert tree.tree_.is_nominal[reached[stays]].all()
    assert_array_equal(tree.predict_proba(strange), tree.tree_.value[reached])
    path = tree.decision_path(strange)
    assert path[0].indices[-1] == reached[0]


def test_missing_category_is_a_category():
    color = FRAME[["color"]]
    y = color["color"].isna().to_numpy().astype(int)
    tree = ConfidenceTreeClassifier(bound=None).fit(color, y)
    assert tree.get_n_leaves() == 2
    assert_array_equal(tree.predict(color), y)
    known = FRAME["color"].notna()
    tree = ConfidenceTreeClassifier(bound=None)
    tree.fit(color[known], FRAME["color"][known] == "red")
    assert tree.get_n_leaves() == 2
    assert (tree.apply(color[~known]) == 0).all()  # never seen: stays at the root


def test_missing_number_goes_to_the_learnt_side():
    x = np.r_[np.full(20, np.nan), np.arange(40.0)]
    for side in (0, 1):
        y = np.r_[np.full(20, side), np.arange(40) >= 25].astype(int)
        tree = ConfidenceTreeClassifier(bound=None).fit(x[:, np.newaxis], y)
        assert tree.get_n_leaves() == 2
        assert tree.tree_.missing_go_to_left[0] == (side == 0)
        assert tree.tree_.missing_seen[0]
        assert_array_equal(tree.predict(x[:, np.newaxis]), y)
    y = np.isnan(x).astype(int)
    tree = ConfidenceTreeClassifier(bound=None).fit(x[:, np.newaxis], y)
    assert tree.tree_.threshold[0] == np.inf
    assert_array_equal(tree.predict(x[:, np.newaxis]), y)


def test_missing_number_unheard_of_goes_to_the_larger_child():
    X, y = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier(bound=None, max_depth=1).fit(X, y)
    assert not tree.tree_.missing_seen.any()
    assert tree.apply(np.full((1, 4), np.nan)) == [2]  # 100 rows against 50
    # a few holes change no row without any
    some = np.vstack([X, np.full((1, 4), np.nan)])
    assert_array_equal(tree.apply(some)[:-1], tree.apply(X))


@given(seed=st.integers(0, 2**16), holes=st.sampled_from([0.05, 0.5]))
@settings(max_examples=20)
def test_holes_as_in_scikit_learn(seed, holes):
    """One feature: no ties between features, and the same candidates."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 60)
    X = (rng.normal(size=60) + y)[:, np.newaxis].astype(np.float32)
    X[rng.random(60) < holes] = np.nan
    ours = ConfidenceTreeClassifier(bound=None, max_depth=1).fit(X, y).tree_
    theirs = DecisionTreeClassifier(max_depth=1).fit(X, y).tree_
    below = theirs.impurity[1:] @ theirs.weighted_n_node_samples[1:]
    assert ours.impurity[1:] @ ours.weighted_n_node_samples[1:] <= below + 1e-9


def test_infinity_is_an_error(tree):
    for X in (FRAME.assign(size=np.inf), FRAME.assign(size=1e300)):
        with pytest.raises(ValueError, match="infinity or a value too large"):
            ConfidenceTreeClassifier().fit(X, Y)
        with pytest.raises(ValueError, match="infinity or a value too large"):
            tree.predict(X)


# -- what is said about the tree --------------------------------------------------


@TO_SKLEARN
def test_copy_made_of_scikit_learn_is_exact(tree):
    copy = tree.to_sklearn()
    assert isinstance(copy, Pipeline)
    assert isinstance(copy[-1], DecisionTreeClassifier)
    other, _ = make_frame(seed=1, holes=0.3)
    strange = other.assign(color="mauve", shape=other["shape"].astype(int) + 6)
    for X in (FRAME, other, strange):
        assert_array_equal(copy.predict_proba(X), tree.predict_proba(X))
    assert_array_equal(copy.predict(FRAME), tree.predict(FRAME))
    copy = pickle.loads(pickle.dumps(copy))
    assert_array_equal(copy.predict_proba(FRAME), tree.predict_proba(FRAME))


@TO_SKLEARN
def test_copy_of_a_tree_with_holes():
    X, y = load_iris(return_X_y=True)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    tree = ConfidenceTreeClassifier(bound=None).fit(X, y)
    copy = tree.to_sklearn()
    assert isinstance(copy, DecisionTreeClassifier)
    X[:, 0] = np.nan
    assert_array_equal(copy.predict_proba(X), tree.predict_proba(X))


@TO_SKLEARN
def test_copy_without_column_names():
    X = FRAME.to_numpy(dtype=object)
    tree = ConfidenceTreeClassifier(categorical_features=[0, 2]).fit(X, Y)
    assert_array_equal(tree.to_sklearn().predict_proba(X), tree.predict_proba(X))


def test_categories_are_named():
    y = FRAME["color"].isin(["red", "grey"]) * 1 + (FRAME["size"] > 0)
    tree = ConfidenceTreeClassifier(bound=None, max_depth=2).fit(FRAME, y)
    text = export_text(tree)
    assert "color in {blue, green, pink, missing}" in text
    assert "color in {grey, red}" in text
    assert "size <= " in text
    assert "or missing" in text
    y = FRAME["size"].isna() * 1
    assert "size is missing" in export_text(
        ConfidenceTreeClassifier(bound=None).fit(FRAME, y)
    )
    shape = FRAME["shape"].astype(int) * 1
    text = export_text(
        ConfidenceTreeClassifier(
            bound=None, nominal_splits="multiway", max_depth=1
        ).fit(FRAME, shape)
    )
    assert "shape = 7" in text
    tree = ConfidenceTreeClassifier(bound=None, max_depth=1).fit(FRAME, shape > 8)
    assert "{0, 1, 2, 3, 4, 5, 6, 7, and 1 more}" in export_text(tree)


def test_explain_names_categories(tree):
    strange = FRAME.assign(color="mauve")
    steps = [step for row in tree.explain(FRAME) for step in row]
    kinds = {step["goes"] for step in steps}
    assert kinds <= {"left", "right", "branch"}
    nominal = [step for step in steps if step["categories"] is not None]
    assert nominal
    for step in nominal:
        assert step["value"] in step["categories"]
        assert np.isnan(step["threshold"])
    last = [row[-1] for row in tree.explain(strange) if row]
    stays = [step for step in last if step["goes"] == "stays"]
    reached = tree.apply(strange)
    assert len(stays) == (tree.tree_.n_children[reached] > 0).sum()
    assert all(step["value"] is None for step in stays if step["name"] == "color")


def test_picture(tree):
    display = ConfidenceTreeDisplay.from_estimator(tree)
    written = " ".join(text.get_text() for text in display.ax_.texts)
    assert "color" in written or "shape" in written
    assert "nan" not in written


# -- the arrays -------------------------------------------------------------------


def test_arrays_agree(tree):
    arrays = tree.tree_
    for node in range(arrays.node_count):
        children = arrays.children(node)
        assert len(children) == arrays.n_children[node]
        assert (arrays.parent[children] == node).all()
        if len(children):
            sums = arrays.counts[children].sum(axis=0)
            if "c45" != tree.pruning:
                np.testing.assert_allclose(sums, arrays.counts[node])
        if len(children) == 2:
            assert arrays.children_left[node] == children[0]
            assert arrays.children_right[node] == children[1]
        else:
            expected = -2 if len(children) else -1
            assert arrays.children_left[node] == expected
            assert arrays.children_right[node] == expected
    with pytest.raises(IndexError):
        arrays.children(arrays.node_count)
    importance = tree.feature_importances_
    assert importance.sum() == pytest.approx(1.0)
    assert (importance >= -1e-12).all()


@pytest.mark.parametrize("pruning", PRUNINGS)
@pytest.mark.parametrize("nominal_splits", ["binary", "multiway"])
def test_prunings(pruning, nominal_splits):
    """Smaller trees whose counts are those of the rows that arrive."""
    strength = {"cost_complexity": 0.01}.get(pruning)
    plain = {"bound": None, "nominal_splits": nominal_splits}
    full = ConfidenceTreeClassifier(**plain).fit(FRAME, Y)
    tree = ConfidenceTreeClassifier(
        **plain, pruning=pruning, pruning_confidence=strength
    ).fit(FRAME, Y)
    assert 1 < tree.get_n_leaves() < full.get_n_leaves()
    arrived = np.zeros_like(tree.tree_.counts)
    np.add.at(arrived, (tree.apply(FRAME), Y), 1)
    leaf = tree.tree_.n_children == 0
    assert_array_equal(arrived[leaf], tree.tree_.counts[leaf])
    pickle.loads(pickle.dumps(tree))  # its state is valid


def test_pickle(tree):
    again = pickle.loads(pickle.dumps(tree))
    assert pickle.dumps(again) == pickle.dumps(tree)
    strange = FRAME.assign(color="mauve", size=np.nan)
    for X in (FRAME, strange):
        assert_array_equal(again.predict_proba(X), tree.predict_proba(X))


@pytest.mark.parametrize(
    ("array", "field", "value"),
    [
        ("branching", "first", 10**6),
        ("branching", "first", -1),
        ("branching", "first", -3),
        ("branching", "n_codes", 10**4),
        ("branching", "missing_left", 2),
        ("parent", None, 0),
        ("ordinals", None, 2),
        ("nodes", "threshold", 0.5),
        ("nodes", "feature", -2),
        ("nodes", "feature", 1),
        ("nodes", "left", 0),
        ("nodes", "left", 2),
    ],
)
def test_hostile_state(array, field, value):
    tree = ConfidenceTreeClassifier(bound=None).fit(FRAME[["color"]], Y).tree_
    make, args, state = tree.__reduce__()
    place = 1 + ARRAYS.index(array)
    if field is None:
        kind = {"ordinals": np.int16, "parent": np.int32}[array]
        data = np.frombuffer(state[place], kind).copy()
        data[0] = value
    else:
        kind = {"branching": BRANCHING_DTYPE, "nodes": NODE_DTYPE}[array]
        data = np.frombuffer(state[place], kind).copy()
        data[field][0] = value
    hostile = (*state[:place], data.tobytes(), *state[place + 1 :])
    with pytest.raises(ValueError, match="damaged"):
        make(*args).__setstate__(hostile)


# -- mistakes ---------------------------------------------------------------------

OBJECTS = FRAME.astype({"color": object})
MISTAKES = {
    "mask too short": (FRAME, {"categorical_features": [True]}, "4 in all, got 1"),
    "two-dimensional": (FRAME, {"categorical_features": [[0]]}, "one-dimensional"),
    "no such index": (FRAME, {"categorical_features": [4]}, r"indices in \[0, 3\]"),
    "negative index": (FRAME, {"categorical_features": [-1]}, r"indices in \[0, 3\]"),
    "no such name": (FRAME, {"categorical_features": ["hue"]}, "names 'hue'"),
    "names without a frame": (
        FRAME.to_numpy(),
        {"categorical_features": ["color"]},
        "frame whose columns have names",
    ),
    "fractions": (FRAME, {"categorical_features": [0.5]}, "bools, integers or strings"),
    "no such word": (FRAME, {"categorical_features": "dtype"}, "from_dtype"),
    "no such splits": (FRAME, {"nominal_splits": "ternary"}, "nominal_splits"),
    "column of objects": (OBJECTS, {}, "Column 'color' is not numeric"),
    "objects alone": (OBJECTS[["color"]], {}, "Column 'color' is not numeric"),
    "complex": (FRAME.assign(size=1j), {}, "Column 'size' is not numeric .*complex"),
    "array of strings": (OBJECTS[["color"]].to_numpy(), {}, "convert string"),
    "names as numbers": (FRAME, {"categorical_features": None}, "is not numeric"),
    "mixed types": (
        OBJECTS.assign(color=[1, "red"] * 200),
        {"categorical_features": ["color"]},
        "Column 'color' mixes numbers and text",
    ),
    "truth and numbers": (
        OBJECTS.assign(color=[1, True] * 200),
        {"categorical_features": ["color"]},
        "Column 'color' mixes numbers and truth values",
    ),
    "lists": (
        OBJECTS.assign(color=[[1]] * 400),
        {"categorical_features": ["color"]},
        "holds values that are no categories",
    ),
    "dates": (
        FRAME.assign(size=pd.Timestamp("2020-01-01")),
        {},
        "Column 'size' is not numeric",
    ),
    "no rows": (FRAME[:0], {}, "0 sample"),
    "lengths": (FRAME[:-1], {}, "inconsistent numbers of samples"),
}


def test_a_frame_not_yet_collected():
    with pytest.raises(TypeError, match=r"pass X\.collect\(\)"):
        ConfidenceTreeClassifier().fit(
            polars.DataFrame({"a": [0.0, 1.0]}).lazy(), Y[:2]
        )


def test_a_batch_of_arrow():
    batch = pyarrow.RecordBatch.from_pydict({"a": ["red", "blue"]})
    with pytest.raises(TypeError, match="from_batches"):
        ConfidenceTreeClassifier().fit(batch, Y[:2])


def test_arrow_dictionaries_with_unsigned_codes():
    # polars hands out such columns
    words = FRAME["color"].tolist()
    codes, values = pd.factorize(pd.Series(words))
    column = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array(codes, pyarrow.uint32(), mask=codes < 0), values.tolist()
    )
    rows = pyarrow.table({"color": column})
    tree = ConfidenceTreeClassifier().fit(rows, Y)
    expected = ConfidenceTreeClassifier().fit(FRAME[["color"]], Y)
    assert_array_equal(
        tree.predict_proba(rows), expected.predict_proba(FRAME[["color"]])
    )


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_in_fit(name):
    X, parameters, message = MISTAKES[name]
    tree = ConfidenceTreeClassifier().fit(FRAME, Y)
    before = {k: pickle.dumps(v) for k, v in vars(tree).items()}
    tree.set_params(**parameters)
    before |= {k: pickle.dumps(v) for k, v in tree.get_params().items()}
    with pytest.raises(ValueError, match=message):
        tree.fit(X, Y[: len(X)] if name == "no rows" else Y)
    assert {k: pickle.dumps(v) for k, v in vars(tree).items()} == before


def test_more_categories_than_the_limit():
    X = pd.DataFrame({"a": [f"c{i}" for i in range(MAX_CATEGORIES + 1)] * 2})
    y = np.arange(len(X)) % (MAX_CATEGORIES + 1) % 2
    with pytest.raises(ValueError, match=f"'a' has {MAX_CATEGORIES + 1} categories"):
        ConfidenceTreeClassifier().fit(X, y)
    fewer = X["a"] != f"c{MAX_CATEGORIES}"
    for parameters in ({}, {"bound": None}, {"nominal_splits": "multiway"}):
        tree = ConfidenceTreeClassifier(**parameters).fit(X[fewer], y[fewer])
        assert tree.predict(X).shape == y.shape
    assert_array_equal(
        ConfidenceTreeClassifier(bound=None).fit(X[fewer], y[fewer]).predict(X[fewer]),
        y[fewer],
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.rename(columns={"size": "width"}), "(?s)feature names.*width"),
        (lambda X: X[X.columns[::-1]], "(?s)feature names.*order"),
        (lambda X: X.drop(columns="size"), "(?s)feature names.*size"),
        (lambda X: X.assign(color=1.0), "'color' held text .* holds numbers now"),
        (lambda X: X.assign(size="big"), "Column 'size' is not numeric"),
        (lambda X: X[:0], "0 sample"),
    ],
)
def test_mistakes_in_prediction(change, message):
    tree = ConfidenceTreeClassifier().fit(FRAME, Y)
    for method in (tree.predict, tree.apply, tree.explain):
        with pytest.raises(ValueError, match=message):
            method(change(FRAME))


def test_not_fitted():
    with pytest.raises(NotFittedError):
        ConfidenceTreeClassifier().categories_  # noqa: B018


def test_pool_has_the_same_columns():
    pool, _ = make_frame(seed=5)
    pool = pool.assign(color=pool["color"].replace("pink", "mauve"))
    tree = ConfidenceTreeClassifier(bound="credible").fit(FRAME, Y, X_pool=pool)
    assert tree.categories_[0] == [*sorted(COLORS), None]
    with pytest.raises(ValueError, match="feature names"):
        ConfidenceTreeClassifier(bound="credible").fit(
            FRAME, Y, X_pool=pool.rename(columns={"size": "width"})
        )


def test_tags():
    tags = ConfidenceTreeClassifier().__sklearn_tags__().input_tags
    assert tags.allow_nan
    assert tags.categorical
