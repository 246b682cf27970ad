"""Fits of tables in several parts equal the fit of the full table in memory."""

import pickle
import tempfile
import warnings
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
from reference.large_tables import make_table
from sklearn.base import clone

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier, large
from skconftree.large import _fit as large_fit
from skconftree.large import _parquet
from skconftree.tree import _growth
from skconftree.tree.batch import _grow

from .failures import require

NUMBERS = ["normal", "whole", "heavy", "near"]  # which pandas reads as pyarrow does
OTHERS = ["words", "many", "flag", "none", "coded"]
HAS_DASK = find_spec("dask") is not None and find_spec("pandas") is not None


def fit_in_parts(sequence):
    """A fit returns, and gives the bytes of the estimator's own fit."""
    draw = sequence.draw
    engine = draw.weighted({"file": 3, "files": 2, "mapped": 1, "dask": 0.4 * HAS_DASK})
    others = [] if engine == "dask" else draw.some(OTHERS, 0.5)
    names = [draw.one(NUMBERS), *others]
    names += [name for name in draw.some(NUMBERS, 0.6) if name not in names]
    table = make_table(draw.whole(0, 10**6), draw.one([300, 500, 900]))
    table = table.select([*names, "label"])
    model = _draw_model(draw)
    whole, alone = clone(model), clone(model).set_params(n_jobs=None)
    with ExitStack() as stack:
        for module, name, values in (
            (_growth, "MIN_THREAD_VALUES", [1, 1000]),
            (_growth, "MIN_THREAD_VALUES_LOOKAHEAD", [1, 1000]),
            (_grow, "MIN_SHARED_VALUES", [1, 500]),
            (_grow, "MIN_TASK_VALUES", [1, 100]),
            (large_fit, "CELLS_AT_ONCE", [1, 3, 128]),
            (_parquet, "BATCH", [37, 1000]),
        ):
            stack.enter_context(mock.patch.object(module, name, draw.one(values)))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sequence.call(f"large.fit, {engine}", _fit, draw, engine, model, table, folder)
        X, y = table.drop_columns("label"), np.asarray(table["label"])
        sequence.call("fit, as a whole", whole.fit, X, y)
    sequence.call("fit, by one thread", alone.fit, X, y)
    sequence.traits.add(f"large: {engine}, n_jobs={model.n_jobs}")
    require(
        pickle.dumps(model) == pickle.dumps(whole),
        "a fit in parts is not that of the whole table",
    )
    require(
        pickle.dumps(model.set_params(n_jobs=None)) == pickle.dumps(alone),
        "threads changed a fit in parts",
    )


def _draw_model(draw):
    parameters = {
        "max_bins": draw.one([2, 7, 63, 255]),
        "max_features": draw.one([None, 1, 2, "sqrt", 0.6, 0.9]),
        "n_jobs": draw.one([None, 1, 2, 3]),
        "class_weight": draw.one([None, None, "balanced", {"b": 0.0, "c": 2.5}]),
        "nominal_splits": draw.one(["auto", "binary", "multiway"]),
        "random_state": draw.whole(0, 100),
        "bound": draw.one([None, "gtest", "chi2", "evalue", "credible", "ctree"]),
        "max_leaf_nodes": draw.one([None, None, None, 5]),
    }
    if draw.chance(0.6):
        return ConfidenceTreeClassifier(**parameters)
    if draw.chance(0.3):
        parameters["class_weight"] = "balanced_subsample"
    if draw.chance(0.3):
        return ConfidenceForestClassifier(3, bootstrap=False, **parameters)
    return ConfidenceForestClassifier(
        3,
        count_repeats=draw.chance(0.5),
        max_samples=draw.one([None, 0.4]),
        **parameters,
    )


def _fit(draw, engine, model, table, folder):
    if engine == "dask":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import dask
            import dask.dataframe as dd

            with dask.config.set(scheduler="synchronous"):
                parts = dd.from_pandas(table.to_pandas(), npartitions=draw.whole(1, 4))
                return large.fit(model, parts, target="label")
    n_files = draw.whole(2, 4) if engine == "files" else 1
    edges = np.sort([0, *(draw.whole(0, len(table)) for _ in range(n_files - 1))])
    for place, (start, stop) in enumerate(
        zip(edges, [*edges[1:], len(table)], strict=True)
    ):
        path = folder / f"{place}.parquet"
        part = table.slice(int(start), int(stop - start))
        pq.write_table(part, path, row_group_size=draw.one([23, 100, 1000]))
    temp_folder = folder if engine == "mapped" else None
    return large.fit(model, folder, target="label", temp_folder=temp_folder)
