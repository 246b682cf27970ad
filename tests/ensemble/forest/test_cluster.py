"""Forests on other processes: a Dask cluster, workers that die."""

import os
import pickle

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, cross_val_score

from skconftree import ConfidenceForestClassifier
from skconftree.bounds import GTestBound

pytestmark = pytest.mark.slow  # other processes import everything again


def forest_of(**parameters):
    return ConfidenceForestClassifier(6, **{"random_state": 0, **parameters})


@pytest.fixture(scope="module")
def table():
    X, y = load_breast_cancer(return_X_y=True)
    return X.astype(np.float32), y


@pytest.fixture(scope="module")
def cluster():
    """Two workers with a process each."""
    distributed = pytest.importorskip(
        "distributed", reason="needs Dask, the extra named dask"
    )
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as made,
        distributed.Client(made) as client,
    ):
        client.wait_for_workers(2)
        yield client


def test_dask_workers_grow_the_same_trees(cluster, table):
    X, y = table
    for parameters in ({}, {"bound": ["chi2", None], "oob_score": False}):
        with joblib.parallel_config("dask"):
            forest = forest_of(**parameters).fit(X, y)
        done = cluster.run(lambda dask_worker: len(dask_worker.state.log))
        assert all(done.values()), "a worker had nothing to do"
        assert pickle.dumps(forest) == pickle.dumps(forest_of(**parameters).fit(X, y))


def test_a_forest_of_dask_predicts_and_learns_on(cluster, table):
    X, y = table
    rows = np.tile(X, (40, 1))
    here, there = forest_of().fit(X, y), forest_of().fit(X, y)
    expected = here.predict_proba(rows)
    here.partial_fit(X, y)
    with joblib.parallel_config("dask"):
        assert (there.predict_proba(rows) == expected).all()
        there.partial_fit(X, y)
    assert pickle.dumps(there) == pickle.dumps(here)


def test_cross_validation_and_searches_on_dask(cluster, table):
    X, y = table
    grid = {"bound": ["gtest", None], "max_features": ["sqrt", 0.5]}
    search = GridSearchCV(forest_of(), grid, cv=2)
    with joblib.parallel_config("dask"):
        scores = cross_val_score(forest_of(), X, y, cv=3)
        found = search.fit(X, y).cv_results_["mean_test_score"]
    assert (scores == cross_val_score(forest_of(), X, y, cv=3)).all()
    assert (found == search.fit(X, y).cv_results_["mean_test_score"]).all()


class Deadly(GTestBound):
    """Ends the process in which it is unpickled."""

    def __reduce__(self):
        return os._exit, (1,)


def test_a_worker_that_dies_leaves_the_forest_as_it_was(table):
    X, y = table
    forest = forest_of().fit(X, y)
    before = pickle.dumps(forest)
    forest.set_params(bound=Deadly(), n_jobs=2)
    with (
        joblib.parallel_config("loky"),
        pytest.raises(RuntimeError, match="terminated"),
    ):
        forest.fit(X[:, :5], y[::-1])
    forest.set_params(bound="gtest", n_jobs=None)
    assert pickle.dumps(forest) == before
