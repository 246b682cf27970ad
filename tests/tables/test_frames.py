"""The ways in which tables come, and what users may get wrong about their columns."""

import pickle

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from numpy.testing import assert_array_equal
from reference.mixed import COLORS, FRAME, Y, make_frame
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from skconftree import (
    ConfidenceTreeClassifier,
    NCMTreeClassifier,
    OASISClassifier,
)
from skconftree.tables._features import MAX_CATEGORIES


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
        assert tree._model.schema.features is None


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


# -- mistakes ---------------------------------------------------------------------

OBJECTS = FRAME.astype({"color": object})
MISTAKES = {
    "mask too short": (FRAME, {"categorical_features": [True]}, "4 in all, got 1"),
    "two-dimensional": (FRAME, {"categorical_features": [[0]]}, "one-dimensional"),
    "no such index": (FRAME, {"categorical_features": [4]}, r"indices in \[0, 3\]"),
    "negative index": (FRAME, {"categorical_features": [-1]}, r"indices in \[0, 3\]"),
    "no such name": (
        FRAME,
        {"categorical_features": ["hue"]},
        "categorical_features has 'hue'",
    ),
    "names without a frame": (
        FRAME.to_numpy(),
        {"categorical_features": ["color"]},
        "frame with column names",
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
        "has values that cannot be categories",
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


def test_infinity_is_an_error():
    tree = ConfidenceTreeClassifier().fit(FRAME, Y)
    for X in (FRAME.assign(size=np.inf), FRAME.assign(size=1e300)):
        with pytest.raises(ValueError, match="infinity or a value too large"):
            ConfidenceTreeClassifier().fit(X, Y)
        with pytest.raises(ValueError, match="infinity or a value too large"):
            tree.predict(X)


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
        (lambda X: X.assign(color=1.0), "'color' had text .* has numbers now"),
        (lambda X: X.assign(size="big"), "Column 'size' is not numeric"),
        (lambda X: X.assign(size=1j), "Column 'size' is not numeric"),
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


def test_infinity_is_said_to_be_in_a_column():
    """Where a hundred columns are there, a user has to find it."""
    table = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "fee": [1.0, np.inf, 2.0, 3.0]})
    y = [0, 1, 0, 1]
    said = (
        r"Input X contains infinity or a value too large for dtype\('float(32|64)'\)\. "
        r"Column 'fee' holds such a value\."
    )
    for model in (ConfidenceTreeClassifier(), NCMTreeClassifier(), OASISClassifier()):
        with pytest.raises(ValueError, match=said):
            model.fit(table, y)
    tree = ConfidenceTreeClassifier().fit(table.assign(fee=0.0), y)
    for method in (tree.predict, lambda X: tree.partial_fit(X, y)):
        with pytest.raises(ValueError, match=said):
            method(table)
    with pytest.raises(ValueError, match=r"Column 1 holds such a value\."):
        ConfidenceTreeClassifier().fit(table.to_numpy(), y)
    with pytest.raises(ValueError, match=said.replace("fee", "b")):
        ConfidenceTreeClassifier().fit(
            pd.DataFrame(
                {"a": pd.Series(["x", "y"] * 2, dtype="str"), "b": [-np.inf] * 4}
            ),
            y,
        )
