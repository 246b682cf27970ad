"""Conditional inference trees: CPU seconds of a fit compared with partykit.

Random tables of normal features, rounded to six digits, two classes that depend on six
of them. Both trees have the defaults of ``ctree_control``: quadratic form, adjusted
p-value 0.05, smallest node to split 20, smallest leaf 7. Times are medians of CPU
seconds of one thread: ``fit`` from an array, and ``ctree`` from a data frame in memory,
measured by R itself in the same run. Their ratio is that of the medians.

    python benchmarks ctree_speed [--repeats 7]

The trees of R are fitted by ``Rscript`` (Debian: r-cran-partykit). Without it nothing
is measured, and the stored table stays what it is.
"""

import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from common import options as command
from common.timing import interleaved, median

from skconftree import ConfidenceTreeClassifier

SIZES = [(500, 10), (4_000, 20)]
R = """
suppressPackageStartupMessages(library(partykit))
arguments <- commandArgs(TRUE)
table <- read.csv(arguments[1], stringsAsFactors = TRUE)
fit <- ctree(y ~ ., data = table)
for (i in seq_len(as.integer(arguments[2]))) {
  gc()
  cat(system.time(ctree(y ~ ., data = table))[["user.self"]], "\\n")
}
cat(width(fit), "\\n")
"""


def has_partykit():
    """Tell whether Rscript is there with partykit."""
    program = shutil.which("Rscript")
    if program is None:
        return False
    call = [program, "-e", "suppressPackageStartupMessages(library(partykit))"]
    return subprocess.run(call, capture_output=True, check=False).returncode == 0


def table(n, d, seed=0):
    """Features and classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(6)
    score = X[:, 0] + X[:, 1] * (X[:, 2] > 0) - X[:, 3] ** 2 / 2 + X[:, 4] * X[:, 5] / 2
    return X, (score + rng.normal(size=n) > 0).astype(int)


def partykit(X, y, repeats):
    """Return seconds of the fits of partykit, and its number of leaves."""
    frame = pd.DataFrame(X, columns=[f"v{j}" for j in range(X.shape[1])])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        frame.assign(y=np.where(y, "b", "a")).to_csv(path, index=False)
        call = ["Rscript", "-e", R, path, str(repeats)]
        run = subprocess.run(call, capture_output=True, text=True, check=True)
    *seconds, leaves = run.stdout.split()
    return [float(one) for one in seconds], int(leaves)


def main(argv=None):
    """Print the table."""
    options = command.parser(__doc__, repeats=7).parse_args(argv)
    shown, rows = command.tables("ctree_speed", options), []
    if not has_partykit():
        print("Rscript with partykit is not installed: nothing is measured.")
        return
    for n, d in SIZES:
        X, y = table(n, d)
        trees = {
            name: ConfidenceTreeClassifier(
                bound,
                min_samples_split=20,
                min_samples_leaf=7,
                pruning=None,
                shrinkage=0,
                lookahead=0,
                n_jobs=1,
            )
            for name, bound in {"ctree": "ctree", "gtest": "gtest"}.items()
        }
        calls = {name: partial(tree.fit, X, y) for name, tree in trees.items()}
        seconds = {
            name: median(values)
            for name, values in interleaved(calls, options.repeats).items()
        }
        theirs, leaves = partykit(X, y, options.repeats)
        rows.append(
            [
                f"{n:,} x {d}",
                f"{1e3 * seconds['ctree']:.1f}",
                f"{1e3 * median(theirs):.0f}",
                f"{median(theirs) / seconds['ctree']:.0f}",
                f"{1e3 * seconds['gtest']:.1f}",
                trees["ctree"].get_n_leaves(),
                leaves,
            ]
        )
    header = ["table", "ctree, ms", "partykit, ms", "partykit / ctree"]
    header += ["gtest, ms", "leaves", "leaves of partykit"]
    shown.show("ctree-speed", header, rows)
