"""Fits of Parquet files are, byte for byte, those of the whole table in memory."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import examples
from sklearn.base import clone

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier, large
from skconftree.large import _parquet
from skconftree.tree import _team
from skconftree.tree.batch import _grow
from skconftree.utils._team import Team

TREES = [
    ConfidenceTreeClassifier(max_bins=255),
    ConfidenceTreeClassifier(max_bins=16, lookahead=0, pruning=None),
    ConfidenceTreeClassifier(max_bins=2, class_weight="balanced"),
    ConfidenceTreeClassifier("credible", max_bins=7, class_weight={"b": 0.0, "c": 3.0}),
    ConfidenceTreeClassifier(None, max_bins=100, max_leaf_nodes=9),
    ConfidenceTreeClassifier("evalue", max_bins=255, max_features=2, random_state=3),
    ConfidenceTreeClassifier("chi2", max_bins=30, nominal_splits="multiway"),
    ConfidenceForestClassifier(3, max_bins=255, random_state=0),
    ConfidenceForestClassifier(3, bound=None, max_bins=9, random_state=1),
    ConfidenceForestClassifier(2, max_bins=40, bootstrap=False, random_state=2),
    ConfidenceForestClassifier(
        2,
        max_bins=20,
        class_weight="balanced_subsample",
        max_samples=0.5,
        random_state=0,
    ),
]


def make_table(seed, n=600):
    """A table of all kinds of columns, with missing values and repeated rows."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, n, n)  # rows that occur again
    normal = rng.normal(size=n)
    whole = rng.integers(-40, 400, n)
    heavy = np.where(rng.random(n) < 0.6, 0.0, rng.normal(size=n))
    heavy[rng.random(n) < 0.1] = np.nan
    near = 1.0 + rng.integers(0, 3000, n) * 2.0**-22  # one high half
    words = np.array(["x", "y", "zz", "u", None], object)[rng.integers(0, 5, n)]
    many = np.array([f"w{i}" for i in rng.integers(0, 300, n)], object)
    many[:300] = [f"w{i}" for i in range(300)]
    score = normal + (words == "x") + np.nan_to_num(heavy) + rng.normal(size=n) * 0.3
    label = np.array(["a", "b", "c"])[np.digitize(score, [-0.3, 1.0])]
    table = pa.table(
        {
            "normal": normal,
            "words": pa.array(words, pa.string()),
            "label": label,
            "whole": whole,
            "heavy": pa.array(heavy.astype(np.float32)),
            "near": near,
            "many": many,
            "flag": rng.random(n) < 0.5,
            "none": np.full(n, np.nan),
            "coded": pa.array(words).dictionary_encode(),
        }
    )
    return table.take(np.where(rng.random(n) < 0.3, place, np.arange(n)))


def in_memory(model, table):
    names = [name for name in table.column_names if name != "label"]
    return clone(model).fit(table.select(names), np.asarray(table["label"]))


def assert_same_bytes(model, other):
    assert pickle.dumps(model) == pickle.dumps(other)


@settings(max_examples=examples(24), deadline=None)
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
        temp_folder = data.draw(st.sampled_from([None, folder]))
        found = large.fit(clone(model), folder, target="label", temp_folder=temp_folder)
    assert_same_bytes(found, in_memory(model, table))


def test_threads_share_the_tree_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(_team, "WORTH_A_TEAM", 1)
    monkeypatch.setattr(_grow, "WORTH_SHARING", 1)
    monkeypatch.setattr(_grow, "WORTH_SETTING_ASIDE", 1)
    ran = []
    run = Team.run
    monkeypatch.setattr(Team, "run", lambda *given: ran.append(1) or run(*given))
    table = make_table(5)
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=100)
    tree = ConfidenceTreeClassifier(None, max_bins=16, n_jobs=2)
    found = large.fit(tree, path, target="label")
    assert len(ran) > 3
    expected = in_memory(clone(tree).set_params(n_jobs=None), table)
    assert pickle.dumps(found.tree_) == pickle.dumps(expected.tree_)
