"""Trees as text: `export_text`, `summary` and `explain_text`.

A bound is the split rule of a tree. A near tie is a split on another feature whose gain
is not significantly different. Look-ahead chooses a split by the trees that can be
grown below it. *Evidence* for a split is the number of candidate splits that would look
as good by chance; *competitors* are the best splits on other features, the *runner-up*
is the best of them. A subtree of weak evidence is *folded*, that is, shown as a leaf.
The real rows of a distilled tree are the training rows that the user passed, as opposed
to synthetic rows. An *audit* tests the splits on held-out rows. A partially linear tree
adds a linear *score* to the values of its leaves.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, zip_longest
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from ...utils._lock import reads_argument  # locks the estimator
from ...utils._types import Estimator
from ..nodes._state import MAX_STORED_COMPETITORS as MAX_COMPETITORS
from ..nodes._state import LeafReason
from ._evidence import CONFIRMED, DISTILLED, LEVEL_LINE, LEVELS, TINY, format_weight
from ._records import (
    check_tree,
    count_weak,
    format_value,
    read_nodes,
    split_score,
    weak_subtrees,
)


class Marks(NamedTuple):
    """Verdicts of an audit about the splits of a tree, and lines that explain them.

    `of` maps nodes to (verdict, reason), see `skconftree.inspection.audit_splits`.
    """

    of: dict
    legend: list

    @property
    def confirmed(self):
        """Nodes whose splits were confirmed."""
        return [
            node for node, (verdict, _) in self.of.items() if verdict == "confirmed"
        ]

    def lines(self, node):
        """Return the verdict about a node as a list of one line, or an empty list."""
        if node not in self.of:
            return []
        verdict, reason = self.of[node]
        return [f"audit: {verdict} ({reason})"]


def read_marks(estimator, audit):
    """Return the `Marks` of a tree; empty without an audit."""
    if audit is None:
        return Marks({}, [])
    if not (hasattr(audit, "marks") and hasattr(audit, "legend")):
        raise TypeError(
            "audit must be a result of skconftree.inspection.audit_splits or None. Got "
            f"{audit!r} instead."
        )
    return Marks(audit.marks(estimator), audit.legend)


WIDTH = 100  # columns
BAR = "|   "
MIN_WIDTH = 80
MIN_CONDITION = 21  # minimal width of the dashes and condition of a line
EVIDENCE_WIDTH, AUDIT_WIDTH = 25, 15  # columns of evidence, and of verdicts
REMOVED = (LeafReason.PRUNED, LeafReason.MERGED)
MAX_NEAR_TIES = 6  # lines of the footer that list near ties


@reads_argument
def export_text(
    estimator: Estimator,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = None,
    decimals: int = 4,
    max_width: int = 100,
    show_evidence: bool = True,
    fold_weak: bool = True,
    verbose: bool = False,
    audit: Any = None,
) -> str:
    """Write a fitted tree as text, with the evidence for each split.

    Like :func:`sklearn.tree.export_text`, with two more columns in the line of the
    first branch of each split: the level of its evidence, and how many candidate splits
    of the node would look as good by chance. A leaf reports its class, the probability
    of that class by `predict_proba`, and how many of its rows have it.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier or PartiallyLinearTreeClassifier
        Fitted tree. For a partially linear tree, the linear score is printed above the
        tree, and leaves show their constants.
    feature_names : sequence of str or None, default=None
        One name per feature. If None, the names seen by ``fit`` are used, or ``x0``,
        ``x1``, ... if there are none.
    class_names : sequence of str or None, default=None
        One name per class. If None, the class labels are used.
    max_depth : int or None, default=None
        Maximal depth; deeper subtrees are shown as one line. None means no limit.
    decimals : int, default=4
        Significant digits of thresholds and of the numbers that `verbose` adds.
    max_width : int, default=100
        Longest line, at least 80. Conditions that are too long are shortened in the
        middle.
    show_evidence : bool, default=True
        Whether to print the columns of evidence, the line of counts above the tree and
        the explanations below it.
    fold_weak : bool, default=True
        If True, a subtree without any strong or overwhelming split is shown as one
        line, with the class, the probability and the rows of its top node. The tree
        still predicts with these splits. Splits that `audit` confirmed count as strong.
        A tree without any strong split, a distilled tree and a partially linear tree
        are printed completely.
    verbose : bool, default=False
        If True, print below each split why look-ahead chose it, how many further rows
        would make a weak split strong, the statistics of the bound, and the competing
        splits on other features.
    audit : SplitAudit or None, default=None
        Result of :func:`skconftree.inspection.audit_splits` for this tree. Its verdicts
        are printed in a third column.

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
    features that have any. For the same split of the same rows, it is the same under
    every bound. It is a Bonferroni-adjusted p-value without the cap at 1, so it is not
    a probability and may be larger than 1: BLAST's E-value [1]_ and the number of false
    alarms of a-contrario detection [2]_ are built in the same way. In a tree that grows
    row by row, it is multiplied by ``j (j + 1) / 2`` at the j-th attempt to split the
    leaf. It is computed when the leaf is split and does not change afterwards.

    The level is "overwhelming" if the number is below 1e-6, "strong" below 0.01, "weak"
    below 1, and otherwise "none". Splits of the last two levels may be due to chance.
    The default pruning, by pessimistic error estimates, keeps such a split if it does
    not increase the estimate, because a missed split usually costs more accuracy than a
    false one.

    With ``drift="local"``, a further column marks the splits that later rows have
    confirmed. A tree that :func:`distill` trained on predictions has no evidence.
    Instead, its column "real rows" reports whether the rows that were passed to
    ``distill``, as opposed to the synthetic ones, prefer the split to those on other
    features.

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
    >>> print(export_text(tree, feature_names=iris.feature_names, max_width=80))
    150 rows, 1 split: 1 overwhelming
    <BLANKLINE>
                                    evidence      by chance
    |--- petal length (cm) <= 2.45  overwhelming  6e-40
    |   |--- class 0 (1.00), 50 of 50 rows
    |--- petal length (cm) > 2.45
    |   |--- class 1 (0.50), 50 of 100 rows
    <BLANKLINE>
    by chance: expected number of candidate splits of the node that would look this
      good or better if no feature were related to the class
    evidence: overwhelming < 1e-6, strong < 0.01, weak < 1, none otherwise
    """
    if not (isinstance(max_width, Integral) and max_width >= MIN_WIDTH):
        raise ValueError(
            f"max_width must be an int of at least {MIN_WIDTH}. Got {max_width!r} "
            "instead."
        )
    score, estimator = split_score(estimator)  # no score, unless partially linear
    check_tree(estimator)
    if class_names is None:
        class_names = estimator.classes_
    head, notes = [], {}
    if score is not None:
        head = score.score_lines(feature_names, class_names, decimals, max_width)
        notes, fold_weak = score.leaf_notes(decimals), False
    marks = read_marks(estimator, audit)
    rows = read_nodes(
        estimator,
        feature_names=feature_names,
        class_names=class_names,
        decimals=decimals,
        competitors=MAX_COMPETITORS if verbose else 0,
    )
    table = {row.node: row for row in rows}
    folded = weak_subtrees(rows, marks.confirmed) if fold_weak else {}
    lines, shown, n_folded = [], [], 0
    width_left = (
        max_width - EVIDENCE_WIDTH - AUDIT_WIDTH * bool(marks.of) - MIN_CONDITION
    )
    max_bars = min(max_width // 10, width_left // len(BAR))
    stack = [(0, ())]  # nodes, and the lines of the branches that lead to them
    while stack:
        node, leading = stack.pop()
        row = table[node]
        lines += leading
        bars = indent(row.depth, max_bars)
        if node in notes:
            lines.append(_Line(bars, "", notes[node]))
        elif not row.branches or node in folded:
            more = ""
            if node in folded:
                n_folded += folded[node]
                more = f"; {count_weak(folded[node])}"
            width_left = max_width - len(bars) - len("|--- class ")
            lines.append(_Line(bars, "class ", describe_class(row, width_left, more)))
        elif max_depth is not None and row.depth >= max_depth:
            lines.append(_Line(bars, "", f"truncated branch ({row.rows})"))
        else:
            shown.append(row)
            first, *others = (
                _Line(bars, row.name, branch.condition[len(row.name) :])
                for branch in row.branches
            )
            if show_evidence:
                first = first._replace(
                    cells=_cells(row, marks), brief=_cells(row, marks, max_width // 3)
                )
            leading = [first]
            if verbose and show_evidence:
                described = describe_split(row, max_width - len(bars) - 5, decimals)
                leading += [f"{bars}|    {line}" for line in described]
            leads = [leading, *([line] for line in others)]
            nodes = [branch.node for branch in row.branches]
            stack += list(zip(nodes, leads, strict=True))[::-1]
    splits = [row for row in rows if row.branches]
    if not show_evidence or not splits:
        return "\n".join([*head, *_aligned(lines, (), max_width)])
    titles = ("real rows",) if is_distilled(splits) else ("evidence", "by chance")
    if marks.of:
        titles += ("audit",)
    elif any(row.confirmed for row in shown):
        titles += ("rows since",)
    return "\n".join(
        [
            *head,
            *wrap(_count_header(rows[0], splits, n_folded), max_width),
            "",
            *_aligned(lines, titles, max_width),
            "",
            *footer(splits[0].evidence, shown, max_width, is_folded=n_folded > 0),
            *marks.legend,
        ]
    )


class _Line(NamedTuple):
    # A line of a tree: bars, name of the feature, rest of the condition, and the cells
    # of the columns of evidence, if any. `brief` are shorter cells for narrow output.
    bars: str
    name: str
    rest: str
    cells: tuple = ()
    brief: tuple = ()

    def text(self, width):
        width -= len(self.bars) + 5
        return (
            f"{self.bars}|--- {fit_condition(self.name, self.name + self.rest, width)}"
        )


def is_distilled(splits):
    """Whether splits belong to a distilled tree, which has no evidence."""
    return splits[0].evidence.level == DISTILLED


def _cells(row, marks, width=None):
    # Returns the cells of a split: level and number, or for a distilled tree the
    # preference of real rows; then the verdict of an audit, or of the rows since the
    # split. With a `width`, the preference is shortened to it, and the reason for the
    # audit's verdict is omitted.
    if row.evidence.level == DISTILLED:
        cells = (row.tie if width is None else shortened(row.tie, width),)
    else:
        cells = (row.evidence.level, row.evidence.number)
    if row.node in marks.of:
        verdict, reason = marks.of[row.node]
        short = f"{verdict} ({reason.partition(', ')[0]})"
        return (*cells, short if width is None else verdict)
    return (*cells, "confirmed") if row.confirmed else cells


def _aligned(lines, titles, max_width):
    """Return the lines of a tree with aligned columns."""
    splits = [line for line in lines if isinstance(line, _Line) and line.cells]
    for is_brief in (False, True):
        cells = [line.brief if is_brief else line.cells for line in splits]
        widths = [
            max(map(len, column))
            for column in zip_longest(titles, *cells, fillvalue="")
        ]
        width_left = max_width - sum(widths) - 2 * len(widths)
        start = max((len(line.text(width_left)) for line in splits), default=0)
        if start <= width_left:
            break

    def in_columns(text, cells):
        padded = (c.ljust(w) for c, w in zip(cells, widths, strict=False))
        return "  ".join([text.ljust(start), *padded]).rstrip()

    out = [in_columns("", titles)] if titles else []
    cells = iter(cells)
    for line in lines:
        if isinstance(line, str):
            out.append(line)
        elif line.cells:
            out.append(in_columns(line.text(width_left), next(cells)))
        else:
            out.append(line.text(max_width))
    return out


def _count_header(root, splits, n_folded):
    # "569 rows, 7 splits: 2 overwhelming, 4 strong, 1 weak (folded)"
    head = f"{root.rows}, {_count(len(splits), 'split')}"
    if is_distilled(splits):
        return f"{head}, distilled from another classifier"
    head += f": {', '.join(count_levels(splits))}"
    n_weak = sum(row.evidence.is_weak for row in splits)
    if n_folded:
        head += " (folded)" if n_folded == n_weak else f" ({n_folded:,} of them folded)"
    if n_weak == len(splits):
        head += ". No split of this tree has strong evidence."
    return head


def footer(evidence, shown, width, *, is_folded=False):
    """Lines below a tree: what `evidence` means, near ties of the `shown` splits."""
    text = []
    for line in evidence.legend:
        if is_folded and line == LEVEL_LINE:
            line += "; folded splits still predict, fold_weak=False shows them"
        text += wrap(line, width)
    if any(row.confirmed for row in shown):
        text += wrap(CONFIRMED, width)
    tied = [row for row in shown if row.near_ties]
    if tied and evidence.level != DISTILLED:
        text.append("near ties, which separate the classes about as well:")
        # a long list is shortened, so that it does not dominate the output
        n_named = len(tied) if len(tied) <= MAX_NEAR_TIES else MAX_NEAR_TIES - 2
        for row in tied[:n_named]:
            test = fit_condition(row.name, row.test, width // 2)
            names = _fit_names(row.near_ties, width - len(test) - 4)
            text.append(f"  {test}: {names}")
        if len(tied) > n_named:
            more = _count(len(tied) - n_named, "further split")
            text.append(f"  and near ties of {more}")
    return text


def _fit_names(names, width):
    # Returns as many names as fit, followed by the number of omitted names.
    for n in range(len(names), 0, -1):
        n_more = len(names) - n
        text = ", ".join(names[:n]) + (f" and {n_more} more" if n_more else "")
        if len(text) <= width:
            return text
    return shortened(text, width)


def wrap(text, width):
    """Wrap a text, with indented continuation lines."""
    return textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)


def describe_class(row, width=WIDTH, more=""):
    """Describe the class of a node, its probability and rows, followed by `more`."""
    rest = f" {row.figures}{more}"  # " (0.49), 50 of 100 rows"
    return shortened(str(row.label), width - len(rest), min_width=6) + rest


# A category in the text of a set; a category in quotation marks may contain commas.
LABEL = re.compile(r'"[\s\S]*?"(?=, |$)|[^,\s][^,]*')
LEFT_OUT = re.compile(r"and (\d+) more|(?:and )?others")


def indent(depth, max_bars):
    """Return the bars of a line; beyond `max_bars`, the last bar shows the depth."""
    if depth <= max_bars:
        return BAR * depth
    return BAR * (max_bars - 1) + f"|{depth}|".ljust(len(BAR))


def shortened(text, width, min_width=8):
    """Shorten a text in the middle; at least `min_width` characters remain."""
    width = max(width, min_width)
    if len(text) <= width:
        return text
    half = (width - 3) // 2
    return f"{text[: width - 3 - half]}...{text[len(text) - half :]}"


def fit_condition(name, condition, width):
    """Shorten a condition: categories of a set first, then the name, then the rest."""
    if len(condition) <= width:
        return condition
    rest = condition[len(name) :]
    if rest.endswith("}"):
        rest = _fit_set(rest, max(width - len(name), width // 2))
    name = shortened(name, max(width - len(rest), width // 3))
    return f"{name}{shortened(rest, width - len(name))}"


def _fit_set(text, width):
    # " in {red, green, blue}" -> " in {red, and 2 more}"
    sign, _, inside = text[:-1].partition("{")
    labels = LABEL.findall(inside)
    n_more, rest = 0, None
    if labels and (left_out := LEFT_OUT.fullmatch(labels[-1])):
        n_more, rest = int(left_out[1] or 0), None if left_out[1] else "and others"
        del labels[-1]
    for n in range(len(labels) - 1, 0, -1):
        last = rest or f"and {len(labels) - n + n_more} more"
        shown = ", ".join([*labels[:n], last])
        if len(sign) + len(shown) + 2 <= width:
            return f"{sign}{{{shown}}}"
    if rest is not None:
        return f"{sign}{{others}}" if not labels else f"{sign}{{many categories}}"
    return f"{sign}{{{len(labels) + n_more} categories}}"


def describe_split(row, width, digits=4):
    """Return the lines of `verbose`: look-ahead, the bound, competitors."""
    if row.evidence.level == DISTILLED:
        return []
    chosen = wrap(row.lookahead, width) + wrap(row.until_strong, width)
    compared = f"evidence: {describe_evidence(row.evidence, digits)}"
    return [*chosen, *wrap(compared, width), *_describe_competitors(row, width)]


def _describe_competitors(row, width):
    # Returns the best splits of other features, in one or two lines each.
    lines, lead = [], "competitor: "
    for other in row.competitors:
        gains = f"gains {other.gain:.3g} instead of {row.gain:.3g}"
        if other.z == other.z:
            gains += f", z = {other.z:.2g}"
        line = f"{lead}{other.test} {gains}"
        if len(line) <= width:
            lines.append(line)
            continue
        lines.append(lead + fit_condition(other.name, other.test, width - len(lead)))
        lines += [f"  {part}" for part in wrap(gains, width - 2)]
    return lines


def describe_evidence(evidence, digits=4):
    """Describe the statistics of the bound of a split in one line.

    They are confidence limits of the impurity; or scores, and the radius, which is the
    half-width of the confidence interval of their difference.
    """
    if math.isnan(evidence.score):
        return "no bound"

    def number(name):
        return f"{getattr(evidence, name):.{digits}g}"

    parts = []
    if not math.isnan(evidence.child_limit):
        parts.append(
            f"impurity limits: children {number('child_limit')} < "
            f"node {number('parent_limit')}"
        )
    else:
        parts.append(f"score {number('score')}")
        if evidence.runner_up_name is not None:  # "no split" if the feature is negative
            runner_up = "runner-up " if evidence.runner_up_feature >= 0 else ""
            parts[-1] += (
                f", {runner_up}{evidence.runner_up_name} {number('runner_up_score')}"
            )
        if not math.isnan(evidence.radius):
            parts[-1] += f", difference \N{PLUS-MINUS SIGN} {number('radius')}"
    if evidence.statistic_name is not None:
        # a probability that underflows is not 0
        number_text = "< 1e-300" if evidence.statistic < TINY else number("statistic")
        parts.append(f"{evidence.statistic_name} {number_text}")
    return "; ".join(parts)


def explain_rows(estimator, rows, competitors=0):
    """Return the records of `ConfidenceTreeClassifier.explain` for encoded rows."""
    tree = estimator.tree_
    paths = tree.path(tree.apply(rows))
    nodes = np.unique(paths.indices)
    evidence = tree.evidence
    fields = evidence.dtype.names
    records = {
        record.node: (record, dict(zip(fields, values, strict=True)))
        for record, values in zip(
            read_nodes(estimator, nodes, competitors=competitors),
            evidence[nodes].tolist(),
            strict=True,
        )
    }
    categories = estimator.categories_

    def step(node, child, row):
        record, fields = records[node]
        value = row[record.feature].item()
        child_nodes = [branch.node for branch in record.branches]
        branch_categories = None
        if record.keeps_unknown:  # a nominal split: other categories stay at the node
            known = categories[record.feature]
            if child == node:
                # the array may be too short for later categories
                targets = np.full(len(known), node)
                branches = tree.branches(node)[: len(known)]
                targets[: len(branches)] = branches
                branch_categories = [
                    known[code] for code in np.flatnonzero(targets == node)
                ]
            else:
                branch = record.branches[child_nodes.index(child)]
                branch_categories = list(branch.categories)
            value = known[int(value)] if 0 <= value < len(known) else None
        if child == node:
            goes = "stays"
        elif record.n_children > 2:
            goes = "branch"
        else:
            goes = "left" if child == child_nodes[0] else "right"
        competing = (
            {"competitors": [split._asdict() for split in record.competitors]}
            if competitors
            else {}
        )
        return {
            "node": node,
            "feature": record.feature,
            "name": record.name,
            "threshold": record.threshold,
            "categories": branch_categories,
            "value": value,
            "goes": goes,
            **fields,
            **competing,
            "more_rows": record.more_rows,
            "leaf_reason": records[child][0].leaf_reason,
            "why_leaf": records[child][0].why_leaf,
        }

    explanations = []
    for row, (start, end) in zip(rows, pairwise(paths.indptr), strict=True):
        path = paths.indices[start:end].tolist()  # from the root down
        steps = [step(*pair, row) for pair in pairwise(path)]
        if records[path[-1]][0].n_children:
            steps.append(step(path[-1], path[-1], row))
        explanations.append(steps)
    return explanations


MAX_COLUMNS = 5  # columns listed in a summary
LEVELS_OF_SPLITS = tuple(level for _, level in LEVELS)


def summarize(estimator):
    """Summarize a tree, see `ConfidenceTreeClassifier.summary`."""
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
    lines += _notes(estimator)
    n_inactive = estimator.n_inactive_leaves_
    if n_inactive:
        lines.append(
            f"{n_inactive} of the leaves ({n_inactive / len(leaves):.1%}) switched off "
            f"by max_bytes={estimator.max_bytes}: they count classes only"
        )
    if not splits:
        label = shortened(str(root.label), 40)
        lines += [
            f"no split: the class {label} is predicted for every row: {root.outcome}",
            *wrap(f"The tree stops at the root{_why(estimator, root)}.", WIDTH),
        ]
        return "\n".join(lines)
    if root.evidence.level == DISTILLED:
        lines.append(
            f"{_count(len(splits), 'split')} distilled from a classifier, which "
            f"predicts the same for {100.0 * estimator.fidelity_:.1f}% of the rows"
        )
    else:
        counts = ", ".join(count_levels(splits))
        lines += [f"{_count(len(splits), 'split')}: {counts}", _weakest(splits)]
    lines += _columns(estimator, splits)
    purity = sum(row.share * row.weight for row in leaves) / max(root.weight, 1e-300)
    lines.append(
        f"largest share of a class: {root.share:.3f} of all rows, {purity:.3f} within "
        "leaves (training rows)"
    )
    legend = [part for line in root.evidence.legend for part in wrap(line, WIDTH)]
    return "\n".join([*lines, "", *legend])


def _notes(estimator):
    # Lines that report whether the incremental or the refitted tree predicts, if the
    # model is at the start of a stream and has both.
    notes = getattr(estimator._model, "notes", ())
    return [line for note in notes for line in wrap(note, WIDTH)]


def _sizes(leaves):
    sizes = sorted(row.weight for row in leaves)
    if len(sizes) == 1:
        return f"rows in it: {sizes[0]:g}"
    return (
        f"rows in a leaf: {sizes[0]:g} to {sizes[-1]:g}, median "
        f"{np.median(sizes).item():g}"
    )


def count_levels(splits):
    """Return the number of splits per level of evidence, as texts."""
    counts = Counter(row.evidence.level for row in splits)
    return [f"{counts[level]:,} {level}" for level in LEVELS_OF_SPLITS if counts[level]]


def _weakest(splits):
    weakest = max(splits, key=lambda row: row.evidence.log10_expected_by_chance)
    evidence = weakest.evidence
    detail = f" (node {weakest.node}): {evidence.by_chance}, {evidence.candidates}"
    lead = "the weakest, "
    return (
        lead
        + fit_condition(weakest.name, weakest.test, WIDTH - len(lead) - len(detail))
        + detail
    )


def _columns(estimator, splits):
    names = {row.feature: row.name for row in splits}
    weight = estimator.feature_importances_
    order = sorted(names, key=lambda j: -weight[j])
    used = f"columns used, {len(order)} of {estimator.n_features_in_}"
    return listed(
        f"{used} (share of the gain): ",
        [f"{shortened(names[j], 30)} ({weight[j]:.2f})" for j in order],
    )


def listed(lead, items):
    """Format a shortened list in lines of at most 100 columns."""
    if len(items) > MAX_COLUMNS:
        items = [*items[:MAX_COLUMNS], f"and {len(items) - MAX_COLUMNS} more"]
    lines = [lead + items[0]]
    for item in items[1:]:
        if len(lines[-1]) + 2 + len(item) <= WIDTH:
            lines[-1] += f", {item}"
        else:
            lines[-1] += ","
            lines.append(f"  {item}")
    return lines


def bound_name(estimator):
    """Return the bound as a user would write it."""
    bound = estimator.bound
    if bound is None or isinstance(bound, str):
        text = str(bound)
        if estimator.delta is not None:
            text += f", delta {estimator.delta:g}"
        return text
    return shortened(" ".join(repr(bound).split()), 50)


def explain_text(estimator, rows, *, verbose=False, audit=None):
    """Explain the prediction of rows, see `ConfidenceTreeClassifier.explain_text`."""
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
            competitors=MAX_COMPETITORS if verbose else 0,
        )
    }
    paths = [
        _path(estimator, table, steps, leaf, verbose, marks)
        for steps, leaf in zip(explained, leaves, strict=True)
    ]
    if len(paths) > 1:
        paths = [[f"row {i}", *lines] for i, lines in enumerate(paths)]
    text = "\n\n".join("\n".join(lines) for lines in paths)
    passed = [table[node] for node in sorted(nodes) if table[node].branches]
    if passed:
        text += "\n\n" + "\n".join(
            [*footer(passed[0].evidence, passed, WIDTH), *marks.legend]
        )
    return "\n".join([text, *_notes(estimator)])


def _path(estimator, table, steps, leaf, verbose, marks):
    end = table[leaf]
    dates = estimator._model.schema.dates  # which columns count days
    lines = [f"class {describe_class(end, WIDTH - len('class '))}"]
    reached = [*(step["node"] for step in steps), leaf][1:]
    for number, (step, following) in enumerate(zip(steps, reached, strict=True), 1):
        row = table[step["node"]]
        lead = f"{number:3}. "
        value = _value(step["value"], dates, row.feature)
        evidence = f", {row.evidence.short}"
        width_left = WIDTH - len(lead) - len(evidence)
        lines.append(f"{lead}{_sentence(row, following, value, width_left)}{evidence}")
        lines += [f"     {line}" for line in marks.lines(row.node)]
        if verbose:
            described = describe_split(row, WIDTH - 5)
            lines += [f"     {line}" for line in described]
    if end.branches:
        lines.append("Stops here: no training row of that node had this category.")
    else:
        lines += wrap(f"Stops here{_why(estimator, end)}.", WIDTH)
    return lines


def _why(estimator, leaf):
    why = f": {leaf.why_leaf}" if leaf.why_leaf else ""
    if leaf.depth == 0 and leaf.leaf_reason == LeafReason.REJECTED:
        why += "; bound=None shows it"
    n_pruned = estimator._model.resolved.taken_back  # splits removed by pruning
    if leaf.depth == 0 and leaf.leaf_reason in REMOVED and n_pruned:
        why += f"; pruning=None shows {_count(n_pruned, 'split')}"
    return why


def _sentence(row, following, value, width):
    test = next((b.condition for b in row.branches if b.node == following), None)
    value_note = ""
    if test is None:
        test = f"{row.name} is missing or not in any row of the node"
    elif test not in (
        f"{row.name} = {value}",
        f'{row.name} = "{value}"',
        f"{row.name} is {value}",
    ):
        value_note = f" (value {shortened(value, width // 2)})"
    return fit_condition(row.name, test, width - len(value_note)) + value_note


def _value(value, dates, feature):
    if value is None or value != value:
        return "missing"
    if isinstance(value, float):
        return format_value(value, dates, feature, decimals=6)
    return shortened(str(value), 40)


def _count(n, singular, plural=None):
    noun = plural if plural is not None else f"{singular}s"
    return f"{format_weight(n)} {singular if n == 1 else noun}"


def as_table(X):
    """Convert a single row to a table."""
    if getattr(X, "ndim", None) == 1 and hasattr(X, "to_frame"):
        return X.to_frame().T
    if not hasattr(X, "shape") and not hasattr(X, "__dataframe__"):
        X = list(X)
        is_row = not len(X) or np.ndim(X[0]) == 0
        return [X] if is_row else X
    return X[np.newaxis] if getattr(X, "ndim", None) == 1 else X
