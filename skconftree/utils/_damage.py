"""What comes out of a pickle is not believed."""

from numbers import Integral

import numpy as np


def refuse_damage(estimator, sound_parts):
    """Raise ValueError that names the first attribute of a state that is not sound."""
    for name, is_sound in sound_parts.items():
        if not is_sound:
            raise ValueError(
                f"The state of this {type(estimator).__name__} is damaged, or was "
                f"written by another release: {name!r} does not fit."
            )


def is_count(value):
    """Whether a part of a state is a whole number, and not negative."""
    return isinstance(value, Integral) and value >= 0


def is_array(value, dtype, shape):
    """Whether a part of a state is an array of this kind.

    Parameters
    ----------
    value : object
    dtype : dtype or None
        None: any.
    shape : tuple of int or None
        None: of any length along that axis.

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.utils import is_array
    >>> counts = np.zeros((5, 3))
    >>> is_array(counts, np.float64, (None, 3)), is_array(counts, np.float64, (None,))
    (True, False)
    """
    return (
        isinstance(value, np.ndarray)
        and (dtype is None or value.dtype == dtype)
        and value.ndim == len(shape)
        and all(
            n is None or n == found for n, found in zip(shape, value.shape, strict=True)
        )
    )


def are_classes(value, least=1):
    """Whether a part of a state is a list of classes, each once and in order.

    Parameters
    ----------
    value : object
    least : int, default=1
        How many there must be.

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.utils import are_classes
    >>> are_classes(np.array(["a", "b"])), are_classes(np.array([3, 3]))
    (True, False)
    """
    if not is_array(value, None, (None,)) or len(value) < least:
        return False
    try:
        return bool((value[1:] > value[:-1]).all())
    except TypeError:
        return False
