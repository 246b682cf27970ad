"""States of other versions: what came later has its default, what is unknown is named.

What a later version wrote is refused, with the command that installs this version.

A stream that runs for a year survives updates of the package.
"""

import copy
import io
import pickle
import re
import zipfile
from inspect import signature

import numpy as np
import pytest
from contracts.test_skops_files import CLASSES, LEARNERS, MODELS, X, Y
from skconftree.tree._settings import GrowthSettings

import skconftree
from skconftree import BinaryTests, ConfidenceTreeClassifier
from skconftree.active import (
    ActiveLearner,
    FixedUncertainty,
    LabelingSession,
    LeafRiskSampling,
    RiskBelow,
)
from skconftree.bounds import CredibleBound
from skconftree.drift import DDM, LocalRepair
from skconftree.inspection import audit_splits
from skconftree.tree import PessimisticPruning
from skconftree.tree.stream._state import GrowerState, read_state
from skconftree.utils._codec import VERSION

PARAMETERS = [
    CredibleBound(delta=0.2),
    DDM(min_samples=10),
    LocalRepair(),
    PessimisticPruning(),
    LeafRiskSampling(gap=False),
    FixedUncertainty(),
    RiskBelow(0.1),
]
ALL = (
    MODELS | LEARNERS | {type(one).__name__: lambda one=one: one for one in PARAMETERS}
)
OTHERS = {
    "audit": lambda: audit_splits(
        ConfidenceTreeClassifier().fit(X[::2], Y[::2]), X[1::2], Y[1::2]
    ),
    "binary tests": lambda: BinaryTests().fit(X),
}
# Parts of the states of models, and what of them may be absent; None: everything.
GROWTH = "_model", "grower", 0
PLACES = {
    ("tree", "_model"): ["waits", "honest_counts", "fidelity", "compact"],
    ("tree", "_model", "resolved"): ["pruning", "lookahead", "taken_back"],
    ("tree", "_model", "schema"): ["dates", "names"],
    ("growing tree", *GROWTH): [
        *("seed", "class_weight", "nominal", "X_pool", "box", "in_forest", "n_first")
    ],
    ("growing tree", *GROWTH, "settings"): None,
    ("forest", "_model"): ["listed", "sampler", "records", "out_of_bag"],
    ("forest", "_model", "parameters", 0): None,
    ("forest", "_model", "resolved", 0): ["pruning", "lookahead", "taken_back"],
    ("forest", "_model", "trees", 1): ["waits", "honest_counts", "fidelity", "compact"],
    ("forest", "_model", "schema"): ["dates", "names"],
    ("growing forest", "_model", "trees", 0, "grower", 0, "settings"): None,
    ("NCM tree", "_model", "schema"): ["dates", "names", "features"],
    ("NCM forest", "_model"): ["tree_errors", "threshold", "leaves"],
    ("OASIS", "_model"): ["waiting"],
    ("waiting OASIS", "_model"): ["particle_filter", "mean", "scale"],
    ("evaluator",): [
        *("delay", "n_unlabeled_", "cpu_seconds_", "_scorers", "_needs_proba"),
        *("_by_time", "_last_time"),
    ],
    ("one by one",): ["_given_columns", "_waiting", "_warned"],
}
_made = {}


def skops_bytes(model):
    """What a file of skops says about a model, as bytes."""
    io_of_skops = pytest.importorskip("skops.io")
    with zipfile.ZipFile(io.BytesIO(io_of_skops.dumps(model))) as archive:
        return archive.read("schema.json")


def state_of(name):
    """Class and state of a model, which may be changed."""
    if name not in _made:
        model = (ALL | OTHERS)[name]()
        _made[name] = type(model), model.__getstate__()
    kind, state = _made[name]
    return kind, copy.deepcopy(state)


def part_of(state, place):
    for one in place:
        state = state[one]
    return state


def read(kind, state):
    made = kind.__new__(kind)
    made.__setstate__(state)
    return made


@pytest.mark.parametrize("name", ALL)
def test_every_state_names_the_version(name):
    kind, state = state_of(name)
    assert state[VERSION] == skconftree.__version__
    assert VERSION not in vars(read(kind, state))


@pytest.mark.parametrize("name", sorted(ALL.keys() - {"evaluator", "one by one"}))
def test_parameters_that_came_later_have_their_defaults(name):
    kind, state = state_of(name)
    defaults = {
        one.name: one.default
        for one in signature(kind).parameters.values()
        if one.default is not one.empty
    }
    assert defaults.keys() <= state.keys()
    for absent in [{one} for one in defaults] if name == "tree" else [defaults.keys()]:
        less = {key: value for key, value in state.items() if key not in absent}
        for version in (skconftree.__version__, "0.0.9"):
            made = read(kind, less | {VERSION: version})
            found = made.get_params(deep=False)
            assert {one: found[one] for one in absent} == {
                one: defaults[one] for one in absent
            }


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_settings_that_came_later_have_their_defaults(place):
    kind, state = state_of(place[0])
    part, absent = part_of(state, place[1:]), PLACES[place]
    if place[-1] == "settings":  # a setting that came later has had no other value
        default = GrowthSettings().values()
        absent = [name for name, value in part.items() if value == default[name]]
        assert len(absent) > 10
    for name in part.keys() if absent is None else absent:
        less = copy.deepcopy(state)
        del part_of(less, place[1:])[name]
        pickle.dumps(read(kind, less))


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_unknown_settings_are_refused_with_the_version_that_wrote_them(place):
    kind, state = state_of(place[0])
    state[VERSION] = "0.0.9"
    part_of(state, place[1:])["from_the_future"] = 1
    with pytest.raises(
        ValueError,
        match=r"no setting 'from_the_future'.* It was written by skconftree 0\.0\.9; "
        rf"this is skconftree {skconftree.__version__}; "
        r"pip install skconftree==0\.0\.9",
    ):
        read(kind, state)


@pytest.mark.parametrize("name", sorted(ALL.keys() - {"evaluator", "one by one"}))
def test_unknown_parameters_are_refused_unless_this_version_wrote_them(name):
    """Then they are attributes that somebody has set."""
    kind, state = state_of(name)
    state["from_the_future"] = 1
    assert read(kind, state).from_the_future == 1
    state[VERSION] = "0.0.9"
    with pytest.raises(ValueError, match=r"'from_the_future'.* skconftree 0\.0\.9; th"):
        read(kind, state)


def later(n_parts=2):
    """The next release, and what its states are refused with."""
    own = skconftree.__version__.split(".")
    version = ".".join([*own[: n_parts - 1], str(int(own[n_parts - 1]) + 1), "0"])
    remedy = (
        f"was written by skconftree {version}; this is skconftree "
        f"{skconftree.__version__}; pip install skconftree=={version}"
    )
    return version, re.escape(remedy)


@pytest.mark.parametrize("name", [*ALL, "audit", "binary tests"])
def test_states_of_a_later_version_are_refused(name):
    """Its settings have the names that are known, but may mean something else."""
    for n_parts in (1, 2, 3):
        kind, state = state_of(name)
        version, remedy = later(n_parts)
        with pytest.raises(ValueError, match=remedy):
            read(kind, state | {VERSION: version})
    for same in (f"{skconftree.__version__}rc1", f"{skconftree.__version__}.dev0"):
        kind, state = state_of(name)
        read(kind, state | {VERSION: same})


@pytest.mark.parametrize("writer", ["9.9; rm -rf /", "9.9 --index-url x", 9.9, ["9"]])
def test_what_is_no_version_is_no_command(writer):
    kind, state = state_of("tree")
    state[VERSION] = writer
    state["_model"]["from_the_future"] = 1
    with pytest.raises(ValueError, match="from_the_future") as caught:
        read(kind, state)
    assert "pip install" not in str(caught.value)


def test_a_journal_of_a_later_version_is_refused_and_unchanged(tmp_path):
    path = tmp_path / "answers.jsonl"
    learner = ActiveLearner(ConfidenceTreeClassifier(), random_state=0)
    with LabelingSession(learner, path, X, budget=3) as session:
        session.answer(int(Y[session.question().row]))
    version, remedy = later()
    text = path.read_text().replace(skconftree.__version__, version, 1)
    path.write_text(text + '{"row": 3, "la')  # killed while it wrote
    for open_it in (
        lambda: LabelingSession.resume(path, X),
        lambda: LabelingSession(learner, path, X, budget=3),
    ):
        with pytest.raises(ValueError, match=f"answers.jsonl {remedy}"):
            open_it()
    assert path.read_text().startswith(text)
    assert path.read_text() != text


@pytest.mark.parametrize("save", [pickle.dumps, skops_bytes], ids=["pickle", "skops"])
@pytest.mark.parametrize("name", [*ALL, "audit", "binary tests"])
@pytest.mark.filterwarnings("ignore:.*labels:UserWarning")
def test_files_name_the_version(name, save):
    if name in ("audit", "binary tests") and save is skops_bytes:
        pytest.skip("only models and learners are written with skops")
    data = save(ALL[name]() if name in ALL else OTHERS[name]())
    assert VERSION.encode() in data
    assert skconftree.__version__.encode() in data


@pytest.mark.parametrize("name", ["tree", "growing tree", "NCM tree"])
def test_the_pickle_of_a_tree_alone_names_the_version(name):
    tree = ALL[name]().tree_
    restore, (writer, *parts) = tree.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    assert writer == skconftree.__version__
    assert writer.encode() in pickle.dumps(tree)
    assert np.array_equal(pickle.loads(pickle.dumps(tree)).counts, tree.counts)
    version, remedy = later()
    with pytest.raises(ValueError, match=f"This tree {remedy}"):
        restore(version, *parts)


def test_a_part_without_a_default_is_missing():
    for name, part in (("tree", "classes"), ("forest", "trees"), ("NCM tree", "tree")):
        kind, state = state_of(name)
        del state["_model"][part]
        with pytest.raises(ValueError, match="corrupt"):
            read(kind, state)


def test_a_growing_tree_of_before_the_last_parts():
    _, state = state_of("growing tree")
    whole = state["_model"]["grower"][1]
    n_parts = len(GrowerState._fields)
    assert len(whole) == n_parts + 1
    for n in range(7, n_parts + 2):
        assert read_state(whole[:n])[: n - 1] == whole[1:n]
    for other in (whole[:6], (*whole, None), (whole[0] - 1, *whole[1:])):
        with pytest.raises(ValueError, match="must have version"):
            read_state(other)


def test_a_model_without_a_later_setting_grows_on():
    model = ConfidenceTreeClassifier().partial_fit(X[::2], Y[::2], CLASSES)
    other = copy.copy(model)
    state = model.__getstate__()
    del state["_model"]["grower"][0]["settings"]["root_grace"]
    other.__setstate__(state)
    for one in (model, other):
        one.partial_fit(X[1::2], Y[1::2])
    assert np.array_equal(other.predict_proba(X), model.predict_proba(X))
