"""Hyperplanes with weights that learn: the particle filter of OASIS."""

from numbers import Integral, Real

import numpy as np

from skconftree.linear_model._scaling import FAR
from skconftree.utils._canonical import canonical

from libc.math cimport INFINITY, log, sqrt
from libc.string cimport memcpy

from skconftree.linear_model._cloud cimport Cloud, LANES, bounded, draw_normal_pair
from skconftree.linear_model._likelihood cimport Likelihood, of_either, of_label
from skconftree.linear_model._margins cimport BLOCK, find_margins, find_margins_of_four
from skconftree.utils._draws cimport mix, unit
from skconftree.utils._lock cimport begin_rows, between_rows, end_rows
from skconftree.utils._typedefs cimport float64_t, intp_t, uint64_t

STATE_VERSION = 1

cdef enum:
    AHEAD = 4           # rows whose margins are found at once
    BOUNDARY = 64       # rows between two looks at signals, a multiple of AHEAD
    NO_LABEL = -1

cdef float64_t SMALLEST_STEP = 1e-3


cdef class ParticleFilter(Cloud):
    """Particles that learn rows, are resampled and move.

    Parameters
    ----------
    settings : dict
        Those of `Cloud`, ``buffer_size`` and ``resample``. Not checked here: the
        estimator has.
    state : dict, default=None
        Of a pickled filter.
    """

    cdef readonly intp_t n_rows         # learnt so far
    cdef intp_t buffer_size
    cdef intp_t n_buffered
    cdef bint resample
    cdef intp_t[::1] n_moves
    cdef intp_t[::1] n_restarts
    # The last rows, in a ring: row number i is at i modulo buffer_size.
    cdef float64_t[:, ::1] rows
    cdef intp_t[::1] labels
    cdef float64_t[::1] row_weights
    # While rows are learnt: margins of the next rows, [problem, row, particle];
    # particles drawn anew, and whose copies they are.
    cdef float64_t[:, :, ::1] ahead
    cdef float64_t[:, ::1] drawn
    cdef intp_t[::1] parent

    def __init__(self, settings, state=None):
        cdef intp_t problem
        cdef intp_t p = settings["n_problems"]
        cdef intp_t d = settings["n_features"]
        super().__init__(settings)
        self.buffer_size = settings["buffer_size"]
        self.resample = settings["resample"]
        self.drawn = np.zeros((d, self.stride))
        self.parent = np.zeros(self.n_particles, dtype=np.intp)
        self.ahead = np.zeros((p, AHEAD, self.stride))
        self.rows = np.zeros((self.buffer_size, d))
        self.labels = np.zeros(self.buffer_size, dtype=np.intp)
        self.row_weights = np.zeros(self.buffer_size)
        self.n_moves = np.zeros(p, dtype=np.intp)
        self.n_restarts = np.zeros(p, dtype=np.intp)
        if state is None:
            with nogil:
                for problem in range(p):
                    self._draw_prior(problem, 0)
        else:
            self._take(state)

    # -- learning -----------------------------------------------------------------

    def set_resample(self, bint resample):
        """Say whether particles are resampled and moved from now on.

        Parameters
        ----------
        resample : bool
        """
        self.resample = resample
        self.settings["resample"] = bool(resample)

    def learn(
        self, const float64_t[:, ::1] X, const intp_t[::1] y,
        const float64_t[::1] weight, float64_t[:, :, ::1] foreseen,
    ):
        """Learn rows in their order, for whoever holds the lock to learn.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features), float64
            Finite.
        y : ndarray of shape (n_rows,), intp
            Class indices; -1 = not known.
        weight : ndarray of shape (n_rows,), float64, or None
            Not negative. A row of weight 0 is foreseen, but not learnt.
        foreseen : ndarray of shape (n_rows, n_problems, 2), float64, or None
            Filled with what `odds` gives for each row before it is learnt.
        """
        cdef intp_t n = X.shape[0]
        cdef intp_t i = 0
        cdef intp_t k, n_ahead, problem
        cdef float64_t w = 1.0
        self._check_rows(X)
        if not (
            y.shape[0] == n
            and (weight is None or weight.shape[0] == n)
            and (foreseen is None or (
                foreseen.shape[0] == n and foreseen.shape[1] == self.n_problems
                and foreseen.shape[2] == 2
            ))
        ):
            raise ValueError("Labels or weights do not fit the rows.")
        begin_rows()
        try:
            with nogil:
                while i < n:
                    n_ahead = min(<intp_t> AHEAD, n - i)
                    for problem in range(self.n_problems):
                        self._look_ahead(problem, &X[i, 0], 0, n_ahead)
                    for k in range(n_ahead):
                        if foreseen is not None:
                            for problem in range(self.n_problems):
                                self._foresee(
                                    problem, k, &foreseen[i + k, problem, 0]
                                )
                        if weight is not None:
                            w = weight[i + k]
                        if w > 0.0:
                            self._learn_row(&X[i, 0], k, n_ahead, y[i + k], w)
                    i += n_ahead
                    if i % BOUNDARY == 0 and i < n:
                        with gil:
                            between_rows()
        finally:
            end_rows()

    cdef void _look_ahead(
        self, intp_t problem, const float64_t* rows, intp_t first, intp_t n_rows
    ) noexcept nogil:
        # Margins of the rows from `first` on.
        cdef const float64_t* w
        cdef intp_t start = 0
        cdef intp_t size, k
        while start < self.stride:
            size = min(<intp_t> BLOCK, self.stride - start)
            w = &self.particles[problem, 0, start]
            if first == 0 and n_rows == AHEAD:
                find_margins_of_four(
                    w, self.stride, rows, self.n_features, size,
                    &self.ahead[problem, 0, start],
                )
            else:
                for k in range(first, n_rows):
                    find_margins(
                        w, self.stride, rows + k * self.n_features, self.n_features,
                        size, &self.ahead[problem, k, start],
                    )
            start += size

    cdef void _learn_row(
        self, const float64_t* rows, intp_t k, intp_t n_ahead, intp_t label,
        float64_t weight,
    ) noexcept nogil:
        # Row k of those whose margins are known.
        cdef const float64_t* x = rows + k * self.n_features
        cdef intp_t place = self.n_rows % self.buffer_size
        cdef intp_t problem
        self.n_rows += 1
        # Before the move, whose target must have it: the weights have it already.
        memcpy(&self.rows[place, 0], x, self.n_features * sizeof(float64_t))
        self.labels[place] = label
        self.row_weights[place] = weight
        self.n_buffered = min(self.n_buffered + 1, self.buffer_size)
        for problem in range(self.n_problems):
            if not self._weigh(problem, k, self._sign(problem, label), weight):
                self._draw_prior(problem, self.n_rows)
                self.n_restarts[problem] += 1
            elif self.resample and 2.0 * self.ess[problem] < self.n_particles:
                self._resample_and_move(problem)
            else:
                continue
            self._look_ahead(problem, rows, k + 1, n_ahead)

    cdef void _foresee(
        self, intp_t problem, intp_t k, float64_t* out
    ) noexcept nogil:
        # The same of a row whose margins are known.
        cdef intp_t start = 0
        cdef intp_t size
        out[0] = 0.0
        out[1] = 0.0
        while start < self.stride:
            size = min(<intp_t> BLOCK, self.stride - start)
            self._add_odds(problem, start, size, &self.ahead[problem, k, start], out)
            start += size

    cdef inline float64_t _sign(self, intp_t problem, intp_t label) noexcept nogil:
        # Of a row in a problem: 1, -1, or 0 without a label.
        if label == NO_LABEL:
            return 0.0
        if self.n_problems == 1:
            return 1.0 if label == 1 else -1.0
        return 1.0 if label == problem else -1.0

    cdef bint _weigh(
        self, intp_t problem, intp_t k, float64_t sign, float64_t weight
    ) noexcept nogil:
        # Multiply weights by the likelihood of row k; False if none is left.
        cdef float64_t parts[LANES]
        cdef float64_t* log_weight = &self.log_weights[problem, 0]
        cdef const float64_t* margin = &self.ahead[problem, k, 0]
        cdef Likelihood shape = self.shape
        cdef float64_t best = -INFINITY
        cdef float64_t value
        cdef intp_t i, lane
        for lane in range(LANES):
            parts[lane] = -INFINITY
        if sign == 0.0:
            for i in range(self.stride):
                log_weight[i] += weight * of_either(&shape, margin[i])
        else:
            for i in range(self.stride):
                log_weight[i] += weight * of_label(&shape, sign * margin[i])
        i = 0
        while i < self.stride:
            for lane in range(LANES):
                value = log_weight[i + lane]
                parts[lane] = value if value > parts[lane] else parts[lane]
            i += LANES
        for lane in range(LANES):
            best = max(best, parts[lane])
        if best == -INFINITY:
            return False
        self._normalise(problem, best)
        return True

    # -- resampling and moving ----------------------------------------------------

    cdef void _resample_and_move(self, intp_t problem) noexcept nogil:
        cdef intp_t start = 0
        cdef intp_t size
        cdef float64_t step = self._step(problem)
        self._resample(problem)
        while start < self.stride:
            size = min(<intp_t> BLOCK, self.stride - start)
            self._move(problem, start, size, step)
            start += size
        self._equal_weights(problem)
        self.n_moves[problem] += 1

    cdef float64_t _step(self, intp_t problem) noexcept nogil:
        # Standard deviation of the proposals: 2.4 / sqrt(d) times the particles' own,
        # the mean over the features.
        cdef const float64_t* weight = &self.weights[problem, 0]
        cdef const float64_t* w
        cdef intp_t d = self.n_features
        cdef float64_t mean_of_all = 0.0
        cdef float64_t mean, spread, off
        cdef intp_t i, j
        for j in range(d):
            w = &self.particles[problem, j, 0]
            mean = 0.0
            for i in range(self.n_particles):
                mean += weight[i] * w[i]
            mean /= self.total[problem]
            spread = 0.0
            for i in range(self.n_particles):
                off = w[i] - mean
                spread += weight[i] * off * off
            mean_of_all += sqrt(spread / self.total[problem]) / d
        return max(SMALLEST_STEP, 2.4 / sqrt(<float64_t> d) * mean_of_all)

    cdef void _resample(self, intp_t problem) noexcept nogil:
        cdef intp_t m = self.n_particles
        cdef intp_t i, j
        cdef float64_t* w
        self._draw_parents(
            problem, unit(self._key(problem, self.n_rows, m)), &self.parent[0]
        )
        for j in range(self.n_features):
            w = &self.particles[problem, j, 0]
            for i in range(m):
                self.drawn[0, i] = w[self.parent[i]]
            memcpy(w, &self.drawn[0, 0], m * sizeof(float64_t))

    cdef void _move(
        self, intp_t problem, intp_t start, intp_t size, float64_t step
    ) noexcept nogil:
        # One Metropolis step of neighbouring particles. Target: prior times
        # likelihood of the rows in the buffer.
        cdef float64_t before[BLOCK]
        cdef float64_t behind[BLOCK]
        cdef float64_t ratio[BLOCK]     # its logarithm
        cdef uint64_t keys[BLOCK]
        cdef intp_t d = self.n_features
        cdef float64_t* w = &self.particles[problem, 0, start]
        cdef float64_t* proposed = &self.drawn[0, start]
        cdef intp_t n_whole = min(size, self.n_particles - start)
        cdef Likelihood shape = self.shape
        cdef float64_t sign, weight
        cdef intp_t i, j, row
        for i in range(size):
            ratio[i] = 0.0
        for i in range(n_whole):
            keys[i] = self._key(problem, self.n_rows, start + i)
            self._propose(w + i, proposed + i, keys[i], step)
            ratio[i] = self._prior_ratio(w + i, proposed + i)
        for row in range(self.n_buffered):
            sign = self._sign(problem, self.labels[row])
            weight = self.row_weights[row]
            find_margins(w, self.stride, &self.rows[row, 0], d, size, before)
            find_margins(proposed, self.stride, &self.rows[row, 0], d, size, behind)
            if sign == 0.0:
                for i in range(size):
                    ratio[i] += weight * (
                        of_either(&shape, behind[i]) - of_either(&shape, before[i])
                    )
            else:
                for i in range(size):
                    ratio[i] += weight * (
                        of_label(&shape, sign * behind[i])
                        - of_label(&shape, sign * before[i])
                    )
        for i in range(n_whole):
            if ratio[i] >= 0.0 or log(1.0 - unit(mix(keys[i] + 2 * d))) < ratio[i]:
                for j in range(d):
                    w[j * self.stride + i] = proposed[j * self.stride + i]

    cdef void _propose(
        self, const float64_t* w, float64_t* proposed, uint64_t key, float64_t step
    ) noexcept nogil:
        cdef float64_t pair[2]
        cdef intp_t j
        for j in range(self.n_features):
            if j % 2 == 0:
                draw_normal_pair(key, j, pair)
            proposed[j * self.stride] = bounded(
                w[j * self.stride] + step * pair[j % 2]
            )

    cdef float64_t _prior_ratio(
        self, const float64_t* w, const float64_t* proposed
    ) noexcept nogil:
        # Logarithm of the prior of the one over that of the other.
        cdef float64_t total = 0.0
        cdef float64_t old, new
        cdef intp_t j
        for j in range(self.n_features):
            old = w[j * self.stride] / self.scale
            new = proposed[j * self.stride] / self.scale
            if self.cauchy:
                total += log((1.0 + old * old) / (1.0 + new * new))
            else:
                total += 0.5 * (old * old - new * new)
        return total

    # -- state --------------------------------------------------------------------

    def __reduce__(self):
        arrays = self._arrays(self.n_buffered)
        state = {name: array.copy() for name, array in arrays.items()}
        state |= {"version": STATE_VERSION, "n_rows": self.n_rows}
        return _restored, (canonical(self.settings), canonical(state))

    def _arrays(self, n):
        # What the rest follows from, with n rows in the buffer.
        return {
            "particles": np.asarray(self.particles),
            "log_weights": np.asarray(self.log_weights),
            "rows": np.asarray(self.rows)[:n],
            "labels": np.asarray(self.labels)[:n],
            "row_weights": np.asarray(self.row_weights)[:n],
            "n_moves": np.asarray(self.n_moves),
            "n_restarts": np.asarray(self.n_restarts),
        }

    cdef int _take(self, dict state) except -1:
        # Compiled code indexes by what is in there, and takes finite numbers for given.
        cdef intp_t problem
        if state.get("version") != STATE_VERSION:
            raise ValueError(
                f"The state of these particles has version {state.get('version')!r}; "
                f"this release reads version {STATE_VERSION}."
            )
        n_rows = state.get("n_rows")
        sound = isinstance(n_rows, int) and 0 <= n_rows < 2**62
        n = min(n_rows, self.buffer_size) if sound else 0
        for name, own in self._arrays(n).items():
            given = state.get(name)
            sound = sound and isinstance(given, np.ndarray)
            sound = sound and (given.shape, given.dtype) == (own.shape, own.dtype)
            if sound:
                own[...] = given
        sound = sound and self._is_sound(n)
        if not sound:
            raise ValueError("The state of these particles is damaged.")
        self.n_rows = n_rows
        self.n_buffered = n
        for problem in range(self.n_problems):
            self._normalise(problem, 0.0)
        return 0

    def counts(self):
        """What has happened to each problem.

        Returns
        -------
        dict of str to ndarray of shape (n_problems,)
            ``ess``: effective sample size; ``n_moves``; ``n_restarts``.
        """
        return {
            "ess": np.array(self.ess),
            "n_moves": np.array(self.n_moves),
            "n_restarts": np.array(self.n_restarts),
        }

    def _is_sound(self, n):
        own = self._arrays(n)
        inside = own["log_weights"][:, :self.n_particles]
        outside = own["log_weights"][:, self.n_particles:]
        weight = own["row_weights"]
        return (
            bool((np.abs(own["particles"]) <= FAR).all())
            and bool((np.abs(own["rows"]) <= FAR).all())
            and bool((inside.max(axis=1) == 0.0).all())
            and bool((outside == -np.inf).all())
            and bool(((weight > 0.0) & (weight < np.inf)).all())
            and bool((own["labels"] >= NO_LABEL).all())
        )


def _restored(settings, state):
    """Make a filter from a pickle, or raise ``ValueError``."""
    kinds = {
        "n_problems": (Integral, 0, 2**16), "n_particles": (Integral, 2, 2**31),
        "n_features": (Integral, 1, 2**31), "buffer_size": (Integral, 1, 2**31),
        "alpha": (Real, 0.0, 1.0), "gamma": (Real, 0.0, 1.0), "cauchy": (bool, 0, 1),
        "scale": (Real, 1e-50, 1e50), "resample": (bool, 0, 1),
        "seed": (Integral, 0, 2**32),
    }
    if not (
        isinstance(settings, dict) and isinstance(state, dict)
        and settings.keys() == kinds.keys()
        and all([
            isinstance(settings[name], kind) and low <= settings[name] <= high
            for name, (kind, low, high) in kinds.items()
        ])
    ):
        raise ValueError("The state of these particles is damaged: its settings.")
    return ParticleFilter(settings, state)
