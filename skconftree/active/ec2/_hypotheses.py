"""What hypotheses foresee of a pool, and which of them answers leave alive."""

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.base import clone

from .._estimators import final_step
from .._rows import n_rows_of, take
from ._edges import Edges

CELLS = 1 << 25  # hypotheses times rows that are asked about at once
COMPARED = 1000  # rows of a pool that tell hypotheses apart which have no coordinates
MOST_CLASSES = 1 << 15  # places in classes_ have two bytes
WHOLE = 1 << 17  # sums of weights up to which whole numbers stay exact
HEAD_START = 16  # rows scored beyond those wanted, to see how good the best are
ONE_BY_ONE = 64  # a part of the tests that are scored alone before all are


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
        if n_classes > MOST_CLASSES:
            raise ValueError(
                f"Hypotheses can tell at most {MOST_CLASSES} classes apart. "
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
        self.limits = np.full(n, np.inf)  # scores so far: they never rise
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
            of = self.hypotheses
            self._edges = Edges(
                self.outcomes,
                of.weights,
                of.groups,
                self.alive,
                len(of.classes),
                of.total**2,
            )
        return self._edges

    @property
    def is_exhausted(self):
        """Whether there is nothing to find out any more: no edge is left."""
        return not self.edges.all > 0.0

    def scores(self, rows):
        """Scores of rows, as parts of the square of all hypotheses' weight."""
        return self.edges.scores(rows)

    def best(self, rows, k, prices, ties):
        """Places of the best rows, best first, their scores, and how many were scored.

        As few are as it takes. Lower `ties` come first among rows of equal score.
        """
        edges, n = self.edges, len(rows)
        if self.is_exhausted:
            chosen = np.lexsort((ties,))[:k]
            return chosen, np.zeros(len(chosen)), 0
        scores, known = np.zeros(n), np.zeros(n, dtype=np.uint8)
        limits = self.limits[rows]
        kept = np.arange(n)
        if np.isfinite(limits).any():
            # rows whose old score is below the new ones of some are out of the question
            n_first = min(k + HEAD_START, n)
            first = np.argpartition(-_per(limits, prices), n_first - 1)[:n_first]
            scores[first] = edges.scores(rows[first])
            known[first] = True
            least = np.sort(_per(scores[first], _of(prices, first)))[-k]
            kept = np.flatnonzero(_per(limits, prices) >= least)
        limits[kept] = np.minimum(limits[kept], edges.limits(rows[kept]))
        parts = rows[kept], limits[kept], _of(prices, kept), ties[kept]
        own = scores[kept], known[kept]
        chosen = edges.best(*parts, *own, k, len(rows) // ONE_BY_ONE + k)
        if len(chosen) < k:
            # limits say little: all rows that are left at once are faster
            ranked = np.where(own[1], own[0], -np.inf)
            least = np.sort(_per(ranked, parts[2]))[-k]
            open_ = np.flatnonzero((own[1] == 0) & (_per(parts[1], parts[2]) >= least))
            own[0][open_] = edges.scores(parts[0][open_])
            own[1][open_] = True
            chosen = edges.best(*parts, *own, k, len(rows))
        scores[kept], known[kept] = own
        found = np.flatnonzero(known)
        limits[found] = edges.above(scores[found])
        self.limits[rows] = limits
        return kept[chosen], own[0][chosen], len(found)


def _per(scores, prices):
    return scores if prices is None else scores / prices


def _of(prices, places):
    return None if prices is None else np.ascontiguousarray(prices[places])


def table_of(hypotheses, outcomes, alive):
    """Weights of hypotheses by what they foresee of a row and by group."""
    found = np.zeros((len(hypotheses.classes), hypotheses.groups.max() + 1))
    np.add.at(
        found,
        (outcomes[alive], hypotheses.groups[alive]),
        hypotheses.weights[alive],
    )
    return found
