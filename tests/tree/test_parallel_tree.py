"""Threads that share one tree grow the tree that one thread grows, to the last bit.

Here one value is worth their while, so that small tables go the ways of large ones:
columns that are shared, subtrees that are set aside, trials of look-ahead.
"""

import pickle
import sys
import textwrap
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import Parallel, delayed, parallel_config
from reference.effort import cases, crossed, examples
from reference.programs import run_program
from reference.registries import BOUNDS
from reference.threads import no_thread_is_left
from scipy.sparse import csr_array
from skconftree.tables._encoded_table import EncodedTable, RowCodes
from skconftree.utils._team import ThreadTeam, number_of_threads
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.criteria._criterion import CRITERIA
from skconftree.tree import _growth
from skconftree.tree import _growth as tree_growth
from skconftree.tree.batch import _grow

JOBS = [2, 3, 8]


@pytest.fixture(scope="module", autouse=True)
def everything_is_worth_it():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MIN_THREAD_VALUES", "MIN_THREAD_VALUES_LOOKAHEAD"):
            patch.setattr(tree_growth, name, 1)
        for name in ("MIN_SHARED_VALUES", "MIN_TASK_VALUES"):
            patch.setattr(_grow, name, 1)
        yield


def table(seed, n=300, n_classes=3, nominal=False, missing=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 1] = np.round(X[:, 1], 1)
    X[:, 2] = np.where(rng.random(n) < 0.6, 0.0, X[:, 2])
    score = X[:, 0] + X[:, 1] * X[:, 2]
    if nominal:
        X[:, 3] = rng.integers(0, 6, n)
        X[:, 4] = rng.integers(0, 12, n)
        score += X[:, 3] % 2
    if missing:
        X[rng.random(n) < 0.2, 0] = np.nan
        X[rng.random(n) < 0.2, 1] = np.nan
    y = np.digitize(np.nan_to_num(score), np.arange(n_classes - 1) - 0.5)
    y = np.where(rng.random(n) < 0.2, rng.integers(0, n_classes, n), y)
    return X, y


def state(tree):
    return pickle.dumps((tree.tree_, tree._model.resolved))


def assert_same_for_all(tree, X, y, weight=None, jobs=JOBS):
    expected = clone(tree).fit(X, y, weight)
    for n_jobs in jobs:
        shared = clone(tree).set_params(n_jobs=n_jobs).fit(X, y, weight)
        assert state(shared) == state(expected), n_jobs
    return expected


def settings_of(draw):
    bound = draw(st.sampled_from([None, *sorted(set(BOUNDS) - {None})]))
    return {
        "bound": bound,
        "max_bins": draw(st.sampled_from([None, None, 16])),
        "class_weight": draw(st.sampled_from([None, None, "balanced"])),
        "min_samples_leaf": draw(st.sampled_from([1, 5])),
        "max_depth": draw(st.sampled_from([None, None, 4])),
        "max_leaf_nodes": draw(st.sampled_from([None, None, None, 12])),
        "max_features": draw(st.sampled_from([None, None, None, 2])),
        "splitter": draw(st.sampled_from(["best", "best", "best", "random"])),
        "nominal_splits": draw(st.sampled_from(["auto", "binary", "multiway"])),
        "random_state": 0,
    }


@pytest.mark.filterwarnings("ignore:max_bins")
@settings(max_examples=examples(200, by_day=10))
@given(st.data())
def test_the_tree_is_the_same_for_every_number_of_threads(data):
    parameters = settings_of(data.draw)
    nominal, missing, weighted = (data.draw(st.booleans()) for _ in range(3))
    seed = data.draw(st.integers(0, 10**6))
    n_classes = data.draw(st.sampled_from([2, 3, 5]))
    X, y = table(seed, 240, n_classes, nominal, missing)
    weight = None
    if weighted:
        weight = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float)
        weight *= data.draw(st.sampled_from([1.0, 0.7]))
    tree = ConfidenceTreeClassifier(**parameters)
    if nominal:
        tree.set_params(categorical_features=[3, 4])
    assert_same_for_all(tree, X, y, weight)


@pytest.mark.parametrize("criterion", sorted(CRITERIA))
def test_every_criterion(criterion):
    X, y = table(1, 120, nominal=True)
    tree = ConfidenceTreeClassifier(
        None, criterion=criterion, categorical_features=[3], random_state=0
    )
    assert assert_same_for_all(tree, X, y, jobs=[3]).tree_.node_count > 3


@pytest.mark.parametrize(("bound", "seed"), crossed(["gtest", "chi2"], range(3)))
@pytest.mark.slow
def test_look_ahead(bound, seed):
    """Trials are shared, and what they found goes to who grows the subtree."""
    X, y = table(seed, 500, 2, nominal=seed == 1, missing=seed == 2)
    tree = ConfidenceTreeClassifier(bound, delta=2.0 if bound == "gtest" else 0.3)
    tree.set_params(lookahead=6, pruning="pessimistic")
    if seed == 1:
        tree.set_params(categorical_features=[3, 4])
    expected = assert_same_for_all(tree, X, y, jobs=[2, 3])
    assert np.isfinite(expected.tree_.trial_costs["cost"]).sum() > 2


@pytest.mark.parametrize("enough", [None, 7])
@pytest.mark.slow
def test_progress_of_look_ahead_is_the_same(monkeypatch, enough):
    """In the order of the nodes; levels that it has ended are looked at by nobody."""
    X, y = table(3, 600)
    told = []
    resolve = _growth.resolve_lookahead

    def with_teller(*given):
        lookahead, pruning = resolve(*given)

        def tell(level, done):
            told[-1].append((level, done, threading.current_thread()))
            return len(told[-1]) == enough

        return lookahead._replace(on_progress=tell, n_parts=20), pruning

    monkeypatch.setattr(_growth, "resolve_lookahead", with_teller)
    trees = []
    for n_jobs in (None, 2, 3):
        told.append([])
        trees.append(ConfidenceTreeClassifier(lookahead=4, n_jobs=n_jobs).fit(X, y))
    assert len({state(tree) for tree in trees}) == 1
    assert told[0] == told[1] == told[2]
    assert len(told[0]) == enough if enough else len(told[0]) > 7


def test_codes_of_two_bytes():
    X, y = table(17, 2000, nominal=True)
    X[:, 4] = np.arange(2000) % 400
    for splits in ("binary", "multiway"):
        tree = ConfidenceTreeClassifier(None, max_depth=5, nominal_splits=splits)
        assert_same_for_all(
            tree.set_params(categorical_features=[3, 4]), X, y, jobs=[3]
        )


@pytest.mark.parametrize("pruning", ["pessimistic", "c45", "cost_complexity", "chi2"])
def test_pruning(pruning):
    X, y = table(4, 150)
    tree = ConfidenceTreeClassifier(None, pruning=pruning)
    assert_same_for_all(tree, X, y, jobs=[3])


@pytest.mark.parametrize("bound", ["credible", "possibilistic"])
def test_unlabeled_rows(bound):
    X, y = table(5, 120)
    pool = table(6, 60)[0]
    grown = [
        ConfidenceTreeClassifier(bound, n_jobs=n_jobs).fit(X, y, X_pool=pool)
        for n_jobs in (None, 2, 3)
    ]
    assert len({state(one) for one in grown}) == 1


def test_a_chain_of_nodes_and_a_single_leaf():
    X = np.arange(400.0)[:, None] ** 2
    chain = (np.arange(400) % 2).astype(int)  # one row leaves at a time
    tree = ConfidenceTreeClassifier(None)
    assert assert_same_for_all(tree, X, chain).get_depth() > 7
    assert assert_same_for_all(tree, X, np.zeros(400, int)).tree_.node_count == 1


def test_columns_encoded_by_threads_are_those_encoded_by_one():
    X, _ = table(7, 500, nominal=True, missing=True)
    rows = np.tile(X, 5).astype(np.float32)
    kinds = np.tile(np.array([0, 0, 0, 6, 300], np.int32), 5)
    for options in ({}, {"max_bins": 20}):
        one = EncodedTable(rows, kinds, **options)
        for n_threads in (2, 3, 8):
            other = EncodedTable(
                rows, kinds, **options, thread_team=ThreadTeam(n_threads)
            )
            assert other.n_coded == one.n_coded
            for f in range(rows.shape[1]):
                codes = RowCodes(other).codes(f)
                np.testing.assert_array_equal(codes, RowCodes(one).codes(f))


# -- what `n_jobs` is --------------------------------------------------------------


def test_numbers_are_joblibs():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="n_jobs == 0"):
        ConfidenceTreeClassifier(n_jobs=0).fit(X, y)
    with pytest.raises(ValueError, match="n_jobs == 0"):
        ConfidenceTreeClassifier(n_jobs=0).fit(csr_array(X), y)
    with pytest.raises(ValueError, match=r"'n_jobs' .* must be an instance of 'int'"):
        ConfidenceTreeClassifier(n_jobs="2").fit(X, y)
    assert number_of_threads(None) == 1
    assert number_of_threads(3) == 3
    assert number_of_threads(-1) >= 1
    with parallel_config("threading", n_jobs=3):
        assert number_of_threads(None) == 3
    with parallel_config("loky", n_jobs=3):  # processes share no memory
        assert number_of_threads(None) == 1
        assert number_of_threads(2) == 2
    tree = ConfidenceTreeClassifier(n_jobs=2)
    assert clone(tree).get_params()["n_jobs"] == 2
    assert ConfidenceTreeClassifier().get_params()["n_jobs"] is None


def test_small_and_sparse_tables_start_no_thread(monkeypatch):
    X, y = table(8)
    started = []
    monkeypatch.setattr(
        tree_growth, "ThreadTeam", lambda n: started.append(n) or ThreadTeam(n)
    )
    tree = ConfidenceTreeClassifier(n_jobs=2)
    tree.fit(csr_array(X), y)
    assert not started
    tree.fit(X, y)
    assert len(started) == 1
    monkeypatch.setattr(tree_growth, "MIN_THREAD_VALUES", X.size + 1)
    monkeypatch.setattr(tree_growth, "MIN_THREAD_VALUES_LOOKAHEAD", X.size + 1)
    tree.fit(X, y)
    clone(tree).set_params(n_jobs=1).fit(X, y)
    assert len(started) == 1


def test_threads_do_share_the_work(monkeypatch):
    """Columns are encoded, scanned and divided, and subtrees grown, by several."""
    by = {}

    class WatchedTeam(ThreadTeam):
        def run(self, do, n_parts):
            ready = threading.Barrier(min(self.n_threads, n_parts))
            met = set()

            def watched(thread, part):
                if thread not in met:  # each gets a part
                    met.add(thread)
                    ready.wait(60.0)
                by.setdefault(do.__name__, set()).add(thread)
                do(thread, part)

            return super().run(watched, n_parts)

    monkeypatch.setattr(tree_growth, "ThreadTeam", WatchedTeam)
    X, y = table(9, 600)
    ConfidenceTreeClassifier(None, n_jobs=2).fit(X, y)
    assert by == {
        name: {0, 1} for name in ("encode", "_scan_part", "_divide_part", "_grow")
    }


def test_a_forest_grows_each_tree_in_one_thread(monkeypatch):
    X, y = table(10)
    monkeypatch.setattr(tree_growth, "ThreadTeam", None)
    forest = ConfidenceForestClassifier(4, n_jobs=2, random_state=0).fit(X, y)
    assert all(one.n_jobs is None for one in forest.estimators_)


@pytest.mark.parametrize("backend", cases(["threading", "loky"], ["threading"]))
def test_in_a_search_side_by_side(backend):
    X, y = table(11)
    grid = {"bound": ["gtest", None], "max_depth": [3, None]}
    scores = []
    for n_jobs, inner in ((None, None), (2, 2)):
        search = GridSearchCV(ConfidenceTreeClassifier(n_jobs=inner), grid, cv=2)
        with parallel_config(backend):
            search.set_params(n_jobs=n_jobs).fit(X, y)
        scores.append((search.cv_results_["mean_test_score"], search.best_params_))
    np.testing.assert_array_equal(scores[0][0], scores[1][0])
    assert scores[0][1] == scores[1][1]


@pytest.mark.slow
def test_one_object_and_many_in_threads():
    X, y = table(12)
    expected = state(ConfidenceTreeClassifier(None).fit(X, y))
    shared = ConfidenceTreeClassifier(None, n_jobs=2)
    trees = [clone(shared) for _ in range(6)] + [shared] * 6
    fit = delayed(lambda tree: state(tree.fit(X, y)))
    found = Parallel(4, require="sharedmem")(fit(tree) for tree in trees)
    assert set(found) == {expected}


def test_growing_on_is_the_same():
    X, y = table(13)
    one, other = (ConfidenceTreeClassifier(n_jobs=n).fit(X, y) for n in (None, 2))
    for tree in (one, other):
        tree.partial_fit(*table(14))
    assert pickle.dumps(one.tree_) == pickle.dumps(other.tree_)


# -- errors ------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["encode", "_scan_part", "_divide_part", "_grow"])
@pytest.mark.parametrize("thread", [0, 1])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_error_in_any_thread_leaves_the_tree_as_it_was(
    monkeypatch, what, thread, error
):
    X, y = table(15, 600)
    tree = ConfidenceTreeClassifier(None, n_jobs=2).fit(*table(16))
    before = state(tree)
    raised = []

    class FailingTeam(ThreadTeam):
        def run(self, do, n_parts):
            both = threading.Barrier(2)
            met = set()

            def failing(number, part):
                if do.__name__ == what and not raised and n_parts > 1:
                    if number not in met:
                        met.add(number)
                        both.wait(60.0)
                    if number == thread:
                        raised.append(number)
                        raise error("somewhere")
                do(number, part)

            return super().run(failing, n_parts)

    monkeypatch.setattr(tree_growth, "ThreadTeam", FailingTeam)
    with no_thread_is_left(), pytest.raises(error, match="somewhere"):
        tree.fit(X, y)
    assert raised == [thread]
    assert state(tree) == before
    tree.fit(X, y)
    assert state(tree) == state(ConfidenceTreeClassifier(None).fit(X, y))


posix = pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
BEGINNING = """
    import _thread, resource, signal, time
    import numpy as np
    from skconftree import ConfidenceTreeClassifier
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20)).astype(np.float32)
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    tree = ConfidenceTreeClassifier(None, n_jobs=2).fit(X[:500], y[:500])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    tree.fit(X, y)
    whole = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    tree.fit(X[:500], y[:500])
    n = tree.tree_.node_count
"""


def run(code):
    code = textwrap.dedent(BEGINNING) + textwrap.dedent(code)
    run_program(code, timeout=300.0)


@posix
def test_ctrl_c_ends_a_fit_and_its_threads():
    run(
        """
        def press(*_):
            raise KeyboardInterrupt

        signal.signal(signal.SIGVTALRM, press)
        for share in (0.05, 0.2, 0.4):
            signal.setitimer(signal.ITIMER_VIRTUAL, share * whole)
            try:
                tree.fit(X, y)
                raise AssertionError("no interrupt")
            except KeyboardInterrupt:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
            assert tree.tree_.node_count == n
            for _ in range(500):  # they end a moment later
                if _thread._count() == 0:
                    break
                time.sleep(0.01)
            assert _thread._count() == 0
        assert tree.fit(X, y).tree_.node_count > n
        """
    )
