"""Growing models beside models that are fitted again and again, and beside peers.

Parts of the script `growing`. Peers get what ours get: nominal columns declared, and
Java has been warmed up.
"""

import importlib.util
import time

import numpy as np
from common.peers import moa_forest, moa_learner, river_forest, river_tree
from common.results import NOTHING
from common.timing import median
from sklearn.base import clone
from sklearn.model_selection import KFold

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

CLIP = 1e-3  # smallest probability in a log loss
CHUNK = 100  # rows that a growing model is asked about, and then learns, at a time
STEP = 1_000  # rows between two fits
WINDOW = 5_000  # rows of a fit to the latest ones
SHUFFLES = 10
PLAIN = {
    "tree": ConfidenceTreeClassifier(random_state=0),
    "forest": ConfidenceForestClassifier(10, random_state=0),
}
OURS = {
    "tree": PLAIN["tree"],
    'tree, drift="ddm"': ConfidenceTreeClassifier(drift="ddm"),
    "forest": PLAIN["forest"],
}
MOA_TREES = {
    "tree": "HoeffdingTree",
    "EFDT": "EFDT",
    "adaptive tree": "HoeffdingAdaptiveTree",
}


def told(model, X, y, nominal):
    """Probabilities of the rows of each chunk before it is learned; NaN before one."""
    one = clone(model).set_params(categorical_features=list(nominal) or None)
    proba = np.full((len(y), int(y.max()) + 1), np.nan)
    for start in range(0, len(y), CHUNK):
        rows = slice(start, start + CHUNK)
        if start:
            proba[rows] = one.predict_proba(X[rows])
        one.partial_fit(X[rows], y[rows], np.arange(proba.shape[1]))
    return proba


def told_by_fits(model, X, y, nominal, window=None):
    """Probabilities of each row by the model that was fitted last; NaN before one."""
    proba = np.full((len(y), int(y.max()) + 1), np.nan)
    for stop in range(STEP, len(y), STEP):
        first = 0 if window is None else max(stop - window, 0)
        one = clone(model).set_params(categorical_features=list(nominal) or None)
        one.fit(X[first:stop], y[first:stop])
        later = slice(stop, stop + STEP)
        proba[later] = 0.0
        proba[later, one.classes_] = one.predict_proba(X[later])
    return proba


def part_refit(streams, tables):
    """A model that grows, and one fitted to the rows so far every 1,000 rows."""
    ways = {
        "grows": told,
        f"fit to all rows every {STEP:,}": told_by_fits,
        f"fit to the last {WINDOW:,} every {STEP:,}": lambda *given: told_by_fits(
            *given, window=WINDOW
        ),
    }
    rows = []
    for kind, model in PLAIN.items():
        for way, run in ways.items():
            right, losses, microseconds = [], [], []
            for X, y, nominal in streams.values():
                begin = time.process_time()
                proba = run(model, X, y, nominal)
                microseconds.append(1e6 * (time.process_time() - begin) / len(y))
                known, true = proba[STEP:], y[STEP:]
                right.append(100 * np.mean(known.argmax(axis=1) == true))
                of_true = known[np.arange(len(true)), true]
                losses.append(-np.log(np.clip(of_true, CLIP, 1.0)).mean())
            cells = [f"{value:.1f}" for value in (*right, np.mean(right))]
            mean_time = np.exp(np.mean(np.log(microseconds)))
            name = f"{kind}, {way}"
            rows.append([name, *cells, f"{np.mean(losses):.3f}", f"{mean_time:.1f}"])
            print(*rows[-1], sep=" | ", flush=True)
    header = [f"per cent right after {STEP:,} rows", *streams, "mean", "mean log loss"]
    header += ["us a row (geometric mean)"]
    tables.show("stream-growing-refit", header, rows)


def moa_runs(quick):
    """Name of each of MOA's learners -> how to run it."""
    how = {"repeats": 1, "warm_up": 0.0 if quick else 2.0}

    def tree(name):
        return lambda X, y, nominal: moa_learner(
            X, y, f"moa.classifiers.trees.{name}", "", nominal=nominal, **how
        )

    def forest(X, y, nominal):
        return moa_forest(X, y, nominal=nominal, **how)

    runs = {f"MOA, {kind}": tree(name) for kind, name in MOA_TREES.items()}
    return runs | {"MOA, adaptive forest": forest}


def river_runs(n_rows):
    """Name of each of river's learners -> how to run it; forests on the first rows."""

    def forest(X, y, nominal):
        part = slice(n_rows)
        run = river_forest(X[part], y[part], nominal=nominal)
        whole = run.accuracy if n_rows >= len(y) else np.nan
        seconds = [found * len(y) / len(y[part]) for found in run.seconds]
        return run._replace(accuracy=whole, seconds=seconds)

    return {
        "river, tree": lambda X, y, nominal: river_tree(X, y, nominal=nominal),
        "river, adaptive forest": forest,
    }


def our_runs():
    """Name of each of our models -> how to run it."""

    def run_of(model):
        def run(X, y, nominal):
            one = clone(model).set_params(categorical_features=list(nominal) or None)
            begin = time.process_time()
            predicted = one.partial_fit_predict(X, y, np.arange(y.max() + 1))
            return np.mean(predicted == y), [time.process_time() - begin]

        return run

    return {f"ours, {name}": run_of(model) for name, model in OURS.items()}


def part_peers(streams, tables, *, quick, river_rows):
    """Trees and forests of ten trees of MOA and river, their defaults, beside ours."""
    runs = our_runs()
    if importlib.util.find_spec("capymoa") is not None:
        runs |= moa_runs(quick)
    if importlib.util.find_spec("river") is not None:
        runs |= river_runs(100 if quick else river_rows)
    rows = []
    for name, run in runs.items():
        right, microseconds = [], []
        for X, y, nominal in streams.values():
            found = run(X, y, nominal)
            right.append(100 * found[0])
            microseconds.append(1e6 * median(found[-1]) / len(y))
        cells = [
            NOTHING if np.isnan(value) else f"{value:.1f}"
            for value in (*right, np.mean(right))
        ]
        mean_time = np.exp(np.mean(np.log(microseconds)))
        rows.append([name, *cells, f"{mean_time:.1f}"])
        print(*rows[-1], sep=" | ", flush=True)
    header = ["per cent right", *streams, "mean", "us a row (geometric mean)"]
    tables.show("stream-growing-peers", header, rows)


def part_alarms(data, tables, *, quick):
    """What the alarms of ``drift="ddm"`` cost where no concept changes."""
    rows, n_streams, changes = [], 0, []
    for name, X, y, nominal in data:
        classes, found = np.arange(y.max() + 1), []
        for seed in range(2 if quick else SHUFFLES):
            folds = KFold(3, shuffle=True, random_state=seed)
            for fold, (train, test) in enumerate(folds.split(X)):
                train = np.random.default_rng([seed, fold]).permutation(train)
                one = ConfidenceTreeClassifier(
                    categorical_features=nominal or None, drift="ddm"
                )
                one.partial_fit(X[train], y[train], classes)
                n_streams += 1
                if one.n_drifts_:
                    plain = clone(one).set_params(drift=None)
                    plain.partial_fit(X[train], y[train], classes)
                    gain = one.score(X[test], y[test]) - plain.score(X[test], y[test])
                    found.append(100 * gain)
        if found:
            changes += found
            cells = [f"{np.mean(found):+.1f}", f"{min(found):+.1f}"]
            rows.append([name, str(len(classes)), str(len(found)), *cells])
    rows.append(
        [
            f"all {len(data)} tables, {n_streams} streams",
            "",
            str(len(changes)),
            f"{np.mean(changes):+.1f}" if changes else NOTHING,
            f"{min(changes):+.1f}" if changes else NOTHING,
        ]
    )
    header = ["table", "classes", "streams with an alarm", "points there", "worst"]
    tables.show("stream-growing-alarms", header, rows)
