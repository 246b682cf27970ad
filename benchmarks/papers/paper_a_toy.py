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

The tree is made here; what is asked comes from `ActiveLearner` and `LeafRiskSampling`,
which see it through the leaf protocol alone (`index_rows`, `tree_.counts`). Parameters
are those with the least mean risk over all budgets in runs of their own (as the paper,
which does not tell its grid); the runs of the table come after. A leaf without a label
predicts as its nearest ancestor with one; in a fixed partition as the whole. Some six
CPU minutes with the default numbers of runs.
"""

import itertools
from types import SimpleNamespace

import numpy as np
from common import options as command
from common.timing import print_environment, write_json
from sklearn.base import BaseEstimator, ClassifierMixin

from skconftree.active import ActiveLearner, LeafRiskSampling
from skconftree.bounds import credible_interval

DEPTH = 6
CELLS = 2**DEPTH
STOCK = 4000  # rows of the pool a cell: many more than are ever asked for
DELTAS = (0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)
LABELS = 1000
BUDGETS = (50, 100, 200, 300, 400, 500, 700, 1000)
METHODS = ("mbinomial_8", "mbinomial_64", "BOCT", "BOCT-AL")


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
        """Begin anew."""
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


def run(method, deltas, seed, n_labels=LABELS):
    """Risk after each label of one run."""
    rng = np.random.default_rng([seed, METHODS.index(method)])
    chance = rng.random(n_labels)

    def label(row, i):
        return int(chance[i] < SHARES[row // STOCK])

    first = int(rng.integers(len(POOL)))
    risks = np.empty(n_labels)
    if method == "BOCT":
        tree = GridTree(deltas[0])
        for i in range(n_labels):
            row = first if i == 0 else int(rng.integers(len(POOL)))
            tree.partial_fit(POOL[row : row + 1], [label(row, i)])
            risks[i] = tree.true_risk()
        return risks
    if method == "BOCT-AL":
        tree, strategy = GridTree(deltas[0]), LeafRiskSampling(deltas[1])
    else:
        tree = GridTree(depth={"8": 3, "64": DEPTH}[method.split("_")[1]])
        strategy = LeafRiskSampling(deltas[0], gap=True)
    learner = ActiveLearner(
        tree, strategy=strategy, refit=False, classes=[0, 1], random_state=seed
    )
    known = np.full(len(POOL), None)
    known[first] = label(first, 0)
    learner.fit(POOL, known)
    risks[0] = learner.estimator_.true_risk()
    for i in range(1, n_labels):
        row = learner.query()
        learner.teach(row, [label(int(row[0]), i)])
        risks[i] = learner.estimator_.true_risk()
    return risks


def choices(method):
    """Parameters among which a method's are chosen."""
    if method == "BOCT-AL":
        return list(itertools.product(DELTAS, DELTAS))
    return [(delta,) for delta in DELTAS]


def tuned(method, runs, n_labels):
    """Choose the parameters with the least mean risk over all budgets.

    Where there are many to choose from, most are left out after a quarter of the runs.
    """
    risks = {choice: [] for choice in choices(method)}
    for j in range(runs):
        if j == max(runs // 4, 1) and len(risks) > len(DELTAS):
            kept = sorted(risks, key=lambda one: np.mean(risks[one]))[: len(DELTAS)]
            risks = {one: risks[one] for one in kept}
        for choice, found in risks.items():
            found.append(run(method, choice, 10_000 + j, n_labels).mean())
    means = {choice: np.mean(found) for choice, found in risks.items()}
    return min(means, key=means.get), means


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "quick", "json")
    parser.add_argument("--runs", type=int, default=100, help="runs of each method")
    parser.add_argument("--tuning", type=int, default=20, help="runs of each choice")
    options = parser.parse_args(argv)
    n_labels, budgets = LABELS, BUDGETS
    if options.quick:
        options.runs, options.tuning, n_labels, budgets = 2, 1, 50, (20, 50)
    note = f"{options.runs} runs, parameters chosen on {options.tuning} others"
    tables = command.tables("paper_a_toy", options, note)
    print_environment(tables.facts)
    best = np.minimum(SHARES, 1 - SHARES).mean()
    print(f"least risk {best:.5f}, one leaf {min(MEAN[0], 1 - MEAN[0]):.5f}")
    curves, chosen, grid = {}, {}, {}
    for method in METHODS:
        chosen[method], grid[method] = tuned(method, options.tuning, n_labels)
        curves[method] = np.array(
            [
                run(method, chosen[method], seed, n_labels)
                for seed in range(options.runs)
            ]
        )
        print(method, chosen[method], curves[method].mean().round(4), flush=True)
    root = np.sqrt(options.runs)
    rows = [
        [
            method,
            ", ".join(map(str, chosen[method])),
            *(
                f"{risk[:, n - 1].mean():.4f} ± {risk[:, n - 1].std(ddof=1) / root:.4f}"
                for n in budgets
            ),
            f"{risk.mean():.4f}",
        ]
        for method, risk in curves.items()
    ]
    header = ["method", "delta", *map(str, budgets), "mean over all"]
    tables.show("paper-a-toy", header, rows)
    gaps = []
    ours = curves["BOCT-AL"]
    for method in METHODS[:3]:
        cells = []
        for n in budgets:
            gap = ours[:, n - 1] - curves[method][:, n - 1]
            error = gap.std(ddof=1) / root
            told = "level"
            if abs(gap.mean()) > 2 * error:
                told = "better" if gap.mean() < 0 else "worse"
            cells.append(f"{told} ({gap.mean():+.4f} ± {error:.4f})")
        gaps.append([method, *cells])
    tables.show("paper-a-toy-gaps", ["BOCT-AL against", *map(str, budgets)], gaps)
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
