"""Drift repaired locally, beside a tree that is replaced and one that only grows.

Streams that drift, each row predicted before it is learned: SEA, whose concept changes
at once; Agrawal, where it changes slowly, and comes back; a random tree two classes of
which change places in one region, three rows in ten; and electricity, as it was
recorded. Streams that do not: generated ones; tables that are shuffled, the short ones
of many classes ten times; and airlines, as it was recorded, with all that may have
changed meanwhile. Gains are points over the same model without drift handling, with
their standard error over the streams; seconds are of the CPU.

    python benchmarks local_drift [--data FOLDER] [--part trees forests replaced]

Repairs are counted where none can help: labels that a coin draws, and labels that one
cut explains, but for noise, 10,000 rows of each. Ten minutes.
"""

import time
from functools import partial

import numpy as np
from common import options as command
from common.agrawal import make_agrawal
from common.data import data_folder, encoded
from sklearn.base import clone

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.datasets import make_random_tree_stream, make_sea

PARTS = ("trees", "forests", "replaced")
MAX_ROWS = 20_000  # of a table
N_TREES, N_STREAMS_OF_FORESTS = 10, 3
N_COINS = 10_000  # rows of a stream without a concept
REGION = 0.7
SHORT = ("vowel", "yeast", "soybean", "segment", "leaves100-margin", "ucr-fiftywords")
LONG = ("letter", "pendigits", "nursery", "adult")
MODELS = {"none": None, "ddm": "ddm", "local": "local"}


def one_region(n, seed):
    """A random tree; halfway two classes change places where a column is high."""
    X, y = make_random_tree_stream(n, n_leaves=10, noise=0.05, random_state=seed)
    changed = (np.arange(n) >= n // 2) & (X[:, 0] > REGION)
    return X, np.where(changed, 1 - y, y), ()


def nominal_agrawal(n, seed, **options):
    """Agrawal's stream, with its nominal columns."""
    X, y = make_agrawal(n, perturbation=0.05, random_state=seed, **options)
    return X, y, (3, 4, 5)


def sea(n, seed, **options):
    """SEA's stream."""
    return *make_sea(n, noise=0.1, random_state=seed, **options), ()


def random_tree(n, seed):
    """A stream of five classes from a random tree."""
    X, y = make_random_tree_stream(
        n, n_features=10, n_leaves=50, n_classes=5, random_state=seed
    )
    return X, y, ()


def table(name, folder, shuffled, n, seed):
    """Rows of a real table, as they come or shuffled."""
    X, y, is_nominal = encoded(name, folder)
    for j in np.flatnonzero(is_nominal):  # a hole is one more category
        X[np.isnan(X[:, j]), j] = np.nanmax(X[:, j]) + 1
    if shuffled:
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
    n = min(n, MAX_ROWS) if shuffled else n
    return X[:n].astype(np.float32), y[:n], tuple(np.flatnonzero(is_nominal).tolist())


def drifting(folder):
    """Streams whose concept changes: makers, and runs."""
    return {
        "SEA, at once": (partial(sea, concept=[0, 1, 2, 3]), 10),
        "Agrawal, slowly": (
            partial(nominal_agrawal, concept=[1, 4, 7], drift_width=3000),
            10,
        ),
        "Agrawal, recurring": (partial(nominal_agrawal, concept=[1, 4, 1, 4]), 10),
        "one region": (one_region, 10),
        "electricity": (partial(table, "elec", folder, False), 1),
    }


def stationary(folder):
    """Streams whose concept does not change, and airlines."""
    found = {
        "Agrawal": (partial(nominal_agrawal, concept=4), 3),
        "SEA": (partial(sea, concept=2), 3),
        "random tree": (random_tree, 3),
    }
    found |= {name: (partial(table, name, folder, True), 3) for name in LONG}
    found |= {name: (partial(table, name, folder, True), 10) for name in SHORT}
    found["airlines"] = (
        partial(table, "airlines2007-ordered", folder, False),
        1,
    )
    return found


def run(model, X, y, nominal):
    """Share of rows predicted right, seconds and repairs of a model on a stream."""
    one = clone(model).set_params(categorical_features=nominal or None)
    begin = time.process_time()
    right = one.partial_fit_predict(X, y, np.arange(y.max() + 1)) == y
    return 100 * right.mean(), time.process_time() - begin, one.n_drifts_


def compare(models, streams, n, most_runs):
    """Rows of a table: what each model predicts, gains and finds, on each stream."""
    rows = []
    for name, (make, runs) in streams.items():
        found, n_rows = [], 0
        for seed in range(min(runs, most_runs)):
            stream = make(n, seed)
            n_rows += len(stream[1])
            found.append([run(model, *stream) for model in models.values()])
        found = np.array(found)
        gains = found[:, 1:, 0] - found[:, :1, 0]
        seconds = found[:, :, 1].sum(axis=0)
        rows.append(
            [name, f"{found[:, 0, 0].mean():.1f}"]
            + [gain_in_words(gain) for gain in gains.T]
            + [f"{number:.1f}" for number in found[:, 1:, 2].mean(axis=0)]
            + [f"{1e6 * seconds[0] / n_rows:.2f}"]
            + [f"{ratio:.2f}" for ratio in seconds[1:] / seconds[0]]
        )
        print(*rows[-1], sep=" | ", flush=True)
    return rows


def gain_in_words(gain):
    """Mean of some gains, and its standard error if there are more than one."""
    if len(gain) == 1:
        return f"{gain[0]:+.2f}"
    return f"{gain.mean():+.2f} ({gain.std(ddof=1) / np.sqrt(len(gain)):.2f})"


def header(kind, models):
    """Of such a table."""
    named = list(models)[1:]
    return [
        f"per cent right, {kind}",
        "drift=None",
        *(f'"{name}", gain' for name in named),
        *(f'"{name}", drifts' for name in named),
        "us a row",
        *(f'"{name}", time' for name in named),
    ]


def coins(n, seed, n_classes, shares=None):
    """Labels that a coin draws."""
    rng = np.random.default_rng(seed)
    return rng.random((n, 3)), rng.choice(n_classes, n, p=shares)


def one_cut(n, seed, noise):
    """Labels that one cut explains, but for noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    return X, ((X[:, 0] > 0.5) ^ (rng.random(n) < noise)).astype(int)


NOTHING_CHANGES = {
    "two classes": partial(coins, n_classes=2),
    "two classes, one in ten rows": partial(coins, n_classes=2, shares=(0.9, 0.1)),
    "five classes": partial(coins, n_classes=5),
    "one cut, noise .1": partial(one_cut, noise=0.1),
    "one cut, noise .3": partial(one_cut, noise=0.3),
}


def replaced(runs):
    """Rows of a table: nodes, and how many of them were repaired."""
    rows = []
    for name, make in NOTHING_CHANGES.items():
        n_nodes = n_found = n_streams = 0
        for seed in range(runs):
            X, y = make(N_COINS, seed)
            tree = ConfidenceTreeClassifier(drift="local")
            tree.partial_fit(X, y, np.arange(y.max() + 1))
            n_found += tree.n_drifts_
            n_streams += tree.n_drifts_ > 0
            n_nodes += tree.tree_.node_count
        rows.append([name, runs, n_nodes, n_found, f"{n_found / n_nodes:.4f}"])
        rows[-1].append(n_streams)
        print(*rows[-1], sep=" | ", flush=True)
    return rows


def main(argv=None):
    """Run the parts and show the tables."""
    parser = command.parser(__doc__, "data", "quick")
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    options = parser.parse_args(argv)
    folder = data_folder(options.data)
    tables = command.tables("local_drift", options, "mean of 1 to 10 streams")
    n, most = (2_000, 1) if options.quick else (60_000, 10)
    tree = ConfidenceTreeClassifier()
    forest = ConfidenceForestClassifier(N_TREES, random_state=0)
    for part, model, runs in (
        ("trees", tree, most),
        ("forests", forest, min(N_STREAMS_OF_FORESTS, most)),
    ):
        models = {
            name: clone(model).set_params(drift=drift) for name, drift in MODELS.items()
        }
        for place, make in (("drifting", drifting), ("stationary", stationary)):
            if part in options.part:
                rows = compare(models, make(folder), n, runs)
                tables.show(f"local-drift-{part}-{place}", header(place, models), rows)
    if "replaced" in options.part:
        rows = replaced(2 if options.quick else 200)
        head = ["labels", "streams", "nodes", "repaired", "share", "streams with any"]
        tables.show("local-drift-replaced", head, rows)
