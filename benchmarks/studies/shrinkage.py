"""Probabilities of the default tree: shrinkage beside pseudo-counts and proportions.

Five-fold cross-validation on real tables, nominal columns as codes. One tree a fold;
what its leaves say is read off in every way. The tables are split beforehand, every
other one in alphabetical order: the shrinkage is chosen on one half, the other one is
looked at afterwards. Log loss and Brier score are mean differences from one
pseudo-count spread over the classes of a leaf, with their standard error over tables;
negative is better.

    python benchmarks shrinkage --data FOLDER [--repeats 2]
"""

import warnings

import numpy as np
from common import options as command
from common.data import data_folder, encoded, impute, manifest
from common.judging import CLIP
from sklearn.model_selection import StratifiedKFold

from skconftree import ConfidenceTreeClassifier

MAX_ROWS = 3_000
STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0)
BASE = "one pseudo-count"
HEADER = ["half", "leaves say", "log loss", "better", "worst", "Brier", "accuracy"]
BINS = np.linspace(0.0, 1.0, 11)
# Streams, whose rows follow each other in time. a9a, the people of adult, stays:
# without it the halves would not be those by which the choice was made.
LEFT_OUT = ("airlines2007-ordered", "elec")


def spoken(tree, X):
    """What each way makes of the leaves of a tree: name -> probabilities of rows."""
    counts = tree.tree_.counts[tree.apply(X)]
    n, k = counts.sum(axis=1, keepdims=True), counts.shape[1]
    said = {BASE: (counts + 1.0 / k) / (n + 1.0), "proportions": counts / n}
    for strength in STRENGTHS:
        tree.tree_._shrunk_by(strength)
        said[f"shrinkage {strength:g}"] = tree.predict_proba(X)
    return said


def judge(proba, y):
    """Log loss, Brier score and accuracy."""
    true = np.clip(proba[np.arange(len(y)), y], CLIP, 1.0)
    brier = (proba**2).sum(axis=1) - 2.0 * proba[np.arange(len(y)), y] + 1.0
    return -np.log(true).mean(), brier.mean(), (proba.argmax(axis=1) == y).mean()


def cross_validate(name, folder, seeds, reliability):
    """Mean scores of each way on one table; adds up how reliable they are."""
    X, y, is_nominal = encoded(name, folder, MAX_ROWS)
    found = {}
    for seed in seeds:
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of classes with fewer rows than folds
            parts = list(folds.split(X, y))
        for train, test in parts:
            rows, others = impute(X[train], X[test], is_nominal)
            tree = ConfidenceTreeClassifier().fit(rows.astype(np.float32), y[train])
            known = np.isin(y[test], tree.classes_)
            labels = np.searchsorted(tree.classes_, y[test][known])
            for way, proba in spoken(tree, others[known].astype(np.float32)).items():
                found.setdefault(way, []).append(judge(proba, labels))
                best = proba.max(axis=1)
                place = np.clip(np.digitize(best, BINS) - 1, 0, len(BINS) - 2)
                sums = reliability.setdefault(way, np.zeros((len(BINS) - 1, 3)))
                right = proba.argmax(axis=1) == labels
                np.add.at(sums, place, np.stack([np.ones(len(best)), best, right], 1))
    return {way: np.mean(scores, axis=0) for way, scores in found.items()}


def row(half, way, names, scores):
    """Make a row of the table."""
    differences = np.array([scores[one][way] - scores[one][BASE] for one in names])
    loss, brier, accuracy = differences.T
    error = differences.std(axis=0, ddof=1) / np.sqrt(len(names))
    worst = loss.argmax()
    return [
        half,
        way,
        f"{loss.mean():+.3f} ({error[0]:.3f})",
        f"{(loss < 0).sum()} of {len(names)}",
        f"{loss[worst]:+.3f} {names[worst]}",
        f"{brier.mean():+.4f} ({error[1]:.4f})",
        f"{100 * accuracy.mean():+.2f}",
    ]


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "quick", repeats=2)
    options = parser.parse_args(argv)
    folder = data_folder(options.data)
    note = f"{options.repeats} times five-fold cross-validation, {MAX_ROWS:,} rows"
    tables = command.tables("shrinkage", options, note)
    names = sorted(set(manifest(folder)) - set(LEFT_OUT))
    if options.quick:
        names = names[:6]
    scores, reliability = {}, {}
    for name in names:
        seen = reliability if name in names[1::2] else {}
        scores[name] = cross_validate(name, folder, range(options.repeats), seen)
    ways = [way for way in scores[names[0]] if way != BASE]
    halves = {"chosen on": names[::2], "reported on": names[1::2]}
    tables.show(
        "shrinkage",
        HEADER,
        [row(half, way, some, scores) for half, some in halves.items() for way in ways],
    )
    shown = [BASE, "proportions", "shrinkage 10"]
    rows = []
    for place in range(len(BINS) - 1):
        if all(reliability[way][place, 0] < 50 for way in shown):
            continue
        cells = []
        for way in shown:
            n, said, right = reliability[way][place]
            told = f"{said / n:.3f} / {right / n:.3f}" if n >= 50 else "-"
            cells.append(told)
        rows.append([f"{BINS[place]:.1f} to {BINS[place + 1]:.1f}", *cells])
    tables.show("shrinkage-reliability", ["probability", *shown], rows)
