"""A tree plus a linear score, compared with both alone, CART, boosting and a forest.

Two parts. In the first, rows of real tables are divided into two thirds for training
and one third for testing, with several seeds. The table has accuracy, log loss and AUC
minus those of the default tree (mean over tables, standard error in parentheses, the
worst table), the number of coefficients and leaves, and CPU seconds of `fit` over the
tree's (median over tables). The logistic regression has standardized numeric and
one-hot nominal columns. Missing values are filled in for models that refuse them. The
explainable boosting machine needs ``pip install interpret``, and hours. With
``--max-table-rows 2310`` the tables are those whose results were known when the
estimator was designed.

The second counts how many of the 95% intervals of the coefficients cover the true
value, on simulated tables whose log odds are linear in five columns plus a constant
for each of four regions: given these regions, as if the tree had been known before, and
with the tree that `fit` grows from the same rows.

    python benchmarks partially_linear --data FOLDER --held-out OTHER
"""

import csv
import importlib.util
import time
import warnings
from argparse import Namespace
from functools import partial

import numpy as np
from common import options as command
from common import results
from common.cart import by_paths
from common.data import collections, encoded, impute, manifest
from common.judging import auc, scores, with_error
from common.runs import Runs
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    PartiallyLinearTreeClassifier,
)
from skconftree.linear_model._logistic import Curvature, Rows, fit_score

MAX_ROWS = 4_000
MIN_ROWS = 10  # of a class; the rows of smaller ones are left out
TREE, ALL, FIVE = "default tree", "tree and line, all columns", "tree and line, five"
EBM = "explainable boosting machine, tables of at most 20 classes"
MAX_EBM_CLASSES = 20  # with 50 or 100 classes, one fit takes many minutes
NAMES = (TREE, ALL, FIVE, "logistic regression", "CART, tuned", "boosting", "forest")
NAMES += (EBM,) if importlib.util.find_spec("interpret") else ()
SIZES = (300, 1000)


def models(is_nominal):
    """Make the models that take missing values, by name."""
    names = np.flatnonzero(is_nominal)
    native = {"categorical_features": is_nominal if is_nominal.any() else None}
    tree = ConfidenceTreeClassifier(random_state=0, **native)
    five = min(5, len(is_nominal))
    forest = ConfidenceForestClassifier(random_state=0, n_jobs=1, **native)
    return {
        TREE: tree,
        ALL: PartiallyLinearTreeClassifier(tree, random_state=0),
        FIVE: PartiallyLinearTreeClassifier(
            tree, n_linear_features=five, random_state=0
        ),
        "boosting": HistGradientBoostingClassifier(
            random_state=0, categorical_features=names if len(names) else None
        ),
        "forest": forest,
        EBM: EBM in NAMES and boosting_machine(is_nominal),
    }


def boosting_machine(is_nominal):
    """Make an explainable boosting machine."""
    from interpret.glassbox import ExplainableBoostingClassifier

    kinds = ["nominal" if nominal else "continuous" for nominal in is_nominal]
    return ExplainableBoostingClassifier(feature_types=kinds, random_state=0, n_jobs=1)


def logistic(is_nominal):
    """Make the logistic regression of filled-in rows."""
    one_hot = OneHotEncoder(max_categories=20, handle_unknown="infrequent_if_exist")
    columns = make_column_transformer(
        (StandardScaler(), ~is_nominal), (one_hot, is_nominal)
    )
    return make_pipeline(columns, LogisticRegression(max_iter=2000))


def size_of(model):
    """Number of coefficients for each class, and of leaves."""
    if isinstance(model, PartiallyLinearTreeClassifier):
        if model.coef_.shape[1]:
            return model.coef_.shape[1], model.leaf_coef_.shape[1]
        return 0, model.tree_.get_n_leaves()
    if hasattr(model, "get_n_leaves"):
        return 0, model.get_n_leaves()
    return (model[-1].coef_.shape[1], 0) if hasattr(model, "steps") else (0, 0)


def table(name, folder):
    """Rows, labels and nominal columns of a table, without rare classes."""
    X, y, is_nominal = encoded(name, folder, MAX_ROWS)
    enough = np.bincount(y)[y] >= MIN_ROWS
    return X[enough], np.unique(y[enough], return_inverse=True)[1], is_nominal


def judged(name, folder, seed, names=NAMES):
    """Measures of models on one division of a table: models by measures."""
    X, y, is_nominal = table(name, folder)
    K = int(y.max()) + 1
    train, test = train_test_split(
        np.arange(len(y)), test_size=1 / 3, random_state=seed, stratify=y
    )
    known = ~np.isnan(X[train]).all(axis=0)  # boosting takes no column without values
    X, is_nominal = X[:, known].astype(np.float32), is_nominal[known]
    filled = impute(X[train].astype(float), X[test].astype(float), is_nominal)
    filled = [part.astype(np.float32) for part in filled]
    made = models(is_nominal)
    answer = []
    for model_name in names:
        if model_name == EBM and K > MAX_EBM_CLASSES:
            answer.append([np.nan] * len(answer[0]))
            continue
        rows, others = (
            (X[train], X[test]) if model_name in made else (filled[0], filled[1])
        )
        start = time.process_time()
        if model_name == "CART, tuned":
            model = by_paths(rows, y[train])
        else:
            model = made.get(model_name)
            model = (logistic(is_nominal) if model is None else model).fit(
                rows, y[train]
            )
        seconds = time.process_time() - start
        proba = model.predict_proba(others)
        every = np.zeros((len(test), K))
        every[:, model.classes_] = proba
        accuracy, loss, _ = scores(proba, model.classes_, y[test], K)
        area = auc(every, y[test])
        measures = [100 * accuracy, loss, area, *size_of(model), seconds]
        answer.append([float(measure) for measure in measures])
    return answer


def compare(tables, options):
    """Print the table of the first part."""
    models = [name for name in NAMES if name in (TREE, *options.models)]
    for part, folder, names in collections(options, 2):
        limit = options.max_table_rows
        small = [name for name in names if manifest(folder)[name]["rows"] <= limit]
        names = [name for name in small if table(name, folder)[1].any()]
        runs = Runs(
            "partially_linear", Namespace(runs=options.seeds, cache=options.cache)
        )
        found = []
        for name in names:
            one = partial(judged, name, folder, names=models)
            found.append(np.mean(runs.each(one, table=name, models=models), axis=0))
        found = np.array(found)
        rows = []
        for i, name in enumerate(models):
            measured = ~np.isnan(found[:, i, 0])
            base, mine = found[measured, 0], found[measured, i]
            told = ["", "", "", "", ""]
            if i:
                gain = mine - base
                worst = gain[:, 0].min()
                better = (gain[:, 0] > 0.5).sum(), (gain[:, 0] < -0.5).sum()
                told = [
                    with_error(gain[:, 0], 2),
                    f"{better[0]} / {better[1]}",
                    f"{worst:+.1f}",
                    with_error(gain[:, 1], 3),
                    with_error(gain[:, 2], 3),
                ]
            sizes = np.median(mine[:, 3:5], axis=0)
            ratio = np.median(mine[:, 5] / base[:, 5])
            rows.append(
                [name, *told, *(f"{size:.0f}" for size in sizes), f"{ratio:.1f}"]
            )
        header = [
            "model",
            "accuracy",
            "better / worse by .5",
            "worst",
            "log loss",
            "AUC",
            "coefficients",
            "leaves",
            "fit",
        ]
        name = f"partially-linear{'' if part == 'chosen on' else '-held-out'}"
        name += "" if np.isinf(limit) else "-small"
        kept = [] if options.quick else others(name, models)
        tables.show(name, header, rows + kept)


def others(table, models):
    """Rows of the stored table of models that were not measured again."""
    path = results.FOLDER / f"{table}.csv"
    if not path.exists() or len(models) == len(NAMES):
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row in list(csv.reader(file))[1:] if row[0] not in models]


def simulated(n, rng):
    """Rows, labels, true coefficients of five columns, and the regions."""
    X = rng.normal(size=(n, 8)).astype(np.float32)
    beta = np.array([1.0, -0.7, 0.5, 0.3, 0.0])
    region = 2 * (X[:, 5] > 0.0) + (X[:, 6] > 0.3)
    odds = X[:, :5] @ beta + np.array([-1.5, 0.5, 0.8, -0.3])[region]
    return X, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int), beta, region


def covers(n, seed):
    """Whether the intervals cover: with the regions known, and after `fit`."""
    X, y, beta, region = simulated(n, np.random.default_rng(seed))
    scale = X[:, :5].std(axis=0)
    terms = (X[:, :5] - X[:, :5].mean(axis=0)) / scale
    rows = Rows(terms.astype(float), region, y, np.ones(n), 4, 2)
    curvature = Curvature(fit_score(rows, 1.0), rows, 1.0)
    error = np.sqrt(curvature.variances(np.eye(curvature.size)[:5]))[0]
    inside = [np.abs(curvature.score.coef[0] / scale - beta) <= 1.96 * error / scale]
    model = PartiallyLinearTreeClassifier(random_state=seed).fit(X, y)
    if not model.terms_:
        return [*inside, np.full(5, np.nan)]
    after = [
        term.interval[0] <= b * term.scale <= term.interval[1]
        for term, b in zip(model.terms_, beta, strict=False)
    ]
    return [*inside, np.array(after)]


def coverage(tables, options):
    """Print the table of the second part."""
    rows = []
    for n in SIZES:
        found = np.array([covers(n, seed) for seed in range(options.simulated)])
        shares = 100 * np.nanmean(found, axis=(0, 2))
        zero = 100 * np.nanmean(found[:, :, 4], axis=0)
        rows.append(
            [
                f"{n:,}",
                *(f"{share:.1f}%" for share in shares),
                f"{zero[1]:.1f}%",
            ]
        )
    header = ["rows", "given the regions", "after fit", "after fit, coefficient 0"]
    tables.show("partially-linear-coverage", header, rows)


def main(argv=None):
    """Run the study and print its tables."""
    parser = command.parser(__doc__, "data", "held-out", "cache", "quick")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--simulated", type=int, default=500)
    parser.add_argument("--part", choices=("compare", "coverage"))
    parser.add_argument(
        "--max-table-rows", type=int, default=np.inf, help="leave out larger tables"
    )
    parser.add_argument(
        "--models",
        nargs="+",
        choices=NAMES,
        default=NAMES,
        help="measure these, and keep the stored rows of all others",
    )
    options = parser.parse_args(argv)
    if options.quick:
        options.seeds, options.simulated = 1, 5
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    warnings.filterwarnings("ignore", "The coefficient of column", UserWarning)
    warnings.filterwarnings("ignore", "No split uses", UserWarning)
    note = (
        f"{options.seeds} divisions, at most {MAX_ROWS:,} rows; "
        f"{options.simulated} simulated tables"
    )
    if len(options.models) < len(NAMES):
        note = note.replace(f"{options.seeds} divisions", "5 divisions")
        note += f"; last with {options.seeds}: {', '.join(options.models)}"
    # what follows "; last " is not compared by tests/test_stored_tables.py
    if np.isfinite(options.max_table_rows):
        note += "" if "; last" in note else "; last all models"
        note += f"; tables of at most {options.max_table_rows:,} rows"
    tables = command.tables("partially_linear", options, note)
    if options.part != "coverage":
        compare(tables, options)
    if options.part != "compare":
        coverage(tables, options)
