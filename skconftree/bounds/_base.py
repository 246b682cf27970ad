"""Base class of bounds, their defaults for trees, and checks of their arguments.

A bound is a split rule: it decides whether the best candidate split is made. Interval
bounds split a node if the sum of the children's upper limits of the impurity is below
the limit of the node. Race bounds split it if the score of the best split is better
than that of the best other feature by more than a confidence radius. The *outcomes* of
a split are its branches, and an *attempt* is one decision whether to split a leaf. A
*kernel* is the compiled object of a bound, for one fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from .._compat import InvalidParameterError, validate_parameters
from ..utils._codec import VersionedState
from ._contract import PythonBound  # calls `decide` of a bound written in Python

if TYPE_CHECKING:
    from ._contract import Bound, BoundEvaluation, SplitStats


@dataclass(frozen=True, kw_only=True)
class TreeDefaults:
    """Values of the parameters of a tree that are ``"auto"``, for one bound.

    They are the attribute `defaults` of the bound's class, chosen by benchmarks. Values
    that the user passes to the tree take precedence. ``TreeDefaults()`` is used for
    trees without a bound, and for bounds that do not set the attribute.

    Parameters
    ----------
    pruning : str, pruning object or None, default=None
        Name of a pruning, or a pruning object. Used by ``fit`` only.
    pruning_confidence : float or None, default=None
        The `confidence` of that pruning. None is the pruning's own default.
    shrinkage : float, default=0.0
        Strength with which the class probabilities of leaves are shrunk toward those of
        the nodes above. Used by ``fit`` only.
    lookahead : int, default=0
        Number of levels below the root at which ``fit`` looks ahead: it compares splits
        by the pruned trees below them. Used with the default pruning and tables that
        are not large. Requires a bound with `decides_per_split`.
    lookahead_confidence : float or None, default=None
        The `confidence` of the pruning after growth with look-ahead. None is
        `pruning_confidence`.
    nominal_splits : {"binary", "multiway"}, default="binary"
        Splits of a nominal feature: two sets of categories, or one branch per category.

    See Also
    --------
    BaseBound : Base class of bounds, with the attribute `defaults`.
    skconftree.ConfidenceTreeClassifier : Its parameters have the same names.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from skconftree.bounds import GTestBound, PossibilisticBound
    >>> GTestBound.defaults.pruning
    'pessimistic'
    >>> PossibilisticBound.defaults
    TreeDefaults(pruning=None, pruning_confidence=None, shrinkage=0.0, lookahead=0, \
lookahead_confidence=None, nominal_splits='multiway')

    A custom bound can reuse the defaults of another bound and change one of them:

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
    """Base class of bounds: the parameters of a split rule.

    `kernel` returns the compiled object that decides. Each bound is a subclass in a
    file of its own, registered by name in ``_registry.py``. As in scikit-learn,
    parameters are stored by the constructor and validated when a tree is fitted or
    `kernel` is called. Pickles contain parameters and version (`VersionedState`).

    Attributes
    ----------
    criteria : tuple of str
        Criteria that the bound supports. The first one is its default. The index of
        Kearns and Mansour is half the sum of ``sqrt(p * (1 - p))`` over the classes.
    delta_parameter : str
        Name of the parameter that a tree's ``delta`` overrides.
    uses_delta : bool
        Whether that parameter has an effect, given the values of the others.
    levels : tuple of float
        Five suitable values of `level_parameter`, from strict to permissive, for
        ``param_grid``.
    level_parameter : str
        Name of the parameter that controls the strictness of the bound; usually
        `delta_parameter`.
    cautious : bool
        Whether the bound, with default settings, needs more rows for a first split
        than a small table has.
    statistic_name : str
        Name of the number that the evidence of a split stores as ``statistic``.
    smaller_is_stronger : bool
        Whether that number is a p-value, or a number of splits expected by chance.
        Prunings can protect splits for which it is small.
    uses_pool : bool
        Whether the unlabeled rows that ``fit`` accepts as ``X_pool`` contribute to the
        weights of the children.
    counts_every_row : bool
        Whether all rows that a growing leaf (of a tree trained by ``partial_fit``)
        inherited from its parent count as evidence. If False, only rows that arrived
        after its creation do.
    counts_stored_rows : bool
        Whether inherited rows that the parent stored individually count as evidence
        too, as they do at every depth in ``fit``. Rows that were summarized in a
        histogram do not. Bounds with a guarantee over repeated split attempts, such as
        e-values, which are valid after every row, must not set this.
    fixed_cuts : bool
        Whether the candidate thresholds of a growing leaf must stay the same over its
        life.
    examines_children : bool
        Whether the children of a new split try to split immediately.
    tests_features : bool
        Whether it selects the feature with the smallest p-value before it compares
        splits. Its compiled object is a ``NodeTest`` (``_contract.pxd``). Such trees
        are grown by ``fit`` only.
    decides_per_split : bool
        Whether the decision about a candidate split depends only on this split and on
        the number of candidates. The `lookahead` of a tree requires this.
    defaults : TreeDefaults
        Values of the parameters of a tree that are ``"auto"``.

    See Also
    --------
    param_grid : Parameter grid over bounds and their levels.
    TreeDefaults : Defaults of the trees that a bound grows.
    skconftree.testing.check_bound : Test suite for custom bounds.

    Notes
    -----
    A subclass defines `criteria`, and either `decide` or, for speed,
    ``_make_kernel(criterion, n_classes)``. This returns the compiled object, a subclass
    of ``Bound`` in ``skconftree/bounds/_contract.pxd``. Custom bounds can live outside
    of this package; ``CONTRIBUTING.md`` shows a complete file.

    An exception in `decide` ends ``fit``, which leaves the estimator as it was.
    ``partial_fit`` raises it when the model is at a multiple of 1,024 rows, or at the
    end of the call; the node remains a leaf, which may be split later.

    Examples
    --------
    >>> from skconftree.bounds import BaseBound, GTestBound
    >>> isinstance(GTestBound(), BaseBound)
    True
    >>> GTestBound().criteria
    ('entropy', 'gini', 'kearns_mansour')

    A bound in Python, which splits if the impurity decreases by `delta`:

    >>> class MinGain(BaseBound):
    ...     criteria = ("gini",)
    ...     statistic_name = "gain"
    ...     def __init__(self, delta=0.01):
    ...         self.delta = delta
    ...     def decide(self, stats):
    ...         gain = stats.impurity - stats.score
    ...         return gain >= self.delta, gain
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> tree = ConfidenceTreeClassifier(MinGain(0.1)).fit(*load_iris(return_X_y=True))
    >>> tree.get_n_leaves()
    3
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
    counts_stored_rows = False
    fixed_cuts = False
    examines_children = False
    tests_features = False
    decides_per_split = False
    defaults = TreeDefaults()
    _parameter_constraints: dict = {}

    @property
    def level_parameter(self) -> str:
        """Name of the parameter whose values are `levels`."""
        return self.delta_parameter

    def check_parameters(self) -> None:
        """Raise ``InvalidParameterError`` unless every parameter is valid."""
        validate_parameters(self)

    def kernel(self, criterion: str | None, n_classes: int) -> Bound:
        """Create the compiled split rule, with its scratch memory, for one fit.

        Parameters
        ----------
        criterion : str or None
            One of `criteria`; None is the first of them.
        n_classes : int
            Number of classes, at least 2.

        Returns
        -------
        Bound
            Split rule for one fit and one thread.

        Raises
        ------
        NotImplementedError
            If a method that trees call is not defined.
        TypeError
            If it defines a score, the function that the split search minimizes, but
            trees with this kind of bound use their criterion instead.
        """
        self.check_parameters()
        criterion = self.check_criterion(criterion)
        if type(self).decide is not BaseBound.decide:
            kernel = PythonBound(self)
        else:
            kernel = self._make_kernel(criterion, n_classes)
        kernel.check()
        kernel.reserve(n_classes, 2)  # allocate the scratch memory
        return kernel

    def decide(self, stats: SplitStats) -> tuple[bool, float]:
        """Decide whether a node is split by its best candidate split.

        A bound that defines this method needs no compiled code. It is called once per
        node, in any thread. It is slow for large trees: a call takes about ten
        microseconds.

        Parameters
        ----------
        stats : SplitStats
            Named tuple. ``children_counts`` is an array of shape (outcomes, n_classes).
            ``score`` is the impurity after the split, ``impurity`` the one before, and
            ``runner_up_score`` that of the best split of another feature (infinity if
            there is none), all per row and scaled so that two balanced classes have
            1/2. ``n_candidates`` splits were compared, ``n_feature_candidates`` of them
            of this feature; ``n_candidate_features`` features have any. ``n_fresh``,
            ``time``, ``attempt`` and ``depth`` are as in `evaluate`.

        Returns
        -------
        split : bool
            Whether the node is split; False waits for more rows.
        statistic : float
            Number that decided, stored as evidence; see `statistic_name`.
        """
        raise NotImplementedError

    def _make_kernel(self, criterion, n_classes):
        """Create the kernel; parameters and criterion have been validated."""
        raise NotImplementedError(
            f"{type(self).__name__} defines neither decide nor _make_kernel, which "
            "returns the compiled split rule."
        )

    def check_criterion(self, criterion: str | None) -> str:
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
        if not self.criteria:
            raise NotImplementedError(
                f"{type(self).__name__} does not define criteria, a tuple of names."
            )
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
        """Apply the bound to one candidate split of one node, without a tree.

        Parameters
        ----------
        children_counts : array-like of shape (outcomes, n_classes)
            Class counts of each outcome of the split. The node is their sum.
        criterion : str or None, default=None
            One of `criteria`; None is the first of them.
        pool : array-like of shape (outcomes,) or None, default=None
            Weight W of each outcome for interval bounds: labeled and unlabeled rows
            together. None is the number of labeled rows.
        n_tests : int, default=1
            Number of candidate splits compared at the node.
        time : float or None, default=None
            Number of rows that the tree has seen. None is the rows of the node.
        depth : int, default=0
            Depth of the node; the root has 0.
        attributes : int, default=1
            Number of features of the training data, which all have candidate splits.
        attribute_tests : float or None, default=None
            Number of candidate splits of the feature of this split. None is `n_tests`
            divided by `attributes`.
        attempt : int, default=1
            Number of split attempts at the leaf, this one included.
        n_fresh : float or None, default=None
            Number of rows that arrived after the node was created. None is all of them.
        runner_up : float or None, default=None
            Score per row of the best split of another feature, for race bounds. None if
            there is no other feature.

        Returns
        -------
        BoundEvaluation
            Named tuple with the decision ``split`` (bool) and the numbers behind it;
            NaN where a number does not apply. ``score`` and ``runner_up_score`` are per
            row. Interval bounds compare ``child_limit`` with ``parent_limit``, both per
            unit of weight; for race bounds ``parent_limit`` is the impurity of the
            node. The others are the confidence ``radius``, ``statistic``,
            ``log_evidence`` (log marginal likelihood of the split) and two cheap lower
            bounds of ``child_limit``: ``floor`` and the tighter one ``sharp_floor``.
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


MAX_COUNT = 2.0**53  # larger floats do not represent every integer


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
    """Return counts of shape (..., n_outcomes, n_classes), C-contiguous floats."""
    shape, what = "(..., n_outcomes, n_classes)", "at least one outcome and one class"
    return np.ascontiguousarray(_floats(tables, name, shape, (1, 1), what))


def _as_floats(value, name, what):
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be {what}. Got {value!r} instead.") from error


def _floats(value, name, shape, min_shape, what):
    counts = _as_floats(value, name, f"an array of counts of shape {shape}")
    last = counts.shape[-len(min_shape) :]
    if len(last) < len(min_shape) or np.less(last, min_shape).any():
        raise ValueError(
            f"{name} must have shape {shape} with {what}. Got shape {counts.shape} "
            "instead."
        )
    bad = ~(np.isfinite(counts) & (counts >= 0))
    if bad.any():
        raise ValueError(
            f"{name} must hold finite counts >= 0. Got {counts[bad][0]} instead."
        )
    if counts.size and counts.max() > MAX_COUNT:
        raise ValueError(
            f"{name} must be at most 2**53 (about 9e15): larger counts are not exact. "
            f"Got {counts.max():g}."
        )
    return counts


def check_range(name, value, low, high, *, closed="neither"):
    """Return numbers as a float array; `closed` are the ends of the range included."""
    out = _as_floats(value, name, "a number or an array of numbers")
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
