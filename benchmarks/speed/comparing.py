"""What `fit` pays for comparing each split with the best tests of other attributes.

    python benchmarks comparing --data FOLDER

The same table is grown by the same build with and without the comparison, which is
switched off from outside: estimators have no parameter for it. Both take turns, CPU
seconds, one thread. Real tables, all of those that have at least 500 rows and the first
10,000 rows of larger ones, nominal columns as codes; beyond that size only the largest
nodes are compared. That the search remembers the three best other attributes while it
looks at all of them is not switched off.
"""

from functools import partial
from unittest import mock

import numpy as np
from common import options as command
from common.data import data_folder, encoded, impute, table_names
from common.timing import interleaved, median

from skconftree import ConfidenceTreeClassifier
from skconftree.tree.batch import _grow

MAX_ROWS, LEAST_ROWS = 10_000, 500
MODELS = {
    "default": lambda: ConfidenceTreeClassifier(),
    "lookahead=0": lambda: ConfidenceTreeClassifier(lookahead=0),
    "credible": lambda: ConfidenceTreeClassifier("credible"),
}


def none(*args):
    """Make no comparison."""


def cost(make, X, y, repeats):
    """Median over the rounds of CPU seconds with the comparison over those without."""

    def fit(compares):
        with mock.patch.object(_grow, "RunnerUp", compares):  # takes time in both
            return make().fit(X, y)

    calls = {"with": partial(fit, _grow.RunnerUp), "without": partial(fit, none)}
    if len({call().tree_.node_count for call in calls.values()}) > 1:
        raise RuntimeError("The comparison has changed the tree.")
    seconds = interleaved(calls, repeats)
    return median(np.divide(seconds["with"], seconds["without"]))


def main(argv=None):
    """Time all tables and show the table."""
    parser = command.parser(__doc__, "data", "quick", repeats=9)
    options = parser.parse_args(argv)
    results = command.tables(
        "comparing", options, f"medians of {options.repeats} runs that take turns"
    )
    folder = data_folder(options.data)
    found = {name: {} for name in MODELS}
    for table in table_names(folder)[: 4 if options.quick else None]:
        X, y, is_nominal = encoded(table, folder, MAX_ROWS)
        if len(y) < LEAST_ROWS:
            continue
        X, _ = impute(X, X, is_nominal)
        for name, make in MODELS.items():
            found[name][table] = cost(make, X, y, options.repeats)
        told = ", ".join(f"{found[name][table]:.3f}" for name in MODELS)
        print(f"  {table}: {told}", flush=True)
    rows = []
    for name, ratios in found.items():
        values = np.array(list(ratios.values()))
        worst = max(ratios, key=ratios.get)
        rows.append(
            [
                name,
                len(values),
                f"{np.exp(np.log(values).mean()):.3f}",
                f"{np.median(values):.3f}",
                f"{values.max():.3f} ({worst})",
                int((values > 1.03).sum()),
            ]
        )
    header = ["tree", "tables", "mean", "median", "largest", "above 1.03"]
    results.show("comparing", header, rows)
