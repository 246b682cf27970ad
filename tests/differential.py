"""Random tables and parameters against the slow reference tree: a command, no test.

    cd tests && python -P differential.py [--cases 10000] [--first 0] [--seed SEED]

Each case has a seed of its own, which makes the whole of it: a table with ties, holes
and categories, weights, rows without label, class weights, rules of growth, drawn
features and cuts, and any bound with any of its criteria, or none. The compiled tree
must be that of `reference/tree.py`, node for node, evidence included. Prints the
seeds that failed, and ends with 1 if there is one; `--seed` repeats one case with its
traceback. Cases in which rounding decides, by the reference's own word, are counted
but not judged.
"""

import argparse
import functools
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from reference.cases import CRITERIA, PAIRS, settings_of
from reference.contingency import UndecidedError
from reference.draws import DrawingGrower
from reference.tables import assert_same, grow_both
from reference.tree import Grower
from sklearn.utils import check_random_state

ALL = [("none", criterion) for criterion in CRITERIA] + PAIRS
KINDS = ("continuous", "ties", "one hot", "constant", "holes", "coded holes", "nominal")


def random_column(rng, kind, labels, n, signal):
    """Draw one feature; only rows from the n-th on are without label."""
    values = rng.normal(size=len(labels)) + signal * labels * rng.random()
    if kind == "constant":
        return np.full(len(labels), 2.5)
    if kind == "one hot":
        return (values > rng.normal()).astype(float)
    if kind == "ties":
        return np.rint(values)
    if kind == "nominal":
        m = rng.integers(2, 8)
        values = rng.permutation(m)[np.clip(np.rint(values), 0, m - 1).astype(int)]
        return np.where(rng.random(len(labels)) < rng.choice([0, 0.2]), np.nan, values)
    if kind in ("holes", "coded holes"):
        values = np.rint(values) if kind == "coded holes" else values
        holes = rng.random(len(labels)) < rng.choice([0.0, 0.1, 0.5])
        holes |= (labels == 1) & (rng.random(len(labels)) < rng.choice([0.0, 0.7]))
        if rng.random() < 0.3:
            holes[:n] = False  # only rows without label miss it
        return np.where(holes, np.nan, values)
    return values


def random_problem(rng):
    """Draw what `reference.tables.grow_both` takes."""
    K = int(rng.choice([2, 2, 3, 5]))
    n = int(rng.integers(K + 2, rng.choice([12, 30, 60])))
    n_pool = int(rng.choice([0, 0, 1, 12]))
    signal = rng.choice([0.0, 1.0, 3.0])
    y = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
    labels = np.concatenate([y, rng.integers(0, K, n_pool)])
    kinds = rng.choice(KINDS, size=rng.integers(1, 5))
    table = np.column_stack(
        [random_column(rng, kind, labels, n, signal) for kind in kinds]
    ).astype(np.float32)
    weight = {
        0: rng.integers(1, 4, n).astype(float),
        1: rng.integers(1, 5000, n).astype(float),
        2: rng.integers(1, 12, n) / 4,
        3: rng.uniform(0.5, 30, n),
    }.get(int(rng.integers(0, 8)))
    total = n if weight is None else weight.sum()
    class_weight = None
    if rng.random() < 0.3:
        class_weight = dict(enumerate(rng.uniform(0.3, 3, K).tolist()))
    choices = {
        "max_depth": lambda: int(rng.integers(1, 5)),
        "min_samples_split": lambda: [2, 5, int(total / 3) + 2, 0.21][rng.integers(4)],
        "min_samples_leaf": lambda: [1, 2, int(total / 6) + 1, 0.07][rng.integers(4)],
        "min_weight_fraction_leaf": lambda: float(rng.choice([0.11, 0.0937])),
        "max_leaf_nodes": lambda: int(rng.integers(2, 9)),
        "min_impurity_decrease": lambda: float(rng.choice([0.0123, 0.0789])),
    }
    growth = {name: draw() for name, draw in choices.items() if rng.random() < 0.15}
    return {
        "X": table[:n],
        "y": y,
        "K": K,
        "X_pool": table[n:] if n_pool else None,
        "sample_weight": weight,
        "class_weight": class_weight,
        "nominal": [j for j, kind in enumerate(kinds) if kind == "nominal"],
        "multiway": bool(rng.integers(0, 2)),
        "growth": growth,
    }


def random_draws(rng, n_features):
    """Parameters of drawn features and cuts, and the reference that draws alike."""
    if rng.random() < 0.75:
        return {}, Grower
    parameters = {
        "random_state": int(rng.integers(0, 100)),
        "max_features": int(rng.integers(1, n_features + 1)),
        "splitter": str(rng.choice(["best", "random"])),
    }
    make = functools.partial(
        DrawingGrower,
        seed=check_random_state(parameters["random_state"]).randint(2**31 - 1),
        max_features=parameters["max_features"],
        random_cuts=parameters["splitter"] == "random",
    )
    return parameters, make


def run_case(seed):
    """Grow both trees of a case and compare them.

    Returns
    -------
    str
        What it was about.
    str
        "same" or "ambiguous".
    int
        Nodes of the tree.
    """
    rng = np.random.default_rng(seed)
    case, criterion = ALL[rng.integers(len(ALL))]
    problem = random_problem(rng)
    parameters, make = random_draws(rng, problem["X"].shape[1])
    bound, expected = settings_of(case, criterion, problem["K"])
    about = f"{case}, {criterion}"
    try:
        estimator, root = grow_both(
            problem, bound, expected, criterion, make, **parameters
        )
    except UndecidedError:
        return about, "ambiguous", 0
    if root.ambiguous:
        return about, "ambiguous", 0
    tree = estimator.tree_
    assert_same(tree, root)
    assert tree.node_count == sum(1 for _ in root.walk())
    reached = np.zeros_like(tree.counts)
    weight = problem["sample_weight"]
    where = estimator.apply(problem["X"]), problem["y"]
    np.add.at(reached, where, 1.0 if weight is None else weight)
    leaf = tree.n_children == 0
    np.testing.assert_allclose(reached[leaf], tree.counts[leaf], rtol=1e-12)
    return about, "same", tree.node_count


def main(argv=None):
    """Run the cases; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first case")
    parser.add_argument("--seed", type=int, help="only this case, with its traceback")
    options = parser.parse_args(argv)
    if options.seed is not None:
        print(*run_case(options.seed), sep=": ")
        return 0
    failed, ambiguous, nodes, split = {}, 0, 0, 0
    start = time.process_time()
    for seed in range(options.first, options.first + options.cases):
        try:
            _, outcome, size = run_case(seed)
        except Exception as error:
            failed[seed] = traceback.format_exception_only(error)[-1].strip()
            print(f"seed {seed}: {failed[seed][:300]}", flush=True)
            continue
        ambiguous += outcome == "ambiguous"
        nodes += size
        split += size > 1
    n = max(options.cases, 1)
    print(
        f"{options.cases} cases from seed {options.first}: {len(failed)} failed, "
        f"{ambiguous} ambiguous ({ambiguous / n:.1%}); {split} trees with splits, "
        f"{nodes} nodes; {time.process_time() - start:.0f} CPU seconds"
    )
    if failed:
        print("failed:", *failed)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
