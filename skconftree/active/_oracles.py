"""Who gives the labels: called with rows and their places in the pool."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state


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

    def __init__(self, y):
        self.y = y

    def __call__(self, X, rows):
        return np.asarray(self.y)[np.asarray(rows)]


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

    def __init__(self, y, noise, random_state=None):
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
        y = np.asarray(self.y)
        classes, codes = np.unique(y, return_inverse=True)
        wrong = rng.random_sample(len(y)) < self.noise
        step = rng.randint(1, max(len(classes), 2), size=len(y))
        return classes[np.where(wrong, (codes + step) % len(classes), codes)]


class ConsoleOracle(BaseEstimator):
    """A person at the terminal.

    Answers are the numbers of the list of classes, or a class itself; ``s`` skips the
    row, and Ctrl-D or ``q`` ends the questions (all answers so far are kept).

    Parameters
    ----------
    classes : list
        Labels to choose from.
    show : callable, default=None
        Makes a text of a row. None: ``str``.

    Examples
    --------
    >>> from skconftree.active import ConsoleOracle
    >>> oracle = ConsoleOracle(["ham", "spam"])
    >>> learner.run(oracle, budget=20)  # doctest: +SKIP
    """

    def __init__(self, classes, show=None):
        self.classes = classes
        self.show = show

    def __call__(self, X, rows):
        frame = hasattr(X, "iloc")
        show = self.show or str
        menu = "  ".join(f"[{i}] {one}" for i, one in enumerate(self.classes, 1))
        out = []
        for i, place in enumerate(rows):
            row = X.iloc[i] if frame else X[i]
            print(f"\nRow {place}: {show(row)}\n{menu}  [s] skip  [q] quit")
            out.append(self._ask())
        answers = np.empty(len(out), dtype=object)
        answers[:] = out
        return answers

    def _ask(self):
        words = {str(one): one for one in self.classes}
        while True:
            try:
                said = input("> ").strip()
            except EOFError:
                said = "q"
            if said in words:
                return words[said]
            if said.isdigit() and 1 <= int(said) <= len(self.classes):
                return self.classes[int(said) - 1]
            if said == "s":
                return None
            if said == "q":
                raise KeyboardInterrupt("The questions were ended.")
            print(f"Please answer with a number from 1 to {len(self.classes)}, s or q.")
