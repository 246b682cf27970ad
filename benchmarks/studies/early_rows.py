"""The first rows of a stream: the default tree, with and without its refits.

    python benchmarks early_rows [--data FOLDER] [--held-out FOLDER]

Tables are cut to 3,000 rows, and to classes of at least ten, in two random orders, in
up to twenty if they are small, so that at least 2,000 rows are tested. The first two
thirds of the rows are a stream: accuracy with each row predicted before it is
learned (prequential), and, at its end, on the last third, compared with `fit` on the
same rows. ``refit_rows=0`` switches the refits off: the tree is incremental. Streams in
their own order begin at four places. The curve has the accuracy of three trees over the
first 3,000 rows of the larger tables, in five orders: incremental, refitted at the same
numbers of rows as the default's, and the default. The costs are CPU seconds per row of
generated tables, in calls of one row and of 100, with refits and without. Minutes.
"""

from functools import partial
from itertools import chain

import numpy as np
from common import options as command
from common.data import collections, data_folder, encoded, load
from common.timing import cpu_seconds, print_environment
from sklearn.datasets import make_classification

from skconftree import ConfidenceTreeClassifier

MAX_ROWS, LEAST_ROWS, LEAST_OF_CLASS = 3_000, 150, 10
ORDERS, TESTED, CHUNK = (2, 20), 2_000, 10
ORDERED = ("elec", "airlines2007-ordered")
PLACES, ROWS = 4, 2_500  # where the streams begin, and their lengths
FIRST, FACTOR = 50, 1.25  # rows of the first refit, and from one refit to the next
LARGE = 4_500  # rows of a table of the curve
WINDOW, WINDOWS, CURVE_ORDERS = 150, 20, 5


def tree(nominal=(), **parameters):
    """Make the default tree."""
    return ConfidenceTreeClassifier(
        categorical_features=list(nominal) or None, random_state=0, **parameters
    )


def streamed(model, X, y, n_classes):
    """Learn a stream; return which rows were predicted correctly before."""
    parts = []
    for start in range(0, len(y), CHUNK):
        rows = slice(start, start + CHUNK)
        parts.append(model.partial_fit_predict(X[rows], y[rows], range(n_classes)))
    return np.concatenate(parts) == y


def cut(name, folder):
    """Read a table: rows, classes with enough of them, and the nominal columns."""
    X, y, is_nominal = encoded(name, folder)
    order = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
    order = order[np.bincount(y[order])[y[order]] >= LEAST_OF_CLASS]
    y = np.unique(y[order], return_inverse=True)[1]
    return X[order].astype(np.float32), y, np.flatnonzero(is_nominal).tolist()


def compare(X, y, nominal):
    """Prequential accuracies of both trees, and final ones minus that of `fit`."""
    n_classes, n, found = int(y.max()) + 1, 2 * len(y) // 3, []
    n_orders = min(max(ORDERS[0], -(-TESTED // (len(y) - n))), ORDERS[1])
    for seed in range(n_orders):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:n], order[n:]
        fitted = tree(nominal).fit(X[train], y[train]).score(X[test], y[test])
        models = tree(nominal, refit_rows=0), tree(nominal)
        right = [streamed(one, X[train], y[train], n_classes).mean() for one in models]
        final = [one.score(X[test], y[test]) - fitted for one in models]
        found.append([*right, *final])
    return 100 * np.mean(found, axis=0)


def mean_and_worst(values, names):
    """Mean, standard error and the worst table, as text."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    worst = int(values.argmin())
    return [
        f"{values.mean():+.2f} ({error:.2f})",
        f"{values[worst]:+.1f} {names[worst]}",
    ]


def part_tables(options, tables):
    """Shuffled tables."""
    rows, of_tables = [], []
    for part, folder, names in collections(options, 2):
        kept, found = [], []
        for name in names:
            X, y, nominal = cut(name, folder)
            if len(y) < LEAST_ROWS or y.max() < 1:
                continue
            before, after, *final = compare(X, y, nominal)
            kept.append(name)
            found.append([after - before, *final])
            cells = [f"{before:.1f}", *(f"{one:+.1f}" for one in found[-1])]
            of_tables.append([name, len(y), int(y.max()) + 1, *cells])
            print(*of_tables[-1], sep=" | ", flush=True)
        texts = [mean_and_worst(one, kept) for one in np.array(found).T]
        rows.append([f"{len(kept)} tables, {part}", *chain(*texts)])
    names = "default - incremental", "incremental - fit", "default - fit"
    header = [cell for one in names for cell in (one, f"worst {one}")]
    tables.show("early-rows", ["tables", *header], rows)
    header = ["table", "rows", "classes", "incremental, %", *names]
    tables.show("early-rows-tables", header, of_tables)


def ordered(name, folder):
    """Read a table in its own order."""
    frame, labels, nominal = load(name, folder)
    for column in nominal:
        codes = frame[column].astype("category").cat.codes.astype("float64")
        frame[column] = codes.where(codes >= 0)
    y = np.unique(labels, return_inverse=True)[1]
    columns = [i for i, column in enumerate(frame) if column in set(nominal)]
    return frame.to_numpy(np.float32), y, columns


def part_streams(folder, tables, *, quick):
    """Streams in their own order."""
    rows = []
    for name in ORDERED[: 1 if quick else None]:
        X, y, nominal = ordered(name, folder)
        for start in np.linspace(0, len(y), PLACES, endpoint=False).astype(int):
            part = slice(start, start + (200 if quick else ROWS))
            before, after = (
                100 * streamed(one, X[part], y[part], int(y.max()) + 1).mean()
                for one in (tree(nominal, refit_rows=0), tree(nominal))
            )
            cells = [f"{before:.1f}", f"{after:.1f}", f"{after - before:+.1f}"]
            rows.append([name, f"{start:,}", *cells])
    header = ["stream", "first row", "incremental, %", "default, %", "difference"]
    tables.show("early-rows-streams", header, rows)


def refitted(X, y, nominal):
    """Which rows the tree predicts that is refitted at the numbers of the default."""
    right, model, start, end = np.full(len(y), np.nan), None, 0, FIRST
    while start < len(y):
        if model is not None:
            right[start:end] = model.predict(X[start:end]) == y[start:end]
        model = tree(nominal).fit(X[:end], y[:end])
        start, end = end, int(FACTOR * end) + 1
        end = len(y) if end > ROWS else end
    return right


def part_curve(folder, names, tables):
    """Accuracy over the first rows, in the mean over larger tables."""
    found = []
    for name in names:
        X, y, is_nominal = encoded(name, folder)
        if len(y) < LARGE:
            continue
        X, n_classes = X.astype(np.float32), int(y.max()) + 1
        nominal = np.flatnonzero(is_nominal).tolist()
        for seed in range(CURVE_ORDERS):
            order = np.random.default_rng(seed).permutation(len(y))[: WINDOW * WINDOWS]
            models = tree(nominal, refit_rows=0), tree(nominal)
            right = [streamed(one, X[order], y[order], n_classes) for one in models]
            right.insert(1, refitted(X[order], y[order], nominal))
            windows = [np.reshape(one, (WINDOWS, WINDOW)) for one in right]
            found.append(np.nanmean(windows, axis=2))
    curves = 100 * np.mean(found, axis=0).T
    rows = [
        [WINDOW * (i + 1), *(f"{one:.1f}" for one in values)]
        for i, values in enumerate(curves)
    ]
    header = ["rows", "incremental", "refitted", "default"]
    n_tables = len(found) // CURVE_ORDERS
    tables.show("early-rows-curve", header, rows, f"{n_tables} tables")


def generated():
    """Yield tables of 20 columns: name, rows and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 20)).astype(np.float32)
    noise = rng.normal(size=ROWS)
    yield "linear", X, X[:, 0] + X[:, 1] / 2 + noise / 2 > 0
    yield "interaction", X, X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * noise > 0
    yield "exclusive or", X, (X[:, 0] > 0) ^ (X[:, 1] > 0)
    yield "random labels", X, rng.random(ROWS) < 0.5
    X, y = make_classification(
        *X.shape, n_informative=8, n_clusters_per_class=4, n_classes=3, random_state=0
    )
    yield "three classes", X.astype(np.float32), y


def part_costs(tables, *, quick):
    """CPU seconds per row while rows are stored."""
    rows, repeats = [], 1 if quick else 5
    for name, X, y in generated():
        classes = range(int(y.max()) + 1)

        def learn(chunk, X=X, y=y, classes=classes, **parameters):
            model = tree(**parameters)
            for start in range(0, len(y), chunk):
                part = slice(start, start + chunk)
                model.partial_fit(X[part], y[part], classes)

        cells = []
        for chunk in (1, 100):
            calls = partial(learn, chunk, refit_rows=0), partial(learn, chunk)
            pairs = [[cpu_seconds(call) for call in calls] for _ in range(repeats)]
            least = np.min(pairs, axis=0) / len(y) * 1e6
            ratio = np.median([after / before for before, after in pairs])
            cells += [*(f"{one:.1f}" for one in least), f"{ratio:.1f}"]
        rows.append([name, *cells])
    names = "incremental, µs", "default, µs", "ratio"
    header = [f"{one}, calls of {size}" for size in ("1 row", "100") for one in names]
    tables.show("early-rows-cost", ["table", *header], rows)


def main(argv=None):
    """Run the parts and show the tables."""
    parser = command.parser(__doc__, "data", "held-out", "quick")
    parser.add_argument("--part", choices=("accuracy", "costs"))
    options = parser.parse_args(argv)
    note = f"{ORDERS[0]} to {ORDERS[1]} orders of a table"
    tables = command.tables("early_rows", options, note)
    print_environment(tables.facts)
    if options.part != "accuracy":
        part_costs(tables, quick=options.quick)
    if options.part == "costs":
        return
    folder = data_folder(options.data)
    part_tables(options, tables)
    part_streams(folder, tables, quick=options.quick)
    names = next(names for _, _, names in collections(options, 0))
    part_curve(folder, ["adult"] if options.quick else names, tables)
