"""A tree in a few lines, and the path of a row in words."""

from collections import Counter
from numbers import Integral

import numpy as np

from ..nodes._node_state import MOST_RIVALS
from ._audit_marks import read_marks
from ._explain import explain_rows
from ._export import (
    WIDTH,
    describe_split,
    describe_strength,
    fit_words,
    shortened,
)
from ._node_table import read_nodes, write_value
from ._numbers import write_weight
from ._strength import IMITATION, WORDS

MOST_COLUMNS = 5  # named in a summary
WORDS_OF_SPLITS = tuple(word for _, word in WORDS)


def summarize(estimator):
    """Tell what a tree is like, see `ConfidenceTreeClassifier.summary`."""
    table = read_nodes(estimator)
    root = table[0]
    splits = [row for row in table if row.branches]
    leaves = [row for row in table if not row.branches]
    lines = [
        f"{type(estimator).__name__}: {root.rows}, "
        f"{_count(estimator.n_features_in_, 'column')}, "
        f"{_count(len(root.counts), 'class', 'classes')}; bound: "
        f"{bound_name(estimator)}",
        f"{_count(len(leaves), 'leaf', 'leaves')}, depth "
        f"{max(row.depth for row in leaves)}; {_sizes(leaves)}",
    ]
    off = estimator.n_inactive_leaves_
    if off:
        lines.append(
            f"{off} of the leaves ({off / len(leaves):.1%}) switched off by max_bytes="
            f"{estimator.max_bytes}: they count classes only"
        )
    if not splits:
        most = shortened(str(root.label), 40)
        lines += [
            f"no split: every row is given the class {most}: {root.outcome}",
            f"The tree stops at the root{_why(estimator, root)}.",
        ]
        return "\n".join(lines)
    if root.strength.word == IMITATION:
        lines.append(
            f"{_count(len(splits), 'split')} that imitate a classifier, which says the "
            f"same of {100.0 * estimator.fidelity_:.1f} % of the rows"
        )
    else:
        lines += _by_strength(splits)
    lines += _columns(estimator, splits)
    own = sum(row.share * row.weight for row in leaves) / max(root.weight, 1e-300)
    lines.append(
        f"largest share of a class: {root.share:.3f} of all rows, {own:.3f} within "
        "leaves (the rows it was grown from)"
    )
    return "\n".join([*lines, "", *root.strength.legend])


def _sizes(leaves):
    sizes = sorted(row.weight for row in leaves)
    if len(sizes) == 1:
        return f"rows in it: {sizes[0]:g}"
    return (
        f"rows in a leaf: {sizes[0]:g} to {sizes[-1]:g}, median "
        f"{np.median(sizes).item():g}"
    )


def _by_strength(splits):
    words = Counter(row.strength.word for row in splits)
    parts = [f"{words[word]:,} {word}" for word in WORDS_OF_SPLITS if words[word]]
    weakest = max(splits, key=lambda row: row.strength.log_expected)
    sure = weakest.strength
    said = f" (node {weakest.node}): {sure.expected}, {sure.compared}"
    words = fit_words(
        weakest.name, weakest.test, WIDTH - len("the weakest, ") - len(said)
    )
    return [
        f"{_count(len(splits), 'split')}: {', '.join(parts)}",
        f"the weakest, {words}{said}",
    ]


def _columns(estimator, splits):
    names = {row.feature: row.name for row in splits}
    weight = estimator.feature_importances_
    order = sorted(names, key=lambda feature: -weight[feature])
    used = f"columns used, {len(order)} of {estimator.n_features_in_}"
    return listed(
        f"{used} (share of the gain): ",
        [f"{shortened(names[one], 30)} ({weight[one]:.2f})" for one in order],
    )


def listed(lead, said):
    """A list as long as is read, in lines of at most 100 columns."""
    if len(said) > MOST_COLUMNS:
        said = [*said[:MOST_COLUMNS], f"and {len(said) - MOST_COLUMNS} more"]
    lines = [lead + said[0]]
    for one in said[1:]:
        if len(lines[-1]) + 2 + len(one) <= WIDTH:
            lines[-1] += f", {one}"
        else:
            lines[-1] += ","
            lines.append(f"  {one}")
    return lines


def bound_name(estimator):
    """What decides about splits, as a user would write it."""
    bound = estimator.bound
    if bound is None or isinstance(bound, str):
        text = str(bound)
        if estimator.delta is not None:
            text += f", delta {estimator.delta:g}"
        return text
    return shortened(" ".join(repr(bound).split()), 50)


def explain_text(estimator, rows, *, verbose=False, audit=None):
    """Say why rows get their class, see `ConfidenceTreeClassifier.explain_text`."""
    marks = read_marks(estimator, audit)
    explained = explain_rows(estimator, rows)
    leaves = estimator.tree_.apply(rows).tolist()
    nodes = {step["node"] for steps in explained for step in steps}
    nodes.update(leaves)
    table = {
        row.node: row
        for row in read_nodes(
            estimator,
            np.array(sorted(nodes), np.intp),
            rivals=MOST_RIVALS if verbose else 0,
        )
    }
    paths = [
        _path(estimator, table, steps, leaf, verbose, marks)
        for steps, leaf in zip(explained, leaves, strict=True)
    ]
    if len(paths) > 1:
        paths = [[f"row {place}", *lines] for place, lines in enumerate(paths)]
    text = "\n\n".join("\n".join(lines) for lines in paths)
    if any(explained):
        text += "\n\n" + "\n".join([*table[0].strength.legend, *marks.legend])
    return text


def _path(estimator, table, steps, leaf, verbose, marks):
    end = table[leaf]
    dates = estimator._model.schema.dates
    lines = [f"class {shortened(str(end.label), 40)}: {end.outcome}"]
    reached = [*(step["node"] for step in steps), leaf][1:]
    for place, (step, following) in enumerate(zip(steps, reached, strict=True), 1):
        row = table[step["node"]]
        lead = f"{place:3}. "
        value = _value(step["value"], dates, row.feature)
        lines.append(lead + _sentence(row, following, value, WIDTH - len(lead)))
        lines += [f"     {one}" for one in describe_strength(row, WIDTH - 5)]
        lines += [f"     {one}" for one in marks.lines(row.node)]
        if verbose:
            told = describe_split(row, WIDTH - 5)
            lines += [f"     {one}"[:WIDTH] for one in told]
    if end.branches:
        lines.append("It stays there, as no row of that node had its category.")
    else:
        lines.append(f"There the tree stops{_why(estimator, end)}.")
    return lines


def _why(estimator, leaf):
    if max(leaf.counts) == leaf.weight:
        return ": all rows of the leaf are of one class"
    if estimator.max_depth is not None and leaf.depth >= estimator.max_depth:
        return ": max_depth is reached"
    if _is_too_small(estimator, leaf):
        are = "is" if leaf.weight == 1 else "are"
        return f": {leaf.rows} {are} too few by min_samples_split"
    if estimator.bound_ is None:
        return ""
    if estimator._model.grows:
        return ": no split has passed its bound and limits yet"
    taken_back = estimator._model.resolved.taken_back
    if leaf.depth == 0 and taken_back:
        back = _count(taken_back, "split")
        it = "it" if taken_back == 1 else "them"
        return f": pruning took back {back}; pruning=None shows {it}"
    if estimator.pruning_ is None or taken_back == 0:
        would = "; bound=None shows the best"
        return f": no split passed its bound and limits{would * (leaf.depth == 0)}"
    return ": no split passed its bound and limits, or pruning took it back"


def _is_too_small(estimator, leaf):
    # A fraction is one of the weight that was there when the tree was grown.
    least = estimator.min_samples_split
    return isinstance(least, Integral) and leaf.weight < least


def _sentence(row, following, value, width):
    words = next((one.words for one in row.branches if one.node == following), None)
    if words is None:
        words = f"{row.name} is unknown or missing, as in no row of the node"
    elif words not in (
        f"{row.name} = {value}",
        f'{row.name} = "{value}"',
        f"{row.name} is {value}",
    ):
        words += f" (here {value})"
    return fit_words(row.name, words, width)


def _value(value, dates, feature):
    if value is None or value != value:
        return "missing"
    if isinstance(value, float):
        return write_value(value, dates, feature, 6)
    return shortened(str(value), 40)


def _count(n, word, words=None):
    n_words = words if words is not None else f"{word}s"
    return f"{write_weight(n)} {word if n == 1 else n_words}"


def as_table(X):
    """One row as a table of one row."""
    if getattr(X, "ndim", None) == 1 and hasattr(X, "to_frame"):
        return X.to_frame().T
    if not hasattr(X, "shape") and not hasattr(X, "__dataframe__"):
        X = list(X)
        one = not len(X) or np.ndim(X[0]) == 0
        return [X] if one else X
    return X[np.newaxis] if getattr(X, "ndim", None) == 1 else X
