"""Is the number expected by chance the one that noise shows? Nodes without structure.

Each node has ten continuous features and two classes that depend on none of them. The
number of a candidate split is ``A * N * p``, as in the trees, with p of the
likelihood-ratio test by chi-squared. "candidates" is the mean number of candidate
splits of a node whose number is below the limit; it should be at most about the limit.
"nodes" is the share of nodes that have such a candidate, of which the limit is an upper
bound as well. Standard errors are in brackets.

    python benchmarks by_chance
"""

import numpy as np
from common import options as command
from scipy.special import chdtrc, xlogy

FEATURES = 10
LIMITS = (1.0, 0.1, 0.01)
SIZES = (  # rows, share of the rarer class, nodes
    (30, 0.5, 20_000),
    (200, 0.5, 10_000),
    (1_000, 0.5, 4_000),
    (1_000, 0.02, 4_000),
)


def expected_numbers(n_rows, n_rare):
    """Numbers of all candidates that there can be: [rows of the rare class, rows]."""
    left = np.arange(1.0, n_rows)
    rare = np.arange(n_rare + 1.0)[:, np.newaxis]
    cells = np.array(
        np.broadcast_arrays(
            rare, left - rare, n_rare - rare, n_rows - n_rare - left + rare
        )
    )
    possible = (cells >= 0.0).all(axis=0)
    g = 2.0 * (
        xlogy(cells, np.maximum(cells, 1.0)).sum(axis=0)
        - xlogy(left, left)
        - xlogy(n_rows - left, n_rows - left)
        - xlogy(n_rare, n_rare)
        - xlogy(n_rows - n_rare, n_rows - n_rare)
        + xlogy(n_rows, n_rows)
    )
    p = chdtrc(1, np.maximum(g, 0.0))
    return np.where(possible, FEATURES * (n_rows - 1) * p, np.nan)


def numbers(rng, n_rows, share, n_nodes):
    """Yield the numbers of the candidates of each node: [feature, cut]."""
    n_rare = round(share * n_rows)
    table = expected_numbers(n_rows, n_rare)
    labels = np.zeros((FEATURES, n_rows), dtype=np.int64)
    labels[:, :n_rare] = 1
    cuts = np.arange(n_rows - 1)
    for _ in range(n_nodes):
        yield table[rng.permuted(labels, axis=1).cumsum(axis=1)[:, :-1], cuts]


def with_error(values):
    """Mean of values of nodes, and its standard error."""
    mean = np.mean(values)
    error = np.std(values) / np.sqrt(len(values))
    return f"{mean:.2g} ({error:.1g})"


def main(argv=None):
    """Run the study and show its table."""
    parser = command.parser(__doc__, "quick", seed=0)
    options = parser.parse_args(argv)
    tables = command.tables("by_chance", options, f"seed {options.seed}")
    rng = np.random.default_rng(options.seed)
    rows = []
    for n_rows, share, n_nodes in SIZES:
        counts = {limit: [] for limit in LIMITS}
        for found in numbers(rng, n_rows, share, 100 if options.quick else n_nodes):
            for limit, some in counts.items():
                some.append(np.count_nonzero(found < limit))
        for limit, some in counts.items():
            some = np.array(some)
            rows.append(
                [
                    *(f"{n_rows:,}", f"{share:.0%}", f"{limit:g}"),
                    *(with_error(some), with_error(some > 0)),
                ]
            )
    header = ["rows", "rarer class", "expected by chance", "candidates", "nodes"]
    tables.show("by-chance", header, rows)


if __name__ == "__main__":
    main()
