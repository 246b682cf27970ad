"""The code printed in CONTRIBUTING.md compiles and satisfies the contracts.

Who adds a bound, a pruning, a detector or a criterion starts from that text; one that
does not compile, or whose parameter never arrives, costs them an evening. Compiling
takes seconds, so these tests are slow ones.
"""

import pickle
import re
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from reference.compiling import compiled, compiled_together
from reference.registries import BOUNDS, CRITERIA, DETECTORS, MEMORIES, PRUNINGS, lax

from skconftree import ConfidenceTreeClassifier
from skconftree.active import StreamActiveLearner
from skconftree.bounds import BaseBound, GTestBound, TreeDefaults, param_grid
from skconftree.drift._registry import resolve_detector
from skconftree.testing import (
    check_bound,
    check_criterion,
    check_detector,
    check_pruning,
)
from skconftree.testing._plug_ins import make_drift_stream, make_noisy_table, table
from skconftree.tree.pruning._base import TrainingRows
from skconftree.tree.pruning._registry import prune, resolve_pruning

TEXT = Path(__file__).parents[1] / "CONTRIBUTING.md"


def printed(name):
    """Return the printed source that defines a class."""
    blocks = re.findall(
        r"```(?:cython|python)\n(.*?)```", TEXT.read_text("utf-8"), re.S
    )
    (source,) = [block for block in blocks if f"class {name}(" in block]
    return textwrap.dedent(source)


@pytest.fixture(scope="module")
def plugins_of_the_text(tmp_path_factory):
    """The classes that are printed, by name."""
    folder = tmp_path_factory.mktemp("printed")
    names = ("MyBound", "MyDetector", "MyCriterion")
    modules = compiled_together(
        folder, {f"printed_{name.lower()}": printed(name) for name in names}
    )
    found = {
        name: getattr(module, name)
        for name, module in zip(names, modules.values(), strict=True)
    }
    namespace = {"__name__": "printed_mypruning"}
    exec(printed("MyPruning"), namespace)
    found["MyPruning"] = namespace["MyPruning"]
    yield found
    for name in found:
        sys.modules.pop(f"printed_{name.lower()}", None)


@pytest.mark.slow
def test_every_printed_class_is_tried(plugins_of_the_text):
    text = TEXT.read_text("utf-8")
    told = set(
        re.findall(r"^ *class (My\w+)\(|^ *cdef class (My\w+)\(Crit", text, re.M)
    )
    assert {name for pair in told for name in pair if name} == set(plugins_of_the_text)


@pytest.mark.slow
def test_the_parameter_of_the_printed_bound_matters(plugins_of_the_text):
    MyBound = plugins_of_the_text["MyBound"]
    assert issubclass(MyBound, BaseBound)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(int)
    leaves = [
        ConfidenceTreeClassifier(MyBound(delta=delta)).fit(X, y).get_n_leaves()
        for delta in (0.02, 0.3, 0.95)
    ]
    assert leaves[0] > leaves[1] > leaves[2] == 1
    with pytest.raises(ValueError, match="'delta' parameter of MyBound"):
        ConfidenceTreeClassifier(MyBound(delta=2.0)).fit(X, y)


@pytest.mark.slow
def test_the_printed_bound_keeps_the_contract(plugins_of_the_text, monkeypatch):
    """As an object, and by its name once it has a row in the registry."""
    MyBound = plugins_of_the_text["MyBound"]
    check_bound(lax(MyBound()), leaf_memories=MEMORIES)
    monkeypatch.setitem(BOUNDS, "mine", MyBound)
    X, y = table()
    by_name = ConfidenceTreeClassifier("mine", delta=0.3).fit(X, y)
    by_object = ConfidenceTreeClassifier(MyBound(delta=0.3)).fit(X, y)
    np.testing.assert_array_equal(by_name.tree_.threshold, by_object.tree_.threshold)
    assert by_name.get_n_leaves() > 1
    (grid,) = param_grid(["mine"], 5)
    assert grid["delta"] == list(MyBound.levels)


@pytest.mark.slow
def test_the_printed_pruning_keeps_the_contract(plugins_of_the_text, monkeypatch):
    MyPruning = plugins_of_the_text["MyPruning"]
    check_pruning(MyPruning())
    monkeypatch.setitem(PRUNINGS, "mine", MyPruning)
    named = resolve_pruning("mine", TreeDefaults())
    assert repr(named) == repr(MyPruning(1.0))
    X, y = make_noisy_table()
    full = ConfidenceTreeClassifier(None).fit(X, y).tree_
    rows = TrainingRows(lambda: (X, y, None), "gini", None)
    sizes = [
        prune(full, MyPruning(price), rows).node_count for price in (0.0, 2.0, 1e6)
    ]
    assert full.node_count >= sizes[0] > sizes[1] > sizes[2] == 1


@pytest.mark.slow
def test_the_printed_detector_keeps_the_contract(plugins_of_the_text, monkeypatch):
    MyDetector = plugins_of_the_text["MyDetector"]
    check_detector(MyDetector())
    monkeypatch.setitem(DETECTORS, "mine", MyDetector)
    assert isinstance(resolve_detector("mine"), MyDetector)


def stream_of(detector):
    X, y = make_drift_stream()
    learner = StreamActiveLearner(
        ConfidenceTreeClassifier(),
        strategy="split",
        budget=0.5,
        drift=detector,
        classes=[0, 1],
        random_state=0,
    )
    learner.fit(X[:200], y[:200]).run(X[200:600], y[200:600])
    return learner


@pytest.mark.slow
def test_files_hold_learners_with_the_printed_detector(plugins_of_the_text):
    """Of a stream, which know where it is, and of growing trees."""
    io = pytest.importorskip("skops.io")
    X, y = make_drift_stream()
    detector = plugins_of_the_text["MyDetector"](4)
    tree = ConfidenceTreeClassifier(drift=detector)
    tree.partial_fit(X[:600], y[:600], classes=[0, 1])
    learner = stream_of(detector)
    detector.update_many([0, 1, 1])
    for one in (learner, tree, detector):
        data = io.dumps(one)
        for other in (
            io.loads(data, trusted=io.get_untrusted_types(data=data)),
            pickle.loads(pickle.dumps(one)),
        ):
            assert pickle.dumps(other) == pickle.dumps(one)
    other = io.loads(
        io.dumps(learner), trusted=io.get_untrusted_types(data=io.dumps(learner))
    )
    for each in (learner, other):
        each.run(X[600:], y[600:])
    assert other.n_drifts_ == learner.n_drifts_
    assert pickle.dumps(other) == pickle.dumps(learner)


@pytest.mark.slow
def test_a_detector_that_no_file_of_skops_holds_says_so(plugins_of_the_text, tmp_path):
    """A kernel whose __reduce__ is another one; a parameter that has changed."""
    io = pytest.importorskip("skops.io")
    source = printed("MyDetector")
    reduced = 'MyKernel, (self.max_run,), {**self.totals(), "run": self.run}'
    assert reduced in source
    source = source.replace(
        reduced, 'made_again, (self.max_run, {**self.totals(), "run": self.run})'
    )
    source += (
        "\n\ndef made_again(max_run, state):\n    kernel = MyKernel(max_run)\n"
        "    kernel.__setstate__(state)\n    return kernel\n"
    )
    module = compiled(tmp_path, source, "without_recipe")
    try:
        learner = stream_of(module.MyDetector())
        detector = module.MyDetector()
        detector.update_many([0, 1, 1])
        for one in (learner, detector):
            assert pickle.dumps(pickle.loads(pickle.dumps(one))) == pickle.dumps(one)
            with pytest.raises(
                TypeError, match=r"MyKernel.*its __reduce__ must return"
            ):
                io.dumps(one)
    finally:
        sys.modules.pop("without_recipe", None)
    learner = stream_of(plugins_of_the_text["MyDetector"]())
    learner.set_params(drift="ddm")
    assert pickle.dumps(pickle.loads(pickle.dumps(learner))) == pickle.dumps(learner)
    with pytest.raises(TypeError, match=r"MyKernel.*parameter drift.*Set it to the"):
        io.dumps(learner)


@pytest.mark.slow
def test_the_printed_criterion_keeps_the_contract(plugins_of_the_text, monkeypatch):
    make = plugins_of_the_text["MyCriterion"]
    check_criterion(make)
    monkeypatch.setitem(CRITERIA, "mine", make)
    monkeypatch.setattr(GTestBound, "criteria", (*GTestBound.criteria, "mine"))
    answer = GTestBound().evaluate([[9, 1], [1, 9]], criterion="mine")
    assert answer.parent_limit == pytest.approx(0.5)
    assert answer.score == pytest.approx(2 / 3 * (1 - 0.9**3 - 0.1**3))


def test_the_text_names_every_function_of_a_leaf_memory():
    contract = TEXT.parent / "skconftree" / "tree" / "leaves" / "_contract.pxd"
    contract = contract.read_text("utf-8").split("cdef struct LeafMemory:\n")[1]
    wanted = set(re.findall(r"\(\*(\w+)\)\(", contract))
    section = TEXT.read_text("utf-8").split("## Add a leaf memory")[1].split("\n## ")[0]
    rows = "".join(line.split("|")[1] for line in section.splitlines() if "|" in line)
    assert set(re.findall(r"`(\w+)`", rows)) == wanted


INCOMPLETE = """
from skconftree.bounds._base import BaseBound

from skconftree.bounds._contract cimport (
    Bound, EvidenceBound, IntervalBound, NodeStats, Score, SplitEvidence, SplitBlock,
)
from skconftree.bounds._contract cimport RaceBound
from skconftree.utils._typedefs cimport float64_t, intp_t

cdef class Silent(Bound):
    pass

cdef class Deciding(Bound):
    cdef bint decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        return True

cdef class Ranking(Deciding):
    def __init__(self):
        self.ranks_features = True

cdef class Half(Score):
    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        pass

cdef class Whole(Half):
    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil:
        return 0.0

cdef class Additive(Whole):
    def __init__(self):
        self.additive = True

cdef class Scored(Deciding):
    def __init__(self):
        self.score = Whole()

cdef class Weighing(EvidenceBound):
    cdef bint decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        return True

cdef class HalfWeighing(Weighing):
    def __init__(self, score):
        self.score = score

cdef class Limit(IntervalBound):
    def __init__(self):
        self.score = Whole()

cdef class Racing(RaceBound):
    pass

KERNELS = {
    "Silent does not define decide": Silent,
    "Ranking does not define rank": Ranking,
    "Weighing does not define score": Weighing,
    "Half does not define outcomes": lambda: HalfWeighing(Half()),
    "Score does not define block": lambda: HalfWeighing(Score()),
    "Additive does not define phi": lambda: HalfWeighing(Additive()),
    "Limit does not define cost": Limit,
    "Racing does not define radius": lambda: Racing("gini", 2),
    "Scored has a score": Scored,
    "": Deciding,
}

class Incomplete(BaseBound):
    criteria = ("gini",)
    delta_parameter = "words"
    def __init__(self, words=""):
        self.words = words
    def _make_kernel(self, criterion, n_classes):
        return KERNELS[self.words]()
"""


@pytest.mark.slow
def test_a_kernel_that_lacks_something_is_refused_with_its_name(tmp_path):
    module = compiled(tmp_path, INCOMPLETE, "incomplete_bounds")
    X, y = table(60)
    for words in module.KERNELS:
        bound = module.Incomplete(words)
        tree = ConfidenceTreeClassifier(bound)
        if not words:
            tree.fit(X, y)
            continue
        for call in (bound.kernel, bound.evaluate, tree.fit):
            arguments = {"kernel": ("gini", 2), "evaluate": ([[1, 2], [2, 1]],)}
            with pytest.raises((NotImplementedError, TypeError), match=words):
                call(*arguments.get(call.__name__, (X, y)))
        assert not hasattr(tree, "tree_")
    del sys.modules["incomplete_bounds"]
