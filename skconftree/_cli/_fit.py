"""``skconftree fit``: a confidence tree beside CART on a table."""

import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier, __version__
from skconftree.tree import export_text, node_table

from ._columns import MOST_STRAYS, names_rows
from ._common import (
    MISSING,
    UserError,
    add_nominal_option,
    add_tree_options,
    aligned,
    as_json,
    at_least,
    duration,
    make_progress,
    say,
    tree_settings,
    typed_labels,
    write_json,
)
from ._reading import Strays, check_categories, nominal_places, settle_columns
from ._streams import open_stream

ROWS_AT_A_TIME = 10_000
ROWS_A_NOTE = 100_000
OWN = "confidence tree"
INNER_FOLDS = 5
MOST_ALPHAS = 25
RIVALS = {  # and the largest table for which they are tried without being asked for
    "all": 50_000,
    "cart": 500_000,
    "none": np.inf,
}
LEFT = {"cart": "CART but not with pruned CART", "none": "neither CART nor pruned CART"}
MOST_LEAVES = 200  # of a tree that is printed whole
TOP = 5


class Table(NamedTuple):
    """A table with a class to predict."""

    name: str
    X: np.ndarray  # of objects if any column is nominal
    y: np.ndarray
    feature_names: list[str]
    class_names: list[str]
    nominal: list[int]  # places of the columns of text
    notes: list[str]  # what a user may want to know about columns


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
        [],
    )


def read_table(path, target, named, progress):
    """Read a table of which a column that holds texts is nominal."""
    named = list(named)
    while True:
        with open_stream(path, target) as stream:
            notes = settle_columns(stream, named, whole=True)
            pieces, strays = [], Strays()
            for piece in stream.pieces(ROWS_AT_A_TIME):
                pieces.append(piece)
                for _, place, text in piece.strays:
                    strays.add(place, text)
                if stream.n_rows % ROWS_A_NOTE == 0:
                    progress(f"{stream.n_rows} rows read")
        if not pieces:
            raise UserError(f"{path} has no rows below its header")
        X = np.concatenate([piece.X for piece in pieces])
        late = [place for place in strays if _share(strays, X, place) > MOST_STRAYS]
        if not late:
            break
        # So many texts behind the first rows: categories after all, so once more.
        named += [stream.features[place] for place in late]
    problem = pieces[-1].problem
    if problem is not None:
        raise problem
    y = _labels([label for piece in pieces for label in piece.labels], target)
    notes += strays.notes(stream)
    X, more = _without_names(X, stream, target)
    notes += more
    _, problem = check_categories(None, X, 1, stream)
    if problem is not None:
        raise problem
    classes = [str(one) for one in np.unique(y)]
    nominal = nominal_places(stream.readings)
    return Table(str(path), X, y, stream.features, classes, nominal, notes)


def _without_names(X, stream, target):
    """Leave out the columns that name rows, as a tree would; give notes on them.

    CART would see a column for nearly every row.
    """
    nominal = nominal_places(stream.readings)
    out = [place for place in nominal if names_rows(X[:, place])]
    if not out:
        return X, []
    notes = [
        f"column {stream.features[place]!r} is left out: more than half of the rows "
        "have a category of their own there, which no new row has"
        for place in out
    ]
    kept = np.setdiff1d(np.arange(X.shape[1]), out)
    if not len(kept):
        raise UserError(
            f"{stream.path} has no column besides the target {target!r} that describes "
            f"rows: {notes[0]}"
        )
    stream.features = [stream.features[place] for place in kept]
    stream.readings = [stream.readings[place] for place in kept]
    X = X[:, kept]
    return X if None in stream.readings else X.astype(np.float32), notes


def _share(strays, X, place):
    """How many of the values of a column are strays."""
    n_numbers = len(X) - np.count_nonzero(np.isnan(X[:, place].astype(np.float32)))
    return strays.count(place) / (strays.count(place) + n_numbers)


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


def make_models(tree, rivals, seed):
    """Say how the confidence tree, CART and pruned CART are fitted."""
    models = {OWN: lambda X, y: clone(tree).fit(X, y)}
    if rivals != "none":
        cart = DecisionTreeClassifier(random_state=seed)
        models["CART"] = lambda X, y: clone(cart).fit(X, y)
    if rivals == "all":
        name = f"CART pruned by {INNER_FOLDS}-fold CV"
        models[name] = lambda X, y: pruned_cart(X, y, seed)
    return models


def compare(table, models, folds, seed, progress):
    """Cross-validate models."""
    found = {name: {"accuracy": [], "leaves": [], "seconds": []} for name in models}
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for fold, (train, test) in enumerate(splits.split(table.X, table.y), start=1):
        for name, fit in models.items():
            progress(f"fold {fold} of {folds}: {name}")
            X = table.X if name == OWN else encoded_categories(table, train)
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


def tree_nodes(tree, names):
    """Describe every node of a fitted tree, evidence included."""
    nodes = []
    for row in node_table(tree, **names):
        counts = zip(names["class_names"], row.counts, strict=True)
        described = {
            "id": row.node,
            "parent": row.parent,
            "depth": row.depth,
            "class": row.label,
            "counts": {name: as_json(count) for name, count in counts},
        }
        if row.branches:
            described |= {
                "feature": row.name,
                "test": row.test,
                "threshold": as_json(row.threshold),
                "children": [branch.node for branch in row.branches],
                "evidence": {
                    name: as_json(value) for name, value in row.evidence.items()
                },
            }
            if row.keeps_unknown:
                described["categories"] = [one.categories for one in row.branches]
            elif row.missing_seen:
                (described["missing"],) = (
                    one.node for one in row.branches if one.takes_missing
                )
        nodes.append(described)
    return nodes


# --- the command -------------------------------------------------------------


def run_fit(options):
    """Do the command; return the exit code."""
    progress = make_progress()
    table = asked_table(options, progress)
    for note in table.notes:
        progress(f"note: {note}", last=True)
    counts = np.unique(table.y, return_counts=True)[1]
    if len(counts) < 2:
        raise UserError(f"all rows of {table.name} have the class {table.y[0]}")
    if options.folds > counts.max():
        raise UserError(
            f"--folds {options.folds} is more than the rows of any class "
            f"({counts.max()} at most)"
        )
    if counts.min() < options.folds:
        progress(f"note: a class has {counts.min()} rows only", last=True)
    given = tree_settings(options)
    tree = ConfidenceTreeClassifier(
        **given, categorical_features=table.nominal or None, random_state=options.seed
    )
    rivals = options.rivals or next(
        name for name, largest in RIVALS.items() if len(table.y) <= largest
    )
    models = make_models(tree, rivals, options.seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = compare(table, models, options.folds, options.seed, progress)
        progress("growing the tree on all rows")
        del caught[:]  # each fold has said the like, about its own rows
        tree.fit(table.X, table.y)
    progress("", last=True)
    for warning in caught:
        progress(f"note: {warning.message}", last=True)
    names = {"feature_names": table.feature_names, "class_names": table.class_names}
    if options.json is not None:
        settings = {**given, "folds": options.folds, "seed": options.seed}
        write_report(options.json, table, settings, found, tree, names)
    say(
        f"{summary(table, rivals, options.rivals is not None)}\n\n"
        f"{results_table(found)}\n\n"
        f"{options.folds}-fold cross-validation: mean accuracy, its standard deviation "
        "over the folds,\nmean number of leaves, mean CPU time of a fit"
        f"{' (for pruned CART the search included)' * (rivals == 'all')}.\n\n{tree!r}"
    )
    if tree.get_n_leaves() <= MOST_LEAVES:
        say("grown on all rows, with the evidence of each split:\n")
        say(export_text(tree, **names).rstrip())
    else:
        say(
            f"grown on all rows, {tree.get_n_leaves()} leaves; the upper {TOP} levels "
            "(--json writes all), with the evidence of each split:\n"
        )
        say(export_text(tree, **names, max_depth=TOP).rstrip())
    return 0


def asked_table(options, progress):
    """Return the table that the command is about."""
    if options.data is not None:
        if options.target is None:
            raise UserError(f"say which column of {options.data} to predict: --target")
        return read_table(options.data, options.target, options.nominal, progress)
    if options.nominal:
        raise UserError("--nominal needs a table to look in")
    if options.target is not None:
        raise UserError("--target needs a table to look in")
    return bundled_table()


def summary(table, rivals, asked_for):
    """Say what the table is and with what the tree is compared."""
    text = (
        f"{table.name}: {len(table.y)} rows, {len(table.feature_names)} columns, "
        f"{len(table.class_names)} classes"
    )
    if table.nominal:
        text += f"\nnominal columns: {len(table.nominal)}"
        if rivals != "none":
            text += "; CART sees a column for each of their categories"
    if not asked_for and rivals != "all":
        text += (
            f"\nso large a table is compared with {LEFT[rivals]};\n--rivals all has "
            "them both, and takes its time"
        )
    return text


def write_report(path, table, settings, found, tree, names):
    """Write what was found as JSON."""
    report = {
        "version": __version__,
        "data": {
            "name": table.name,
            "rows": len(table.y),
            "features": table.feature_names,
            "classes": table.class_names,
            "notes": table.notes,
        },
        "settings": settings,
        "cross_validation": found,
        "tree": {
            "leaves": int(tree.get_n_leaves()),
            "text": export_text(tree, **names).rstrip(),
            "nodes": tree_nodes(tree, names),
        },
    }
    write_json(path, report)


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
        help=".csv or .csv.gz with a header, or .parquet (needs pyarrow); a column of "
        "texts is nominal, dates and numbers such as $1,234 become numbers, and an "
        "empty field, ?, NaN or a stray word among numbers is a missing value",
    )
    fit.add_argument("--target", metavar="COLUMN", help="the column to predict")
    add_nominal_option(fit)
    add_tree_options(fit)
    fit.add_argument(
        "--folds", type=at_least(2), default=10, metavar="N", help="default: 10"
    )
    fit.add_argument(
        "--rivals",
        choices=RIVALS,
        help=f"what to compare with; default: all up to {RIVALS['all']:,} rows, cart "
        f"up to {RIVALS['cart']:,}, none beyond",
    )
    fit.add_argument(
        "--json", metavar="FILE", help="write the figures and the tree there too"
    )
    fit.set_defaults(run=run_fit)
