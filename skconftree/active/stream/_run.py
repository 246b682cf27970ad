"""How a stream active learner did."""

from typing import NamedTuple

import numpy as np


class StreamRun(NamedTuple):
    """How a stream active learner did.

    It is what :meth:`~skconftree.active.StreamActiveLearner.run` gives.

    Parameters
    ----------
    predictions : ndarray of shape (n_rows,)
        Class predicted for each row before its label could be learnt.
    asked : ndarray of shape (n_rows,), bool
        Rows whose labels were requested.
    accuracy : float
        Share of right predictions; NaN without any.
    f1 : float
        F1 of the rarest class of the stream; NaN without predictions.
    n_unpredicted : int
        Rows before the first model, whose prediction is None. They count neither for
        nor against it: `accuracy` and `f1` are of the others.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.active.stream import StreamRun
    >>> run = StreamRun(
    ...     predictions=np.array([None, 1]), asked=np.array([True, False]),
    ...     accuracy=1.0, f1=1.0, n_unpredicted=1)
    >>> run.n_unpredicted
    1
    """

    predictions: np.ndarray
    asked: np.ndarray
    accuracy: float
    f1: float
    n_unpredicted: int


def compare(predictions, asked, y):
    """Compare predictions, None where there was no model, with labels."""
    known = np.array([one is not None for one in predictions], dtype=bool)
    n_unpredicted = int((~known).sum())
    if not known.any():
        return StreamRun(predictions, asked, np.nan, np.nan, n_unpredicted)
    labels, counts = np.unique(y, return_counts=True)
    rare = labels[counts.argmin()]
    predicted, true = predictions[known], y[known]
    pairs = zip(predicted, true, strict=True)
    right = np.array([one == other for one, other in pairs], dtype=bool)
    said = np.array([one == rare for one in predicted], dtype=bool)
    there = true == rare
    f1 = 2.0 * (said & there).sum() / max(said.sum() + there.sum(), 1)
    return StreamRun(predictions, asked, float(right.mean()), float(f1), n_unpredicted)
