"""Keeping an estimator as it was when a call fails."""

from contextlib import contextmanager


@contextmanager
def unchanged_on_error(estimator):
    """Restore the attributes of an estimator if the block raises.

    scikit-learn's ``validate_data`` writes feature names and counts before it
    has looked at the values, so a failed ``fit`` would otherwise leave a fitted
    model that no longer fits itself.

    Parameters
    ----------
    estimator : object
        Its attributes are compared by identity: what the block mutates in place
        stays mutated.

    Examples
    --------
    >>> from skconftree.utils import unchanged_on_error
    >>> class Model:
    ...     fitted = 1
    >>> model = Model()
    >>> model.fitted = 2
    >>> try:
    ...     with unchanged_on_error(model):
    ...         model.fitted = 3
    ...         raise ValueError("bad row")
    ... except ValueError:
    ...     model.fitted
    2
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
