"""How classifiers are judged: one meaning of log loss, of a tie, of an error."""

import numpy as np
from sklearn.metrics import roc_auc_score

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


def auc(proba, y):
    """Mean over the classes, each against the others, of the area under the ROC curve.

    Classes that none or all of the rows have are left out; NaN if all are.
    """
    n_classes = proba.shape[1]
    found = [
        roc_auc_score(y == one, proba[:, one])
        for one in (range(1, 2) if n_classes == 2 else range(n_classes))
        if 0 < (y == one).sum() < len(y)
    ]
    return np.mean(found) if found else np.nan


def with_error(differences, digits):
    """Write the mean of paired differences over tables, and its standard error."""
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return f"{differences.mean():+.{digits}f} ({error:.{digits}f})"
