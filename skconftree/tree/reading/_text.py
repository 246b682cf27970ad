"""Trees as text: `export_text`, `summary` and `explain_text`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from ...utils._lock import reads_argument
from ...utils._types import Estimator
from ..nodes._state import MOST_COMPETITORS
from ._evidence import CONFIRMED, DISTILLED, LEVELS, TINY, write_weight
from ._records import check_tree, read_nodes, write_ties, write_value


class Marks(NamedTuple):
    """Verdict and grounds of each audited node, and lines that explain them."""

    of: dict
    legend: list

    def lines(self, node):
        """Say it of one node, in one line or none."""
        if node not in self.of:
            return []
        verdict, grounds = self.of[node]
        return [f"audit: {verdict} ({grounds})"]


def read_marks(estimator, audit):
    """Marks of a tree's nodes; none without an audit."""
    if audit is None:
        return Marks({}, [])
    if not (hasattr(audit, "marks") and hasattr(audit, "legend")):
        raise TypeError(
            "audit must be what skconftree.inspection.audit_splits gives, or None. Got "
            f"{audit!r} instead."
        )
    return Marks(audit.marks(estimator), audit.legend)


WIDTH = 100  # columns
BAR = "|   "
MOST_BARS = 10  # deeper nodes say their depth in place of a bar for each level


@reads_argument
def export_text(
    estimator: Estimator,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = None,
    decimals: int = 4,
    show_evidence: bool = True,
    verbose: bool = False,
    audit: Any = None,
) -> str:
    """Write a fitted confidence tree as text of at most 100 columns.

    Like :func:`sklearn.tree.export_text`, with a line below every split that reports
    the evidence for it: its level, how many splits as good are expected by chance, and
    how many candidate splits the node had. The last lines explain both. A leaf reports
    how many of its rows are of its class, and the probability that `predict_proba`
    gives, which `shrinkage` may have drawn towards those of the nodes above.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier
        Fitted tree.
    feature_names : sequence of str or None, default=None
        One name a feature. None: the names seen by ``fit``, else ``x0``, ``x1``, ...
    class_names : sequence of str or None, default=None
        One name a class. None: the class labels.
    max_depth : int or None, default=None
        Deeper nodes are summarised in one line. None: no limit.
    decimals : int, default=4
        Significant digits of thresholds and evidence.
    show_evidence : bool, default=True
        Whether to report the evidence for the splits.
    verbose : bool, default=False
        Whether to add what the test was chosen by, where growth looked ahead, what the
        bound compared, number by number, and the best tests of other features.
    audit : SplitAudit or None, default=None
        What :func:`skconftree.inspection.audit_splits` said of this tree; its verdicts
        mark the splits.

    Returns
    -------
    str

    See Also
    --------
    node_table : The nodes as plain records.
    ConfidenceTreeClassifier.explain_text : The path of a row.
    ConfidenceTreeClassifier.summary : The tree in a few lines.

    Notes
    -----
    "Expected by chance" is the number of candidate splits of the node that would look
    as good as this one, or better, if no feature were related to the class. It is
    ``A * N * p``: p is the p-value of the likelihood-ratio test of children and
    classes, N the number of candidate splits of the chosen feature, and A the number of
    features that have any. Every bound has the same number for the same split of the
    same rows. It is a Bonferroni-adjusted p-value without the cap at 1, so it is not a
    probability and may be larger than 1: BLAST's E-value [1]_ and the number of false
    alarms of a-contrario detection [2]_ are built in the same way. In a tree that grows
    row by row it is multiplied by ``j (j + 1) / 2`` at the j-th attempt to split the
    leaf, and it is the number of that moment.

    The level is "overwhelming" if the number is below 1e-6, "strong" below 0.01, "weak"
    below 1, else "none". Splits of the last two levels are guesses. A tree that was
    pruned by pessimistic error estimates, as the default is, keeps those that do not
    increase the estimate, because a missed split costs a prediction more than a false
    one.

    References
    ----------
    .. [1] S. Karlin, S. F. Altschul (1990), "Methods for assessing the statistical
       significance of molecular sequence features by using general scoring schemes",
       PNAS 87, 2264-2268. The E-value of BLAST.
    .. [2] A. Desolneux, L. Moisan, J.-M. Morel (2000), "Meaningful alignments", Int. J.
       Computer Vision 40, 7-23. The number of false alarms.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import export_text
    >>> iris = load_iris()
    >>> tree = ConfidenceTreeClassifier(bound=None, max_depth=1)
    >>> tree = tree.fit(iris.data, iris.target)
    >>> print(export_text(tree, feature_names=iris.feature_names))
    |--- petal length (cm) <= 2.45
    |    overwhelming: 6e-40 expected by chance, 119 candidate splits
    |   |--- class 0: 50 of 50 rows, probability 1.00
    |--- petal length (cm) > 2.45
    |   |--- class 1: 50 of 100 rows, probability 0.50
    <BLANKLINE>
    expected by chance: how many candidate splits of the node would look this good ...
    overwhelming: below 1e-6, strong: below 0.01, weak: below 1, none: 1 or more
    """
    check_tree(estimator)
    if class_names is None:
        class_names = estimator.classes_
    marks = read_marks(estimator, audit)
    nodes = None
    if max_depth is not None:
        nodes = np.flatnonzero(estimator.tree_.depth <= max(max_depth, 0))
    table = {
        row.node: row
        for row in read_nodes(
            estimator,
            nodes,
            feature_names=feature_names,
            class_names=class_names,
            decimals=decimals,
            competitors=MOST_COMPETITORS if verbose else 0,
        )
    }
    lines = []
    # (node, line that leads to it, lines of evidence below that one)
    stack = [(0, None, ())]
    while stack:
        node, lead, said = stack.pop()
        row = table[node]
        if lead is not None:
            bars = indent(row.depth - 1)
            lines.append(f"{bars}|--- {fit_words(*lead, WIDTH - len(bars) - 5)}")
            lines += [f"{bars}|    {one}"[:WIDTH] for one in said]
        bars = indent(row.depth)
        if not row.branches:
            said = f": {row.outcome}"
            room = WIDTH - len(bars) - 11 - len(said)
            label = shortened(str(row.label), room, least=6)
            lines.append(f"{bars}|--- class {label}{said}")
        elif max_depth is not None and row.depth >= max_depth:
            lines.append(f"{bars}|--- truncated branch ({row.rows})")
        else:
            first, *others = row.branches
            for branch in others[::-1]:
                stack.append((branch.node, (row.name, branch.words), ()))
            said = []
            if show_evidence:
                said += describe_level(row, WIDTH - len(bars) - 5)
                if verbose:
                    room = WIDTH - len(bars) - 5
                    said += describe_split(row, room, decimals)
            said += marks.lines(node)
            stack.append((first.node, (row.name, first.words), said))
    if show_evidence and len(table) > 1:
        lines += ["", *table[0].evidence.legend]
        lines += [CONFIRMED] if any(row.confirmed for row in table.values()) else []
    if len(table) > 1:
        lines += marks.legend
    return "\n".join(lines)


def describe_level(row, width):
    """Lines of the evidence for a split and its near ties: one, if there is room."""
    level = row.evidence.long
    rest = row.sure[len(level) + 2 :]
    if len(row.near_ties) > 1:
        named = rest.replace(row.tie, write_ties(row.near_ties))
        rest = named if len(named) <= width else rest
    if not rest:
        return [level]
    if len(level) + 2 + len(rest) <= width:
        return [f"{level}; {rest}"]
    return [level, shortened(rest, width)]


def indent(depth):
    """Bars in front of a line, fewer than the depth where that is large."""
    if depth <= MOST_BARS:
        return BAR * depth
    return BAR * (MOST_BARS - 1) + f"|{depth}|".ljust(len(BAR))


def shortened(text, width, least=12):
    """Leave out the middle of a text that is too long; `least` letters are left."""
    width = max(width, least)
    if len(text) <= width:
        return text
    half = (width - 3) // 2
    return f"{text[: width - 3 - half]}...{text[len(text) - half :]}"


def fit_words(name, words, width):
    """Shorten what holds in a branch: first the `name` in front, then the rest."""
    if len(words) <= width:
        return words
    rest = words[len(name) :]
    name = shortened(name, max(width - len(rest), width // 3))
    return f"{name}{shortened(rest, width - len(name))}"


def wrapped(text, width):
    """Break a text at its semicolons into lines."""
    first, *parts = text.split("; ")
    lines = [first]
    for part in parts:
        if len(lines[-1]) + 2 + len(part) <= width:
            lines[-1] += f"; {part}"
        else:
            lines.append(f"  {part}")
    return lines


def describe_split(row, width, digits=4):
    """Lines of what a split was chosen by and its bound compared, for the verbose."""
    if row.evidence.level == DISTILLED:
        return []
    chosen = [shortened(row.lookahead, width)] if row.lookahead else []
    told = f"evidence: {describe_evidence(row.evidence, digits)}"
    return [*chosen, *wrapped(told, width), *_describe_competitors(row, width)]


def _describe_competitors(row, width):
    # What else might have been asked, a line each.
    lines = []
    for one in row.competitors:
        said = f" gains {one.gain:.3g} instead of {row.gain:.3g}"
        if one.z == one.z:
            said += f", z = {one.z:.2g}"
        room = width - len("runner-up: ") - len(said)
        lines.append(f"runner-up: {fit_words(one.name, one.test, room)}{said}")
    return lines


def describe_evidence(evidence, digits=4):
    """One line of what the bound of a split compared."""
    if math.isnan(evidence.score):
        return "no bound"

    def number(name):
        return f"{getattr(evidence, name):.{digits}g}"

    said = []
    if not math.isnan(evidence.child_limit):
        said.append(
            f"children's limit {number('child_limit')} < "
            f"node's limit {number('parent_limit')}"
        )
    else:
        said.append(f"score {number('score')}")
        if evidence.runner_up_name is not None:
            runner_up = "runner-up " if evidence.runner_up_feature >= 0 else ""
            said[-1] += (
                f", {runner_up}{evidence.runner_up_name} {number('runner_up_score')}"
            )
        if not math.isnan(evidence.radius):
            said[-1] += f", radius {number('radius')}"
    if evidence.statistic_name is not None:
        # a probability that no float can hold is not 0
        written = "< 1e-300" if evidence.statistic < TINY else number("statistic")
        said.append(f"{evidence.statistic_name} {written}")
    return "; ".join(said)


def explain_rows(estimator, rows, competitors=0):
    """Records of `ConfidenceTreeClassifier.explain`, of rows with coded categories."""
    tree = estimator.tree_
    paths = tree.path(tree.apply(rows))
    nodes = np.unique(paths.indices)
    evidence = tree.evidence
    fields = evidence.dtype.names
    said = {
        record.node: (record, dict(zip(fields, values, strict=True)))
        for record, values in zip(
            read_nodes(estimator, nodes, competitors=competitors),
            evidence[nodes].tolist(),
            strict=True,
        )
    }
    categories = estimator.categories_

    def step(node, child, row):
        record, fields = said[node]
        value = row[record.feature].item()
        places = [branch.node for branch in record.branches]
        leading = None
        if record.keeps_unknown:
            known = categories[record.feature]
            if child == node:
                # later categories may have no place in the array yet
                targets = np.full(len(known), node)
                branches = tree.branches(node)[: len(known)]
                targets[: len(branches)] = branches
                leading = [known[code] for code in np.flatnonzero(targets == node)]
            else:
                leading = list(record.branches[places.index(child)].categories)
            value = known[int(value)] if 0 <= value < len(known) else None
        if child == node:
            goes = "stays"
        elif record.n_children > 2:
            goes = "branch"
        else:
            goes = "left" if child == places[0] else "right"
        close = (
            {"competitors": [one._asdict() for one in record.competitors]}
            if competitors
            else {}
        )
        return {
            "node": node,
            "feature": record.feature,
            "name": record.name,
            "threshold": record.threshold,
            "categories": leading,
            "value": value,
            "goes": goes,
            **fields,
            **close,
        }

    explanations = []
    for row, (start, end) in zip(rows, pairwise(paths.indptr), strict=True):
        path = paths.indices[start:end].tolist()  # from the root down
        steps = [step(*pair, row) for pair in pairwise(path)]
        if said[path[-1]][0].n_children:
            steps.append(step(path[-1], path[-1], row))
        explanations.append(steps)
    return explanations


MOST_COLUMNS = 5  # named in a summary
LEVELS_OF_SPLITS = tuple(level for _, level in LEVELS)


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
    if root.evidence.level == DISTILLED:
        lines.append(
            f"{_count(len(splits), 'split')} distilled from a classifier, which "
            f"predicts the same for {100.0 * estimator.fidelity_:.1f} % of the rows"
        )
    else:
        lines += _by_level(splits)
    lines += _columns(estimator, splits)
    own = sum(row.share * row.weight for row in leaves) / max(root.weight, 1e-300)
    lines.append(
        f"largest share of a class: {root.share:.3f} of all rows, {own:.3f} within "
        "leaves (the rows it was grown from)"
    )
    return "\n".join([*lines, "", *root.evidence.legend])


def _sizes(leaves):
    sizes = sorted(row.weight for row in leaves)
    if len(sizes) == 1:
        return f"rows in it: {sizes[0]:g}"
    return (
        f"rows in a leaf: {sizes[0]:g} to {sizes[-1]:g}, median "
        f"{np.median(sizes).item():g}"
    )


def _by_level(splits):
    counts = Counter(row.evidence.level for row in splits)
    parts = [
        f"{counts[level]:,} {'with none' if level == 'none' else level}"
        for level in LEVELS_OF_SPLITS
        if counts[level]
    ]
    weakest = max(splits, key=lambda row: row.evidence.log10_expected_by_chance)
    one = weakest.evidence
    said = f" (node {weakest.node}): {one.expected}, {one.candidates}"
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
            competitors=MOST_COMPETITORS if verbose else 0,
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
        text += "\n\n" + "\n".join([*table[0].evidence.legend, *marks.legend])
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
        lines += [f"     {one}" for one in describe_level(row, WIDTH - 5)]
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
