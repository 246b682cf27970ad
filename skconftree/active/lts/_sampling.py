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

    `proba` is out of fold where there are enough rows. Small boosted trees stand for
    None; the result is None if all errors are the same, so that nothing can be told
    from them.
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
    """Predict the errors of rows of a pool, between 0 and 1."""
    out = np.zeros(len(rows))
    if sampler is None:
        return out
    for part in gen_batches(len(rows), CHUNK):
        out[part] = sampler.predict(X[rows[part]])
    return np.clip(out, 0.0, 1.0, out=out)


def assign_folds(codes, before, rng):
    """Folds of new labels, such that each class is spread evenly over them.

    `before` has the codes of the labels that have folds already.
    """
    folds = np.empty(len(codes), dtype=np.intp)
    for k in np.unique(codes):
        rows = np.flatnonzero(codes == k)
        start = int((before == k).sum())
        # classes begin at different folds, so that rare ones do not share one
        folds[rng.permutation(rows)] = (start + k + np.arange(len(rows))) % FOLDS
    return folds
