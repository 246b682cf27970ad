"""What size and sparse tables cost: seconds, and memory beyond the input.

    python benchmarks/bench_tables.py [--data FOLDER] [--rows 5000000]
                                      [--only {sparse,size}] [--quick]

Prints two kinds of tables. Sparse ones beside scikit-learn's tree on the same matrix:
a9a as CSR (made-up words if the folder of the data is not named), and made-up texts
of 100,000 words as CSC. And fits of dense tables from 10,000 to `--rows` rows, and one
of 100 columns. CPU seconds, one thread, medians of
runs that take turns; a fit of more than a million values is timed once. Memory is the
peak beyond what the process held with the input loaded, in a process of its own.
``--quick`` shrinks the tables to try the script; its figures mean nothing.
"""

import argparse
import math
import time

import numpy as np
import scipy.sparse as sp
from _results import Results
from _timing import (
    environment,
    interleaved,
    median,
    peak_memory,
    print_environment,
    rst_table,
)

LARGE = 1_000_000  # values of a table that is fitted once
WIDE = 100_000_000  # places of a sparse table that is not made dense to compare
OURS = "from skconftree import ConfidenceTreeClassifier\n"
SCIKIT = "from sklearn.tree import DecisionTreeClassifier\n"
MODELS = {
    "default": OURS + "def make(): return ConfidenceTreeClassifier()",
    "``bound=None``": OURS + "def make(): return ConfidenceTreeClassifier(bound=None)",
    "scikit-learn": SCIKIT
    + "def make(): return DecisionTreeClassifier(random_state=0)",
}
RIVAL = "scikit-learn"


def make_table(n_rows, n_features, seed=0):
    """Normal columns, half of them rounded to 0.1; labels from five, with noise.

    The labels of a fixed share of the rows are random.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    X[:, 1::2] = np.round(X[:, 1::2], 1)
    score = X[:, 0] * X[:, 1] + X[:, 2] + X[:, 3] - np.abs(X[:, 4])
    y = (score > -0.5).astype(np.int64)
    noisy = rng.random(n_rows) < 0.2
    y[noisy] = rng.integers(0, 2, np.count_nonzero(noisy))
    return X, y


def make_sparse(n_rows, n_features=100, density=0.1, seed=0):
    """Words that occur or not; labels from eight of them, with noise."""
    rng = np.random.default_rng(seed)
    X = sp.random_array(
        (n_rows, n_features), density=density, format="csr", dtype=np.float32, rng=rng
    )
    X.data[:] = 1.0
    score = X[:, :4].sum(axis=1) - X[:, 4:8].sum(axis=1)
    return X, (score + rng.normal(size=n_rows) > 0.0).astype(np.int64)


def make_texts(n_rows, n_features, n_words=100, seed=0):
    """Counts of words, few of them frequent (Zipf); labels from fifty, with noise."""
    rng = np.random.default_rng(seed)
    share = np.arange(1, n_features + 1) ** -0.9
    words = rng.choice(n_features, size=(n_rows, n_words), p=share / share.sum())
    texts = np.repeat(np.arange(n_rows), n_words)
    X = sp.coo_array(
        (np.ones(words.size, dtype=np.float32), (texts, words.ravel())),
        shape=(n_rows, n_features),
    ).tocsc()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    score = X[:, 10:35].sum(axis=1) - X[:, 35:60].sum(axis=1)
    score += rng.normal(size=n_rows) / 4
    return X, (score > np.median(score)).astype(np.int64)


def model(source):
    """Make the estimator that a source text describes."""
    names = {}
    exec(source, names)
    return names["make"]()


def sparse_rows(table, X, y, repeats, results):
    """Fit a sparse table with each model; rows of a table."""
    models = {name: model(source) for name, source in MODELS.items()}
    fits = {name: lambda one=one: one.fit(X, y) for name, one in models.items()}
    fits = interleaved(fits, repeats)
    predictions = {name: lambda one=one: one.predict(X) for name, one in models.items()}
    predictions = interleaved(predictions, repeats)
    dense = None if math.prod(X.shape) > WIDE else X.toarray()
    for name, one in models.items():
        seconds = median(fits[name])
        memory = peak_memory(MODELS[name], X, y)
        same = "-"
        if name != RIVAL:
            for work, all_seconds in (("fit", fits), ("predict", predictions)):
                ratio = median(all_seconds[RIVAL]) / median(all_seconds[name])
                results.add(f"{work}, {name}, {table}", ratio)
        if name != RIVAL and dense is not None:
            again = model(MODELS[name]).fit(dense, y)
            same = (again.predict_proba(dense) == one.predict_proba(X)).all()
            same = "yes" if same else "NO"
        yield (
            name,
            f"{one.get_n_leaves():,}",
            f"{seconds:.3f}",
            f"{median(fits[RIVAL]) / seconds:.1f}",
            f"{median(predictions[name]):.4f}",
            "?" if memory is None else f"{memory:.1f}",
            same,
        )


def size_rows(sizes, repeats):
    """Fit tables of different sizes; rows of a table."""
    first = {}
    for n_rows, n_features in sizes:
        X, y = make_table(n_rows, n_features)
        for name, source in MODELS.items():
            if name == RIVAL:
                continue
            tree = model(source)
            if X.size > LARGE:
                start = time.process_time()
                tree.fit(X, y)
                seconds = time.process_time() - start
            else:
                fit = {name: lambda tree=tree, X=X, y=y: tree.fit(X, y)}
                seconds = median(interleaved(fit, repeats)[name])
            memory = peak_memory(source, X, y)
            # seconds / (values * log2 rows) is the same at all sizes if n log n
            rate = seconds / (X.size * math.log2(n_rows))
            first.setdefault(name, rate)
            yield (
                f"{n_rows:,} x {n_features}",
                name,
                f"{tree.get_n_leaves():,}",
                f"{seconds:.2f}",
                f"{rate / first[name]:.2f}",
                f"{X.nbytes / 2**20:.0f}",
                "?" if memory is None else f"{memory:.0f}",
            )


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=("sparse", "size"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep", metavar="FOLDER", help="add ratios to tables.csv")
    options = parser.parse_args()
    facts, results = environment(), Results("tables", options.quick)
    print_environment(facts)
    repeats = 1 if options.quick else options.repeats
    if options.only != "size":
        print_sparse(options, repeats, results)
    if options.only != "sparse":
        print_sizes(options, repeats)
    results.keep(options.keep, facts)


def print_sparse(options, repeats, results):
    """Print a table for each sparse matrix."""
    tables = {}
    if options.data:
        import _data

        X, y, _ = _data.encoded("a9a", _data.data_folder(options.data))
        tables["a9a"] = sp.csr_matrix(X.astype(np.float32)), y
    if options.quick or not tables:
        tables["words"] = make_sparse(2000 if options.quick else 50_000)
    tables["texts"] = make_texts(*((500, 2000) if options.quick else (10_000, 100_000)))
    header = ["model", "leaves", "fit, s", "times faster", "predict, s", "memory, MB"]
    for name, (X, y) in tables.items():
        size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
        n_rows, n_features = X.shape
        share = X.nnz / n_rows / n_features
        shape = f"{n_rows:,} x {n_features:,}"
        print(f"\n{name}, {X.format}: {shape}, {share:.2%} stored, {size:.1f} MB\n")
        print(
            rst_table([*header, "as dense"], sparse_rows(name, X, y, repeats, results))
        )


def print_sizes(options, repeats):
    """Print a table of dense fits."""
    sizes = [(1000, 20), (2000, 20)]
    if not options.quick:
        sizes = [10_000, 100_000, 1_000_000, options.rows]
        sizes = [(n, 20) for n in sizes if n <= options.rows]
        if options.rows >= 1_000_000:
            sizes.append((1_000_000, 100))
    header = ["table", "model", "leaves", "fit, s", "of n log n", "input, MB"]
    print("\nSize\n")
    print(rst_table([*header, "memory, MB"], size_rows(sizes, repeats)))


if __name__ == "__main__":
    main()
