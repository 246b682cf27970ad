"""Limits of a forest's probabilities, from how often each tree has seen each row."""

import numpy as np
from scipy.special import ndtri

from ...tree.nodes._apply import find_leaves
from ...utils._warnings import warn

TREES = 32  # whose samples are held at a time
ROWS = 4096  # that are predicted at a time
METHODS = ("jackknife",)


def limits_of_votes(model, rows, confidence_level):
    """Limits of the mean of the trees' votes, by the infinitesimal jackknife."""
    X, finite, _ = rows
    if model.grows:
        raise ValueError(
            "Limits by the jackknife need the samples that fit has drawn, and "
            "this forest has learnt rows by partial_fit."
        )
    if model.sampler is None:
        raise ValueError(
            "Limits by the jackknife need trees with samples of their own: fit "
            "with bootstrap=True."
        )
    n_trees = len(model.trees)
    if n_trees == 1:
        raise ValueError(
            "Limits by the jackknife need at least two trees, and n_estimators is 1."
        )
    products = products_of_samples(model.sampler, n_trees)
    share = spread_of_counts(model.sampler)
    out = np.empty((X.shape[0], len(model.classes), 2))
    n_differing = n_spent = 0
    X = X if isinstance(X, np.ndarray) else X.tocsr()
    for start in range(0, X.shape[0], ROWS):
        part = slice(start, start + ROWS)
        votes = np.stack(
            [
                one.tree.value[find_leaves(one.tree, X[part], finite)]
                for one in model.trees
            ],
            axis=-1,
        )
        mean, variance, between = jackknife(votes, products, share)
        differing = between > 0.0
        n_differing += np.count_nonzero(differing)
        n_spent += np.count_nonzero(differing & (variance <= 0.0))
        radius = ndtri(0.5 + confidence_level / 2.0) * np.sqrt(
            np.maximum(variance, 0.0)
        )
        out[part] = np.stack([mean - radius, mean + radius], axis=-1)
    if 10 * n_spent > n_differing:
        warn(
            f"{n_spent} of {n_differing} probabilities about which the trees "
            f"differ have limits without width, as {n_trees} trees are too few to "
            "tell their variance from that of drawing samples. Set n_estimators "
            "higher."
        )
    return np.clip(out, 0.0, 1.0, out=out)


def products_of_samples(sampler, n_trees):
    """Inner products of the trees' samples.

    They run over rows, of how much more often than expected each tree has drawn the
    row. A row of weight w is w rows that share what is drawn of them.
    """
    weight = sampler.weights
    expected = sampler.n_draws * (weight / weight.sum())
    scale = np.sqrt(weight)
    products = np.empty((n_trees, n_trees))

    def samples(first):
        counts = [sampler.counts(i) for i in range(first, min(first + TREES, n_trees))]
        return (np.array(counts) - expected) / scale

    for i in range(0, n_trees, TREES):
        some = samples(i)
        for j in range(0, i + 1, TREES):
            others = some if j == i else samples(j)
            found = some @ others.T
            products[i : i + TREES, j : j + TREES] = found
            products[j : j + TREES, i : i + TREES] = found.T
    return products


def spread_of_counts(sampler):
    """Sum over rows of the variance of how often one is drawn."""
    share = sampler.weights / sampler.weights.sum()
    return sampler.n_draws / sampler.weights.sum() * float((1.0 - share).sum())


def jackknife(votes, products, spread):
    """Mean of trees' votes, its variance over training sets, and that among trees.

    The variance, corrected for the number of trees, is negative where nothing is left
    of it. The last axis of the votes is that of the trees; `products` is of
    `products_of_samples`, `spread` of `spread_of_counts`.
    """
    n_trees = votes.shape[-1]
    mean = votes.mean(axis=-1)
    votes = votes - mean[..., np.newaxis]
    between = np.square(votes).mean(axis=-1)
    variance = ((votes @ products) * votes).sum(axis=-1) / n_trees**2
    return mean, variance - spread * between / n_trees, between
