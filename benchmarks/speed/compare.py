"""Two builds of the package beside each other, taking turns: this one and another.

    python benchmarks compare --other PYTHON [--only {fit,stream,tables} ...]

PYTHON is the interpreter of an environment in which the other build is installed. The
works are those of `fit`, `stream` and `tables`, without their peers. Each is timed in
three processes, this build, the other, this build again, call by call: CPU seconds, one
thread. A row says what this build takes of the other's time, and how far two processes
of this build are apart, which is how much of the ratio means nothing. A row whose two
trees are of different size compares two methods, not two builds. Nothing is written but
to ``--results``: the documentation has no figures of other builds. ``--quick`` shrinks
the tables to try the script; its figures mean nothing.
"""

import sys
import tempfile

from common import options as command
from common.builds import Build, compare
from common.data import data_folder, encoded
from common.generators import (
    cascade,
    continuous,
    integers,
    make_sparse,
    make_table,
    make_texts,
)
from common.results import Tables
from common.streams import make_stream
from common.timing import print_environment, save_table
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris

PARTS = ("fit", "stream", "tables")
HEADER = ["work", "table", "tree", "leaves", "seconds", "other build", "ratio"]
ALLOWED = 1.03  # beside the distance of two processes of this build
LAX = "against='no_split', delta=0.05"
PLAIN = {"no bound": "ConfidenceTreeClassifier(None)"}
SHALLOW = {"no bound, depth 8": "ConfidenceTreeClassifier(None, max_depth=8)"}
DEFAULT = {"default": "ConfidenceTreeClassifier()"}
BOUNDS = {
    name: f"ConfidenceTreeClassifier({bound}, pruning=None)"
    for name, bound in {
        "credible": "'credible'",
        "possibilistic": "'possibilistic'",
        "gtest": "'gtest'",
        "chi2": "'chi2'",
        "hoeffding": f"bounds.HoeffdingBound({LAX})",
        "derosa": "bounds.DeRosaBound(c=0.05, against='no_split')",
    }.items()
}
MATCHED = {
    "peer-matched": "ConfidenceTreeClassifier(bounds.HoeffdingBound(1e-7, "
    "tie_threshold=0.025), criterion='entropy', grace_period=200, "
    "leaf_memory='gaussian', leaf_prediction='nba')"
}


def fits(shrink):
    """Yield the works of `fit`: name of a table, how it is made, trees of each call."""
    yield (
        "continuous",
        lambda: continuous(100_000 // shrink, 20),
        {
            "fit": PLAIN | SHALLOW | BOUNDS | DEFAULT,
            "predict_proba": PLAIN | SHALLOW,
        },
    )
    yield (
        "256 levels",
        lambda: integers(200_000 // shrink, 30),
        {"fit": PLAIN | SHALLOW | BOUNDS | DEFAULT},
    )
    credible = {"credible": BOUNDS["credible"]}
    yield (
        "labels of a random tree",
        lambda: cascade(400_000 // shrink, 10, 10),
        {"fit": credible},
    )
    yield "small", lambda: continuous(2000, 20), {"fit": PLAIN | DEFAULT}
    yield "iris", iris, {"fit": PLAIN | DEFAULT, "predict_proba": PLAIN | DEFAULT}


def iris():
    """Iris in the types of the other tables."""
    X, y = load_iris(return_X_y=True)
    return X.astype("float32"), y


def streams(shrink):
    """Yield the works of `stream`, as `fits` does."""
    for name in ("SEA with drift", "random tree", "54 features, 7 classes"):
        yield (
            name,
            lambda name=name: make_stream(name, 100_000 // shrink)[:2],
            {
                "chunks": DEFAULT | MATCHED,
                "learn one row": DEFAULT | MATCHED,
                "predict one row": DEFAULT,
            },
        )


def tables(shrink, folder):
    """Yield the works of `tables`, as `fits` does."""
    if folder is not None:
        yield "a9a, sparse", lambda: a9a(folder), {"fit": DEFAULT | PLAIN}
    words = {"fit": DEFAULT | PLAIN, "predict_proba": DEFAULT}
    yield "words, sparse", lambda: make_sparse(50_000 // shrink), words
    shape = (10_000 // shrink, 100_000 // shrink)
    yield "texts, sparse", lambda: make_texts(*shape), {"fit": DEFAULT | PLAIN}
    for n_rows in (10_000, 100_000, 1_000_000):
        yield (
            f"{n_rows:,} rows",
            lambda n_rows=n_rows: make_table(n_rows // shrink, 20),
            {"fit": DEFAULT | PLAIN},
        )


def a9a(folder):
    """Read the table a9a as a sparse matrix."""
    X, y, _ = encoded("a9a", data_folder(folder))
    return csr_matrix(X.astype("float32")), y


def row_of(call, table, tree, found):
    """Row of the table from what `compare` found."""
    leaves, others = found["leaves"]
    mine, theirs = found["seconds"]
    distance = abs(found["twice"] - 1.0)
    slower = found["ratio"] > ALLOWED + distance
    return [
        call,
        table,
        tree,
        f"{leaves:,}" if leaves == others else f"{leaves:,}, other {others:,}",
        f"{mine:.4g}",
        f"{theirs:.4g}",
        f"{found['ratio']:.3f}" + " (!)" * slower,
        f"{distance:.3f}",
    ]


def main(argv=None):
    """Run the parts asked for and print the table."""
    parser = command.parser(__doc__, "data", "quick", repeats=7)
    parser.add_argument("--other", required=True, metavar="PYTHON")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args(argv)
    shrink, repeats = (40, 1) if options.quick else (1, options.repeats)
    works = {
        "fit": fits(shrink),
        "stream": streams(shrink),
        "tables": tables(shrink, options.data),
    }
    builds = [Build(one) for one in (sys.executable, options.other, sys.executable)]
    try:
        note = f"beside {builds[1].name}; medians of {repeats} rounds"
        shown = Tables("compare", options.results, note)
        print_environment(shown.facts)
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            for part in options.only:
                for table, make, calls in works[part]:
                    paths = save_table(folder, *make())
                    for call, trees in calls.items():
                        for tree, model in trees.items():
                            work = {"table": paths, "model": model, "call": call}
                            found = compare(builds, work, repeats)
                            rows.append(row_of(call, table, tree, found))
                            print(*rows[-1], sep=" | ", flush=True)
        shown.show("compare", [*HEADER, "this build twice"], rows)
    finally:
        for one in builds:
            one.close()
