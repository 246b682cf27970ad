"""Fits of Parquet files are, byte for byte, those of the whole table in memory."""

import pickle
import tracemalloc
from threading import get_ident
from time import sleep

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import cases, examples
from reference.large_tables import TREES, make_table
from skconftree.utils._team import ThreadTeam
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier, large
from skconftree.bounds import CredibleBound
from skconftree.large import _data, _fit, _parquet
from skconftree.tree import _growth
from skconftree.tree.batch import _grow


def in_memory(model, table):
    names = [name for name in table.column_names if name != "label"]
    return clone(model).fit(table.select(names), np.asarray(table["label"]))


def assert_same_bytes(model, other):
    assert pickle.dumps(model) == pickle.dumps(other)


@settings(max_examples=examples(24, by_day=3), deadline=None)
@given(st.integers(0, 10**6), st.data())
def test_any_division_gives_the_same_bytes(tmp_path_factory, seed, data):
    model = data.draw(st.sampled_from(TREES))
    table = make_table(seed)
    if data.draw(st.booleans()):
        table = table.sort_by("label")  # parts that lack classes and categories
    cuts = sorted(data.draw(st.lists(st.integers(0, 600), max_size=4)))
    folder = tmp_path_factory.mktemp("parts")
    for place, (start, stop) in enumerate(zip([0, *cuts], [*cuts, 600], strict=True)):
        part = table.slice(start, stop - start)  # which may be empty
        pq.write_table(part, folder / f"{place}.parquet", row_group_size=77)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_parquet, "BATCH", data.draw(st.sampled_from([40, 1000])))
        patch.setattr(_fit, "CELLS_AT_ONCE", data.draw(st.sampled_from([1, 3, 128])))
        patch.setattr(_fit, "BYTES_AT_ONCE", data.draw(st.sampled_from([0, 2**26])))
        temp_folder = data.draw(st.sampled_from([None, folder]))
        found = large.fit(clone(model), folder, target="label", temp_folder=temp_folder)
    assert_same_bytes(found, in_memory(model, table))


@pytest.mark.parametrize("gathered", [None, 1])
def test_volumes_of_nodes_are_those_of_the_table(tmp_path, monkeypatch, gathered):
    if gathered is not None:  # nodes are counted where their rows are
        monkeypatch.setattr(_data, "MAX_GATHERED", gathered)
    table = make_table(3)
    pq.write_table(table, tmp_path / "rows.parquet")
    tree = ConfidenceTreeClassifier(CredibleBound(pool_weight="volume"), max_bins=9)
    found = large.fit(clone(tree), tmp_path, target="label")
    assert_same_bytes(found, in_memory(tree, table))


@pytest.mark.parametrize("class_weight", [None, {"b": 0.0}])
def test_threads_read_several_row_groups(tmp_path, monkeypatch, class_weight):
    monkeypatch.setattr(_growth, "MIN_THREAD_VALUES", 1)
    monkeypatch.setattr(_fit, "BYTES_AT_ONCE", 0)  # values are counted in passes
    batches, readers = _parquet.ParquetParts._batches, set()

    def slow(self, place, columns, groups=None):
        for frame in batches(self, place, columns, groups):
            if groups is not None:
                readers.add(get_ident())
                sleep(0.002)  # while which others begin
            yield frame

    monkeypatch.setattr(_parquet.ParquetParts, "_batches", slow)
    table = make_table(7)
    for place in range(3):
        part = table.slice(200 * place, 200)
        pq.write_table(part, tmp_path / f"{place}.parquet", row_group_size=60)
    for n_jobs in (None, 2, 3):
        readers.clear()
        tree = ConfidenceTreeClassifier(
            None, max_bins=16, n_jobs=n_jobs, class_weight=class_weight
        )
        found = large.fit(tree, tmp_path, target="label")
        assert_same_bytes(found, in_memory(tree, table))
        assert len(readers) == 1 if n_jobs is None else len(readers) > 1


@pytest.mark.parametrize(
    ("n_values", "megabytes"),
    cases([(3, 5), (60, 10), (500, 50)], [(3, 5), (60, 10)]),
)
def test_columns_take_memory_in_groups(tmp_path, monkeypatch, n_values, megabytes):
    """Cells of one column take 1 MB, and what codes its values 64 KB."""
    n_rows, n_columns = max(n_values, 60), 150
    rng = np.random.default_rng(0)
    X = rng.permuted(np.tile(np.arange(n_rows) % n_values, (n_columns, 1)), axis=1)
    table = pa.table({f"c{j}": X[j] for j in range(n_columns)})
    table = table.append_column("label", [np.arange(n_rows) % 2])
    pq.write_table(table, tmp_path / "rows.parquet")
    monkeypatch.setattr(_fit, "CELLS_AT_ONCE", 20)
    tree = ConfidenceTreeClassifier(max_bins=255)
    tracemalloc.start()
    try:
        found = large.fit(clone(tree), tmp_path, target="label")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < megabytes * 2**20
    assert_same_bytes(found, in_memory(tree, table))


def test_threads_share_the_tree_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(_growth, "MIN_THREAD_VALUES", 1)
    monkeypatch.setattr(_grow, "MIN_SHARED_VALUES", 1)
    monkeypatch.setattr(_grow, "MIN_TASK_VALUES", 1)
    ran = []

    class CountingTeam(ThreadTeam):
        def run(self, do, n_parts):
            ran.append(n_parts)
            super().run(do, n_parts)

    monkeypatch.setattr(_growth, "ThreadTeam", CountingTeam)
    table = make_table(5)
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=100)
    tree = ConfidenceTreeClassifier(None, max_bins=16, n_jobs=2)
    found = large.fit(tree, path, target="label")
    assert len(ran) > 3
    expected = in_memory(clone(tree).set_params(n_jobs=None), table)
    assert pickle.dumps(found.tree_) == pickle.dumps(expected.tree_)
