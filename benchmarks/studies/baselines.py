"""The default and baselines: accuracy, log loss, Brier score, leaves and time.

Cross-validation on real tables, nominal columns as codes, holes filled with the median
or mode of the training rows, a seeded sample of larger tables. Every rule has the same
folds. Everything is what the public methods answer: probabilities are those of
`predict_proba`, times are CPU seconds of `fit`, searches and binarisation included.

    python benchmarks baselines --data FOLDER --held-out OTHER --cache SCRATCH

The default was chosen on tables of FOLDER; on those of OTHER, which ``python benchmarks
held_out`` makes, nothing was.

Accuracy is the mean difference from the tuned CART in points, log loss and Brier score
(negative is better) from the same tree with one pseudo-count spread over the classes of
a leaf; standard errors are over tables. Leaves are the geometric mean ratio to that
tree, time is the geometric mean. LicketySPLIT (``pip install licketysplit``) needs
binary columns, which its own binariser makes; it is left out where that is missing, and
on tables with many classes or values, on which it takes minutes.

Results are kept per table in the cache folder; a second run only adds what is missing.
"""

import json
import time
import warnings
from pathlib import Path

import numpy as np
from common import options as command
from common.cart import SHRINKAGE, by_grid, inner, of_nodes
from common.data import collections, encoded, impute
from common.judging import TIE, scores, with_error
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import PessimisticPruning

MAX_ROWS, MAX_ALPHAS, FOLDS = 2_000, 10, 3
MAX_CLASSES, MAX_VALUES = 5, 50_000  # of a table that LicketySPLIT is tried on
BASE = "CART, tuned"
SMOOTH, SHRUNK = f"{BASE}, one pseudo-count", f"{BASE}, shrinkage {SHRINKAGE:g}"
GRID = {
    "delta": [0.1, 1.0, 10.0],
    "pruning": [PessimisticPruning(confidence) for confidence in (0.005, 0.02, 0.1)],
}
MEASURES = ("accuracy", "log loss", "Brier", "leaves", "seconds")


def tuned_ours(X, y):
    """A grid search over both stages of the default."""
    search = GridSearchCV(ConfidenceTreeClassifier(), GRID, cv=inner())
    return search.fit(X, y).best_estimator_


OURS = {
    "default": {},
    "greedy": {"lookahead": 0},
    "strict": {"delta": 0.05, "pruning": PessimisticPruning(0.01)},
    "evalue": {"bound": "evalue"},
    "C4.5-style": {
        "bound": None,
        "criterion": "gain_ratio",
        "min_samples_leaf": 2,
        "pruning": "c45",
    },
}
MODELS = {
    **{
        name: lambda X, y, settings=settings: ConfidenceTreeClassifier(**settings).fit(
            X, y
        )
        for name, settings in OURS.items()
    },
    "tuned": tuned_ours,
    "CART": lambda X, y: DecisionTreeClassifier(random_state=0).fit(X, y),
    BASE: lambda X, y: by_grid(X, y, MAX_ALPHAS),
}


def lickety(X, y, X_test):
    """Probabilities, classes, leaves and seconds of LicketySPLIT; or None."""
    try:
        from licketysplit import LicketySPLITClassifier, ThresholdGuessBinarizer
    except ImportError:
        return None
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) > MAX_CLASSES or X.size > MAX_VALUES:
        return None
    start = time.process_time()
    binarizer = ThresholdGuessBinarizer(n_estimators=40, max_depth=2, random_state=0)
    rows = binarizer.fit_transform(X, labels)
    model = LicketySPLITClassifier(lambda_leaf=0.005, depth_budget=6)
    model.fit(rows, labels)
    seconds = time.process_time() - start
    proba = model.predict_proba(binarizer.transform(X_test))
    return proba, classes, len(model.leaf_paths()), seconds


def cross_validate(name, folder, options):
    """Mean of the measures of each rule on one table; kept in the cache."""
    path = Path(options.cache)
    path /= f"{folder.name}-{name}-{options.rows}-{options.folds}.json"
    if path.exists():
        return json.loads(path.read_text())
    X, y, is_nominal = encoded(name, folder, options.rows)
    K = int(y.max()) + 1
    found = {}
    folds = StratifiedKFold(options.folds, shuffle=True, random_state=0).split(X, y)
    for train, test in folds:
        A, B = impute(X[train], X[test], is_nominal)
        A, B = A.astype(np.float32), B.astype(np.float32)
        for rule, make in MODELS.items():
            start = time.process_time()
            model = make(A, y[train])
            rest = [float(model.get_n_leaves()), time.process_time() - start]
            proba = model.predict_proba(B)
            found.setdefault(rule, []).append(
                scores(proba, model.classes_, y[test], K) + rest
            )
            if rule == BASE:
                leaves = model.apply(B)
                for other, values in zip(
                    (SMOOTH, SHRUNK), of_nodes(model.tree_), strict=True
                ):
                    told = scores(values[leaves], model.classes_, y[test], K)
                    found.setdefault(other, []).append(told + rest)
        answer = lickety(A, y[train], B)
        if answer is not None:
            proba, classes, *rest = answer
            told = scores(proba, classes, y[test], K)
            found.setdefault("LicketySPLIT", []).append(told + rest)
    found = {rule: np.mean(rows, axis=0).tolist() for rule, rows in found.items()}
    path.write_text(json.dumps(found))
    return found


def row(part, rule, results):
    """Make a row of the table."""
    names = [name for name, found in results.items() if rule in found]
    own, base, smooth = (
        np.array([results[name][one] for name in names]) for one in (rule, BASE, SMOOTH)
    )
    points = 100.0 * (own - base)[:, 0]
    loss, brier = (own - smooth)[:, 1], (own - smooth)[:, 2]

    wins = [(points > TIE).sum(), (abs(points) <= TIE).sum(), (points < -TIE).sum()]
    worst = points.argmin()
    return [
        part,
        rule,
        len(names),
        with_error(points, 2),
        "/".join(map(str, wins)),
        f"{np.exp(np.log(own / base)[:, 3].mean()):.2f}",
        with_error(loss, 3),
        with_error(brier, 3),
        f"{1000 * np.exp(np.log(own[:, 4]).mean()):.0f} ms",
        f"{points[worst]:+.1f} {names[worst]}",
    ]


def main(argv=None):
    """Run the study and print its table."""
    parser = command.parser(__doc__, "data", "held-out", "cache", "quick")
    parser.add_argument("--rows", type=int, default=MAX_ROWS, help="of a table")
    parser.add_argument("--folds", type=int, default=FOLDS)
    options = parser.parse_args(argv)
    if options.cache is None:
        parser.error("--cache is needed: results of several minutes are kept there")
    Path(options.cache).mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    note = f"{options.folds} folds, at most {options.rows:,} rows"
    tables = command.tables("baselines", options, note)
    rows = []
    for part, folder, names in collections(options, 2):
        results = {}
        for name in names:
            start = time.process_time()
            results[name] = cross_validate(name, folder, options)
            print(f"  {name}: {time.process_time() - start:.1f} CPU s", flush=True)
        order = [*OURS, "tuned", "LicketySPLIT", "CART", BASE, SMOOTH, SHRUNK]
        known = {rule for found in results.values() for rule in found}
        rows += [row(part, rule, results) for rule in order if rule in known]
    header = ["tables", "rule", "number", "accuracy", "W/T/L", "leaves", "log loss"]
    tables.show("baselines", [*header, "Brier", "fit", "worst table"], rows)
