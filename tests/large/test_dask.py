"""Fits of Dask DataFrames are those of the whole table in memory."""

import os
import pickle
import signal
from contextlib import nullcontext
from threading import Semaphore, Timer, get_ident
from time import sleep

import numpy as np
import pandas as pd
import pytest
from reference.effort import cases, crossed
from sklearn.base import clone

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier, large
from skconftree.large import _dask, _data, _encoding, _engine, _fit
from skconftree.tree import _growth

dask = pytest.importorskip("dask", reason="Dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="Dask has no data frames here")

MODELS = [
    ConfidenceTreeClassifier(max_bins=255),
    ConfidenceTreeClassifier(None, max_bins=9, class_weight={"b": 0.0}),
    ConfidenceForestClassifier(3, max_bins=40, random_state=0),
]


def make_frame(n=900):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    words = pd.Series(rng.choice(["x", "y", "z"], n), dtype="str")
    whole = rng.integers(0, 400, n)
    frame = pd.DataFrame({"one": X[:, 0], "two": X[:, 1], "words": words, "n": whole})
    frame.loc[rng.random(n) < 0.1, "two"] = np.nan
    score = X[:, 0] + (words == "x") + rng.normal(size=n) * 0.3
    frame["y"] = pd.Series(np.array(["a", "b", "c"])[np.digitize(score, [0, 1])])
    return frame.sort_values("y", ignore_index=True)  # no part has all classes


def full_fit(model, frame):
    # the strings that Dask makes of ours
    frame = dd.from_pandas(frame, npartitions=1).compute()
    return clone(model).fit(frame.drop(columns="y"), frame["y"])


@pytest.mark.parametrize(("model", "n_parts"), crossed(MODELS, [1, 3, 10]))
def test_any_number_of_partitions_gives_the_same_bytes(model, n_parts):
    frame = make_frame()
    with dask.config.set(scheduler="synchronous"):
        parts = dd.from_pandas(frame, npartitions=n_parts)
        found = large.fit(clone(model), parts, target="y")
        assert pickle.dumps(found) == pickle.dumps(full_fit(model, frame))


def test_an_empty_partition_and_rows_that_are_left_out():
    frame = make_frame()
    with dask.config.set(scheduler="synchronous"):
        parts = dd.from_pandas(frame, npartitions=4)
        parts = parts[parts["y"] != "a"]  # which empties one or two
        found = large.fit(clone(MODELS[0]), parts, target="y")
        kept = frame[frame["y"] != "a"]
        assert pickle.dumps(found) == pickle.dumps(full_fit(MODELS[0], kept))


def test_columns_are_counted_and_coded_in_groups(monkeypatch):
    monkeypatch.setattr(_fit, "CELLS_AT_ONCE", 1)  # other columns wait for a later pass
    monkeypatch.setattr(_encoding, "CACHED_ROWS", 60)
    monkeypatch.setattr(_encoding, "COLUMNS_AT_ONCE", 2)
    frame = make_frame()
    with dask.config.set(scheduler="synchronous"):
        parts = dd.from_pandas(frame, npartitions=3)
        found = large.fit(clone(MODELS[0]), parts, target="y")
    assert pickle.dumps(found) == pickle.dumps(full_fit(MODELS[0], frame))


@pytest.mark.filterwarnings("ignore:Column 'words' has only unknown categories")
@pytest.mark.parametrize(("column", "n_passes"), [("one", 4), ("one", 5), ("words", 5)])
def test_rows_that_change_between_passes_are_an_error(column, n_passes):
    frame, made = make_frame(), []
    changed = frame.assign(**{column: "w" if column == "words" else -99.0})
    model = clone(MODELS[0]).fit(frame[["one"]], frame["y"])
    before = pickle.dumps(model)

    def make(start):
        made.append(start)
        rows = frame if len(made) <= 3 * n_passes else changed  # in pass 6 at last
        return rows.iloc[start : start + 300]

    with dask.config.set(scheduler="synchronous"):
        parts = [dask.delayed(make)(start) for start in (0, 300, 600)]
        parts = dd.from_delayed(parts, meta=frame, verify_meta=False)
        with pytest.raises(RuntimeError, match="The rows changed between two passes"):
            large.fit(model, parts, target="y")
    assert pickle.dumps(model) == before


def test_categories_that_differ_between_partitions():
    frame = make_frame(60).drop(columns="words")
    kinds = [["x"] * 30, [None] * 10, [7] * 20]
    parts, start = [], 0
    for values in kinds:
        part = frame.iloc[start : start + len(values)]
        parts.append(part.assign(kind=pd.Series(values, part.index, dtype=object)))
        start += len(values)
    with dask.config.set(
        {"scheduler": "synchronous", "dataframe.convert-string": False}
    ):
        table = dd.from_delayed(
            [dask.delayed(part) for part in parts], meta=parts[0], verify_meta=False
        )
        model = clone(MODELS[0]).set_params(categorical_features=["kind"])
        with pytest.raises(ValueError, match="Column 'kind' mixes"):
            large.fit(model, table, target="y")


def test_a_task_makes_its_part_unless_others_need_it_too():
    frame, made = make_frame(), []

    def make(place):
        made.append(place)
        return frame.iloc[place : place + 300]

    with dask.config.set(scheduler="synchronous"):
        parts = [dask.delayed(make)(place) for place in (0, 300, 600)]
        parts = dd.from_delayed(parts, meta=frame, verify_meta=False)
        for n_parts in (3, 6):
            calls = _dask.DaskParts.of(parts.repartition(npartitions=n_parts))
            calls = calls._calls(len, ["one", "two"], ())
            for call in calls:  # alone: what else it needs is not sent with it
                assert (len(call.dask) == 1) == (n_parts == 3)
            made.clear()
            assert sum(dask.compute(*calls)) == len(frame)
            assert sorted(made) == [0, 300, 600]


def test_other_collections_of_dask_are_not_tables():
    bag = pytest.importorskip("dask.bag", reason="Dask has no bags here")
    for other in (dask.delayed(make_frame)(60), bag.from_sequence([1, 2])):
        with pytest.raises(TypeError, match="source must be a path"):
            large.fit(MODELS[0], other, target="y")


def test_columns_of_dask_tables_are_not_read_as_texts():
    parts = dd.from_pandas(make_frame(60), npartitions=2)
    with pytest.raises(ValueError, match="text_columns must be empty unless"):
        large.fit(MODELS[0], parts, target="y", text_columns=["n"])


def test_types_that_differ_between_partitions():
    frame = make_frame()

    def change(part, partition_info=None):
        if partition_info["number"] == 2:
            return part.assign(one=part["one"].astype(str))
        return part

    model = clone(MODELS[0]).fit(frame[["one"]], frame["y"])
    before = pickle.dumps(model)
    with dask.config.set(scheduler="synchronous"):
        parts = dd.from_pandas(frame, npartitions=4)
        parts = parts.map_partitions(change, meta=parts._meta)
        with pytest.raises(
            ValueError, match="'one' must have the same type.*partition 2"
        ):
            large.fit(model, parts, target="y")
    assert pickle.dumps(model) == before


def test_partitions_that_are_of_other_sizes_when_they_are_made_again():
    frame, made = make_frame(), []

    def change(part, partition_info=None):
        made.append(partition_info["number"])
        return part[1:] if made.count(2) > 1 and made[-1] == 2 else part

    parts = dd.from_pandas(frame, npartitions=4)
    parts = parts.map_partitions(change, meta=parts._meta)
    with dask.config.set(scheduler="synchronous"):
        with pytest.raises(
            RuntimeError,
            match="Partition 2 had 225 rows in an earlier pass and has 224",
        ):
            large.fit(clone(MODELS[0]), parts, target="y")


def warnings_about_codes(lookahead):
    # 40,000 rows of 4 columns
    if not lookahead:
        return nullcontext()
    return pytest.warns(UserWarning, match="about 1 megabytes. Set lookahead=0")


def test_look_ahead_without_memory_for_codes(monkeypatch):
    frame = make_frame()
    model = clone(MODELS[0]).fit(frame[["one"]], frame["y"])
    model.set_params(lookahead=1)
    before = pickle.dumps(model)

    def refuse(*found):
        raise MemoryError

    monkeypatch.setattr(_engine, "in_order", refuse)
    with dask.config.set(scheduler="synchronous"):
        parts = dd.from_pandas(frame, npartitions=4)
        with pytest.raises(MemoryError, match="Set lookahead=0"):
            large.fit(model, parts, target="y")
    assert pickle.dumps(model) == before


def test_look_ahead_warns_that_it_gathers_codes(monkeypatch):
    frame = make_frame()
    monkeypatch.setattr(_data, "MAX_GATHERED", 500)
    model = ConfidenceTreeClassifier(max_bins=9, lookahead=1)
    with dask.config.set(scheduler="synchronous"):
        parts = dd.from_pandas(frame, npartitions=3)
        with pytest.warns(UserWarning, match="megabytes. Set lookahead=0"):
            found = large.fit(clone(model), parts, target="y")
    assert pickle.dumps(found) == pickle.dumps(full_fit(model, frame))


@pytest.mark.parametrize("lookahead", cases([0, 1], [0]))
def test_local_partitions_by_threads_give_the_same_bytes(monkeypatch, lookahead):
    frame, threads = make_frame(40_000), set()
    side_by_side = _engine._side_by_side

    def told(team, function, *lists):
        def call(*one):
            threads.add(get_ident())
            sleep(0.001)  # while which others begin
            return function(*one)

        return side_by_side(team, call, *lists)

    monkeypatch.setattr(_data, "MAX_GATHERED", 16_384)
    monkeypatch.setattr(_growth, "MIN_THREAD_VALUES", 1)
    monkeypatch.setattr(_engine, "_side_by_side", told)
    model = ConfidenceTreeClassifier(max_bins=255, lookahead=lookahead)
    expected = pickle.dumps(full_fit(model, frame).tree_)
    for n_jobs in (None, 3):
        model.set_params(n_jobs=n_jobs)
        with dask.config.set(scheduler="synchronous"), warnings_about_codes(lookahead):
            parts = dd.from_pandas(frame, npartitions=7)
            model = large.fit(model, parts, target="y")
        assert pickle.dumps(model.tree_) == expected
    # who looks ahead has the rows here
    assert (len(threads) >= 2) == (lookahead == 0)


@pytest.mark.slow
def test_workers_that_are_threads_give_the_same_bytes(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="no cluster is installed")
    frame = make_frame()
    monkeypatch.setattr(_data, "MAX_GATHERED", 500)
    monkeypatch.setattr(_dask, "RESULTS_PER_SUM", 2)  # sums come here in two steps
    monkeypatch.setattr(_dask, "SUBTREES_PER_THREAD", 1)  # some wait for others
    threads = {"n_workers": 3, "threads_per_worker": 1, "processes": False}
    with (
        distributed.LocalCluster(**threads, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        parts = dd.from_pandas(frame, npartitions=7).persist()
        models = [
            ConfidenceTreeClassifier(max_bins=255, lookahead=0),
            ConfidenceForestClassifier(2, max_bins=40, random_state=0),
        ]
        states = []
        found = [
            large.fit(clone(model), parts, target="y", callback=states.append)
            for model in models
        ]
    n_rows = [state.n_rows for state in states if not state.level]
    assert min(n_rows) > 0  # the time left is estimated from them
    assert max(n_rows) == len(frame)
    for model, fitted in zip(models, found, strict=True):
        assert pickle.dumps(fitted) == pickle.dumps(full_fit(model, frame)), model


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="no cluster is installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
def test_a_cluster_of_two_workers_gives_the_same_bytes(cluster, monkeypatch):
    frame = make_frame(40_000)
    monkeypatch.setattr(_data, "MAX_GATHERED", 16_384)
    monkeypatch.setattr(
        _dask, "RESULTS_PER_SUM", 2
    )  # so that sums come here in two steps
    parts = dd.from_pandas(frame, npartitions=5).persist()
    for model in MODELS:
        found = large.fit(clone(model), parts, target="y")
        assert pickle.dumps(found) == pickle.dumps(full_fit(model, frame))


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        ConfidenceTreeClassifier(max_bins=255),
        ConfidenceTreeClassifier(None, max_bins=255, max_leaf_nodes=40),
        ConfidenceForestClassifier(4, max_bins=40, n_jobs=4, random_state=0),
        ConfidenceForestClassifier(
            4, max_bins=40, n_jobs=4, max_features=None, max_depth=6, random_state=0
        ),
    ],
    ids=["tree", "best-first", "forest", "all features"],
)
def test_workers_grow_the_trees_below_small_nodes(cluster, monkeypatch, model):
    frame = make_frame(40_000)
    expected = full_fit(model, frame)

    def refuse(*given):
        raise AssertionError("a tree is grown here")

    monkeypatch.setattr(_data, "MAX_GATHERED", 16_384)
    monkeypatch.setattr(_data.GrowFromRows, "__call__", refuse)  # in this process
    monkeypatch.setattr(_dask, "SUBTREES_PER_THREAD", 1)  # so that some wait for others
    parts = dd.from_pandas(frame, npartitions=5).persist()
    found = large.fit(clone(model), parts, target="y")
    assert pickle.dumps(found) == pickle.dumps(expected)


@pytest.mark.slow
def test_a_tree_below_a_node_that_fails_on_a_worker(cluster, monkeypatch):
    frame = make_frame(40_000)
    model = ConfidenceForestClassifier(6, max_bins=40, n_jobs=6, random_state=0)
    model.fit(frame[["one"]][:900], frame["y"][:900])
    before = pickle.dumps(model)

    def fail(*given):
        raise MemoryError("there is no room for this tree")

    monkeypatch.setattr(_data, "MAX_GATHERED", 16_384)
    monkeypatch.setattr(_dask, "SUBTREES_PER_THREAD", 1)
    monkeypatch.setattr(_dask, "_grow", fail)
    parts = dd.from_pandas(frame, npartitions=5).persist()
    with pytest.raises(MemoryError, match="no room for this tree"):
        large.fit(model, parts, target="y")
    assert pickle.dumps(model) == before


class DyingClient:
    """A client whose cluster ends, or has no worker, once a tree is to be grown."""

    def __init__(self, status, n_workers):
        self.status, self._n_workers = status, n_workers
        self.n_checks = 0

    def nthreads(self):
        self.n_checks += 1
        return dict.fromkeys(range(self._n_workers), 1)


@pytest.mark.parametrize(
    ("status", "words"),
    [("closed", "connection to the Dask"), ("running", "no worker")],
)
def test_no_tree_waits_for_a_cluster_that_is_gone(monkeypatch, status, words):
    monkeypatch.setattr(_dask, "CHECK_SECONDS", 0.001)
    monkeypatch.setattr(_dask, "MAX_SECONDS_WITHOUT_WORKERS", 0.01)
    engine = _dask.DaskEngine.__new__(_dask.DaskEngine)
    engine._client, engine._slots = DyingClient(status, 0), Semaphore(0)
    with pytest.raises(RuntimeError, match=words):
        engine.grow(None, [], None, None)


def test_a_tree_waits_for_busy_workers(monkeypatch):
    monkeypatch.setattr(_dask, "CHECK_SECONDS", 0.001)
    monkeypatch.setattr(_dask, "MAX_SECONDS_WITHOUT_WORKERS", 0.0)
    engine = _dask.DaskEngine.__new__(_dask.DaskEngine)
    engine._client, engine._slots = DyingClient("running", 1), Semaphore(0)
    Timer(0.1, engine._slots.release).start()
    engine._wait_for_memory()
    assert engine._client.n_checks > 3


@pytest.mark.slow
@pytest.mark.parametrize("step", ["divide", "grow", "grown"])
def test_a_worker_that_dies_changes_nothing(cluster, monkeypatch, step):
    frame, killed = make_frame(40_000), []
    method = getattr(_dask.DaskEngine, step)

    def kill_and_go_on(self, *given):
        if not killed:
            killed.append(min(cluster.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)
        return method(self, *given)

    monkeypatch.setattr(_data, "MAX_GATHERED", 16_384)
    monkeypatch.setattr(_dask.DaskEngine, step, kill_and_go_on)
    parts = dd.from_pandas(frame, npartitions=4).persist()
    found = large.fit(clone(MODELS[0]), parts, target="y")
    assert killed
    assert pickle.dumps(found) == pickle.dumps(full_fit(MODELS[0], frame))


@pytest.mark.slow
def test_a_partition_that_fails_on_a_worker(cluster):
    frame = make_frame()

    def fail(part, partition_info=None):
        if partition_info["number"] == 1:
            raise OSError("the disk of this part is gone")
        return part

    model = clone(MODELS[0]).fit(frame[["one"]], frame["y"])
    before = pickle.dumps(model)
    parts = dd.from_pandas(frame, npartitions=3)
    with pytest.raises(OSError, match="the disk of this part is gone"):
        large.fit(model, parts.map_partitions(fail, meta=parts._meta), target="y")
    assert pickle.dumps(model) == before


@pytest.mark.slow
def test_partitions_are_predicted_where_they_lie(cluster):
    frame = make_frame()
    parts = dd.from_pandas(frame, npartitions=3)
    model = large.fit(clone(MODELS[0]), parts, target="y")
    X = parts.drop(columns="y")
    found = X.map_partitions(model.predict, meta=np.array(["a"])).compute()
    assert (found == model.predict(X.compute())).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask
def test_a_table_larger_than_the_memory_of_each_worker(tmp_path):
    distributed = pytest.importorskip("distributed", reason="no cluster is installed")
    n_parts, n, names = 25, 250_000, [f"c{j}" for j in range(20)]
    features = names[:6]

    def make(seed):  # on the workers, which cannot import this module
        X = np.random.default_rng(seed).random((n, 20))
        y = (X[:, 0] + X[:, 1] * X[:, 2] > 0.7).astype("int64")
        ids = np.arange(seed * n, (seed + 1) * n)
        return pd.DataFrame(X, columns=names).assign(id=ids, y=y)

    first = make(0)
    assert n_parts * first.memory_usage().sum() > 1e9
    rows = dd.from_map(make, range(n_parts), meta=first[:0])
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            memory_limit="1GB",
            dashboard_address=":0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        before = client.run(os.getpid)
        model = ConfidenceTreeClassifier(max_bins=255)
        tree = large.fit(model, rows, target="y", columns=features)
        predictions = rows.map_partitions(
            lambda f: f[["id"]].assign(predicted=tree.predict(f[features])),
            meta={"id": "int64", "predicted": "int64"},
        )
        predictions.to_parquet(tmp_path / "predictions")
        assert client.run(os.getpid) == before  # none was killed for its memory
    assert tree.n_rows_seen_ == n_parts * n
    written = pd.read_parquet(tmp_path / "predictions").sort_values("id")
    assert len(written) == n_parts * n
    assert (written["predicted"][:n].to_numpy() == tree.predict(first[features])).all()
    assert (written["predicted"][:n].to_numpy() == first["y"]).mean() > 0.95
