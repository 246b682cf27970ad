"""OASIS in plain NumPy (D1 to D4), with the random numbers written out.

A number depends on the seed, the problem, the row and the particle, and on nothing that
happened before; so the compiled filter must agree up to rounding, moves included. It
accepts steps in single precision: where that might decide, `decided` is False.
"""

import math

import numpy as np

from .draws import WORD, mix


def unit(key):
    return (key >> 11) / 2**53


def likelihood(y, margin, alpha, gamma):
    """D1 as printed; y = 0 stands for no label, which counts by the sum."""
    if y == 0:
        return likelihood(1, margin, alpha, gamma) + likelihood(
            -1, margin, alpha, gamma
        )
    c = math.sqrt((1 - gamma) * gamma * alpha)
    slope = math.log(gamma * alpha / c)
    rising = c * np.exp(np.minimum(-y * slope * margin, 700))
    return np.minimum(1 - gamma, np.maximum(gamma * alpha, rising))


def systematic_resample(weights, first):
    """D4: indices, given the draw in [0, 1) from which u_1 = first / m follows."""
    m = len(weights)
    cumulative = np.cumsum(weights)
    u = (first + np.arange(m)) / m
    return np.minimum([(cumulative < one).sum() for one in u], m - 1)


class SlowFilter:
    """One hyperplane's particles.

    Parameters
    ----------
    n_features, n_particles, buffer_size : int
    alpha, gamma : float
    prior : {"cauchy", "normal"}
    scale : float
    resample : bool
    seed : int
    problem : int, default=0
        Number of the class that is told from the rest.
    """

    def __init__(
        self,
        n_features,
        n_particles,
        buffer_size,
        *,
        alpha=0.5,
        gamma=0.2,
        prior="cauchy",
        scale=1.0,
        resample=True,
        seed=0,
        problem=0,
    ):
        self.shape = alpha, gamma
        self.prior, self.scale, self.resample = prior, scale, resample
        self.seed, self.problem = seed, problem
        self.m, self.d, self.tau = n_particles, n_features, buffer_size
        self.buffer, self.n_rows, self.n_moves = [], 0, 0
        self.decided = True
        self.particles = np.array([self.draw_prior(i) for i in range(self.m)])
        self.weights = np.full(self.m, 1 / self.m)

    def key(self, row, particle):
        key = mix(mix(mix(self.seed) ^ self.problem) ^ row)
        return mix(key ^ particle)

    def normals(self, key):
        found = []
        for j in range(0, self.d, 2):
            radius = math.sqrt(-2 * math.log(1 - unit(mix(key + j & WORD))))
            angle = 2 * math.pi * unit(mix(key + j + 1 & WORD))
            found += [radius * math.cos(angle), radius * math.sin(angle)]
        return np.array(found[: self.d])

    def draw_prior(self, i):
        key = self.key(0, self.m + 1 + i)
        if self.prior == "normal":
            return self.scale * self.normals(key)
        u = np.array([unit(mix(key + j & WORD)) for j in range(self.d)])
        return self.scale * np.tan(math.pi * (u - 0.5))

    def log_prior(self, w):
        """Of each coordinate."""
        if self.prior == "normal":
            return -0.5 * (w / self.scale) ** 2
        return -np.log(1 + (w / self.scale) ** 2)

    def log_likelihood(self, planes):
        """Of the buffered rows, and how far single precision may be off."""
        found, error = np.zeros(len(planes)), np.full(len(planes), 1e-9)
        for x, y, weight in self.buffer:
            margin = planes @ x
            rounding = 1e-6 * (np.abs(planes) @ np.abs(x)) + 1e-6
            found += weight * np.log(likelihood(y, margin, *self.shape))
            slope = math.log((1 - self.shape[1]) / math.prod(self.shape)) / 2
            inside = np.abs(margin) < 1 + rounding
            error += weight * slope * np.where(inside, rounding, 0)
            error += 1e-7 * weight * slope * len(self.buffer)
            if y == 0:  # lines between 1,024 knots
                error += weight * (slope / 1023) ** 2 / 8
        return found, error

    def learn(self, x, y, weight=1.0):
        self.n_rows += 1
        self.weights = (
            self.weights * likelihood(y, self.particles @ x, *self.shape) ** weight
        )
        self.weights /= self.weights.sum()
        self.buffer = [*self.buffer, (x, y, weight)][-self.tau :]
        self.ess = 1 / (self.weights**2).sum()
        if self.resample and self.ess < self.m / 2:
            self.resample_and_move()

    def resample_and_move(self):
        """D4, with steps along the length and along coordinates, Metropolis each."""
        half = self.m // 2
        pairs = np.arange(min(half, 250)) * half // min(half, 250)
        apart = np.abs(self.particles[pairs] - self.particles[pairs + half])
        apart = np.sort(apart, axis=0)[len(pairs) // 2]
        sizes = np.maximum(1e-3 * self.scale, 1.1 * apart)
        first = unit(self.key(self.n_rows, self.m))
        self.particles = self.particles[systematic_resample(self.weights, first)]
        cost = sum(1 if y else 4 for _, y, _ in self.buffer)
        n_coordinates = max(1 + 3 * self.d * 200 // (2 * max(cost, 200)), 4)
        t, v = self.draws(n_coordinates)
        growth = np.clip(0.3 * t, -3, 3)
        factor = np.exp(growth).astype(np.float32).astype(float)[:, np.newaxis]
        self.take(self.particles * factor, v, self.d * growth)
        for turn in range(n_coordinates):
            j = (self.n_moves * n_coordinates + turn) % self.d
            t, v = self.draws(turn)
            moved = self.particles.copy()
            moved[:, j] += sizes[j] * t
            self.take(moved, v, 0.0)
        self.weights = np.full(self.m, 1 / self.m)
        self.ess = float(self.m)
        self.n_moves += 1

    def draws(self, turn):
        """Of each particle: Student's t, and a number within (0, 1)."""
        keys = [self.key(self.n_rows, i) for i in range(self.m)]
        bits = [mix(key + turn & WORD) for key in keys]
        u = np.array([(one >> 32) - (one >> 63 << 32) for one in bits]) / 2**31
        low = [(one & 2**32 - 1) ^ 2**31 for one in bits]
        t = math.sqrt(2) * u / np.sqrt((1 + 1e-9) ** 2 - u**2)
        return t, (np.array(low) + 0.5) / 2**32

    def take(self, moved, v, log_volume):
        """Metropolis steps, one of each particle."""
        here, error = self.log_likelihood(self.particles)
        there, other_error = self.log_likelihood(moved)
        gain = there - here + log_volume
        gain += (self.log_prior(moved) - self.log_prior(self.particles)).sum(axis=1)
        far = np.abs(gain - np.log(v)) > error + other_error
        self.decided &= bool(far.all())
        taken = (np.log(v) < gain)[:, np.newaxis]
        self.particles = np.where(taken, moved, self.particles)

    def probability(self, x):
        """P(+1 | x): the ratio of weighted sums (D2)."""
        margin = self.particles @ x
        positive = self.weights @ likelihood(1, margin, *self.shape)
        return positive / (self.weights @ likelihood(0, margin, *self.shape))

    def scores(self, x):
        """OASIS, GBS and UC (D3)."""
        margin = self.particles @ x
        above, below = self.weights[margin > 0].sum(), self.weights[margin < 0].sum()
        return abs(above - below), min(above, below), abs(self.probability(x) - 0.5)
