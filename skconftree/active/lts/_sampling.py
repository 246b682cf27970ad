"""The sampling model: how wrong the classifier will be about a row."""

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.utils import gen_batches

from .._rows import CHUNK

ENOUGH = 20  # labels for predictions out of fold
FOLDS = 5


def fit_sampler(sampler, X, codes, proba, seed):
    """Fit a regression of the error ``1 - p`` of the true class, classes balanced.

    Parameters
    ----------
    sampler : regressor or None
        Takes a `sample_weight`. None: small boosted trees.
    X : ndarray of shape (n_labeled, n_features)
    codes : ndarray of shape (n_labeled,), intp
    proba : ndarray of shape (n_labeled, n_classes)
        Class probabilities of the labelled rows, out of fold where there are enough.
    seed : int
        For a `random_state` that is None.

    Returns
    -------
    regressor or None
        None if all errors are the same, so that nothing can be told from them.
    """
    error = 1.0 - proba[np.arange(len(codes)), codes]
    if error.max() - error.min() < 1e-12:
        return None
    counts = np.bincount(codes)
    weight = len(codes) / (np.count_nonzero(counts) * counts[codes])
    if sampler is None:
        sampler = GradientBoostingRegressor(n_estimators=20, max_depth=3)
    sampler = clone(sampler)
    if sampler.get_params().get("random_state", 0) is None:
        sampler.set_params(random_state=seed)
    return sampler.fit(X, error, sample_weight=weight)


def predict_errors(sampler, X, rows):
    """Predict the errors of rows of a pool, between 0 and 1.

    Parameters
    ----------
    sampler : regressor or None
    X : ndarray of shape (n_rows, n_features)
    rows : ndarray of shape (n_wanted,), intp

    Returns
    -------
    ndarray of shape (n_wanted,), float64
    """
    out = np.zeros(len(rows))
    if sampler is None:
        return out
    for part in gen_batches(len(rows), CHUNK):
        out[part] = sampler.predict(X[rows[part]])
    return np.clip(out, 0.0, 1.0, out=out)


def assign_folds(codes, before, rng):
    """Folds of new labels, such that each class is spread evenly over them.

    Parameters
    ----------
    codes : ndarray of shape (n_new,), intp
    before : ndarray of shape (n_before,), intp
        Codes of the labels that have folds already.
    rng : RandomState

    Returns
    -------
    ndarray of shape (n_new,), intp
    """
    folds = np.empty(len(codes), dtype=np.intp)
    for k in np.unique(codes):
        rows = np.flatnonzero(codes == k)
        start = int((before == k).sum())
        # classes begin at different folds, so that rare ones do not share one
        folds[rng.permutation(rows)] = (start + k + np.arange(len(rows))) % FOLDS
    return folds
