"""Stream learners side by side: accuracy, leaves and CPU seconds, test-then-train.

Run on an idle machine, with the peers installed (see `_peers.py`):

    python benchmarks/bench_stream.py [--data FOLDER] [--json FILE]

``--rows`` shortens the streams to try the script; its figures mean nothing then.
"""

import argparse

import numpy as np
from _data import data_folder, encoded
from _peers import DEFAULTS, LOOSENED, gaussian_nb, moa_tree, river_tree
from _timing import (
    environment,
    median,
    print_environment,
    rst_table,
    spread,
    write_json,
)

from skconftree.datasets import (
    make_agrawal,
    make_random_rbf,
    make_random_tree_stream,
    make_sea,
)

HEADER = ["stream", "learner", "accuracy", "leaves", "seconds", "rows per second"]


def streams(folder, rows):
    """Return each stream's X, y and nominal columns."""
    n = 100_000 if rows is None else rows
    change = {"noise": 0.1, "random_state": 1}
    found = {
        "random tree": (
            *make_random_tree_stream(
                n,
                n_features=10,
                n_leaves=50,
                n_classes=5,
                p_left=0.9,
                p_right=0.1,
                random_state=1,
            ),
            (),
        ),
        "54 features, 7 classes": (
            *make_random_rbf(n, n_features=54, n_classes=7, random_state=1),
            (),
        ),
        "SEA with drift": (*make_sea(n, concept=[0, 1, 2, 3], **change), ()),
        "Agrawal with drift": (
            *make_agrawal(n, concept=[1, 4, 7, 10], perturbation=0.05, random_state=1),
            (3, 4, 5),
        ),
    }
    if folder is not None:
        for name in ("elec", "adult", "letter"):
            X, y, is_nominal = encoded(name, folder)
            missing = np.isnan(X).any(axis=1)
            X, y = X[~missing][:rows], y[~missing][:rows]
            found[name] = X, y, tuple(np.flatnonzero(is_nominal))
    return found


def learners(nominal, repeats):
    """Return the learners, as functions of X and y."""
    return {
        "river HoeffdingTree": lambda X, y: river_tree(X, y, nominal=nominal),
        "MOA HoeffdingTree": lambda X, y: moa_tree(
            X, y, **DEFAULTS, nominal=nominal, repeats=repeats
        ),
        "MOA HoeffdingTree, loosened": lambda X, y: moa_tree(
            X, y, **LOOSENED, nominal=nominal, repeats=repeats
        ),
        "GaussianNB": lambda X, y: gaussian_nb(X, y, repeats=repeats),
    }


def main(argv=None):
    """Run every learner on every stream and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder of real tables; or SKCONFTREE_DATA")
    parser.add_argument("--rows", type=int, help="shorten the streams")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", metavar="LEARNER")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args(argv)
    try:
        folder = data_folder(options.data)
    except SystemExit:
        folder = None
        print("No folder of real tables: generated streams only.")
    facts = environment()
    print_environment(facts)
    table, records = [], []
    for stream, (X, y, nominal) in streams(folder, options.rows).items():
        for name, learner in learners(nominal, options.repeats).items():
            if options.only and name not in options.only:
                continue
            run = learner(X, y)
            seconds = median(run.seconds)
            table.append(
                [
                    f"{stream}, {X.shape[0]:,} x {X.shape[1]}",
                    name,
                    f"{run.accuracy:.1%}",
                    "" if run.leaves is None else f"{run.leaves:,}",
                    f"{seconds:.3f} ({spread(run.seconds)})",
                    f"{len(X) / seconds:,.0f}",
                ]
            )
            print(*table[-1], sep=" | ", flush=True)
            records.append({"stream": stream, "learner": name, **run._asdict()})
    print("\n" + rst_table(HEADER, table))
    write_json(options.json, {"environment": facts, "records": records})


if __name__ == "__main__":
    main()
