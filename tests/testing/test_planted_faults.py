"""Each check of a plug-in finds what is broken, and says so in a sentence.

A check that lets a broken plug-in pass is worse than none: its author trusts it.
"""

from itertools import cycle
from numbers import Real

import numpy as np
import pytest
from reference.compiling import compiled
from reference.registries import CRITERIA

from skconftree import ConfidenceTreeClassifier
from skconftree._compat import Interval
from skconftree.active import MarginSampling
from skconftree.active.pool import SamplingStrategy, StoppingRule
from skconftree.active.stream import StreamStrategy
from skconftree.bounds import GTestBound
from skconftree.drift import ADWIN, DDM
from skconftree.testing import (
    check_bound,
    check_criterion,
    check_detector,
    check_pruning,
    check_stopping_rule,
    check_strategy,
)
from skconftree.testing._plug_ins import table
from skconftree.tree import BasePruning, C45Pruning, CostComplexityPruning


def told(check, *given):
    """What a check says of a broken plug-in."""
    with pytest.raises(AssertionError) as error:
        check(*given)
    sentence = str(error.value)
    assert "\n" not in sentence.split(" Got ")[0].split(", but raised ")[0]
    return sentence


# -- bounds ------------------------------------------------------------------------


class Noting(GTestBound):
    """Counts in itself how often it is asked."""

    def _make_kernel(self, criterion, n_classes):
        self.asked = getattr(self, "asked", 0) + 1
        return super()._make_kernel(criterion, n_classes)


class Fickle(GTestBound):
    """Changes its delta with each question, and nobody sees it."""

    deltas = cycle((1e-9, 0.4))

    def _make_kernel(self, criterion, n_classes):
        return GTestBound(next(self.deltas)).kernel(criterion, n_classes)


class Unchecked(GTestBound):
    """Takes any delta until it is too late."""

    def check_parameters(self):
        pass


class Forgetful(GTestBound):
    """Has a parameter without a constraint."""

    def __init__(self, delta=1.0, extra=1.0):
        super().__init__(delta)
        self.extra = extra


class Nameless(GTestBound):
    delta_parameter = "level"


class Boastful(GTestBound):
    levels = (1.0, -7.0)


class Silent(GTestBound):
    def _make_kernel(self, criterion, n_classes):
        raise RuntimeError("not today")


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ("gtest", "must be an object of a class derived from BaseBound"),
        (Noting(), "Noting must not be changed by a decision; its attributes"),
        (Fickle(), "Fickle must return the same result for the same counts"),
        (
            Unchecked(),
            "must raise an error for an invalid value of its parameter 'delta'",
        ),
        (
            Forgetful(),
            "must raise an error for an invalid value of its parameter 'extra'",
        ),
        (Nameless(), "delta_parameter must be one of its parameters. Got 'level'"),
        (Boastful(), "must accept -7.0, which is one of its levels, but raised"),
        (Silent(), "must evaluate children [[30, 2], [1, 40]], but raised Runtime"),
        (GTestBound(1e-300), "split a column that separates the classes"),
    ],
)
def test_bound(bound, words):
    assert words in told(check_bound, bound)


# -- criteria ----------------------------------------------------------------------

BROKEN_CRITERIA = """
from skconftree.criteria._criterion cimport Criterion, Gini
from skconftree.criteria._score cimport SplitBlock
from skconftree.utils._typedefs cimport float64_t, intp_t

cdef class Doubled(Gini):
    cdef float64_t node(self, const float64_t* counts, float64_t n) noexcept nogil:
        return 2.0 * Gini.node(self, counts, n)

cdef class Constant(Criterion):
    cdef float64_t node(self, const float64_t* counts, float64_t n) noexcept nogil:
        return n / 2.0
    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil:
        cdef intp_t i
        for i in range(splits.size):
            out[i] = self.n / 2.0

cdef class Blockless(Criterion):
    cdef float64_t node(self, const float64_t* counts, float64_t n) noexcept nogil:
        return 0.0
"""


class Untabulated(CRITERIA["entropy"]):
    """Its tables hold something else than its scores."""

    off = 0.0

    def reserve(self, n_max):
        self.off = 1.0

    def evaluate(self, *given, **more):
        return super().evaluate(*given, **more) + self.off


@pytest.mark.slow
def test_criterion(tmp_path):
    broken = compiled(tmp_path, BROKEN_CRITERIA, "broken_criteria")
    for name, words in {
        "Doubled": "Doubled must score a split the same in a block and by its outcomes",
        "Constant": "Constant must score a node of one class as 0. Got 4.5",
        "Blockless": "but raised NotImplementedError: Blockless does not define block",
    }.items():
        assert words in told(check_criterion, getattr(broken, name))
    words = "Untabulated must score the same with tabulated values (reserve)"
    assert words in told(check_criterion, Untabulated)


# -- prunings ----------------------------------------------------------------------


class Outside(C45Pruning):
    def __init__(self, confidence=2.0):
        self.confidence = confidence


class Boundless(CostComplexityPruning):
    _parameter_constraints = {"ccp_alpha": [Interval(Real, 0.0, None, closed="both")]}


class Rangeless(C45Pruning):
    _parameter_constraints = {"confidence": [Real]}


class Undefined(BasePruning):
    _parameter_constraints = C45Pruning._parameter_constraints

    def __init__(self, confidence=0.5):
        self.confidence = confidence


class OtherRows(Undefined):
    """Gives a tree of its own."""

    def prune(self, tree, rows):
        return ConfidenceTreeClassifier().fit(*table(90)).tree_


class Larger(OtherRows):
    """Grows what it should prune."""

    def prune(self, tree, rows):
        X = np.random.default_rng(0).normal(size=(5000, 3))
        y = np.arange(5000) % 3
        return ConfidenceTreeClassifier(None).fit(X, y).tree_


class Careless(OtherRows):
    """Prunes by a coin."""

    prune = BasePruning.prune

    def keep_as_leaf(self, tree, rows):
        return np.random.default_rng().random(tree.node_count) < 0.1


@pytest.mark.parametrize(
    ("pruning", "words"),
    [
        (Outside, "'confidence' parameter of Outside must be a float in the range"),
        (Boundless, "must not contain inf"),
        (Rangeless, "Rangeless.strength_range must be defined"),
        (OtherRows, "must return a tree of the same rows"),
        (Larger, "must return a tree that is not larger"),
        (Careless, "must return the same tree in each call"),
        (Undefined, "but raised NotImplementedError: Undefined does not define cost"),
    ],
)
def test_pruning(pruning, words):
    assert words in told(check_pruning, pruning())


# -- detectors ---------------------------------------------------------------------


class Deaf(DDM):
    """Waits for more rows than there are."""

    def _make_kernel(self):
        return DDM(min_samples=10**6).kernel()


class Trusting(ADWIN):
    def check_parameters(self):
        pass

    def _make_kernel(self):
        return ADWIN().kernel()


class Absent(DDM):
    """Forgets what it has learned when it is pickled."""

    def __getstate__(self):
        return {k: v for k, v in super().__getstate__().items() if k != "_running"}


class Double(DDM):
    """Says a row twice to what counts it."""

    def update_many(self, errors):
        super().update_many(errors)
        return super().update_many(errors)


@pytest.mark.parametrize(
    ("detector", "words"),
    [
        (DDM, "must be an object of a class derived from BaseDetector"),
        (Deaf(), "Deaf must detect a drift when the error rate rises"),
        (
            Trusting(),
            "must raise an error for an invalid value of its parameter 'drift_delta'",
        ),
        (Absent(), "Absent must return the same for any partition into calls"),
        (Double(), "Double must count its rows and drifts. Got (6000,"),
    ],
)
def test_detector(detector, words):
    assert words in told(check_detector, detector)


# -- strategies --------------------------------------------------------------------


class First(SamplingStrategy):
    """Takes rows in the order of the pool."""

    def score(self, context):
        return np.arange(len(context.candidates), 0.0, -1.0)


class Repeating(SamplingStrategy):
    def select(self, context, k):
        return np.zeros(k, dtype=np.intp), np.zeros(k)


class Nowhere(SamplingStrategy):
    def score(self, context):
        return np.full(len(context.candidates), np.inf)


class Moody(SamplingStrategy):
    """Draws from a generator of its own."""

    def score(self, context):
        return np.random.default_rng().random(len(context.candidates))


class Counting(SamplingStrategy):
    """Remembers in itself how often it was asked."""

    def score(self, context):
        self.asked = getattr(self, "asked", 0) + 1
        return np.zeros(len(context.candidates))


class Writing(SamplingStrategy):
    def score(self, context):
        context.X[:] = 0.0
        return np.zeros(len(context.candidates))


class Priceless(MarginSampling):
    """Its scores are below 0, which have no worth per cost."""

    def score(self, context):
        return super().score(context) - 1.0


class Loose(MarginSampling):
    def __init__(self, width=1.0):
        self.width = width


class Choosy(SamplingStrategy):
    needs = ("soul",)


class Spending(StreamStrategy):
    """Buys whatever it sees."""

    def decide(self, context, state, asked):
        asked[:] = 1
        return context.n_rows


class Idle(StreamStrategy):
    def wants(self, context, i):
        return False


class Chunky(StreamStrategy):
    """Asks for the last row that it is shown."""

    def wants(self, context, i):
        return i % 40 == 39 or context.n_rows == 1


class Holding(StreamStrategy):
    """Remembers in itself what it was asked."""

    def wants(self, context, i):
        self.last = context.first + i
        return self.last % 20 == 19


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ("margin", "must be an object of a class derived from SamplingStrategy"),
        (First(), "must select among equal rows at random"),
        (Repeating(), "must select 7 rows, but raised ValueError"),
        (Nowhere(), "must return a finite score for each row"),
        (Moody(), "must select the same rows until labels are added"),
        (
            Counting(),
            "must not be changed by a query; its attributes have changed",
        ),
        (Writing(), "Writing must not write to the pool"),
        (Priceless(), "must support costs, or set takes_costs = False, but raised"),
        (Loose(), "must raise an error for an invalid value of its parameter 'width'"),
        (Spending(), "must keep to the budget at every row; budget 0.03 was exceeded"),
        (Idle(), "must query a label of 600 rows with budget 0.03"),
        (Chunky(), "must decide the same for any partition into calls"),
        (Holding(), "Holding must not be changed by a query"),
        (
            Choosy(),
            "Pass an estimator with the required capabilities: Choosy needs soul",
        ),
    ],
)
def test_strategy(strategy, words):
    assert words in told(check_strategy, strategy)


# -- stopping rules ----------------------------------------------------------------


class Mute(StoppingRule):
    def reached(self, context):
        context.n_labeled > 5  # noqa: B015


class Eager(StoppingRule):
    """Asks a classifier that is not there yet."""

    def reached(self, context):
        return context.estimator.predict(context.X).mean() > 0.5


class Ticking(StoppingRule):
    """Counts its looks, whoever is looked at."""

    looks = 0

    def reached(self, context):
        Ticking.looks += 1
        return Ticking.looks > 20


class Keeping(StoppingRule):
    def reached(self, context):
        self.last = context.n_labeled
        return self.last > 20


class Meddling(StoppingRule):
    def reached(self, context):
        context.codes[0] = 1
        return False


class Greedy(StoppingRule):
    random_share = 1.5

    def reached(self, context):
        return context.n_labeled > 20


class Unread(Greedy):
    random_share = 0.0

    def __init__(self, most=20):
        self.most = most


class Plain:
    """Derived from nothing; whose parameters are its own affair."""

    def __init__(self, most=20):
        self.most = most

    def reached(self, context):
        return context.n_labeled >= self.most


class Remembering(Plain):
    def reached(self, context):
        self.last = context.n_labeled
        return super().reached(context)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (None, "None must be an object with reached(context)"),
        (Mute, "must be an object with reached(context)"),
        (Mute(), "Mute.reached must return a bool. Got None"),
        (Eager(), "before the first query, but raised AttributeError"),
        (Ticking(), "must stop equal learners after as many labels"),
        (Keeping(), "Store values in context.memory"),
        (Meddling(), "assignment destination is read-only"),
        (Greedy(), "Greedy.random_share must be between 0 and 1. Got 1.5"),
        (Unread(), "must raise an error for an invalid value of its parameter 'most'"),
        (Plain(most="20"), "Plain must return whether to stop"),
        (Remembering(), "Store values in context.memory"),
    ],
)
def test_stopping_rule(rule, words):
    assert words in told(check_stopping_rule, rule)


def test_a_stopping_rule_without_a_base_class():
    check_stopping_rule(Plain())


def test_a_stopping_rule_that_cannot_be_pickled():
    rule = Plain()
    rule.most = lambda: 20
    assert "Plain must be pickled" in told(check_stopping_rule, rule)
