"""Trees as text, with the evidence behind every split."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...utils._lock import reads_argument
from ...utils._types import Estimator
from ..nodes._node_state import MOST_RIVALS
from ._audit_marks import read_marks
from ._meant import check_tree
from ._node_table import read_nodes, write_ties
from ._since import LEGEND
from ._strength import IMITATION, TINY

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

    Like :func:`sklearn.tree.export_text`, with a line below every split that says how
    strong it is: a word, how many splits as strong are expected by luck, and how many
    questions were compared. The last lines explain both. A leaf says how many of its
    rows are of its class, and the probability that `predict_proba` gives, which
    `shrinkage` may have drawn towards those of the nodes above.

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
        Whether to say how strong the splits are.
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
    "Expected by luck" is the number of splits as strong as this one that pure noise
    would give among the questions compared at the node: an expected number, not a
    probability, that may well be larger than 1. With ``bound="gtest"`` it is what the
    bound computed. Other bounds compare something else, and some nothing at all. There
    it is the p-value of the likelihood-ratio test of branches and classes, from the
    rows that the branches have now, times the number of questions compared: the same
    question to every tree. A split is called "overwhelming" where the number is below
    1e-6, "strong" below 0.01, else "weak". Weak splits are guesses. A tree that was
    pruned by a limit of its errors, as the default is, keeps those that cost nothing
    there, as a missed split costs a prediction more than a false one.

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
    |    overwhelming: 4e-40 expected by luck, 119 questions compared
    |   |--- class 0: 50 of 50 rows, probability 1.00
    |--- petal length (cm) > 2.45
    |   |--- class 1: 50 of 100 rows, probability 0.50
    <BLANKLINE>
    expected by luck: how many of the questions compared would do as well in pure noise
    overwhelming: below 1e-6, strong: below 0.01, weak: all others
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
            rivals=MOST_RIVALS if verbose else 0,
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
                said += describe_strength(row, WIDTH - len(bars) - 5)
                if verbose:
                    room = WIDTH - len(bars) - 5
                    said += describe_split(row, room, decimals)
            said += marks.lines(node)
            stack.append((first.node, (row.name, first.words), said))
    if show_evidence and len(table) > 1:
        lines += ["", *table[0].strength.legend]
        lines += [LEGEND] if any(row.confirmed for row in table.values()) else []
    if len(table) > 1:
        lines += marks.legend
    return "\n".join(lines)


def describe_strength(row, width):
    """Lines of how strong a split is and what ties with it: one, if there is room."""
    strength = row.strength.long
    rest = row.sure[len(strength) + 2 :]
    if len(row.ties) > 1:
        named = rest.replace(row.tie, write_ties(row.ties))
        rest = named if len(named) <= width else rest
    if not rest:
        return [strength]
    if len(strength) + 2 + len(rest) <= width:
        return [f"{strength}; {rest}"]
    return [strength, shortened(rest, width)]


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
    if row.strength.word == IMITATION:
        return []
    chosen = [shortened(row.lookahead, width)] if row.lookahead else []
    told = f"evidence: {describe_evidence(row.evidence, digits)}"
    return [*chosen, *wrapped(told, width), *_describe_rivals(row, width)]


def _describe_rivals(row, width):
    # What else might have been asked, a line each.
    lines = []
    for one in row.rivals:
        said = f" gains {one.gain:.3g} instead of {row.gain:.3g}"
        if one.z == one.z:
            said += f", z = {one.z:.2g}"
        room = width - len("runner-up: ") - len(said)
        lines.append(f"runner-up: {fit_words(one.name, one.test, room)}{said}")
    return lines


def describe_evidence(evidence, digits=4):
    """One line of what the bound of a split compared."""
    if "score" not in evidence:
        return "no bound"

    def number(name):
        return f"{evidence.get(name, math.nan):.{digits}g}"

    said = []
    if "child_limit" in evidence:
        said.append(
            f"children's limit {number('child_limit')} < "
            f"node's limit {number('parent_limit')}"
        )
    else:
        said.append(f"score {number('score')}")
        if "rival" in evidence:
            runner_up = "runner-up " if evidence["rival_feature"] >= 0 else ""
            said[-1] += f", {runner_up}{evidence['rival']} {number('rival_score')}"
        if "radius" in evidence:
            said[-1] += f", radius {number('radius')}"
    if "confidence" in evidence:
        # a chance that no float can hold is not 0
        tiny = evidence["confidence"] < TINY
        said.append(
            f"{evidence['statement']} {'< 1e-300' if tiny else number('confidence')}"
        )
    return "; ".join(said)
