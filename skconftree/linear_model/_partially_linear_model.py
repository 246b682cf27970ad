"""The fitted model of a partially linear tree: tree, terms, coefficients and tests.

The linear *score* is the sum of an intercept, of *terms* (columns or indicators of
categories times coefficients) and of a constant of the leaf. It is dropped if it does
not lower the log loss in a cross-validation. A `schema` has the names and types of the
columns, and reads later rows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from ..tables._labels import Classes
from ..tables._schema import Schema
from ..tree import ConfidenceTreeClassifier
from ..utils._codec import canonical, default_parameters, merge_defaults
from ._logistic import Columns, Rows, Score, probabilities
from ._writing import leaf_note, python_program, score_lines, sql_expression

Z95 = 1.959963984540054  # 97.5% quantile of the normal distribution


class LinearTerm(NamedTuple):
    """One term of the linear score, see `PartiallyLinearTreeClassifier.terms_`."""

    column: Any
    category: Any
    mean: float
    scale: float
    coef: Any
    standard_error: Any
    interval: Any
    odds_ratio: Any
    odds_ratio_sd: Any
    p_value: float


class ScoredLeaf(NamedTuple):
    """The constant of one leaf, see `PartiallyLinearTreeClassifier.leaves_`."""

    node: int
    weight: float
    coef: Any
    standard_error: Any
    p_value: float


@dataclass(eq=False)
class PartiallyLinearModel:
    """A fitted tree, and a linear score with constants of its leaves, unless dropped.

    `columns` is None if the score was dropped. `errors` are the standard errors of all
    coefficients except the intercept. `nodes` are the nodes of the tree that have a
    constant: leaves, or inner nodes whose leaves were merged. `replacement` has, for
    each node of the tree, the node that replaces it after merging, or the node itself.
    `constants` has the constant of each node. In methods, `coded` are the rows `X` with
    integers instead of categories.
    """

    schema: Schema
    classes: Classes
    tree: ConfidenceTreeClassifier
    score: Score
    cv_log_loss: tuple = (np.nan, np.nan)
    columns: Columns | None = None
    errors: Any = None
    p_of_terms: Any = None
    p_of_leaves: Any = None
    nodes: Any = None
    weight_of_leaves: Any = None
    replacement: Any = None
    constants: Any = None

    @property
    def n_rows_seen(self):
        """Number of rows learned."""
        return self.tree.n_rows_seen_

    @property
    def linear_features(self):
        """Indices of the columns in the score."""
        if self.columns is None:
            return np.empty(0, dtype=np.intp)
        return np.unique(self.columns.column)

    def values(self, X, coded):
        """Terms, nodes of the tree, and scores of rows."""
        terms = self.columns.transform(coded.tocsr() if issparse(coded) else coded)
        nodes = self.tree.apply(X)
        values = terms @ self.score.coef.T + self.constants[nodes]
        return terms, nodes, values + self.score.intercept

    def proba(self, X, coded):
        """Class probabilities of rows."""
        if self.columns is None:
            return self.tree.predict_proba(X)
        return probabilities(self.values(X, coded)[2], len(self.classes))

    def category(self, term):
        """Category of a term of a nominal column; None is that of missing values."""
        if term.column not in self.columns.nominal or term.category == "infrequent":
            return term.category
        names = self.schema.categories[term.column]
        if np.isnan(term.category) or not 0 <= int(term.category) < len(names):
            return None
        return _to_python(names[int(term.category)])

    @property
    def terms(self):
        """Describe the terms, see `PartiallyLinearTreeClassifier.terms_`."""
        return [
            self._describe_term(k, term)
            for k, term in enumerate([] if self.columns is None else self.columns.terms)
        ]

    def _describe_term(self, k, term):
        category = self.category(term)
        if category is None and term.column in self.columns.nominal:
            category = "missing"
        coef, error = self.score.coef[:, k], self.errors[:, k]
        interval = np.column_stack([coef - Z95 * error, coef + Z95 * error])
        with np.errstate(over="ignore"):
            odds_ratios = np.exp(coef / term.scale), np.exp(coef)
        return LinearTerm(
            _to_python(self.schema.columns[term.column]),
            category,
            term.mean,
            term.scale,
            *map(_single, (coef, error, interval, *odds_ratios)),
            float(self.p_of_terms[k]),
        )

    @property
    def leaves(self):
        """Describe the leaves, see `PartiallyLinearTreeClassifier.leaves_`."""
        if self.columns is None:
            return []
        q = self.score.coef.shape[1]
        return [
            ScoredLeaf(
                int(node),
                float(self.weight_of_leaves[k]),
                _single(self.score.leaf_coef[:, k]),
                _single(self.errors[:, q + k]),
                float(self.p_of_leaves[k]),
            )
            for k, node in enumerate(self.nodes)
        ]

    # What `skconftree.tree` needs to print the model and to write it as a program. Its
    # objects `python` and `sql` write names and values in these languages.

    @property
    def has_score(self):
        """Whether there is a linear score."""
        return self.columns is not None

    def score_lines(self, feature_names, class_names, decimals, width):
        """Describe the score in lines of text."""
        terms = self.terms
        if feature_names is not None:
            terms = [
                term._replace(column=feature_names[own.column])
                for term, own in zip(terms, self.columns.terms, strict=True)
            ]
        return score_lines(self, terms, class_names, decimals, width)

    def leaf_notes(self, decimals):
        """Describe the constant of each leaf, by its node."""
        return {leaf.node: leaf_note(leaf, decimals) for leaf in self.leaves}

    def python_program(self, python, classes, name, leaf_function):
        """Write the score and its leaves as a Python function of a row."""
        return python_program(self, python, classes, name, leaf_function)

    def sql_expression(self, sql, k, leaf_expression):
        """Write the probability of a class as an SQL expression."""
        return sql_expression(self, sql, k, leaf_expression)

    def state(self):
        """Serialize to a dict of arrays, plain values and parameter objects."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        state["schema"], state["classes"] = self.schema.state(), self.classes.names
        state["tree"] = self.tree.__getstate__()
        state["score"] = self.score._asdict()
        state["columns"] = None if self.columns is None else self.columns._asdict()
        return canonical(state)  # equal states have equal pickles

    @classmethod
    def of_state(cls, state, owner):
        """Restore a model from its serialized state; errors name `owner`."""
        what = "The state of a partially linear tree"
        state = merge_defaults(state, default_parameters(cls), what)
        tree = ConfidenceTreeClassifier()
        tree.__setstate__(state["tree"])
        state |= {
            "schema": Schema.of_state(state["schema"], owner),
            "classes": Classes(state["classes"]),
            "tree": tree,
            "score": Score(**state["score"]),
        }
        if state["columns"] is not None:
            state["columns"] = Columns(**state["columns"])
        return cls(**state)


class TreeLeaves:
    """The leaves of a fitted tree, or the inner nodes that replace merged leaves.

    `nodes` are these nodes. `index` has, for each node of the tree, the index in
    `nodes` of it or its replacement, and -1 for other inner nodes. `leaves` has the
    index in `nodes` of each row. `ends` are the nodes at which rows stop, None: leaves.
    """

    def __init__(self, tree, nodes_of_rows, weight, ends=None):
        self.tree, self.nodes_of_rows, self.weight = tree, nodes_of_rows, weight
        parent = np.asarray(tree.parent)
        # a child has a larger index than its parent
        is_inner = np.zeros(tree.node_count, dtype=bool)
        is_inner[parent[1:]] = True
        self.replacement = np.arange(tree.node_count)  # replacement of each node
        if ends is not None:
            is_inner[ends] = False
            for node in range(1, tree.node_count):
                above = self.replacement[parent[node]]
                if above != parent[node] or not is_inner[parent[node]]:
                    self.replacement[node] = above
        reached = np.zeros(tree.node_count, dtype=bool)
        # rows with a category that no branch takes stay at an inner node
        reached[self.replacement[nodes_of_rows]] = True
        is_end = (self.replacement == np.arange(tree.node_count)) & (
            ~is_inner | reached
        )
        self.nodes = np.flatnonzero(is_end)
        self.index = np.full(tree.node_count, -1)
        self.index[self.nodes] = np.arange(len(self.nodes))
        self.index = self.index[self.replacement]
        self.leaves = self.index[nodes_of_rows]
        self.parent, self.is_inner = parent, is_inner

    def rows(self, terms, y, n_classes):
        """Rows of a logistic regression on terms and these leaves."""
        n_leaves = len(self.nodes)
        return Rows(terms, self.leaves, y, self.weight, n_leaves, n_classes)

    def families(self):
        """Map each inner node whose children are all leaves to the leaves' indices."""
        children: dict[int, list[int]] = {}
        for node in range(1, self.tree.node_count):
            if self.replacement[node] == node:
                children.setdefault(int(self.parent[node]), []).append(node)
        return {
            parent: self.index[nodes].tolist()
            for parent, nodes in children.items()
            if not self.is_inner[nodes].any() and self.index[parent] < 0
        }

    def merged(self, parents):
        """Return the leaves after merging those below some nodes."""
        ends = [*np.flatnonzero(~self.is_inner), *parents]
        return TreeLeaves(self.tree, self.nodes_of_rows, self.weight, ends)

    def constants(self, leaf_coef):
        """Return the constant of each node; of an inner one, the mean of its leaves."""
        n = self.tree.node_count
        weight = np.zeros(n)
        total = np.zeros((n, len(leaf_coef)))
        own = np.bincount(self.leaves, self.weight, len(self.nodes))
        weight[self.nodes] = own
        total[self.nodes] = leaf_coef.T * own[:, None]
        for node in range(n - 1, 0, -1):
            if self.replacement[node] == node:
                weight[self.parent[node]] += weight[node]
                total[self.parent[node]] += total[node]
        constants = total / np.maximum(weight, 1e-300)[:, None]
        ends = self.index >= 0
        constants[ends] = leaf_coef.T[self.index[ends]]
        return constants


def _single(values):
    # If there is only one row of the score, return its entry, as a float or a tuple.
    if len(values) > 1:
        return values
    value = values[0]
    return float(value) if np.ndim(value) == 0 else tuple(map(float, value))


def _to_python(value):
    return value.item() if isinstance(value, np.generic) else value
