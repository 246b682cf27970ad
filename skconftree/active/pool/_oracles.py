"""Who gives the labels: called with rows and their places in the pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ...tables._labels import exact_labels
from ...utils._types import LabelsLike, Seed
from .._strategy import choices, keys_text, menu_entries


class ArrayOracle(BaseEstimator):
    """Labels that are known already, for experiments.

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
        return np.asarray(exact_labels(self.y))[np.asarray(rows)]


class NoisyOracle(BaseEstimator):
    """Labels that are wrong now and then.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    noise : float
        Probability, in [0, 1], of one of the other classes, all equally often.
    random_state : int, RandomState instance or None, default=None
        The answer for a row is the same however often it is asked for.

    Examples
    --------
    >>> from skconftree.active import NoisyOracle
    >>> oracle = NoisyOracle([0] * 1000 + [1] * 1000, 0.1, random_state=0)
    >>> wrong = oracle(None, range(1000)).sum()
    >>> bool(70 < wrong < 130)
    True
    """

    def __init__(self, y: LabelsLike, noise: float, random_state: Seed = None) -> None:
        self.y = y
        self.noise = noise
        self.random_state = random_state

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


class QueriesEnded(KeyboardInterrupt):
    """No more questions are wanted; `answers` are to the first rows asked for."""

    def __init__(self, answers):
        super().__init__("The questions were ended.")
        self.answers = answers


class ConsoleOracle(BaseEstimator):
    """A person at the terminal, or in front of a notebook.

    Answers are the numbers of the list of classes, or a class itself, which alone
    counts if a class is such a number, too; ``s`` skips the row, and Ctrl-D or ``q``
    ends the questions: ``run`` then gives the learner, which has learnt all answers so
    far.

    Parameters
    ----------
    classes : list
        Labels to choose from.
    show : callable, default=None
        Makes a string of a row. None: names and values of a row of pandas, else
        ``str``.

    Examples
    --------
    >>> from skconftree.active import ConsoleOracle
    >>> oracle = ConsoleOracle(["ham", "spam"])
    >>> learner.run(oracle, budget=20)  # doctest: +SKIP
    """

    def __init__(
        self, classes: list[Any], show: Callable[..., Any] | None = None
    ) -> None:
        self.classes = classes
        self.show = show

    def __call__(self, X, rows):
        frame = hasattr(X, "iloc")
        show = self.show or _shown
        keys, meanings = choices(self.classes, ("s", "q"))
        menu = "  ".join(menu_entries(keys, self.classes))
        out = []
        for i, place in enumerate(rows):
            row = X.iloc[i] if frame else X[i]
            text = show(row)
            space = "\n" if "\n" in text else " "
            print(f"\nRow {place}:{space}{text}\n{menu}  [s] skip  [q] quit")
            try:
                out.append(self._ask(keys, meanings))
            except EOFError:
                raise QueriesEnded(_as_objects(out)) from None
        return _as_objects(out)

    def _ask(self, keys, meanings):
        while True:
            said = input("> ").strip()
            if said in meanings:
                return self.classes[meanings[said]]
            if said == "s":
                return None
            if said == "q":
                raise EOFError
            print(f"Please answer with {keys_text(keys)}, s or q.")


def _shown(row):
    # pandas would add the name and the dtype of the row
    return row.to_string() if hasattr(row, "to_string") else str(row)


def _as_objects(answers):
    out = np.empty(len(answers), dtype=object)
    out[:] = answers
    return out
