"""Speed and accuracy of a forest beside other forests.

    python benchmarks bench_forest [--trees 100] [--seeds 3]

`fit` without a bound and `predict_proba`, in one thread, beside scikit-learn's
RandomForestClassifier and, where they are installed, scikit-learn-intelex and the
random forest of LightGBM: CPU seconds, medians of runs that take turns, same rows.
Accuracy is that on rows of the same kind which were not learnt, the mean over `--seeds`
seeds. ``--quick`` shrinks tables and forests to try the script; its figures mean
nothing.
"""

import importlib.metadata
import importlib.util

import numpy as np
from common import options as command
from common.generators import continuous, integers
from common.ratios import Results
from common.timing import interleaved, median, print_environment
from sklearn.ensemble import RandomForestClassifier

from skconftree import ConfidenceForestClassifier

HELD_OUT = 20_000
SCIKIT = "scikit-learn"


def heaps(n, d, seed=2):
    """Five classes, each a heap of continuous features around a point of its own."""
    rng = np.random.default_rng(seed)
    centres = 0.3 * rng.standard_normal((5, d), dtype=np.float32)
    y = rng.integers(0, 5, n)
    return centres[y] + rng.standard_normal((n, d), dtype=np.float32), y


WORK = {
    "100,000 x 20 continuous": (continuous, 100_000, 20),
    "100,000 x 30 of 256 levels": (integers, 100_000, 30),
    "20,000 x 50, 5 classes": (heaps, 20_000, 50),
    "1,000 x 20": (continuous, 1_000, 20),
}


def peers(n_trees):
    """Makers of the forests that are there, by name; says which are not."""

    def ours(seed):
        return ConfidenceForestClassifier(n_trees, bound=None, random_state=seed)

    def scikit(seed):
        return RandomForestClassifier(n_trees, random_state=seed)

    def intelex(seed):
        from sklearnex.ensemble import RandomForestClassifier as Other

        return Other(n_trees, random_state=seed)

    def lightgbm(seed):
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            boosting_type="rf",
            n_estimators=n_trees,
            num_leaves=1 << 16,
            min_child_samples=1,
            subsample=0.632,
            subsample_freq=1,
            feature_fraction_bynode=0.25,
            random_state=seed,
            n_jobs=1,
            verbose=-1,
        )

    found = {"skconftree": ours, SCIKIT: scikit}
    optional = {
        "scikit-learn-intelex": ("sklearnex", intelex),
        "lightgbm": ("lightgbm", lightgbm),
    }
    for name, (module, make) in optional.items():
        if importlib.util.find_spec(module) is None:
            print(f"{name} is not installed: left out.")
        else:
            print(f"{name} {importlib.metadata.version(name)}")
            found[name] = make
    return found


def rows_of(work, table, makers, repeats, n_seeds, results):
    """Fit and predict with each forest; rows of a table."""
    X, y, unseen, labels = table
    fitted = {name: [] for name in makers}
    for seed in range(n_seeds):
        for name, make in makers.items():
            fitted[name].append(make(seed).fit(X, y))
    accuracy = {
        name: np.mean([one.score(unseen, labels) for one in forests])
        for name, forests in fitted.items()
    }
    fits = {name: lambda make=make: make(0).fit(X, y) for name, make in makers.items()}
    fits = interleaved(fits, repeats)
    answers = {
        name: lambda one=forests[0]: one.predict_proba(unseen)
        for name, forests in fitted.items()
    }
    answers = interleaved(answers, repeats)
    for name in makers:
        fit, answer = (median(seconds[name]) for seconds in (fits, answers))
        faster = [median(fits[SCIKIT]) / fit, median(answers[SCIKIT]) / answer]
        if name == "skconftree":
            results.add(f"forest, fit, {work}", faster[0])
            results.add(f"forest, predict_proba, {work}", faster[1])
        yield (
            work,
            name,
            f"{fit:.3f}",
            f"{faster[0]:.1f}",
            f"{answer:.3f}",
            f"{faster[1]:.1f}",
            f"{100 * accuracy[name]:.2f}",
        )


def main(argv=None):
    """Run all work and show the table."""
    parser = command.parser(__doc__, "quick", "keep", repeats=3)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=list(WORK), default=list(WORK))
    options = parser.parse_args(argv)
    shrink, repeats = (20, 1) if options.quick else (1, options.repeats)
    n_trees, n_seeds = (3, 1) if options.quick else (options.trees, options.seeds)
    results = Results("forest", options.quick)
    tables = command.tables(
        "bench_forest",
        options,
        f"{n_trees} trees, one thread; medians of runs that take turns",
    )
    print_environment(tables.facts)
    makers = peers(n_trees)
    rows = []
    for work in options.only:
        generator, n, d = WORK[work]
        n = max(n // shrink, 200)
        X, y = generator(n + HELD_OUT // shrink, d)
        table = X[:n], y[:n], X[n:], y[n:]
        rows += rows_of(work, table, makers, repeats, n_seeds, results)
    header = ["table", "forest", "seconds of fit", "times faster than scikit-learn"]
    header += ["seconds of predict_proba", "times faster", "accuracy, %"]
    tables.show("forest-speed", header, rows)
    results.keep(options.keep, tables.facts)
