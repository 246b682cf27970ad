"""Keeping the state of an estimator."""


class unchanged_on_error:
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

    # A class takes a third of the time of a generator, once for each row of a stream,
    # and a copy of a dict a third of that of a new one.
    __slots__ = ("before", "estimator")

    def __init__(self, estimator):
        self.estimator = estimator
        self.before = vars(estimator).copy()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind is not None:
            self.restore()

    def restore(self):
        """Make the estimator what it was."""
        vars(self.estimator).clear()
        vars(self.estimator).update(self.before)


class Frozen:
    """Another object at one moment, for pickles and copies.

    Parts of a model are written one after the other, while the model may be learning.

    Parameters
    ----------
    reduced : tuple
        What the ``__reduce__`` of the object gave, with nothing in it that changes.
    """

    __slots__ = ("reduced",)

    def __init__(self, reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced

    def thaw(self):
        """Make such an object, once."""
        make, arguments = self.reduced
        return make(*arguments)
