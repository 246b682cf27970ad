"""The trees of partykit::ctree for 216 tables, node for node.

Slow: the environment variable SKCONFTREE_CTREE names a folder with a file
``partykit.jsonl.gz``. A line is a table with partykit's tree (1.2.16, R 4.2, default
settings): its columns, the names of the nominal ones, and the nodes with the adjusted
p-value of each variable.
"""

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reference import ctree as reference

from skconftree import ConfidenceTreeClassifier

FOLDER = os.environ.get("SKCONFTREE_CTREE")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(FOLDER is None, reason="SKCONFTREE_CTREE names no folder"),
]
SMALLEST = 1e-12  # p-values below are rounding
DELTA, LEAST = 0.05, 7


class Table:
    """A table, partykit's tree and ours."""

    def __init__(self, line):
        entry = json.loads(line)
        columns, nominal = entry["columns"], entry["nominal"]
        y = columns.pop("y")
        self.names = list(columns)
        self.classes, self.y = np.unique(y, return_inverse=True)
        self.nominal = np.isin(self.names, nominal)
        self.X = np.empty((len(y), len(self.names)))
        self.categories, frame = {}, {}
        for j, (name, column) in enumerate(columns.items()):
            if name in nominal:
                known = sorted({value for value in column if value is not None})
                self.categories[j] = known
                self.X[:, j] = [
                    known.index(v) if v in known else np.nan for v in column
                ]
                frame[name] = pd.Categorical(column)
            else:
                self.X[:, j] = [np.nan if v is None else v for v in column]
                frame[name] = self.X[:, j]
        self.single = self.X.astype(np.float32).astype(float)
        self.nodes = {node["id"]: node for node in entry["nodes"]}
        model = ConfidenceTreeClassifier(
            "ctree",
            min_samples_split=20,
            min_samples_leaf=LEAST,
            pruning=None,
            shrinkage=0,
        ).fit(pd.DataFrame(frame), self.y)
        self.tree = model.tree_
        self.path = model.decision_path(pd.DataFrame(frame)).toarray().astype(bool)

    def sides(self, node, rows):
        """The child of each row in partykit's tree: 1, 2, or 0 if it is random."""
        j = self.names.index(node["variable"])
        x = self.X[rows, j]
        if not self.nominal[j]:
            return np.where(np.isnan(x), 0, np.where(x <= node["threshold"], 1, 2))
        branch = [0 if b is None else b for b in as_list(node["branch"])]
        return np.array([0 if np.isnan(v) else branch[int(v)] for v in x])

    def p_value(self, X, rows, j, m):
        """Adjusted p-value by the definition."""
        ones = np.ones(len(rows))
        log_p, _ = reference.log_pvalue(X[rows, j], self.nominal[j], self.y[rows], ones)
        return reference.adjusted(log_p, m)

    def statistic(self, rows, left):
        """Two-sample statistic of a split."""
        H = reference.indicators(self.y[rows])
        return reference.quadratic(left[:, None] * 1.0, H, np.ones(len(rows)))[0]


def as_list(value):
    return value if isinstance(value, list) else [value]


def is_close(p, q, tolerance=1e-8):
    return max(p, q) <= SMALLEST or abs(p - q) <= tolerance * max(p, q)


def compare(table, node_id, mine, rows, found):
    """Count nodes by how they compare, and compare the children of equal ones."""
    theirs, tree = table.nodes[node_id], table.tree
    p = {}
    if "variables" in theirs:
        values = as_list(theirs["p_bonferroni"])
        p = dict(zip(as_list(theirs["variables"]), values, strict=True))
    for name, value in p.items():  # the definition is partykit's
        j = table.names.index(name)
        if not np.isnan(table.X[rows, j]).any():
            assert is_close(table.p_value(table.X, rows, j, len(p)), value), name
    is_leaf = tree.children_left[mine] < 0
    if "variable" not in theirs:
        if is_leaf:
            found["equal"] += 1
        else:
            found[explained(table, theirs, mine, rows, p)] += 1
        return
    if is_leaf or table.names[tree.feature[mine]] != theirs["variable"]:
        found[explained(table, theirs, mine, rows, p)] += 1
        return
    j = tree.feature[mine]
    sides = table.sides(theirs, rows)
    children = [tree.children_left[mine], tree.children_right[mine]]
    inside = [table.path[rows, child] for child in children]
    first = 0 if np.array_equal(inside[0], sides == 1) else 1
    if not np.array_equal(inside[first], sides == 1) or (sides == 0).any():
        found[explained(table, theirs, mine, rows, p)] += 1
        return
    statistic = tree.evidence["statistic"][mine]
    assert is_close(table.p_value(table.single, rows, j, len(p)), statistic)
    found["equal"] += 1
    for number, child in enumerate(as_list(theirs["children"])):
        below = children[first if number == 0 else 1 - first]
        compare(table, node_id + child - 1, below, rows[sides == number + 1], found)


def explained(table, theirs, mine, rows, p):
    """Why a node differs; an error if there is no reason."""
    tree = table.tree
    j = tree.feature[mine]
    if np.isnan(table.X[rows]).any():
        return "missing values"
    ranked = sorted(p.values())
    if j < 0:
        chosen = p[theirs["variable"]]
        assert is_close(chosen, DELTA, 1e-4)
        return "p-value at the level, in single precision"
    inside = table.path[rows, tree.children_left[mine]]
    smaller = min(inside.sum(), len(rows) - inside.sum())
    if "variable" not in theirs:
        if ranked[0] <= DELTA:
            # partykit has tried the two best variables only
            assert p[table.names[j]] <= DELTA
            return "no admissible split of the two best variables"
        assert is_close(ranked[0], DELTA, 1e-4)
        return "p-value at the level, in single precision"
    chosen = theirs["variable"]
    if table.names[j] != chosen:
        if is_close(p[table.names[j]], p[chosen], 1e-4) or max(ranked[:2]) < SMALLEST:
            return "equal p-values"
        assert p[table.names[j]] < p[chosen]
        return "no admissible split of the two best variables"
    sides = table.sides(theirs, rows)
    ours, other = table.statistic(rows, inside), table.statistic(rows, sides == 1)
    if ours == pytest.approx(other, rel=1e-8):
        return "equally good splits"
    if smaller < 0.01 * len(rows):
        return "smallest child (minprob)"
    assert table.nominal[j], (ours, other)
    assert ours > other
    return "better set of categories"


def test_nodes_are_those_of_partykit():
    found, n_tables = Counter(), 0
    with gzip.open(Path(FOLDER) / "partykit.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            table = Table(line)
            n_tables += 1
            compare(table, 1, 0, np.arange(len(table.y)), found)
    print(found)
    assert n_tables == 216
    assert found["equal"] >= 0.98 * found.total()
