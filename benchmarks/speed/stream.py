"""Our tree and other stream learners side by side: accuracy, leaves, CPU seconds.

Run on an idle machine, with the peers installed (see `common/peers.py`):

    python benchmarks stream [--data FOLDER] [--cache FOLDER] [--json FILE]

Two settings of ours only. *Peer-matched* is what river and MOA do: Hoeffding's radius
on the information gain, delta 1e-7, examinations every 200 rows, ties settled at 0.05
bits (0.025 on our scale of half bits), Gaussian memory, adaptive naive Bayes; all
columns numeric on both sides. *Defaults* is ``ConfidenceTreeClassifier()``.

Parts (``--only``): ``river`` and ``moa`` test-then-train, ``predict`` beside
scikit-learn's tree, ``one-row`` beside GaussianNB, ``accuracy`` of the defaults beside
MOA's, ``gap`` to scikit-learn's batch tree, ``waiting``: what waiting for more rows, or
keeping all of them, makes of that gap. ``--quick`` tries the script on short
streams; its figures mean nothing. With ``--cache`` what the peers gave is kept and
read again; its seconds are then those of the earlier run.
"""

import hashlib
import json
import time
from pathlib import Path

import numpy as np
from common import options as command
from common.agrawal import make_agrawal
from common.data import folder_if_any
from common.peers import DEFAULTS, LOOSENED, Run, moa_tree, river_tree
from common.ratios import Results
from common.streams import GENERATED, REAL, make_covertype_like, make_stream, our_tree
from common.timing import (
    interleaved,
    median,
    print_environment,
    spread,
    write_json,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import HoeffdingBound
from skconftree.datasets import make_random_tree_stream

PARTS = ("river", "moa", "predict", "one-row", "accuracy", "gap", "waiting")
NOISY = {"n_features": 10, "n_leaves": 200, "p_left": 0.8, "p_right": 0.2}
WAITING = {
    "default": {},
    "``grace_period=200``": {"grace_period": 200},
    "``grace_period=1000``": {"grace_period": 1000},
    "``grace_period=5000``": {"grace_period": 5000},
    "``delta=1e-4``": {"delta": 1e-4},
    "``bound='evalue'``": {"bound": "evalue"},
    "``bound='credible'``": {"bound": "credible"},
    "``leaf_memory='rows'``": {"leaf_memory": "rows"},
}
MIXED = [*REAL, *GENERATED[:-1]]
SHOWN = {"ours": "ours", "loosened": "MOA loosened", "default": "MOA default"}


def matched():
    """Make our tree in the peers' setting."""
    return ConfidenceTreeClassifier(
        HoeffdingBound(DEFAULTS["delta"], tie_threshold=DEFAULTS["tie"] / 2),
        criterion="entropy",
        grace_period=DEFAULTS["grace"],
        leaf_memory="gaussian",
        leaf_prediction=DEFAULTS["leaf"],
    )


class Cache:
    """Answers of the peers, kept in a folder, or nowhere if it is None."""

    def __init__(self, folder):
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, learner, X, y, **parameters):
        """Run a learner, or recall what it gave for this stream."""
        if self.folder is None:
            return learner(X, y, **parameters)
        stream = hashlib.sha256(np.ascontiguousarray(X).tobytes())
        stream.update(np.ascontiguousarray(y, dtype=np.int64).tobytes())
        told = f"{learner.__name__} {sorted(parameters.items())} {stream.hexdigest()}"
        path = self.folder / f"{hashlib.sha256(told.encode()).hexdigest()[:24]}.json"
        if path.exists():
            return Run(**json.loads(path.read_text()))
        run = learner(X, y, **parameters)
        path.write_text(json.dumps(run._asdict(), default=np.generic.item))
        return run


class Report:
    """Tables by part, and what goes into the JSON."""

    def __init__(self, quick):
        self.tables, self.records = {}, []
        self.results = Results("stream", quick)

    def add(self, part, header, cells, **facts):
        """Add one row to the table of a part, and tell it at once."""
        self.tables.setdefault(part, (header, []))[1].append(cells)
        self.records.append({"part": part, **facts})
        if "ratio" in facts and "stream" in facts:
            work = [part, facts["stream"], *filter(None, [facts.get("setting")])]
            better = "smaller" if part == "one-row" else "larger"
            self.results.add(", ".join(work), facts["ratio"], better)
        print(part, *cells, sep=" | ", flush=True)


def leaves_of(run):
    """Format accuracy and leaves."""
    return f"{run.accuracy:.1%}, {run.leaves:,}"


RACE = [
    "stream",
    "ours: accuracy, leaves",
    "rows per second",
    "peer: accuracy, leaves",
    "rows per second",
    "times faster",
]


def race(part, report, stream, mine, peer, spreads=True):
    """Add our run beside a peer's; return how many times faster ours is."""
    name, X = stream
    ratio = median(peer.seconds) / median(mine.seconds)
    report.add(
        part,
        RACE,
        [
            f"{name}, {len(X):,} x {X.shape[1]}",
            leaves_of(mine),
            f"{len(X) / median(mine.seconds):,.0f} ({spread(mine.seconds)})",
            leaves_of(peer),
            f"{len(X) / median(peer.seconds):,.0f} ({spread(peer.seconds)})",
            f"{ratio:.1f}",
        ],
        stream=name,
        ours=mine._asdict(),
        peer=peer._asdict(),
        ratio=ratio,
    )
    return ratio


def against_river(report, options, cache):
    """Chunks of 1,000 rows beside river's loop, peer-matched."""
    names = ("electricity", "random tree", "54 features, 7 classes")
    for name in [name for name in names if name in options.streams]:
        X, y, _ = options.streams[name]()
        peer = cache(river_tree, X, y, **DEFAULTS, repeats=options.river_repeats)
        mine = our_tree(X, y, matched(), repeats=options.repeats)
        race("river", report, (name, X), mine, peer)


def against_moa(report, options, cache):
    """Test-then-train in one call beside MOA, warmed up, peer-matched."""
    ratios = []
    for name, make in options.streams.items():
        X, y, _ = make()
        peer = cache(
            moa_tree, X, y, **DEFAULTS, repeats=options.repeats, warm_up=options.warm_up
        )
        mine = our_tree(X, y, matched(), chunk=None, repeats=options.repeats)
        ratios.append(race("moa", report, (name, X), mine, peer))
    mean = float(np.exp(np.mean(np.log(ratios))))
    blank = ["geometric mean", "", "", "", "", f"{mean:.1f}"]
    report.add("moa", RACE, blank, ratio=mean)


def predictions(report, options, cache):
    """Majority leaves beside the same tree in scikit-learn."""
    header = [
        "tree",
        "accuracy, leaves",
        "ours, rows/s",
        "scikit-learn, rows/s",
        "ratio",
    ]
    for name in ("random tree", "Agrawal with drift"):
        X, y, _ = options.streams[name]()
        tree = ConfidenceTreeClassifier(leaf_prediction="majority")
        predicted = tree.partial_fit_predict(X, y, classes=np.arange(y.max() + 1))
        copy = tree.to_sklearn()
        rows = np.ascontiguousarray(np.resize(X, (options.predict_rows, X.shape[1])))
        seconds = interleaved(
            {
                "ours": lambda t=tree, r=rows: t.predict(r),
                "theirs": lambda t=copy, r=rows: t.predict(r),
            },
            options.repeats,
        )
        speed = {key: len(rows) / median(one) for key, one in seconds.items()}
        ratio = speed["ours"] / speed["theirs"]
        report.add(
            "predict",
            header,
            [
                f"{name}, {len(rows):,} x {rows.shape[1]}, depth {tree.get_depth()}",
                f"{np.mean(predicted == y):.1%}, {tree.get_n_leaves():,}",
                f"{speed['ours']:,.0f}",
                f"{speed['theirs']:,.0f}",
                f"{ratio:.2f}",
            ],
            stream=name,
            speed=speed,
            ratio=ratio,
        )


def single_rows(report, options, cache):
    """`partial_fit` of one row at a time, validation included."""
    header = ["setting", "stream", "leaves", "ours, us", "GaussianNB, us", "ratio"]
    n = options.single_rows
    for name in ("SEA with drift", "random tree", "54 features, 7 classes"):
        X, y, _ = options.streams[name]()
        classes = np.arange(y.max() + 1)
        half = len(X) // 2
        rows = [
            (X[i : i + 1], y[i : i + 1]) for i in range(half, min(half + n, len(X)))
        ]
        models = {
            "defaults": ConfidenceTreeClassifier(),
            "peer-matched": matched(),
            "GaussianNB": GaussianNB(),
        }
        for model in models.values():
            model.partial_fit(X[:half], y[:half], classes=classes)

        def learn(model, rows=rows):
            for row, label in rows:
                model.partial_fit(row, label)

        seconds = interleaved(
            {key: lambda m=model: learn(m) for key, model in models.items()},
            options.repeats,
        )
        each = {key: 1e6 * median(one) / len(rows) for key, one in seconds.items()}
        for key in ("defaults", "peer-matched"):
            ratio = each[key] / each["GaussianNB"]
            report.add(
                "one-row",
                header,
                [
                    key,
                    f"{name}, {X.shape[1]} features",
                    f"{models[key].get_n_leaves():,}",
                    f"{each[key]:.0f}",
                    f"{each['GaussianNB']:.0f}",
                    f"{ratio:.2f}",
                ],
                setting=key,
                stream=name,
                microseconds=each,
                ratio=ratio,
            )


def accuracies(report, options, cache):
    """Defaults beside MOA at its defaults and loosened, nominal columns declared."""
    header = ["stream", *SHOWN.values(), "ours - better", "ours - default", "rows/s"]
    gains = []
    for name in [name for name in MIXED if name in options.streams]:
        X, y, nominal = options.streams[name]()
        how = {"nominal": nominal, "repeats": 1, "warm_up": 0.0}
        runs = {
            "ours": our_tree(X, y, ConfidenceTreeClassifier(), repeats=options.repeats),
            "loosened": cache(moa_tree, X, y, **LOOSENED, **how),
            "default": cache(moa_tree, X, y, **DEFAULTS, **how),
        }
        got = {key: 100 * run.accuracy for key, run in runs.items()}
        to_better = got["ours"] - max(got["loosened"], got["default"])
        to_default = got["ours"] - got["default"]
        gains.append((to_better, to_default))
        report.add(
            "accuracy",
            header,
            [
                name,
                *(leaves_of(runs[key]) for key in SHOWN),
                f"{to_better:+.1f}",
                f"{to_default:+.1f}",
                f"{len(X) / median(runs['ours'].seconds):,.0f}",
            ],
            stream=name,
            **{key: run._asdict() for key, run in runs.items()},
        )
    for what, of in (("mean", np.mean), ("median", np.median)):
        found = of(gains, axis=0).tolist()
        cells = [f"{gain:+.1f}" for gain in found]
        report.add("accuracy", header, [what, "", "", "", *cells, ""], gains=found)


def gaps(report, options, cache):
    """One pass beside scikit-learn's tree of all rows, on rows that none has seen."""
    header = [
        "stream",
        "one pass: accuracy, leaves",
        "seconds",
        "our fit",
        *(f"scikit-learn, leaves of {size}" for size in options.leaf_sizes),
        "gap to the best",
    ]
    n, held = options.gap_rows, options.gap_rows // 5
    made = {
        "noisy random tree": lambda: make_random_tree_stream(
            n + held, random_state=3, **NOISY
        ),
        "Agrawal": lambda: make_agrawal(
            n + held, concept=7, perturbation=0.05, random_state=3
        ),
        "covertype-like": lambda: make_covertype_like(n + held, 3),
    }
    for name, make in made.items():
        if options.named and name not in options.named:
            continue
        X, y = make()
        test = X[n:], y[n:]
        tree, seconds = one_pass(X[:n], y[:n])
        mine = Run(tree.score(*test), int(tree.get_n_leaves()), [seconds])
        tree = ConfidenceTreeClassifier().fit(X[:n], y[:n])
        batch = Run(tree.score(*test), int(tree.get_n_leaves()), [])
        theirs = [
            cache(held_out, X, y, size=size, n_train=n) for size in options.leaf_sizes
        ]
        gap = 100 * (max(run.accuracy for run in (batch, *theirs)) - mine.accuracy)
        report.add(
            "gap",
            header,
            [
                f"{name}, {n:,} x {X.shape[1]}",
                leaves_of(mine),
                f"{median(mine.seconds):.2f}",
                leaves_of(batch),
                *(leaves_of(run) for run in theirs),
                f"{gap:.1f}",
            ],
            stream=name,
            ours=mine._asdict(),
            batch=batch._asdict(),
            sklearn=[run._asdict() for run in theirs],
            gap=gap,
        )


def waiting(report, options, cache):
    """One pass over noisy random trees that waits, or keeps all rows, beside `fit`."""
    header = ["setting", "accuracy, %", "less the default's", "leaves"]
    n, held = options.gap_rows, options.gap_rows // 5
    right = {setting: [] for setting in (*WAITING, "``fit``")}
    leaves = {setting: [] for setting in right}
    for seed in range(options.repeats):
        X, y = make_random_tree_stream(n + held, random_state=seed, **NOISY)
        for setting in right:
            if setting in WAITING:
                tree = one_pass(X[:n], y[:n], **WAITING[setting])[0]
            else:
                tree = ConfidenceTreeClassifier().fit(X[:n], y[:n])
            right[setting].append(100 * tree.score(X[n:], y[n:]))
            leaves[setting].append(tree.get_n_leaves())
    for setting, found in right.items():
        gains = np.subtract(found, right["default"])
        error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
        gain = "" if setting == "default" else f"{gains.mean():+.1f} ± {error:.1f}"
        row = [
            setting,
            f"{np.mean(found):.1f}",
            gain,
            f"{np.mean(leaves[setting]):,.0f}",
        ]
        report.add("waiting", header, row, setting=setting, accuracy=found)


def held_out(X, y, *, size, n_train):
    """Fit scikit-learn's tree to the first rows; accuracy on the others, and leaves."""
    tree = DecisionTreeClassifier(min_samples_leaf=size, random_state=0)
    tree.fit(X[:n_train], y[:n_train])
    return Run(tree.score(X[n_train:], y[n_train:]), int(tree.get_n_leaves()), [])


def one_pass(X, y, chunk=10_000, **parameters):
    """Learn all rows; return tree and CPU seconds."""
    tree, classes = ConfidenceTreeClassifier(**parameters), np.arange(y.max() + 1)
    begin = time.process_time()
    for start in range(0, len(X), chunk):
        tree.partial_fit(X[start : start + chunk], y[start : start + chunk], classes)
    return tree, time.process_time() - begin


def main(argv=None):
    """Run the parts asked for and print the tables."""
    parser = command.parser(
        __doc__, "data", "cache", "quick", "json", "keep", repeats=5
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--streams", nargs="+", help="leave out other streams")
    options = parser.parse_args(argv)
    folder = folder_if_any(options.data, "generated streams")
    options.named = options.streams
    names = [*(REAL if folder is not None else ()), *GENERATED]
    quick = options.quick
    options.streams = {
        name: lambda name=name: make_stream(name, 3000 if quick else None, folder)
        for name in names
        if not options.streams or name in options.streams
    }
    options.repeats = 1 if quick else options.repeats
    options.river_repeats = 1 if quick else 3
    options.warm_up = 0.0 if quick else 5.0
    options.predict_rows = 10_000 if quick else 1_000_000
    options.single_rows = 100 if quick else 2000
    options.gap_rows = 5000 if quick else 1_000_000
    options.leaf_sizes = (1, 10, 100)

    tables = command.tables("stream", options, f"medians of {options.repeats} runs")
    facts = tables.facts
    print_environment(facts)
    report, cache = Report(quick), Cache(options.cache)
    parts = (against_river, against_moa, predictions, single_rows, accuracies, gaps)
    run = dict(zip(PARTS, (*parts, waiting), strict=True))
    for part in options.only:
        run[part](report, options, cache)
    for part, (header, rows) in report.tables.items():
        tables.show(f"stream-{part}", header, rows)
    report.results.keep(options.keep, facts)
    write_json(options.json, {"environment": facts, "records": report.records})
