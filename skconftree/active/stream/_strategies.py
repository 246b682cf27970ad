"""Query strategies for streams.

The *random branch* is a random part of the rows whose labels are queried at random. An
*account* counts the rows and the queried labels of a branch. The *radius* of a leaf is
a confidence radius: if half the difference of its two largest class shares (the *gap*)
exceeds it, the majority class of the leaf is known with confidence. Of a
`StreamContext`, `certainty` has the largest class probability of each row, `first` is
the number of the first row in the stream, and `budget` an account with its `share`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from sklearn.base import BaseEstimator

from ..._compat import Interval, StrOptions
from ...bounds import consistency_radius
from ...bounds._base import check_range
from ...utils._codec import VersionedState
from ...utils._types import Floats
from ._decisions import Accounts, decide_at_random, decide_by_threshold

if TYPE_CHECKING:
    from ._context import StreamContext

# Keys of random draws, one for each purpose; `StreamContext.draws` returns a uniform
# number from [0, 1) for each row.
FOR_QUERIES, FOR_BRANCH, FOR_RANDOM, FOR_NOISE = range(4)

# Default thresholds of the scores of OASIS, generalized binary search and uncertainty,
# in the range of those that Rupprechter (2012, see `QueryScoreSampling`) uses.
THRESHOLDS = {"oasis": 0.1, "gbs": 0.45, "uc": 0.05}


class StreamStrategy(VersionedState, BaseEstimator):
    """Base class of query strategies for streams, which decide row by row.

    A custom strategy defines `wants`, which is called for each row while the budget
    permits queries. Its memory between rows is ``state``, an array of numbers that the
    learner stores and pickles.

    Attributes
    ----------
    needs : tuple of str
        Capabilities that the estimator must have: ``"predict_proba"``, ``"leaves"``,
        ``"query_score"``.
    has_random_branch : bool
        Whether some labels are queried at random. Only these feed the drift detector.

    See Also
    --------
    skconftree.testing.check_strategy : Checks a custom strategy.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import StreamActiveLearner
    >>> from skconftree.active.stream import StreamStrategy
    >>> class EveryFifth(StreamStrategy):
    ...     def wants(self, context, i):
    ...         return (context.first + i) % 5 == 4
    >>> learner = StreamActiveLearner(
    ...     ConfidenceTreeClassifier(), strategy=EveryFifth(), budget=0.5)
    >>> np.flatnonzero(learner.query(np.zeros((12, 2))))
    array([4, 9])
    """

    needs = ()
    has_random_branch = False

    _parameter_constraints: dict = {}

    def start(self) -> Floats:
        """Create the state of the strategy before the first row.

        Returns
        -------
        ndarray of float64
            Initial state.
        """
        return np.zeros(1)

    def wants(self, context: StreamContext, i: int) -> bool:
        """Return whether to query the label of a row, which the budget permits.

        Parameters
        ----------
        context : StreamContext
            The rows and the current model.
        i : int
            Index of the row in `context.X`.

        Returns
        -------
        bool
            Whether the label is queried.
        """
        raise NotImplementedError(f"{type(self).__name__} must define wants.")

    def decide(
        self, context: StreamContext, state: Floats, queried: NDArray[np.uint8]
    ) -> int:
        """Decide on rows in their order.

        Parameters
        ----------
        context : StreamContext
            The rows, the model and the budget, which is charged.
        state : ndarray of float64
            State of the strategy, modified in place.
        queried : ndarray of shape (n_rows,), uint8
            Output: 1 for rows whose label is queried.

        Returns
        -------
        int
            Number of rows decided: all, or with ``context.stop`` the rows up to the
            first query.
        """
        # `begin` counts a row and returns whether the budget permits a query, `end`
        # counts the query.
        for i in range(context.n_rows):
            queried[i] = context.budget.begin() and bool(self.wants(context, i))
            context.budget.end(queried[i])
            if context.stop and queried[i]:
                return i + 1
        return context.n_rows

    def random_branch(self, context: StreamContext) -> NDArray[np.uint8]:
        """Mark rows whose labels are queried purely at random.

        Parameters
        ----------
        context : StreamContext
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,), uint8
            1 for rows of the random branch.
        """
        return np.zeros(context.n_rows, dtype=np.uint8)


class _ProbabilisticStrategy(StreamStrategy):
    # Strategies that query the label of each row with a given probability.

    def chances(self, context: StreamContext) -> Floats:
        """Probability of querying the label of each row.

        Parameters
        ----------
        context : StreamContext
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Probabilities.
        """
        raise NotImplementedError

    def decide(self, context: Any, state: Floats, queried: NDArray[np.uint8]) -> int:
        return decide_at_random(
            context.budget,
            self.chances(context),
            context.draws(FOR_QUERIES),
            queried,
            context.stop,
        )


class RandomStream(_ProbabilisticStrategy):
    """Random sampling: queries each label with a probability equal to the budget.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import StreamActiveLearner
    >>> learner = StreamActiveLearner(
    ...     ConfidenceTreeClassifier(), strategy="random", budget=0.2, random_state=0)
    >>> bool(0.1 < learner.query(np.zeros((1000, 2))).mean() <= 0.2)
    True
    """

    has_random_branch = True

    def chances(self, context: StreamContext) -> Floats:
        return np.full(context.n_rows, context.budget.share)

    def random_branch(self, context: StreamContext) -> NDArray[np.uint8]:
        return np.ones(context.n_rows, dtype=np.uint8)


class FixedUncertainty(_ProbabilisticStrategy):
    """Uncertainty sampling with a fixed threshold.

    A label is queried if the largest class probability is below the threshold. A model
    that is confident everywhere, rightly or not, queries no more labels.

    Parameters
    ----------
    threshold : float, default=0.9
        Threshold of the largest probability, in (0, 1]. Larger values query more.

    Examples
    --------
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import FixedUncertainty, StreamActiveLearner
    >>> learner = StreamActiveLearner(
    ...     ConfidenceTreeClassifier(), strategy=FixedUncertainty(0.8))
    """

    needs = ("predict_proba",)

    _parameter_constraints = {"threshold": [Interval(Real, 0, 1, closed="right")]}

    def __init__(self, threshold: float = 0.9) -> None:
        self.threshold = threshold

    def chances(self, context: StreamContext) -> Floats:
        return (context.certainty < self.threshold).astype(np.float64)


@dataclass(eq=False, repr=False)
class QueryScoreSampling(_ProbabilisticStrategy):
    """Query strategy with a threshold for the classifier's own query score.

    The classifier must have `query_score`, like :class:`~skconftree.OASISClassifier`.
    All labels are queried until there is a model.

    Parameters
    ----------
    score : {"oasis", "gbs", "uc"}, default="oasis"
        Which score. Small values are informative; of ``"gbs"``, large values are.
    threshold : float or None, default=None
        Labels are queried if the score is below the threshold, with ``"gbs"`` if it is
        above. ``"oasis"`` and ``"gbs"`` query the same rows at thresholds :math:`s` and
        :math:`(1 - s) / 2`. None: 0.1, 0.45 and 0.05.

    References
    ----------
    .. [1] A. Goldberg, X. Zhu, A. Furger, J.-M. Xu (2011), "OASIS: online active
       semi-supervised learning", AAAI.
    .. [2] B. Rupprechter (2012), "Noisy active learning from a Bayesian perspective",
       Master thesis, ETH Zurich, table 4.3.

    Examples
    --------
    >>> from skconftree import OASISClassifier
    >>> from skconftree.active import QueryScoreSampling, StreamActiveLearner
    >>> from skconftree.datasets import make_diced
    >>> X, y = make_diced(500, random_state=0)
    >>> learner = StreamActiveLearner(
    ...     OASISClassifier(), strategy=QueryScoreSampling("uc", threshold=0.1),
    ...     classes=[0, 1], random_state=0)
    >>> run = learner.run(X, y)
    >>> learner.queried_share_ <= 0.1, bool(learner.score(X, y) > 0.9)
    (True, True)
    """

    needs = ("query_score",)

    _parameter_constraints = {
        "score": [StrOptions(set(THRESHOLDS))],
        "threshold": [Interval(Real, 0, 1, closed="both"), None],
    }

    score: Literal["oasis", "gbs", "uc"] = "oasis"
    threshold: float | None = None

    def chances(self, context: StreamContext) -> Floats:
        if context.estimator is None:
            return np.ones(context.n_rows)
        limit = THRESHOLDS[self.score] if self.threshold is None else self.threshold
        scores = context.estimator.query_score(context.X, score=self.score)
        is_queried = scores > limit if self.score == "gbs" else scores < limit
        return is_queried.astype(np.float64)


@dataclass(eq=False, repr=False)
class VariableUncertainty(StreamStrategy):
    """Uncertainty sampling with an adaptive threshold.

    The threshold decreases by the fraction `step` after each query and increases after
    each other row, so that labels are queried along the whole stream. It does not
    change while the budget is exhausted.

    Parameters
    ----------
    step : float, default=0.01
        Relative change of the threshold per row, in [0, 1). Larger values adapt faster.
    noise : float, default=0.0
        Standard deviation of a random factor of mean 1, by which the threshold is
        multiplied for each row. With 1, as published, labels of rows with a confident
        prediction are queried occasionally (``"random_variable_uncertainty"``).

    References
    ----------
    .. [1] I. Zliobaite, A. Bifet, B. Pfahringer, G. Holmes (2014), "Active learning
       with drifting streaming data", IEEE Transactions on Neural Networks and Learning
       Systems 25.

    Examples
    --------
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import StreamActiveLearner, VariableUncertainty
    >>> learner = StreamActiveLearner(
    ...     ConfidenceTreeClassifier(), strategy=VariableUncertainty(noise=1.0))
    """

    needs = ("predict_proba",)

    _parameter_constraints = {
        "step": [Interval(Real, 0, 1, closed="left")],
        "noise": [Interval(Real, 0, None, closed="left")],
    }

    step: float = 0.01
    noise: float = 0.0

    def start(self) -> Floats:
        return np.ones(1)

    def decide(self, context: Any, state: Floats, queried: NDArray[np.uint8]) -> int:
        noise = np.ones(context.n_rows)
        if self.noise > 0.0:
            # above 0, where the normal quantile function is finite
            u = np.maximum(context.draws(FOR_NOISE), 2.0**-54)
            noise += self.noise * ndtri(u)
        return decide_by_threshold(
            context.budget,
            state,
            self.step,
            context.certainty,
            noise,
            self.random_branch(context),
            context.draws(FOR_RANDOM),
            queried,
            context.stop,
        )


class SelectiveSampling(_ProbabilisticStrategy):
    """Query labels with a probability that increases with the uncertainty.

    The probability is ``B / (B + |p - 1/K|)``, with the budget B and the largest p of K
    class probabilities. It is 1 before there is a model.

    References
    ----------
    .. [1] N. Cesa-Bianchi, C. Gentile, L. Zaniboni (2006), "Worst-case analysis of
       selective sampling for linear classification", JMLR 7.

    Examples
    --------
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import StreamActiveLearner
    >>> from skconftree.active.stream import SelectiveSampling
    >>> learner = StreamActiveLearner(
    ...     ConfidenceTreeClassifier(), strategy=SelectiveSampling())
    """

    needs = ("predict_proba",)

    def chances(self, context: StreamContext) -> Floats:
        if context.estimator is None:
            return np.ones(context.n_rows)
        share = context.budget.share
        gap = np.abs(context.certainty - 1.0 / context.n_classes)
        return share / (share + gap)


def query_probability(
    budget: float | ArrayLike, radius: float | ArrayLike, gap: float | ArrayLike
) -> NDArray[Any]:
    """Probability of a query in a leaf whose majority class is known with confidence.

    Parameters
    ----------
    budget : float or array-like
        Share of labels that may be queried, in (0, 1].
    radius : float or array-like
        Uncertainty of the majority, see
        :func:`~skconftree.bounds.consistency_radius`; not negative.
    gap : float or array-like
        Half the difference of the shares of the two most frequent classes, in [0, 1/2].

    Returns
    -------
    ndarray
        Probability; it increases with the budget and the radius, and decreases with the
        gap.

    Examples
    --------
    >>> from skconftree.active.stream import query_probability
    >>> float(round(query_probability(0.1, 0.1, 0.3), 3))
    0.4
    """
    budget = check_range("budget", budget, 0, 1, closed="right")
    radius = np.asarray(radius, dtype=np.float64)
    unlabeled = np.isposinf(radius)  # leaves without labels
    radius = check_range(
        "radius", np.where(unlabeled, 0, radius), 0, np.inf, closed="left"
    )
    gap = check_range("gap", gap, 0, 0.5, closed="both")
    return np.where(unlabeled, 1.0, (budget + radius) / (budget + radius + gap))[()]


@dataclass(eq=False, repr=False)
class ConfTreeSampling(_ProbabilisticStrategy):
    """Query strategy for the leaves of a tree with uncertain majority (ConfTree).

    A leaf is consistent if its most frequent class is the most probable class with
    probability ``1 - delta``. In consistent leaves, labels are queried with
    `probability`; in other leaves always, within the budget. Only labels queried since
    the leaf was created are counted.

    Parameters
    ----------
    consistency : {"theory", "practical"}, default="theory"
        Form of the radius, see :func:`~skconftree.bounds.consistency_radius`.
    c : float, default=1.0
        Factor of the radius in the practical form. Larger values query more labels.
    probability : callable, default=query_probability
        Function of budget, radius and gap that returns the probability of a query.

    References
    ----------
    .. [1] R. De Rosa, N. Cesa-Bianchi, "Confidence decision trees via online and
       active learning for streaming data", Journal of Artificial Intelligence
       Research 60 (2017), algorithm 2.

    Examples
    --------
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import ConfTreeSampling, StreamActiveLearner
    >>> learner = StreamActiveLearner(
    ...     ConfidenceTreeClassifier(), strategy=ConfTreeSampling("practical", c=0.5))
    """

    needs = ("leaves",)

    _parameter_constraints = {
        "consistency": [StrOptions({"theory", "practical"})],
        "c": [Interval(Real, 0, None, closed="neither")],
        "probability": [callable],
    }

    consistency: Literal["theory", "practical"] = "theory"
    c: float = 1.0
    probability: Callable[..., ArrayLike] = query_probability

    def chances(self, context: StreamContext) -> Floats:
        if context.estimator is None:
            return np.ones(context.n_rows)
        # label counts of the leaf of each row, and its number of rows so far
        counts, before = context.leaves.of(context.leaf_ids, context.n_classes)
        queried = counts.sum(axis=1)
        largest = np.sort(counts, axis=1)[:, -2:] / np.maximum(queried, 1.0)[:, None]
        gap = (largest[:, 1] - largest[:, 0]) / 2.0
        if self.consistency == "practical":
            # number of rows of the leaf, including the row to decide on
            seen = before + _previous_occurrences(context.leaf_ids) + 1.0
        else:
            seen = context.first + np.arange(context.n_rows) + 1.0
        radius = consistency_radius(
            queried,
            np.maximum(seen, 1.0),
            n_classes=context.n_classes,
            form=self.consistency,
            c=self.c,
        )
        chance = np.ones(context.n_rows)
        consistent = gap > radius
        chance[consistent] = self.probability(
            context.budget.share, radius[consistent], gap[consistent]
        )
        return chance


def _previous_occurrences(values):
    # Number of previous occurrences of each value.
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, len(values)])
    out = np.empty(len(values))
    out[order] = np.arange(len(values)) - np.repeat(starts, lengths)
    return out


class _RandomBranch(StreamStrategy):
    # Strategies that split the stream at random into two branches with accounts.

    has_random_branch = True

    _parameter_constraints = {
        "nu": [Interval(Real, 0, 1, closed="neither")],
        "n_accounts": [Interval(Integral, 1, 2, closed="both")],
    }

    def start(self) -> Floats:
        # three numbers per account, see `Accounts`
        accounts = np.zeros(6 if self.n_accounts == 2 else 0)
        return np.concatenate([super().start(), accounts])

    def decide(self, context: Any, state: Floats, queried: NDArray[np.uint8]) -> int:
        if self.n_accounts == 1:
            return super().decide(context, state, queried)
        state, spent = state[:-6], state[-6:]  # spent: the counts of both accounts
        branch = self.random_branch(context)
        context.budget = Accounts(context.budget, branch, spent)
        n = super().decide(context, state, queried)
        spent[:] = context.budget.spent
        return n

    def random_branch(self, context: Any) -> NDArray[np.uint8]:
        return (context.draws(FOR_BRANCH) < self.nu).astype(np.uint8)


class SplitSampling(_RandomBranch, VariableUncertainty):
    """Combination of random sampling, for drift detection, and uncertainty sampling.

    A row is assigned to the random branch with probability `nu`. Labels in this branch
    are queried with a probability equal to the budget. They are a representative sample
    of the stream, and only they feed the drift detector. The other branch uses
    uncertainty sampling.

    Parameters
    ----------
    nu : float, default=0.2
        Share of the rows in the random branch, in (0, 1). Larger values detect drift
        earlier and leave fewer labels for uncertainty sampling.
    step : float, default=0.01
        See :class:`VariableUncertainty`.
    noise : float, default=0.0
        See :class:`VariableUncertainty`.
    n_accounts : {1, 2}, default=2
        2: each branch may spend the budget's share of its own rows. 1: both share one
        account, as published. The uncertainty branch then spends most of the budget,
        and the smaller the budget, the fewer labels are queried at random.

    References
    ----------
    .. [1] I. Zliobaite, A. Bifet, B. Pfahringer, G. Holmes (2014), "Active learning
       with drifting streaming data", IEEE Transactions on Neural Networks and Learning
       Systems 25.

    Examples
    --------
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import SplitSampling, StreamActiveLearner
    >>> learner = StreamActiveLearner(
    ...     ConfidenceTreeClassifier(), strategy=SplitSampling(0.1))
    """

    _parameter_constraints = {
        **VariableUncertainty._parameter_constraints,
        **_RandomBranch._parameter_constraints,
    }

    def __init__(
        self,
        nu: float = 0.2,
        step: float = 0.01,
        noise: float = 0.0,
        n_accounts: Literal[1, 2] = 2,
    ) -> None:
        super().__init__(step, noise)
        self.nu = nu
        self.n_accounts = n_accounts


class SplitConfTreeSampling(_RandomBranch, ConfTreeSampling):
    """`SplitSampling` with `ConfTreeSampling` in the other branch.

    Parameters
    ----------
    nu : float, default=0.2
        Share of the rows in the random branch, in (0, 1).
    consistency : {"theory", "practical"}, default="theory"
        See :class:`ConfTreeSampling`.
    c : float, default=1.0
        See :class:`ConfTreeSampling`.
    probability : callable, default=query_probability
        See :class:`ConfTreeSampling`.
    n_accounts : {1, 2}, default=2
        See :class:`SplitSampling`.

    Examples
    --------
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import SplitConfTreeSampling, StreamActiveLearner
    >>> learner = StreamActiveLearner(
    ...     ConfidenceTreeClassifier(), strategy=SplitConfTreeSampling(nu=0.1))
    """

    _parameter_constraints = {
        **ConfTreeSampling._parameter_constraints,
        **_RandomBranch._parameter_constraints,
    }

    def __init__(
        self,
        nu: float = 0.2,
        consistency: Literal["theory", "practical"] = "theory",
        c: float = 1.0,
        probability: Callable[..., ArrayLike] = query_probability,
        n_accounts: Literal[1, 2] = 2,
    ) -> None:
        super().__init__(consistency, c, probability)
        self.nu = nu
        self.n_accounts = n_accounts

    def chances(self, context: Any) -> Floats:
        chance = super().chances(context)
        chance[self.random_branch(context) == 1] = context.budget.share
        return chance


STREAM_STRATEGIES = {
    "conf_tree": ConfTreeSampling,
    "random": RandomStream,
    "fixed_uncertainty": FixedUncertainty,
    "variable_uncertainty": VariableUncertainty,
    "random_variable_uncertainty": lambda: VariableUncertainty(noise=1.0),
    "selective_sampling": SelectiveSampling,
    "split": SplitSampling,
    "split_conf_tree": SplitConfTreeSampling,
    "oasis": lambda: QueryScoreSampling("oasis"),
    "gbs": lambda: QueryScoreSampling("gbs"),
    "uc": lambda: QueryScoreSampling("uc"),
}


def resolve_stream_strategy(strategy):
    """Create a strategy from its name or an object, which was validated before."""
    if isinstance(strategy, StreamStrategy):
        return strategy
    return STREAM_STRATEGIES[strategy]()
