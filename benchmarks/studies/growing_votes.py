"""Votes of the nodes above a leaf of a growing tree: a study in NumPy.

    python benchmarks growing_votes [--data FOLDER] [--results FOLDER]

The trees are those of `partial_fit`, row by row; predictions are made beside them. A
leaf has two models: class frequencies, drawn towards those of the nodes above as `fit`
does it (strength 10), and its naive Bayes, raised to the power that would have given
late rows of the tree the smallest log loss. They vote by the log loss of the leaf's
late rows, and a child begins with the votes of its parent. Then all nodes on the path
vote as well, as in context tree weighting: what a node says by its frequencies has half
the weight of a prior, what those below it say has the other half, and each half is
weighed by its log loss on the rows that came after the split. Tables of up to 30
classes as in the study `growing`. Four minutes; ``--quick`` takes three tables.
"""

import numpy as np
from common import options as command
from common.data import data_folder, encoded, table_names
from common.timing import print_environment
from sklearn.model_selection import KFold

from skconftree import ConfidenceTreeClassifier

from ._growing_beside import CLIP

LEAST_ROWS, MAX_ROWS, MAX_CLASSES, FOLDS = 380, 6_000, 30, 3
STRENGTH = 10.0  # of the nodes above, in rows
POWERS = 0.5 ** np.arange(4)
FADING, FADING_OF_POWERS = 0.98, 0.999  # of late losses with each row
HEAD_START = 1.0  # log loss by which a child's models may differ at first
SMALLEST = 1e-6  # probability


class Trace:
    """A tree that grows, its naive Bayes before each row, and what it says of others.

    Attributes
    ----------
    parent, born, counts : lists
        Of each node; rows before it was made, classes of the rows handed over to it.
    leaf, proba : ndarray
        Of each row, before it is learned.
    later_leaf, later_proba, as_is : ndarray
        Of other rows, after the last; `as_is` are the tree's own probabilities.
    """

    def __init__(self, X, y, nominal, n_classes, later):
        trees = [
            ConfidenceTreeClassifier(
                leaf_prediction=prediction, categorical_features=nominal or None
            )
            for prediction in ("nb", "nba")
        ]
        bayes, ours = trees
        classes = np.arange(n_classes)
        self.parent, self.born, self.counts = [-1], [0], [np.zeros(n_classes)]
        self.leaf = np.zeros(len(y), dtype=int)
        self.proba = np.full((len(y), n_classes), 1.0 / n_classes)
        for i in range(len(y)):
            row = slice(i, i + 1)
            if i:
                self.leaf[i] = bayes.apply(X[row])[0]
                self.proba[i] = bayes.predict_proba(X[row])[0]
            for tree in trees:
                tree.partial_fit(X[row], y[row], classes)
            grown = bayes.tree_
            for node in range(len(self.parent), grown.node_count):
                self.parent.append(int(grown.parent[node]))
                self.born.append(i + 1)
                self.counts.append(np.array(grown.counts[node]))
        self.y = y
        self.later_leaf = bayes.apply(later)
        self.later_proba = bayes.predict_proba(later)
        self.as_is = ours.predict_proba(later)


class Voters:
    """Probabilities by votes; `prior` is the weight of the nodes above, 0 is none."""

    def __init__(self, trace, prior):
        n = len(trace.parent)
        self.trace, self.prior = trace, prior
        self.counts = np.array(trace.counts)
        self.loss_of_leaf = np.zeros((n, 2))
        self.loss_of_power = np.zeros(len(POWERS))
        self.loss = np.zeros((n, 2))  # of an inner node, and of what is below it
        self.path = []
        for node, parent in enumerate(trace.parent):
            above = self.path[parent] if parent >= 0 else []
            self.path.append([*above, node])

    def frequencies(self, leaf):
        """Those of each node on the path, drawn towards the ones above."""
        n_classes = self.counts.shape[1]
        proba, found = np.full(n_classes, 1.0 / n_classes), []
        for node in self.path[leaf]:
            counts, strength = self.counts[node], STRENGTH if node else 1.0
            proba = (counts + strength * proba) / (counts.sum() + strength)
            found.append(proba)
        return found

    def say(self, leaf, bayes):
        """Each model's probabilities of a row, and the votes from the leaf upwards."""
        logs = np.log(np.maximum(bayes, 1e-12))
        flat = np.exp(POWERS[:, np.newaxis] * (logs - logs.max()))
        flat /= flat.sum(axis=1, keepdims=True)
        above = self.frequencies(leaf)
        flat = 0.999 * flat + 0.001 * above[-1]
        models = np.array([above[-1], flat[self.loss_of_power.argmin()]])
        weight = np.exp(self.loss_of_leaf[leaf].min() - self.loss_of_leaf[leaf])
        votes = [weight @ models / weight.sum()]
        if self.prior > 0.0:
            for node, own in zip(self.path[leaf][-2::-1], above[-2::-1], strict=True):
                odds = (1.0 - self.prior) / self.prior
                gap = np.clip(self.loss[node, 0] - self.loss[node, 1], -50.0, 50.0)
                share = 1.0 / (1.0 + odds * np.exp(gap))
                votes.append(share * own + (1.0 - share) * votes[-1])
        return above, flat, models, votes

    def learn(self, leaf, bayes, label):
        """Learn what everybody made of a row."""

        def loss(proba):
            return -np.log(np.maximum(proba, SMALLEST))

        above, flat, models, votes = self.say(leaf, bayes)
        self.loss_of_leaf[leaf] = FADING * self.loss_of_leaf[leaf] + loss(
            models[:, label]
        )
        self.loss_of_power *= FADING_OF_POWERS
        self.loss_of_power += loss(flat[:, label])
        if self.prior > 0.0:
            inner = self.path[leaf][-2::-1]
            for node, own, below in zip(inner, above[-2::-1], votes, strict=False):
                self.loss[node] += loss(own[label]), loss(below[label])
        self.counts[self.path[leaf], label] += 1

    def run(self):
        """Probabilities of the later rows, after all others have been learned."""
        trace = self.trace
        node = 1
        for i, label in enumerate(trace.y):
            node = self._open(node, i)
            self.learn(trace.leaf[i], trace.proba[i], label)
        self._open(node, len(trace.y))
        later = zip(trace.later_leaf, trace.later_proba, strict=True)
        return np.array([self.say(leaf, bayes)[-1][-1] for leaf, bayes in later])

    def _open(self, node, n_rows):
        while node < len(self.trace.born) and self.trace.born[node] <= n_rows:
            loss = self.loss_of_leaf[self.trace.parent[node]]
            self.loss_of_leaf[node] = np.minimum(loss - loss.min(), HEAD_START)
            node += 1
        return node


RULES = {
    "as it is: the model that was right more often": lambda trace: trace.as_is,
    "votes of the leaf's models": lambda trace: Voters(trace, 0.0).run(),
    "and of the nodes above, prior 1/2": lambda trace: Voters(trace, 0.5).run(),
    "and of the nodes above, prior 1/10": lambda trace: Voters(trace, 0.1).run(),
}


def judged(X, y, nominal):
    """Accuracy and log loss of each rule over the folds."""
    n_classes, found = int(y.max()) + 1, []
    folds = KFold(FOLDS, shuffle=True, random_state=0)
    for seed, (train, test) in enumerate(folds.split(X)):
        train = np.random.default_rng(seed).permutation(train)
        trace = Trace(X[train], y[train], nominal, n_classes, X[test])
        scores = []
        for rule in RULES.values():
            proba = rule(trace)
            true = np.clip(proba[np.arange(len(test)), y[test]], CLIP, 1.0)
            right = proba.argmax(axis=1) == y[test]
            scores.append((100 * right.mean(), -np.log(true).mean()))
        found.append(scores)
    return np.mean(found, axis=0)


def main(argv=None):
    """Judge the rules on the tables and show them."""
    options = command.parser(__doc__, "data", "quick").parse_args(argv)
    folder = data_folder(options.data)
    tables = command.tables("growing_votes", options, f"{FOLDS} folds")
    print_environment(tables.facts)
    found = []
    for name in table_names(folder):
        X, y, is_nominal = encoded(name, folder, 400 if options.quick else MAX_ROWS)
        if len(y) >= LEAST_ROWS and y.max() < MAX_CLASSES:
            nominal = np.flatnonzero(is_nominal).tolist()
            found.append(judged(X.astype(np.float32), y, nominal))
            print(name, *found[-1].round(3).tolist(), flush=True)
        if options.quick and len(found) == 3:
            break
    found = np.array(found)
    gaps = found - found[:, :1]
    rows = []
    for i, name in enumerate(RULES):
        mean, error = gaps[:, i].mean(0), gaps[:, i].std(0, ddof=1) / len(gaps) ** 0.5
        rows.append(
            [
                name,
                f"{mean[0]:+.2f} ({error[0]:.2f})",
                f"{gaps[:, i, 0].min():+.1f}",
                f"{mean[1]:+.3f} ({error[1]:.3f})",
                f"{gaps[:, i, 1].max():+.3f}",
            ]
        )
    header = ["who predicts", "accuracy", "worst", "log loss", "worst"]
    tables.show("stream-growing-votes", header, rows)
