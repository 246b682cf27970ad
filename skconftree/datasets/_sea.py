"""SEA concepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..utils._types import Indices, Seed
from ._concepts import check_count, check_share, concept_of_rows, flip_labels

THRESHOLDS = np.array([8.0, 9.0, 7.0, 9.5])


def make_sea(
    n_samples: int = 1000,
    *,
    concept: int | Sequence[int] = 0,
    drift_at: float | Sequence[Any] | None = None,
    drift_width: float = 0,
    noise: float = 0.0,
    random_state: Seed = None,
) -> tuple[NDArray[np.float32], Indices]:
    """Make a stream whose class depends on the sum of two of three features.

    Features are uniform in [0, 10]; the label is 1 where the sum of the first two
    exceeds a threshold, the third tells nothing. An oblique border, hard for trees,
    that moves a little when the concept changes.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows.
    concept : int or sequence of int, default=0
        Which threshold: 0, 1, 2, 3 stand for 8, 9, 7, 9.5. A sequence makes the
        stream drift from one to the next.
    drift_at : int, float, sequence of them, or None, default=None
        First row of each concept but the first: a row if an integer, a share of the
        rows if a float. None makes all concepts equally long.
    drift_width : float, default=0
        Rows that a change takes: how long about two concepts are mixed. 0 is abrupt.
    noise : float, default=0.0
        Probability that a label is flipped.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same rows on every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 3), float32
        Features.
    y : ndarray of shape (n_samples,), intp
        Labels 0 and 1.

    References
    ----------
    W. N. Street and Y. Kim, "A streaming ensemble algorithm (SEA) for large-scale
    classification", KDD 2001, section 4.

    Examples
    --------
    >>> from skconftree.datasets import make_sea
    >>> X, y = make_sea(4000, concept=[0, 3], drift_at=1000, random_state=0)
    >>> total = X[:, 0] + X[:, 1]
    >>> bool((y[:1000] == (total[:1000] > 8)).all())
    True
    >>> bool((y[1000:] == (total[1000:] > 9.5)).all())
    True
    """
    check_count("n_samples", n_samples)
    check_share("noise", noise)
    rng = check_random_state(random_state)
    concepts = concept_of_rows(
        n_samples, concept, drift_at, drift_width, rng, first=0, last=3
    )
    X = rng.uniform(0, 10, size=(n_samples, 3)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > THRESHOLDS[concepts]).astype(np.intp)
    return X, flip_labels(y, noise, 2, rng)
