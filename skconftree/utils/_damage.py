"""What comes out of a pickle is not believed."""

from numbers import Integral


def refuse_damage(estimator, sound_parts):
    """Raise unless all parts of a state are sound.

    Parameters
    ----------
    estimator : estimator
    sound_parts : dict of str to bool
        Whether the attribute of that name is what it should be.

    Raises
    ------
    ValueError
        Which names the first part that is not.

    Examples
    --------
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.utils import refuse_damage
    >>> refuse_damage(ConfidenceTreeClassifier(), {"classes_": True})
    """
    for name, is_sound in sound_parts.items():
        if not is_sound:
            raise ValueError(
                f"The state of this {type(estimator).__name__} is damaged, or was "
                f"written by another release: {name!r} does not fit."
            )


def is_count(value):
    """Whether a part of a state is a whole number, and not negative.

    Parameters
    ----------
    value : object

    Returns
    -------
    bool

    Examples
    --------
    >>> from skconftree.utils import is_count
    >>> is_count(3), is_count(-3), is_count(None)
    (True, False, False)
    """
    return isinstance(value, Integral) and value >= 0
