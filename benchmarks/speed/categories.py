"""What categories cost: the same table as a frame with categories and as numbers.

Median CPU seconds of a fit of the adult table (48,842 rows, 6 numeric and 8 nominal
columns) given as a pandas frame with category columns, as one with columns of strings,
and as a matrix in which each category is its rank and no column is nominal; the ratio
of the first to the last, with leaves and training accuracy beside it.

    python benchmarks categories --data FOLDER [--repeats 7]
"""

from common import options as command
from common.data import data_folder, load
from common.timing import interleaved, median

from skconftree import ConfidenceTreeClassifier

SETTINGS = {
    "default": {},
    "bound=None": {"bound": None},
    "bound=None, max_depth=8": {"bound": None, "max_depth": 8},
    "credible": {"bound": "credible"},
    "possibilistic": {"bound": "possibilistic"},
    "possibilistic, binary": {"bound": "possibilistic", "nominal_splits": "binary"},
    "evalue": {"bound": "evalue"},
}


def main(argv=None):
    """Print the table."""
    options = command.parser(__doc__, "data", repeats=7).parse_args(argv)
    folder = data_folder(options.data)
    shown = command.tables("categories", options)
    strings, y, nominal = load("adult", folder)
    categories = strings.astype(dict.fromkeys(nominal, "category"))
    codes = strings.copy()
    for column in nominal:
        codes[column] = categories[column].cat.codes
    tables = {
        "codes": codes.to_numpy(dtype="float32"),
        "category": categories,
        "strings": strings,
    }
    rows = []
    for name, parameters in SETTINGS.items():
        tree = ConfidenceTreeClassifier(**parameters)
        seconds = interleaved(
            {key: lambda X=X, tree=tree: tree.fit(X, y) for key, X in tables.items()},
            options.repeats,
        )
        seconds = {key: median(values) for key, values in seconds.items()}
        sizes = []
        for key in ("codes", "category"):
            tree.fit(tables[key], y)
            sizes.append(f"{tree.get_n_leaves()} {tree.score(tables[key], y):.3f}")
        times = [f"{1e3 * value:.1f}" for value in seconds.values()]
        ratio = seconds["category"] / seconds["codes"]
        rows.append([name, *times, f"{ratio:.2f}", *sizes])
    header = ["setting", *(f"{key}, ms" for key in tables), "category / codes"]
    header += [f"leaves, accuracy: {key}" for key in ("codes", "category")]
    shown.show("categories", header, rows)
