"""What measures and decides splits, made for one worker."""

from ...criteria._criterion import CRITERIA


def make_kernels(settings, n_classes, largest=None):
    """Kernels of criterion and bound, or None; ValueError if they do not fit."""
    if settings.criterion not in CRITERIA:
        raise ValueError(
            f"The settings of a growth must have criterion be one of {list(CRITERIA)}. "
            f"Got {settings.criterion!r} instead."
        )
    criterion, bound = CRITERIA[settings.criterion](n_classes), None
    if settings.bound is not None:
        bound = settings.bound.kernel(settings.criterion, n_classes)
    if largest is not None:
        criterion.reserve(largest)
        if bound is not None and bound.score is not None:
            bound.score.reserve(largest)
    return criterion, bound
