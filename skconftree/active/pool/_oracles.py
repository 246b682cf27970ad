"""Oracles: callables that return the labels of rows of a pool.

An active learner calls them: ``learner.run(oracle, budget)`` queries labels until there
are `budget` answers.

The *pool* is the table of unlabeled and labeled rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ...tables._labels import exact_labels
from ...utils._types import LabelsLike, Seed
from .._strategy import choices, keys_text, menu_entries


class ArrayOracle(BaseEstimator):
    """Oracle that returns known labels, for experiments.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of all rows of the pool.

    Examples
    --------
    >>> from skconftree.active import ArrayOracle
    >>> ArrayOracle(["ham", "spam", "ham"])(None, [1, 2]).tolist()
    ['spam', 'ham']
    """

    def __init__(self, y: LabelsLike) -> None:
        self.y = y

    def __call__(self, X, rows):
        # exact_labels: the conversion to an array does not change any label
        return np.asarray(exact_labels(self.y))[np.asarray(rows)]


@dataclass(eq=False, repr=False)
class NoisyOracle(BaseEstimator):
    """Oracle with label noise, for experiments.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    noise : float
        Probability, in [0, 1], that a label is replaced by one of the other classes,
        which are equally probable.
    random_state : int, RandomState instance or None, default=None
        Seed of the noise. Repeated queries of a row return the same label.

    Examples
    --------
    >>> from skconftree.active import NoisyOracle
    >>> oracle = NoisyOracle([0] * 1000 + [1] * 1000, 0.1, random_state=0)
    >>> wrong = oracle(None, range(1000)).sum()
    >>> bool(70 < wrong < 130)
    True
    """

    y: LabelsLike
    noise: float
    random_state: Seed = None

    def __call__(self, X, rows):
        if not hasattr(self, "_answers"):
            self._answers = self._draw()
        return self._answers[np.asarray(rows)]

    def _draw(self):
        if not 0.0 <= self.noise <= 1.0:
            raise ValueError(f"noise must be in [0, 1]. Got {self.noise}.")
        rng = check_random_state(self.random_state)
        y = np.asarray(exact_labels(self.y))
        classes, codes = np.unique(y, return_inverse=True)
        wrong = rng.random_sample(len(y)) < self.noise
        step = rng.randint(1, max(len(classes), 2), size=len(y))
        return classes[np.where(wrong, (codes + step) % len(classes), codes)]


def with_indices(oracle):
    """Return an oracle as a function of rows and their indices; it may ignore these."""
    try:
        signature(oracle).bind(None, None)
    except TypeError:
        return lambda X, rows: oracle(X)
    except ValueError:  # a function without a signature
        pass
    return oracle


class AnnotatorPair(NamedTuple):
    """A cheap annotator and an expert, their names and prices of a label."""

    cheap: Callable[..., Any]
    expert: Callable[..., Any]
    names: tuple[str, str]
    prices: tuple[float, float]

    @classmethod
    def of(cls, oracles):
        """Read two tuples of an oracle and its price."""
        try:
            (cheap, cheap_price), (expert, price) = oracles
            prices = float(cheap_price), float(price)
        except (TypeError, ValueError):
            prices = ()
        if not prices or not all(map(callable, (cheap, expert))):
            raise ValueError(
                "oracles must be two tuples of a callable and its price, such as "
                f"[(cheap, 0.001), (expert, 1.0)]. Got {oracles!r}."
            )
        if not 0.0 <= prices[0] <= prices[1] < np.inf:
            raise ValueError(
                "The prices of oracles must be at least 0, and the cheap annotator "
                f"must come first. Got the prices {prices[0]} and {prices[1]}."
            )
        names = _name_of(cheap), _name_of(expert)
        return cls(with_indices(cheap), expert, names, prices)

    def ask_cheap(self, X, rows):
        """Answers of the cheap annotator, and the exception if it fails for the rows.

        It fails if it raises an exception, such as a timeout, or returns another number
        of labels; the answers are then None.
        """
        try:
            answers = list(self.cheap(X, rows))
            if len(answers) != len(rows):
                raise ValueError(f"{len(answers)} labels for {len(rows)} rows")
        except Exception as error:
            return [None] * len(rows), error
        return answers, None


def _name_of(oracle):
    return getattr(oracle, "__name__", type(oracle).__name__)


class QueriesEnded(KeyboardInterrupt):
    """The annotator has ended the run; `answers` has the labels entered before."""

    def __init__(self, answers):
        super().__init__("The annotator has ended the run.")
        self.answers = answers


@dataclass(eq=False, repr=False)
class ConsoleOracle(BaseEstimator):
    """Oracle that queries a person at a terminal or in a notebook.

    The person enters the position of a class in the list, or the class itself. If a
    class equals the position of another one, only the class can be entered. ``s`` skips
    the row, and Ctrl-D or ``q`` ends the run: ``run`` then returns the learner, which
    has learned all labels so far.

    Parameters
    ----------
    classes : list
        Labels to choose from.
    show : callable, default=None
        Function that converts a row to a string. None: column names and values for
        a row of a DataFrame, otherwise ``str``.

    Examples
    --------
    >>> from skconftree.active import ConsoleOracle
    >>> oracle = ConsoleOracle(["ham", "spam"])
    >>> learner.run(oracle, budget=20)  # doctest: +SKIP
    """

    classes: list[Any]
    show: Callable[..., Any] | None = None

    def __call__(self, X, rows):
        frame = hasattr(X, "iloc")
        show = self.show or _row_text
        # the key of each class in the menu; the index of the class that an input means
        keys, meanings = choices(self.classes, ("s", "q"))
        menu = "  ".join(menu_entries(keys, self.classes))
        answers = []
        for i, row_index in enumerate(rows):
            row = X.iloc[i] if frame else X[i]
            text = show(row)
            space = "\n" if "\n" in text else " "
            print(f"\nRow {row_index}:{space}{text}\n{menu}  [s] skip  [q] quit")
            try:
                answers.append(self._read_answer(keys, meanings))
            except EOFError:
                raise QueriesEnded(_object_array(answers)) from None
        return _object_array(answers)

    def _read_answer(self, keys, meanings):
        while True:
            key = input("> ").strip()
            if key in meanings:
                return self.classes[meanings[key]]
            if key == "s":
                return None
            if key == "q":
                raise EOFError
            print(f"Please answer with {keys_text(keys)}, s or q.")


def _row_text(row):
    # without the name and dtype that pandas would add
    return row.to_string() if hasattr(row, "to_string") else str(row)


def _object_array(answers):
    array = np.empty(len(answers), dtype=object)
    array[:] = answers
    return array
