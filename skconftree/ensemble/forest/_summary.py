"""Text summary of a forest, and explanation of its votes on rows."""

from collections import Counter

import numpy as np

from ...tree.reading._records import format_value
from ...tree.reading._text import bound_name, listed, shortened

MAX_TREES = 8  # maximum number of trees that are listed


def summarize(forest):
    """Summarize a forest, see `ConfidenceForestClassifier.summary`."""
    trees = [estimator.tree_ for estimator in forest.estimators_]
    n = len(trees)
    leaves = [tree.n_leaves for tree in trees]
    depth = [tree.max_depth for tree in trees]
    names = _names(forest)
    roots = Counter(int(tree.feature[0]) for tree in trees if tree.feature[0] >= 0)
    users = Counter()
    for tree in trees:
        users.update(np.unique(tree.feature[tree.feature >= 0]).tolist())
    lines = [
        f"{type(forest).__name__}: {_count(n, 'tree')}, "
        f"{_count(len(names), 'column')}, "
        f"{_count(len(forest.classes_), 'class', 'classes')}; bound: "
        f"{bound_name(forest)}",
        f"leaves of a tree: {_range(leaves)}; depth {_range(depth)}",
    ]
    n_stumps = leaves.count(1)
    if n_stumps:
        lines.append(f"{_count(n_stumps, 'tree')} without a split")
    if not users:
        return "\n".join(lines)
    weight = forest.feature_importances_
    order = sorted(users, key=lambda j: -weight[j])
    entries = [f"{names[j]} ({weight[j]:.2f})" for j in order]
    lines += listed("columns by share of the gain: ", entries)
    entries = [
        f"{names[j]}{_at(forest, trees, j)} ({times})"
        for j, times in roots.most_common()
    ]
    lines += listed(f"split at the root (number of trees of {n}): ", entries)
    entries = [f"{names[j]} ({times})" for j, times in users.most_common()]
    lines += listed(f"split anywhere (number of trees of {n}): ", entries)
    return "\n".join(lines)


def _at(forest, trees, feature):
    """Median threshold of the root splits on a numeric feature, as text."""
    thresholds = [
        float(tree.threshold[0])
        for tree in trees
        if tree.feature[0] == feature and not tree.is_nominal[0]
    ]
    threshold = np.median(thresholds).item() if thresholds else np.inf
    if not np.isfinite(threshold):  # splits on categories or on missing values
        return ""
    dates = forest.estimators_[0]._model.schema.dates
    return f" at about {format_value(threshold, dates, feature, 3)}"


def explain_votes(forest, X, rows):
    """Explain the votes on rows, see `ConfidenceForestClassifier.explain_text`."""
    proba = forest.predict_proba(X)
    votes, _, _ = forest.hypotheses(X)
    trees = [estimator.tree_ for estimator in forest.estimators_]
    paths = [tree.path(tree.apply(rows)) for tree in trees]
    shown = [
        _row(forest, proba[row], votes[:, row], trees, paths, row)
        for row in range(len(proba))
    ]
    if len(shown) > 1:
        shown = [[f"row {row}", *lines] for row, lines in enumerate(shown)]
    return "\n\n".join("\n".join(lines) for lines in shown)


def _row(forest, proba, votes, trees, paths, row):
    n, best = len(votes), int(proba.argmax())
    labels = [shortened(str(label), 40) for label in forest.classes_.tolist()]
    agree = np.count_nonzero(votes == best)
    lines = [
        f"class {labels[best]}: probability {proba[best]:.2f}, predicted by {agree} "
        f"of {_count(n, 'tree')}"
    ]
    for code, times in Counter(votes.tolist()).most_common():
        if code != best:
            disagreeing = np.flatnonzero(votes == code).tolist()
            more = ", ..." if times > MAX_TREES else ""
            shown = ", ".join(map(str, disagreeing[:MAX_TREES])) + more
            voters = "tree predicts" if times == 1 else "trees predict"
            lines.append(f"  {times} {voters} {labels[code]}: {shown}")
    names, n_trees_using, splits = _names(forest), Counter(), Counter()
    for tree, path in zip(trees, paths, strict=True):
        nodes = path.indices[path.indptr[row] : path.indptr[row + 1]]
        feature = tree.feature[nodes]
        n_trees_using.update(set(feature[feature >= 0].tolist()))
        splits.update(feature[feature >= 0].tolist())
    if not n_trees_using:
        return [*lines, "no tree has a split"]
    order = sorted(n_trees_using, key=lambda j: (-n_trees_using[j], -splits[j], j))
    entries = [f"{names[j]} ({n_trees_using[j]})" for j in order]
    return lines + listed(f"split on the path (number of trees of {n}): ", entries)


def _names(forest):
    known = getattr(forest, "feature_names_in_", None)
    if known is None:
        return [f"x{j}" for j in range(forest.n_features_in_)]
    return [shortened(str(name), 30) for name in known]


def _range(values):
    low, high = min(values), max(values)
    if low == high:
        return f"{low}"
    return f"{low} to {high}, median {np.median(values).item():g}"


def _count(n, noun, plural=None):
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"
