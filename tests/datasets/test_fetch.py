"""Loaders: folder and OpenML must give the same table, and failures must say why.

No network here: ``fetch_openml`` is replaced by one that returns what scikit-learn's
would, dense or sparse, nominal values numbered in the order of the ARFF header.
"""

import gzip
import os
import urllib.error

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.utils import Bunch

from skconftree import datasets
from skconftree.datasets import (
    _tables,
    fetch_a9a,
    fetch_airlines,
    fetch_cod_rna,
    fetch_covertype,
    fetch_electricity,
)

LOADERS = [getattr(datasets, n) for n in datasets.__all__ if n.startswith("fetch_")]
NAMES = ["date", "day", "period", "price", "demand", "vic", "vicdemand", "transfer"]
DAYS = ["2", "10", "2", "1"]
LABELS = ["UP", "DOWN", "DOWN", "UP"]


def numbers():
    return np.random.default_rng(0).random((4, 8)).round(3)


def write(path, names, rows):
    text = "\n".join(",".join(map(str, row)) for row in [names, *rows]) + "\n"
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8") as out:
        out.write(text)


@pytest.fixture
def folder(tmp_path):
    rows = [[*row] for row in numbers()]
    for row, day, label in zip(rows, DAYS, LABELS, strict=True):
        row[1] = day
        row.append(label)
    write(tmp_path / "elec.csv.gz", [*NAMES, "target"], rows)
    return tmp_path


@pytest.fixture
def openml(monkeypatch):
    """Replace OpenML; the test says what it returns, and sees the calls."""
    asked = []

    def fetch_openml(**params):
        asked.append(params)
        answer = fetch_openml.answer
        if isinstance(answer, Exception):
            raise answer
        return answer

    fetch_openml.asked = asked
    monkeypatch.setattr(_tables, "fetch_openml", fetch_openml)
    return fetch_openml


def electricity():
    data = numbers()
    known = ["10", "2", "7", "1"]
    data[:, 1] = [known.index(day) for day in DAYS]
    return Bunch(
        data=data,
        target=np.array(LABELS, dtype=object),
        feature_names=NAMES,
        categories={"day": known},
    )


def same(one, two):
    np.testing.assert_array_equal(one.data, two.data)
    np.testing.assert_array_equal(one.target, two.target)
    np.testing.assert_array_equal(one.target_names, two.target_names)
    np.testing.assert_array_equal(one.categorical_features, two.categorical_features)
    assert one.categories == two.categories
    assert one.feature_names == two.feature_names


def test_folder_and_openml_agree(folder, openml):
    openml.answer = electricity()
    local = fetch_electricity(folder=folder)
    assert openml.asked == []
    remote = fetch_electricity(data_home="there", n_retries=7, delay=0.5)
    (asked,) = openml.asked
    assert asked == {
        "data_id": 151,
        "data_home": "there",
        "as_frame": False,
        "parser": "liac-arff",
        "n_retries": 7,
        "delay": 0.5,
    }
    same(local, remote)
    want = numbers()
    # Days in the order of their numbers, whatever the header says; 7 never occurs.
    want[:, 1] = [1, 2, 1, 0]
    np.testing.assert_array_equal(local.data, want)
    assert local.categories == {"day": ["1", "2", "10"]}
    assert local.categorical_features.tolist() == [False, True] + 6 * [False]
    assert local.target_names.tolist() == ["DOWN", "UP"]
    assert local.target.tolist() == [1, 0, 0, 1]
    assert local.frame is None
    assert "elec.csv.gz" in local.DESCR
    assert "OpenML 151" in remote.DESCR
    assert "autocorrelated" in remote.DESCR


def test_return_X_y(folder):
    X, y = fetch_electricity(folder=str(folder), return_X_y=True)
    table = fetch_electricity(folder=folder)
    np.testing.assert_array_equal(X, table.data)
    np.testing.assert_array_equal(y, table.target)


def test_frames(folder):
    table = fetch_electricity(folder=folder, as_frame=True)
    assert list(table.data) == NAMES
    assert list(table.frame) == [*NAMES, "target"]
    assert table.data["day"].tolist() == DAYS
    assert isinstance(table.data["day"].dtype, pd.CategoricalDtype)
    assert table.data["price"].dtype == np.float64
    assert table.target.tolist() == [1, 0, 0, 1]
    X, y = fetch_electricity(folder=folder, as_frame=True, return_X_y=True)
    pd.testing.assert_frame_equal(X, table.data)
    pd.testing.assert_series_equal(y, table.target)


def test_sparse_tables_and_signed_labels(tmp_path, openml):
    data = (np.random.default_rng(0).random((5, 123)) < 0.1).astype(float)
    names = [f"A{j}" for j in range(123)]
    openml.answer = Bunch(
        data=csr_matrix(data),
        target=np.array(["-1", "1", "1", "-1", "-1"], dtype=object),
        feature_names=names,
        categories={},
    )
    remote = fetch_a9a()
    labels = ["-1", "+1", "+1", "-1", "-1"]
    rows = [[*row, label] for row, label in zip(data, labels, strict=True)]
    write(tmp_path / "a9a.csv", [*names, "target"], rows)
    local = fetch_a9a(folder=tmp_path)
    same(local, remote)
    assert isinstance(remote.data, np.ndarray)
    assert remote.target_names.tolist() == ["-1", "1"]
    assert remote.target.tolist() == [0, 1, 1, 0, 0]
    # A target that is numeric at OpenML is the same table.
    openml.answer.target = np.array([-1.0, 1.0, 1.0, -1.0, -1.0])
    same(fetch_a9a(), remote)


def test_two_cover_types(tmp_path):
    names = [f"A{j}" for j in range(54)]
    types = [5, 2, 1, 2]
    write(tmp_path / "covtype.csv", [*names, "target"], [[0] * 54 + [t] for t in types])
    table = fetch_covertype(folder=tmp_path)
    assert table.target_names.tolist() == ["1", "2", "5"]
    assert table.target.tolist() == [2, 1, 0, 1]
    table = fetch_covertype(folder=tmp_path, binary=True)
    assert table.target_names.tolist() == ["other", "2"]
    assert table.target.tolist() == [0, 1, 0, 1]
    write(tmp_path / "covtype.csv", [*names, "target"], [[0] * 54 + [1]])
    with pytest.raises(ValueError, match=r"binary=True needs a type '2'.*\['1'\]"):
        fetch_covertype(folder=tmp_path, binary=True)


def test_other_names_and_quotes(tmp_path):
    names = ["Airline", "Flight", "AirportFrom", "AirportTo", "DayOfWeek", "Time", "L"]
    rows = [
        ["CO", 269, '"A,B"', "IAH", 3, 15, 205, 1],
        ["US", 15, "PHX", '"A,B"', 3, 20, 9, 0],
    ]
    write(tmp_path / "airlines.csv", [*names, "target"], rows)
    table = fetch_airlines(folder=tmp_path)
    assert table.categories["AirportFrom"] == ["A,B", "PHX"]
    assert table.data[:, 2].tolist() == [0, 1]
    assert table.data[:, 1].tolist() == [269, 15]
    assert table.categorical_features.sum() == 4
    rows = [[*range(8), 1], [*range(8), -1]]
    write(tmp_path / "codrna.csv", [*"abcdefgh", "target"], rows)
    assert fetch_cod_rna(folder=tmp_path).target.tolist() == [1, 0]


@pytest.mark.parametrize("load", LOADERS)
def test_offline(load, openml):
    openml.answer = urllib.error.URLError("Name or service not known")
    name = load.__name__.removeprefix("fetch_").replace("_", "-")
    with pytest.raises(
        OSError, match=rf"{name}.*cannot be reached.*`folder`.*{name}\.csv"
    ):
        load()


@pytest.mark.parametrize("load", LOADERS)
def test_nothing_in_the_folder(load, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder must be an existing folder"):
        load(folder=tmp_path / "nowhere")
    name = load.__name__.removeprefix("fetch_").replace("_", "-")
    with pytest.raises(FileNotFoundError, match=rf"{name}\.csv, {name}\.csv\.gz"):
        load(folder=tmp_path)


@pytest.mark.parametrize(
    ("names", "lines", "words"),
    [
        ([*NAMES, "class"], [[0] * 9], "must have a column 'target'"),
        ([*NAMES[:7], "target"], [[0] * 8], "must have 8 features.*has 7"),
        ([*NAMES, "target"], [], "must have rows"),
        ([*NAMES, "target"], [[0] * 8], "cannot be read|must have rows"),
        ([*NAMES, "target"], [[0] * 10], "as many values as its header"),
        ([*NAMES, "target"], [[0] * 9, [0] * 8], "cannot be read"),
        ([*NAMES, "target"], [["x"] + [0] * 8], "cannot be read.*'x'"),
        ([*NAMES, "target"], [[""] + [0] * 8], "cannot be read"),
    ],
)
def test_bad_files(tmp_path, names, lines, words):
    write(tmp_path / "electricity.csv", names, lines)
    with pytest.raises(ValueError, match=words):
        fetch_electricity(folder=tmp_path)


@pytest.mark.parametrize("damage", ["end", "bytes", "encoding"])
def test_damaged_files(tmp_path, damage):
    path = tmp_path / "electricity.csv.gz"
    text = "\n".join([",".join([*NAMES, "target"]), *[",".join("012345678")] * 500])
    data = gzip.compress(text.encode("utf-16" if damage == "encoding" else "utf-8"))
    if damage == "end":
        data = data[: len(data) // 2]
    elif damage == "bytes":
        data = data[:12] + b"\xff" * 8 + data[20:]
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"electricity.csv.gz cannot be read"):
        fetch_electricity(folder=tmp_path)


def test_bad_tables_of_openml(openml):
    openml.answer = electricity()
    openml.answer.data[0, 1] = np.nan
    with pytest.raises(ValueError, match="missing values"):
        fetch_electricity()
    openml.answer = electricity()
    openml.answer.data = openml.answer.data[:, :7]
    openml.answer.feature_names = NAMES[:7]
    with pytest.raises(ValueError, match="must have 8 features.*OpenML 151 has 7"):
        fetch_electricity()


def test_frames_need_pandas(folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match="as_frame=True needs pandas"):
        fetch_electricity(folder=folder, as_frame=True)


def test_electricity_is_autocorrelated():
    # What its docstring and the guide warn of.
    if not os.environ.get("SKCONFTREE_DATA"):
        pytest.skip("SKCONFTREE_DATA names no folder with real tables")
    X, y = fetch_electricity(folder=os.environ["SKCONFTREE_DATA"], return_X_y=True)
    assert X.shape == (45312, 8)
    assert np.mean(y[1:] == y[:-1]) == pytest.approx(0.853, abs=0.001)
