"""How many more rows make a weak split strong? What is estimated, tried on new rows.

A default tree grows from some rows of a large table. For each of its weak splits, the
number of further rows of the node is estimated after which the split would be strong:
the G statistic grows in proportion to the rows, and the limit is its quantile at 0.01
over the multiplicity. "as observed" takes G for the effect. It is too large, since the
split was chosen for it: "less df" subtracts the expectation of G without an effect, and
"less chance" what the best candidate split of the node has by chance (the quantile at 1
over the multiplicity). So many rows of the rest of the table that come to the node are
added to its own; the share of splits that are strong then is given. "too few rows"
counts those for which the rest has not enough rows.

    python benchmarks weak_to_strong --data FOLDER
"""

from collections import defaultdict

import numpy as np
from common import options as command
from common.data import data_folder, encoded, impute, table_names
from scipy.special import xlogy
from scipy.stats import chi2

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import node_table

MIN_ROWS, MAX_ROWS = 4_000, 60_000  # of a table
N_GROWN = (250, 500, 1_000, 2_000)
STRONG = 0.01
MAX_TIMES = 20  # as many rows as the node has; no larger number is given


def g_of(table):
    """The G statistic of a table of branches by classes, and its degrees of freedom."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    parts = [xlogy(part, part).sum() for part in (table, table.sum(0), table.sum(1))]
    g = 2.0 * (parts[0] - parts[1] - parts[2] + xlogy(table.sum(), table.sum()))
    return g, (table.shape[0] - 1) * (table.shape[1] - 1)


def estimates(table, multiplicity):
    """Further rows by each estimate; infinity if there is no effect to speak of."""
    g, df = g_of(table)
    wanted = chi2.isf(STRONG / multiplicity, df)
    chance = chi2.isf(min(1.0 / multiplicity, 1.0), df)
    for name, base in (("as observed", 0.0), ("less df", df), ("less chance", chance)):
        times = (wanted - base) / (g - base) - 1.0 if g > base else np.inf
        yield name, table.sum() * times


def is_strong(table, multiplicity):
    """Whether a split has strong evidence with these rows."""
    g, df = g_of(table)
    return multiplicity * chi2.sf(g, df) < STRONG


def tried(X, y, is_nominal, n, seed):
    """Estimate, further rows, own rows and outcome (None: no rows) of weak splits."""
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order], y[order]
    grown, new = (part.astype(np.float32) for part in impute(X[:n], X[n:], is_nominal))
    tree = ConfidenceTreeClassifier().fit(grown, y[:n])
    label = np.searchsorted(tree.classes_, y[n:]).clip(max=len(tree.classes_) - 1)
    known = tree.classes_[label] == y[n:]
    new, label = new[known], label[known]
    passed = tree.tree_.path(tree.tree_.apply(new)).tocsc()
    counts = tree.tree_.counts
    for row in node_table(tree):
        if not row.branches or row.evidence.level != "weak":
            continue
        children = [branch.node for branch in row.branches]
        own = counts[children]
        arrived = np.concatenate(
            [
                np.stack(
                    [passed[:, [child]].indices, np.full(passed[:, [child]].nnz, z)]
                )
                for z, child in enumerate(children)
            ],
            axis=1,
        )
        arrived = arrived[:, np.argsort(arrived[0])]
        for estimate, more in estimates(own, row.evidence.multiplicity):
            if not more <= MAX_TIMES * row.weight:
                yield estimate, np.inf, row.weight, None
                continue
            more = int(np.ceil(more))
            strong = None
            if arrived.shape[1] >= more:
                places, branch = arrived[:, :more]
                table = own.copy()
                np.add.at(table, (branch, label[places]), 1.0)
                strong = bool(is_strong(table, row.evidence.multiplicity))
            yield estimate, more, row.weight, strong


def main(argv=None):
    """Run the study and show its table."""
    parser = command.parser(__doc__, "data", "quick", seed=0)
    options = parser.parse_args(argv)
    folder = data_folder(options.data)
    tables = command.tables("weak_to_strong", options, f"seed {options.seed}")
    found = defaultdict(list)
    for name in table_names(folder):
        table = encoded(name, folder, MAX_ROWS)
        if len(table[1]) < MIN_ROWS:
            continue
        for n in N_GROWN[: 1 if options.quick else None]:
            for estimate, *one in tried(*table, n, options.seed):
                found[estimate, n].append(one)
                found[estimate, "all"].append(one)
    lines = []
    for (estimate, n), splits in sorted(found.items(), key=str):
        given = [one for one in splits if np.isfinite(one[0])]
        outcomes = [strong for _, _, strong in given if strong is not None]
        times = [more / own for more, own, _ in given]
        lines.append(
            [
                estimate,
                str(n),
                str(len(splits)),
                str(len(splits) - len(given)),
                str(len(given) - len(outcomes)),
                f"{np.median(times):.2f}" if times else "-",
                f"{np.mean(outcomes):.3f}" if outcomes else "-",
            ]
        )
    header = [
        "estimate",
        "rows of the table",
        "weak splits",
        "no number",
        "too few rows",
        "further rows per own, median",
        "strong with them",
    ]
    tables.show("weak-to-strong", header, lines)
