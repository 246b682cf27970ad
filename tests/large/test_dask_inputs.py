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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The inplace keyword", "ignore:.*a port:UserWarning")
def test_snippets_of_the_guide(tmp_path, monkeypatch):
    """In the order of the page, with a cluster of threads and small local tables."""
    dd, da = pytest.importorskip("dask.dataframe"), pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    blocks = re.findall(
        r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", PAGE.read_text("utf-8")
    )
    assert len(blocks) == 4
    monkeypatch.chdir(tmp_path)
    rows = X.assign(id=np.arange(600)[::-1], label=Y)
    dd.from_pandas(rows, npartitions=3).to_parquet("rows")
    da.to_npy_stack("X", da.from_array(X.to_numpy(), chunks=(200, 2)))
    da.to_npy_stack("y", da.from_array(Y.to_numpy(), chunks=200))
    replaced = {
        '"scheduler:8786"': "cluster",
        '["one", "two", "three"]': '["a", "b"]',
        "s3://bucket/": "",
        "(500": "(4",
    }
    names = {}
    with distributed.LocalCluster(
        n_workers=1, processes=False, dashboard_address=None
    ) as names["cluster"]:
        for block in blocks:
            text = re.sub("^   ", "", block, flags=re.MULTILINE)
            for old, new in replaced.items():
                text = text.replace(old, new)
            if "joblib" in text:
                names |= {"X": X, "y": Y}
            exec(text, names)
            if "features" in text:
                expected = names["tree"].predict(X)
        assert (names["labels"].compute() == expected).all()
        assert names["proba"].compute().shape == (600, 2)
        assert names["search"].best_score_ > 0.9
        names["client"].close()
    written = pd.read_parquet("predictions").sort_values("id")
    assert written["id"].tolist() == list(range(600))
    assert written["predicted"].tolist() == expected[::-1].tolist()
    assert set(names["limits"]) == {"MMAP_THRESHOLD_", "TRIM_THRESHOLD_", "ARENA_MAX"}
