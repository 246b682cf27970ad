"""A corrupt state raises an error or gives a usable model; it never crashes.

Models are saved on disks and sent over networks. Kernels index arrays with what they
find in a state, so indices, sizes and pointers in it are checked.
"""

import copy
import pickle
import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.effort import cases, examples
from reference.leaf_state import bytes_of_leaves, fields_of_leaves
from reference.registries import MEMORIES
from reference.streams import grown, learn, make_stream
from skconftree.tree._settings import GrowthSettings, read_settings
from skconftree.tree.nodes._tree import Tree
from sklearn.base import clone

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound
from skconftree.drift import DDM
from skconftree.tree.nodes._derived import write_nodes
from skconftree.tree.nodes._state import ARRAYS, BRANCHING_DTYPE
from skconftree.tree.stream._state import Recipe, read_recipe

STREAM = make_stream(
    seed=6,
    n_rows=420,
    n_classes=3,
    kinds=["continuous", "ties", "one_hot"],
    signal=1.5,
    n_pool=30,
)
BOUNDS = {
    "credible": CredibleBound(delta=0.2),
    "volume": CredibleBound(delta=0.2, pool_weight="volume"),
    "evalue": "evalue",
    "gtest": "gtest",
    "none": None,
}
PREDICTS = {"auto": "auto", "histogram": "nb", "gaussian": "nba"}
MODELS = {
    f"{bound}-{memory}-{prediction}": ConfidenceTreeClassifier(
        bound=BOUNDS[bound],
        criterion="entropy",
        leaf_memory=memory,
        leaf_prediction=prediction,
        grace_period=25,
        pruning=None,
    )
    for bound in BOUNDS
    for memory in MEMORIES
    for prediction in [PREDICTS.get(memory, "majority")]
}
SOME_MODELS = list(MODELS)[::3]  # each bound and each memory
HALF = 300
some = settings(
    max_examples=examples(120, by_day=10), suppress_health_check=[HealthCheck.too_slow]
)
_grown = {}


def half_grown(name):
    if name not in _grown:
        _grown[name] = grown(MODELS[name], STREAM, [HALF])
        assert _grown[name].tree_.node_count > 1
    return _grown[name]


@st.composite
def damages(draw):
    """Draw what happens to the bytes of a state."""
    kind = draw(st.sampled_from(["flip", "integer", "number", "cut", "add", "zeros"]))
    place = draw(st.floats(0, 1, exclude_max=True), label="place")
    integer = draw(
        st.sampled_from([-1, 0, 1, 2, 3, 5, 31, 64, 2**31, 2**62, -(2**63)]),
        label="integer",
    )
    number = draw(
        st.sampled_from([-1.0, 0.0, 0.5, 1e300, np.nan, np.inf, -np.inf, 5e-324]),
        label="number",
    )
    return kind, place, integer, number


def damaged(data, damage):
    kind, place, integer, number = damage
    data = bytearray(data)
    position = int(place * len(data))
    aligned = min(position - position % 8, len(data) - 8)
    if kind == "flip":
        data[position] ^= 1 << (abs(integer) % 8)
    elif kind == "integer":
        data[aligned : aligned + 8] = struct.pack("<q", integer)
    elif kind == "number":
        data[aligned : aligned + 8] = struct.pack("<d", number)
    elif kind == "cut":
        del data[position:]
    elif kind == "add":
        data[position:position] = bytes(8)
    elif kind == "zeros":
        data[position : position + 64] = bytes(len(data[position : position + 64]))
    return bytes(data)


def use(model, grower):
    """Go on with a grower whose state was believed."""
    model = copy.copy(model)
    model._model.grower = grower
    with np.errstate(all="ignore"):
        learn(model, STREAM, begin=HALF)
        model.predict_proba(STREAM.X)
        model.predict(STREAM.X)
        assert model.tree_.counts.shape == (model.tree_.node_count, 3)
        pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("name", cases(MODELS, SOME_MODELS))
@some
@given(damage=damages())
def test_damaged_leaves(name, damage):
    model = half_grown(name)
    make, (tree, recipe, state) = model._model.grower.__reduce__()
    place, leaves = bytes_of_leaves(state)
    state = (*state[:place], damaged(leaves, damage), *state[place + 1 :])
    try:
        grower = make(copy.deepcopy(tree), recipe, state)
    except ValueError:
        return
    try:
        use(model, grower)
    except ValueError:
        return  # what it became is too damaged to be saved


@pytest.mark.parametrize("name", ["gtest-rows-majority", "volume-gaussian-nba"])
@some
@given(damage=damages(), which=st.integers(0, len(ARRAYS) - 2))
def test_damaged_tree(name, damage, which):
    model = half_grown(name)
    make, (tree, recipe, leaves) = model._model.grower.__reduce__()
    kind, arguments, state = tree.__reduce__()
    state = list(state)
    state[1 + which] = damaged(state[1 + which], damage)
    try:
        tree = kind(*arguments)
        tree.__setstate__(tuple(state))
        tree.apply(STREAM.X)
        tree.path(tree.apply(STREAM.X))
        grower = make(tree, recipe, leaves)
    except ValueError:
        return
    use(model, grower)


@pytest.mark.parametrize("name", cases(MODELS, SOME_MODELS))
@pytest.mark.parametrize("place", [13, 15])  # rows since its creation, and all it holds
@pytest.mark.parametrize("number", [0.0, 0.5, 1e300])
def test_weights_of_a_leaf_that_are_not_those_of_its_classes(name, place, number):
    """Naive Bayes looks for the moments of all classes if there are rows."""
    model = half_grown(name)
    make, (tree, recipe, state) = model._model.grower.__reduce__()
    at, leaves = bytes_of_leaves(state)
    numbers = np.frombuffer(leaves[: 8 * 20]).copy()
    numbers[place] = number if number != numbers[place] else 3.0
    leaves = numbers.tobytes() + leaves[8 * 20 :]
    with suppress(ValueError):  # or it goes on, and nothing crashes
        changed = (*state[:at], leaves, *state[at + 1 :])
        use(model, make(copy.deepcopy(tree), recipe, changed))


@pytest.mark.parametrize("name", [name for name in MODELS if "histogram" in name])
def test_the_last_bin_of_a_leaf_must_have_no_end(name):
    """A value above all edges would be counted behind the bins."""
    model = half_grown(name)
    make, (tree, recipe, state) = model._model.grower.__reduce__()
    at, leaves = bytes_of_leaves(state)
    changed = leaves.replace(struct.pack("<f", np.inf), struct.pack("<f", -1e30))
    assert changed != leaves
    with pytest.raises(ValueError, match="corrupt"):
        make(copy.deepcopy(tree), recipe, (*state[:at], changed, *state[at + 1 :]))


def test_a_leaf_that_sends_missing_values_on_is_damaged():
    """Rows without a value stay at a leaf because it sends them to its left: itself."""
    tree = half_grown("gtest-rows-majority").tree_
    kind, arguments, state = tree.__reduce__()
    place = 1 + ARRAYS.index("branching")
    branching = np.frombuffer(state[place], BRANCHING_DTYPE).copy()
    for wrong in (0, 2, -1):
        branching["missing_left"][tree.feature < 0] = wrong
        changed = (*state[:place], branching.tobytes(), *state[place + 1 :])
        with pytest.raises(ValueError, match="corrupt"):
            kind(*arguments).__setstate__(changed)


@pytest.mark.parametrize("count", [1e300, np.inf, np.nan, -1.0])
def test_counts_that_no_rows_have(count):
    """How sure a split is would be no number."""
    tree = half_grown("gtest-rows-majority").tree_
    kind, arguments, state = tree.__reduce__()
    place = 1 + ARRAYS.index("counts")
    counts = np.frombuffer(state[place]).copy()
    counts[-1] = count
    with pytest.raises(ValueError, match="corrupt: 'counts'"):
        kind(*arguments).__setstate__(
            (*state[:place], counts.tobytes(), *state[place + 1 :])
        )


def nudged(data, place):
    """Change the last bits of one number: a count becomes another, a score rounds."""
    data = bytearray(data)
    data[place - place % 8] ^= 1
    return bytes(data)


@pytest.mark.parametrize("name", cases(MODELS, SOME_MODELS))
def test_valid_leaves_are_accepted(name):
    """A loader that refused everything would pass the tests of damages."""
    model = half_grown(name)
    make, (tree, recipe, state) = model._model.grower.__reduce__()
    use(model, make(copy.deepcopy(tree), recipe, state))
    place, leaves = bytes_of_leaves(state)
    accepted = 0
    places = np.linspace(0, len(leaves) - 1, 60).astype(int)
    for at in places:
        changed = (*state[:place], nudged(leaves, at), *state[place + 1 :])
        try:
            grower = make(copy.deepcopy(tree), recipe, changed)
        except ValueError:
            continue
        accepted += 1
        assert len(grower.tree.counts) == tree.node_count
    # most of a memory are values and counts, any of which may be true
    assert accepted > 0.2 * len(places)
    assert accepted < len(places) or "rows" in name


@pytest.mark.parametrize("name", ["gtest-rows-majority", "volume-gaussian-nba"])
@pytest.mark.parametrize(
    ("which", "least"), [("counts", 1.0), ("impurity", 1.0), ("evidence", 0.8)]
)
def test_a_valid_tree_is_accepted(name, which, least):
    model = half_grown(name)
    make, (tree, recipe, leaves) = model._model.grower.__reduce__()
    kind, arguments, state = tree.__reduce__()
    index = 1 + ARRAYS.index(which)
    places = np.linspace(0, len(state[index]) - 1, 20).astype(int)
    accepted = 0
    for at in [None, *places]:
        changed = list(state)
        if at is not None:
            changed[index] = nudged(changed[index], at)
        tree = kind(*arguments)
        try:
            tree.__setstate__(tuple(changed))
            make(tree, recipe, leaves)
        except ValueError:
            assert at is not None
            continue
        accepted += at is not None
    assert accepted >= least * len(places)


@pytest.mark.parametrize("name", ["gtest-rows-majority", "evalue-histogram-nb"])
@pytest.mark.parametrize(
    "change",
    [
        lambda state: None,
        lambda state: "state",
        lambda state: (),
        lambda state: state[:-1],
        lambda state: (0, *state[1:]),
        lambda state: (*state[:6], state[6] + b"\0", *state[7:]),
        lambda state: (*state[:6], b"", *state[7:]),
        lambda state: (*state[:7], "detector", *state[8:]),
        lambda state: (*state[:7], DDM().kernel(), *state[8:]),
        lambda state: (*state[:8], "background", *state[9:]),
    ],
)
def test_states_of_another_kind(name, change):
    make, (tree, recipe, state) = half_grown(name)._model.grower.__reduce__()
    with pytest.raises(ValueError, match="state of this growing tree"):
        make(copy.deepcopy(tree), recipe, change(state))


@pytest.mark.parametrize("place", range(1, 18))
@pytest.mark.parametrize("other", [None, -1, "text", (), np.nan], ids=repr)
def test_a_part_of_another_kind_crashes_nothing(place, other):
    model = half_grown("evalue-gaussian-nba")
    make, (tree, recipe, state) = model._model.grower.__reduce__()
    changed = (*state[:place], other, *state[place + 1 :])
    with suppress(ValueError, TypeError, OverflowError):
        use(model, make(copy.deepcopy(tree), recipe, changed))


@pytest.mark.parametrize("place", [7, 8])
@pytest.mark.parametrize("other", ["text", 0])
def test_states_without_a_watch(place, other):
    """Of a tree that drifts replace: its detector and the tree in the background."""
    model = clone(MODELS["gtest-rows-majority"]).set_params(drift="ddm")
    make, (tree, recipe, state) = grown(
        model, STREAM, [HALF]
    )._model.grower.__reduce__()
    make(copy.deepcopy(tree), recipe, state)
    state = (*state[:place], other, *state[place + 1 :])
    with pytest.raises((ValueError, TypeError), match="corrupt|unpack"):
        make(copy.deepcopy(tree), recipe, state)
    state = (*state[:7], None, None, *state[9:])
    with pytest.raises(ValueError, match="state of this growing tree is corrupt"):
        make(copy.deepcopy(tree), recipe, state)


POOL = np.zeros((30, 3), dtype=np.float32)
BOX = np.column_stack([np.zeros(3), np.ones(3)])
RECIPES = [
    ("gtest-rows-majority", {"class_weight": np.ones(2)}),
    ("gtest-rows-majority", {"class_weight": -np.ones(3)}),
    ("gtest-rows-majority", {"class_weight": np.ones(3, dtype=np.float32)}),
    ("gtest-rows-majority", {"class_weight": [1.0, 1.0, 1.0]}),
    ("gtest-rows-majority", {"class_weight": np.array([1.0, 0.0, 1.0])}),
    ("gtest-rows-majority", {"class_weight": np.array([1.0, np.nan, 1.0])}),
    ("gtest-rows-majority", {"class_weight": np.array([1.0, np.inf, 1.0])}),
    ("gtest-rows-majority", {"class_weight": np.array([1.0, 1e300, 1.0])}),
    ("gtest-rows-majority", {"class_weight": np.array([1.0, 5e-324, 1.0])}),
    ("gtest-rows-majority", {"X_pool": POOL}),
    ("credible-rows-majority", {"X_pool": POOL[:, :2].copy()}),
    ("credible-rows-majority", {"X_pool": np.asfortranarray(POOL)}),
    ("credible-rows-majority", {"X_pool": POOL + np.inf}),
    ("credible-rows-majority", {"box": BOX}),
    ("volume-rows-majority", {"box": BOX[:1]}),
    ("volume-rows-majority", {"box": BOX * np.nan}),
    ("volume-rows-majority", {"box": None}),
    ("gtest-rows-majority", {"nominal": (-1,)}),
    ("gtest-rows-majority", {"nominal": (3,)}),
    ("gtest-rows-majority", {"nominal": (0, 0)}),
    ("gtest-rows-majority", {"nominal": (1, 0)}),
    ("gtest-rows-majority", {"nominal": (True,)}),
    ("gtest-rows-majority", {"nominal": [0]}),
    ("gtest-rows-majority", {"seed": -1}),
    ("gtest-rows-majority", {"seed": 2**63}),
    ("gtest-rows-majority", {"seed": 1.0}),
    ("gtest-rows-majority", {"age": 3}),
]
FITTING = [
    ("volume-rows-majority", {"bound": None}),
    ("gtest-rows-majority", {"bound": CredibleBound(pool_weight="volume")}),
    ("gtest-rows-majority", {"drift": CredibleBound()}),
    ("gtest-rows-majority", {"multiway": True}),
    ("gtest-rows-majority", {"max_features": 4}),
]
SETTINGS = [
    ("gtest-rows-majority", {"criterion": "age"}),
    ("gtest-rows-majority", {"bound": "gtest"}),
    ("gtest-rows-majority", {"bound": CredibleBound}),
    ("gtest-rows-majority", {"bound": DDM()}),
    ("gtest-rows-majority", {"min_impurity_decrease": np.nan}),
    ("gtest-rows-majority", {"drift": "ddm"}),
    ("gtest-rows-majority", {"max_features": 0}),
    ("gtest-rows-majority", {"max_bins": 1}),
    ("gtest-rows-majority", {"max_bins": 2**40}),
    ("gtest-rows-majority", {"row_limit": -2}),
    ("gtest-rows-majority", {"random_cuts": 0}),
    ("gtest-rows-majority", {"inherited": np.nan}),
    ("gtest-rows-majority", {"leaf_prediction": "median"}),
    ("gtest-rows-majority", {"grace_period": "long"}),
    ("gtest-rows-majority", {"max_depth": 0}),
    ("gtest-rows-majority", {"min_samples_leaf": -2.0}),
    ("gtest-rows-majority", {"max_bytes": 2**70}),
    ("gtest-rows-majority", {"age": 3}),
]


@pytest.mark.parametrize(("name", "change"), RECIPES)
def test_recipes_of_another_tree(name, change):
    make, (tree, recipe, state) = half_grown(name)._model.grower.__reduce__()
    make(copy.deepcopy(tree), recipe, state)
    with pytest.raises(ValueError, match="stored .* of this growing tree"):
        make(copy.deepcopy(tree), {**recipe, **change}, state)


def test_rows_of_the_pool_that_are_missing():
    make, (tree, recipe, state) = half_grown(
        "credible-rows-majority"
    )._model.grower.__reduce__()
    with pytest.raises(ValueError, match="state of this growing tree is corrupt"):
        make(copy.deepcopy(tree), {**recipe, "X_pool": None}, state)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [(*one, "stored arguments of this growing tree") for one in FITTING]
    + [
        (*one, "state of these growth settings|growth setting|`criterion`")
        for one in SETTINGS
    ],
)
def test_settings_of_another_tree(name, change, words):
    make, (tree, recipe, state) = half_grown(name)._model.grower.__reduce__()
    recipe = {**recipe, "settings": {**recipe["settings"], **change}}
    with pytest.raises(ValueError, match=words):
        make(copy.deepcopy(tree), recipe, state)


def test_settings_that_are_missing_have_their_defaults():
    """A setting or a part of a recipe that was added later is absent in old states."""
    make, (tree, recipe, state) = half_grown(
        "none-auto-auto"
    )._model.grower.__reduce__()
    defaults = GrowthSettings().values()
    for name in recipe["settings"]:
        settings = {key: one for key, one in recipe["settings"].items() if key != name}
        expected = recipe["settings"] | {name: defaults[name]}
        assert read_settings(settings).values() == expected
    for name in recipe.keys() - {"settings"}:
        other = {key: one for key, one in recipe.items() if key != name}
        expected = recipe | {name: Recipe._field_defaults[name]}
        assert read_recipe(other).values() == expected
    del recipe["settings"]
    with pytest.raises(ValueError, match="stored .* of this growing tree"):
        make(copy.deepcopy(tree), recipe, state)


def test_growers_of_another_kind():
    """One that watches for drifts needs to be told how."""
    model = clone(MODELS["gtest-rows-majority"]).set_params(drift="ddm")
    make, (tree, recipe, state) = grown(
        model, STREAM, [HALF]
    )._model.grower.__reduce__()
    recipe = {**recipe, "settings": {**recipe["settings"], "drift": None}}
    with pytest.raises(ValueError, match="state of this growing tree is corrupt"):
        make(copy.deepcopy(tree), recipe, state)


@pytest.mark.parametrize(
    ("name", "value"),
    [("credible-rows-majority", np.nan), ("gtest-rows-majority", np.inf)],
)
def test_rows_with_values_that_no_row_has(name, value):
    """The state says that none is missing."""
    make, (tree, recipe, state) = half_grown(name)._model.grower.__reduce__()
    place, leaves = bytes_of_leaves(state)
    found = 0
    for row in STREAM.X[:HALF:2]:
        at = leaves.find(row.tobytes())
        found += at >= 0
        other = struct.pack("<f", value).join([leaves[:at], leaves[at + 4 :]])
        if at >= 0:
            with pytest.raises(ValueError, match="state of this growing tree"):
                make(
                    copy.deepcopy(tree),
                    recipe,
                    (*state[:place], other, *state[place + 1 :]),
                )
    assert found > 10


@pytest.mark.parametrize(
    "size", [(2**62, 3), (2**31, 3), (3, 2**16), (0, 3), (3, 0), (-1, 3)]
)
def test_trees_of_impossible_sizes(size):
    with pytest.raises(ValueError, match="A tree can have 1 to"):
        Tree(*size)


def test_trees_without_a_root():
    tree = Tree(2, 2)
    X = np.zeros((3, 2), dtype=np.float32)
    for call in (lambda: tree.apply(X), lambda: tree._pruned([])):
        with pytest.raises(ValueError, match="no root"):
            call()


def test_a_tree_in_use_takes_no_state_and_no_root():
    """Leaves beside it would no longer belong to its nodes."""
    model = half_grown("gtest-rows-majority")
    before = model.tree_.__getstate__()
    with pytest.raises(ValueError, match="only be set on an empty tree"):
        model.tree_.__setstate__(before)
    with pytest.raises(ValueError, match="already has a root"):
        model.tree_._add_root()
    assert model.tree_.__getstate__() == before


@pytest.mark.parametrize("kind", ["tree", "state", "tuple"])
def test_backgrounds_of_another_tree(kind):
    """The trees before and behind the warning trade leaves."""
    model = clone(MODELS["gtest-rows-majority"]).set_params(
        drift=DDM(warning_level=0.1, drift_level=50.0)
    )
    make, (tree, recipe, state) = grown(
        model, STREAM, [HALF]
    )._model.grower.__reduce__()
    second, second_state = state[8]
    assert isinstance(make(copy.deepcopy(tree), recipe, state).n_bytes, int)
    other = make_stream(1, 40, 2, ["continuous"])
    second_tree = grown(MODELS["gtest-rows-majority"], other).tree_
    background = {
        "tree": (write_nodes(second_tree), second_state),
        "state": (second, half_grown("evalue-auto-auto")._model.grower.__getstate__()),
        "tuple": (second,),
    }[kind]
    state = (*state[:8], background, *state[9:])
    with pytest.raises(ValueError, match="of this growing tree"):
        make(copy.deepcopy(tree), recipe, state)


def test_leaves_of_another_tree():
    """Features, classes and leaves differ."""
    make, (_, recipe, state) = half_grown(
        "gtest-rows-majority"
    )._model.grower.__reduce__()
    for n_features, n_classes, rows in [(3, 3, 40), (2, 3, HALF), (3, 2, HALF)]:
        other = make_stream(1, rows, n_classes, ["continuous"] * n_features)
        tree = grown(MODELS["gtest-rows-majority"], other).tree_
        with pytest.raises(ValueError, match="of this growing tree"):
            make(tree, recipe, state)


MIXED = make_stream(
    seed=6,
    n_rows=300,
    n_classes=3,
    kinds=["continuous", "ties", "nominal", "holes"],
    signal=1.5,
    weight="any",
)
# Name of an array of a leaf, index, and a value that no leaf has there; the memories
# that check it, None for all.
IMPOSSIBLE = [
    *(("header", 0, value, None) for value in (-1, 9)),  # kind of memory
    *(("header", 2, value, None) for value in (-1, 1000)),  # number of rows
    *(("header", 3, value, ("rows",)) for value in (-1, 1000)),  # inherited ones
    ("header", 4, 0, ("rows",)),  # whether they have weights
    *(("header", 5, value, None) for value in (-1, 1)),  # number of bins
    *(("header", index, 0, None) for index in (6, 7)),  # whether it has histograms
    *(("header", 11, value, None) for value in (-1, 2)),  # whether rows are evidence
    *(("fresh", 0, value, None) for value in (-1.0, np.nan, np.inf)),
    *(("held", 1, value, None) for value in (-1.0, np.nan, np.inf)),
    *(("recent", 2, value, None) for value in (-1.0, np.nan, np.inf)),
    ("X", 0, np.inf, ("rows",)),
    ("y", 0, 3, ("rows",)),
    *(("weight", 0, value, ("rows",)) for value in (0.0, -1.0, np.nan, np.inf)),
    ("first", 0, 1, None),
    *(("first", 1, value, None) for value in (-1, 0, 10_000)),
    ("edges", -1, 1.0, ("rows", "gaussian")),
    *(("kind", 0, value, None) for value in (2, 3)),
    ("kind", 2, 0, None),
    *(("histogram", 0, value, None) for value in (-1.0, np.nan, 1e6)),
    *(("fresh_histogram", 0, value, None) for value in (-1.0, np.nan, 1e6)),
]


@pytest.mark.parametrize("memory", MEMORIES)
def test_impossible_values_of_leaves_are_errors(memory):
    bound = {"rows": None, "histogram": "evalue"}.get(memory, CredibleBound(0.2))
    model = ConfidenceTreeClassifier(
        bound,
        leaf_memory=memory,
        leaf_prediction="nb",
        grace_period=100,
        categorical_features=MIXED.nominal,
    )
    learn(model, MIXED)
    make, (tree, recipe, state) = model._model.grower.__reduce__()
    at, leaves = bytes_of_leaves(state)
    make(copy.deepcopy(tree), recipe, state)
    n_checked = 0
    for name, index, value, memories in IMPOSSIBLE:
        if memories is not None and memory not in memories:
            continue
        for field in fields_of_leaves(tree, leaves):
            array = np.frombuffer(leaves[field.begin : field.end], field.dtype).copy()
            if field.name != name or index >= len(array) or array[index] == value:
                continue
            array[index] = value
            changed = leaves[: field.begin] + array.tobytes() + leaves[field.end :]
            with pytest.raises(ValueError, match="corrupt"):
                make(
                    copy.deepcopy(tree),
                    recipe,
                    (*state[:at], changed, *state[at + 1 :]),
                )
            n_checked += 1
            break
    assert n_checked >= 28


@pytest.mark.parametrize("max_features", [1, 2])
def test_a_flag_of_a_leaf_with_its_own_features_is_0_or_1(max_features):
    """Whether it has an inherited model; it is the last number of the only leaf."""
    forest = ConfidenceForestClassifier(
        1, bound="hoeffding", delta=1e-200, max_features=max_features
    )
    learn(forest, STREAM)
    assert forest.estimators_[0].get_n_leaves() == 1
    make, (tree, recipe, state) = forest.estimators_[0]._model.grower.__reduce__()
    at, leaves = bytes_of_leaves(state)
    assert leaves[-8:] == bytes(8)
    make(copy.deepcopy(tree), recipe, state)
    for value in (-1, 1, 2):
        changed = leaves[:-8] + struct.pack("<q", value)
        with pytest.raises(ValueError, match="corrupt"):
            make(copy.deepcopy(tree), recipe, (*state[:at], changed, *state[at + 1 :]))


def test_leaves_that_have_seen_no_category_can_be_saved():
    """Rows of weight 0 are not learned, but features and classes are known."""
    model = ConfidenceTreeClassifier("gtest", categorical_features=[1])
    X = np.c_[np.arange(40.0), np.arange(40) % 3]
    y = np.arange(40) % 2
    model.partial_fit(X, y, [0, 1], sample_weight=np.zeros(40))
    again = pickle.loads(pickle.dumps(model))
    for one in (model, again):
        one.partial_fit(X, y)
    assert pickle.dumps(model) == pickle.dumps(again)
