"""Adaptive random forests on streams: ours, river's and MOA's, test-then-train.

    python benchmarks stream_forests [--data FOLDER] [--cache FOLDER] [--rows 20000]
                                     [--part speed accuracy]

Ten trees with the settings of the published adaptive random forest: Poisson 6, 60 % of
the features a leaf, ADWIN, votes by accuracy, Hoeffding's radius on the information
gain, delta .01, ties settled at .05, examinations every 50 rows. Beside it our own
bound, with all features. One call learns a stream; CPU seconds, medians. river learns
the first rows alone, `--river-rows`. A peer that is not installed is left out (see
`common/peers.py`). The part ``accuracy`` sets MOA's three forests of ten trees beside
ours. With ``--quick`` streams are short and the figures mean nothing.
"""

import importlib.util
import time

import numpy as np
from common import options as command
from common.data import folder_if_any
from common.peers import MOA_FORESTS, moa_forest, river_forest
from common.ratios import Results
from common.streams import GENERATED, REAL, make_stream
from common.timing import median, print_environment
from sklearn.base import clone

from skconftree import ConfidenceForestClassifier
from skconftree.bounds import HoeffdingBound

from .stream import Cache

ADAPTIVE = {"online_rate": 6.0, "drift": "adwin", "vote": "accuracy"}
PUBLISHED = ConfidenceForestClassifier(
    10,
    bound=HoeffdingBound(0.01, tie_threshold=0.025),  # on the scale of half bits
    criterion="entropy",
    grace_period=50,
    max_features=0.6,
    leaf_memory="gaussian",
    leaf_prediction="nba",
    random_state=0,
    **ADAPTIVE,
)
OWN = ConfidenceForestClassifier(
    10, max_features=None, leaf_prediction="nba", random_state=0, **ADAPTIVE
)


def our_forest(X, y, forest, repeats):
    """Run one of our forests; accuracy and rows a second."""
    seconds = []
    for _ in range(repeats):
        model, classes = clone(forest), np.arange(y.max() + 1)
        begin = time.process_time()
        predicted = model.partial_fit_predict(X, y, classes)
        seconds.append(time.process_time() - begin)
    return float(np.mean(predicted == y)), len(y) / median(seconds)


def moa_is_there():
    """Whether MOA can be run; says why not."""
    if importlib.util.find_spec("capymoa") is None:
        print("MOA is left out: CapyMOA, which brings it, is not installed.")
        return False
    return True


def river_is_there():
    """Whether river can be run; says why not."""
    if importlib.util.find_spec("river") is None:
        print("river is left out: it is not installed.")
        return False
    return True


def shown(accuracy, speed):
    """Format accuracy and rows a second."""
    return f"{100 * accuracy:.1f}", f"{speed:,.0f}"


def part_speed(options, streams, tables):
    """Accuracy and rows a second, beside river and MOA."""
    n_river = 100 if options.quick else options.river_rows
    with_river, with_moa = river_is_there(), moa_is_there()
    cache, results = Cache(options.cache), Results("stream_forests", options.quick)
    warm_up = {"warm_up": 0.0 if options.quick else 2.0}
    rows, ratios = [], {"river": [], "MOA": []}
    for name, X, y in streams:
        published = our_forest(X, y, PUBLISHED, options.repeats)
        own = our_forest(X, y, OWN, options.repeats)
        cells = [f"{name}, {len(X):,} x {X.shape[1]}", *shown(*published), *shown(*own)]
        for peer, there, run, how in (
            ("river", with_river, river_forest, {}),
            ("MOA", with_moa, moa_forest, {"repeats": options.repeats, **warm_up}),
        ):
            if not there:
                cells += ["-", "-"]
                continue
            part = slice(n_river if peer == "river" else len(X))
            found = cache(run, X[part], y[part], **how)
            speed = len(y[part]) / median(found.seconds)
            ratios[peer].append(published[1] / speed)
            results.add(f"adaptive forest, {peer}, {name}", ratios[peer][-1])
            cells += shown(found.accuracy, speed)
        rows.append(cells)
        print(*cells, sep=" | ", flush=True)
    header = ["stream"]
    for who in ("as published", "own bound", "river's", "MOA's"):
        header += [f"{who}: accuracy, %", "rows/s"]
    tables.show("stream-forests", header, rows)
    for peer, found in ratios.items():
        if found:
            mean = np.exp(np.mean(np.log(found)))
            print(f"As published, {mean:.1f} times as fast as {peer} (geometric mean).")
    results.keep(options.keep, tables.facts)


def part_accuracy(options, streams, tables):
    """Accuracy beside that of MOA's forests."""
    if not moa_is_there():
        return
    cache, rows, gains = Cache(options.cache), [], []
    for name, X, y in streams:
        ours = [our_forest(X, y, forest, 1)[0] for forest in (PUBLISHED, OWN)]
        theirs = [
            cache(moa_forest, X, y, kind=kind, repeats=1, warm_up=0.0).accuracy
            for kind in MOA_FORESTS
        ]
        gains.append(100 * (max(ours) - max(theirs)))
        cells = [f"{100 * share:.1f}" for share in (*ours, *theirs)]
        rows.append([f"{name}, {len(X):,} x {X.shape[1]}", *cells, f"{gains[-1]:+.1f}"])
        print(*rows[-1], sep=" | ", flush=True)
    rows.append(["mean", *[""] * (len(rows[0]) - 2), f"{np.mean(gains):+.1f}"])
    header = ["stream", "as published", "own bound"]
    header += [f"MOA's {kind}" for kind in MOA_FORESTS]
    tables.show("stream-forests-moa", [*header, "best - MOA's best"], rows)


PARTS = {"speed": part_speed, "accuracy": part_accuracy}


def main(argv=None):
    """Run all streams and show the tables."""
    parser = command.parser(__doc__, "data", "cache", "quick", "keep", repeats=3)
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--river-rows", type=int, default=2_000)
    parser.add_argument("--only", nargs="+", help="leave out other streams")
    options = parser.parse_args(argv)
    folder = folder_if_any(options.data, "generated streams")
    n = 600 if options.quick else options.rows
    tables = command.tables(
        "stream_forests",
        options,
        f"10 trees, the first {n:,} rows (river: {options.river_rows:,}), one thread; "
        f"medians of {options.repeats} runs",
    )
    print_environment(tables.facts)
    streams = [
        (name, *make_stream(name, n, folder)[:2])
        for name in (*(REAL if folder is not None else ()), *GENERATED)
        if not options.only or name in options.only
    ]
    for part in options.part:
        PARTS[part](options, streams, tables)
