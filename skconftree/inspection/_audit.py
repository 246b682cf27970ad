"""`audit_splits`: test the splits of a tree on held-out rows.

The *table* of a split has the number of held-out rows by branch and class. Its margins
are the sums by branch and by class. A split is confirmed if the test of independence of
branch and class is significant at the *level*, the p-value that it must not exceed,
which the correction for multiple comparisons assigns to it. A *distilled* tree is
fitted to the predictions of a classifier; it has the attribute `fidelity_`. An
*e-value* is a measure of evidence, such as a likelihood ratio, that remains valid when
rows are added. Functions decorated by `reads_argument` take the lock of a tree for
reading.
"""

from __future__ import annotations

import math
from collections import Counter
from numbers import Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix, issparse
from scipy.special import gammaln, xlogy
from scipy.stats import random_table
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from ..bounds import chi2_pvalue, fisher_pvalue, log_evalue
from ..tree import ConfidenceTreeClassifier, node_table
from ..utils import (
    NO_DEFAULT,
    VERSION,
    check_state_parts,
    is_missing,
    merge_defaults,
    reads_argument,
    warn,
    with_version,
    written_by,
)
from ..utils._types import Estimator, Floats, LabelsLike, Seed, TableLike


def countable(least, alpha):
    """Return a mask of the tests that can be significant after correction (Tarone).

    `least` is the smallest attainable p-value of each test. The correction uses the
    smallest k such that at most k tests can reach alpha / k, and only counts these
    tests.
    """
    ordered = np.sort(least)
    for k in range(1, len(ordered) + 1):
        if np.searchsorted(ordered, alpha / k, side="right") <= k:
            return least <= alpha / k
    return np.zeros(len(least), bool)


def holm(p, alpha):
    """Return the level of each p-value in the step-down procedure of Holm."""
    m = len(p)
    levels = np.empty(m)
    n_left = m
    for i in np.argsort(p, kind="stable"):
        levels[i] = alpha / n_left
        if p[i] <= alpha / n_left and n_left > 1:
            n_left -= 1
    return levels


def holm_pvalues(p):
    """Return p-values adjusted for their number by the procedure of Holm."""
    p = np.asarray(p)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def top_down(p, is_tested, parent, alpha):
    """Return the level of each split in the inheritance procedure (Goeman and Finos).

    A split is tested after its ancestors are confirmed. The root has the level
    alpha. A confirmed split passes its level on to the splits below it, in proportion
    to the number of splits below each branch. If all splits below a branch are
    confirmed, its share goes to its siblings. Splits that are not tested pass their
    level on. `parent` is the index of the parent of each split, -1 for the root;
    parents come before their children.
    """
    n = len(p)
    size = np.ones(n)
    for split in range(n - 1, 0, -1):
        size[parent[split]] += size[split]
    levels, confirmed = np.zeros(n), np.zeros(n, bool)
    while True:
        current = _inherited_levels(~is_tested | confirmed, size, parent, alpha)
        levels[~confirmed] = current[~confirmed]
        more = is_tested & ~confirmed & (levels > 0.0) & (p <= levels)
        if not more.any():
            return levels
        confirmed |= more


def _inherited_levels(passes_on, size, parent, alpha):
    # Splits of the mask `passes_on` pass their level on to the splits below. Such a
    # split is finished, and gets no level, if all splits below it are finished.
    n = len(size)
    is_finished = passes_on.copy()
    for split in range(n - 1, 0, -1):
        if not is_finished[split]:
            is_finished[parent[split]] = False
    below = np.zeros(n)
    for split in range(1, n):
        if not is_finished[split]:
            below[parent[split]] += size[split]
    levels = np.zeros(n)
    if n:
        levels[0] = alpha
    for split in range(1, n):
        above = parent[split]
        if passes_on[above] and not is_finished[split]:
            levels[split] = levels[above] * size[split] / below[above]
    return levels


EXACT, CHI2, DRAWN = "exact", "chi-squared", "permutations"  # methods
DRAWS = 9_999  # minimum number of random tables
DRAWS_PER_LEVEL = 10  # expected number of draws with a p-value up to the level
MAX_DRAWS = 1_000_000
CELLS_AT_ONCE = 4_000_000  # of random tables in memory
# Cochran's rule for chi-squared: all expected counts are at least 1, and a share of at
# least LARGE_SHARE of them is at least LARGE.
LARGE, LARGE_SHARE = 5.0, 0.8
# With more classes, there are too many extreme tables to enumerate.
MAX_CLASSES = 10
NEGLIGIBLE = 1e-15  # p-values below this need not be exact
ROUNDING = 1e-7  # tolerance of log probabilities


class TestResult(NamedTuple):
    """P-value of a table, and the method; None if there was nothing to test."""

    p: float
    method: str | None


def margins(table):
    """Return the numbers of rows of the branches and classes that have any."""
    branches, classes = table.sum(axis=1), table.sum(axis=0)
    return branches[branches > 0.0], classes[classes > 0.0]


def pvalue_of(table, level, rng):
    """Test independence exactly, by chi-squared, or by random tables.

    `level` determines the number of random tables, which `rng` draws.
    """
    branches, classes = margins(table)
    if len(branches) < 2 or len(classes) < 2:
        return TestResult(1.0, None)
    p = float(fisher_pvalue(table))
    if p == p:  # NaN if there are too many tables to enumerate
        return TestResult(p, EXACT)
    expected = np.outer(branches, classes) / branches.sum()
    if expected.min() >= 1.0 and (expected >= LARGE).mean() >= LARGE_SHARE:
        return TestResult(float(chi2_pvalue(table)), CHI2)
    return TestResult(drawn_pvalue(table, level, rng), DRAWN)


def drawn_pvalue(table, level, rng):
    """Return the share of random tables that are at most as likely as this table.

    With these margins, a table's probability decreases in the sum of log(cell!).
    """
    branches, classes = margins(table)
    n_draws = int(min(max(DRAWS, np.ceil(DRAWS_PER_LEVEL / level)), MAX_DRAWS))
    observed = gammaln(table + 1.0).sum()
    limit = observed - ROUNDING
    tables = random_table(branches.astype(int), classes.astype(int))
    at_once = max(CELLS_AT_ONCE // (len(branches) * len(classes)), 1)
    n_extreme, n_left = 0, n_draws
    while n_left:
        n = min(at_once, n_left)
        drawn = tables.rvs(n, random_state=rng)
        n_extreme += int((gammaln(drawn + 1.0).sum(axis=(1, 2)) >= limit).sum())
        n_left -= n
    return (n_extreme + 1.0) / (n_draws + 1.0)


def least_pvalue(table):
    """Return the smallest p-value of tables with these margins, or a lower bound."""
    branches, classes = margins(table)
    if len(branches) < 2 or len(classes) < 2:
        return 1.0
    # the probability of a table is exp(scale - sum of log(cell!))
    scale = (
        gammaln(branches + 1.0).sum()
        + gammaln(classes + 1.0).sum()
        - gammaln(branches.sum() + 1.0)
    )
    if len(classes) == 2:
        branches, classes = classes, branches
    if len(branches) == 2 and len(classes) <= MAX_CLASSES:
        extreme, cells = _extreme_of_two(branches, classes)
        p = float(np.exp(scale - cells))
        if p > NEGLIGIBLE:  # other tables may be equally unlikely
            exact = float(fisher_pvalue(extreme))
            p = exact if exact == exact else p
        return min(p, 1.0)
    cells = min(
        gammaln(filled + 1.0).sum()
        for filled in (_filled(branches, classes), _filled(classes, branches))
    )
    return float(min(np.exp(scale - cells), 1.0))


def _extreme_of_two(branches, classes):
    # Return the least likely table of two branches with these margins, and its sum of
    # log(cell!). The sum is convex: its maximum is at a vertex, where all classes
    # except one are completely in one of the branches. `is_whole` marks the classes in
    # the first branch, and `part` are the rows of the divided class in it.
    k = len(classes)
    is_whole = (np.arange(2**k)[:, np.newaxis] >> np.arange(k)) & 1 == 1
    rest = branches[0] - is_whole @ classes
    part = np.where(is_whole, -1.0, rest[:, np.newaxis])
    possible = (part >= 0.0) & (part <= classes)
    part = np.where(possible, part, 0.0)
    gain = (
        gammaln(part + 1.0)
        + gammaln(np.maximum(classes - part, 0.0) + 1.0)
        - gammaln(classes + 1.0)
    )
    gain[~possible] = -np.inf
    vertex, divided = np.unravel_index(gain.argmax(), gain.shape)
    first = np.where(is_whole[vertex], classes, 0.0)
    first[divided] = part[vertex, divided]
    largest = gammaln(classes + 1.0).sum() + gain[vertex, divided]
    return np.stack([first, classes - first]), largest


def _filled(rows, columns):
    # Cells if each row of the table is filled from its largest column on, regardless
    # of the other rows. This majorizes any table with these margins, so its sum of
    # log(cell!) is an upper bound.
    before = np.concatenate([[0.0], np.cumsum(np.sort(columns)[::-1])])
    return np.diff(np.minimum(before, rows[:, np.newaxis]), axis=1)


MAX_WEIGHT = 2.0**53  # floats represent all integers up to this
MAX_SHOWN = 5  # values in a message


class TreeShape:
    """Nodes and splits of a fitted tree, of this package or of scikit-learn.

    `children` has the children of each node, and `tests` the arrays by which two trees
    of the same structure differ if they have different splits.
    """

    def __init__(self, estimator):
        final = _final(estimator)
        tree = final.tree_
        is_distilled = hasattr(final, "fidelity_")
        self._set_structure(_children(tree), final.classes_, is_distilled, _tests(tree))

    def _set_structure(self, children, classes, is_distilled, tests):
        self.children = children
        self.classes, self.is_distilled, self.tests = classes, is_distilled, tests
        self.parent = np.full(len(self.children), -1)
        self.depth = np.zeros(len(self.children), np.intp)
        self.order = []  # parents before children, from the left
        stack = [0]
        while stack:
            node = stack.pop()
            self.order.append(node)
            below = self.children[node]
            self.parent[below] = node
            self.depth[below] = self.depth[node] + 1
            stack += below[::-1]
        self.splits = [node for node in self.order if self.children[node]]

    def state(self):
        """Return what is pickled, as plain values and arrays."""
        return {
            "children": self.children,
            "classes": self.classes,
            "is_distilled": self.is_distilled,
            "tests": self.tests,
        }

    @classmethod
    def of_state(cls, state):
        """Create a shape from a state; None unless each node has one earlier parent."""
        children = state["children"]
        below = [
            (node, child) for node in range(len(children)) for child in children[node]
        ]
        if sorted(child for _, child in below) != list(range(1, len(children))) or any(
            node >= child for node, child in below
        ):
            return None
        shape = cls.__new__(cls)
        shape._set_structure(**state)
        return shape

    def is_of(self, estimator):
        """Whether an estimator, or the last step of a pipeline, is an equal tree."""
        other = TreeShape(estimator)
        return (
            self.children == other.children
            and np.array_equal(self.classes, other.classes)
            and len(self.tests) == len(other.tests)
            and all(
                np.array_equal(ours, theirs, equal_nan=True)
                for ours, theirs in zip(self.tests, other.tests, strict=True)
            )
        )


def _final(estimator):
    # The tree at the end of a pipeline, or the estimator itself; raises an error if it
    # is not a fitted tree.
    final = estimator
    while isinstance(final, Pipeline):
        final = final[-1]
    if isinstance(final, type) or not (
        hasattr(final, "decision_path") and is_classifier(final)
    ):
        raise TypeError(
            "tree must be a fitted tree classifier of skconftree or scikit-learn, or a "
            f"Pipeline that ends in one. Got {final!r} instead."
        )
    check_is_fitted(final)
    if not hasattr(final, "tree_"):
        raise TypeError(
            "tree must be a single tree. Audit the trees of a forest separately, by "
            f"its estimators_. Got {type(final).__name__} instead."
        )
    if getattr(final, "n_outputs_", 1) > 1:
        raise ValueError(
            f"tree must have one output. Got a tree with {final.n_outputs_} outputs."
        )
    return final


def _children(tree):
    if hasattr(tree, "children"):  # a tree of this package
        return [tree.children(node).tolist() for node in range(tree.node_count)]
    pairs = zip(tree.children_left.tolist(), tree.children_right.tolist(), strict=True)
    return [[] if left < 0 else [left, right] for left, right in pairs]


def _tests(tree):
    # See `TreeShape`.
    names = ("feature", "threshold", "centroids")
    return [np.asarray(getattr(tree, name)) for name in names if hasattr(tree, name)]


def stored_counts(estimator):
    """Return the counts of held-out rows per node and class that a tree has stored.

    They are its `honest_counts_`, which the method `recount_leaves` has counted.
    """
    final = _final(estimator)
    counts = getattr(final, "honest_counts_", None)
    if counts is None:
        raise ValueError(
            "Without X_new and y_new an audit uses the held-out rows of "
            f"recount_leaves, and this {type(final).__name__} has none. Pass new "
            "rows, or call recount_leaves of a ConfidenceTreeClassifier first."
        )
    if (counts != np.floor(counts)).any():
        raise ValueError(
            "The rows that recount_leaves has counted had fractional weights. An audit "
            "needs integer frequencies."
        )
    return np.array(counts)


def count_rows(estimator, shape, X, y, sample_weight):
    """Return the number of new rows per node and class."""
    check_consistent_length(X, y)
    codes = class_codes(y, shape.classes, "tree")
    weight = _frequencies(sample_weight, len(codes))
    final, rows = estimator, X
    while isinstance(final, Pipeline):
        if len(final) > 1:
            rows = final[:-1].transform(rows)
        final = final[-1]
    path = final.decision_path(rows)
    _refuse_unknown_categories(final, shape, path, rows)
    is_class = csr_matrix(
        (weight, (np.arange(len(codes)), codes)), (len(codes), len(shape.classes))
    )
    return np.asarray((path.T.astype(np.float64) @ is_class).todense())


def class_codes(y, classes, owner):
    """Return the index of each label; `owner` has the classes, for the error."""
    labels = np.asarray(y)
    if labels.ndim != 1 and labels.shape[1:] != (1,):
        raise ValueError(
            f"y_new must have one label per row. Got an array of shape {labels.shape}."
        )
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array(
        [code_of.get(label, -1) for label in labels.ravel().tolist()], np.intp
    )
    if (codes < 0).any():
        others = labels.ravel()[codes < 0].tolist()
        # NaN differs from any other NaN, but is shown once
        others = {repr(label): label for label in others}.values()
        raise ValueError(
            f"y_new has labels that the {owner} does not know: {_some(others)}. Its "
            f"classes are {_some(classes.tolist())}."
        )
    return codes


def _some(values):
    values = list(values)
    more = f" and {len(values) - MAX_SHOWN} more" if len(values) > MAX_SHOWN else ""
    return f"{', '.join(map(repr, values[:MAX_SHOWN]))}{more}"


def float_weights(sample_weight, n_rows):
    """Return weights as an array of floats, 1 for None; the values are not checked."""
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weight = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "sample_weight must be an array of numbers. Got "
            f"{type(sample_weight).__name__}: {error}."
        ) from error
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have shape ({n_rows},), one weight per row. Got shape "
            f"{weight.shape}."
        )
    return weight


def _frequencies(sample_weight, n_rows):
    # Validate weights, which have to be integers.
    if sample_weight is None:
        return np.ones(n_rows)
    weight = float_weights(sample_weight, n_rows)
    is_valid = np.isfinite(weight) & (weight >= 0.0) & (weight == np.floor(weight))
    if not is_valid.all():
        raise ValueError(
            "sample_weight of an audit must be frequencies, integers of at least 0: a "
            f"row of weight 2 counts as two rows. Got {weight[~is_valid][0]:g}."
        )
    if not 0.0 < weight.sum() <= MAX_WEIGHT:
        raise ValueError(
            "sample_weight must have a sum above 0 and of at most 2**53. Got "
            f"{weight.sum():g}."
        )
    return weight


def _refuse_unknown_categories(final, shape, path, X):
    # A row stays at a node that has no branch for its category. This can happen with
    # known categories; categories that the tree has never seen are an error.
    is_inner = np.zeros(len(shape.children))
    is_inner[shape.splits] = 1.0
    is_leaf = 1.0 - is_inner
    stays = np.flatnonzero(path @ is_leaf == 0.0)
    categories = getattr(final, "categories_", None)
    if categories is None or not len(stays):
        return
    values = X[stays].toarray() if issparse(X) else np.asarray(X, dtype=object)[stays]
    names = getattr(final, "feature_names_in_", range(values.shape[1]))
    for name, known, column in zip(names, categories, values.T, strict=True):
        if known is None:
            continue
        known = set(known)
        unknown = [
            value for value in column if not is_missing(value) and value not in known
        ]
        if unknown:
            raise ValueError(
                f"Column {name!r} of X_new has categories that the tree does not know: "
                f"{_some(dict.fromkeys(unknown))}. Leave their rows out: a split has "
                "no branch for them."
            )


def warn_of_training_rows(estimator, counts):
    """Warn if the counts per node and class are equal to those of the training rows."""
    final = _final(estimator)
    tree = final.tree_
    if hasattr(tree, "counts"):  # a tree of this package
        training = tree.counts
    elif final.class_weight is None:
        training = np.rint(
            tree.value[:, 0] * tree.weighted_n_node_samples[:, np.newaxis]
        )
    else:  # unknown with class weights
        return
    if len(counts) > 1 and np.array_equal(training, counts):
        warn(
            "In every node, X_new has as many rows of each class as the tree itself: "
            "these seem to be its training rows, which confirm any split, because the "
            "splits were chosen on them. Pass held-out rows."
        )


CONFIRMED, NOT_CONFIRMED = "confirmed", "not confirmed"
INSUFFICIENT_ROWS = "too few rows"
VERDICTS = (CONFIRMED, NOT_CONFIRMED, INSUFFICIENT_ROWS)
E_VALUE = "e-value"
CORRECTIONS = {
    "holm": "for all splits together (Holm)",
    "top-down": "for all splits together, from the root down",
    None: "for each split by itself",
}
NAMES_OF_TESTS = {
    EXACT: "exact given the margins",
    CHI2: "chi-squared where there are too many tables",
    DRAWN: "random tables where chi-squared would not hold",
}
WIDTH = 100  # characters per line
MAX_LINES = 40  # of splits in text
LARGEST_LOG = 690.0  # of an e-value that is printed exactly, about 1e299


class AuditedSplit(NamedTuple):
    """Result of the test of one split on new rows, see `SplitAudit`."""

    node: int
    depth: int
    test: str | None
    counts: tuple
    n_rows: int
    verdict: str
    p_value: float
    log_e: float
    level: float
    least_p: float
    method: str | None


class SplitAudit:
    """Result of testing each split of a tree on held-out rows.

    Created by :func:`~skconftree.inspection.audit_splits`. ``print(audit)`` shows the
    splits in the order of the tree. `export_text`, `export_html`, `explain_text` and
    :class:`~skconftree.inspection.ConfidenceTreeDisplay` mark the splits of a tree of
    this package with the verdicts if the audit is passed as ``audit=``.

    Parameters
    ----------
    tree : estimator
        The tree, or a pipeline that ends in it. It is stored for `update`.
    counts : ndarray of shape (n_nodes, n_classes)
        Number of new rows per node and class.
    alpha : float
        Significance level, see :func:`~skconftree.inspection.audit_splits`.
    correction : {"holm", "top-down"} or None
        Correction for multiple comparisons.
    anytime : bool
        Whether to use e-values, which remain valid when rows are added.
    random_state : int, RandomState instance or None
        Seed of random tables.

    Attributes
    ----------
    splits_ : list of NamedTuple
        The splits, parents before children, from the left, each with

        - ``node``, ``depth`` and ``test``, as text (None for a split by class means);
        - ``counts``: the table of new rows, one tuple per branch, one number per class;
          ``n_rows``, their sum;
        - ``verdict``: ``"confirmed"``, ``"not confirmed"`` or ``"too few rows"``;
        - ``p_value`` and the ``level`` that it must not exceed. The level is 0 if the
          top-down procedure did not reach the split. With ``anytime=True``, ``p_value``
          is the inverse of the e-value, at most 1;
        - ``log_e``: the natural logarithm of the e-value, NaN without ``anytime=True``;
        - ``least_p``: a lower bound of the p-values of all tables with these margins;
        - ``method``: ``"exact"``, ``"chi-squared"``, ``"permutations"``,
          ``"e-value"``, or None if there was nothing to test.
    share_confirmed_ : float
        Share of confirmed splits among those with enough rows; NaN if there are none.
    n_rows_ : int
        Number of new rows.
    counts_ : ndarray of shape (n_nodes, n_classes)
        Number of new rows per node and class.

    See Also
    --------
    audit_splits : Creates the audit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.inspection import audit_splits
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(max_depth=2).fit(X[::3], y[::3])
    >>> audit = audit_splits(tree, X[1::3], y[1::3], anytime=True)
    >>> audit
    <SplitAudit of 2 splits: 2 confirmed, 0 not confirmed, 0 too few rows>
    >>> before = audit.splits_[0].log_e
    >>> audit.update(X[2::3], y[2::3]).splits_[0].log_e > before
    True
    """

    def __init__(
        self,
        tree: Estimator,
        counts: Floats,
        *,
        alpha: float,
        correction: Literal["holm", "top-down"] | None,
        anytime: bool,
        random_state: Seed,
    ) -> None:
        self.tree = tree
        self.alpha = alpha
        self.correction = correction
        self.anytime = anytime
        self.random_state = random_state
        self._shape = TreeShape(tree)
        self._split_texts = _split_texts(tree, self._shape)
        self._set_verdicts(counts)

    def __getstate__(self):
        return with_version(vars(self) | {"_shape": self._shape.state()})

    def __setstate__(self, state):
        with written_by(state.get(VERSION)):
            # errors name the version that wrote the state; it must have all names
            known = dict.fromkeys([*STATE_NAMES, VERSION], NO_DEFAULT)
            state = merge_defaults(state, known, "The state of an audit")
            shape = TreeShape.of_state(state["_shape"])
            # raises an error if the value is False
            check_state_parts(self, {"_shape": shape is not None})
            state = {name: state[name] for name in STATE_NAMES} | {"_shape": shape}
        vars(self).update(state)

    def update(
        self,
        X_new: TableLike,
        y_new: LabelsLike,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add further held-out rows and update the verdicts.

        Parameters
        ----------
        X_new : array-like, sparse or frame of shape (n_samples, n_features)
            Rows that neither the tree nor this audit has seen.
        y_new : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Frequencies of the rows.

        Returns
        -------
        SplitAudit
            The audit itself.

        Raises
        ------
        ValueError
            If the audit was not made with ``anytime=True``: p-values are not valid
            if they are computed again after each batch of rows.
        """
        if not self.anytime:
            raise ValueError(
                "This audit has a fixed number of rows: p-values that are computed "
                "again as rows are added are not valid. Pass anytime=True to "
                "audit_splits to add rows."
            )
        counts = _further_counts(self.tree, self._shape, X_new, y_new, sample_weight)
        self._set_verdicts(self.counts_ + counts)
        return self

    def to_frame(self) -> Any:
        """Return the splits as a pandas frame, one row each.

        Returns
        -------
        pandas.DataFrame
            The fields of `splits_`, by node.
        """
        import pandas as pd

        frame = pd.DataFrame(self.splits_, columns=AuditedSplit._fields)
        return frame.set_index("node")

    @reads_argument
    def marks(self, tree: Estimator) -> dict[Any, Any]:
        """Return the verdict on each split and its evidence, as text.

        Parameters
        ----------
        tree : estimator
            The tree that was audited, or a copy of it.

        Returns
        -------
        dict of int to (str, str)
            Node to verdict, and to the p-value or e-value and number of rows.
        """
        if not self._shape.is_of(tree):
            raise ValueError(
                "audit must be an audit of this tree as it is now. Got one of another "
                "tree, or from before the tree grew."
            )
        return {
            split.node: (split.verdict, self._reason(split)) for split in self.splits_
        }

    @property
    def legend(self) -> str:
        """Lines of text that explain the marks."""
        return [
            f"audit: {_rows(self.n_rows_)}, level {self.alpha:g} "
            f"{CORRECTIONS[self.correction]}",
            "not confirmed does not mean false: such rows may occur by chance",
            *self._distilled(),
        ]

    def _distilled(self):
        if not self._shape.is_distilled:
            return []
        return ["distilled: labels that the classifier was trained on are not held out"]

    def __repr__(self):
        counts = Counter(split.verdict for split in self.splits_)
        summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
        return f"<SplitAudit of {len(self.splits_)} splits: {summary}>"

    def __str__(self):
        n = len(self.splits_)
        if not n:
            return f"The tree has no split to audit by {_rows(self.n_rows_)}."
        counts = Counter(split.verdict for split in self.splits_)
        summary = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in VERDICTS)
        splits = "1 split" if n == 1 else f"{n:,} splits"
        lines = [
            f"{splits}, {_rows(self.n_rows_)}: {summary}",
            f"level {self.alpha:g} {CORRECTIONS[self.correction]}; {self._tests()}",
            *self._distilled(),
            "",
        ]
        for split in self.splits_[:MAX_LINES]:
            verdict = f"{split.verdict} ({self._reason(split)})"
            lead = "  " * min(split.depth, 14)
            label = f"node {split.node}" if split.test is None else split.test
            n_left = WIDTH - len(lead) - len(verdict) - 2
            if len(label) > n_left:
                label = f"{label[: max(n_left, 12) - 3]}..."
            lines.append(f"{lead}{label}: {verdict}")
        if n > MAX_LINES:
            lines.append(f"and {n - MAX_LINES:,} more splits, see to_frame()")
        lines += [
            "",
            "not confirmed: these rows are compatible with equal class shares in all "
            "branches; that does",
            "not make the split false. too few rows: even the most extreme table of "
            "such margins could",
            "not confirm it.",
        ]
        return "\n".join(lines)

    def _tests(self):
        if self.anytime:
            return "e-values: 1/e is a p-value, valid whenever rows are added"
        used = {split.method for split in self.splits_}
        names = [name for test, name in NAMES_OF_TESTS.items() if test in used]
        return f"tests {', '.join(names)}" if names else "nothing could be tested"

    def _reason(self, split):
        if split.method is None or split.verdict == INSUFFICIENT_ROWS:
            return _rows(split.n_rows)
        evidence = f"p = {split.p_value:.2g}"
        if self.anytime:
            evidence = f"e = {_write_e(split.log_e)}"
        unreached = ", a split above is not confirmed" if split.level == 0.0 else ""
        return f"{evidence}, {_rows(split.n_rows)}{unreached}"

    def _set_verdicts(self, counts):
        shape = self._shape
        tables = [counts[shape.children[node]] for node in shape.splits]
        results = self._by_evidence(tables) if self.anytime else self._by_tests(tables)
        self.counts_ = counts
        self.n_rows_ = int(counts[0].sum())
        self.splits_ = [
            AuditedSplit(
                node=node,
                depth=int(shape.depth[node]),
                test=test,
                counts=tuple(tuple(map(int, row)) for row in table.tolist()),
                n_rows=int(table.sum()),
                verdict=_verdict(p, level, least, self.alpha),
                p_value=p,
                level=level,
                least_p=least,
                log_e=log_e,
                method=method,
            )
            for node, test, table, p, level, least, log_e, method in zip(
                shape.splits, self._split_texts, tables, *results, strict=True
            )
        ]
        n_splits = Counter(split.verdict for split in self.splits_)
        decided = n_splits[CONFIRMED] + n_splits[NOT_CONFIRMED]
        self.share_confirmed_ = n_splits[CONFIRMED] / decided if decided else math.nan

    def _by_tests(self, tables):
        # P-values, levels, smallest possible p-values, logarithms of e-values (NaN) and
        # methods of all splits.
        rng = check_random_state(self.random_state)
        least = np.array([least_pvalue(table) for table in tables])
        if self.correction == "holm":
            is_tested = countable(least, self.alpha)
        else:
            is_tested = least <= self.alpha
        # level of the smallest p-value in the worst case
        level = self.alpha / max(1 if self.correction is None else is_tested.sum(), 1)
        results = [pvalue_of(table, level, rng) for table in tables]
        p = np.array([result.p for result in results])
        levels = self._levels(p, is_tested)
        methods = [result.method for result in results]
        no_evidence = [math.nan] * len(tables)
        return p.tolist(), levels.tolist(), least.tolist(), no_evidence, methods

    def _by_evidence(self, tables):
        # The same as `_by_tests`, from e-values. The correction counts all splits:
        # which of them can reach the level changes as rows are added, but the
        # correction must not change.
        log_e = [float(log_evalue(table)) for table in tables]
        p = [math.exp(-max(value, 0.0)) for value in log_e]
        levels = self._levels(np.array(p), np.ones(len(p), bool))
        least = [math.exp(-max(_max_evidence(table), 0.0)) for table in tables]
        methods = [E_VALUE if table.any() else None for table in tables]
        return p, levels.tolist(), least, log_e, methods

    def _levels(self, p, is_tested):
        if self.correction is None:
            return np.full(len(p), self.alpha)
        if self.correction == "top-down":
            return top_down(p, is_tested, self._parents_of_splits(), self.alpha)
        # Splits that cannot be significant are not counted. They get the level of the
        # Bonferroni correction for the other splits.
        levels = np.full(len(p), self.alpha / max(is_tested.sum(), 1))
        levels[is_tested] = holm(p[is_tested], self.alpha)
        return levels

    def _parents_of_splits(self):
        index_of = {node: i for i, node in enumerate(self._shape.splits)}
        return np.array(
            [index_of.get(int(self._shape.parent[node]), -1) for node in index_of],
            np.intp,
        )


def _verdict(p, level, least, alpha):
    # `least` is the smallest p-value of tables with the margins of the split's table.
    # Level 0 means that the parent split was not confirmed.
    if p <= level and level > 0.0:
        return CONFIRMED
    return NOT_CONFIRMED if least <= (level or alpha) else INSUFFICIENT_ROWS


def _max_evidence(table):
    # Upper bound of the logarithm of the e-value of tables with these margins: each
    # branch separately has its largest possible likelihood.
    classes = np.sort(table.sum(axis=0))[::-1]
    filled = _filled(table.sum(axis=1), classes)
    # the e-value of a single branch is its Dirichlet-multinomial likelihood divided by
    # the largest likelihood
    likelihood = log_evalue(filled[:, np.newaxis]) + _log_largest(filled)
    return float(likelihood.sum() - _log_largest(classes))


def _log_largest(counts):
    # Maximal log likelihood of labels with these counts.
    return xlogy(counts, counts).sum(axis=-1) - xlogy(n := counts.sum(axis=-1), n)


@reads_argument
def _further_counts(tree, shape, X, y, sample_weight):
    if not shape.is_of(tree):
        raise ValueError(
            "The tree has changed since the audit was created. Create a new audit with "
            "rows that the tree has not learned."
        )
    return count_rows(tree, shape, X, y, sample_weight)


def _split_texts(tree, shape):
    """Return the splits as texts, for scikit-learn the condition of the left branch."""
    final, names = tree, None
    while isinstance(final, Pipeline):
        names = _input_names(final)
        final = final[-1]
    names = getattr(final, "feature_names_in_", names)
    if isinstance(final, ConfidenceTreeClassifier):
        records = node_table(final, feature_names=names)
        tests = {row.node: row.test for row in records}
        return [tests[int(node)] for node in shape.splits]
    if not hasattr(final.tree_, "threshold"):
        return [None] * len(shape.splits)
    feature = final.tree_.feature[shape.splits].tolist()
    threshold = final.tree_.threshold[shape.splits].tolist()
    return [
        f"{f'x{column}' if names is None else names[column]} <= {value:.4g}"
        for column, value in zip(feature, threshold, strict=True)
    ]


def _input_names(pipeline):
    """Return the names of the columns that the last step receives; None if unknown."""
    try:
        return pipeline[:-1].get_feature_names_out()
    except (AttributeError, ValueError):  # a step does not define names
        return None


def _rows(n):
    return f"{n:,} new {'row' if n == 1 else 'rows'}"


def _write_e(log_e):
    return f"{math.exp(log_e):.2g}" if log_e < LARGEST_LOG else "above 1e+299"


STATE_NAMES = (  # attributes that are pickled
    *("tree", "alpha", "correction", "anytime", "random_state"),
    *("_shape", "_split_texts"),
    *("counts_", "n_rows_", "splits_", "share_confirmed_"),
)


@reads_argument
def audit_splits(
    tree: Estimator,
    X_new: TableLike | None = None,
    y_new: LabelsLike | None = None,
    *,
    alpha: float = 0.05,
    correction: Literal["holm", "top-down"] | None = "holm",
    anytime: bool = False,
    sample_weight: ArrayLike | None = None,
    random_state: Seed = 0,
) -> SplitAudit:
    """Test each split of a fitted tree on held-out rows.

    Every split of a tree separates the classes of its training rows. This function
    sends held-out rows down the tree and tests, for each node, whether branch and class
    are independent, with a correction for multiple comparisons. Splits that generalize
    are thereby distinguished from splits that overfit.

    Parameters
    ----------
    tree : estimator
        A fitted tree of this package (including trees with more than two branches per
        node, or with splits by class means), any fitted ``DecisionTreeClassifier`` of
        scikit-learn, or a ``Pipeline`` that ends in one.
    X_new : array-like, sparse or frame of shape (n_samples, n_features), default=None
        Held-out rows, which were not used for `fit`, `partial_fit` or the choice of
        parameters. If None, the rows that `recount_leaves` has counted are used.
    y_new : array-like of shape (n_samples,), default=None
        Their classes; each must be in `classes_` of the tree.
    alpha : float, default=0.05
        Significance level: the probability of confirming any split whose branches do
        not differ (family-wise error rate). Smaller values confirm fewer splits.
    correction : {"holm", "top-down"} or None, default="holm"
        Correction for multiple comparisons. ``"holm"`` is Holm's step-down procedure
        over all splits. With ``"top-down"``, a split is tested after the split above it
        was confirmed, and inherits its level: the upper splits have the most power, and
        the confirmed splits are connected. With None, each split is tested at the level
        `alpha`, so that some of many splits are confirmed by chance.
    anytime : bool, default=False
        If True, e-values are used instead of p-values. They need more rows, but remain
        valid when rows are added repeatedly with
        :meth:`~skconftree.inspection.SplitAudit.update`.
    sample_weight : array-like of shape (n_samples,), default=None
        Integer frequencies: a row of weight 2 counts as two rows.
    random_state : int, RandomState instance or None, default=0
        Seed of the random tables, which are drawn for large tables with small counts.

    Returns
    -------
    SplitAudit
        The verdicts, in ``splits_``, ``share_confirmed_`` and ``to_frame()``. Printing
        it shows the splits with their verdicts.

    Warns
    -----
    UserWarning
        If the rows seem to be the training rows of the tree.

    See Also
    --------
    skconftree.tree.export_text : Marks the splits with the verdicts by ``audit=``.

    Notes
    -----
    A p-value is exact given both margins of the table (Fisher, Freeman and Halton) if
    the tables with these margins can be enumerated. Otherwise, the chi-squared test is
    used if at least 80% of the expected counts are at least 5 and none is below 1. In
    the other cases, the p-value is estimated from at least 9,999 random tables with the
    same margins.

    The verdict is "confirmed", "not confirmed", or "too few rows", which means that
    even the most extreme table with these margins could not reach the level. Such
    splits are not counted in Holm's correction (Tarone), except with ``anytime=True``.
    In the top-down procedure, a confirmed split passes its level on to the splits below
    it, in proportion to their number below each branch. If all of these are confirmed,
    the level goes to the others.

    "Not confirmed" does not mean that a split is false. The rows may be too few to
    detect a small difference.

    An e-value is ``prod_z DM(n_z) / L0`` as in :class:`~skconftree.bounds.EValueBound`:
    DM is the Dirichlet-multinomial likelihood of the class counts ``n_z`` of a branch,
    and L0 the largest likelihood without a split. If the branches do not differ, the
    probability that it ever exceeds ``1 / alpha`` is at most `alpha`. It may fall again
    as rows are added; earlier confirmations remain valid.

    References
    ----------
    .. [1] G. H. Freeman, J. H. Halton (1951), "Note on an exact treatment of
       contingency, goodness of fit and other problems of significance",
       Biometrika 38, 141-149.
    .. [2] R. E. Tarone (1990), "A modified Bonferroni method for discrete data",
       Biometrics 46, 515-522.
    .. [3] J. J. Goeman, L. Finos (2012), "The inheritance procedure: multiple testing
       of tree-structured hypotheses", Statistical Applications in Genetics and
       Molecular Biology 11.
    .. [4] L. Wasserman, A. Ramdas, S. Balakrishnan (2020), "Universal inference",
       PNAS 117(29), 16880-16890.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skconftree.inspection import audit_splits
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X, X_new, y, y_new = train_test_split(X, y, random_state=0)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0).fit(X, y)
    >>> audit = audit_splits(tree, X_new, y_new)
    >>> print(audit)
    4 splits, 143 new rows: 3 confirmed, 1 not confirmed, 0 too few rows
    level 0.05 for all splits together (Holm); tests exact given the margins
    <BLANKLINE>
    mean concave points <= 0.04892: confirmed (p = 6.8e-21, 143 new rows)
      worst area <= 952.9: confirmed (p = 1.3e-05, 83 new rows)
      worst area <= 785.8: confirmed (p = 8.5e-06, 60 new rows)
        worst texture <= 23.74: not confirmed (p = 0.1, 13 new rows)
    <BLANKLINE>
    not confirmed: these rows are compatible with equal class shares in all ...
    not make the split false. too few rows: even the most extreme table of such ...
    not confirm it.
    """
    if not (isinstance(alpha, Real) and 0.0 < alpha < 1.0):
        raise ValueError(f"alpha must be a number in (0, 1). Got {alpha!r} instead.")
    if not (correction is None or correction in ("holm", "top-down")):
        raise ValueError(
            "correction must be 'holm', 'top-down' or None. Got "
            f"{correction!r} instead."
        )
    shape = TreeShape(tree)
    if (X_new is None) != (y_new is None):
        raise ValueError("Pass both X_new and y_new, or neither.")
    if X_new is None:
        if sample_weight is not None:
            raise ValueError(
                "sample_weight needs X_new and y_new: it has one weight per new row."
            )
        counts = stored_counts(tree)
    else:
        counts = count_rows(tree, shape, X_new, y_new, sample_weight)
        warn_of_training_rows(tree, counts)
    return SplitAudit(
        tree,
        counts,
        alpha=float(alpha),
        correction=correction,
        anytime=bool(anytime),
        random_state=random_state,
    )
