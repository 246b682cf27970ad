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
from reference.effort import cases, examples
from reference.large_tables import TREES, make_table
from skconftree.large._coded_part import CodedPart
from sklearn.base import clone

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier, large
from skconftree.large import _data, _fit
from skconftree.large._engine import LocalEngine

GATHERED = 16_384  # the fewest: of more rows no builder sorts the codes
N = 45_000


class Divided(LocalEngine):
    """The rows of a table in parts, each row in any of them."""

    n_parts, seed = 1, 0
    rounds = ()  # how many nodes have been divided in each

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

    def divide(self, sampled, members, questions):
        self.rounds.append(len(questions))
        return super().divide(sampled, members, questions)


def fit_in_parts(
    model, table, path, n_parts, seed=0, divides=True, gathered=GATHERED, rounds=None
):
    rounds = [] if rounds is None else rounds
    pq.write_table(table, path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_data, "MAX_GATHERED", gathered)
        patch.setattr(_fit, "LocalEngine", Divided)
        patch.setattr(Divided, "n_parts", n_parts)
        patch.setattr(Divided, "seed", seed)
        patch.setattr(Divided, "rounds", rounds)
        model = large.fit(clone(model), path, target="label")
        assert (len(rounds) > 0) == divides
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


@pytest.mark.parametrize("model", cases(MODELS, MODELS[::12]), ids=range(len(MODELS)))
def test_two_parts_give_the_same_bytes(tmp_path, model):
    table = make_table(0, N)
    found = fit_in_parts(model, table, tmp_path / "rows.parquet", 2)
    assert pickle.dumps(found) == pickle.dumps(in_memory(model, table))


@pytest.mark.parametrize("max_leaf_nodes", [None, 20])
def test_bounds_of_monotonicity_constraints_reach_other_parts(tmp_path, max_leaf_nodes):
    table = make_table(0, N)
    label = np.where(np.asarray(table["label"]) == "a", "a", "b")
    table = table.set_column(table.column_names.index("label"), "label", [label])
    model = ConfidenceTreeClassifier(
        None,
        max_bins=30,
        max_leaf_nodes=max_leaf_nodes,
        min_samples_leaf=5,
        monotonic_cst={"normal": 1, "heavy": 1, "whole": -1},
    )
    found = fit_in_parts(model, table, tmp_path / "rows.parquet", 2)
    whole = in_memory(model, table)
    assert pickle.dumps(found) == pickle.dumps(whole)
    assert (found.tree_.proba != found.tree_.raw_proba).any()


@settings(max_examples=examples(20, 2), deadline=None)
@given(st.integers(0, 10**6), st.data())
def test_any_division_gives_the_same_bytes(tmp_path_factory, seed, data):
    model = data.draw(st.sampled_from(MODELS))
    table = make_table(seed, data.draw(st.integers(20_000, 90_000)))
    if data.draw(st.booleans()):
        table = table.sort_by("label")
    path = tmp_path_factory.mktemp("parts") / "rows.parquet"
    found = fit_in_parts(model, table, path, data.draw(st.integers(1, 5)), seed)
    assert pickle.dumps(found) == pickle.dumps(in_memory(model, table))


@pytest.mark.parametrize("max_features", [None, 0.99])
def test_nodes_are_divided_in_rounds_if_nothing_is_drawn(tmp_path, max_features):
    rounds = []
    tree = fit_in_parts(
        ConfidenceTreeClassifier(None, max_bins=255, max_features=max_features),
        make_table(0, 20_000),
        tmp_path / "rows.parquet",
        2,
        gathered=200,
        rounds=rounds,
    )
    n_divided = (tree.tree_.n_node_samples[tree.tree_.n_children > 0] > 200).sum()
    assert n_divided > 50
    if max_features is None:
        # four rounds for a level of which all nodes are large
        assert len(rounds) < n_divided / 2
        assert len(rounds) <= 4 * tree.get_depth()
    else:
        assert set(rounds) == {1}
    assert sum(rounds) <= n_divided


@pytest.mark.parametrize(
    "model",
    [
        ConfidenceTreeClassifier(max_bins=255, max_leaf_nodes=5),
        ConfidenceForestClassifier(2, max_bins=255, max_leaf_nodes=9, random_state=0),
    ],
)
def test_best_first_growth_counts_small_nodes_too(tmp_path, model):
    # sums over sorted rows would round otherwise
    table = make_table(0).select(["normal", "heavy", "near", "label"])
    found = fit_in_parts(model, table, tmp_path / "rows.parquet", 2)
    assert pickle.dumps(found) == pickle.dumps(in_memory(model, table))


def test_look_ahead_has_the_rows_of_all_parts(tmp_path):
    table = make_table(1, 3_000)
    model = ConfidenceTreeClassifier(max_bins=20, lookahead=1, pruning="pessimistic")
    found = fit_in_parts(model, table, tmp_path / "rows.parquet", 3, divides=False)
    assert pickle.dumps(found) == pickle.dumps(in_memory(model, table))
