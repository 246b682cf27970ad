"""How soon detectors see that a concept has changed, and how often without a change.

A default tree that only grows is tested on each row of five generators, then learns it.
After 10,000 of 20,000 rows the concept changes, at once or slowly: the new one, a
hundredth of the rows at first, makes half of them 2,000 rows later. One label in twenty
is wrong. Each detector, with its defaults, watches the errors of the tree, which
falls behind and learns. The delay is the median number of rows from the change on until
the first drift; a miss has none by the end. Drifts before the change are false alarms,
though the error of a tree that learns is nowhere quite the same.

    python benchmarks drift_delay
"""

from functools import partial

import numpy as np
from common import options as command
from common.agrawal import make_agrawal
from common.led import make_led
from common.rbf import make_random_rbf

from skconftree import ConfidenceTreeClassifier
from skconftree.datasets import make_random_tree_stream, make_sea

from .detectors import detectors, drifts

N, CHANGE, WIDTH = 20_000, 10_000, 2_000
STREAMS = {
    "SEA": (make_sea, [0, 2]),
    "Agrawal": (make_agrawal, [1, 4]),
    "LED": (make_led, [0, 5]),
    "random RBF": (make_random_rbf, [0, 1]),
    "random tree": (partial(make_random_tree_stream, n_leaves=10), [0, 1]),
}
NOISE = 0.05


def errors_of_a_tree(make, concepts, width, seed):
    """Where a tree that only grows is wrong, along one stream."""
    X, y = make(
        N,
        concept=concepts,
        drift_at=[CHANGE + width],
        drift_width=width,
        noise=NOISE,
        random_state=seed,
    )
    tree = ConfidenceTreeClassifier()
    return tree.partial_fit_predict(X, y, classes=np.unique(y)) != y


def rates(errors):
    """Shares of errors in the 1,000 rows before the change and those behind it."""
    before = np.mean([one[CHANGE - 1000 : CHANGE].mean() for one in errors])
    after = np.mean([one[CHANGE : CHANGE + 1000].mean() for one in errors])
    return f"{before:.0%} to {after:.0%}"


def told(detector, errors):
    """Median delay with the share of misses, and false alarms in a stream."""
    found = [drifts(detector, one) for one in errors]
    after = [rows[rows >= CHANGE] - CHANGE for rows in found]
    delays = [rows[0] for rows in after if len(rows)]
    alarms = np.mean([np.count_nonzero(rows < CHANGE) for rows in found])
    missed = 1.0 - len(delays) / len(found)
    delay = f"{np.median(delays):,.0f}" if delays else "-"
    return delay + (f" ({missed:.0%} missed)" if missed else ""), f"{alarms:.2f}"


def main(argv=None):
    """Run the study and print its tables."""
    parser = command.parser(__doc__, "quick")
    parser.add_argument("--runs", type=int, default=30)
    options = parser.parse_args(argv)
    runs = 2 if options.quick else options.runs
    tables = command.tables("drift_delay", options, f"{runs} runs")
    watching = detectors(options.quick)
    delays, alarms = [], []
    for name, (make, concepts) in STREAMS.items():
        quiet = None
        for width in (0, WIDTH):
            errors = [errors_of_a_tree(make, concepts, width, s) for s in range(runs)]
            row = [name, "slowly" if width else "at once", rates(errors)]
            answers = [told(detector, errors) for detector in watching.values()]
            delays.append([*row, *(delay for delay, _ in answers)])
            quiet = quiet or [name, *(alarm for _, alarm in answers)]
        alarms.append(quiet)
    header = ["stream", "change", "errors", *watching]
    tables.show("drift-delay", header, delays)
    tables.show("drift-alarms", ["stream", *watching], alarms)
