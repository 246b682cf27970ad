"""Kernels: the compiled criterion and the compiled bound (split rule) of a thread."""

from ...criteria._criterion import CRITERIA, criterion_maker


def make_kernels(settings, n_classes, largest=None):
    """Return the compiled criterion and the compiled bound, None without a bound.

    `settings` are the `GrowthSettings` of a tree (tree/_settings.pxd). `largest` is the
    largest class count, for tables of functions of integer counts; None without tables.
    """
    make_criterion, bound = criterion_maker(settings.criterion), None
    if make_criterion is None:
        raise ValueError(
            f"`criterion` must be one of {list(CRITERIA)}, a subclass of "
            f"Criterion or a criterion object. Got {settings.criterion!r} instead."
        )
    criterion = make_criterion(n_classes)
    if settings.bound is not None:
        bound = settings.bound.kernel(settings.criterion, n_classes)
    if largest is not None:
        criterion.reserve(largest)
        if bound is not None and bound.score is not None:
            bound.score.reserve(largest)
    return criterion, bound
