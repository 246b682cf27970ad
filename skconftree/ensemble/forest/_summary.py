"""A forest in a few lines, and why its trees vote as they do."""

from collections import Counter

import numpy as np

from ...tree.reading._records import write_value
from ...tree.reading._text import bound_name, listed, shortened

MAX_TREES = 8  # that are named


def summarize(forest):
    """Tell what a forest is like, see `ConfidenceForestClassifier.summary`."""
    trees = [one.tree_ for one in forest.estimators_]
    n = len(trees)
    leaves = [tree.n_leaves for tree in trees]
    depth = [tree.max_depth for tree in trees]
    names = _names(forest)
    roots = Counter(int(one.feature[0]) for one in trees if one.feature[0] >= 0)
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
    alone = sum(one == 1 for one in leaves)
    if alone:
        lines.append(f"{_count(alone, 'tree')} without a split")
    if not users:
        return "\n".join(lines)
    weight = forest.feature_importances_
    order = sorted(users, key=lambda j: -weight[j])
    said = [f"{names[j]} ({weight[j]:.2f})" for j in order]
    lines += listed("columns by share of the gain: ", said)
    said = [
        f"{names[j]}{_at(forest, trees, j)} ({times})"
        for j, times in roots.most_common()
    ]
    lines += listed(f"asked first, by how many of the {n} trees: ", said)
    said = [f"{names[j]} ({times})" for j, times in users.most_common()]
    lines += listed(f"asked at all, by how many of the {n} trees: ", said)
    return "\n".join(lines)


def _at(forest, trees, feature):
    """Where the trees that ask for a number first cut it, in the middle of them."""
    cuts = [
        float(one.threshold[0])
        for one in trees
        if one.feature[0] == feature and not one.is_nominal[0]
    ]
    cut = np.median(cuts).item() if cuts else np.inf
    if not np.isfinite(cut):  # of categories, or whether there is a value
        return ""
    dates = forest.estimators_[0]._model.schema.dates
    return f" at about {write_value(cut, dates, feature, 3)}"


def explain_votes(forest, X, rows):
    """Say how the trees vote on rows, see `ConfidenceForestClassifier.explain_text`."""
    proba = forest.predict_proba(X)
    votes, weights, _ = forest.hypotheses(X)
    paths = [one.tree_.path(one.tree_.apply(rows)) for one in forest.estimators_]
    shown = [
        _row(forest, proba[row], votes[:, row], weights, paths, row)
        for row in range(len(proba))
    ]
    if len(shown) > 1:
        shown = [[f"row {row}", *lines] for row, lines in enumerate(shown)]
    return "\n\n".join("\n".join(lines) for lines in shown)


def _row(forest, proba, votes, weights, paths, row):
    n, best = len(votes), int(proba.argmax())
    labels = [shortened(str(one), 40) for one in forest.classes_.tolist()]
    agree = np.count_nonzero(votes == best)
    lines = [
        f"class {labels[best]}: probability {proba[best]:.2f}, said by {agree} of "
        f"{_count(n, 'tree')}"
    ]
    for code, times in Counter(votes.tolist()).most_common():
        if code != best:
            places = np.flatnonzero(votes == code).tolist()
            more = ", ..." if times > MAX_TREES else ""
            shown = ", ".join(map(str, places[:MAX_TREES])) + more
            said = "tree says" if times == 1 else "trees say"
            lines.append(f"  {times} {said} {labels[code]}: {shown}")
    names, asked, splits = _names(forest), Counter(), Counter()
    for tree, path in zip(forest.estimators_, paths, strict=True):
        nodes = path.indices[path.indptr[row] : path.indptr[row + 1]]
        feature = tree.tree_.feature[nodes]
        asked.update(set(feature[feature >= 0].tolist()))
        splits.update(feature[feature >= 0].tolist())
    if not asked:
        lines.append("no tree asks for anything")
        return lines
    order = sorted(asked, key=lambda j: (-asked[j], -splits[j], j))
    said = [f"{names[j]} ({asked[j]})" for j in order]
    lines += listed(f"asked on the way, by how many of the {n} trees: ", said)
    return lines


def _names(forest):
    known = getattr(forest, "feature_names_in_", None)
    if known is None:
        return [f"x{place}" for place in range(forest.n_features_in_)]
    return [shortened(str(one), 30) for one in known]


def _range(values):
    low, high = min(values), max(values)
    if low == high:
        return f"{low}"
    return f"{low} to {high}, median {np.median(values).item():g}"


def _count(n, word, words=None):
    return f"{n:,} {word if n == 1 else words or f'{word}s'}"
