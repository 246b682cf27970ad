"""What categories cost: the same table as a frame with categories and as numbers.

Median CPU seconds of a fit of the adult table (48,842 rows, 6 numeric and 8 nominal
columns) given as a pandas frame with category columns, as one with columns of strings,
and as a matrix in which each category is its rank and no column is nominal; the ratio
of the first to the last, with leaves and training accuracy beside it.

    python benchmarks/bench_categories.py --data FOLDER [--repeats 7]
"""

import argparse

import _data
from _timing import interleaved, median

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


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    folder = _data.data_folder(options.data)
    strings, y, nominal = _data.load("adult", folder)
    categories = strings.astype(dict.fromkeys(nominal, "category"))
    codes = strings.copy()
    for column in nominal:
        codes[column] = categories[column].cat.codes
    tables = {
        "codes": codes.to_numpy(dtype="float32"),
        "category": categories,
        "strings": strings,
    }
    print(
        f"{'':24}  {'codes':>8}  {'category':>8}  {'strings':>8}  {'ratio':>5}  "
        "leaves and accuracy with codes, with categories"
    )
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
        times = "  ".join(f"{1e3 * value:5.1f} ms" for value in seconds.values())
        ratio = seconds["category"] / seconds["codes"]
        print(f"{name:24}  {times}  {ratio:5.2f}  {', '.join(sizes)}")


if __name__ == "__main__":
    main()
