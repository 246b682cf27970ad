"""What trees do with a bound unless they are told."""

from dataclasses import dataclass


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
