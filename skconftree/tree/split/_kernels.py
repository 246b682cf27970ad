"""Creation of the compiled criterion and bound of one worker."""

from ...criteria._criterion import CRITERIA


def make_kernels(settings, n_classes, largest=None):
    """Return the compiled criterion and bound (or None); ValueError if incompatible."""
    if settings.criterion not in CRITERIA:
        raise ValueError(
            f"The criterion of growth settings must be one of {list(CRITERIA)}. Got "
            f"{settings.criterion!r} instead."
        )
    criterion, bound = CRITERIA[settings.criterion](n_classes), None
    if settings.bound is not None:
        bound = settings.bound.kernel(settings.criterion, n_classes)
    if largest is not None:
        criterion.reserve(largest)
        if bound is not None and bound.score is not None:
            bound.score.reserve(largest)
    return criterion, bound
