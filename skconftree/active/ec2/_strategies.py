"""Query strategies that test hypotheses: EC2 and generalized binary search.

Hypotheses are the members of an ensemble that predict labels, or hyperplanes, which
have *coordinates*; equal ones are *copies*. Each has a weight and belongs to a group;
an *edge* joins two hypotheses of different groups. A hypothesis is *alive* if it
predicted all labels so far; *outcomes* are its predictions. *Stale* scores are those of
an earlier query. The *pool* is the table of unlabeled and labeled rows. Of a
`QueryContext`, `candidates` are the rows that can be queried, `codes` the class indices
of rows, `answers` the batches of labels (`known`: mask of the rows that have one), and
`memory` is a cache.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from .._strategy import (
    FOR_ROWS,  # key of the random draws that select rows
    SamplingStrategy,
    checked_scores,
    largest,
    tie_keys,  # keys of `np.lexsort` that order candidates of equal score
)
from ._edges import Edges

CELLS = 1 << 25  # maximum of hypotheses times rows that are predicted at once
MAX_COMPARED_ROWS = 1000  # rows by which hypotheses without coordinates are clustered
MAX_CLASSES = 1 << 15  # codes of classes are int16
MAX_EXACT_SUM = 1 << 17  # sum of integer weights up to which scores are exact


class Hypotheses:
    """Hypotheses of a classifier, or of the last step of a pipeline, and their groups.

    Groups are made by a `clusterer`; True: average linkage of squared distances, into
    at most ``sqrt(h / 2)`` groups of h hypotheses; False: the groups that the
    classifier returns. Hypotheses without coordinates are compared by their
    predictions for `rows` of a pool. Outcomes are indices into `classes`. `weights` are
    integers if they are multiples of the smallest weight, otherwise they sum to 1.
    `groups` are numbered from 0.
    """

    def __init__(self, estimator, rows, clusterer=False):
        self.estimator = estimator
        self.name = type(final_step(estimator)[0]).__name__
        self.classes = estimator.classes_
        n = n_rows_of(rows)
        sample = np.linspace(0, n - 1, min(n, MAX_COMPARED_ROWS)).astype(np.intp)
        _, weights, groups = self._call_hypotheses(take(rows, sample[:1]))
        self._weights_and_groups = weights, groups
        self.weights = _as_integers(weights)
        self.groups = np.arange(len(weights))
        if groups is not None:
            self.groups = np.unique(groups, return_inverse=True)[1].astype(np.intp)
        if clusterer is not False:
            self._cluster(clusterer, rows, sample)

    def __len__(self):
        return len(self.weights)

    @property
    def total(self):
        """Total weight of the hypotheses."""
        return self.weights.sum()

    def edges(self, outcomes, alive):
        """Edges between the hypotheses alive; `outcomes` are predictions of all."""
        n_classes, unit = len(self.classes), self.total**2  # scores are divided by it
        return Edges(outcomes, self.weights, self.groups, alive, n_classes, unit)

    def outcomes(self, X, rows):
        """Class that each hypothesis predicts for rows of a pool, (n_hypotheses, n)."""
        size = max(1, CELLS // len(self))
        parts = [rows[i : i + size] for i in range(0, max(len(rows), 1), size)]
        return np.hstack([self._predict(take(X, part)) for part in parts])

    def _predict(self, X):
        outcomes, weights, groups = self._call_hypotheses(X)
        old_weights, old_groups = self._weights_and_groups
        if not np.array_equal(weights, old_weights) or not (
            groups is old_groups or np.array_equal(groups, old_groups)
        ):
            raise ValueError(
                f"{self.name}.hypotheses must return the same weights and groups for "
                "all rows. They differ between two calls."
            )
        return outcomes

    def _call_hypotheses(self, X):
        # The result is validated because compiled code uses it as indices. `transform`
        # applies the steps of a pipeline before the last one, `final`.
        final, transform = final_step(self.estimator)
        X = transform(X)
        result = final.hypotheses(X)
        if not (isinstance(result, tuple) and len(result) == 3):
            raise ValueError(
                f"{self.name}.hypotheses must return a tuple (outcomes, weights, "
                f"groups). Got {type(result).__name__}."
            )
        outcomes, weights, groups = result
        outcomes = np.asarray(outcomes)
        n = n_rows_of(X)
        if outcomes.ndim != 2 or outcomes.shape[1] != n or not len(outcomes):
            raise ValueError(
                f"{self.name}.hypotheses must return outcomes of shape (n_hypotheses, "
                f"{n}), for at least one hypothesis. Got shape {outcomes.shape}."
            )
        n_classes = len(self.classes)
        if n_classes > MAX_CLASSES:
            raise ValueError(
                f"Hypotheses support at most {MAX_CLASSES} classes. {self.name} has "
                f"{n_classes}."
            )
        if (
            outcomes.dtype.kind not in "iu"
            or outcomes.min() < 0
            or outcomes.max() >= n_classes
        ):
            raise ValueError(
                f"Outcomes of {self.name}.hypotheses must be indices into classes_, "
                f"integers from 0 to {n_classes - 1}. Got {outcomes.dtype} from "
                f"{outcomes.min()} to {outcomes.max()}."
            )
        weights = np.asarray(weights, dtype=np.float64)
        h = len(outcomes)
        if weights.shape != (h,) or not (
            np.isfinite(weights).all() and weights.min() >= 0.0 < weights.max()
        ):
            raise ValueError(
                f"Weights of {self.name}.hypotheses must be finite and not negative, "
                f"one for each of {h} hypotheses, and not all 0. Got {weights!r}."
            )
        if groups is not None:
            groups = np.asarray(groups)
            if groups.shape != (h,):
                raise ValueError(
                    f"Groups of {self.name}.hypotheses must be None or one for each of "
                    f"{h} hypotheses. Got shape {groups.shape}."
                )
        return np.ascontiguousarray(outcomes, dtype=np.int16), weights, groups

    def _cluster(self, clusterer, rows, sample):
        # Copies of a hypothesis stay in one group: one of each is clustered.
        _, first = np.unique(self.groups, return_index=True)
        final, _ = final_step(self.estimator)
        if hasattr(final, "hypothesis_points"):
            points = np.asarray(final.hypothesis_points())[first]
        else:
            predicted = self._predict(take(rows, sample))[first]
            points = np.eye(len(self.classes))[predicted].reshape(len(first), -1)
        max_groups = int(np.sqrt(len(self) / 2.0))
        if len(first) < 2:
            return
        if clusterer is True:
            tree = linkage(points, "average", metric="sqeuclidean")
            clusters = fcluster(tree, max(max_groups, 1), "maxclust")
        else:
            clusters = np.asarray(clone(clusterer).fit_predict(points))
            if clusters.shape != (len(first),) or clusters.dtype.kind not in "iu":
                raise ValueError(
                    f"{type(clusterer).__name__}.fit_predict must return an integer "
                    f"for each of {len(first)} hypotheses. Got {clusters!r}."
                )
            noise = np.flatnonzero(clusters < 0)  # each becomes a cluster
            clusters[noise] = clusters.max(initial=0) + 1 + np.arange(len(noise))
        clusters = np.unique(clusters, return_inverse=True)[1].astype(np.intp)
        self.groups = clusters[self.groups]


def _as_integers(weights):
    # Convert multiples of the smallest weight to integers, whose sums are exact.
    ratio = weights / weights[weights > 0.0].min()
    integers = np.rint(ratio)
    if np.abs(ratio - integers).max() < 1e-6 and integers.sum() < MAX_EXACT_SUM:
        return integers
    return weights / weights.sum()


class VersionSpace:
    """Hypotheses that agree with all labels of a pool so far."""

    def __init__(self, hypotheses, X):
        n = n_rows_of(X)
        self.hypotheses = hypotheses
        self.outcomes = hypotheses.outcomes(X, np.arange(n))
        self.alive = hypotheses.weights > 0.0
        self._edges = None

    def learn(self, rows, labels):
        """Eliminate hypotheses that predicted other labels."""
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
        """Whether all hypotheses alive are in one group: no edge is left."""
        return not self.edges.all > 0.0  # weight of all edges


FIRST_BLOCK = 16  # rows that are scored first if old scores are reused (`lazy`)


@dataclass(eq=False, repr=False, kw_only=True)
class EC2Sampling(SamplingStrategy):
    r"""Query strategy that cuts edges between hypotheses (EC2).

    Equivalence class edge cutting queries the label that is expected to cut the most
    edges. Hypotheses are those of the classifier: the hyperplanes of an
    :class:`~skconftree.OASISClassifier`, drawn by their weights, or the trees of a
    :class:`~skconftree.ConfidenceForestClassifier`. An edge joins two hypotheses of
    different groups; a label removes all hypotheses that predicted another class, with
    their edges. Let :math:`A_z` be the weight of the hypotheses that predict class
    :math:`z`, :math:`B` the weight of all, :math:`|E|` the weight of the edges and
    :math:`E_z` that of the edges between hypotheses that predict :math:`z`. The score
    is

    .. math:: S(x) = \sum_z \frac{A_z}{B} (|E| - E_z).

    Three parameters give the eight variants of [2]_. :doc:`/guide/ec2` compares their
    cost and benefit.

    Parameters
    ----------
    lazy : bool, default=False
        Whether scores of earlier queries are reused. With `pure`, scores never
        increase, so that the same rows are selected; it hardly saves time, because
        each label leaves fewer hypotheses. Otherwise old scores, multiplied by
        `stale_factor`, are an estimate, and the selection depends on earlier queries.
    clustered : bool, default=False
        Whether groups are clusters of hypotheses. If False, the classifier determines
        the groups: usually one per hypothesis, with its copies.
    pure : bool, default=False
        Whether hypotheses are drawn once and then only eliminated. If False, they are
        drawn from the classifier at each query.
    clusterer : clusterer, default=None
        Its ``fit_predict`` clusters the coordinates of hypotheses, or their predictions
        if they have no coordinates. None: average linkage of squared distances, into at
        most :math:`\sqrt{h / 2}` groups of h hypotheses.
    stale_factor : "consistent" or float, default="consistent"
        Factor by which old scores are multiplied in each round if `lazy` and not
        `pure`: the share of the hypotheses that predicted the label, as published, or
        a number of 0 or more. Larger values score more rows, which takes longer; with
        0 the best of the first rows is selected.
    on_exhausted : {"random", "resample"}, default="random"
        What to do with `pure` if no edge is left: query at random, or draw new
        hypotheses from the current classifier.
    costs : array-like of shape (n_rows,), default=None
        Positive cost of labeling each row of the pool. Rows are ranked by score divided
        by cost. Costs passed to ``query`` take precedence.

    Attributes
    ----------
    n_scored_ : int
        Number of rows scored at the last query.

    See Also
    --------
    GBSSampling : Bisects the weight of hypotheses, without groups.
    skconftree.bounds.ec2_score : The same score for tables of counts.

    Notes
    -----
    Any classifier with a method ``hypotheses(X)`` can be used. It returns ``outcomes``,
    indices into `classes_` of shape (n_hypotheses, n_rows), ``weights``, and ``groups``
    or None, and must return the same hypotheses for all rows. The optional method
    ``hypothesis_points()`` returns coordinates for clustering. With `pure`, two bytes
    are stored per hypothesis and row.

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
    >>> oasis = OASISClassifier(
    ...     standardize=False, fit_intercept=False, resample=False, random_state=0)
    >>> oasis = oasis.partial_fit(X[:1], [None], classes=[0, 1], sample_weight=[0.0])
    >>> strategy = EC2Sampling(pure=True, lazy=True, on_exhausted="resample")
    >>> learner = ActiveLearner(
    ...     oasis, strategy=strategy, prefit=True, refit=False, random_state=0)
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

    lazy: bool = False
    clustered: bool = False
    pure: bool = False
    clusterer: Any = None
    stale_factor: Literal["consistent"] | float = "consistent"
    on_exhausted: Literal["random", "resample"] = "random"
    costs: ArrayLike | None = None

    def score(self, context: Any) -> Floats:
        costs = self._candidate_costs(context)
        if self.pure:
            scores = self._version_space(context).edges.scores(context.candidates)
        else:
            scores = _score_all(self._hypotheses(context), context)
        self.n_scored_ = len(scores)
        # the learner applies the costs of the context
        return scores if context.costs is not None or costs is None else scores / costs

    def select(self, context: Any, k: int) -> tuple[Indices, Floats]:
        costs = self._candidate_costs(context)
        if self.lazy and not self.pure:
            chosen, scores = self._choose_likely(context, k, costs, _ties(context))
            if costs is not None:
                scores = scores / costs[chosen]
        else:
            scores = checked_scores(self, self.score(context), context)
            chosen = largest(scores, k, context)
            scores = scores[chosen]
        if k and not scores[0] > 0.0:  # no label would cut an edge
            rng = context.rng(FOR_ROWS)
            chosen = rng.choice(len(context.candidates), k, replace=False)
        return chosen, scores

    def _candidate_costs(self, context):
        # Costs of the candidates' labels, or None.
        validate_parameters(self)
        if context.costs is not None or self.costs is None:
            return context.costs
        return check_costs(self.costs, len(context.codes))[context.candidates]

    def _hypotheses(self, context, model=None):
        model = context.estimator if model is None else model
        clusterer = True if self.clusterer is None else self.clusterer
        return Hypotheses(model, context.X, self.clustered and clusterer)

    def _key(self):
        return self, self.pure, self.clustered, id(self.clusterer), self.on_exhausted

    def _version_space(self, context):
        # Hypotheses that agree with all labels; cached, but independent of the cache.
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

    def _choose_likely(self, context, k, costs, ties):
        # Score rows in the order of their old scores, until no remaining old score is
        # above the best new scores.
        candidates = context.candidates
        hypotheses = self._hypotheses(context)
        old_scores = self._stale(context)
        stale = old_scores[candidates]
        if costs is not None:
            stale = stale / costs
        order = np.lexsort((ties, -stale))
        scores = np.empty(len(candidates))
        priority = np.empty(len(candidates))
        n = 0
        size = max(k, FIRST_BLOCK, int(np.isinf(stale).sum()))
        while n < len(candidates):
            part = order[n : n + size]
            scores[part] = priority[part] = _scores_of(hypotheses, context, part)
            if costs is not None:
                priority[part] /= costs[part]
            n += len(part)
            size *= 2
            scored = order[:n]
            if n == len(candidates) or np.sort(priority[scored])[-k] >= stale[order[n]]:
                break
        scored = order[:n]
        chosen = scored[np.lexsort((ties[scored], -priority[scored]))[:k]]
        new_scores = old_scores.copy()
        new_scores[candidates[scored]] = scores[scored]
        rows = candidates[chosen]
        predicted = hypotheses.outcomes(context.X, rows)
        context.memory[self._key()] = QueryRound(
            len(context.answers),
            old_scores,
            new_scores,
            hypotheses.weights,
            hypotheses.classes.tolist(),
            dict(zip(rows.tolist(), predicted.T, strict=True)),
        )
        self.n_scored_ = n
        return chosen, scores[chosen]

    def _stale(self, context):
        last = context.memory.get(self._key())
        if last is None:
            return np.full(len(context.codes), np.inf)
        if last.number == len(context.answers):
            return last.old_scores  # the same query again
        factor = self.stale_factor
        if factor == "consistent":
            factor = last.consistent_share(context)
        stale = last.new_scores.copy()
        known = np.isfinite(stale)
        with np.errstate(over="ignore"):
            stale[known] *= factor
        return stale

    def __getstate__(self):
        # results of queries are not part of the state
        state = dict(super().__getstate__())
        state.pop("n_scored_", None)
        return state

    def best_table(self, context: Any) -> Floats:
        """Contingency table of the predictions for the best row and the groups.

        Parameters
        ----------
        context : QueryContext
            Pool, classifier and labels at the time of the query.

        Returns
        -------
        ndarray of shape (n_outcomes, n_groups)
            Weights of the hypotheses that are alive.
        """
        if self.pure:
            space = self._version_space(context)
            hypotheses, alive = space.hypotheses, space.alive
            scores = space.edges.scores(context.candidates)
        else:
            hypotheses = self._hypotheses(context)
            alive = hypotheses.weights > 0.0
            scores = _score_all(hypotheses, context)
        best = context.candidates[np.lexsort((_ties(context), -scores))[:1]]
        predicted = hypotheses.outcomes(context.X, best)[alive, 0]
        groups = hypotheses.groups
        table = np.zeros((len(hypotheses.classes), groups.max() + 1))
        np.add.at(table, (predicted, groups[alive]), hypotheses.weights[alive])
        return table


class QueryRound(NamedTuple):
    """Scores before and after a query, to estimate those of the next query."""

    number: int  # of batches of labels before it
    old_scores: np.ndarray
    new_scores: np.ndarray
    weights: np.ndarray  # of the hypotheses
    classes: list
    predicted: dict  # predictions of all hypotheses for the selected rows

    def consistent_share(self, context):
        """Share of the weight of hypotheses that predicted the labels since then."""
        right = np.ones(len(self.weights), dtype=bool)
        for row, outcomes in self.predicted.items():
            code = context.codes[row]
            if code >= 0:
                label = context.classes[code]
                right &= outcomes == (
                    self.classes.index(label) if label in self.classes else -1
                )
        return float(self.weights[right].sum() / self.weights.sum())


class GBSSampling(SamplingStrategy):
    r"""Query strategy that bisects the hypotheses: generalized binary search.

    The score is one minus the largest weight share of hypotheses that predict the same
    class; with two classes, the smaller of the two shares. For a classifier with
    ``query_score``, such as :class:`~skconftree.OASISClassifier`, the score is its
    ``"gbs"``, which uses all hyperplanes with their weights; otherwise
    ``hypotheses`` are used.

    See Also
    --------
    EC2Sampling : Takes groups of hypotheses into account.

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
        final, transform = final_step(context.estimator)
        if hasattr(final, "query_score"):
            return in_chunks(
                context.X,
                context.candidates,
                lambda X: final.query_score(transform(X), "gbs"),
            )
        hypotheses = Hypotheses(context.estimator, context.X)
        n_classes = len(hypotheses.classes)
        scores = []
        for part in _parts(hypotheses, context):
            outcomes = hypotheses.outcomes(context.X, context.candidates[part])
            shares = [hypotheses.weights @ (outcomes == z) for z in range(n_classes)]
            scores.append(1.0 - np.max(shares, axis=0) / hypotheses.total)
        return np.concatenate(scores)


def _parts(hypotheses, context):
    # Blocks of candidates that are predicted at once.
    size = max(1, CELLS // len(hypotheses))
    n = len(context.candidates)
    return [np.arange(i, min(i + size, n)) for i in range(0, n, size)]


def _scores_of(hypotheses, context, part):
    outcomes = hypotheses.outcomes(context.X, context.candidates[part])
    edges = hypotheses.edges(outcomes, hypotheses.weights > 0.0)
    return edges.scores(np.arange(len(part)))


def _score_all(hypotheses, context):
    return np.concatenate(
        [_scores_of(hypotheses, context, part) for part in _parts(hypotheses, context)]
    )


def _ties(context):
    # Rank of each candidate among ties; lower ranks are selected first.
    keys = tie_keys(np.arange(len(context.candidates)), context)
    if len(keys) == 1:
        return keys[0]
    ties = np.empty(len(keys[0]))
    ties[np.lexsort(keys)] = np.arange(len(ties))
    return ties
