"""What size and sparse tables cost: seconds, and memory beyond the input.

    python benchmarks tables [--data FOLDER] [--rows 5000000] [--only {sparse,size}]

Prints two kinds of tables. Sparse ones beside scikit-learn's tree on the same matrix:
a9a as CSR (made-up words without a folder of real tables), and made-up texts
of 100,000 words as CSC. And fits of dense tables from 1,000 to `--rows` rows, and one
of 100 columns; above 10,000 rows the default does not look ahead. CPU seconds, one
thread, medians of runs that take turns; a fit of more than a million values is timed
once. Memory is the peak beyond what the process held with the input loaded, in a
process of its own.
``--quick`` shrinks the tables to try the script; its figures mean nothing.
"""

import math
import time

import numpy as np
import scipy.sparse as sp
from common import options as command
from common.data import encoded, folder_if_any
from common.generators import make_sparse, make_table, make_texts
from common.ratios import Results
from common.timing import (
    interleaved,
    median,
    peak_memory,
    print_environment,
)

from skconftree.tree._parameters import MAX_LOOKAHEAD_WEIGHT

LARGE = 1_000_000  # values of a table that is fitted once
WIDE = 100_000_000  # places of a sparse table that is not made dense to compare
OURS = "from skconftree import ConfidenceTreeClassifier\n"
SCIKIT = "from sklearn.tree import DecisionTreeClassifier\n"
GREEDY, UNBOUNDED = "``lookahead=0``", "``bound=None``"
MODELS = {
    GREEDY: OURS + "def make(): return ConfidenceTreeClassifier(lookahead=0)",
    "default": OURS + "def make(): return ConfidenceTreeClassifier()",
    UNBOUNDED: OURS + "def make(): return ConfidenceTreeClassifier(bound=None)",
    "scikit-learn": SCIKIT
    + "def make(): return DecisionTreeClassifier(random_state=0)",
}
BASELINE = "scikit-learn"


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
        if name != BASELINE:
            for work, all_seconds in (("fit", fits), ("predict", predictions)):
                ratio = median(all_seconds[BASELINE]) / median(all_seconds[name])
                results.add(f"{work}, {name}, {table}", ratio)
        if name != BASELINE and dense is not None:
            again = model(MODELS[name]).fit(dense, y)
            same = (again.predict_proba(dense) == one.predict_proba(X)).all()
            same = "yes" if same else "NO"
        yield (
            name,
            f"{one.get_n_leaves():,}",
            f"{seconds:.3f}",
            f"{median(fits[BASELINE]) / seconds:.1f}",
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
            has_lookahead = n_rows <= MAX_LOOKAHEAD_WEIGHT
            if name == BASELINE or (name == GREEDY and not has_lookahead):
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
            kind = UNBOUNDED if name == UNBOUNDED else GREEDY
            if name == kind:
                first.setdefault(kind, rate)
            yield (
                f"{n_rows:,} x {n_features}",
                name,
                f"{tree.get_n_leaves():,}",
                f"{seconds:.2g}",
                f"{rate / first[kind]:.2f}",
                f"{X.nbytes / 2**20:.0f}",
                "?" if memory is None else f"{memory:.0f}",
            )


def main(argv=None):
    """Run the parts asked for and show their tables."""
    parser = command.parser(__doc__, "data", "quick", "keep", repeats=5)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--only", choices=("sparse", "size"))
    options = parser.parse_args(argv)
    results = Results("tables", options.quick)
    tables = command.tables("tables", options, f"medians of {options.repeats} runs")
    facts = tables.facts
    print_environment(facts)
    repeats = 1 if options.quick else options.repeats
    if options.only != "size":
        show_sparse(options, repeats, results, tables)
    if options.only != "sparse":
        show_sizes(options, repeats, tables)
    results.keep(options.keep, facts)


def show_sparse(options, repeats, results, tables):
    """Show a table for each sparse matrix."""
    matrices = {}
    folder = folder_if_any(options.data, "made-up words and texts")
    if folder is not None:
        X, y, _ = encoded("a9a", folder)
        matrices["a9a"] = sp.csr_matrix(X.astype(np.float32)), y
    if options.quick or not matrices:
        matrices["words"] = make_sparse(2000 if options.quick else 50_000)
    shape = (500, 2000) if options.quick else (10_000, 100_000)
    matrices["texts"] = make_texts(*shape)
    header = ["model", "leaves", "fit, s", "times faster", "predict, s", "memory, MB"]
    for name, (X, y) in matrices.items():
        size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
        n_rows, n_features = X.shape
        share = X.nnz / n_rows / n_features
        shape = f"{n_rows:,} x {n_features:,}"
        told = f"{name}, {X.format}: {shape}, {share:.2%} stored, {size:.1f} MB"
        rows = list(sparse_rows(name, X, y, repeats, results))
        tables.show(f"tables-{name}", [*header, "as dense"], rows, told)


def show_sizes(options, repeats, tables):
    """Show a table of dense fits."""
    sizes = [(1000, 20), (2000, 20)]
    if not options.quick:
        sizes = [1_000, 10_000, 100_000, 1_000_000, options.rows]
        sizes = [(n, 20) for n in sizes if n <= options.rows]
        if options.rows >= 1_000_000:
            sizes.append((1_000_000, 100))
    header = ["table", "model", "leaves", "fit, s", "of n log n", "input, MB"]
    tables.show("tables-size", [*header, "memory, MB"], list(size_rows(sizes, repeats)))
