"""Strategies that test hypotheses: EC2 and generalized binary search."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.base import clone

from ..._compat import HasMethods, Interval, StrOptions, validate_parameters
from ...utils._types import Floats, Indices
from .._estimators import final_step
from .._labels import check_costs, in_chunks, n_rows_of, take
from .._strategy import FOR_ROWS, SamplingStrategy, checked_scores, largest, tie_keys
from ._edges import Edges

CELLS = 1 << 25  # hypotheses times rows that are asked about at once
COMPARED = 1000  # rows of a pool that tell hypotheses apart which have no coordinates
MAX_CLASSES = 1 << 15  # places in classes_ have two bytes
WHOLE = 1 << 17  # sums of weights up to which whole numbers stay exact


class Hypotheses:
    """Hypotheses that a classifier, or a pipeline's last step, has, and their groups.

    A `clusterer` makes groups of them; True: average linkage of their squared
    distances, into at most ``sqrt(h / 2)`` groups; False: those they have. Hypotheses
    without coordinates are compared by `rows` of a pool. Outcomes are places in
    `classes`; `weights` are whole numbers if they are multiples of the smallest, else
    with the sum 1; `groups` count from 0 on.
    """

    def __init__(self, estimator, rows, clusterer=False):
        self.estimator = estimator
        self.name = type(final_step(estimator)[0]).__name__
        self.classes = estimator.classes_
        n = n_rows_of(rows)
        some = np.linspace(0, n - 1, min(n, COMPARED)).astype(np.intp)
        _, weights, groups = self._ask(take(rows, some[:1]))
        self._told = weights, groups
        self.weights = _whole(weights)
        self.groups = np.arange(len(weights))
        if groups is not None:
            self.groups = np.unique(groups, return_inverse=True)[1].astype(np.intp)
        if clusterer is not False:
            self._cluster(clusterer, rows, some)

    def __len__(self):
        return len(self.weights)

    @property
    def total(self):
        """Weight of all hypotheses."""
        return self.weights.sum()

    def edges(self, outcomes, alive):
        """Edges between those that are alive, given what all predict of some rows."""
        n_classes, unit = len(self.classes), self.total**2
        return Edges(outcomes, self.weights, self.groups, alive, n_classes, unit)

    def outcomes(self, X, rows):
        """What each hypothesis foresees of rows of a pool, as places in `classes`."""
        size = max(1, CELLS // len(self))
        if len(rows) <= size:
            return self._ask_again(take(X, rows))
        found = np.empty((len(self), len(rows)), dtype=np.int16)
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            found[:, part] = self._ask_again(take(X, rows[part]))
        return found

    def _ask_again(self, X):
        outcomes, weights, groups = self._ask(X)
        old_weights, old_groups = self._told
        if not np.array_equal(weights, old_weights) or not (
            groups is old_groups or np.array_equal(groups, old_groups)
        ):
            raise ValueError(
                f"{self.name}.hypotheses must give the same weights and groups for any "
                "rows."
            )
        return outcomes

    def _ask(self, X):
        # What the classifier says, checked: compiled code indexes by it.
        final, seen = final_step(self.estimator)
        X = seen(X)
        told = final.hypotheses(X)
        if not (isinstance(told, tuple) and len(told) == 3):
            raise ValueError(
                f"{self.name}.hypotheses must give outcomes, weights and groups. Got "
                f"{type(told).__name__}."
            )
        outcomes, weights, groups = told
        outcomes = np.asarray(outcomes)
        n = n_rows_of(X)
        if outcomes.ndim != 2 or outcomes.shape[1] != n or not len(outcomes):
            raise ValueError(
                f"{self.name}.hypotheses must give outcomes of shape (n_hypotheses, "
                f"{n}), for at least one hypothesis. Got shape {outcomes.shape}."
            )
        n_classes = len(self.classes)
        if n_classes > MAX_CLASSES:
            raise ValueError(
                f"Hypotheses can tell at most {MAX_CLASSES} classes apart. "
                f"{self.name} has {n_classes}."
            )
        if (
            outcomes.dtype.kind not in "iu"
            or outcomes.min() < 0
            or outcomes.max() >= n_classes
        ):
            raise ValueError(
                f"Outcomes of {self.name}.hypotheses must be places in classes_, "
                f"from 0 to {n_classes - 1}. Got {outcomes.dtype} from "
                f"{outcomes.min()} to {outcomes.max()}."
            )
        weights = np.asarray(weights, dtype=np.float64)
        h = len(outcomes)
        if weights.shape != (h,) or not (
            np.isfinite(weights).all() and weights.min() >= 0.0 < weights.max()
        ):
            raise ValueError(
                f"Weights of {self.name}.hypotheses must be finite and not negative, "
                f"one for each of {h} hypotheses and one of them above 0. Got "
                f"{weights!r}."
            )
        if groups is not None:
            groups = np.asarray(groups)
            if groups.shape != (h,):
                raise ValueError(
                    f"Groups of {self.name}.hypotheses must be None or one for each of "
                    f"{h} hypotheses. Got shape {groups.shape}."
                )
        return np.ascontiguousarray(outcomes, dtype=np.int16), weights, groups

    def _cluster(self, clusterer, rows, some):
        # Copies of one hypothesis stay together: one of each is given to the clusterer.
        _, first = np.unique(self.groups, return_index=True)
        final, _ = final_step(self.estimator)
        if hasattr(final, "hypothesis_points"):
            points = np.asarray(final.hypothesis_points())[first]
        else:
            foreseen = self._ask_again(take(rows, some))[first]
            points = np.eye(len(self.classes))[foreseen].reshape(len(first), -1)
        most = int(np.sqrt(len(self) / 2.0))
        if len(first) < 2:
            return
        if clusterer is True:
            tree = linkage(points, "average", metric="sqeuclidean")
            found = fcluster(tree, max(most, 1), "maxclust")
        else:
            found = np.asarray(clone(clusterer).fit_predict(points))
            if found.shape != (len(first),) or found.dtype.kind not in "iu":
                raise ValueError(
                    f"{type(clusterer).__name__}.fit_predict must give a whole number "
                    f"for each of {len(first)} hypotheses. Got {found!r}."
                )
            alone = np.flatnonzero(found < 0)  # noise, as some clusterers have it
            found[alone] = found.max(initial=0) + 1 + np.arange(len(alone))
        found = np.unique(found, return_inverse=True)[1].astype(np.intp)
        self.groups = found[self.groups]


def _whole(weights):
    # Multiples of the smallest weight as whole numbers, of which sums are exact.
    ratio = weights / weights[weights > 0.0].min()
    whole = np.rint(ratio)
    if np.abs(ratio - whole).max() < 1e-6 and whole.sum() < WHOLE:
        return whole
    return weights / weights.sum()


class VersionSpace:
    """Hypotheses that foresaw all answers about a pool so far."""

    def __init__(self, hypotheses, X):
        n = n_rows_of(X)
        self.hypotheses = hypotheses
        self.outcomes = hypotheses.outcomes(X, np.arange(n))
        self.alive = hypotheses.weights > 0.0
        self._edges = None

    def learn(self, rows, labels):
        """Leave alive what foresaw labels."""
        known = {label: i for i, label in enumerate(self.hypotheses.classes.tolist())}
        for row, label in zip(rows, labels.tolist(), strict=True):
            self.alive &= self.outcomes[:, row] == known.get(label, -1)
        self._edges = None

    @property
    def edges(self):
        """Edges between the hypotheses that are alive."""
        if self._edges is None:
            self._edges = self.hypotheses.edges(self.outcomes, self.alive)
        return self._edges

    @property
    def is_exhausted(self):
        """Whether there is nothing to find out any more: no edge is left."""
        return not self.edges.all > 0.0


FIRST_BLOCK = 16  # rows that are scored at first where old scores are trusted


class EC2Sampling(SamplingStrategy):
    r"""Ask for the label that is expected to cut most edges between hypotheses.

    Equivalence class edge cutting (EC2). Hypotheses are what the classifier holds
    possible: the planes of an :class:`~skconftree.OASISClassifier`, drawn by their
    weights, or the trees of a :class:`~skconftree.ConfidenceForestClassifier`. An edge
    joins two of different groups; a label removes all hypotheses that did not foresee
    it, with their edges. With :math:`A_z` the weight of those that foresee the outcome
    :math:`z`, :math:`B` that of all, :math:`|E|` the weight of the edges and
    :math:`E_z` of those among hypotheses that foresee :math:`z`, the score is

    .. math:: S(x) = \sum_z \frac{A_z}{B} (|E| - E_z).

    The thesis's family of eight is made by three settings. :doc:`/guide/ec2` says what
    each of them costs and is worth.

    Parameters
    ----------
    lazy : bool, default=False
        Whether old scores save new ones. If `pure`, scores never rise: the row is the
        same as without it, and so is the time, as each answer leaves fewer hypotheses.
        Otherwise old scores, times `stale_factor`, are a guess, and the choice depends
        on earlier queries.
    clustered : bool, default=False
        Whether groups are clusters of hypotheses. Otherwise they are those that the
        classifier gives: each hypothesis by itself, copies of one together.
    pure : bool, default=False
        Whether hypotheses are drawn once and only lose those that an answer
        contradicts. Otherwise they are drawn from the classifier at each query.
    clusterer : clusterer, default=None
        What ``fit_predict`` makes of the coordinates of hypotheses, of their outcomes
        if they have no coordinates. None: average linkage of squared distances, into at
        most :math:`\sqrt{h / 2}` groups of h hypotheses.
    stale_factor : "consistent" or float, default="consistent"
        What old scores are multiplied by at each round if `lazy` and not `pure`:
        the share of the hypotheses that foresaw the answer, as published, or a number
        of 0 or more. With 0 the best of the first rows wins; the larger, the more rows
        are scored, up to all.
    on_exhausted : {"random", "resample"}, default="random"
        What to do if `pure` and no edge is left: ask at random, or draw hypotheses
        from the classifier as it is then.
    costs : array-like of shape (n_rows,), default=None
        Price of each row's label in the pool, above 0: the score per cost decides.
        Those given to ``query`` come before these.

    Attributes
    ----------
    n_scored_ : int
        How many rows were scored at the last query.

    See Also
    --------
    GBSSampling : Halves the weight of hypotheses, whatever their groups.
    skconftree.bounds.ec2_score : The same score of tables of counts.

    Notes
    -----
    Any classifier with a method ``hypotheses(X)`` will do, which gives ``outcomes``,
    places in `classes_` of shape (n_hypotheses, n_rows), ``weights``, and ``groups`` or
    None; the same hypotheses for any rows. ``hypothesis_points()`` may give coordinates
    to cluster by. With `pure` two bytes are kept for each of them and each row.

    References
    ----------
    .. [1] D. Golovin, A. Krause, D. Ray (2010), "Near-optimal Bayesian active
       learning with noisy observations", NIPS 23, 766-774.
    .. [2] B. Rupprechter (2012), "Noisy active learning from a Bayesian
       perspective", Master thesis, ETH Zurich, section 4.2; the sign in its Algorithm
       4.5 is corrected.

    Examples
    --------
    >>> from skconftree import OASISClassifier
    >>> from skconftree.active import ActiveLearner, ArrayOracle, EC2Sampling
    >>> from skconftree.datasets import make_diced
    >>> X, y = make_diced(500, random_state=0)
    >>> cloud = OASISClassifier(
    ...     standardize=False, fit_intercept=False, resample=False, random_state=0)
    >>> cloud = cloud.partial_fit(X[:1], [None], classes=[0, 1], sample_weight=[0.0])
    >>> strategy = EC2Sampling(pure=True, lazy=True, on_exhausted="resample")
    >>> learner = ActiveLearner(
    ...     cloud, strategy=strategy, prefit=True, refit=False, random_state=0)
    >>> learner = learner.fit(X).run(ArrayOracle(y), budget=15)
    >>> bool(learner.score(X, y) > 0.9)
    True
    """

    needs = ("hypotheses",)

    _parameter_constraints = {
        "lazy": ["boolean"],
        "clustered": ["boolean"],
        "pure": ["boolean"],
        "clusterer": [HasMethods(["fit_predict"]), None],
        "stale_factor": [
            StrOptions({"consistent"}),
            Interval(Real, 0, None, closed="left"),
        ],
        "on_exhausted": [StrOptions({"random", "resample"})],
        "costs": ["array-like", None],
    }

    def __init__(
        self,
        *,
        lazy: bool = False,
        clustered: bool = False,
        pure: bool = False,
        clusterer: Any = None,
        stale_factor: Literal["consistent"] | float = "consistent",
        on_exhausted: Literal["random", "resample"] = "random",
        costs: ArrayLike | None = None,
    ) -> None:
        self.lazy = lazy
        self.clustered = clustered
        self.pure = pure
        self.clusterer = clusterer
        self.stale_factor = stale_factor
        self.on_exhausted = on_exhausted
        self.costs = costs

    def score(self, context: Any) -> Floats:
        price = self._prices(context)
        if self.pure:
            scores = self._space(context).edges.scores(context.candidates)
        else:
            scores = _score_anew(self._hypotheses(context), context)
        self.n_scored_ = len(scores)
        # those of the context are the learner's affair
        return scores if context.costs is not None or price is None else scores / price

    def select(self, context: Any, k: int) -> tuple[Indices, Floats]:
        price = self._prices(context)
        if self.lazy and not self.pure:
            chosen, scores = self._choose_likely(context, k, price, _ties(context))
            if price is not None:
                scores = scores / price[chosen]
        else:
            scores = checked_scores(self, self.score(context), context)
            chosen = largest(scores, k, context)
            scores = scores[chosen]
        if k and not scores[0] > 0.0:  # no label tells anything
            chance = context.rng(FOR_ROWS)
            chosen = chance.choice(len(context.candidates), k, replace=False)
        return chosen, scores

    def _prices(self, context):
        # Of the candidates' labels, or None.
        validate_parameters(self)
        if context.costs is not None or self.costs is None:
            return context.costs
        return check_costs(self.costs, len(context.codes))[context.candidates]

    def _grouping(self):
        if not self.clustered:
            return False
        return True if self.clusterer is None else self.clusterer

    def _hypotheses(self, context, model=None):
        model = context.estimator if model is None else model
        return Hypotheses(model, context.X, self._grouping())

    def _key(self):
        return self, self.pure, self.clustered, id(self.clusterer), self.on_exhausted

    def _space(self, context):
        # What the answers have left of the hypotheses: the same whenever it is asked.
        done, space = context.memory.get(self._key(), (None, None))
        if done is None:
            done = 0
            while (model := context.model_after(done)) is None:
                done += 1
            space = VersionSpace(self._hypotheses(context, model), context.X)
        for batch in context.answers[done:]:
            done += 1
            space.learn(batch.rows[batch.known], batch.labels)
            if self.on_exhausted == "resample" and space.is_exhausted:
                hypotheses = self._hypotheses(context, context.model_after(done))
                space = VersionSpace(hypotheses, context.X)
        context.memory[self._key()] = done, space
        return space

    def _choose_likely(self, context, k, price, ties):
        # Rows in the order of their old scores, until none that is left had a higher
        # one than the best new ones have.
        candidates = context.candidates
        hypotheses = self._hypotheses(context)
        before = self._stale(context)
        stale = before[candidates] if price is None else before[candidates] / price
        order = np.lexsort((ties, -stale))
        scores = np.empty(len(candidates))
        worth = np.empty(len(candidates))
        n = 0
        size = max(k, FIRST_BLOCK, int(np.isinf(stale).sum()))
        while n < len(candidates):
            part = order[n : n + size]
            scores[part] = worth[part] = _scores_of(hypotheses, context, part)
            if price is not None:
                worth[part] /= price[part]
            n += len(part)
            size *= 2
            known = order[:n]
            if n == len(candidates) or np.sort(worth[known])[-k] >= stale[order[n]]:
                break
        known = order[:n]
        chosen = known[np.lexsort((ties[known], -worth[known]))[:k]]
        after = before.copy()
        after[candidates[known]] = scores[known]
        rows = candidates[chosen]
        foreseen = hypotheses.outcomes(context.X, rows)
        context.memory[self._key()] = Round(
            len(context.answers),
            before,
            after,
            hypotheses.weights,
            hypotheses.classes.tolist(),
            dict(zip(rows.tolist(), foreseen.T, strict=True)),
        )
        self.n_scored_ = n
        return chosen, scores[chosen]

    def _stale(self, context):
        last = context.memory.get(self._key())
        if last is None:
            return np.full(len(context.codes), np.inf)
        if last.number == len(context.answers):
            return last.before  # the same query again
        factor = self.stale_factor
        if factor == "consistent":
            factor = last.consistent_share(context)
        stale = last.after.copy()
        known = np.isfinite(stale)
        with np.errstate(over="ignore"):
            stale[known] *= factor
        return stale

    def __getstate__(self):
        # what a query found is no part of the state
        state = dict(super().__getstate__())
        state.pop("n_scored_", None)
        return state

    def best_table(self, context: Any) -> Floats:
        """Hypotheses by what they foresee of the best row, and by group.

        Parameters
        ----------
        context : QueryContext

        Returns
        -------
        ndarray of shape (n_outcomes, n_groups)
            Weights of those that are alive.
        """
        if self.pure:
            space = self._space(context)
            hypotheses, alive = space.hypotheses, space.alive
            scores = space.edges.scores(context.candidates)
        else:
            hypotheses = self._hypotheses(context)
            alive = hypotheses.weights > 0.0
            scores = _score_anew(hypotheses, context)
        best = context.candidates[np.lexsort((_ties(context), -scores))[:1]]
        foreseen = hypotheses.outcomes(context.X, best)[alive, 0]
        groups = hypotheses.groups
        table = np.zeros((len(hypotheses.classes), groups.max() + 1))
        np.add.at(table, (foreseen, groups[alive]), hypotheses.weights[alive])
        return table


class Round(NamedTuple):
    """Scores before and after a round, to estimate those of the next one."""

    number: int  # of batches of answers before it
    before: np.ndarray
    after: np.ndarray
    weights: np.ndarray  # of the hypotheses
    classes: list
    foreseen: dict  # outcomes of the rows that were chosen

    def consistent_share(self, context):
        """Share of the weight of hypotheses that foresaw the answers since."""
        right = np.ones(len(self.weights), dtype=bool)
        for row, outcomes in self.foreseen.items():
            code = context.codes[row]
            if code >= 0:
                label = context.classes[code]
                right &= outcomes == (
                    self.classes.index(label) if label in self.classes else -1
                )
        return float(self.weights[right].sum() / self.weights.sum())


class GBSSampling(SamplingStrategy):
    r"""Ask where a label halves the hypotheses: generalised binary search.

    The score is one minus the largest share of the hypotheses' weight that foresees
    the same, for two classes the smaller of the two shares. A classifier that has
    ``query_score``, such as :class:`~skconftree.OASISClassifier`, is asked for its
    ``"gbs"``, from all its planes with their weights; of others ``hypotheses`` count.

    See Also
    --------
    EC2Sampling : Minds the groups of hypotheses.

    References
    ----------
    .. [1] S. Dasgupta (2005), "Analysis of a greedy active learning strategy", NIPS
       17, 337-344.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceForestClassifier
    >>> from skconftree.active import ActiveLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> known = [label if i % 5 == 0 else None for i, label in enumerate(y)]
    >>> forest = ConfidenceForestClassifier(20, random_state=0)
    >>> learner = ActiveLearner(forest, strategy="gbs", random_state=0)
    >>> len(learner.fit(X, known).query(3))
    3
    """

    needs = ("hypotheses",)

    def score(self, context: Any) -> Floats:
        final, seen = final_step(context.estimator)
        if hasattr(final, "query_score"):
            return in_chunks(
                context.X,
                context.candidates,
                lambda X: final.query_score(seen(X), "gbs"),
            )
        hypotheses = Hypotheses(context.estimator, context.X)
        n_classes = len(hypotheses.classes)
        found = []
        for part in _parts(hypotheses, context):
            outcomes = hypotheses.outcomes(context.X, context.candidates[part])
            shares = [hypotheses.weights @ (outcomes == z) for z in range(n_classes)]
            found.append(1.0 - np.max(shares, axis=0) / hypotheses.total)
        return np.concatenate(found)


def _parts(hypotheses, context):
    # Candidates that are asked about at once.
    size = max(1, CELLS // len(hypotheses))
    n = len(context.candidates)
    return [np.arange(i, min(i + size, n)) for i in range(0, n, size)]


def _scores_of(hypotheses, context, part):
    outcomes = hypotheses.outcomes(context.X, context.candidates[part])
    edges = hypotheses.edges(outcomes, hypotheses.weights > 0.0)
    return edges.scores(np.arange(len(part)))


def _score_anew(hypotheses, context):
    return np.concatenate(
        [_scores_of(hypotheses, context, part) for part in _parts(hypotheses, context)]
    )


def _ties(context):
    # One number a candidate, the lower the sooner.
    keys = tie_keys(np.arange(len(context.candidates)), context)
    if len(keys) == 1:
        return keys[0]
    ties = np.empty(len(keys[0]))
    ties[np.lexsort(keys)] = np.arange(len(ties))
    return ties
