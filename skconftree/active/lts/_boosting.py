"""Second-order boosting on a growing set of labels, and the sampling model.

The sampling model (`sampler`) is a regression of the errors of the classifier; rows
with large predicted errors are labeled next. `codes` are the indices of the classes of
labeled rows.

The boosters of scikit-learn do not support this. `HistGradientBoostingClassifier` bins
rows again in a warm start, so that its older trees use the wrong bins.
`GradientBoostingClassifier` selects splits by first derivatives, does not penalize leaf
values, and does not support classes that appear later, as rare classes do. XGBoost and
LightGBM can be continued, but only with the initial number of classes.
"""

from copy import copy

import numpy as np
from scipy.sparse import issparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.utils import gen_batches

from ...utils._codec import canonical
from .._labels import CHUNK

MIN_CURVATURE = 1e-16  # of the loss, whose curvature is 0 at probability 1
MIN_GAIN = 1e-12  # larger than rounding errors
TINY = 1e-300  # avoids division by 0
BLOCK = 1 << 16  # rows times trees that are applied at once


class BoostedTrees:
    """Boosted trees, to which further trees and classes can be added.

    Classes are numbered in the order of their appearance. With two classes, trees
    predict the log odds of the second class (logistic loss); with more, each step adds
    one tree per class (softmax). The score of a class is 0 before its first tree, so
    that both are the same model for two classes. `l2_regularization` is the penalty of
    squared leaf values, `min_gain` the minimum gain of a split.
    """

    def __init__(self, learning_rate, max_depth, l2_regularization, min_gain):
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.l2_regularization = l2_regularization
        self.min_gain = min_gain
        self.roots = np.empty(0, dtype=np.int32)  # root node of each tree
        self.targets = np.empty(0, dtype=np.int32)  # class of each tree
        # of each node; the right child follows the left one
        self.features = np.empty(0, dtype=np.int32)
        self.thresholds = np.empty(0)
        self.left = np.empty(0, dtype=np.int32)
        self.values = np.empty(0)

    @property
    def n_trees(self):
        """Number of trees."""
        return len(self.roots)

    def __getstate__(self):
        return canonical(vars(self))  # equal states have equal pickles

    def renumbered(self, new_codes):
        """Return a copy with `new_codes` of the classes."""
        renumbered = copy(self)
        renumbered.targets = new_codes[self.targets]
        return renumbered

    def scores(self, X, n_classes, first=0):
        """Sum the values of the trees from `first` on, for each row and class."""
        if issparse(X):
            used = self._used_columns()
            trees = self._with_columns(used)
            parts = gen_batches(X.shape[0], CHUNK)
            X = X[:, used] if len(used) else X[:, :1]
            out = [trees.scores(X[part].toarray(), n_classes, first) for part in parts]
            return np.concatenate(out)
        X = np.asarray(X, dtype=np.float32)
        out = np.zeros((len(X), n_classes))
        # leaves are their own children, so that rows stay in them
        is_leaf = self.features < 0
        left = np.where(is_leaf, np.arange(len(is_leaf)), self.left)
        threshold = np.where(is_leaf, np.inf, self.thresholds)
        feature = np.where(is_leaf, 0, self.features).astype(np.intp)
        roots, targets = self.roots[first:, np.newaxis], self.targets[first:]
        for part in gen_batches(len(X), max(1, BLOCK // max(1, len(roots)))):
            values, rows = X[part].T.ravel(), np.arange(len(X[part]))
            begin = feature * len(rows)  # of each feature's values
            node = roots.astype(np.intp)
            for _ in range(self.max_depth):
                value = values.take(begin.take(node) + rows)
                child = left.take(node) + (value > threshold.take(node))
                if np.array_equal(child, node):
                    break
                node = child
            # trees in a fixed order, on which the sum depends
            for target, value in zip(targets, self.values.take(node), strict=True):
                out[part, target] += value
        return out

    def boost(self, X, codes, n_classes, n_steps):
        """Add trees in `n_steps` steps, unless all rows are of one class."""
        if n_classes < 2 or len(codes) == 0 or codes.min() == codes.max():
            return
        if issparse(X):
            # other columns are 0 in all rows, so that no split uses them
            used = np.union1d(X.indices, self._used_columns()).astype(np.int32)
            used = used if len(used) else np.zeros(1, dtype=np.int32)
            trees = self._with_columns(used)
            trees.boost(X[:, used].toarray(), codes, n_classes, n_steps)
            features = trees.features
            trees.features = np.where(features < 0, features, used[features])
            vars(self).update(vars(trees))
            return
        scores = self.scores(X, n_classes)
        columns = np.ascontiguousarray(X.T, dtype=np.float32)
        order = np.argsort(columns, axis=1, kind="stable")
        one_hot = np.eye(n_classes)[codes]
        targets = [1] if n_classes == 2 else range(n_classes)
        for _ in range(n_steps):
            p = softmax(scores, axis=1)
            first = self.n_trees
            for k in targets:
                gradient = np.ascontiguousarray(p[:, k] - one_hot[:, k])
                curvature = np.maximum(p[:, k] * (1.0 - p[:, k]), MIN_CURVATURE)
                self._append(k, self._grow(columns, order, gradient, curvature))
            scores += self.scores(X, n_classes, first)

    def _used_columns(self):
        return np.unique(self.features[self.features >= 0])

    def _with_columns(self, used):
        # Copy for a table that has only some columns, which are ascending.
        trees = copy(self)
        local = np.searchsorted(used, self.features).astype(np.int32)
        trees.features = np.where(self.features < 0, self.features, local)
        return trees

    def _append(self, target, nodes):
        features, thresholds, left, values = zip(*nodes, strict=True)
        start = np.int32(len(self.features))
        left = np.array(left, dtype=np.int32) + start
        self.roots = np.append(self.roots, start)
        self.targets = np.append(self.targets, np.int32(target))
        self.features = np.append(self.features, np.array(features, dtype=np.int32))
        self.thresholds = np.append(self.thresholds, thresholds)
        self.left = np.append(self.left, left)
        self.values = np.append(self.values, values)

    def _grow(self, columns, order, gradient, curvature):
        # Returns nodes (feature, threshold, left child, value), breadth first.
        nodes, queue = [None], [(0, order, 0)]
        goes_left = np.empty(columns.shape[1], dtype=bool)
        while queue:
            node, order, depth = queue.pop(0)
            rows = order[0]
            split = None
            if depth < self.max_depth:
                split = self._best_split(columns, order, gradient, curvature)
            if split is None:
                total = gradient[rows].sum()
                denominator = curvature[rows].sum() + self.l2_regularization
                nodes[node] = (-1, 0.0, 0, -self.learning_rate * total / denominator)
                continue
            feature, threshold = split
            goes_left[rows] = columns[feature, rows] <= threshold
            if depth + 1 == self.max_depth:
                order = order[:1]  # leaves need the rows only, in any order
            side = goes_left.take(order)  # each feature's order stays in the children
            nodes[node] = (feature, threshold, len(nodes), 0.0)
            for child in (order[side], order[~side]):
                child = child.reshape(len(order), -1)
                queue.append((len(nodes), child, depth + 1))
                nodes.append(None)
        return nodes

    def _best_split(self, columns, order, gradient, curvature):
        # Maximizes the gain of second-order boosting (T. Chen and C. Guestrin, 2016): g
        # and h are sums of gradients and curvatures (second derivatives) of the rows at
        # most a threshold, later of the other rows, and G and H those of the node. Ties
        # go to the first feature, then to the smallest threshold.
        if order.shape[1] < 2:
            return None
        penalty = self.l2_regularization
        begin = np.arange(len(columns))[:, np.newaxis] * columns.shape[1]
        values = columns.take(begin + order)
        g = gradient.take(order).cumsum(axis=1)
        h = curvature.take(order).cumsum(axis=1)
        G, H = g[0, -1], h[0, -1]
        g, h = g[:, :-1], h[:, :-1]
        score = g * g / (h + penalty)
        g = G - g
        score += g * g / (np.maximum(H - h, 0.0) + penalty + TINY)
        score[values[:, :-1] >= values[:, 1:]] = -np.inf
        feature, position = np.unravel_index(score.argmax(), score.shape)
        gain = (score[feature, position] - G * G / (H + penalty)) / 2.0
        if not gain - self.min_gain > MIN_GAIN:
            return None
        low, high = map(float, values[feature, position : position + 2])
        return feature, (low + high) / 2.0


MIN_OUT_OF_FOLD_LABELS = 20  # number of labels from which predictions are out-of-fold
FOLDS = 5


def fit_sampler(sampler, X, codes, proba, seed):
    """Fit a class-balanced regression of the error ``1 - p``; None if constant."""
    error = 1.0 - proba[np.arange(len(codes)), codes]
    if error.max() - error.min() < 1e-12:
        return None
    counts = np.bincount(codes)
    weight = len(codes) / (np.count_nonzero(counts) * counts[codes])
    if sampler is None:
        sampler = GradientBoostingRegressor(n_estimators=20, max_depth=3)
    sampler = clone(sampler)
    # the default 0 is not None: without this parameter, there is no seed to set
    if sampler.get_params().get("random_state", 0) is None:
        sampler.set_params(random_state=seed)
    return sampler.fit(X, error, sample_weight=weight)


def predict_errors(sampler, X, rows):
    """Predict the errors of `rows` of X, clipped to [0, 1]."""
    out = np.zeros(len(rows))
    if sampler is None:
        return out
    for part in gen_batches(len(rows), CHUNK):
        out[part] = sampler.predict(X[rows[part]])
    return np.clip(out, 0.0, 1.0, out=out)


def assign_folds(codes, before, rng):
    """Assign new labels to stratified folds; `before` has codes already assigned."""
    folds = np.empty(len(codes), dtype=np.intp)
    for k in np.unique(codes):
        rows = np.flatnonzero(codes == k)
        start = int((before == k).sum())
        # classes start at different folds, so that rare classes do not share a fold
        folds[rng.permutation(rows)] = (start + k + np.arange(len(rows))) % FOLDS
    return folds
