"""What parameter objects of every kind keep."""

import pickle

from sklearn.base import clone

from ._require import going_well, refused, require

NONSENSE = object()


def check_object(plug_in, base):
    """It derives from its base class, and clones and pickles have its parameters."""
    require(
        isinstance(plug_in, base),
        f"{plug_in!r} must be an object of a class derived from {base.__name__}.",
    )
    name = type(plug_in).__name__
    with going_well(f"{name} must be cloned and pickled"):
        copy = pickle.loads(pickle.dumps(clone(plug_in)))
    told, given = (one.get_params(deep=False) for one in (copy, plug_in))
    for key in given:
        # objects inside need not be comparable, their text is
        require(
            repr(told[key]) == repr(given[key]),
            f"A copy of {name} must have its parameters; {key} is {told[key]!r} "
            f"instead of {given[key]!r}.",
        )


def check_nonsense(plug_in, use):
    """`use` refuses an object that is no legal value, for each parameter by name."""
    for name in plug_in.get_params(deep=False):
        strange = clone(plug_in).set_params(**{name: NONSENSE})
        sentence = (
            f"{type(plug_in).__name__} must refuse an impossible value of its "
            f"parameter {name!r}, with this name in the error"
        )
        with refused(sentence, name):
            use(strange)


def unchanged(plug_in, before, what):
    """Raise AssertionError unless an object pickles to the bytes that it had."""
    require(
        pickle.dumps(plug_in) == before,
        f"{type(plug_in).__name__} must stay as it is when {what}; its attributes have "
        "changed.",
    )
