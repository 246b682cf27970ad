"""Trees that grow, asked by the risk of their leaves or by the excess risk.

    python benchmarks leaf_gap --data FOLDER [--runs 50] [--cache SCRATCH] [--json FILE]

Halves of each table are pool and test rows, again in each of the paired runs. All
strategies begin with the same ten labels at random and buy five at a time, up to 300 or
the whole pool. The area is the mean accuracy over all numbers of labels. Trees look at
each label and keep all rows: one with credible intervals, as BOCT-AL has it, one with
the default bound.

At most 2,000 rows a table; nominal columns are codes, holes are filled. The tables are
those of `active_sets` with at most seven classes and the two of paper A that are not
among them.
"""

import numpy as np
from common import options as command
from common.data import data_folder
from common.runs import Runs
from common.timing import print_environment, write_json

from skconftree import ConfidenceTreeClassifier
from skconftree.active import LeafRiskSampling, simulate
from skconftree.bounds import CredibleBound, GTestBound

from .active_sets import CHECKERBOARD, GROWING, table

TABLES = (
    "australian",
    "balance-scale",
    "banknote",
    "diabetes",
    "haberman",
    "heart-statlog",
    "ionosphere",
    "kr-vs-kp",
    "mushroom",
    "phishing",
    "wdbc",
    "wine",
    CHECKERBOARD,
    "segment",
    "page-blocks",
    "car",
)
TREES = {"credible, delta .2": CredibleBound(0.2), "gtest": GTestBound()}
STRATEGIES = {
    "risk": LeafRiskSampling(gap=False),
    "excess risk": LeafRiskSampling(gap=True),
}
PAIRS = (
    ("risk", "random"),
    ("excess risk", "random"),
    ("excess risk", "risk"),
    ("excess risk", "margin"),
)
BUDGET, BATCH, INITIAL = 300, 5, 10


def areas(bound, X, y, seed):
    """Area of each strategy in one run, in per cent."""
    room = min(BUDGET, len(y) // 2) - INITIAL
    result = simulate(
        ConfidenceTreeClassifier(bound, **GROWING),
        X,
        y,
        list(STRATEGIES.items()),
        cv=1,
        budget=INITIAL + room // BATCH * BATCH,
        batch_size=BATCH,
        n_initial=INITIAL,
        refit=False,
        random_state=seed,
    )
    means = 100 * result.scores.mean(axis=(1, 2))
    return dict(zip(result.strategies, means.tolist(), strict=True))


def error_of(values):
    """Standard error of the mean."""
    return values.std(ddof=1) / np.sqrt(len(values))


def told(values):
    """Mean difference and its standard error; a star beyond two of them."""
    mean, error = values.mean(), error_of(values)
    return f"{mean:+.1f} ± {error:.1f}{'*' if abs(mean) > 2 * error else ''}"


def rows_of(tree, found):
    """Lines of one tree: each table, and the mean over all of them."""
    gaps = {pair: [] for pair in PAIRS}
    base = []
    for name, runs in found.items():
        area = {one: np.array([run[one] for run in runs]) for one in runs[0]}
        cells = []
        for ours, other in PAIRS:
            values = area[ours] - area[other]
            gaps[ours, other].append(values.mean())
            cells.append(told(values))
        base.append(area["random"].mean())
        yield [tree, name, f"{base[-1]:.1f}", *cells]
    cells = [told(np.array(values)) for values in gaps.values()]
    yield [tree, f"mean of {len(found)}", f"{np.mean(base):.1f}", *cells]


def main(argv=None):
    """Print the table."""
    parser = command.parser(__doc__, "data", "cache", "quick", "json")
    parser.add_argument("--runs", type=int, default=50, help="paired runs")
    options = parser.parse_args(argv)
    names = TABLES
    if options.quick:
        options.runs, names = 2, ("haberman", "wine")
    folder = data_folder(options.data)
    tables = command.tables("leaf_gap", options, f"{options.runs} paired runs")
    print_environment(tables.facts)
    runs = Runs("leaf_gap", options)
    found = {tree: {} for tree in TREES}
    for name in names:
        X, y = table(name, folder)
        for tree, bound in TREES.items():
            found[tree][name] = runs.each(
                lambda seed, X=X, y=y, bound=bound: areas(bound, X, y, seed),
                table=name,
                tree=tree,
            )
            line = next(rows_of(tree, {name: found[tree][name]}))
            print(*line, sep="  ", flush=True)
    rows = [row for tree in TREES for row in rows_of(tree, found[tree])]
    header = ["tree", "table", "random"]
    header += [f"{ours}, over {other}" for ours, other in PAIRS]
    tables.show("leaf-gap", header, rows)
    write_json(options.json, {"environment": tables.facts, "areas": found})
