"""De Rosa and Cesa-Bianchi (2017): what labels of a stream are worth, by strategy.

    python benchmarks paper_c_active --data FOLDER [--seeds 5] [--json FILE]

Each row is predicted, then a strategy decides whether its label is bought and learnt
(the paper's algorithms 2, 3 and 5 to 7, kept to the budget at every row). Electricity,
a9a and airlines in the order of their files: share of right predictions, or F1 of the
rarer class on a9a. Airlines is the table of 2007, as the other one is sorted by
class. Two trees learn: C-Tree (the practical bound with c = .001, Gini, Gaussian
memory, majority leaves, an examination every 100 labels), and the default tree. Split
strategies watch for drift by DDM on the labels that they buy at random. The order of
rows is fixed, so runs differ in the draws of the strategies. Without the folder there
is nothing to do. Some 20 CPU minutes; ``--quick`` tries the script.
"""

import time

import numpy as np
from common import options as command
from common.data import encoded, folder_if_any
from common.timing import print_environment, write_json

from skconftree import ConfidenceTreeClassifier
from skconftree.active import StreamActiveLearner
from skconftree.bounds import DeRosaBound

# Name of the table, and whether the paper shows F1 of the rarer class.
TABLES = {
    "electricity": ("elec", False),
    "a9a, F1": ("a9a", True),
    "airlines 2007": ("airlines2007-ordered", False),
}
STRATEGIES = (
    "random",
    "fixed_uncertainty",
    "variable_uncertainty",
    "random_variable_uncertainty",
    "selective_sampling",
    "split",
    "conf_tree",
    "split_conf_tree",
)
BUDGETS = (0.05, 0.1, 0.2, 0.5)


def trees():
    """Trees that learn."""
    return {
        "C-Tree": ConfidenceTreeClassifier(
            DeRosaBound(c=0.001), leaf_memory="gaussian", leaf_prediction="majority"
        ),
        "default": ConfidenceTreeClassifier(),
    }


def run(tree, strategy, budget, X, y, starred, seed):
    """Value at the end, share of labels asked for, and leaves."""
    learner = StreamActiveLearner(
        tree,
        strategy=strategy,
        budget=budget,
        drift="ddm" if strategy.startswith("split") else None,
        random_state=seed,
    )
    done = learner.run(X, y)
    value = done.f1 if starred else done.accuracy
    return value, learner.asked_share_, learner.estimator_.get_n_leaves()


def told(values):
    """Mean and standard error, in per cent."""
    mean = 100 * np.mean(values)
    if len(values) < 2:
        return f"{mean:.1f}"
    return f"{mean:.1f} ± {100 * np.std(values, ddof=1) / np.sqrt(len(values)):.1f}"


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "quick", "json")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each strategy")
    options = parser.parse_args(argv)
    budgets = BUDGETS
    if options.quick:
        options.seeds, budgets = 1, (0.2,)
    folder = folder_if_any(options.data, "nothing")
    if folder is None:
        return
    tables = command.tables("paper_c_active", options, f"{options.seeds} runs")
    print_environment(tables.facts)
    rows, asked, records = [], [], []
    for title, (name, starred) in TABLES.items():
        X, y, _ = encoded(name, folder)
        X = X.astype(np.float32)
        if options.quick:
            X, y = X[:2000], y[:2000]
        for label, tree in trees().items():
            begin = time.process_time()
            everything = run(tree, "random", 1.0, X, y, starred, 0)[0]
            for strategy in STRATEGIES:
                found = np.array(
                    [
                        [
                            run(tree, strategy, budget, X, y, starred, seed)
                            for seed in range(options.seeds)
                        ]
                        for budget in budgets
                    ]
                )
                where = [title, label, f"``{strategy}``"]
                rows.append([*where, *map(told, found[:, :, 0])])
                asked.append(
                    [*where, *(f"{a:.2f}" for a in 100 * found[:, :, 1].mean(1))]
                )
                records.append({"where": where, "found": found.tolist()})
            rows.append(
                [title, label, "all labels", *[told([everything])] * len(budgets)]
            )
            print(title, label, f"{time.process_time() - begin:.0f} CPU s", flush=True)
    header = ["stream", "tree", "strategy", *(f"{100 * b:g} %" for b in budgets)]
    tables.show("paper-c-active", header, rows)
    tables.show("paper-c-active-asked", header, asked)
    write_json(options.json, {"environment": tables.facts, "records": records})
