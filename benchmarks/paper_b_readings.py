"""Which classes does PiTree's entropy run over? Two readings of its paper (2015).

    python benchmarks/paper_b_readings.py --data FOLDER [--rst]

Serrurier and Prade define their entropy over the classes c_1, ..., c_q. A program that
hands the rows of a node to a recursive call may mean the classes of the whole training
set, or those among the rows of the node that is being split. Each class that is absent
at a node adds a confidence limit to the entropy of every child, and a small child pays
more: with many classes the first reading soon finds no split worth its price. With two
classes the readings are the same.

Plain and slow: PiTree in NumPy, for both readings, ten-fold cross-validation at fixed
values of gamma, folds as in ``paper_b_table.py``.
"""

import argparse
import warnings

import numpy as np
from _data import data_folder, encoded, manifest
from _timing import rst_table, write_json
from paper_b_table import METHODS, PUBLISHED
from scipy.stats import norm
from sklearn.model_selection import StratifiedKFold

GAMMAS = (0.5, 0.05, 1e-3, 1e-8)
READINGS = ("training set", "node")
PITREE = list(METHODS).index("PiTree")
MISSING = -1.0  # the code of a missing category


def total_entropy(counts, z):
    """Rows times q ln 2 times the possibilistic entropy, along the last axis."""
    n = counts.sum(axis=-1, keepdims=True)
    share = np.cumsum(np.sort(counts, axis=-1), axis=-1) / np.maximum(n, 1e-300)
    centre = (share * n + 0.5 * z * z) / (n + z * z)
    limit = centre + z * np.sqrt(centre * (1.0 - centre) / (n + z * z))
    limit = np.minimum(limit, 1.0)
    terms = share * np.log(0.5 * limit) + (2.0 - share) * np.log1p(-0.5 * limit)
    return -0.5 * n[..., 0] * terms.sum(axis=-1)


class PiTree:
    """A node and, through `children`, the tree below it.

    Parameters
    ----------
    X : ndarray
        A nominal column as codes.
    y : ndarray of int
    is_nominal : ndarray of bool
    n_classes : int
    gamma : float
    reading : {"training set", "node"}
    """

    def __init__(self, X, y, is_nominal, n_classes, gamma, reading):
        self.counts = np.bincount(y, minlength=n_classes).astype(float)
        self.column, self.cut, self.children = None, None, {}
        present = self.counts > 0
        if present.sum() < 2:
            return
        kept = present if reading == "node" else np.ones(n_classes, dtype=bool)
        best = total_entropy(self.counts[kept], norm.isf(0.5 * gamma))
        one_hot = np.eye(n_classes)[y]
        for column, x in enumerate(X.T):
            test = nominal_test if is_nominal[column] else numeric_test
            cost, cut = test(x, one_hot[:, kept], gamma)
            if cost < best - 1e-9:
                best, self.column, self.cut = cost, column, cut
        if self.column is not None:
            branch = self.branch(X)
            for value in np.unique(branch):
                rows = branch == value
                self.children[value] = PiTree(
                    X[rows], y[rows], is_nominal, n_classes, gamma, reading
                )

    def branch(self, X):
        """Outcome of the node's test for each row."""
        x = X[:, self.column]
        return x if self.cut is None else (x > self.cut).astype(float)

    def predict(self, X):
        """Majority class; of the node itself where a category is new."""
        answer = np.full(len(X), self.counts.argmax())
        if self.children:
            branch = self.branch(X)
            for value, child in self.children.items():
                rows = branch == value
                answer[rows] = child.predict(X[rows])
        return answer

    def n_leaves(self):
        """Count the leaves."""
        return sum(child.n_leaves() for child in self.children.values()) or 1


def child_z(gamma, r):
    """Quantile after the correction of Dunn and Sidak for r children."""
    return norm.isf(-0.5 * np.expm1(np.log1p(-gamma) / r))


def nominal_test(x, one_hot, gamma):
    """Cost of one branch for each category."""
    values, codes = np.unique(x, return_inverse=True)
    if len(values) < 2:
        return np.inf, None
    counts = np.zeros((len(values), one_hot.shape[1]))
    np.add.at(counts, codes, one_hot)
    return total_entropy(counts, child_z(gamma, len(values))).sum(), None


def numeric_test(x, one_hot, gamma):
    """Cost of the best cut, and the cut."""
    order = np.argsort(x, kind="stable")
    x = x[order]
    cuts = np.flatnonzero(x[1:] > x[:-1])
    if not len(cuts):
        return np.inf, None
    below = np.cumsum(one_hot[order], axis=0)
    left, z = below[cuts], child_z(gamma, 2)
    cost = total_entropy(left, z) + total_entropy(below[-1] - left, z)
    i = cost.argmin()
    return cost[i], 0.5 * (x[cuts[i]] + x[cuts[i] + 1])


def study(X, y, is_nominal, gamma, reading, seed):
    """Cross-validate; mean accuracy, its deviation and mean number of leaves."""
    found = []
    folds = StratifiedKFold(10, shuffle=True, random_state=seed)
    for train, test in folds.split(X, y):
        tree = PiTree(X[train], y[train], is_nominal, y.max() + 1, gamma, reading)
        right = tree.predict(X[test]) == y[test]
        found.append((100.0 * right.mean(), tree.n_leaves()))
    accuracy, leaves = np.transpose(found)
    return accuracy.mean(), accuracy.std(ddof=1), leaves.mean()


def main(argv=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder of real tables; or SKCONFTREE_DATA")
    parser.add_argument("--only", nargs="+", choices=PUBLISHED, help="these tables")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rst", action="store_true", help="the table in rst as well")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args(argv)
    folder = data_folder(options.data)
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    known = manifest(folder)
    rows, records = [], []
    for name in options.only or PUBLISHED:
        if name not in known or known[name]["n_classes"] == 2:
            continue
        X, y, is_nominal = encoded(name, folder)
        X = np.where(np.isnan(X) & is_nominal, MISSING, X)
        for reading in READINGS:
            cells = [name, reading]
            for gamma in GAMMAS:
                mean, spread, leaves = study(
                    X, y, is_nominal, gamma, reading, options.seed
                )
                cells.append(f"{mean:.1f}, {leaves:.0f}")
                records.append([name, reading, gamma, mean, spread, leaves])
            published = "{:.1f} ± {:.1f}".format(*PUBLISHED[name][PITREE])
            rows.append([*cells, published])
            print(*rows[-1], sep=" | ", flush=True)
    if options.rst:
        header = ["table", "classes of the", *(f"{g:g}" for g in GAMMAS), "published"]
        print("\n" + rst_table(header, rows))
    write_json(options.json, {"seed": options.seed, "records": records})


if __name__ == "__main__":
    main()
