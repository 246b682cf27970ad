"""Do limits of class probabilities hold? On data whose truth is known.

Rows are uniform in [0, 1]^5, and the second class has probability .3 everywhere
(noise), .1, .3, .7 and .9 in four steps of the first feature (steps), or .1 + .8 times
the product of the first two features (smooth). A leaf's truth is the mean probability
of 100,000 other rows that fall into it.

- One look, the default tree: the share of those rows whose truth lies between 95 %
  limits, and the mean distance of these. Conditional limits rest on the rows that grew
  the tree. Honest ones rest on every other row, and the tree was grown from the rest.
- Every look, a growing tree without bound, 2,000 rows: the share of leaves and classes
  whose truth was between the limits at all looks, one each 20 rows, until the leaf
  split; by a sequence, and by conditional limits beside it.

    python benchmarks interval_coverage
"""

import numpy as np
from common import options as command

from skconftree import ConfidenceTreeClassifier

ROWS = (300, 1_000, 10_000)
N_OTHERS = 100_000
STREAM, LOOK = 2_000, 20


def noise(X):
    """The same everywhere."""
    return np.full(len(X), 0.3)


def steps(X):
    """Four steps of the first feature."""
    return np.array([0.1, 0.3, 0.7, 0.9])[np.minimum(X[:, 0] * 4, 3).astype(int)]


def smooth(X):
    """A product of two features."""
    return 0.1 + 0.8 * X[:, 0] * X[:, 1]


def draw(truth, n, rng):
    """Rows, and labels by their truth."""
    X = rng.uniform(size=(n, 5)).astype(np.float32)
    return X, (rng.random(n) < truth(X)).astype(int)


def true_share(truth, leaves, X):
    """Mean truth in the leaf of each row."""
    n_rows = np.maximum(np.bincount(leaves), 1)
    return (np.bincount(leaves, truth(X)) / n_rows)[leaves]


def one_look(truth, n, seed):
    """Coverage and width, conditional and honest."""
    rng = np.random.default_rng(seed)
    X, y = draw(truth, n, rng)
    others = rng.uniform(size=(N_OTHERS, 5)).astype(np.float32)
    answer = []
    for method in ("conditional", "honest"):
        if method == "conditional":
            tree = ConfidenceTreeClassifier().fit(X, y)
        else:
            tree = ConfidenceTreeClassifier().fit(X[::2], y[::2])
            tree.recount_leaves(X[1::2], y[1::2])
        true = true_share(truth, tree.apply(others), others)
        low, high = tree.predict_proba_interval(others, method=method)[:, 1].T
        answer += [np.mean((low <= true) & (true <= high)), np.mean(high - low)]
    return answer


def every_look(truth, seed):
    """Leaves seen; those whose limits missed at some look, by both methods."""
    rng = np.random.default_rng(seed)
    X, y = draw(truth, STREAM, rng)
    others = rng.uniform(size=(N_OTHERS // 10, 5)).astype(np.float32)
    tree = ConfidenceTreeClassifier(bound=None, grace_period=200)
    seen, missed = set(), (set(), set())
    for start in range(0, STREAM, LOOK):
        part = slice(start, start + LOOK)
        tree.partial_fit(X[part], y[part], classes=[0, 1])
        leaves = tree.apply(others)
        true = true_share(truth, leaves, others)
        seen |= set(leaves.tolist())
        for method, wrong in zip(("sequence", "conditional"), missed, strict=True):
            low, high = tree.predict_proba_interval(others, method=method)[:, 1].T
            wrong |= set(leaves[(true < low) | (true > high)].tolist())
    return len(seen), len(missed[0]), len(missed[1])


def main(argv=None):
    """Run the study and print its tables."""
    parser = command.parser(__doc__, "quick")
    parser.add_argument("--runs", type=int, default=300)
    options = parser.parse_args(argv)
    runs = 2 if options.quick else options.runs
    tables = command.tables("interval_coverage", options, f"{runs} runs")
    rows, looks = [], []
    for truth in (noise, steps, smooth):
        for n in ROWS[:1] if options.quick else ROWS:
            found = [one_look(truth, n, seed) for seed in range(runs)]
            shares = np.mean(found, axis=0)
            rows.append(
                [truth.__name__, f"{n:,}"]
                + [f"{100 * one:.1f} %" for one in shares[::2]]
                + [f"{one:.3f}" for one in shares[1::2]]
            )
        found = np.sum([every_look(truth, seed) for seed in range(runs)], axis=0)
        held = 100.0 * (1.0 - found[1:] / found[0])
        looks.append([truth.__name__, *(f"{one:.1f} %" for one in held)])
    header = ["truth", "rows", "conditional", "honest"]
    header += ["width, conditional", "width, honest"]
    tables.show("interval-coverage", header, rows)
    tables.show("interval-looks", ["truth", "sequence", "conditional"], looks)
