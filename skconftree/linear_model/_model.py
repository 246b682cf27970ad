"""What OASIS has learnt: the model behind the estimator."""

import numpy as np

from ..tables._labels import Classes
from ..tables._schema import Schema
from ..utils import (
    NO_DEFAULT,
    canonical,
    completed,
    refuse_damage,
)
from ._cloud_settings import CloudSettings
from ._particle_filter import ParticleFilter, restored
from ._scaling import measure, scaled

FIRST_ROWS = 100  # set the scale in partial_fit
PARTS = {
    **dict.fromkeys(["schema", "classes", "seed"], NO_DEFAULT),
    **dict.fromkeys(["waiting", "cloud", "mean", "scale"]),
}


def count_problems(n_classes):
    """How many hyperplanes tell so many classes apart: one for two, none for one."""
    return n_classes if n_classes > 2 else n_classes - 1


class OASISModel:
    """A cloud of planes, or the rows that wait until the scale of features is known.

    `waiting` are rows, labels and weights, none of which has been learnt; the cloud is
    None before the scale is known. `n_taken` rows of the call that has made this model
    need not be learnt any more.
    """

    def __init__(self, schema, classes, seed, waiting=None):
        self.schema, self.classes, self.seed = schema, classes, seed
        self.waiting = waiting
        self.cloud = self.mean = self.scale = None
        self.n_taken = 0

    # -- what there is ------------------------------------------------------------

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

    # -- learning -----------------------------------------------------------------

    def start(self, settings, X):
        """Draw the planes, for features whose scale rows tell (None: as they are)."""
        d, intercept = self.schema.n_features, settings.pop("intercept")
        self.mean, self.scale = (np.zeros(d), np.ones(d)) if X is None else measure(X)
        self.cloud = ParticleFilter(
            CloudSettings(
                n_problems=count_problems(len(self.classes)),
                n_features=d + intercept,
                seed=int(self.seed),
                **settings,
            )
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

    # -- state --------------------------------------------------------------------

    def state(self):
        """What there is, as arrays and plain values."""
        cloud = None if self.cloud is None else self.cloud.__reduce__()[1]
        return canonical(
            {
                "schema": self.schema.state(),
                "classes": self.classes.names,
                "seed": self.seed,
                "waiting": self.waiting,
                "cloud": cloud,
                "mean": self.mean,
                "scale": self.scale,
            }
        )

    def __reduce__(self):
        return OASISModel.of_state, (self.state(), None)

    @classmethod
    def of_state(cls, state, owner):
        """Make a model from what came out of a file."""
        owner = cls.__new__(cls) if owner is None else owner
        state = completed(state, PARTS, "The state of OASIS")
        classes, cloud = state["classes"], state["cloud"]
        schema = Schema.of_state(state["schema"], owner)
        model = cls(schema, Classes(classes), state["seed"], state["waiting"])
        if cloud is not None:
            model.cloud = restored(*cloud)
        model.mean, model.scale = state["mean"], state["scale"]
        refuse_damage(owner, model._sound_parts())
        return model

    def _sound_parts(self):
        d, cloud, waiting = self.schema.n_features, self.cloud, self.waiting
        return {
            "cloud": cloud is None
            or (
                cloud.n_problems == count_problems(len(self.classes))
                and cloud.n_features - d in (0, 1)
                and np.shape(self.mean) == np.shape(self.scale) == (d,)
            ),
            "waiting": waiting is None or self._can_be_learnt(waiting),
        }

    def _can_be_learnt(self, waiting):
        # Compiled code indexes by labels, and takes finite numbers for given.
        if not (isinstance(waiting, tuple) and len(waiting) == 3):
            return False
        if not all(isinstance(part, np.ndarray) for part in waiting):
            return False
        X, y, weight = waiting
        n = len(y) if y.ndim == 1 else 0
        return (
            0 < n < FIRST_ROWS
            and (X.dtype, y.dtype, weight.dtype) == (np.float64, np.intp, np.float64)
            and (X.shape, weight.shape) == ((n, self.schema.n_features), (n,))
            and bool(np.isfinite(X).all() and np.isfinite(weight).all())
            and bool((weight > 0.0).all())
            and bool(((y >= -1) & (y < len(self.classes))).all())
        )
