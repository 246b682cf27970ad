"""De Rosa and Cesa-Bianchi (2017): what labels of a stream are worth, by strategy.

    python benchmarks paper_c_active --data FOLDER [--part NAME ...] [--cache FOLDER]

Each row is predicted, then a strategy decides whether its label is bought and learned
(the paper's algorithms 2, 3 and 5 to 7, kept to the budget at every row). Electricity,
a9a and airlines in the order of their files: share of right predictions, or F1 of the
rarer class on a9a. Airlines is the table of 2007, as the other one is sorted by class.

In one order a strategy is one sample: at a small budget most of them take nearly every
n-th row. So the stream begins at ten places of the file, from each of which it is
10,000 rows long, and each strategy runs with five seeds from each place. Shown are
differences from random labels in the same stream, each the mean of the seeds, and
standard errors over the ten streams.

The tree is C-Tree (the practical bound, Gini, Gaussian memory, majority leaves, an
examination every 100 labels) with the c of the grid that is best with all labels, in
the mean of the ten streams; the default tree is there for comparison. Split strategies
watch for drift by DDM on the labels that they buy at random. The parts: ``strategies``
has no drift detection for the others, and ``ddm`` has it for all of them, as the paper:
there the tree of the other strategies watches its errors on all labels that it learns.

Without the folder there is nothing to do. Some 30 CPU minutes. Processes with one of
``--tables`` each may fill a ``--cache``, from which a last one reads; ``--quick`` tries
the script.
"""

import time
from argparse import Namespace
from functools import partial

import numpy as np
from common import options as command
from common.data import encoded, folder_if_any
from common.runs import Runs
from common.timing import print_environment, write_json
from sklearn.base import clone
from sklearn.metrics import f1_score

from skconftree import ConfidenceTreeClassifier
from skconftree.active import ConfTreeSampling, StreamActiveLearner
from skconftree.bounds import DeRosaBound

from .paper_c_tables import grids

# Name of the table, and whether the paper shows F1 of the rarer class.
TABLES = {
    "electricity": ("elec", False),
    "a9a, F1": ("a9a", True),
    "airlines 2007": ("airlines2007-ordered", False),
}
STRATEGIES = (
    "random",
    "variable_uncertainty",
    "random_variable_uncertainty",
    "selective_sampling",
    "split",
    "conf_tree",
    "conf_tree, practical",
    "split_conf_tree",
)
SEEDLESS = {"variable_uncertainty"}  # it draws nothing
SEEDS = 5
OF_THE_DEFAULT = ("random", "conf_tree")
BUDGETS = (0.05, 0.1, 0.2)
N_FACTORS = 30


def c_tree(c):
    """The paper's tree."""
    return ConfidenceTreeClassifier(
        DeRosaBound(c=c),
        grace_period=100,
        leaf_memory="gaussian",
        leaf_prediction="majority",
    )


def streams(name, folder, options):
    """Rows and labels from each place on."""
    X, y, _ = encoded(name, folder)
    X = X.astype(np.float32)
    for place in range(options.places):
        begin = place * len(X) // options.places
        rows = np.arange(begin, begin + options.rows) % len(X)
        yield X[rows], y[rows]


def with_all_labels(tree, X, y, starred):
    """Value at the end and leaves, every row predicted and then learned."""
    tree, classes = clone(tree), np.arange(y.max() + 1)
    predicted = tree.partial_fit_predict(X, y, classes=classes)
    rare = np.bincount(y).argmin()
    value = f1_score(y == rare, predicted == rare) if starred else (predicted == y)
    return np.mean(value), tree.get_n_leaves()


def run(tree, strategy, budget, X, y, starred, seed):
    """Value at the end, share of labels queried, rows before the first model."""
    chosen = strategy
    if strategy.startswith("split"):
        tree = clone(tree).set_params(drift=None)  # the learner watches
    if strategy == "conf_tree, practical":
        chosen = ConfTreeSampling("practical")
    learner = StreamActiveLearner(
        tree,
        strategy=chosen,
        budget=budget,
        drift="ddm" if strategy.startswith("split") else None,
        random_state=seed,
    )
    done = learner.run(X, y)
    value = done.f1 if starred else done.accuracy
    return value, learner.queried_share_, done.n_unpredicted


def told(values, sign=""):
    """Mean and standard error, in per cent."""
    mean = 100 * np.mean(values)
    if len(values) < 2:
        return f"{mean:{sign}.1f}"
    error = 100 * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{mean:{sign}.1f} ± {error:.1f}"


def told_together(differences):
    """Mean of several tables, and its standard error: places of each are a sample."""
    mean = 100 * np.mean([np.mean(one) for one in differences])
    if len(differences[0]) < 2:
        return f"{mean:+.1f}"
    squares = [np.var(one, ddof=1) / len(one) for one in differences]
    error = 100 * np.sqrt(np.sum(squares)) / len(squares)
    return f"{mean:+.1f} ± {error:.1f}"


def measure(title, folder, budgets, options):
    """Every strategy with both trees on one table.

    Returns
    -------
    tuned : list
        Row of the table of tuned factors.
    found : dict of (tree, strategy) to ndarray (budgets, places, 3)
        See `run`; means over the seeds.
    full : dict of tree to ndarray (places,)
        Values with all labels.
    """
    name, starred = TABLES[title]
    parts = list(streams(name, folder, options))
    factors = [c for c, *_ in grids(N_FACTORS)["C-Tree"]]
    once = Runs("paper_c_active", Namespace(runs=1, cache=options.cache))
    (grown,) = once.each(
        lambda _: [
            [
                tuple(map(float, with_all_labels(c_tree(c), *part, starred)))
                for part in parts
            ]
            for c in factors
        ],
        table=name,
        factors=factors,
        rows=options.rows,
        places=options.places,
    )
    grown = np.array(grown)
    best = grown[:, :, 0].mean(axis=1).argmax()
    ctree = c_tree(factors[best])
    values, leaves = grown[best].T
    tuned = [title, f"{factors[best]:.2g}", told(values), f"{leaves.mean():.0f}"]
    trees = {
        "strategies": {
            "C-Tree": (ctree, STRATEGIES),
            "default": (ConfidenceTreeClassifier(), OF_THE_DEFAULT),
        },
        "ddm": {"C-Tree, DDM": (ctree.set_params(drift="ddm"), STRATEGIES)},
    }[options.part]
    found, full = {}, {}
    for label, (tree, strategies) in trees.items():
        ends = [with_all_labels(tree, *part, starred) for part in parts]
        full[label] = np.array(ends)[:, 0]
        for strategy in strategies:
            n = 1 if strategy in SEEDLESS else options.runs
            runs = Runs("paper_c_active", Namespace(runs=n, cache=options.cache))
            cells = [
                runs.each(
                    partial(run, tree, strategy, budget, *part, starred),
                    table=name,
                    tree=label,
                    factor=None if label == "default" else factors[best],
                    strategy=strategy,
                    budget=budget,
                    rows=options.rows,
                    place=f"{place} of {options.places}",
                )
                for budget in budgets
                for place, part in enumerate(parts)
            ]
            means = np.array(cells).mean(axis=1)
            found[label, strategy] = means.reshape(len(budgets), len(parts), 3)
    return tuned, found, full


PARTS = ("strategies", "ddm")


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "cache", "quick", "json")
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument(
        "--runs", type=int, default=SEEDS, help="seeds of each strategy"
    )
    parser.add_argument("--places", type=int, default=10, help="where streams begin")
    parser.add_argument("--rows", type=int, default=10_000, help="of a stream")
    parser.add_argument("--tables", nargs="+", choices=list(TABLES))
    options = parser.parse_args(argv)
    budgets = BUDGETS
    if options.quick:
        options.runs, options.places, options.rows, budgets = 1, 2, 1000, (0.2,)
    folder = folder_if_any(options.data, "nothing")
    if folder is None:
        return
    records = []
    for part in options.part:
        given = Namespace(**{**vars(options), "part": part})
        seeds = "1 seed" if given.runs == 1 else f"{given.runs} seeds"
        note = f"{given.places} streams of {given.rows:,} rows, {seeds}; "
        note += "published: the whole tables in their order, DDM with every strategy"
        tables = command.tables("paper_c_active", options, note)
        print_environment(tables.facts)
        compare(given, folder, budgets, tables, records)
    write_json(options.json, {"environment": tables.facts, "records": records})


def compare(options, folder, budgets, tables, records):
    """Print the tables of one part."""
    factors, values, gains, queried = [], [], [], []
    together = {}
    for title in options.tables or TABLES:
        begin = time.process_time()
        tuned, found, full = measure(title, folder, budgets, options)
        factors.append(tuned)
        for (label, strategy), cells in found.items():
            where = [title, label, f"``{strategy}``"]
            each = cells[..., 0]
            values.append([*where, *map(told, each)])
            queried.append(
                [
                    *where,
                    *(
                        f"{100 * share:.2f} ({rows:.0f})"
                        for _, share, rows in cells.mean(axis=1)
                    ),
                ]
            )
            records.append({"where": where, "found": cells.tolist()})
            if strategy != "random":
                above = each - found[label, "random"][..., 0]
                columns = [*above, above.mean(axis=0)]
                gains.append([*where, *(told(column, "+") for column in columns)])
                together.setdefault((label, strategy), []).append(columns)
        values += [
            [title, label, "all labels", *[told(full[label])] * len(budgets)]
            for label in full
        ]
        print(title, f"{time.process_time() - begin:.0f} CPU s", flush=True)
    for (label, strategy), each in together.items():
        columns = [told_together(column) for column in zip(*each, strict=True)]
        gains.append(["all", label, f"``{strategy}``", *columns])
    shares = [f"{100 * budget:g} %" for budget in budgets]
    header = ["stream", "tree", "strategy", *shares]
    if options.part == "ddm":
        tables.show("paper-c-active-ddm", [*header, "mean"], gains)
        tables.show("paper-c-active-ddm-values", header, values)
        return
    tables.show("paper-c-active", [*header, "mean"], gains)
    tables.show("paper-c-active-values", header, values)
    tables.show("paper-c-active-queried", header, queried)
    header = ["stream", "c", "with all labels", "leaves"]
    tables.show("paper-c-active-tuned", header, factors)
