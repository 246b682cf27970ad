"""How classifiers are judged: one meaning of log loss, of a tie, of an error."""

import numpy as np

TIE = 0.5  # points of accuracy
CLIP = 1e-6  # smallest probability in a log loss: a sure error costs 13.8


def scores(proba, classes, y, n_classes):
    """Judge probabilities.

    Parameters
    ----------
    proba : ndarray of shape (n_rows, n_known)
    classes : ndarray of int
        Of the columns.
    y : ndarray of int
    n_classes : int
        Of the whole table; the training rows may lack some.

    Returns
    -------
    list of float
        Accuracy, log loss and Brier score.
    """
    every = np.zeros((len(y), n_classes))
    every[:, classes] = proba
    true = np.arange(n_classes) == y[:, None]
    loss = -np.log(np.clip(every[true], CLIP, 1.0)).mean()
    right = (every.argmax(axis=1) == y).mean()
    return [right, loss, ((every - true) ** 2).sum(axis=1).mean()]


def with_error(differences, digits):
    """Write the mean of paired differences over tables, and its standard error."""
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return f"{differences.mean():+.{digits}f} ({error:.{digits}f})"
