"""Fits by several threads end, and give the tree of one thread."""

import importlib.util
import pickle
import threading

import numpy as np
import pyarrow.parquet as pq
import pytest
from reference.effort import crossed
from reference.large_tables import make_table

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier, large
from skconftree.tree import _growth
from skconftree.tree.batch import _grow

SECONDS = 60  # a fit takes a few hundredths of one


def result_of(function, *args, **kwargs):
    """Call a function that must return; one that hangs fails and blocks no test."""
    results = []
    thread = threading.Thread(
        target=lambda: results.append(function(*args, **kwargs)), daemon=True
    )
    thread.start()
    thread.join(SECONDS)
    assert results, "the call raised an error or does not return"
    return results[0]


def fit_memory(model, table, folder):
    return model.fit(table.drop_columns("label"), np.asarray(table["label"]))


def fit_file(model, table, folder):
    pq.write_table(table, folder / "rows.parquet", row_group_size=200)
    return large.fit(model, folder / "rows.parquet", target="label")


def fit_mapped_file(model, table, folder):
    pq.write_table(table, folder / "rows.parquet", row_group_size=200)
    source = folder / "rows.parquet"
    return large.fit(model, source, target="label", temp_folder=folder)


def fit_partitions(model, table, folder):
    import dask
    import dask.dataframe as dd

    with dask.config.set(scheduler="synchronous"):
        parts = dd.from_pandas(table.to_pandas(), npartitions=3)
        return large.fit(model, parts, target="label")


ENGINES = [fit_memory, fit_file, fit_mapped_file]
if importlib.util.find_spec("dask") and importlib.util.find_spec("pandas"):
    ENGINES.append(fit_partitions)


def numbers(seed):
    """A table of numeric columns, which Dask's pandas reads as pyarrow does."""
    table = make_table(seed)
    return table.select(["normal", "whole", "heavy", "near", "label"])


@pytest.mark.parametrize(
    ("fit", "max_features", "bound"),
    crossed(
        ENGINES,
        [None, 2, 0.8],
        [None, "gtest"],
    ),
)
def test_trees_of_threads_in_every_engine(
    fit, max_features, bound, tmp_path, monkeypatch
):
    monkeypatch.setattr(_growth, "MIN_THREAD_VALUES", 1)
    monkeypatch.setattr(_grow, "MIN_SHARED_VALUES", 1)
    monkeypatch.setattr(_grow, "MIN_TASK_VALUES", 1)
    table = numbers(3)
    options = {"max_bins": 63, "max_features": max_features, "random_state": 0}
    alone = ConfidenceTreeClassifier(bound, **options)
    expected = pickle.dumps(fit_memory(alone, table, None).tree_)
    for n_jobs in (1, 3):
        model = ConfidenceTreeClassifier(bound, n_jobs=n_jobs, **options)
        fitted = result_of(fit, model, table, tmp_path)
        assert pickle.dumps(fitted.tree_) == expected


@pytest.mark.parametrize(
    ("fit", "class_weight"), crossed(ENGINES, [None, "balanced_subsample"])
)
def test_forests_of_threads_in_every_engine(fit, class_weight, tmp_path):
    table = numbers(4)
    options = {"max_bins": 63, "max_features": 2, "class_weight": class_weight}
    alone = ConfidenceForestClassifier(5, random_state=0, **options)
    expected = [
        pickle.dumps(one.tree_) for one in fit_memory(alone, table, None).estimators_
    ]
    for n_jobs in (1, 3):
        model = ConfidenceForestClassifier(5, random_state=0, n_jobs=n_jobs, **options)
        fitted = result_of(fit, model, table, tmp_path)
        assert [pickle.dumps(one.tree_) for one in fitted.estimators_] == expected
