"""Collet and Pietquin (2015), toy problem: does a growing partition choose its size.

    python benchmarks paper_a_toy [--runs 100] [--json FILE]

The unit square is halved along alternating axes into 64 equal cells, each of which has
a probability of class 1 (`make_grid_concept`). Every node of that predefined tree has
one possible test, and sizes of nodes are known. A label is that of a cell drawn within
the leaf that is asked in, or anywhere if nobody asks. The risk is the true one: there
are no test rows.

- mbinomial_8, mbinomial_64: a fixed partition, the leaf with the largest excess risk.
- BOCT: splits by credible intervals, labels from anywhere.
- BOCT-AL: the same tree, the leaf with the largest risk.
- BOCT-AL by excess risk: the same tree, the leaf with the largest excess risk.

All runs of a method are made at once here, in NumPy. The last lines of the table are
BOCT-AL by `ActiveLearner` and `LeafRiskSampling`, which see the predefined tree through
the leaf protocol alone (`index_rows`, `tree_.counts`).

Parameters are those with the least mean risk over all budgets in runs of their own (as
the paper, which does not tell its grid); the runs of the table come after. A leaf
without a label predicts as its nearest ancestor with one; in a fixed partition as the
whole. A few CPU minutes. No real table is read, whatever ``--data`` names; methods
that have run stay in the cache folder. ``--quick`` tries the script.
"""

import functools
import itertools
from argparse import Namespace
from functools import partial
from types import SimpleNamespace

import numpy as np
from common import options as command
from common.runs import Runs as Stored
from common.timing import print_environment, write_json
from sklearn.base import BaseEstimator, ClassifierMixin

from skconftree.active import ActiveLearner, LeafRiskSampling
from skconftree.bounds import credible_interval, excess_risk_upper, risk_upper

DEPTH = 6
CELLS = 2**DEPTH
STOCK = 4000  # rows of the pool a cell: many more than are ever asked for
DELTAS = (0.45, 0.4, 0.35, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)
LABELS = 1000
BUDGETS = (50, 100, 200, 300, 400, 500, 700, 1000)
METHODS = ("mbinomial_8", "mbinomial_64", "BOCT", "BOCT-AL", "BOCT-AL by excess risk")
ASKING = METHODS[3:]  # growing trees that choose their labels
FEW = 3  # labels of a leaf that starves


def cell_shares():
    """Probability of class 1 in each cell, in the order of the leaves of the tree."""
    cells = np.arange(CELLS)
    middle = []
    for axis in (0, 1):
        place = np.zeros(CELLS)
        for level in range(axis, DEPTH, 2):
            place = 2 * place + (cells >> (DEPTH - 1 - level) & 1)
        middle.append((place + 0.5) / 2 ** (DEPTH // 2))
    return 1.0 / (1.0 + np.exp(-5.0 * (middle[1] - np.sqrt(middle[0]))))


SHARES = cell_shares()
LEVEL = np.array([(node + 1).bit_length() - 1 for node in range(2 * CELLS - 1)])
FIRST = np.array(  # cell, of those below a node
    [((node + 1) << (DEPTH - level)) - CELLS for node, level in enumerate(LEVEL)]
)
SIZE = CELLS >> LEVEL
MEAN = np.array([SHARES[a : a + n].mean() for a, n in zip(FIRST, SIZE, strict=True)])
_limits = {}


def limits(n0, n1, delta):
    """Credible limits of a node's entropy."""
    key = min(n0, n1), max(n0, n1), delta
    if key not in _limits:
        _limits[key] = tuple(map(float, credible_interval(key[:2], delta)))
    return _limits[key]


class GridTree(ClassifierMixin, BaseEstimator):
    """The predefined tree, of which as much is there as `delta` has let grow.

    Node ``i`` has the children ``2 i + 1`` and ``2 i + 2``. With `depth` the tree is
    there down to it from the beginning, and stays as it is.
    """

    def __init__(self, delta=0.05, depth=None):
        self.delta = delta
        self.depth = depth

    def fit(self, X, y):
        """Begin again."""
        vars(self).pop("tree_", None)
        return self.partial_fit(X, y)

    def partial_fit(self, X, y, classes=None):
        """Learn labels of cells."""
        if not hasattr(self, "tree_"):
            self.classes_ = np.array([0, 1])
            self.tree_ = SimpleNamespace(counts=np.zeros((2 * CELLS - 1, 2)))
            self.leaf_of = np.zeros(CELLS, dtype=int)
            if self.depth is not None:
                self.leaf_of += 2**self.depth - 1
                self.leaf_of += np.arange(CELLS) >> (DEPTH - self.depth)
        counts = self.tree_.counts
        for cell, label in zip(np.asarray(X)[:, 0].astype(int), y, strict=True):
            node = cell + CELLS - 1
            while True:
                counts[node, label] += 1
                if node == 0:
                    break
                node = (node - 1) // 2
            if self.depth is None:
                self._examine(int(self.leaf_of[cell]))
        return self

    def _examine(self, node):
        if LEVEL[node] == DEPTH:
            return
        children = 2 * node + 1, 2 * node + 2
        counts = self.tree_.counts
        below = sum(limits(*counts[one], self.delta)[1] for one in children)
        if below / 2 < limits(*counts[node], self.delta)[0]:
            for one in children:
                self.leaf_of[FIRST[one] : FIRST[one] + SIZE[one]] = one
            for one in children:
                self._examine(one)

    def apply(self, X):
        """Leaf of each row."""
        return self.leaf_of[np.asarray(X)[:, 0].astype(int)]

    def index_rows(self, X):
        """Which row lies where."""
        return GridIndex(self)

    def predicted(self):
        """Class that each node predicts."""
        counts = self.tree_.counts
        out = counts.argmax(axis=1)
        for node in np.flatnonzero(~counts.any(axis=1)):
            # parents come before their children
            out[node] = out[0 if self.depth is not None else (node - 1) // 2]
        return out

    def predict(self, X):
        """Predict classes."""
        return self.predicted()[self.apply(X)]

    def true_risk(self):
        """Probability of a wrong prediction."""
        said = self.predicted()[self.leaf_of]
        return np.where(said == 1, 1.0 - SHARES, SHARES).mean()


class GridIndex:
    """Rows of the pool in the leaves: `STOCK` of each cell, one after the other."""

    def __init__(self, tree):
        self.tree = tree
        self.gone = set()
        self.n_gone = np.zeros(CELLS, dtype=int)

    def counts(self):
        """Rows in each node."""
        rows = np.bincount(
            self.tree.leaf_of, STOCK - self.n_gone, minlength=2 * CELLS - 1
        )
        return rows.astype(int)

    def take(self, rows):
        """Leave rows out."""
        for row in np.atleast_1d(rows).tolist():
            self.gone.add(row)
            self.n_gone[row // STOCK] += 1

    def draw(self, leaf, key, size):
        """Draw one row of a leaf."""
        chance = np.random.default_rng(key)
        while True:
            cell = FIRST[leaf] + chance.integers(SIZE[leaf])
            row = int(cell * STOCK + chance.integers(STOCK))
            if row not in self.gone:
                return np.array([row])


POOL = np.repeat(np.arange(CELLS), STOCK).astype(float).reshape(-1, 1)


def run_learner(method, deltas, seed, n_labels=LABELS):
    """Risk after each label of one run of BOCT-AL, by the learner."""
    rng = np.random.default_rng([seed, 99])
    chance = rng.random(n_labels)

    def label(row, i):
        return int(chance[i] < SHARES[row // STOCK])

    first = int(rng.integers(len(POOL)))
    learner = ActiveLearner(
        GridTree(deltas[0]),
        strategy=LeafRiskSampling(deltas[1], gap=method.endswith("excess risk")),
        refit=False,
        classes=[0, 1],
        random_state=seed,
    )
    known = np.full(len(POOL), None)
    known[first] = label(first, 0)
    learner.fit(POOL, known)
    risks = [learner.estimator_.true_risk()]
    for i in range(1, n_labels):
        row = learner.query()
        learner.teach(row, [label(int(row[0]), i)])
        risks.append(learner.estimator_.true_risk())
    return np.array(risks)


class Lookup:
    """A function of two counts, whose values are found when they are first needed."""

    def __init__(self, function, delta):
        self.function, self.delta = function, delta
        self.known = np.full((LABELS + 1, LABELS + 1), np.nan)

    def __call__(self, counts):
        """Values, for counts of shape (..., 2)."""
        out = self.known[counts[..., 0], counts[..., 1]]
        new = np.isnan(out)
        if new.any():
            pairs = np.unique(counts[new], axis=0)
            self.known[pairs[:, 0], pairs[:, 1]] = self.function(pairs, self.delta)
            out = self.known[counts[..., 0], counts[..., 1]]
        return out


lookup = functools.cache(Lookup)  # most pairs are met again by other choices


def _upper(counts, delta):
    return credible_interval(counts, delta)[1]


def _lower(counts, delta):
    return credible_interval(counts, delta)[0]


PATH = np.array(  # from a cell up to the root
    [[((cell + CELLS) >> up) - 1 for up in range(DEPTH + 1)] for cell in range(CELLS)]
)


class Runs:
    """Many runs of one method, side by side.

    Parameters
    ----------
    method : str
    deltas : tuple of float
        Of the splits, of the questions.
    seed : int
    n_runs : int
    """

    def __init__(self, method, deltas, seed, n_runs):
        self.rng = np.random.default_rng([seed, METHODS.index(method)])
        self.lines = np.arange(n_runs)
        self.counts = np.zeros((n_runs, 2 * CELLS - 1, 2), dtype=int)
        self.leaf_of = np.zeros((n_runs, CELLS), dtype=int)
        self.grows, self.asks = method.startswith("BOCT"), method != "BOCT"
        self.by_excess = not self.grows or method.endswith("excess risk")
        if self.grows:
            self.upper = lookup(_upper, deltas[0])
            self.lower = lookup(_lower, deltas[0])
        else:
            depth = {"mbinomial_8": 3, "mbinomial_64": DEPTH}[method]
            self.leaf_of += PATH[:, DEPTH - depth]
        if self.asks:
            self.risk = lookup(risk_upper, deltas[-1])
            self.gap = lookup(excess_risk_upper, deltas[-1])

    def step(self):
        """Buy one label in each run."""
        first, size = 0, CELLS
        if self.asks:
            leaf = self.asked()
            first, size = FIRST[leaf], SIZE[leaf]
        cell = first + (self.rng.random(len(self.lines)) * size).astype(int)
        label = (self.rng.random(len(self.lines)) < SHARES[cell]).astype(int)
        self.counts[self.lines[:, None], PATH[cell], label[:, None]] += 1
        if self.grows:
            self.examine(self.lines, self.leaf_of[self.lines, cell])

    def asked(self):
        """The leaf with the largest risk, or excess risk; any of equals."""
        counts = self.counts[self.lines[:, None], self.leaf_of]
        size = SIZE[self.leaf_of]
        worth = size * self.risk(counts)
        if self.by_excess:
            gap = size * self.gap(counts)
            worth = np.where((gap > 0).any(axis=1)[:, None], gap, worth)
        # each cell stands for its leaf
        best = worth == worth.max(axis=1)[:, None]
        chance = self.rng.random(best.shape[0])[:, None]
        place = (best.cumsum(axis=1) > chance * best.sum(axis=1)[:, None]).argmax(
            axis=1
        )
        return self.leaf_of[self.lines, place]

    def examine(self, runs, nodes):
        """Split the nodes that pay, then look at their children."""
        inner = LEVEL[nodes] < DEPTH
        runs, nodes = runs[inner], nodes[inner]
        if not len(runs):
            return
        left, right = self.counts[runs, 2 * nodes + 1], self.counts[runs, 2 * nodes + 2]
        below = (self.upper(left) + self.upper(right)) / 2
        splits = below < self.lower(self.counts[runs, nodes])
        for run, node in zip(runs[splits], nodes[splits], strict=True):
            for child in (2 * node + 1, 2 * node + 2):
                cells = slice(FIRST[child], FIRST[child] + SIZE[child])
                self.leaf_of[run, cells] = child
                self.examine(np.array([run]), np.array([child]))

    def _is_one(self):
        # Whether class 1 is predicted, of each run and cell.
        said = np.zeros(self.counts.shape[:2], dtype=int)
        for level in range(DEPTH + 1):
            nodes = np.flatnonzero(LEVEL == level)
            counts = self.counts[:, nodes]
            above = said[:, (nodes - 1) // 2 if self.grows else nodes * 0]
            known = counts.any(axis=2) | (level == 0)
            said[:, nodes] = np.where(known, counts.argmax(axis=2), above)
        return said[self.lines[:, None], self.leaf_of] == 1

    def true_risk(self):
        """Probability of a wrong prediction in each run."""
        return np.where(self._is_one(), 1.0 - SHARES, SHARES).mean(axis=1)

    def where_labels_went(self):
        """Facts of each run, by name: arrays of shape (n_runs,)."""
        labels = self.counts[self.lines[:, None], self.leaf_of].sum(axis=2)
        fullest = labels.argmax(axis=1)
        leaf = self.leaf_of[self.lines, fullest]
        wrong = self._is_one() != (SHARES > 0.5)
        starved = wrong & (labels <= FEW)
        return {
            "leaves": np.array([len(np.unique(one)) for one in self.leaf_of]),
            "labels in the fullest leaf": labels.max(axis=1),
            "its p from 1/2": np.abs(MEAN[leaf] - 0.5),
            "cells in it": SIZE[leaf],
            "cells labeled wrongly": wrong.sum(axis=1),
            f"of them with at most {FEW} labels": starved.sum(axis=1),
        }


def run(method, deltas, seed, n_runs, n_labels=LABELS, every=1, facts=None):
    """Risk after each label, or some of them, (n_runs, n_labels // every)."""
    runs = Runs(method, deltas, seed, n_runs)
    risks = []
    for i in range(1, n_labels + 1):
        runs.step()
        if i % every == 0:
            risks.append(runs.true_risk())
    if facts is not None:
        facts[method] = runs.where_labels_went()
    return np.array(risks).T


def choices(method):
    """Parameters among which a method's are chosen."""
    if method in ASKING:
        return list(itertools.product(DELTAS, DELTAS))
    return [(delta,) for delta in DELTAS]


def tuned(method, runs, n_labels):
    """Mean risk over all budgets of each choice, and the best choice."""
    risk = {
        choice: run(method, choice, 10_000, runs, n_labels, 10).mean()
        for choice in choices(method)
    }
    return min(risk, key=risk.get), risk


def measured(method, tuning, runs, n_labels, _):
    """Choose the parameters of a method, and run it with them."""
    facts, (chosen, grid) = {}, tuned(method, tuning, n_labels)
    curve = run(method, chosen, 0, runs, n_labels, facts=facts)
    return {
        "chosen": chosen,
        "grid": list(grid.items()),
        "curve": curve.tolist(),
        "facts": {key: values.tolist() for key, values in facts[method].items()},
    }


def error_of(values):
    """Standard error of the mean."""
    return values.std(ddof=1) / np.sqrt(len(values))


def compared(differences):
    """Say which of two risks is less, and by how much."""
    mean, error = differences.mean(), error_of(differences)
    told = "level"
    if abs(mean) > 2 * error:
        told = "better" if mean < 0 else "worse"
    return f"{told} ({mean:+.4f} ± {error:.4f})"


def fullest_against_others(labels, risks):
    """Risk of the quarter of runs with the fullest leaf, less that of the others."""
    order = labels.argsort(kind="stable")
    others, fullest = np.split(risks[order], [3 * len(order) // 4])
    error = np.hypot(error_of(fullest), error_of(others))
    return f"{fullest.mean() - others.mean():+.4f} ± {error:.4f}"


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "cache", "quick", "json")
    parser.add_argument("--runs", type=int, default=100, help="runs of each method")
    parser.add_argument("--tuning", type=int, default=40, help="runs of each choice")
    parser.add_argument("--learner", type=int, default=20, help="runs of the learner")
    options = parser.parse_args(argv)
    n_labels, budgets = LABELS, BUDGETS
    if options.quick:
        options.runs, options.tuning, n_labels, budgets = 8, 1, 50, (20, 50)
        options.learner = 2
    note = f"{options.runs} runs, parameters chosen on {options.tuning} others; "
    note += "published: 100 runs, the way of choosing parameters is not given"
    tables = command.tables("paper_a_toy", options, note)
    print_environment(tables.facts)
    best = np.minimum(SHARES, 1 - SHARES).mean()
    print(f"least risk {best:.5f}, one leaf {min(MEAN[0], 1 - MEAN[0]):.5f}")
    curves, chosen, grid, facts = {}, {}, {}, {}
    kept = Stored("paper_a_toy", Namespace(runs=1, cache=options.cache))
    for method in METHODS:
        given = options.tuning, options.runs, n_labels
        (found,) = kept.each(partial(measured, method, *given), of=[method, *given])
        chosen[method] = tuple(found["chosen"])
        grid[method] = {tuple(choice): risk for choice, risk in found["grid"]}
        curves[method] = np.array(found["curve"])
        facts[method] = {key: np.array(one) for key, one in found["facts"].items()}
        print(method, chosen[method], curves[method].mean().round(4), flush=True)
    steps = range(9, n_labels, 10)
    curve_rows = [
        [n + 1, *(f"{curves[method][:, n].mean():.4f}" for method in METHODS)]
        for n in steps
    ]
    tables.show("paper-a-toy-curves", ["labels", *METHODS], curve_rows)
    for method in ASKING:
        given = chosen[method]
        seeds = range(options.learner)
        runs = [run_learner(method, given, seed, n_labels) for seed in seeds]
        title = f"{method}, through the learner"
        chosen[title], curves[title] = given, np.array(runs)
    rows = [
        [
            method,
            ", ".join(map(str, chosen[method])),
            *(
                f"{risk[:, n - 1].mean():.4f} ± {error_of(risk[:, n - 1]):.4f}"
                for n in budgets
            ),
            f"{risk.mean():.4f} ± {error_of(risk.mean(axis=1)):.4f}",
        ]
        for method, risk in curves.items()
    ]
    header = ["method", "delta", *map(str, budgets), "mean over all"]
    tables.show("paper-a-toy", header, rows)
    gaps = []
    for i, ours in enumerate(ASKING, 3):
        for other in METHODS[:i]:
            difference = curves[ours] - curves[other]
            cells = [compared(difference[:, n - 1]) for n in budgets]
            gaps.append([ours, other, *cells, compared(difference.mean(axis=1))])
    header = ["ours", "against", *map(str, budgets), "mean over all"]
    tables.show("paper-a-toy-gaps", header, gaps)
    fact_rows = [
        [
            method,
            *(f"{values.mean():.3g}" for values in facts[method].values()),
            int(facts[method]["labels in the fullest leaf"].max()),
            fullest_against_others(
                facts[method]["labels in the fullest leaf"], curves[method][:, -1]
            ),
        ]
        for method in METHODS
    ]
    header = ["method", *facts["BOCT"], "most labels in a leaf"]
    header.append("risk of the quarter of runs with the fullest leaf, over the others")
    tables.show("paper-a-toy-labels", header, fact_rows)
    grid_rows = [
        [method, *map(str, (*choice, "-")[:2]), f"{risk:.4f}"]
        for method, risks in grid.items()
        for choice, risk in risks.items()
    ]
    tables.show(
        "paper-a-toy-deltas",
        ["method", "delta", "delta of questions", "risk"],
        grid_rows,
    )
    write_json(
        options.json,
        {
            "environment": tables.facts,
            "curves": {
                method: risk.mean(axis=0).tolist() for method, risk in curves.items()
            },
        },
    )
