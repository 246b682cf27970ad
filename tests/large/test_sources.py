"""Folders, patterns, partitions and addresses; types that differ; missing labels."""

import pickle
import sys

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier, large
from skconftree.large import _data
from skconftree.utils import _sources

RNG = np.random.default_rng(0)
N = 900
X = RNG.normal(size=(N, 2))
Y = (X[:, 0] > 0).astype(int)
YEAR = RNG.integers(2020, 2023, N)
TREE = ConfidenceTreeClassifier(max_bins=255)


def table(**other):
    return pa.table({"one": X[:, 0], "two": X[:, 1], "year": YEAR, "y": Y} | other)


def same(source, table, **options):
    """The model of a source is that of the rows in memory."""
    found = large.fit(clone(TREE), source, **{"target": "y"} | options)
    whole = clone(TREE).fit(table.drop_columns("y"), table["y"].to_numpy())
    return pickle.dumps(found) == pickle.dumps(whole)


@pytest.fixture
def folder(tmp_path):
    for k in range(3):
        where = tmp_path / "rows" / f"month-{k}"
        where.mkdir(parents=True)
        pq.write_table(table().slice(300 * k, 300), where / "part.parquet")
    (tmp_path / "rows" / "_SUCCESS").write_text("")
    (tmp_path / "rows" / ".part.parquet").write_text("not a table")
    (tmp_path / "rows" / "_old").mkdir()
    (tmp_path / "rows" / "_old" / "part.parquet").write_text("not a table")
    return tmp_path / "rows"


def test_folders_and_patterns(folder):
    assert same(folder, table())
    assert same(str(folder / "month-*"), table())
    assert same(f"{folder}/**/*.parquet", table())
    assert same(str(folder / "month-[12]" / "*.parquet"), table().slice(300))
    assert same([folder / "month-0", f"{folder}/month-1/*"], table().slice(0, 600))
    with pytest.raises(ValueError, match=r"No file matches .*2024-\*"):
        same(str(folder / "2024-*"), table())


@pytest.mark.parametrize("wild", [False, True])
def test_partitions(tmp_path, wild):
    kind = RNG.choice(["a b", "c/d", "e"], N)
    rows = table(kind=kind)
    pq.write_to_dataset(
        rows, tmp_path / "run=7" / "rows", partition_cols=["year", "kind"]
    )
    source = tmp_path / "run=7" / "rows"
    read = pyarrow.dataset.dataset(source, partitioning="hive").to_table()
    read = read.select(["one", "two", "y", "year", "kind"])
    read = read.set_column(3, "year", read["year"].cast(pa.int64()))
    assert same(f"{source}/*/*" if wild else source, read)
    # a target may be a partition
    model = large.fit(clone(TREE), source, target="kind", columns=["one", "year"])
    assert model.classes_.tolist() == ["a b", "c/d", "e"]
    assert model.n_rows_seen_ == N


def test_missing_partitions(tmp_path):
    for name in ("year=2020", "year=__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / name).mkdir()
        pq.write_table(table().drop_columns("year"), tmp_path / name / "a.parquet")
    model = large.fit(clone(TREE), tmp_path, target="y")
    year = pa.array([2020] * N + [None] * N)
    rows = table().drop_columns("year")
    rows = pa.concat_tables([rows, rows]).append_column("year", year)
    assert same(tmp_path, rows)
    assert model.feature_names_in_.tolist() == ["one", "two", "year"]
    pq.write_table(table().drop_columns("year"), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="must be in folders of the same columns"):
        same(tmp_path, rows)


def test_addresses(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for k in range(3):
        with memory.open(f"/bucket/year={k}/part.parquet", "wb") as file:
            pq.write_table(table().drop_columns("year").slice(300 * k, 300), file)
    try:
        rows = table().drop_columns("year")
        rows = rows.append_column("year", pa.array(np.arange(N) // 300))
        assert same("memory://bucket", rows)
        assert same("memory://bucket/*/*.parquet", rows)
        assert same("memory://bucket/year=1", rows.slice(300, 300))
        assert same("memory://bucket/year=1/part.parquet", rows.slice(300, 300))
        assert large.fit(
            clone(TREE).set_params(n_jobs=2), "memory://bucket", target="y"
        )
        with pytest.raises(ValueError, match="'z'"):
            same("memory://bucket", rows, target="z")
        with memory.open("/bucket/year=2/part.parquet", "wb") as file:
            file.write(b"no table")
        words = "memory://.*year=2/part.parquet cannot be read as Parquet"
        with pytest.raises(ValueError, match=words):
            same("memory://bucket", rows)
    finally:
        memory.rm("/bucket", recursive=True)
    with pytest.raises(FileNotFoundError, match="none"):
        same("memory://none/part.parquet", rows)
    with pytest.raises(ValueError, match="nowhere://rows cannot be opened"):
        same("nowhere://rows", rows)
    assert same(f"file://{write(tmp_path, table())}", table())


def write(folder, rows, name="a.parquet"):
    pq.write_table(rows, folder / name)
    return folder / name


def test_fsspec_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(ImportError, match="pip install fsspec"):
        same("s3://bucket/rows", table())
    assert not _sources.is_address("C://rows")


def test_integers_and_floats_are_unified(tmp_path):
    whole = np.arange(N) % 9
    write(tmp_path, table(one=whole, two=np.arange(N, dtype=np.int32)))
    write(
        tmp_path,
        table(two=np.arange(N)).select(["y", "two", "one", "year"]),
        "b.parquet",
    )
    rows = pa.concat_tables(
        [table(one=whole.astype(float), two=np.arange(N)), table(two=np.arange(N))]
    )
    words = r"'one': int64 \(.*a.parquet\) and double \(.*b.parquet\), read as double"
    with pytest.warns(UserWarning, match=words) as caught:
        assert same(tmp_path, rows)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    write(tmp_path, table(one=pa.nulls(N), two=np.arange(N)), "b.parquet")
    rows = pa.concat_tables(
        [
            table(one=whole, two=np.arange(N)),
            table(one=pa.nulls(N, pa.int64()), two=np.arange(N)),
        ]
    )
    assert same(tmp_path, rows)


@pytest.mark.parametrize(
    ("kind", "weight"),
    [(int, None), (str, None), (float, {0.0: 1.0, 1.0: 0.0, 2.0: 2.0})],
)
def test_missing_labels(tmp_path, kind, weight):
    labels = [kind(one) for one in RNG.integers(0, 3, N)]
    for row in (5, 200, 310, 899):
        labels[row] = None
    rows = table(y=labels)
    write(tmp_path, rows.slice(0, 300))
    write(tmp_path, rows.slice(300), "b.parquet")
    model = clone(TREE)
    if weight is not None:
        model.set_params(class_weight=weight)
    words = (
        r"'y' has 2 missing values in .*a.parquet, the first in row 6 there, and 2 in"
    )
    with pytest.raises(ValueError, match=words):
        large.fit(model, tmp_path, target="y")
    assert not hasattr(model, "classes_")
    known = rows.filter(rows["y"].is_valid())
    expected = clone(model).fit(known.drop_columns("y"), known["y"].to_numpy())
    found = large.fit(model, tmp_path, target="y", skip_missing=True)
    assert pickle.dumps(found) == pickle.dumps(expected)
    write(tmp_path, table(y=pa.nulls(N, pa.int64())))
    write(tmp_path, table(y=pa.nulls(N, pa.int64())), "b.parquet")
    with pytest.raises(ValueError, match="'y' has no value in any row"):
        large.fit(model, tmp_path, target="y", skip_missing=True)


def test_missing_labels_of_dask():
    dd, da = pytest.importorskip("dask.dataframe"), pytest.importorskip("dask.array")
    frame = table(y=np.where(np.arange(N) % 100 == 50, np.nan, Y)).to_pandas()
    rows = dd.from_pandas(frame, npartitions=3)
    words = (
        "'y' has 3 missing values in partition 0, the first in row 51 there, and 6 in"
    )
    with pytest.raises(ValueError, match=words):
        large.fit(clone(TREE), rows, target="y")
    known = frame[frame["y"].notna()]
    expected = clone(TREE).fit(known.drop(columns="y"), known["y"])
    found = large.fit(clone(TREE), rows, target="y", skip_missing=True)
    assert pickle.dumps(found) == pickle.dumps(expected)
    arrays = [da.from_array(part, chunks=300) for part in (X, frame["y"].to_numpy())]
    arrays[0] = arrays[0].rechunk((300, 2))
    with pytest.raises(
        ValueError, match="'target' has 3 missing values in partition 0"
    ):
        large.fit(clone(TREE), arrays[0], target=arrays[1])
    found = large.fit(clone(TREE), arrays[0], target=arrays[1], skip_missing=True)
    expected = clone(TREE).fit(X[frame["y"].notna()], known["y"].to_numpy())
    assert pickle.dumps(found) == pickle.dumps(expected)


def test_batches(folder):
    batches = list(large.iter_batches(folder, ["year", "one"]))
    assert pa.concat_tables(batches).equals(table().select(["year", "one"]))
    assert len(batches) == 3
    assert next(large.iter_batches([folder])).column_names == [
        "one",
        "two",
        "year",
        "y",
    ]
    with pytest.raises(ValueError, match="no column 'z'"):
        large.iter_batches(folder, ["z"])
    with pytest.raises(TypeError, match="source must be a path"):
        large.iter_batches(table())


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress(tmp_path, n_jobs, monkeypatch):
    monkeypatch.setattr(_data, "MAX_GATHERED", 50)
    rows = table(y=((X > 0).sum(axis=1) == 2).astype(int))
    for k in range(3):
        write(tmp_path, rows.slice(300 * k, 300), f"{k}.parquet")
    states = []
    model = clone(TREE).set_params(n_jobs=n_jobs, lookahead=0)
    large.fit(model, tmp_path, target="y", callback=states.append)
    passes = [state for state in states if not state.level]
    assert {state.n_rows for state in passes} == {300, 600, 900}
    assert passes[-1].seconds_left == 0.0
    assert states[0].n_passes == 1
    assert all(state.n_total_rows == N for state in states)
    if n_jobs is None:
        assert states[-1].level >= 1
        assert states[-1].n_nodes >= 1

    def stop(state):
        raise KeyError(state.n_rows)

    fresh = clone(TREE)
    with pytest.raises(KeyError, match="300"):
        large.fit(fresh, tmp_path, target="y", callback=stop)
    assert not hasattr(fresh, "classes_")


def test_some_rows_and_columns_as_texts(folder):
    rows = RNG.random(N) < 0.5
    used = table().filter(pa.array(rows))
    assert same(folder, used, rows=rows)
    year = table()["year"].cast(pa.string())
    assert same(folder, table().set_column(2, "year", year), text_columns=["year"])
    for wrong in (rows[1:], rows.astype(int)):
        with pytest.raises(ValueError, match="rows must be a bool array"):
            same(folder, used, rows=wrong)
    with pytest.raises(ValueError, match="at least one row"):
        same(folder, used, rows=rows & ~rows)
    with pytest.raises(ValueError, match="no column 'z'"):
        same(folder, used, text_columns=["z"])
