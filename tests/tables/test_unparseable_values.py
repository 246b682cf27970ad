"""One text among its numbers makes a column nominal, with a category per number.

That is legal, and hardly ever meant: it is said, with the column and the way out.
"""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skconftree import ConfidenceTreeClassifier
from skconftree.tables._frames import _FRAMES

N_ROWS = 200
NUMBERS = [f"{value:.1f}" for value in np.random.default_rng(0).uniform(0, 9, N_ROWS)]
Y = np.arange(N_ROWS) % 2


def with_unparseable(*unparseable):
    return [*NUMBERS[len(unparseable) :], *unparseable]


def make_frame(library, values, kind="text"):
    other = np.arange(N_ROWS) / 7.0
    if library == "pandas":
        dtype = {"text": "str", "category": "category", "object": object}[kind]
        return pd.DataFrame({"size": pd.Series(values, dtype=dtype), "other": other})
    if library == "polars":
        size = pl.Series(values, dtype=pl.String)
        if kind == "category":
            size = size.cast(pl.Categorical)
        return pl.DataFrame({"size": size, "other": other})
    size = pa.array(values, pa.string())
    if kind == "category":
        size = size.dictionary_encode()
    return pa.table({"size": size, "other": other})


LIBRARIES = ["pandas", "polars", "pyarrow"]


def learn(X, method, **parameters):
    tree = ConfidenceTreeClassifier(**parameters)
    return tree.fit(X, Y) if method == "fit" else tree.partial_fit(X, Y, [0, 1])


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_an_unparseable_value_warns(library, method):
    X = make_frame(library, with_unparseable("unknown", "n.a.", "unknown", None))
    words = r"Column 'size' has strings.* only 3 of its 199 values .*'unknown'"
    with pytest.warns(UserWarning, match=words) as caught:
        learn(X, method)
    (warning,) = caught
    assert warning.filename == __file__
    assert "X['size']" in str(warning.message)
    if library == "pandas":
        remedy = "pandas.to_numeric(X['size'], errors=\"coerce\")"
        assert remedy in str(warning.message)
        X["size"] = pd.to_numeric(X["size"], errors="coerce")
        assert learn(X, method).is_categorical_ is None
    if library == "polars":
        X = X.with_columns(X["size"].cast(pl.Float64, strict=False))
        assert learn(X, method).is_categorical_ is None


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (with_unparseable("unknown"), "category"),
        (NUMBERS, "text"),
        (with_unparseable(None), "text"),
        (["red", "blue"] * (N_ROWS // 2), "text"),
        (["1", "none"] * (N_ROWS // 2), "text"),
        ([*["red"] * (N_ROWS - 1), "7"], "text"),
        ([None] * N_ROWS, "text"),
    ],
)
def test_what_may_be_meant_is_not(library, values, kind):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Column 'size' has strings")
        learn(make_frame(library, values, kind), "fit")


def test_a_column_that_was_named_is_meant():
    X = make_frame("pandas", with_unparseable("unknown"))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Column 'size' has strings")
        learn(X, "fit", categorical_features=["size"])
    rows = X.to_numpy(dtype=object)
    learn(rows, "fit", categorical_features=[0])


@pytest.mark.parametrize(
    ("stray", "words"),
    [
        (["unknown"], "Most of them are numbers. If others, such as 'unknown', are"),
        ([], "All of them are numbers. Convert the column"),
        ([f"kind {place}" for place in range(999)], "are supported.$"),
    ],
)
def test_too_many_categories_are_numbers_perhaps(stray, words):
    values = 2 * [*map(str, range(5000)), *stray]
    X = pd.DataFrame({"size": pd.Series(values, dtype="str")})
    with pytest.raises(ValueError, match=words):
        ConfidenceTreeClassifier().fit(X, np.arange(len(values)) % 2)


@pytest.mark.parametrize("library", sorted({*_FRAMES.values()}, key=str))
def test_every_frame_names_the_ways_out(library):
    for method in (library.is_nominal, library.is_category, library.to_numbers):
        assert callable(method)
