"""Fitted trees as plain records, from which text, HTML and rules are created.

A bound is the split rule of a tree, see `skconftree.bounds`. A near tie is a split on
another feature whose gain is not significantly different. Look-ahead chooses a split by
the trees that can be grown below it. A distilled tree was trained on the predictions of
another classifier; its *real rows* are those that the user passed, as opposed to
synthetic ones. *Evidence* is the number of candidate splits that would look as good by
chance. A *competitor* is the best split on another feature, and the *runner-up* the
best of these. *Stops* are the reasons why nodes are leaves, with the split that was
rejected or pruned. An *e-value* measures evidence that may be examined after every row.
A *grower* trains a tree row by row.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ...tables._columns import format_date
from ...tables._features import MISSING
from ...utils._lock import reads_argument  # locks the estimator
from ...utils._types import Estimator
from ...utils._warnings import warn
from ..nodes._derived import REMOVED
from ..nodes._state import LEAF, MAX_STORED_COMPETITORS, LeafReason
from ._evidence import (
    CONFIRMED,
    DISTILLED,
    MIN_LOG_E_VALUE,
    EvidenceReader,
    SplitEvidence,
    describe_level,
    format_expected,
    format_probability,
    format_rows,
    format_weight,
    level_of,
    log_evidence,
    rows_until_strong,
)


def check_tree(estimator):
    """Raise unless `estimator` is a fitted `ConfidenceTreeClassifier`."""
    check_is_fitted(estimator)
    if not (hasattr(estimator, "tree_") and hasattr(estimator, "explain_text")):
        raise TypeError(
            "The estimator must be a fitted ConfidenceTreeClassifier. Got "
            f"{type(estimator).__name__} instead.{_remedy(estimator)}"
        )


def split_score(estimator):
    """Separate an estimator into its linear score, or None, and its tree.

    A partially linear tree has `tree_`, the tree, and a model with `has_score`. If that
    is true, the model describes and writes its score, and the constants of leaves.
    """
    model = getattr(estimator, "_model", None)
    if not hasattr(model, "has_score"):
        return None, estimator
    return model if model.has_score else None, estimator.tree_


def read_votes(estimator, what):
    """Return the trees whose weighted mean predicts the probabilities, and the weights.

    The trees are estimators: those of a forest, or the tree itself. If leaves predict
    by naive Bayes, ValueError is raised, whose message says that the tree cannot be
    `what`, such as "written as rules".
    """
    weigh_votes = getattr(getattr(estimator, "_model", None), "vote_weights", None)
    if weigh_votes is None:
        check_tree(estimator)
    trees = [estimator] if weigh_votes is None else estimator.estimators_
    if any(tree._model.predicts_by_bayes for tree in trees):
        raise ValueError(
            f"A tree whose leaves predict by naive Bayes cannot be {what}. Fit "
            "it with leaf_prediction='majority'."
        )
    weights = None if weigh_votes is None else weigh_votes(estimator.vote)
    return trees, [1.0] * len(trees) if weights is None else weights.tolist()


def _remedy(estimator):
    if isinstance(estimator, Pipeline):
        # The tree uses the columns that the other steps create.
        last = "Pass its last step, pipeline[-1]"
        if hasattr(estimator[-1], "feature_names_in_"):
            return f" {last}."
        return (
            f" {last}, and feature_names=pipeline[:-1].get_feature_names_out(), the "
            "columns that the tree has seen."
        )
    if hasattr(estimator, "best_estimator_"):
        return " Pass its best_estimator_."
    if hasattr(estimator, "estimators_"):
        return " Pass one of its trees, which are in estimators_."
    if type(estimator).__module__.startswith("sklearn."):
        return " scikit-learn's own trees have functions in sklearn.tree."
    return ""


MAX_NAMES = 8  # categories of a set in a text
# Categories that are unambiguous without quotation marks.
PLAIN = re.compile(
    r"(?!(?:missing|others|and others|and \d+ more)$)[^\W\d]\w*(?:[ ./_-]\w+)*"
)
# A smaller difference of the gains of a split and a competitor, in standard errors, is
# a near tie.
DECIDED = 1.96
MAX_BITS = 64  # categories whose branch is stored for a competitor


class Branch(NamedTuple):
    """Branch of a split, see `node_table`."""

    node: int
    condition: str
    categories: tuple | None
    takes_missing: bool


class Competitor(NamedTuple):
    """Best split on another feature, see `node_table`."""

    feature: int
    name: str
    test: str
    gain: float
    z: float


class NodeRow(NamedTuple):
    """One node of a tree, see `node_table`."""

    node: int
    parent: int
    depth: int
    n_children: int
    feature: int
    name: str | None
    test: str | None
    branches: tuple
    threshold: float
    missing_seen: bool
    keeps_unknown: bool
    label: object
    value: tuple
    share: float
    counts: tuple
    weight: float
    from_above: bool
    impurity: float
    evidence: SplitEvidence | None
    gain: float
    near_ties: tuple
    competitors: tuple
    leaf_reason: LeafReason | None
    why_leaf: str

    @property
    def rows(self):
        """Number of rows of the node, as text."""
        return format_rows(self.weight)

    @property
    def probability(self):
        """Probability of the predicted class, as text."""
        return format_probability(max(self.value))

    @property
    def support(self):
        """Number of rows of the predicted class, as text."""
        count = self.counts[self.value.index(max(self.value))]
        return f"{format_weight(count)} of {self.rows}"

    @property
    def figures(self):
        """Probability and number of rows of the predicted class, as text."""
        above = "; class from the nodes above" if self.from_above else ""
        return f"({self.probability}), {self.support}{above}"

    @property
    def outcome(self):
        """Number of rows of the predicted class and its probability, as text."""
        return f"{self.support}, probability {self.probability}"

    @property
    def tie(self):
        """First near tie and the number of others, as text; empty if there is none."""
        ties = self.near_ties
        return format_ties(ties[:1], len(ties) - 1) if ties else ""

    @property
    def evidence_text(self):
        """Evidence for the split and its near ties, as text; undefined for a leaf."""
        return "; ".join(filter(None, [self.evidence.short, self.tie, self.since]))

    @property
    def since(self):
        """Text if the rows since the split confirm it, otherwise empty."""
        return CONFIRMED if self.confirmed else ""

    @property
    def confirmed(self):
        """Whether the rows since the split have confirmed it so far."""
        return self.evidence is not None and self.evidence.since >= MIN_LOG_E_VALUE

    @property
    def more_rows(self):
        """Estimated number of further rows that make a weak split strong, or None.

        It is also None in a tree that learns incrementally.
        """
        # `notes`: only of a tree that learns incrementally
        if self.evidence is None or self.evidence.notes:
            return None
        n_classes = sum(count > 0.0 for count in self.counts)
        df = (n_classes - 1) * (self.n_children - 1)
        return rows_until_strong(self.evidence, df, self.weight)

    @property
    def until_strong(self):
        """Text about `more_rows`; empty if it is None."""
        if self.more_rows is None:
            return ""
        more = float(f"{max(self.more_rows, 1.0):.2g}")
        return f"about {format_rows(math.ceil(more))} more would make it strong"

    @property
    def lookahead(self):
        """Reason why look-ahead chose the split, as text; empty without look-ahead."""
        if self.evidence is None or self.evidence.tried is None:
            return ""
        evidence = self.evidence
        cost, other, tried = evidence.cost, evidence.tried_cost, evidence.tried
        # integer limits, unless they would be equal
        limits = math.floor(cost), math.floor(other)
        if limits[0] == limits[1]:
            limits = f"{cost:.2f}", f"{other:.2f}"
        return (
            f"chosen over {tried}: at most {limits[0]} instead of {limits[1]} training "
            "errors further down"
        )


class DistilledRow(NodeRow):
    """Node of a distilled tree, whose rows have predictions instead of labels."""

    __slots__ = ()

    @property
    def tie(self):
        """Text about whether real rows prefer the split to those on other features."""
        z = self.evidence.runner_up_z
        if z <= -DECIDED:
            return f"real rows prefer {self.evidence.runner_up_name}"
        return "decided" if z >= DECIDED else super().tie

    @property
    def evidence_text(self):
        """Text about the missing evidence, the real rows and their preference."""
        real = ", ".join(filter(None, [self.rows, self.tie]))
        return f"{self.evidence.short}; {real}"

    @property
    def support(self):
        """Number of rows of the node, as text."""
        return self.rows


class FoldedRow(NodeRow):
    """Root of a weak subtree that is shown as a leaf; it has `n_folded` splits."""

    @property
    def outcome(self):
        """Outcome of a leaf, and the number of folded splits, as text."""
        return f"{super().outcome}, {self.folded}"

    @property
    def folded(self):
        """Number of folded splits, as text."""
        return count_weak(self.n_folded)


def count_weak(n):
    """Return the number of folded splits, as text."""
    return f"{n:,} weak {'split' if n == 1 else 'splits'} folded"


def weak_subtrees(rows, keep=()):
    """Map the root of each maximal subtree without strong split to its size in splits.

    `rows` are all nodes of a tree; splits of the nodes in `keep` count as strong. The
    result is empty if the tree has no strong split at all, or was distilled.
    """
    n_splits, n_strong = Counter(), Counter()
    for row in sorted(rows, key=lambda row: -row.depth):
        if row.branches:
            is_strong = not row.evidence.is_weak or row.node in keep
            n_splits[row.node] += 1
            n_strong[row.node] += is_strong
            n_splits[row.parent] += n_splits[row.node]
            n_strong[row.parent] += n_strong[row.node]
    if not n_strong[0] or rows[0].evidence.level == DISTILLED:
        return {}
    return {
        row.node: n_splits[row.node]
        for row in rows
        if row.branches and not n_strong[row.node] and n_strong[row.parent]
    }


def fold_weak_subtrees(nodes: Sequence[Any], *, keep: Iterable[int] = ()) -> list[Any]:
    """Replace maximal subtrees without strong or overwhelming splits by leaves.

    :func:`export_text` and the plots of a tree show the result by default. The tree
    itself does not change and still predicts with its weak splits.

    Parameters
    ----------
    nodes : list of NamedTuple
        All nodes of a tree, see :func:`node_table`.
    keep : iterable of int, default=()
        Nodes whose splits are not folded, regardless of their level.

    Returns
    -------
    list of NamedTuple
        The remaining nodes. The top node of a folded subtree has no branches, and its
        ``outcome`` reports the number of folded splits. All nodes remain if no split is
        strong, or if the tree was distilled.

    See Also
    --------
    node_table : The records of a fitted tree.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import fold_weak_subtrees, node_table
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> nodes = node_table(ConfidenceTreeClassifier().fit(X, y))
    >>> folded = fold_weak_subtrees(nodes)
    >>> len(nodes), len(folded)
    (15, 13)
    >>> [row.outcome for row in folded if "folded" in row.outcome]
    ['25 of 28 rows, probability 0.85, 1 weak split folded']
    """
    folded, hidden, shown = weak_subtrees(nodes, set(keep)), set(), []
    for row in sorted(nodes, key=lambda row: row.depth):
        if row.parent in hidden:
            hidden.add(row.node)
            continue
        if row.node in folded:
            hidden.add(row.node)
            row = FoldedRow(*row._replace(branches=(), n_children=0))
            row.n_folded = folded[row.node]
        shown.append(row)
    return sorted(shown, key=lambda row: row.node)


def format_ties(names, n_more=0):
    """Return a text that names near ties."""
    parts = [*names, f"{n_more} more"] if n_more else names
    *others, last = parts
    return f"near tie with {', '.join(others)}{' and ' if others else ''}{last}"


@reads_argument
def node_table(
    estimator: Estimator,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    decimals: int = 4,
    competitors: int = 0,
) -> list[Any]:
    """Describe every node of a fitted tree by a plain record.

    :func:`export_text`, plots and the command line are based on these records, and
    therefore consistent. The records contain no arrays and no part of the tree, and
    ``pandas.DataFrame(node_table(tree))`` is a table of them.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier
        Fitted tree.
    feature_names : sequence of str or None, default=None
        One name per feature. None: the names seen by ``fit``, else ``x0``, ``x1``, ...
    class_names : sequence of str or None, default=None
        One name per class. None: the class labels.
    decimals : int, default=4
        Significant digits of thresholds in texts.
    competitors : int, default=0
        Number of competing splits on other features to list for each split, at most 3.

    Returns
    -------
    list of NamedTuple
        One record per node, in the order of the node ids, so that
        ``node_table(tree)[i].node == i``, unless parts of the tree have been replaced:
        entries of ``tree_`` that are not nodes any more are left out. Fields:

        - ``node``, ``parent`` (-1 at the root), ``depth``, ``n_children``;
        - ``feature`` (its index, -2 at a leaf as in ``tree_``) and its ``name``;
        - ``test``: the split as text, None at a leaf. For two branches, it is the
          condition of the first one;
        - ``branches``: one record for each child, with its ``node``, the condition of
          its rows as text (``condition``), ``categories`` (a tuple, in which None is a
          missing value; None if the split is numeric) and ``takes_missing``, whether
          missing values go to this branch;
        - ``threshold``: NaN at a leaf and at a nominal split, infinity at a split of
          missing from present values;
        - ``missing_seen``: whether the value was missing in training rows of the node.
          If not, the texts do not mention missing values: those of a numeric feature go
          to the branch with more training rows;
        - ``keeps_unknown``: whether rows stay at the node if no branch has their
          category, which is the case at every nominal split;
        - ``label``: the predicted class, if leaves predict by their class proportions.
          It is the first of equally probable classes;
        - ``value``: the class probabilities of `predict_proba`, which `shrinkage` may
          have shrunk toward those of the parent;
        - ``share``: share of ``label`` among the rows of the node, with `class_weight`;
        - ``counts``: weight of the training rows of each class, without `class_weight`;
          ``weight`` is their sum;
        - ``from_above``: whether most rows of the node have another class than
          ``label``, which is due to the nodes above by `shrinkage` or
          `monotonic_cst`;
        - ``impurity``, as in ``tree_``;
        - ``evidence``: the evidence for the split, None at a leaf, which has the same
          meaning for every bound. Its ``level`` is ``"overwhelming"``, ``"strong"``,
          ``"weak"`` or ``"none"``, by the number ``expected_by_chance`` (whose
          ``log10_expected_by_chance`` is exact if the number is too small for a float):
          ``multiplicity``, the factor for multiple comparisons, times the p-value of
          the split, see :func:`export_text`.
          ``n_candidates`` is the number of candidate splits of the node, infinite for
          sets of very many categories. ``statistic`` is the number by which the bound
          decided, and ``statistic_name`` its name. ``score``, the confidence limits of
          the impurity ``parent_limit`` and ``child_limit``, and ``radius``, the
          half-width of the confidence interval of a difference of scores, are those of
          ``tree_.evidence``.
          ``runner_up_feature``, ``runner_up_name``, ``runner_up_score`` and
          ``runner_up_z`` belong to the best split on another feature; z is the
          difference of the gains in standard errors, which is known for splits of
          `fit`. If `lookahead` had a choice, ``cost`` is the pessimistic error estimate
          of the subtrees that were tried below the split, and ``tried_cost`` that below
          the best split on another feature, ``tried``. With ``drift="local"``,
          ``since`` is the natural logarithm of the e-value (as in the bound
          ``"evalue"``) of the rows since the split. If it is at least log(20), the
          split is ``confirmed``: if the class does not depend on the split, the
          probability that this ever happens is at most 1 in 20. Fields that do not
          apply are NaN or None. As text: ``short``, ``candidates`` and the lines of a
          ``legend``;
        - ``gain``: decrease of the impurity of the node by the split, NaN at a leaf;
        - ``near_ties``: names of the features whose splits have nearly the same gain:
          the difference is below 1.96 standard errors;
        - ``competitors``: the best splits on other features, limited by the parameter,
          best first, each with its ``feature``, ``name`` and ``test`` as text, its
          ``gain`` and ``z``, the difference of the gains in standard errors of the
          paired difference. :doc:`/guide/by_chance` describes which trees store them;
        - ``leaf_reason``: why the node is a leaf, a
          :class:`~skconftree.tree.LeafReason`, and ``why_leaf``, the same as text, with
          the best split that was rejected, or the split that was pruned. None and
          empty at other nodes, and in trees of a forest, which do not store reasons.

        Properties with texts: ``rows``; ``outcome``, such as ``"2 of 2 rows,
        probability 0.78"``, the number of rows of the class ``label`` and its
        probability; ``figures``, the same as ``"(0.78), 2 of 2 rows"``, and whether the
        class is due to the nodes above; ``tie``, such as ``"near tie with mean texture
        and 2 more"``, from ``near_ties``; ``evidence_text``, the evidence and the near
        ties; ``lookahead``, why look-ahead chose the split. For a weak split,
        ``more_rows`` is an estimate of how many further rows of the node would make it
        strong, corrected for the selection of the split, and ``until_strong`` the same
        as text. They are None and empty without an estimate
        (:doc:`/guide/reading`).

    See Also
    --------
    export_text : The tree as text.
    skconftree.inspection.ConfidenceTreeDisplay : The tree as a plot.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import node_table
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = ConfidenceTreeClassifier(max_depth=1).fit(X, y)
    >>> root, *leaves = node_table(tree, class_names=["setosa", "versi", "virgin"])
    >>> root.test, root.counts
    ('petal width (cm) <= 0.8', (50.0, 50.0, 50.0))
    >>> for branch, leaf in zip(root.branches, leaves):
    ...     print(branch.condition, leaf.label, leaf.weight)
    petal width (cm) <= 0.8 setosa 50.0
    petal width (cm) > 0.8 versi 100.0
    """
    check_tree(estimator)
    check_competitors(estimator, competitors)
    return read_nodes(
        estimator,
        feature_names=feature_names,
        class_names=class_names,
        decimals=decimals,
        competitors=competitors,
    )


def check_competitors(estimator, competitors):
    """Raise if the number of competitors is invalid; warn if the tree stores none."""
    is_integer = isinstance(competitors, Integral) and not isinstance(competitors, bool)
    if not (is_integer and 0 <= competitors <= MAX_STORED_COMPETITORS):
        raise ValueError(
            f"competitors must be an int from 0 to {MAX_STORED_COMPETITORS}, the "
            f"number that a tree stores. Got {competitors!r} instead."
        )
    if competitors and estimator.tree_.competitors is None:
        warn(
            "This tree does not store competitors of its splits. Call `fit` with a "
            "bound and with max_features=None."
        )


def read_nodes(
    estimator,
    nodes=None,
    *,
    feature_names=None,
    class_names=None,
    decimals=4,
    competitors=0,
):
    """Describe some nodes, see `node_table`; all if `nodes` is None."""
    names = _labels(
        "feature_names",
        feature_names,
        getattr(estimator, "feature_names_in_", None),
        estimator.n_features_in_,
    )
    labels = estimator.classes_.tolist()
    if class_names is not None:
        labels = _labels("class_names", class_names, None, len(labels))
    tree = estimator.tree_
    parent = tree.parent
    if nodes is None:
        nodes = np.flatnonzero(parent != REMOVED)
    # Each array is read only once, because several are computed for all nodes.
    feature, threshold = tree.feature[nodes], tree.threshold[nodes]
    is_nominal, missing_seen = tree.is_nominal[nodes], tree.missing_seen[nodes]
    counts, value = tree.counts[nodes], tree.proba[nodes]
    best = value.argmax(axis=1)  # as in `predict`
    raw = tree.raw_proba[nodes]  # class proportions, before shrinkage
    share = raw[np.arange(len(nodes)), best]
    tests = SplitTexts(estimator, names, decimals)
    branches = [
        tests.branches(*test)
        for test in zip(
            nodes.tolist(),
            feature.tolist(),
            threshold.tolist(),
            is_nominal.tolist(),
            missing_seen.tolist(),
            tree.missing_go_to_left[nodes].astype(bool).tolist(),
            strict=True,
        )
    ]
    is_distilled = hasattr(estimator, "fidelity_")
    evidence = _evidence_of(estimator, nodes, names, branches)
    stored = tree.competitors
    competing = [()] * len(nodes)
    if stored is not None:
        competing = [tests.competitors(values) for values in stored[nodes].tolist()]
    impurity, n_children = tree.impurity, tree.n_children
    gain = _gains(tree.weighted_n_node_samples, impurity, parent, n_children)
    weight = tree.n_node_samples[nodes] if is_distilled else counts.sum(axis=1)
    reasons, why = _reasons(estimator, nodes, weight, tests)
    columns = NodeRow(
        node=nodes.tolist(),
        parent=parent[nodes].tolist(),
        depth=tree.depth[nodes].tolist(),
        n_children=n_children[nodes].tolist(),
        feature=feature.tolist(),
        name=[names[j] if j >= 0 else None for j in feature.tolist()],
        test=[tests.describe(*test) for test in zip(feature, branches, strict=True)],
        branches=branches,
        threshold=np.where(feature < 0, np.nan, threshold).tolist(),
        missing_seen=[
            any(branch.takes_missing for branch in group) if nominal else seen
            for nominal, seen, group in zip(
                is_nominal.tolist(), missing_seen.tolist(), branches, strict=True
            )
        ],
        keeps_unknown=is_nominal.tolist(),
        label=[labels[code] for code in best.tolist()],
        # generators, so that their tuples are not in memory before the records are made
        value=(tuple(row.tolist()) for row in value),
        share=share.tolist(),
        counts=(tuple(row.tolist()) for row in counts),
        weight=weight.tolist(),
        from_above=(share < raw.max(axis=1)).tolist(),
        impurity=impurity[nodes].tolist(),
        evidence=evidence,
        gain=gain[nodes].tolist(),
        near_ties=[
            # a distilled tree has one competitor, by its real rows
            (split.runner_up_name,)
            if is_distilled and split and abs(split.runner_up_z) < DECIDED
            else tuple(other.name for other in others if abs(other.z) < DECIDED)
            for split, others in zip(evidence, competing, strict=True)
        ],
        competitors=(others[:competitors] for others in competing),
        leaf_reason=reasons,
        why_leaf=why,
    )
    return list(map(DistilledRow if is_distilled else NodeRow, *columns))


REASONS = {
    LeafReason.PURE: "all rows of the leaf are of one class",
    LeafReason.MAX_DEPTH: "max_depth is reached",
    LeafReason.MIN_SAMPLES_LEAF: "no candidate split has as many rows in each branch "
    "as min_samples_leaf requires",
    LeafReason.MIN_WEIGHT_FRACTION_LEAF: "no candidate split has as many rows in each "
    "branch as min_weight_fraction_leaf requires",
    LeafReason.MIN_IMPURITY_DECREASE: "the best candidate split lowers the impurity "
    "less than min_impurity_decrease requires",
    LeafReason.MAX_LEAF_NODES: "max_leaf_nodes is reached",
    LeafReason.NO_CANDIDATE: "its rows have no candidate split",
    LeafReason.MONOTONIC_CST: "every candidate split violates monotonic_cst",
    LeafReason.WAITING: "it waits for more rows",
}


def _reasons(estimator, nodes, weight, tests):
    # Returns why nodes are leaves, as codes and as texts.
    tree = estimator.tree_
    codes, stops = tree.leaf_reason, tree.stops
    if codes is None:
        return [None] * len(nodes), [""] * len(nodes)
    reasons = [LeafReason(code) if code else None for code in codes[nodes].tolist()]
    stops = [None] * len(nodes) if stops is None else stops[nodes].tolist()
    why = [
        "" if reason is None else _why(estimator, tests, reason, rows, stop)
        for reason, rows, stop in zip(reasons, weight.tolist(), stops, strict=True)
    ]
    return reasons, why


def _why(estimator, tests, reason, rows, stop):
    # Returns why a node is a leaf, as text.
    if reason in REASONS:
        return REASONS[reason]
    if reason == LeafReason.MIN_SAMPLES_SPLIT:
        are = "is" if rows == 1 else "are"
        return f"{format_rows(rows)} {are} too few by min_samples_split"
    log10_expected, threshold, feature, _ = stop
    # a distilled tree has no evidence
    is_known = log10_expected == log10_expected and not hasattr(estimator, "fidelity_")
    test = "" if feature == LEAF else tests.rejected(feature, threshold)
    if reason == LeafReason.REJECTED:
        chance, limit = " expected by chance", ()
        why = "the bound rejected all candidate splits"
        # the bound compares this number with its `delta`
        if estimator.bound_.statistic_name == chance[1:]:
            limit = (math.log10(estimator.bound_.delta),)
            why = f"no candidate split had fewer than {10 ** limit[0]:g}{chance}"
        if not is_known:
            return why
        number = format_expected(log10_expected, *limit)
        return f"{why}; the best, {test}, had {number}{chance * (not limit)}"
    if is_known:
        level = level_of(log10_expected)
        test += f", {describe_level(level, format_expected(log10_expected))},"
    if reason == LeafReason.MERGED:
        return f"the branches of {test} predicted the same class and were merged"
    return f"the split by {test} was pruned"


def _evidence_of(estimator, nodes, names, branches):
    # Returns the evidence of some nodes, None for leaves.
    tree, grower = estimator.tree_, estimator._model.grower
    reader = EvidenceReader(estimator, names)
    stored = tree.evidence[nodes]
    fields = stored.dtype.names
    # costs of the splits between which look-ahead chose
    trials = [None] * len(nodes)
    if tree.trial_costs is not None:
        trials = tree.trial_costs[nodes].tolist()
    # class counts of the rows at each node since it was made, only with drift="local"
    since = grower.counts_since() if hasattr(grower, "counts_since") else None
    result = []
    for group, values, costs in zip(branches, stored.tolist(), trials, strict=True):
        if not group:
            result.append(None)
            continue
        later = math.nan
        if since is not None:
            later = log_evidence(since[[branch.node for branch in group]])
        result.append(reader(dict(zip(fields, values, strict=True)), costs, later))
    return result


def _gains(weight, impurity, parent, n_children):
    # Returns the impurity decrease of each split.
    mass = weight * impurity
    decrease = mass.copy()
    np.subtract.at(decrease, parent[1:], mass[1:])
    is_split = (n_children > 0) & (weight > 0)
    return np.divide(decrease, weight, out=np.full(len(mass), np.nan), where=is_split)


def _labels(parameter, names, known, size):
    # Returns names for display: the argument, or the known ones, or x0, x1, ...
    if names is None:
        names = [f"x{i}" for i in range(size)] if known is None else known
    if len(names) != size:
        raise ValueError(f"{parameter} must contain {size} elements, got {len(names)}")
    return [str(name) for name in names]


class SplitTexts:
    """Texts for the splits of a tree, with `decimals` digits of thresholds."""

    def __init__(self, estimator, names, decimals):
        self.tree = estimator.tree_
        self.categories = estimator.categories_
        model = estimator._model
        self.dates = model.schema.dates
        # `whole` has the columns of integers, unless the model `grows` by partial_fit:
        # later rows may have fractions
        self.whole = () if model.grows else model.schema.whole
        self.names = names
        self.decimals = decimals

    def branches(
        self, node, feature, threshold, is_nominal, missing_seen, missing_left
    ):
        """Return the branches of a node, empty for a leaf."""
        if feature < 0:
            return ()
        name = self.names[feature]
        children = self.tree.children(node).tolist()
        if is_nominal:
            targets, known = self.tree.branches(node), self.categories[feature]
            labels_ = _category_labels(known)
            return tuple(
                Branch(
                    child,
                    f"{name} {_set(group, labels_)}",
                    tuple(group),
                    MISSING in group,
                )
                for child, group in _groups(children, targets, known).items()
            )
        sides = self._sides(feature, threshold, missing_seen, missing_left)
        left, right = children
        return (
            Branch(left, f"{name} {sides[0]}", None, missing_left),
            Branch(right, f"{name} {sides[1]}", None, not missing_left),
        )

    def merged(self, feature, above, at_most, categories, known, missing, seen, others):
        """Return the text of the values of a column, empty for all values."""
        # `known`, `missing`: whether there are numbers, and missing values
        # (`seen` in training); `others`: all categories but those passed
        name = self.names[feature]
        if others:
            return f"{name} is another category"
        if categories is not None:
            return (
                f"{name} {_set(categories, _category_labels(self.categories[feature]))}"
            )
        low, high = (
            self._limit(feature, value) if math.isfinite(value) else ""
            for value in (above, at_most)
        )
        if not known:
            return f"{name} is missing"
        if low and high:
            text = f"{low} < {name} <= {high}"
        elif low or high:
            text = f"{name} > {low}" if low else f"{name} <= {high}"
        else:
            return "" if missing else f"{name} is known"
        return f"{text} or missing" if missing and seen else text

    def _limit(self, feature, threshold):
        if feature in self.whole:  # values at most 2.5 are at most 2
            threshold = math.floor(threshold)
        return format_value(threshold, self.dates, feature, self.decimals)

    def _sides(self, feature, threshold, missing_seen, missing_left):
        # Returns the conditions of both branches.
        if threshold == math.inf:
            return ["is known", "is missing"]
        value = self._limit(feature, threshold)
        sides = [f"{sign} {value}" for sign in ("<=", ">")]
        if missing_seen:
            sides[not missing_left] += " or missing"
        return sides

    def competitors(self, rows):
        """Return the competing splits of other features."""
        return tuple(
            Competitor(
                feature,
                self.names[feature],
                f"{self.names[feature]} {self._competitor(feature, *test)}",
                gain,
                z,
            )
            for feature, *test, gain, z in rows
            if feature >= 0
        )

    def _competitor(
        self, feature, n_children, missing_left, missing_seen, threshold, left
    ):
        # Returns the condition of its first branch.
        known = None if self.categories is None else self.categories[feature]
        if known is None:
            return self._sides(feature, threshold, missing_seen, missing_left)[0]
        if n_children != 2:
            return "= ?"
        # `left` has a bit for each category that goes to the left
        group = [
            value for code, value in enumerate(known[:MAX_BITS]) if left >> code & 1
        ]
        rest = "others" if len(known) > MAX_BITS else None
        return _set(group, _category_labels(known), rest)

    def rejected(self, feature, threshold):
        """Return the text of a rejected or pruned split."""
        if threshold != threshold:  # NaN: a nominal split
            return self.names[feature]
        side, _ = self._sides(feature, threshold, False, True)
        return f"{self.names[feature]} {side}"

    def describe(self, feature, branches):
        """Return the text of a split; None for a leaf."""
        if not branches:
            return None
        if len(branches) == 2:
            return branches[0].condition
        return f"{self.names[feature]} = ?"


def format_value(value, dates, feature, decimals):
    """Format a number of a column, as a date if it counts days.

    It has `decimals` significant digits, or all digits before the decimal point and one
    after it if these are more.
    """
    kind = None if dates is None else dates[feature]
    text = None if kind is None else format_date(value, kind)
    if text is not None:
        return text
    text = f"{value:.{decimals}g}"
    if "e+" in text and abs(value) < 1e15:
        text = f"{value:.1f}".removesuffix(".0")
    return text


def _groups(children, targets, known):
    # Returns the categories of each child. `targets` has the child of each category; in
    # a stream, it may be shorter or longer than the list of `known` categories.
    groups = {child: [] for child in children}
    for category, child in zip(known, targets.tolist(), strict=False):
        if child in groups:  # otherwise, rows stay at the node
            groups[child].append(category)
    return groups


def _category_labels(categories):
    """Map categories to texts, all in quotation marks if one requires them."""
    texts = [value for value in categories if isinstance(value, str)]
    mark = '"' if not all(map(PLAIN.fullmatch, texts)) else ""
    return {
        value: "missing"
        if value is MISSING
        else f"{mark}{value}{mark}"
        if isinstance(value, str)
        else str(value)
        for value in categories
    }


def _set(group, label_of, rest=None):
    """Format a set of categories: the first ones, and the number of others."""
    if len(group) == 1 and rest is None:
        return f"= {label_of[group[0]]}"
    others = [value for value in label_of if value not in group]
    sign = "in"
    if rest is None and len(group) > MAX_NAMES >= len(others) > 0:
        group, sign = others, "not in"
    labels = [label_of[value] for value in group[:MAX_NAMES]]
    if rest is not None:
        labels.append(f"and {rest}" if labels else rest)
    elif len(group) > MAX_NAMES:
        labels.append(f"and {len(group) - MAX_NAMES} more")
    return f"{sign} {{{', '.join(labels)}}}"
