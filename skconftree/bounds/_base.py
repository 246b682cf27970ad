"""Base class of bounds, their defaults for trees, and checks of their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from .._compat import InvalidParameterError, validate_parameters
from ..utils import VersionedState

if TYPE_CHECKING:
    from ._contract import Bound, BoundEvaluation


@dataclass(frozen=True, kw_only=True)
class TreeDefaults:
    """What the ``"auto"`` of a tree's parameters means with a bound.

    A bound decides about splits and knows no tree. How the trees that it grows are
    best pruned, shrunk and searched was measured with trees, and is said here, once:
    as the attribute `defaults` of the bound's class. What a user gives a tree comes
    before it. A bound without an opinion, and no bound, have ``TreeDefaults()``.

    Parameters
    ----------
    pruning : str, pruning object or None, default=None
        A pruning, by its name or with its parameters. Of ``fit`` alone.
    pruning_confidence : float or None, default=None
        The `confidence` of that pruning; None is its own.
    shrinkage : float, default=0.0
        How strongly leaves are drawn to the nodes above. Of ``fit`` alone.
    lookahead : int, default=0
        Levels below the root that a growth looks ahead, with that pruning and tables
        that are not large. Of ``fit`` alone, and only of use with a bound that
        `judges_alone`.
    lookahead_confidence : float or None, default=None
        The `confidence` of the pruning when the growth looked ahead; None is
        `pruning_confidence`.
    nominal_splits : {"binary", "multiway"}, default="binary"
        Sets of categories, or a branch for each.

    See Also
    --------
    BaseBound : Has them as an attribute.
    skconftree.ConfidenceTreeClassifier : Its parameters of the same names.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from skconftree.bounds import GTestBound, PossibilisticBound
    >>> GTestBound.defaults.pruning
    'pessimistic'
    >>> PossibilisticBound.defaults
    TreeDefaults(pruning=None, pruning_confidence=None, shrinkage=0.0, lookahead=0, \
lookahead_confidence=None, nominal_splits='multiway')

    A bound of one's own may take another's, but for one:

    >>> class Unshrunk(GTestBound):
    ...     defaults = replace(GTestBound.defaults, shrinkage=0.0)
    >>> Unshrunk().defaults.shrinkage
    0.0
    """

    pruning: object = None
    pruning_confidence: float | None = None
    shrinkage: float = 0.0
    lookahead: int = 0
    lookahead_confidence: float | None = None
    nominal_splits: str = "binary"


class BaseBound(VersionedState, BaseEstimator):
    """Parameters of a bound; `kernel` makes the compiled object that decides.

    A bound is one file with one subclass, registered by name in
    ``_registry.py``. Parameters are only stored; they are checked when a tree
    is fitted or `kernel` is called.

    Attributes
    ----------
    criteria : tuple of str
        Criteria the bound is defined for; the first is its default.
    delta_parameter : str
        Name of the parameter that a tree's ``delta`` overrides.
    uses_delta : bool
        Whether that parameter has an effect with the others as they are.
    levels : tuple of float
        Five sensible values of `level_parameter`, from strict to lax, for
        ``param_grid``.
    level_parameter : str
        The parameter that makes the bound strict or lax: `delta_parameter`, or what
        takes its place.
    cautious : bool
        Whether the bound, at its default, needs more rows for a first split
        than a small table has.
    statistic_name : str
        What the number stored as the evidence's ``statistic`` is called.
    smaller_is_stronger : bool
        Whether that number is an expected number of splits as good by chance, or a
        p-value. A pruning may protect splits for which it is small.
    uses_pool : bool
        Whether unlabelled rows weigh the children (``X_pool`` of a fit).
    counts_every_row : bool
        Whether a growing leaf may count the rows it took over from its parent as
        evidence, whatever form they were handed over in. Otherwise only those that came
        after its creation count.
    counts_handed_rows : bool
        Whether it may count, besides those, rows that its parent kept and handed over,
        as `fit` does at every depth; never the fractions that a histogram makes of
        them. A promise over many looks forbids it.
    fixed_cuts : bool
        Whether the candidate cuts of a growing leaf must not move while it lives.
    examines_children : bool
        Whether the children of a new split are examined at once.
    judges_alone : bool
        Whether the bound's decision about a test depends on no other test, but for
        their number. A tree's `lookahead` needs that.
    defaults : TreeDefaults
        What the ``"auto"`` of a tree's parameters means with this bound.

    See Also
    --------
    param_grid : A grid over bounds and their levels.
    TreeDefaults : What a bound may say of the trees it grows.
    skconftree.testing.check_bound : Tries a bound of your own.

    Notes
    -----
    A subclass defines ``_make_kernel(criterion, n_classes)``, which makes the compiled
    object, a subclass of ``Bound`` of ``skconftree/bounds/_contract.pxd``. It need not
    be part of this package; ``CONTRIBUTING.md`` has a whole file to start from.

    Examples
    --------
    >>> from skconftree.bounds import BaseBound, GTestBound
    >>> isinstance(GTestBound(), BaseBound)
    True
    >>> GTestBound().criteria
    ('entropy', 'gini', 'kearns_mansour')
    """

    criteria: tuple[str, ...] = ()
    delta_parameter = "delta"
    uses_delta = True
    levels: tuple[float, ...] = ()
    cautious = False
    statistic_name = "confidence"
    smaller_is_stronger = False
    uses_pool = False
    counts_every_row = False
    counts_handed_rows = False
    fixed_cuts = False
    examines_children = False
    judges_alone = False
    defaults = TreeDefaults()
    _parameter_constraints: dict = {}

    @property
    def level_parameter(self) -> str:
        """Name of the parameter that `levels` are of."""
        return self.delta_parameter

    def check_parameters(self) -> None:
        """Raise ``InvalidParameterError`` unless every parameter is valid."""
        validate_parameters(self)

    def kernel(self, criterion: str | None, n_classes: int) -> Bound:
        """Make the compiled decision for one fit, scratch memory included.

        Parameters
        ----------
        criterion : str or None
            One of `criteria`; None is the first of them.
        n_classes : int
            Number of classes, at least 2.

        Returns
        -------
        Bound
            Of the bound's own class; for one fit and one thread.

        Raises
        ------
        NotImplementedError
            If it lacks a method that a tree calls.
        TypeError
            If it has a score that no tree would look at.
        """
        self.check_parameters()
        kernel = self._make_kernel(self.check_criterion(criterion), n_classes)
        kernel.check()
        kernel.reserve(n_classes, 2)
        return kernel

    def _make_kernel(self, criterion, n_classes):
        """Make the kernel; parameters and criterion have been checked."""
        raise NotImplementedError(
            f"{type(self).__name__} has no _make_kernel, which makes what decides."
        )

    def check_criterion(self, criterion: str | None) -> None:
        """Resolve a criterion.

        Parameters
        ----------
        criterion : str or None
            One of `criteria`; None is the first of them.

        Returns
        -------
        str
            Its name.

        Raises
        ------
        InvalidParameterError
            If the bound is not defined for it.
        """
        if criterion is None:
            return self.criteria[0]
        if criterion not in self.criteria:
            raise InvalidParameterError(
                f"The 'criterion' parameter of {type(self).__name__} must be one of "
                f"{list(self.criteria)}. Got {criterion!r} instead."
            )
        return criterion

    def evaluate(
        self,
        children_counts: ArrayLike,
        *,
        criterion: str | None = None,
        pool: ArrayLike | None = None,
        n_tests: int = 1,
        time: float | None = None,
        depth: int = 0,
        attributes: int = 1,
        attribute_tests: float | None = None,
        attempt: int = 1,
        n_fresh: float | None = None,
        runner_up: float | None = None,
    ) -> BoundEvaluation:
        """Ask the bound about one test of one node, without a tree.

        Parameters
        ----------
        children_counts : array-like of shape (outcomes, n_classes)
            Class counts of every outcome of the test. The node is their sum.
        criterion : str or None, default=None
            One of `criteria`; None is the first of them.
        pool : array-like of shape (outcomes,) or None, default=None
            Weight W of every outcome for interval bounds, labelled and unlabelled
            rows together; the labelled rows if None.
        n_tests : int, default=1
            Candidate splits compared at the node.
        time : float or None, default=None
            Rows the tree has seen; the rows of the node if None.
        depth : int, default=0
            Depth of the node; the root has 0.
        attributes : int, default=1
            Attributes of the training data, which all have tests at the node.
        attribute_tests : float or None, default=None
            Candidate tests of the attribute of this test; `n_tests` divided by
            `attributes` if None.
        attempt : int, default=1
            How often the leaf has been examined, this time included.
        n_fresh : float or None, default=None
            Rows that came after the node was created; all of them if None.
        runner_up : float or None, default=None
            Score per row of the best test of another attribute, for race bounds;
            None if there is no other attribute.

        Returns
        -------
        BoundEvaluation
            Named tuple with ``split`` (bool) and, NaN where they do not apply,
            ``score`` and ``runner_up_score`` (per row), ``parent_limit`` and
            ``child_limit`` (what is compared by interval bounds, per unit of
            weight; for race bounds the former is the impurity of the node),
            ``radius``, ``statistic``, ``floor`` and ``sharp_floor`` (cheap lower
            limits of ``child_limit``) and ``log_evidence``.
        """
        criterion = self.check_criterion(criterion)
        n_classes = np.shape(children_counts)[-1] if np.ndim(children_counts) else 0
        if n_classes < 2:
            raise ValueError(
                "children_counts must have shape (outcomes, classes), both at least "
                f"2. Got {np.shape(children_counts)}."
            )
        return self.kernel(criterion, n_classes).evaluate(
            children_counts,
            criterion=criterion,
            pool=pool,
            n_tests=n_tests,
            time=time,
            depth=depth,
            attributes=attributes,
            attribute_tests=attribute_tests,
            attempt=attempt,
            n_fresh=n_fresh,
            runner_up=runner_up,
        )


MOST = 2.0**53  # of a count, up to which counts are exact


def broadcast_table(*arrays):
    """Return broadcast arrays as the rows of a C-contiguous table, and their shape."""
    arrays = np.broadcast_arrays(*arrays)
    return np.ascontiguousarray([array.ravel() for array in arrays]), arrays[0].shape


def check_choice(name, value, choices):
    """Raise unless the value is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {list(choices)}. Got {value!r}.")


def check_counts(counts, name="counts"):
    """Return class counts as floats of shape (..., n_classes)."""
    return _floats(counts, name, "(..., n_classes)", (2,), "at least two classes")


def check_tables(tables, name="tables"):
    """Counts of shape (..., n_outcomes, n_classes) as a C-contiguous float array."""
    shape, what = "(..., n_outcomes, n_classes)", "at least one outcome and one class"
    return np.ascontiguousarray(_floats(tables, name, shape, (1, 1), what))


def _floats(given, name, shape, least, what):
    # Counts of such a shape, whose last dimensions have so many at the least.
    try:
        counts = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must be an array of counts of shape {shape}. Got {given!r} "
            "instead."
        ) from error
    last = counts.shape[-len(least) :]
    if len(last) < len(least) or any(
        n < few for n, few in zip(last, least, strict=True)
    ):
        raise ValueError(
            f"{name} must have shape {shape} with {what}. Got shape {counts.shape} "
            "instead."
        )
    bad = ~(np.isfinite(counts) & (counts >= 0))
    if bad.any():
        raise ValueError(
            f"{name} must hold finite counts >= 0. Got {counts[bad][0]} instead."
        )
    if counts.size and counts.max() > MOST:
        raise ValueError(
            f"{name} must be at most 2**53 (about 9e15), up to which counts are exact. "
            f"Got {counts.max():g}."
        )
    return counts


def check_range(name, value, low, high, *, closed="neither"):
    """Return numbers as a float array; `closed` tells which ends are in the range."""
    try:
        out = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must be a number or an array of numbers. Got {value!r} instead."
        ) from error
    above = out >= low if closed in ("left", "both") else out > low
    below = out <= high if closed in ("right", "both") else out < high
    bad = ~(above & below)
    if bad.any():
        left = "[" if closed in ("left", "both") else "("
        right = "]" if closed in ("right", "both") else ")"
        raise ValueError(
            f"{name} must be in {left}{low}, {high}{right}. Got {out[bad].flat[0]} "
            f"instead."
        )
    return out
