"""``skconftree fit``: a confidence tree beside CART on a table."""

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier, __version__
from skconftree.tree import export_text

from ._common import (
    MISSING,
    UserError,
    add_nominal_option,
    add_tree_options,
    aligned,
    as_json,
    duration,
    make_progress,
    tree_settings,
    typed_labels,
)
from ._reading import NotNumericError, check_categories, places_of
from ._streams import open_stream

ROWS_AT_A_TIME = 10_000
ROWS_A_NOTE = 100_000
INNER_FOLDS = 5
MOST_ALPHAS = 25


class Table(NamedTuple):
    """A table with a class to predict."""

    name: str
    X: np.ndarray  # of objects if any column is nominal
    y: np.ndarray
    feature_names: list[str]
    class_names: list[str]
    nominal: list[int]  # places of the columns of text


# --- reading -----------------------------------------------------------------


def bundled_table():
    """Return the real set that comes with scikit-learn."""
    data = load_breast_cancer()
    return Table(
        "breast cancer Wisconsin (comes with scikit-learn)",
        data.data,
        data.target_names[data.target],
        [str(name) for name in data.feature_names],
        sorted(map(str, data.target_names)),
        [],
    )


def read_table(path, target, named, progress):
    """Read a table of which a column that holds a text is nominal."""
    nominal = None
    while True:
        with open_stream(path, target) as stream:
            if nominal is None:
                nominal = {*stream.look_ahead(), *places_of(named, stream)}
            stream.nominal = sorted(nominal)
            pieces = []
            for piece in stream.pieces(ROWS_AT_A_TIME):
                pieces.append(piece)
                if stream.n_rows % ROWS_A_NOTE == 0:
                    progress(f"{stream.n_rows} rows read")
        problem = pieces[-1].problem if pieces else None
        if not isinstance(problem, NotNumericError):
            break
        # A text so late that the look at the first rows has missed it: once more.
        nominal.add(problem.place)
    if problem is not None:
        raise problem
    if not pieces:
        raise UserError(f"{path} has no rows below its header")
    y = _labels([label for piece in pieces for label in piece.labels], target)
    X = np.concatenate([piece.X for piece in pieces])
    _, problem = check_categories(None, X, 1, stream)
    if problem is not None:
        raise problem
    classes = [str(one) for one in np.unique(y)]
    return Table(str(path), X, y, stream.features, classes, stream.nominal)


def _labels(values, target):
    for row, value in enumerate(values, start=1):
        if value.strip().lower() in MISSING:
            raise UserError(f"target column {target!r} misses a value in row {row}")
    return typed_labels([value.strip() for value in values], target)


# --- comparing ---------------------------------------------------------------


def pruned_cart(X, y, seed):
    """Fit CART with the ccp_alpha that cross-validation likes best."""
    cart = DecisionTreeClassifier(random_state=seed)
    alphas = np.unique(cart.cost_complexity_pruning_path(X, y).ccp_alphas.clip(0))
    if len(alphas) > MOST_ALPHAS:
        places = np.linspace(0, len(alphas) - 1, MOST_ALPHAS)
        alphas = alphas[places.round().astype(int)]
    folds = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=seed)
    # The first of equals wins, so from the largest: the smaller tree.
    search = GridSearchCV(cart, {"ccp_alpha": alphas[::-1]}, cv=folds)
    return search.fit(X, y).best_estimator_


def encoded_categories(table, train):
    """Give each category of the training rows a column, as CART needs it."""
    if not table.nominal:
        return table.X
    encoder = make_column_transformer(
        (
            OneHotEncoder(
                handle_unknown="ignore", sparse_output=False, dtype=np.float32
            ),
            table.nominal,
        ),
        remainder="passthrough",
        sparse_threshold=0.0,
    )
    return encoder.fit(table.X[train]).transform(table.X).astype(np.float32)


def compare(table, tree, folds, seed, progress):
    """Cross-validate the confidence tree, CART and pruned CART."""
    cart = DecisionTreeClassifier(random_state=seed)
    own = "confidence tree"
    models = {
        own: lambda X, y: clone(tree).fit(X, y),
        "CART": lambda X, y: clone(cart).fit(X, y),
        f"CART pruned by {INNER_FOLDS}-fold CV": lambda X, y: pruned_cart(X, y, seed),
    }
    found = {name: {"accuracy": [], "leaves": [], "seconds": []} for name in models}
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for fold, (train, test) in enumerate(splits.split(table.X, table.y), start=1):
        progress(f"fold {fold} of {folds}")
        encoded = encoded_categories(table, train)
        for name, fit in models.items():
            X = table.X if name == own else encoded
            start = time.process_time()
            model = fit(X[train], table.y[train])
            found[name]["seconds"].append(time.process_time() - start)
            right = model.predict(X[test]) == table.y[test]
            found[name]["accuracy"].append(float(right.mean()))
            found[name]["leaves"].append(int(model.get_n_leaves()))
    return found


# --- printing ----------------------------------------------------------------


def results_table(found):
    """Write the figures of `compare` as an aligned table."""
    rows = [("", "accuracy", "sd", "leaves", "fit time")]
    for name, figures in found.items():
        accuracy = np.array(figures["accuracy"])
        rows.append(
            (
                name,
                f"{100 * accuracy.mean():.1f} %",
                f"{100 * accuracy.std(ddof=1):.1f}",
                f"{np.mean(figures['leaves']):.1f}",
                duration(np.mean(figures["seconds"])),
            )
        )
    return aligned(rows)


def tree_nodes(tree, table):
    """Describe every node of a fitted tree, evidence included."""
    arrays = tree.tree_
    nodes = []
    for node in range(len(arrays.feature)):
        counts = dict(zip(table.class_names, arrays.counts[node], strict=True))
        described = {
            "id": node,
            "parent": int(arrays.parent[node]),
            "depth": int(arrays.depth[node]),
            "counts": {name: as_json(count) for name, count in counts.items()},
        }
        children = arrays.children(node).tolist()
        if children:
            evidence = arrays.evidence[node]
            described |= {
                "feature": table.feature_names[arrays.feature[node]],
                "threshold": as_json(arrays.threshold[node]),
                "children": children,
                "evidence": {
                    name: as_json(evidence[name]) for name in evidence.dtype.names
                },
            }
            branches = arrays.branches(node)
            if branches is not None:
                names = tree.categories_[arrays.feature[node]]
                described["categories"] = [
                    [names[code] for code in np.flatnonzero(branches == child)]
                    for child in children
                ]
            elif arrays.missing_seen[node]:
                described["missing"] = children[not arrays.missing_go_to_left[node]]
        nodes.append(described)
    return nodes


# --- the command -------------------------------------------------------------


def run_fit(options):
    """Do the command; return the exit code."""
    progress = make_progress()
    if options.data is None:
        if options.nominal:
            raise UserError("--nominal needs a table to look in")
        if options.target is not None:
            raise UserError("--target needs a table to look in")
        table = bundled_table()
    elif options.target is None:
        raise UserError(f"say which column of {options.data} to predict: --target")
    else:
        table = read_table(options.data, options.target, options.nominal, progress)
    given = tree_settings(options)
    tree = ConfidenceTreeClassifier(
        **given, categorical_features=table.nominal or None, random_state=options.seed
    )
    counts = np.unique(table.y, return_counts=True)[1]
    if len(counts) < 2:
        raise UserError(f"all rows of {table.name} have the class {table.y[0]}")
    if options.folds > counts.max():
        raise UserError(
            f"--folds {options.folds} is more than the rows of any class "
            f"({counts.max()} at most)"
        )
    summary = (
        f"{table.name}: {len(table.y)} rows, {len(table.feature_names)} columns, "
        f"{len(counts)} classes"
    )
    if table.nominal:
        summary += (
            f"\nnominal columns: {len(table.nominal)}; CART sees a column for each of "
            "their categories"
        )
    if counts.min() < options.folds:
        progress(f"note: a class has {counts.min()} rows only", last=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        found = compare(table, tree, options.folds, options.seed, progress)
    progress("growing the tree on all rows")
    tree.fit(table.X, table.y)
    progress("", last=True)
    text = export_text(
        tree, feature_names=table.feature_names, class_names=table.class_names
    ).rstrip()
    if options.json is not None:
        report = {
            "version": __version__,
            "data": {
                "name": table.name,
                "rows": len(table.y),
                "features": table.feature_names,
                "classes": table.class_names,
            },
            "settings": {**given, "folds": options.folds, "seed": options.seed},
            "cross_validation": found,
            "tree": {
                "leaves": int(tree.get_n_leaves()),
                "text": text,
                "nodes": tree_nodes(tree, table),
            },
        }
        try:
            written = json.dumps(report, indent=1, allow_nan=False) + "\n"
            Path(options.json).write_text(written, encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot write {options.json}: {error.strerror}") from error
    print(
        f"{summary}\n\n{results_table(found)}\n\n"
        f"{options.folds}-fold cross-validation: mean accuracy, its standard deviation "
        "over the folds,\nmean number of leaves, mean CPU time of a fit (for pruned "
        f"CART the search included).\n\n{tree!r}\ngrown on all rows, with the evidence "
        f"of each split:\n\n{text}"
    )
    return 0


def _folds(text):
    value = int(text)
    if value < 2:
        raise argparse.ArgumentTypeError("must be at least 2")
    return value


def add_command(commands):
    """Describe the command."""
    fit = commands.add_parser(
        "fit",
        help="compare a confidence tree with CART on a table, and print it",
        description="Cross-validated accuracy and leaves of a confidence tree beside "
        "CART and cross-validated pruned CART, then the tree with the evidence of "
        "each split.",
    )
    fit.add_argument(
        "data",
        nargs="?",
        metavar="DATA",
        help=".csv or .csv.gz with a header, or .parquet (needs pyarrow); a column "
        "that is not all numbers is nominal, and an empty field, ? or NaN is a missing "
        "value",
    )
    fit.add_argument("--target", metavar="COLUMN", help="the column to predict")
    add_nominal_option(fit)
    add_tree_options(fit)
    fit.add_argument(
        "--folds", type=_folds, default=10, metavar="N", help="default: 10"
    )
    fit.add_argument(
        "--json", metavar="FILE", help="write the figures and the tree there too"
    )
    fit.set_defaults(run=run_fit)
