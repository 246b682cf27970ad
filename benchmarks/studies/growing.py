"""One pass of `partial_fit` beside `fit`, on shuffled tables and on streams.

    python benchmarks growing [--data FOLDER] [--results FOLDER]
                              [--part tables greedy alarms streams kept refit peers]

Tables of at least 380 rows, larger ones cut to 6,000: three folds, whose training rows
are shuffled, nominal columns declared. A tree and a forest of 20, by `fit` and by one
pass of `partial_fit`, and the settings that may differ between the two, one changed at
a time. Leaves in noise are those after 6,000 rows of ten features that say nothing.
The part ``greedy`` has `fit` without what no pass over rows can do, looking ahead and
pruning, and what more passes over the same rows bring. What an alarm of ``drift="ddm"``
costs on the shuffled tables is a part of its own. The part ``kept`` has the tree with
and without the latest rows that its leaves keep, in turn; `max_bytes`, large enough
never to matter, switches them off.
Streams are cut to 30,000 rows, forests have ten trees; seconds are of the CPU. There
growing models are set beside models that are fitted again every 1,000 rows, and beside
MOA's and river's, if they are installed (see `common/peers.py`), on streams of 10,000
rows; river's forest learns the first rows alone, `--river-rows`. Half an hour.
``--quick`` takes few rows.
"""

import time
from functools import partial

import numpy as np
from common import options as command
from common.data import data_folder, encoded, manifest, table_names
from common.streams import GENERATED, REAL, make_stream
from common.timing import interleaved, median, print_environment
from sklearn.base import clone
from sklearn.model_selection import KFold

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.bounds import GTestBound

from ._growing_beside import CLIP, part_alarms, part_peers, part_refit

PARTS = ("tables", "greedy", "alarms", "streams", "kept", "refit", "peers")
LEAST_ROWS, MAX_ROWS = 380, 6_000
ROWS, ROWS_OF_PEERS = 30_000, 10_000  # of a stream
FOLDS, N_TREES, N_TREES_OF_STREAMS = 3, 20, 10
REPEATS = 5  # of the part "kept"


class AtOnce(GTestBound):
    """The default bound, for a tree that examines the children of a split at once."""

    examines_children = True


TREES = {
    "tree, the default": {},
    "tree, grace_period=25": {"grace_period": 25},
    "tree, grace_period=100": {"grace_period": 100},
    "tree, children at once": {"bound": AtOnce()},
}
FORESTS = {
    "forest, the default": {},
    'forest, max_features="sqrt"': {"max_features": "sqrt"},
    "forest, grace_period=25": {"grace_period": 25},
    "forest, grace_period=100": {"grace_period": 100},
    'forest, max_features="sqrt", grace_period=100': {
        "max_features": "sqrt",
        "grace_period": 100,
    },
}
NO_REPAIRS = {"forest, drift=None": {"drift": None}}
ON_STREAMS = {
    "tree, the default": ConfidenceTreeClassifier(),
    "tree, children at once": ConfidenceTreeClassifier(AtOnce()),
    'tree, drift="ddm"': ConfidenceTreeClassifier(drift="ddm"),
    **{
        name: ConfidenceForestClassifier(
            N_TREES_OF_STREAMS, random_state=0, **parameters
        )
        for name, parameters in (FORESTS | NO_REPAIRS).items()
    },
}


def beside(model, X, y, nominal, passes):
    """Accuracy, log loss and seconds over the folds: of `fit`, or of some passes."""
    n_classes, found, seconds = int(y.max()) + 1, [], 0.0
    folds = KFold(FOLDS, shuffle=True, random_state=0)
    for seed, (train, test) in enumerate(folds.split(X)):
        train = np.random.default_rng(seed).permutation(train)
        one = clone(model).set_params(categorical_features=nominal or None)
        begin = time.process_time()
        if not passes:
            one.fit(X[train], y[train])
        for _ in range(passes):
            one.partial_fit(X[train], y[train], np.arange(n_classes))
        seconds += time.process_time() - begin
        proba = np.zeros((len(test), n_classes))
        proba[:, one.classes_] = one.predict_proba(X[test])
        true = np.clip(proba[np.arange(len(test)), y[test]], CLIP, 1.0)
        right = proba.argmax(axis=1) == y[test]
        found.append((100 * right.mean(), -np.log(true).mean()))
    return (*np.mean(found, axis=0), seconds)


def leaves_in_noise(model, n):
    """Leaves, of each tree, after rows that say nothing."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 10)).astype(np.float32), rng.integers(0, 2, n)
    grown = clone(model).partial_fit(X, y, [0, 1])
    trees = getattr(grown, "estimators_", [grown])
    return np.mean([tree.get_n_leaves() for tree in trees])


def part_tables(data, options, tables):
    """One pass beside `fit`."""
    n = 500 if options.quick else MAX_ROWS
    kinds = {
        "tree": (ConfidenceTreeClassifier(random_state=0), TREES),
        "forest": (ConfidenceForestClassifier(N_TREES, random_state=0), FORESTS),
    }
    rows, of_tables = [], []
    for kind, (model, settings) in kinds.items():
        fitted = np.array([beside(model, *one, 0) for _, *one in data])
        for setting, parameters in settings.items():
            changed = clone(model).set_params(**parameters)
            grown = np.array([beside(changed, *one, 1) for _, *one in data])
            gap = grown[:, 0] - fitted[:, 0]
            if setting.endswith("default"):
                of_tables.append((kind, fitted, grown))
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else 0.0
            ratio = np.exp(np.mean(np.log(grown[:, 2] / fitted[:, 2])))
            rows.append(
                [
                    setting,
                    f"{gap.mean():+.2f} ({error:.2f})",
                    f"{np.median(gap):+.2f}",
                    f"{np.sort(gap)[0]:+.1f} {data[gap.argmin()][0]}",
                    f"{np.partition(gap, 1)[1]:+.1f}",
                    f"{(grown[:, 1] - fitted[:, 1]).mean():+.3f}",
                    f"{ratio:.1f}",
                    f"{leaves_in_noise(changed, n):.0f}",
                ]
            )
            print(*rows[-1], sep=" | ", flush=True)
    header = ["partial_fit - fit", "accuracy", "median", "worst", "next"]
    header += ["log loss", "time, x fit", "leaves in noise"]
    tables.show("stream-growing", header, rows)
    rows = []
    for i, (name, X, *_) in enumerate(data):
        cells = [name, f"{len(X):,}"]
        for _, fitted, grown in of_tables:
            cells += [f"{fitted[i, 0]:.1f}", f"{grown[i, 0] - fitted[i, 0]:+.1f}"]
        rows.append(cells)
    header = ["table", "rows"]
    for kind, *_ in of_tables:
        header += [f"{kind}, fit", "the default's partial_fit"]
    tables.show("stream-growing-tables", header, rows)


def part_greedy(data, tables):
    """What `fit` loses without look-ahead, and pruning, beside one pass and four."""
    model = ConfidenceTreeClassifier(random_state=0)
    without = {
        "fit without look-ahead": {"lookahead": 0},
        "nor pruning": {"lookahead": 0, "pruning": None},
    }
    found = {"fit": [beside(model, *one, 0)[0] for _, *one in data]}
    for name, parameters in without.items():
        changed = clone(model).set_params(**parameters)
        found[name] = [beside(changed, *one, 0)[0] for _, *one in data]
    for name, passes in (("partial_fit", 1), ("four passes", 4)):
        found[name] = [beside(model, *one, passes)[0] for _, *one in data]
    values = np.array(list(found.values())).T
    rows = [
        [name, f"{fitted:.1f}", *(f"{one - fitted:+.1f}" for one in others)]
        for (name, *_), (fitted, *others) in zip(data, values, strict=True)
    ]
    gaps = (values[:, 1:] - values[:, :1]).mean(axis=0)
    rows.append(
        ["mean", f"{values[:, 0].mean():.1f}", *(f"{one:+.1f}" for one in gaps)]
    )
    tables.show("stream-growing-greedy", ["table", *found], rows)


def part_streams(streams, tables):
    """Each row predicted before it is learned."""
    rows = []
    for name, model in ON_STREAMS.items():
        cells, microseconds = [], []
        for X, y, _ in streams.values():
            one = clone(model)
            begin = time.process_time()
            predicted = one.partial_fit_predict(X, y, np.arange(y.max() + 1))
            microseconds.append(1e6 * (time.process_time() - begin) / len(y))
            cells.append(100 * np.mean(predicted == y))
        time_of_a_row = np.exp(np.mean(np.log(microseconds)))
        shown = [f"{value:.1f}" for value in (*cells, np.mean(cells), time_of_a_row)]
        rows.append([name, *shown])
        print(*rows[-1], sep=" | ", flush=True)
    header = ["per cent right", *streams, "mean", "us a row (geometric mean)"]
    tables.show("stream-growing-streams", header, rows)


def part_kept(streams, tables, *, quick):
    """What rows kept in the leaves of a tree bring, and cost, a stream."""
    models = {
        "kept": ConfidenceTreeClassifier(),
        "not": ConfidenceTreeClassifier(max_bytes=2**40),
    }
    rows, ratios, gains = [], [], []
    for stream, (X, y, _) in streams.items():
        classes, right = np.arange(y.max() + 1), {}

        def learn(name, X=X, y=y, classes=classes, right=right):
            predicted = clone(models[name]).partial_fit_predict(X, y, classes)
            right[name] = 100 * np.mean(predicted == y)

        calls = {name: partial(learn, name) for name in models}
        seconds = interleaved(calls, 2 if quick else REPEATS)
        ratios.append(median(np.divide(seconds["kept"], seconds["not"])))
        gains.append(right["kept"] - right["not"])
        us = [1e6 * median(seconds[name]) / len(y) for name in ("not", "kept")]
        rows.append(
            [
                stream,
                f"{right['not']:.1f}",
                f"{right['kept']:.1f}",
                *(f"{one:.2f}" for one in us),
                f"{ratios[-1]:.2f}",
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
    mean, ratio = np.mean(gains), np.exp(np.mean(np.log(ratios)))
    rows.append(["mean", "", f"{mean:+.1f}", "", "", f"{ratio:.2f}"])
    header = ["stream", "none kept", "rows kept", "us a row", "us, rows kept", "times"]
    tables.show("stream-growing-kept", header, rows)


def main(argv=None):
    """Run the parts and show the tables."""
    parser = command.parser(__doc__, "data", "quick")
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--river-rows", type=int, default=2_000)
    options = parser.parse_args(argv)
    folder = data_folder(options.data)
    tables = command.tables("growing", options, f"{FOLDS} folds")
    print_environment(tables.facts)
    n = 500 if options.quick else MAX_ROWS
    data = []
    for name in table_names(folder):
        X, y, is_nominal = encoded(name, folder, n)
        if len(y) >= LEAST_ROWS:
            nominal = np.flatnonzero(is_nominal).tolist()
            data.append((name, X.astype(np.float32), y, nominal))
    data = data[:3] if options.quick else data
    if "tables" in options.part:
        part_tables(data, options, tables)
    if "greedy" in options.part:
        part_greedy(data, tables)
    if "alarms" in options.part:
        part_alarms(data, tables, quick=options.quick)
    there = manifest(folder)
    names = [*(name for name, table in REAL.items() if table in there), *GENERATED]
    n, n_short = (1_200, 600) if options.quick else (ROWS, ROWS_OF_PEERS)
    streams = {name: make_stream(name, n, folder) for name in names}
    if "streams" in options.part:
        part_streams(streams, tables)
    if "kept" in options.part:
        part_kept(streams, tables, quick=options.quick)
    if "refit" in options.part:
        part_refit(streams, tables)
    if "peers" in options.part:
        short = {name: make_stream(name, n_short, folder) for name in names}
        part_peers(short, tables, quick=options.quick, river_rows=options.river_rows)
