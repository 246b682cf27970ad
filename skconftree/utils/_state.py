"""Keeping another object at one moment."""


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
