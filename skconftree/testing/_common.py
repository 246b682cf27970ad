"""What the checks share: parameters, small tables, messages."""

import pickle
from contextlib import contextmanager

import numpy as np
from sklearn.base import clone


def require(holds, sentence):
    """Raise AssertionError with a sentence unless something holds."""
    if not holds:
        raise AssertionError(sentence)


def require_equal(actual, expected, sentence):
    """Raise AssertionError unless two answers are the same, NaN for NaN."""
    try:
        np.testing.assert_equal(actual, expected)
    except AssertionError:
        raise AssertionError(f"{sentence} Got {actual} and {expected}.") from None


@contextmanager
def going_well(sentence):
    """Turn any error of what is inside into an AssertionError with a sentence."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(
            f"{sentence}, but raised {type(error).__name__}: {error}"
        ) from error


@contextmanager
def refused(sentence, message):
    """Raise AssertionError unless a ValueError with this message is raised inside."""
    try:
        yield
    except (TypeError, ValueError) as error:
        require(message in str(error), f"{sentence}; the error says: {error}")
        return
    except Exception as error:
        raise AssertionError(
            f"{sentence}, but raised {type(error).__name__}: {error}"
        ) from error
    raise AssertionError(f"{sentence}, but nothing was raised")


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
    copied, original = (
        estimator.get_params(deep=False) for estimator in (copy, plug_in)
    )
    for key in original:
        # objects inside need not be comparable, their text is
        require(
            repr(copied[key]) == repr(original[key]),
            f"A copy of {name} must have its parameters; {key} is {copied[key]!r} "
            f"instead of {original[key]!r}.",
        )


def check_nonsense(plug_in, use):
    """`use` refuses an object that is not a legal value, and names the parameter."""
    for name in plug_in.get_params(deep=False):
        strange = clone(plug_in).set_params(**{name: NONSENSE})
        sentence = (
            f"{type(plug_in).__name__} must refuse an impossible value of its "
            f"parameter {name!r}, with this name in the error"
        )
        with refused(sentence, name):
            use(strange)


def accepts(plug_in):
    """Whether the parameters pass the plug-in's own check."""
    try:
        plug_in.check_parameters()
    except (TypeError, ValueError):
        return False
    return True


def unchanged(plug_in, before, what):
    """Raise AssertionError unless an object pickles to the bytes that it had."""
    require(
        pickle.dumps(plug_in) == before,
        f"{type(plug_in).__name__} must stay as it is after {what}; its attributes "
        "have changed.",
    )


def table(n=900, n_classes=3):
    """One column determines the class, one is weakly related; whole numbers, zeros."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) < 3, np.arange(n) % n_classes, rng.integers(0, 3, n))
    y %= n_classes
    X = rng.poisson(1.0, (n, 4)).astype(np.float32)
    X[:, 0] = 3 * y + rng.integers(0, 3, n)
    X[:, 1] += y * (rng.random(n) < 0.3)
    return X, y


def with_wrong_labels():
    """The same with a wrong label in every fifth row: something to prune."""
    X, y = table(600)
    return X, np.where(np.arange(600) % 5 == 0, (y + 1) % 3, y)


def turning(n=4000):
    """A stream whose labels are swapped in its second half."""
    X = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    y[n // 2 :] = 1 - y[n // 2 :]
    return X, y


def errors_that_rise():
    """Errors of a model: one in ten, then six in ten, then one in five."""
    rng = np.random.default_rng(0)
    return rng.random(3000) < np.repeat([0.1, 0.6, 0.2], 1000)


def pool(n=120):
    """Rows of two numbers in three overlapping clusters, one per class."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return np.array([[0, 0], [2, 0], [0, 2]])[y] + 0.7 * rng.normal(size=(n, 2)), y


def some_labels(y, rows=(0, 1, 2, 3, 4, 5)):
    """Labels of a few rows, None for the others."""
    out = np.full(len(y), None)
    out[list(rows)] = y[list(rows)]
    return out
