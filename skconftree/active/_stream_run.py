"""How a stream active learner did."""

from typing import NamedTuple

import numpy as np


class StreamRun(NamedTuple):
    """How a stream active learner did, see :meth:`StreamActiveLearner.run`.

    Parameters
    ----------
    predictions : ndarray of shape (n_rows,)
        Class predicted for each row before its label could be learnt.
    asked : ndarray of shape (n_rows,), bool
        Rows whose labels were bought.
    accuracy : float
        Share of right predictions; rows before the first model are wrong.
    f1 : float
        F1 of the rarest class of the stream.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.active import StreamRun
    >>> StreamRun(np.array([0, 1]), np.array([True, False]), 0.5, 0.5).accuracy
    0.5
    """

    predictions: np.ndarray
    asked: np.ndarray
    accuracy: float
    f1: float
