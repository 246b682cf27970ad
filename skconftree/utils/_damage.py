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
    """Whether a part of a state is such an array; None is any dtype, or length."""
    return (
        isinstance(value, np.ndarray)
        and (dtype is None or value.dtype == dtype)
        and value.ndim == len(shape)
        and all(
            n is None or n == found for n, found in zip(shape, value.shape, strict=True)
        )
    )


def are_classes(value, least=1):
    """Whether a part of a state is a list of classes, each once and in order."""
    if not is_array(value, None, (None,)) or len(value) < least:
        return False
    try:
        return bool((value[1:] > value[:-1]).all())
    except TypeError:
        return False
