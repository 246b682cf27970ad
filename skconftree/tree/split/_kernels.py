"""What measures and decides splits, made for one worker."""

from ...criteria._criterion import CRITERIA


def make_kernels(settings, n_classes, largest=None):
    """Make the criterion and the bound of a growth.

    Parameters
    ----------
    settings : GrowthSettings
    n_classes : int
    largest : int or None, default=None
        Whole counts up to here come from tables; None: counts are no whole numbers.

    Returns
    -------
    criterion : Criterion
    bound : Bound or None

    Raises
    ------
    ValueError
        If there is no such criterion, or the bound does not know it.
    """
    if settings.criterion not in CRITERIA:
        raise ValueError(
            f"The settings of a growth must have criterion be one of {list(CRITERIA)}. "
            f"Got {settings.criterion!r} instead."
        )
    criterion, bound = CRITERIA[settings.criterion](n_classes), None
    if settings.bound is not None:
        bound = settings.bound.kernel(
            settings.criterion, n_classes, tie_threshold=settings.tie_threshold
        )
    if largest is not None:
        criterion.reserve(largest)
        if bound is not None and bound.score is not None:
            bound.score.reserve(largest)
    return criterion, bound
