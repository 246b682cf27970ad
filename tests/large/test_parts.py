"""Trees grown from counts that parts add up are those of one builder.

A node of more rows than are gathered is counted where its rows lie. Few are gathered
here, so that tables of some 40,000 rows have such nodes.
"""

import pickle

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import examples
from reference.large_tables import TREES, make_table
from skconftree.large._coded_part import CodedPart
from sklearn.base import clone

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier, large
from skconftree.large import _data, _rows
from skconftree.large._engine import LocalEngine

GATHERED = 16_384  # the fewest: of more rows no builder sorts the codes
N = 45_000


class Divided(LocalEngine):
    """The rows of a table in parts, each row in any of them."""

    n_parts, seed, n_questions = 1, 0, 0

    def __init__(self, parts, places):
        (part,) = parts
        rng = np.random.default_rng(self.seed)
        of_part = rng.integers(0, self.n_parts, part.n_rows)
        if self.seed % 2:
            of_part = np.sort(of_part)
        kept = [of_part == p for p in range(self.n_parts)]
        places = [np.flatnonzero(one).astype(np.int32) for one in kept]
        super().__init__([self.part(part, one) for one in kept], places)

    @staticmethod
    def part(part, kept):
        columns = [codes[kept] for codes in part.columns]
        return CodedPart(columns, part.y[kept], part.n_levels, part.n_classes)

    def divide(self, *given):
        Divided.n_questions += 1
        return super().divide(*given)


def fit_in_parts(model, table, path, n_parts, seed=0, divides=True):
    pq.write_table(table, path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_data, "MOST_GATHERED", GATHERED)
        patch.setattr(_rows, "LocalEngine", Divided)
        patch.setattr(Divided, "n_parts", n_parts)
        patch.setattr(Divided, "seed", seed)
        patch.setattr(Divided, "n_questions", 0)
        model = large.fit(clone(model), path, target="label")
        assert (Divided.n_questions > 0) == divides
        return model


def in_memory(model, table):
    names = [name for name in table.column_names if name != "label"]
    return clone(model).fit(table.select(names), np.asarray(table["label"]))


def greedy(model):
    # look-ahead has all codes in one place
    if "lookahead" in model.get_params():
        return clone(model).set_params(lookahead=0)
    return clone(model).set_params(max_samples=None)  # else few of the rows are there


MODELS = [
    *map(greedy, TREES),
    ConfidenceTreeClassifier(None, max_bins=5, nominal_splits="multiway"),
    ConfidenceForestClassifier(
        2, max_bins=30, max_features=None, count_repeats=False, random_state=4
    ),
    ConfidenceForestClassifier(2, max_bins=30, count_repeats=False, random_state=4),
]


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
def test_two_parts_give_the_same_bytes(tmp_path, model):
    table = make_table(0, N)
    found = fit_in_parts(model, table, tmp_path / "rows.parquet", 2)
    assert pickle.dumps(found) == pickle.dumps(in_memory(model, table))


@settings(max_examples=examples(20, 3), deadline=None)
@given(st.integers(0, 10**6), st.data())
def test_any_division_gives_the_same_bytes(tmp_path_factory, seed, data):
    model = data.draw(st.sampled_from(MODELS))
    table = make_table(seed, data.draw(st.integers(30_000, 140_000)))
    if data.draw(st.booleans()):
        table = table.sort_by("label")
    path = tmp_path_factory.mktemp("parts") / "rows.parquet"
    found = fit_in_parts(model, table, path, data.draw(st.integers(1, 5)), seed)
    assert pickle.dumps(found) == pickle.dumps(in_memory(model, table))


def test_look_ahead_has_the_rows_of_all_parts(tmp_path):
    table = make_table(1, 3_000)
    model = ConfidenceTreeClassifier(max_bins=20, lookahead=1, pruning="pessimistic")
    found = fit_in_parts(model, table, tmp_path / "rows.parquet", 3, divides=False)
    assert pickle.dumps(found) == pickle.dumps(in_memory(model, table))
