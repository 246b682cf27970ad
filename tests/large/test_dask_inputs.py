"""Dask tables are not computed silently; the guide's way to predict them works."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

pytest.importorskip("dask")

PAGE = Path(__file__).parents[2] / "doc" / "guide" / "large.rst"
X = pd.DataFrame(np.random.default_rng(0).normal(size=(600, 2)), columns=["a", "b"])
Y = (X["a"] > 0).astype(int)


@pytest.mark.parametrize("kind", ["DataFrame", "Array"])
@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize("columns", [None, "from_dtype", [0]])
def test_no_table_is_computed_silently(kind, names, columns):
    dd, da = pytest.importorskip("dask.dataframe"), pytest.importorskip("dask.array")
    x = X.round(1)
    lazy = dd.from_pandas(x, npartitions=3)
    if kind == "Array":
        lazy = da.from_array(x.to_numpy(), chunks=(200, 2))
    mapped = "X.map_partitions" if kind == "DataFrame" else "X.map_blocks"
    words = rf"X is a Dask {kind}.*large\.fit\(estimator, X, .*{mapped}\(estimator"
    for model in (
        ConfidenceTreeClassifier(categorical_features=columns),
        ConfidenceForestClassifier(2, categorical_features=columns),
    ):
        for fit in (model.fit, partial(model.partial_fit, classes=[0, 1])):
            with pytest.raises(TypeError, match=words):
                fit(lazy, Y)
        model.fit(x if names else x.to_numpy(), Y)
        for predict in (model.predict, model.predict_proba, model.apply):
            with pytest.raises(TypeError, match=words):
                predict(lazy)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask
def test_predictions_with_ids_as_the_guide_writes_them(tmp_path, monkeypatch):
    dd = pytest.importorskip("dask.dataframe")
    block = next(
        text
        for text in re.findall(
            r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", PAGE.read_text("utf-8")
        )
        if "f.assign(" in text
    )
    monkeypatch.chdir(tmp_path)
    rows = X.assign(id=np.arange(600)[::-1], label=Y)
    dd.from_pandas(rows, npartitions=3).to_parquet("rows")
    names = {
        "dd": dd,
        "tree": ConfidenceTreeClassifier().fit(X, Y),
        "features": ["a", "b"],
    }
    exec(re.sub("^   ", "", block, flags=re.MULTILINE), names)
    written = pd.read_parquet("predictions").sort_values("id")
    assert written["id"].tolist() == list(range(600))
    expected = names["tree"].predict(X)[::-1]
    assert written["predicted"].tolist() == expected.tolist()
