"""How a check says what is wrong: one sentence, in an AssertionError."""

from contextlib import contextmanager

import numpy as np


def require(holds, sentence):
    """Raise AssertionError with a sentence unless something holds."""
    if not holds:
        raise AssertionError(sentence)


def require_equal(one, other, sentence):
    """Raise AssertionError unless two answers are the same, NaN for NaN."""
    try:
        np.testing.assert_equal(one, other)
    except AssertionError:
        raise AssertionError(f"{sentence} Got {one} and {other}.") from None


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
def refused(sentence, words):
    """Raise AssertionError unless a ValueError with some words is raised inside."""
    try:
        yield
    except (TypeError, ValueError) as error:
        require(words in str(error), f"{sentence}; the error says: {error}")
        return
    except Exception as error:
        raise AssertionError(
            f"{sentence}, but raised {type(error).__name__}: {error}"
        ) from error
    raise AssertionError(f"{sentence}, but nothing was raised")
