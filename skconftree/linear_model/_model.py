"""The model behind OASIS, and what it tells about a label to be asked for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from .._compat import InvalidParameterError
from ..tables._labels import Classes
from ..tables._schema import Schema
from ..utils import canonical, completed, default_parameters
from ..utils._lock import reads
from ..utils._types import Floats, Indices, TableLike
from ._columns import measure, scaled
from ._particle_filter import ParticleFilter, restored

FIRST_ROWS = 100  # set the scale in partial_fit


def count_problems(n_classes):
    """How many hyperplanes tell so many classes apart: one for two, none for one."""
    return n_classes if n_classes > 2 else n_classes - 1


@dataclass(eq=False)
class OASISModel:
    """A cloud of planes, or the rows that wait until the scale of features is known.

    `waiting` are rows, labels and weights, none of which has been learnt; the cloud is
    None before the scale is known. `n_taken` rows of the call that has made this model
    need not be learnt any more.
    """

    schema: Schema
    classes: Classes
    seed: int
    waiting: tuple | None = None
    cloud: ParticleFilter | None = None
    mean: np.ndarray | None = None
    scale: np.ndarray | None = None

    n_taken = 0

    @property
    def grows(self):
        """Whether it learns rows at once."""
        return self.cloud is not None

    @property
    def n_rows_seen(self):
        """Rows given so far, those of weight 0 left out."""
        if self.cloud is not None:
            return self.cloud.n_rows
        return 0 if self.waiting is None else len(self.waiting[0])

    @property
    def known_mean(self):
        """Mean of the features; an error before it is known."""
        return self._known(self.mean)

    @property
    def known_scale(self):
        """Scale of the features; an error before it is known."""
        return self._known(self.scale)

    def _known(self, value):
        if value is None:
            raise AttributeError(
                f"The scale is known once {FIRST_ROWS} rows are there."
            )
        return value

    def scaled(self, X):
        """Rows as the planes see them."""
        intercept = self.cloud.n_features > self.schema.n_features
        return scaled(X, self.mean, self.scale, intercept)

    def odds(self, X):
        """Odds of each problem; 1 to 1 before there are planes."""
        if self.cloud is None:
            return np.ones((len(X), count_problems(len(self.classes)), 2))
        return self.cloud.odds(self.scaled(X))

    def start(self, settings, X):
        """Draw the planes, for features whose scale rows tell (None: as they are)."""
        d, intercept = self.schema.n_features, settings.pop("intercept")
        self.mean, self.scale = (np.zeros(d), np.ones(d)) if X is None else measure(X)
        self.cloud = ParticleFilter(
            {
                "n_problems": count_problems(len(self.classes)),
                "n_features": d + intercept,
                "seed": int(self.seed),
                **settings,
            }
        )

    def wait_or_start(self, settings, call):
        """Keep the first rows until they tell the scale, then learn them."""
        X, n_waiting = call.rows.X, self.n_rows_seen
        weight = np.ones(len(X)) if call.weight is None else call.weight
        needed = np.flatnonzero(weight > 0.0)[: FIRST_ROWS - n_waiting]
        parts = [part[needed] for part in (X, call.labels, weight)]
        if n_waiting:
            pairs = zip(self.waiting, parts, strict=True)
            parts = [np.concatenate(pair) for pair in pairs]
        if len(parts[0]) < FIRST_ROWS:
            self.waiting, self.n_taken = tuple(parts), len(X)
            return
        X, y, weight = parts
        self.start(settings, X)
        self.cloud.learn(self.scaled(X), y, weight, None)
        self.waiting, self.n_taken = None, int(needed[-1]) + 1

    def make_ready(self, call, resample, foresee):
        """Nothing can fail any more."""

    def learn(self, call, *, resample, foresee):
        """Learn rows in their order."""
        X, begin = call.rows.X, self.n_taken
        self.n_taken = 0
        odds = None
        if foresee:
            odds = np.ones((len(X), count_problems(len(self.classes)), 2))
        if begin < len(X):
            self.cloud.set_resample(resample)
            rest = slice(begin, len(X))
            self.cloud.learn(
                self.scaled(X[rest]),
                call.labels[rest],
                None if call.weight is None else call.weight[rest],
                None if odds is None else odds[rest],
            )
        return odds

    def state(self):
        """What there is, as arrays and plain values."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        state["schema"], state["classes"] = self.schema.state(), self.classes.names
        if self.cloud is not None:
            state["cloud"] = self.cloud.__reduce__()[1]
        return canonical(state)

    @classmethod
    def of_state(cls, state, owner):
        """Make a model from what came out of a file."""
        owner = cls.__new__(cls) if owner is None else owner
        state = completed(state, default_parameters(cls), "The state of OASIS")
        state["schema"] = Schema.of_state(state["schema"], owner)
        state["classes"] = Classes(state["classes"])
        if state["cloud"] is not None:
            state["cloud"] = restored(*state["cloud"])
        return cls(**state)


SCORES = ("oasis", "gbs", "uc")


class Questions:
    """Mixin of an estimator with particles, for those who buy labels."""

    @reads
    def query_score(
        self, X: TableLike, score: Literal["oasis", "gbs", "uc"] = "oasis"
    ) -> NDArray[Any]:
        r"""Score rows by how much their label would tell.

        With the weights :math:`w_j` of the planes that have the row on their positive
        and on their negative side:

        - ``"oasis"``: the difference of the two sums, in [0, 1]; *small* is worth
          asking;
        - ``"gbs"``: the smaller of the two, in [0, 1/2]; *large* is worth asking. With
          no plane through the row it is (1 - ``"oasis"``) / 2;
        - ``"uc"``: :math:`|P(1 \mid x) - 1/2|`; *small* is worth asking.

        Of more than two classes the least certain one against the rest counts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        score : {"oasis", "gbs", "uc"}, default="oasis"

        Returns
        -------
        ndarray of shape (n_samples,)
            Before anything is known, that of a row which is worth asking.
        """
        if not (isinstance(score, str) and score in SCORES):
            raise InvalidParameterError(
                f"The 'score' parameter of query_score must be one of {list(SCORES)}. "
                f"Got {score!r} instead."
            )
        if score == "uc":
            found = np.abs(expit(decide(self._odds(X))) - 0.5)
            return found.min(axis=1, initial=0.5)
        X, model = self._rows(X), self._model
        if model.grows:
            sides = model.cloud.sides(model.scaled(X))
        else:
            sides = np.full((len(X), count_problems(len(model.classes)), 2), 0.5)
        if score == "oasis":
            return np.abs(sides[..., 0] - sides[..., 1]).min(axis=1, initial=1.0)
        return sides.min(axis=2).max(axis=1, initial=0.0)

    @reads
    def hypotheses(self, X: TableLike) -> tuple[NDArray[np.int16], Floats, Indices]:
        r"""Say what planes drawn from the cloud make of rows.

        As many planes as there are particles are drawn by their weights
        (systematically, with a draw of their own that stays the same until a row is
        learnt), so that each counts alike. Copies of one particle are one group.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        outcomes : ndarray of shape (n_particles, n_samples), int16
            Place in `classes_` of what each plane takes a row for.
        weights : ndarray of shape (n_particles,)
            All 1 / `n_particles`.
        groups : ndarray of shape (n_particles,), intp
            Which particle each plane is.

        Raises
        ------
        ValueError
            If there are not two classes, or no particles yet.

        See Also
        --------
        skconftree.active.EC2Sampling : Buys the labels that tell planes apart.
        """
        cloud = self._planes()
        X = self._model.scaled(self._rows(X))
        outcomes, groups = cloud.hypotheses(X, cloud.n_rows)
        return outcomes, np.full(len(groups), 1.0 / len(groups)), groups

    @reads
    def hypothesis_points(self) -> Floats:
        """Coordinates of the planes that `hypotheses` draws, to find alike ones by.

        Returns
        -------
        ndarray of shape (n_particles, n_coordinates)
        """
        cloud = self._planes()
        _, parent = cloud.hypotheses(np.empty((0, cloud.n_features)), cloud.n_rows)
        return cloud.cloud()[0, parent]

    def _planes(self):
        # The cloud, if each of its particles is a hypothesis.
        check_is_fitted(self)
        if self.n_classes_ != 2:
            raise ValueError(
                f"A plane tells two classes apart; {type(self).__name__} has "
                f"{self.n_classes_}, and learns more than two one-vs-rest. Give it the "
                "labels of one class against the rest, or ask by query_score, whose "
                '"gbs" takes the least certain class.'
            )
        if self._model is None or not self._model.grows:
            raise ValueError(
                f"This {type(self).__name__} has no particles yet: they are drawn when "
                f"{FIRST_ROWS} rows have told the scale, or at once with "
                "standardize=False."
            )
        return self._model.cloud

    def _particles(self):
        if self._model is None or not self._model.grows:
            raise AttributeError(
                f"This {type(self).__name__} has no particles yet: they are drawn by "
                f"fit, or by partial_fit when {FIRST_ROWS} rows have told the scale."
            )
        return self._model.cloud

    @property
    @reads
    def particles_(self) -> NDArray[Any]:
        """Planes, (n_problems, n_particles, n_features), intercepts last.

        There is one problem for two classes, and else one a class.
        """
        return self._particles().cloud()

    @property
    @reads
    def weights_(self) -> Floats:
        """Weights of the planes, (n_problems, n_particles); they sum to 1."""
        return self._particles().shares()

    @property
    @reads
    def ess_(self) -> Floats:
        """Effective sample size of each problem: 1 / sum of squared weights.

        Copies of one plane count as several; `n_distinct_` counts them once.
        """
        return self._particles().counts()["ess"]

    @property
    @reads
    def n_distinct_(self) -> Indices:
        """How many different planes each problem has, of any weight."""
        return self._particles().n_distinct()

    @property
    @reads
    def n_moves_(self) -> Indices:
        """How often the particles of each problem were resampled and moved."""
        return self._particles().counts()["n_moves"]

    @property
    @reads
    def n_restarts_(self) -> Indices:
        """How often each problem lost all its weights and began again from the prior.

        No row of an ordinary weight can do that.
        """
        return self._particles().counts()["n_restarts"]


def decide(odds):
    """Logarithm of the odds of each class against the rest."""
    # Where several classes are as sure as the likelihood lets them be, only rounding
    # tells them apart. Steps of 2**-30 make ties of these, here and in probabilities.
    decision = np.log(odds[..., 0]) - np.log(odds[..., 1])
    return np.ldexp(np.rint(np.ldexp(decision, 30)), -30)
