"""Model of the classifier OASIS, and the scores by which it selects labels to query.

OASIS (online, active, semi-supervised) is a linear classifier for streams. A binary
problem separates two classes, or one class from the rest, by hyperplanes (planes): the
particles of a particle filter, a weighted sample from their posterior. A `call` has the
validated arguments of `partial_fit`. Labels are queried by the rule of OASIS, by GBS
(generalized binary search) or by UC (uncertainty). A `schema` has the names and types
of the columns, and reads later rows. `DictRows` are rows given as dictionaries.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .._compat import InvalidParameterError
from ..tables._dict_rows import DictRows, names_of
from ..tables._features import refuse_categories
from ..tables._labels import Classes
from ..tables._row_hashes import Rows
from ..tables._schema import Schema, refuse_infinite
from ..utils._codec import canonical, default_parameters, merge_defaults
from ..utils._lock import reads  # locks the estimator
from ..utils._types import Floats, Indices, TableLike
from ._particle_filter import ParticleFilter, restored


def read_doubles(X, schema, caller):
    """Validate rows of finite numbers and convert them to double precision."""
    names = None
    if type(X) is DictRows and schema is not None:
        schema.check_names(X, caller)
        X = X.numbers
    else:
        refuse_categories(X, caller)
        if schema is None:
            names = names_of(X)
        else:
            schema.check_names(X, caller)
    rows = check_array(
        X,
        dtype=np.float64,
        order="C",
        ensure_all_finite=False,
        estimator=caller,
        input_name="X",
    )
    if schema is None:
        schema = Schema(rows.shape[1], names)
    schema.check_count(rows, caller)
    refuse_infinite(rows, caller, schema.names, allow_nan=False)
    return Rows(rows, True, schema)  # True: the values are finite


SPREAD = 0.5  # standard deviation after scaling
MAX_SCALED = 1e100  # limit of standardized values: products of two are finite


def mean_and_scale(X):
    """Return the mean and scale by which features get a standard deviation of 1/2.

    The scale of a constant feature, or of one whose variance overflows, is infinite.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean = (X / len(X)).sum(axis=0)
        scale = np.sqrt(((X - mean) ** 2 / len(X)).sum(axis=0)) / SPREAD
    useless = ~np.isfinite(scale) | (scale == 0.0) | (X.max(axis=0) == X.min(axis=0))
    scale[useless] = np.inf
    return mean, scale


def scaled(X, mean, scale, intercept):
    """Standardize features, and append a column of ones if `intercept`."""
    n, d = X.shape
    scaled_rows = np.ones((n, d + intercept))
    with np.errstate(over="ignore", under="ignore"):
        moved = np.clip(X - mean, -1e300, 1e300)
        scaled_rows[:, :d] = np.clip(moved / scale, -MAX_SCALED, MAX_SCALED)
    return scaled_rows


FIRST_ROWS = 100  # rows that determine the scale in partial_fit


def count_problems(n_classes):
    """Number of binary problems: 1 for two classes, 0 for one, else one per class."""
    return n_classes if n_classes > 2 else n_classes - 1


@dataclass(eq=False)
class OASISModel:
    """State of an OASIS classifier: a particle filter, or rows that wait for it.

    Until the scale of the features is known, `particle_filter` is None, and `waiting`
    has the rows, labels and weights that will be learned then. `n_taken` is the number
    of rows of the current call that were processed when this model was created.
    `partial_fit` calls `make_ready` and then `learn`, as it does for all models.
    """

    schema: Schema
    classes: Classes
    seed: int
    waiting: tuple | None = None
    particle_filter: ParticleFilter | None = None
    mean: np.ndarray | None = None
    scale: np.ndarray | None = None

    n_taken = 0

    @property
    def grows(self):
        """Whether rows can be learned, because the scale is known."""
        return self.particle_filter is not None

    @property
    def n_rows_seen(self):
        """Number of rows so far, without those of weight 0."""
        if self.particle_filter is not None:
            return self.particle_filter.n_rows
        return 0 if self.waiting is None else len(self.waiting[0])

    @property
    def known_mean(self):
        """Mean of the features; raises an error before it is known."""
        return self._known(self.mean)

    @property
    def known_scale(self):
        """Scale of the features; raises an error before it is known."""
        return self._known(self.scale)

    def _known(self, value):
        if value is None:
            raise AttributeError(
                f"The scale is known after {FIRST_ROWS} rows. Pass more rows to "
                "partial_fit, or set standardize=False."
            )
        return value

    def scaled(self, X):
        """Standardize rows, and append a constant column if there is an intercept."""
        intercept = self.particle_filter.n_features > self.schema.n_features
        return scaled(X, self.mean, self.scale, intercept)

    def odds(self, X):
        """Odds of each binary problem; 1 to 1 before there are particles.

        They are pairs of numbers: likelihoods of the positive and negative label.
        """
        if self.particle_filter is None:
            return np.ones((len(X), count_problems(len(self.classes)), 2))
        return self.particle_filter.odds(self.scaled(X))

    def start(self, settings, X):
        """Draw the particles; X determines the scale of features (None: no scaling)."""
        d, intercept = self.schema.n_features, settings.pop("intercept")
        self.mean, self.scale = (
            (np.zeros(d), np.ones(d)) if X is None else mean_and_scale(X)
        )
        self.particle_filter = ParticleFilter(
            {
                "n_problems": count_problems(len(self.classes)),
                "n_features": d + intercept,
                "seed": int(self.seed),
                **settings,
            }
        )

    def wait_or_start(self, settings, call):
        """Store the first rows; learn them once they determine the scale."""
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
        # None: no array for the odds before learning
        self.particle_filter.learn(self.scaled(X), y, weight, None)
        self.waiting, self.n_taken = None, int(needed[-1]) + 1

    def make_ready(self, call, **options):
        """Reserve memory for further rows: none, the filter has a fixed size."""

    def learn(self, call, *, resample, return_odds):
        """Learn rows in their order; return the odds of each before it was learned.

        `resample` is whether particles are resampled and moved.
        """
        X, begin = call.rows.X, self.n_taken
        self.n_taken = 0
        odds = None
        if return_odds:
            odds = np.ones((len(X), count_problems(len(self.classes)), 2))
        if begin < len(X):
            self.particle_filter.set_resample(resample)
            rest = slice(begin, len(X))
            self.particle_filter.learn(
                self.scaled(X[rest]),
                call.labels[rest],
                None if call.weight is None else call.weight[rest],
                None if odds is None else odds[rest],
            )
        return odds

    def state(self):
        """Serialize to a dict of arrays and plain values."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        state["schema"], state["classes"] = self.schema.state(), self.classes.names
        if self.particle_filter is not None:
            state["particle_filter"] = self.particle_filter.__reduce__()[1]
        return canonical(state)  # equal states have equal pickles

    @classmethod
    def of_state(cls, state, owner):
        """Restore a model from its serialized state; errors name `owner`."""
        owner = cls.__new__(cls) if owner is None else owner
        state = merge_defaults(state, default_parameters(cls), "The state of OASIS")
        state["schema"] = Schema.of_state(state["schema"], owner)
        state["classes"] = Classes(state["classes"])
        if state["particle_filter"] is not None:
            state["particle_filter"] = restored(*state["particle_filter"])
        return cls(**state)


SCORES = ("oasis", "gbs", "uc")


class QueryMixin:
    """Mixin of an estimator with particles: query scores, and hypotheses (planes).

    The estimator has the methods `_rows`, which validates rows, and `_odds`, which
    returns the odds of each binary problem.
    """

    @reads
    def query_score(
        self, X: TableLike, score: Literal["oasis", "gbs", "uc"] = "oasis"
    ) -> NDArray[Any]:
        r"""Score rows by how informative their label would be.

        The scores compare the total weight of the planes that have the row on their
        positive side with the total weight of those that have it on their negative
        side:

        - ``"oasis"``: the absolute difference of the two, in [0, 1]. *Small* values
          are informative.
        - ``"gbs"`` (generalized binary search): the smaller of the two, in [0, 1/2].
          *Large* values are informative. If no plane passes through the row, it is
          (1 - ``"oasis"``) / 2.
        - ``"uc"`` (uncertainty): :math:`|P(1 \mid x) - 1/2|`. *Small* values are
          informative.

        With more than two classes, the score is that of the least certain class
        against the rest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.
        score : {"oasis", "gbs", "uc"}, default="oasis"
            Which score to compute.

        Returns
        -------
        ndarray of shape (n_samples,)
            Score of each row. Before any row is learned, each row has the score of a
            maximally informative row.
        """
        if not (isinstance(score, str) and score in SCORES):
            raise InvalidParameterError(
                f"The 'score' parameter of query_score must be one of {list(SCORES)}. "
                f"Got {score!r} instead."
            )
        if score == "uc":
            distance = np.abs(expit(decide(self._odds(X))) - 0.5)
            return distance.min(axis=1, initial=0.5)
        X, model = self._rows(X), self._model
        if model.grows:
            # weights of the planes on both sides: [row, problem, side]
            sides = model.particle_filter.sides(model.scaled(X))
        else:
            sides = np.full((len(X), count_problems(len(model.classes)), 2), 0.5)
        if score == "oasis":
            return np.abs(sides[..., 0] - sides[..., 1]).min(axis=1, initial=1.0)
        return sides.min(axis=2).max(axis=1, initial=0.0)

    @reads
    def hypotheses(self, X: TableLike) -> tuple[NDArray[np.int16], Floats, Indices]:
        r"""Predict rows by planes drawn from the posterior.

        As many planes as there are particles are drawn by weight (systematic
        resampling), so that each has the same weight. Repeated calls use the same draw
        until another row is learned. Copies of one particle form a group.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        outcomes : ndarray of shape (n_particles, n_samples), int16
            Index in `classes_` of the class that each plane predicts for each row.
        weights : ndarray of shape (n_particles,)
            Weights of the planes, all equal to 1 / `n_particles`.
        groups : ndarray of shape (n_particles,), intp
            Index of the particle that each plane is a copy of.

        Raises
        ------
        ValueError
            If the number of classes is not two, or there are no particles yet.

        See Also
        --------
        skconftree.active.EC2Sampling : Query strategy that separates the planes.
        """
        particle_filter = self._planes()
        X = self._model.scaled(self._rows(X))
        # the number of rows learned determines the random draw
        outcomes, groups = particle_filter.hypotheses(X, particle_filter.n_rows)
        return outcomes, np.full(len(groups), 1.0 / len(groups)), groups

    @reads
    def hypothesis_points(self) -> Floats:
        """Coordinates of the planes that `hypotheses` draws, for clustering.

        Returns
        -------
        ndarray of shape (n_particles, n_coordinates)
            Coordinates of each plane: one per feature, then the intercept, if any.
        """
        particle_filter = self._planes()
        _, parent = particle_filter.hypotheses(
            np.empty((0, particle_filter.n_features)), particle_filter.n_rows
        )
        return particle_filter.coordinates()[0, parent]

    def _planes(self):
        # The particle filter, if each of its particles is a hypothesis.
        check_is_fitted(self)
        if self.n_classes_ != 2:
            raise ValueError(
                f"Hypotheses need 2 classes; this {type(self).__name__} has "
                f"{self.n_classes_} and learns them one-vs-rest. Fit it to the labels "
                'of one class against the rest, or use query_score with "gbs", which '
                "scores the least certain class."
            )
        return self._particles(ValueError)

    def _particles(self, error=AttributeError):
        if self._model is None or not self._model.grows:
            raise error(
                f"This {type(self).__name__} has no particles yet: they are drawn by "
                f"fit, or by partial_fit after {FIRST_ROWS} rows, which determine the "
                "scale. With standardize=False the first row is enough."
            )
        return self._model.particle_filter

    @property
    @reads
    def particles_(self) -> NDArray[Any]:
        """Coordinates of the planes, (n_problems, n_particles, n_coordinates).

        There is one coordinate per feature, then the intercept, if any. There is one
        problem for two classes, otherwise one per class.
        """
        return self._particles().coordinates()

    @property
    @reads
    def weights_(self) -> Floats:
        """Weights of the planes, (n_problems, n_particles); each row sums to 1."""
        return self._particles().shares()

    @property
    @reads
    def ess_(self) -> Floats:
        """Effective sample size of each problem: 1 / sum of squared weights.

        Each copy of a plane counts; `n_distinct_` counts copies once.
        """
        return self._particles().counts()["ess"]

    @property
    @reads
    def n_distinct_(self) -> Indices:
        """Number of distinct planes of each problem, including those of weight 0."""
        return self._particles().n_distinct()

    @property
    @reads
    def n_moves_(self) -> Indices:
        """Number of times the particles of each problem were resampled and moved."""
        return self._particles().counts()["n_moves"]

    @property
    @reads
    def n_restarts_(self) -> Indices:
        """Number of restarts of each problem from the prior.

        A problem restarts if all weights become 0, which requires rows of extreme
        weight.
        """
        return self._particles().counts()["n_restarts"]


def decide(odds):
    """Log odds of each class against the rest."""
    # If several classes have the largest odds that the likelihood permits, they differ
    # by rounding errors only. Rounding to multiples of 2**-30 makes them ties.
    decision = np.log(odds[..., 0]) - np.log(odds[..., 1])
    return np.ldexp(np.rint(np.ldexp(decision, 30)), -30)
