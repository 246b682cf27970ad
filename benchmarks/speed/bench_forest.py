"""Speed, memory and accuracy of forests beside other forests.

    python benchmarks bench_forest [--trees 100] [--seeds 3] [--part NAME ...]

The parts:

- ``fit``: `fit` without a bound beside scikit-learn's RandomForestClassifier and, where
  they are installed, scikit-learn-intelex and the random forest of LightGBM. Both of
  these bin the features. Each seed is a run: accuracy, on rows of the same kind that
  were not learned, is the mean over the seeds.
- ``predict``: `predict_proba` of a million rows.
- ``threads``: two threads against one, by the clock: for an idle machine of two cores.
  On a free-threaded Python the table is another one.
- ``memory``: bytes of the fitted forests, and the peak of our `fit` beyond X.
- ``ncm``: an NCM forest beside a random forest, 100 classes.
- ``adwin``: the change detector, a row.

CPU seconds in one thread, but for ``threads``; medians of runs that take turns.
``--quick`` shrinks tables and forests to try the script; its figures mean nothing.
"""

import importlib.metadata
import importlib.util
import time
from functools import partial

import numpy as np
from common import options as command
from common.generators import continuous, integers
from common.ratios import Results
from common.timing import (
    cpu_seconds,
    interleaved,
    median,
    peak_memory,
    print_environment,
    spread,
    without_lock,
)
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from skconftree import ConfidenceForestClassifier, NCMForestClassifier
from skconftree.drift import ADWIN

HELD_OUT = 20_000
OURS, SCIKIT = "skconftree", "scikit-learn"
ONCE = ("lightgbm",)  # takes minutes
MB = 2.0**20


def heaps(n, d, seed=2, n_classes=5, distance=0.3):
    """Classes that are heaps of continuous features around a point of their own."""
    rng = np.random.default_rng(seed)
    centers = distance * rng.standard_normal((n_classes, d), dtype=np.float32)
    y = rng.integers(0, n_classes, n)
    return centers[y] + rng.standard_normal((n, d), dtype=np.float32), y


WORK = {
    "100,000 x 20 continuous": (continuous, 100_000, 20),
    "100,000 x 30 of 256 levels": (integers, 100_000, 30),
    "20,000 x 50, 5 classes": (heaps, 20_000, 50),
    "1,000 x 20": (continuous, 1_000, 20),
}


def peers(n_trees, n_leaves=1 << 13):
    """Makers of the forests that are there, by name; says which are not.

    LightGBM's trees have at most so many leaves.
    """

    def ours(seed):
        return ConfidenceForestClassifier(n_trees, bound=None, random_state=seed)

    def scikit(seed):
        return RandomForestClassifier(n_trees, random_state=seed)

    def intelex(seed):
        from sklearnex.ensemble import RandomForestClassifier as Other

        return Other(n_trees, random_state=seed, n_jobs=1)

    def lightgbm(seed):
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            boosting_type="rf",
            n_estimators=n_trees,
            num_leaves=n_leaves,
            min_child_samples=1,
            subsample=0.632,
            subsample_freq=1,
            feature_fraction_bynode=0.25,
            random_state=seed,
            n_jobs=1,
            verbose=-1,
        )

    optional = {
        "scikit-learn-intelex": ("sklearnex", intelex),
        "lightgbm": ("lightgbm", lightgbm),
    }
    return {OURS: ours, SCIKIT: scikit} | installed(optional)


def installed(optional):
    """Of makers by name, each with the module it needs, those that can be used."""
    found = {}
    for name, (module, make) in optional.items():
        if importlib.util.find_spec(module) is None:
            print(f"{name} is not installed: left out.")
        else:
            print(f"{name} {importlib.metadata.version(name)}")
            found[name] = make
    return found


class Run:
    """What the parts of one run share: sizes, peers, tables, ratios."""

    def __init__(self, options):
        self.quick = options.quick
        self.shrink = 20 if options.quick else 1
        self.repeats = 1 if options.quick else options.repeats
        self.n_trees = 3 if options.quick else options.trees
        self.n_seeds = 1 if options.quick else options.seeds
        self.work = options.only
        self.sizes = {}  # bytes of forests
        self.results = Results("forest", options.quick)
        self.tables = command.tables(
            "bench_forest",
            options,
            f"{self.n_trees} trees; medians of runs that take turns",
        )
        print_environment(self.tables.facts)
        self.makers = peers(self.n_trees)

    def rows(self, work, n_more=0):
        """Rows to learn and others, of one kind of work."""
        generator, n, d = WORK[work]
        n = max(n // self.shrink, 200)
        X, y = generator(n + n_more // self.shrink, d)
        return X[:n], y[:n], X[n:], y[n:]


def part_fit(run):
    """Fit with each forest, each seed a run, after which the table is written."""
    seconds, right = {}, {}
    with threadpool_limits(1):
        for make in run.makers.values():
            make(0).fit(*run.rows("1,000 x 20")[:2])
        for seed in range(run.n_seeds):
            for work in run.work:
                fit_once(run, work, seed, seconds, right)
            rows = []
            for (work, name), found in seconds.items():
                faster = median(seconds[work, SCIKIT]) / median(found)
                rows.append(
                    [
                        *(work, name, f"{median(found):.3g}", f"{faster:.1f}"),
                        f"{100 * np.mean(right[work, name]):.2f}",
                    ]
                )
            header = ["table", "forest", "seconds of fit"]
            header += ["times faster than scikit-learn", "accuracy, %"]
            run.tables.show("forest-speed", header, rows)
    for work in run.work:
        faster = median(seconds[work, SCIKIT]) / median(seconds[work, OURS])
        run.results.add(f"forest, fit, {work}", faster)


def fit_once(run, work, seed, seconds, right):
    """Fit each forest once with a seed; note CPU seconds and accuracy."""
    X, y, unseen, labels = run.rows(work, HELD_OUT)
    names = list(run.makers)
    for name in names if seed % 2 == 0 else names[::-1]:
        if name in ONCE and seed:
            continue
        model = run.makers[name](seed)
        loops = 10 if len(X) < 10_000 and name not in ONCE else 1
        found = cpu_seconds(partial(model.fit, X, y), loops)
        score = model.score(unseen, labels)
        seconds.setdefault((work, name), []).append(found)
        right.setdefault((work, name), []).append(score)
        if name in (OURS, SCIKIT):
            run.sizes.setdefault((work, name), bytes_of(model))
        print(work, name, seed, f"{found:.4g} {100 * score:.2f}", sep=" | ", flush=True)


def part_predict(run):
    """`predict_proba` of many rows by forests of one table."""
    X, y, unseen, labels = run.rows("100,000 x 20 continuous", 1_000_000)
    makers = {name: make for name, make in run.makers.items() if name not in ONCE}
    seconds = {name: [] for name in makers}
    right = {}
    with threadpool_limits(1):
        forests = {name: make(0).fit(X, y) for name, make in makers.items()}
        for _ in range(run.repeats):
            for name, forest in forests.items():
                kept = []
                call = partial(answer, forest, unseen, kept)
                seconds[name].append(cpu_seconds(call))
                right[name] = np.mean(kept[0].argmax(axis=1) == labels)
            rows = []
            for name in makers:
                faster = median(seconds[SCIKIT]) / median(seconds[name])
                rows.append(
                    [
                        *(name, f"{median(seconds[name]):.3g}", f"{faster:.1f}"),
                        f"{100 * right[name]:.2f}",
                    ]
                )
            header = ["forest", "seconds", "times faster than scikit-learn"]
            run.tables.show("forest-predict", [*header, "accuracy, %"], rows)
    faster = median(seconds[SCIKIT]) / median(seconds[OURS])
    run.results.add("forest, predict_proba, 1,000,000 x 20", faster)


def answer(forest, X, kept):
    """Predict, and keep what is predicted."""
    kept.append(forest.predict_proba(X))


def part_threads(run):
    """Seconds by the clock in one thread and in two."""
    X, y, unseen, _ = run.rows("100,000 x 20 continuous", 200_000)
    classes = np.unique(y)

    def forest(n_jobs, **parameters):
        return ConfidenceForestClassifier(
            run.n_trees, random_state=0, n_jobs=n_jobs, **parameters
        )

    fitted = {n: forest(n, bound=None).fit(X, y) for n in (1, 2)}
    calls = {
        "fit": lambda n: forest(n, bound=None).fit(X, y),
        "predict_proba": lambda n: fitted[n].predict_proba(unseen),
        "partial_fit": lambda n: forest(n).partial_fit(X[:20_000], y[:20_000], classes),
    }
    rows = []
    for name, call in calls.items():
        seconds = {1: [], 2: []}
        for i in range(run.repeats):
            for n in (1, 2) if i % 2 == 0 else (2, 1):
                begin = time.perf_counter()
                call(n)
                seconds[n].append(time.perf_counter() - begin)
        # what else runs only ever adds to the time
        one, two = min(seconds[1]), min(seconds[2])
        rows.append([name, f"{one:.3g}", f"{two:.3g}", f"{one / two:.2f}"])
        print(*rows[-1], spread(seconds[1]), spread(seconds[2]), sep=" | ", flush=True)
    header = ["work", "one thread, seconds", "two threads", "times faster"]
    name = "forest-threads-free" if without_lock() else "forest-threads"
    run.tables.show(name, header, rows)


SETUP = """from skconftree import ConfidenceForestClassifier
make = lambda: ConfidenceForestClassifier({n_trees}, bound=None, random_state=0)
"""


def bytes_of(forest):
    """Bytes of the nodes of a forest."""
    if isinstance(forest, ConfidenceForestClassifier):
        return forest.n_bytes_
    states = [tree.tree_.__getstate__() for tree in forest.estimators_]
    return sum(state["nodes"].nbytes + state["values"].nbytes for state in states)


def part_memory(run):
    """Bytes of the forests, and the peak of our fit beyond X."""
    rows = []
    for work in run.work:
        X, y, _, _ = run.rows(work)
        for name in (OURS, SCIKIT):
            if (work, name) not in run.sizes:
                run.sizes[work, name] = bytes_of(run.makers[name](0).fit(X, y))
        ours, theirs = (run.sizes[work, name] / MB for name in (OURS, SCIKIT))
        peak = peak_memory(SETUP.format(n_trees=run.n_trees), X, y)
        code = 1 if "256" in work else 4  # bytes of a value once it is encoded
        limit = 2 * code * X.size / MB + ours + 64
        shown = "-" if peak is None else f"{peak:.0f}"
        rows.append([work, f"{ours:.1f}", f"{theirs:.1f}", shown, f"{limit:.0f}"])
        print(*rows[-1], sep=" | ", flush=True)
    header = ["table", "forest, MB", "scikit-learn's, MB", "peak of fit beyond X, MB"]
    run.tables.show("forest-memory", [*header, "target of the peak, MB"], rows)


def part_ncm(run):
    """NCM forest and random forest where classes are many."""
    X, y = heaps(1_600, 64, n_classes=100, distance=0.6)
    unseen, labels = heaps(3_200, 64, n_classes=100, distance=0.6)
    unseen, labels = unseen[1_600:], labels[1_600:]
    makers = {
        "NCM forest": NCMForestClassifier,
        "random forest": RandomForestClassifier,
    }
    models = {name: make(run.n_trees, random_state=0) for name, make in makers.items()}
    fits = {name: lambda m=m: m.fit(X, y) for name, m in models.items()}
    fits = interleaved(fits, run.repeats)
    answers = {name: lambda m=m: m.predict_proba(unseen) for name, m in models.items()}
    answers = interleaved(answers, run.repeats)
    rows = []
    for name, model in models.items():
        fit, answer = median(fits[name]), median(answers[name])
        rows.append(
            [
                *(name, f"{fit:.2g}", f"{median(fits['random forest']) / fit:.1f}"),
                f"{1e6 * answer / len(unseen):.0f}",
                f"{median(answers['random forest']) / answer:.2f}",
                f"{100 * model.score(unseen, labels):.1f}",
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
    header = ["forest", "seconds of fit", "times faster than a random forest"]
    header += ["prediction, µs a row", "times faster", "accuracy, %"]
    run.tables.show("forest-ncm", header, rows)


def part_adwin(run):
    """Nanoseconds a row of the detector, alone."""
    n = 2_000_000 // run.shrink
    rng = np.random.default_rng(0)
    rows = []
    for title, rates in (
        ("no change", [0.2]),
        ("a change every 100,000 rows", [0.2, 0.4]),
    ):
        wrong = rng.random(n) < np.resize(rates, n // 100_000 + 1).repeat(100_000)[:n]
        seconds = []
        for _ in range(run.repeats):
            detector = ADWIN()
            seconds.append(cpu_seconds(partial(detector.update_many, wrong)))
        rows.append([title, f"{1e9 * median(seconds) / n:.0f}"])
        print(*rows[-1], spread(seconds), sep=" | ", flush=True)
    run.tables.show("forest-adwin", ["errors", "ns a row"], rows)


PARTS = {
    "fit": part_fit,
    "predict": part_predict,
    "threads": part_threads,
    "memory": part_memory,
    "ncm": part_ncm,
    "adwin": part_adwin,
}


def main(argv=None):
    """Run the parts that are asked for."""
    parser = command.parser(__doc__, "quick", "keep", repeats=3)
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=list(WORK), default=list(WORK))
    options = parser.parse_args(argv)
    run = Run(options)
    for part in options.part:
        PARTS[part](run)
    run.results.keep(options.keep, run.tables.facts)
