"""Bound (split rule) by McDiarmid's inequality for information gain and Gini gain.

A `RaceBound` requires that the best split beats its competitors by more than a confidence radius;
a kernel is the compiled object of a bound.
"""

from libc.math cimport M_E, fmax, log, log2, sqrt

from numbers import Real

import numpy as np

from skconftree._compat import Interval, StrOptions
from skconftree.bounds._base import BaseBound, broadcast_table, check_choice, check_range

# NodeStats describes the node, SplitEvidence what the tree stores about its split.
from skconftree.bounds._contract cimport NodeStats, RaceBound, SplitEvidence
from skconftree.criteria._impurity cimport ENTROPY
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef float64_t gain_radius(bint entropy, float64_t m, float64_t delta, float64_t k) noexcept nogil:
    # Confidence radius of the gain in bits, or of the Gini gain, from m rows and k classes.
    cdef float64_t sensitivity = 8.0
    if entropy:
        sensitivity = 6.0 * (k * log2(M_E * m) + log2(2.0 * m)) + 2.0 * log2(k)
    return sensitivity * sqrt(-log(delta) / (2.0 * m))


cdef class McDiarmidKernel(RaceBound):
    """Compiled rule: the best split must win by Rutkowski's radius; see `RaceBound`."""

    cdef float64_t radius(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil:
        cdef bint entropy = self.impurity == ENTROPY
        # n_fresh: rows since the leaf was created. The scores are half the entropy, and
        # gain_radius() is that of the entropy.
        return (0.5 if entropy else 1.0) * gain_radius(
            entropy, fmax(stats.n_fresh, 1.0), self.delta, self.n_classes
        )


class McDiarmidBound(BaseBound):
    """Split rule that uses McDiarmid's inequality (McDiarmid tree).

    This is the first correction of the VFDT (Hoeffding tree): McDiarmid's
    inequality holds for information gain and Gini gain, unlike Hoeffding's. It
    controls the deviation but not the bias, and it is loose: a difference of 0.1
    requires 10,000 rows with Gini and 30 million rows with entropy. It is provided
    for comparisons; `DeRosaBound` is its successor.

    Parameters
    ----------
    delta : float, default=0.05
        Probability, in (0, 1), that the gain of one split at one node deviates from its
        expectation by more than the radius. Larger values split earlier.
    against : {"runner_up", "no_split"}, default="runner_up"
        The competitors of the best split: the best split of every other feature and "no
        split", as published, or "no split" only. Among two equally good features there
        is never a winner, so that ``"runner_up"`` does not split however good both are.
    tie_threshold : float, default=0.0
        If the radius is at most this threshold, the best split is made although it does
        not beat the other features, provided that it beats "no split". With 0, ties are
        never broken.

    Attributes
    ----------
    criteria : tuple of str
        Criteria for which the radius is derived.

    See Also
    --------
    mcdiarmid_radius : The radius as a function.
    DeRosaBound : Smaller radii that include the bias.

    Notes
    -----
    With m rows since the creation of the leaf and K classes, the radius is
    ``C sqrt(ln(1/delta) / (2 m))``. C is 8 for the Gini gain and
    ``6 (K log2(e m) + log2(2 m)) + 2 log2 K`` for the information gain in bits. Scores
    (`runner_up` too) are impurities after the split, Gini or half the entropy, so that
    the radius is half of it for entropy. The stored ``statistic`` is ``1 - delta``.

    References
    ----------
    .. [1] L. Rutkowski, L. Pietruczuk, P. Duda, M. Jaworski (2013), "Decision trees
       for mining data streams based on the McDiarmid's bound", IEEE TKDE 25(6),
       1272-1279.

    Examples
    --------
    >>> from skconftree.bounds import McDiarmidBound
    >>> result = McDiarmidBound().evaluate([[4000, 1000], [1000, 4000]], runner_up=0.45)
    >>> result.split, round(result.radius, 3)
    (True, 0.098)
    """

    criteria = ("gini", "entropy")
    cautious = True  # needs many rows for a first split
    levels = (0.001, 0.01, 0.05, 0.2, 0.5)  # of delta, for param_grid
    _parameter_constraints: dict = {
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "against": [StrOptions({"runner_up", "no_split"})],
        "tie_threshold": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, delta=0.05, *, against="runner_up", tie_threshold=0.0):
        self.delta = delta
        self.against = against
        self.tie_threshold = tie_threshold

    def _make_kernel(self, criterion, n_classes):
        return McDiarmidKernel(
            # 1.0: number of radii by which the best split must win
            criterion, n_classes, self.delta, 1.0, self.against == "no_split", self.tie_threshold,
        )


def mcdiarmid_radius(n, delta, *, criterion="gini", n_classes=2):
    """Confidence radius of information gain or Gini gain by McDiarmid's inequality.

    Parameters
    ----------
    n : array-like of float
        Number of rows, at least 1.
    delta : array-like of float
        Probability of failure, in (0, 1). Smaller values give larger radii.
    criterion : {"gini", "entropy"}, default="gini"
        Gini gain, or information gain in bits. (`McDiarmidBound`, like all bounds,
        compares half the gain in bits and half the radius.)
    n_classes : array-like of int, default=2
        Number of classes; used for entropy only.

    Returns
    -------
    radius : float or ndarray
        The arguments are broadcast.

    See Also
    --------
    McDiarmidBound : The split rule that uses it.

    Notes
    -----
    The radius is ``C sqrt(ln(1/delta) / (2 n))`` with C = 8 for Gini and
    ``6 (K log2(e n) + log2(2 n)) + 2 log2 K`` for entropy.

    References
    ----------
    .. [1] L. Rutkowski, L. Pietruczuk, P. Duda, M. Jaworski (2013), "Decision trees
       for mining data streams based on the McDiarmid's bound", IEEE TKDE 25(6),
       1272-1279.

    Examples
    --------
    >>> from skconftree.bounds import mcdiarmid_radius
    >>> mcdiarmid_radius(10_000, [0.05, 1e-7]).round(3)
    array([0.098, 0.227])
    >>> mcdiarmid_radius([10_000, 10**8], 0.05, criterion="entropy").round(3)
    array([3.237, 0.062])
    """
    check_choice("criterion", criterion, McDiarmidBound.criteria)
    cdef bint entropy = criterion == "entropy"
    table, shape = broadcast_table(
        check_range("n", n, 1, np.inf, closed="left"), check_range("delta", delta, 0, 1),
        check_range("n_classes", n_classes, 2, np.inf, closed="left"),
    )
    cdef const float64_t[:, ::1] flat = table
    cdef float64_t[::1] out = np.empty(flat.shape[1])
    cdef intp_t i
    for i in range(flat.shape[1]):
        out[i] = gain_radius(entropy, flat[0, i], flat[1, i], flat[2, i])
    return np.asarray(out).reshape(shape)[()]
