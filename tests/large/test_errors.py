"""Invalid files: fits raise errors, and the estimator is unchanged."""

import errno
import os
import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMTreeClassifier,
    large,
)
from skconftree.large import _encoding, _fit, _parquet

X = np.random.default_rng(0).normal(size=(2000, 2))
Y = (X[:, 0] > 0).astype(int)


def table(**other):
    return pa.table({"one": X[:, 0], "two": X[:, 1], "y": Y} | other)


@pytest.fixture
def path(tmp_path):
    pq.write_table(table(), tmp_path / "rows.parquet", row_group_size=500)
    return tmp_path / "rows.parquet"


def refuses(estimator, source, words, kind=ValueError, **options):
    """The call raises, and leaves a fitted model alone."""
    before = pickle.dumps(estimator)
    with pytest.raises(kind, match=words):
        large.fit(estimator, source, **{"target": "y"} | options)
    assert pickle.dumps(estimator) == before


def fitted(**options):
    options = {"max_bins": 255} | options
    return ConfidenceTreeClassifier(**options).fit(X[:100], Y[:100])


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file(path, kept):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    refuses(fitted(), path, "rows.parquet cannot be read as Parquet")


def test_a_file_with_damaged_pages(path):
    # what is at its end is sound, so that it is found out in a pass
    damaged = bytearray(path.read_bytes())
    damaged[100:9000] = bytes(8900)
    path.write_bytes(damaged)
    refuses(fitted(), path, "rows.parquet cannot be read as Parquet")


def test_a_file_that_is_not_there(tmp_path):
    refuses(fitted(), tmp_path / "no.parquet", "no.parquet", FileNotFoundError)
    refuses(fitted(), tmp_path, "contains no")
    refuses(fitted(), [], "empty list")


def test_types_that_differ_between_files(path, tmp_path):
    other = tmp_path / "other.parquet"
    pq.write_table(table(two=[str(one) for one in X[:, 1]]), other)
    refuses(
        fitted(),
        [path, other],
        "'two' must have the same type in all files. Got double in .*string in",
    )
    pq.write_table(table().rename_columns(["one", "too", "y"]), other)
    refuses(fitted(), [path, other], "must have the same columns")


def test_functions(path):
    refuses(fitted(), path, "callback must be a function", TypeError, callback=5)
    wrong = {"skip_missing": "yes"}
    refuses(fitted(), path, "skip_missing must be True, False", TypeError, **wrong)


def test_names_of_columns(path):
    refuses(fitted(), path, "no column 'z'; its columns are", target="z")
    refuses(fitted(), path, "no column 'z'", columns=["one", "z"])
    refuses(fitted(), path, "must not contain the target", columns=["one", "y"])
    refuses(fitted(), path, "must not contain duplicates", columns=["one", "one"])
    refuses(fitted(), path, "at least one column besides the target", columns=[])
    refuses(fitted(), path, "list of names", TypeError, columns="one")
    refuses(fitted(), path, "text_columns must be a list", TypeError, text_columns="y")
    twice = pa.table([X[:, 0], X[:, 1], Y], names=["one", "one", "y"])
    pq.write_table(twice, path)
    refuses(fitted(), path, "has more than one column named 'one'")


def test_weights_of_classes_that_leave_no_row(path):
    words = "All rows belong to classes of class_weight 0"
    model = fitted().set_params(class_weight={0: 0.0, 1: 0.0})
    refuses(model, path, words)
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)


def test_more_categories_than_are_counted(path, monkeypatch):
    pq.write_table(table(name=[f"row {i}" for i in range(2000)]), path)
    monkeypatch.setattr(_encoding, "MAX_COUNTED", 1999)
    refuses(
        fitted(), path, "Column 'name' has more than 1999 categories. Pass the other"
    )


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("change", [-1, 1])
@pytest.mark.parametrize("later", [False, True])
def test_batches_of_other_sizes_than_the_file_said(
    path, monkeypatch, change, n_jobs, later
):
    batches = _parquet.ParquetParts._batches
    monkeypatch.setattr(_fit, "BYTES_AT_ONCE", 0)  # count values in passes

    def other(self, place, columns, groups=None):
        if later and groups is None:  # only the later passes read groups
            yield from batches(self, place, columns, groups)
            return
        *first, last = batches(self, place, columns, groups)
        yield from first
        yield last.slice(1) if change < 0 else last
        yield from [last.slice(0, 1)] * (change > 0)

    monkeypatch.setattr(_parquet.ParquetParts, "_batches", other)
    words = "rows.parquet changed while it was read"
    refuses(fitted(n_jobs=n_jobs), path, words, RuntimeError)


def test_more_classes_than_a_tree_has(path, monkeypatch):
    monkeypatch.setattr(_fit, "MAX_CLASSES", 1)
    refuses(fitted(), path, "y has 2 classes or more; at most 1 are supported")


def test_values_without_bins(path):
    refuses(fitted(max_bins=None), path, "need bins: 'one', 'two'")
    with pytest.warns(UserWarning, match="draws thresholds"):
        refuses(fitted(splitter="random"), path, "more than 256 distinct values")


@pytest.mark.parametrize(
    "options",
    [
        {"leaf_memory": "rows"},
        {"leaf_prediction": "nb"},
        {"pruning": "c45"},
    ],
)
def test_parameters_that_need_the_rows(path, options):
    (name,) = options
    refuses(fitted(**options), path, f"{name}=.*needs all rows in memory")


@pytest.mark.parametrize("name", ["oob_score", "warm_start"])
def test_parameters_of_a_forest_that_need_the_rows(path, name):
    forest = ConfidenceForestClassifier(2, max_bins=9, **{name: True})
    refuses(forest, path, f"{name}=True, which needs all rows")


def test_other_estimators_and_sources(path):
    refuses(NCMTreeClassifier(), path, "ConfidenceTreeClassifier or a", TypeError)
    refuses(fitted(), table(), "source must be a path.* memory, use fit", TypeError)


def test_a_target_that_is_no_name(path):
    refuses(fitted(), path, "target must be the name", TypeError, target=Y)


def test_values_and_labels_that_are_invalid(tmp_path):
    path = tmp_path / "rows.parquet"
    for words, other in (
        ("infinity", {"one": np.where(X[:, 0] > 2, np.inf, X[:, 0])}),
        (
            "'y' has 1 missing value in .*rows.parquet",
            {"y": pa.array([None, *Y[1:]], pa.int64())},
        ),
        ("'y' has 1 missing value", {"y": pa.array([None, *map(str, Y[1:])])}),
        ("continuous", {"y": X[:, 0]}),
        ("Column 'two'.*date", {"two": pa.array(Y, pa.timestamp("s"))}),
        ("Column 'two'", {"two": pa.array([[1]] * 2000)}),
    ):
        pq.write_table(table(**other), path, row_group_size=500)
        refuses(fitted(), path, words)
    pq.write_table(table().slice(0, 0), path)
    refuses(fitted(), path, "from 1 to 2147483647 rows. Got 0")


def test_a_file_that_changes_while_it_is_read(path, monkeypatch):
    def encode(self, *given):
        pq.write_table(table().slice(0, 500), path)
        return kept(self, *given)

    kept = _fit.PartedTable.encode
    monkeypatch.setattr(_fit.PartedTable, "encode", encode)
    refuses(fitted(), path, "changed while it was read", RuntimeError)


def test_a_column_that_identifies_rows_is_left_out_with_a_warning(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(table(name=[f"row {i}" for i in range(2000)]), path)
    tree = ConfidenceTreeClassifier(max_bins=255)
    with pytest.warns(UserWarning, match="No split uses column 'name'") as caught:
        large.fit(tree, path, target="y")
    assert caught[0].filename == __file__
    assert set(tree.tree_.feature) <= {0, -2}


def test_a_numeric_column_with_an_unparseable_value_warns(tmp_path):
    path = tmp_path / "rows.parquet"
    words = [str(i % 50) for i in range(2000)]
    words[7] = "unknown"
    pq.write_table(table(two=words), path)
    with pytest.warns(UserWarning, match="Column 'two' has strings.*only 1 of its"):
        large.fit(ConfidenceTreeClassifier(max_bins=255), path, target="y")


def test_few_values_need_no_bins(tmp_path):
    path = tmp_path / "rows.parquet"
    few = table(one=np.round(X[:, 0], 1), two=Y)
    pq.write_table(few, path)
    tree = large.fit(ConfidenceTreeClassifier(), path, target="y")
    whole = ConfidenceTreeClassifier().fit(few.select(["one", "two"]), Y)
    assert pickle.dumps(tree) == pickle.dumps(whole)


def test_a_folder_for_codes_that_is_full_or_not_there(path, tmp_path, monkeypatch):
    refuses(
        fitted(),
        path,
        "Cannot create a file of",
        OSError,
        temp_folder=tmp_path / "none",
    )

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    words = "Cannot create a file of .* bytes .*: No space left"
    refuses(fitted(), path, words, OSError, temp_folder=tmp_path)
    # as on systems that cannot take room without writing
    monkeypatch.delattr(os, "posix_fallocate")
    tree, other = fitted(), fitted()
    large.fit(tree, path, target="y", temp_folder=tmp_path)
    large.fit(other, path, target="y")
    assert pickle.dumps(tree) == pickle.dumps(other)
    assert [one.name for one in tmp_path.iterdir()] == ["rows.parquet"]


def test_missing_memory_is_no_fault_of_the_file(path, monkeypatch):
    def starve(*_, **__):
        raise pa.ArrowMemoryError("malloc of size 1048576 failed")

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", starve)
    refuses(fitted(), path, "malloc", MemoryError)


def test_a_column_whose_kinds_differ_between_files(tmp_path):
    pq.write_table(table(two=list(map(str, Y))), tmp_path / "a.parquet")
    kinds = pa.array(map(bytes, Y[:, None])).dictionary_encode()
    pq.write_table(table(two=kinds), tmp_path / "b.parquet")
    refuses(fitted(), tmp_path, "Column 'two'|type of", (TypeError, ValueError))


def test_a_file_without_rows_among_others(path):
    pq.write_table(table().slice(0, 0), path.with_name("empty.parquet"))
    model = ConfidenceTreeClassifier(max_bins=255)
    found = large.fit(model, path.parent, target="y")
    assert found.n_rows_seen_ == len(Y)


def test_a_missing_label_is_located_in_its_file(tmp_path):
    labels = Y.astype(object)
    labels[[1207, 1300, 1900]] = None
    labeled = table(y=pa.array(labels.tolist(), pa.int64()))
    cuts = [0, 500, 500, 1200, 1800, 2000]  # the second file is empty
    for i, (start, stop) in enumerate(pairwise(cuts)):
        pq.write_table(labeled.slice(start, stop - start), tmp_path / f"{i}.parquet")
    words = (
        "'y' has 2 missing values in .*3.parquet, the first in row 8 there, and 1 in "
        "later ones"
    )
    refuses(fitted(), tmp_path, words)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int8(), "str")])
def test_texts_of_any_kind_are_text_columns(path, kind):
    texts = pa.array(map(str, Y + 10)).cast(kind)
    trees = []
    for options in ({}, {"text_columns": ["two"]}):
        pq.write_table(table(two=texts), path)
        tree = ConfidenceTreeClassifier(max_bins=255)
        trees.append(large.fit(tree, path, target="y", **options))
    assert list(trees[1].categories_[1]) == ["10", "11"]
    assert pickle.dumps(trees[0].tree_) == pickle.dumps(trees[1].tree_)
