"""Limits of a forest's probabilities, from how often each tree has seen each row."""

import warnings

import numpy as np
from scipy.special import ndtri

from ...tree._limits import check_limits
from ...tree.nodes._apply import find_leaves
from ...utils._lock import reads

TREES = 32  # whose samples are held at a time
ROWS = 4096  # that are predicted at a time
METHODS = ("jackknife",)


class ForestLimits:
    """Mixin of a forest that tells how sure its probabilities are."""

    @reads
    def predict_proba_interval(self, X, *, confidence_level=0.95, method="jackknife"):
        """Limits of the class probabilities that such forests have on average.

        By the infinitesimal jackknife: probabilities vary with the training rows as
        far as trees that have drawn a row more often differ from the others. The
        variance is corrected for the number of trees, and the limits are those of a
        normal distribution, cut at 0 and 1.

        **What they are not.** They say how the forest's own answer would vary with
        other training rows, for infinitely many trees. They are no limits of the true
        probability, from which forests may be away on all training sets alike, and
        none of labels.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
        confidence_level : float, default=0.95
            Share of training sets, in (0, 1), for which the limits hold the mean
            answer.
        method : {"jackknife"}, default="jackknife"

        Returns
        -------
        ndarray of shape (n_samples, n_classes, 2)
            Lower and upper limits.

        Raises
        ------
        ValueError
            If the trees have no samples of their own (``bootstrap=False``), if
            they have learnt by `partial_fit`, or if there is one tree.

        Warns
        -----
        UserWarning
            If trees are too few: no variance is left after the correction in at least
            one of ten probabilities about which trees differ. Their limits are then
            equal.

        References
        ----------
        S. Wager, T. Hastie, B. Efron, "Confidence intervals for random forests: the
        jackknife and the infinitesimal jackknife", Journal of Machine Learning
        Research 15, 2014, section 3.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from skconftree import ConfidenceForestClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> forest = ConfidenceForestClassifier(500, random_state=0).fit(X, y)
        >>> forest.predict_proba_interval(X[[0, 3]])[:, 1].round(2)
        array([[0.  , 0.06],
               [0.  , 0.34]])
        """
        check_limits(confidence_level, method, METHODS)
        X, finite = self._rows(X)
        if self._learns_on():
            raise ValueError(
                "Limits by the jackknife need the samples that fit has drawn, and "
                "this forest has learnt rows by partial_fit."
            )
        if self._sampler is None:
            raise ValueError(
                "Limits by the jackknife need trees with samples of their own: fit "
                "with bootstrap=True."
            )
        n_trees = len(self.estimators_)
        if n_trees == 1:
            raise ValueError(
                "Limits by the jackknife need at least two trees, and n_estimators is "
                "1."
            )
        products = products_of_samples(self._sampler, n_trees)
        share = spread_of_counts(self._sampler)
        out = np.empty((X.shape[0], self.n_classes_, 2))
        n_differing = n_spent = 0
        X = X if isinstance(X, np.ndarray) else X.tocsr()
        for start in range(0, X.shape[0], ROWS):
            part = slice(start, start + ROWS)
            votes = np.stack(
                [
                    one.tree_.value[find_leaves(one.tree_, X[part], finite)]
                    for one in self.estimators_
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
            warnings.warn(
                f"{n_spent} of {n_differing} probabilities about which the trees "
                f"differ have limits without width, as {n_trees} trees are too few to "
                "tell their variance from that of drawing samples. Set n_estimators "
                "higher.",
                UserWarning,
                stacklevel=2,
            )
        return np.clip(out, 0.0, 1.0, out=out)


def products_of_samples(sampler, n_trees):
    """Inner products of the trees' samples.

    Parameters
    ----------
    sampler : Sampler
    n_trees : int

    Returns
    -------
    ndarray of shape (n_trees, n_trees)
        Over rows, of how much more often than expected each tree has drawn the row. A
        row of weight w is w rows that share what is drawn of them.
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
    """Variance of a mean of trees over training sets, corrected for their number.

    Parameters
    ----------
    votes : ndarray of shape (..., n_trees)
        What each tree says.
    products : ndarray of shape (n_trees, n_trees)
        Of `products_of_samples`.
    spread : float
        Of `spread_of_counts`.

    Returns
    -------
    mean, variance, between : ndarrays of shape (...)
        Mean of the votes; its variance, negative where nothing is left of it; and the
        variance among trees.
    """
    n_trees = votes.shape[-1]
    mean = votes.mean(axis=-1)
    votes = votes - mean[..., np.newaxis]
    between = np.square(votes).mean(axis=-1)
    variance = ((votes @ products) * votes).sum(axis=-1) / n_trees**2
    return mean, variance - spread * between / n_trees, between
