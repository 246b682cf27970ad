"""Trees as HTML without scripts or external resources, and colors of classes.

The *evidence* of a split is the number of candidate splits that would look as good by
chance, in four levels. A subtree of weak evidence is *folded*: closed until it is
opened. A *near tie* is a split on another feature whose gain is not significantly
different. An *audit* tests the splits on held-out rows, and its *marks* are the
verdicts. A *distilled* tree is fitted to the predictions of a classifier. A partially
linear tree adds a linear *score* to the values of its leaves. A bound is the split rule
of a tree. *Look-ahead* chooses a split by the subtrees that can be grown below it.
"""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...utils._lock import reads_argument  # locks the estimator
from ...utils._markup import escape
from ...utils._types import Estimator
from ._evidence import DISTILLED
from ._records import (
    check_tree,
    count_weak,
    format_ties,
    read_nodes,
    split_score,
    weak_subtrees,
)
from ._text import bound_name, describe_evidence, read_marks, shortened

# Distinguishable by color-blind readers, too (Okabe and Ito).
COLORS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#999999",
)
GOLDEN = 0.6180339887498949


def class_colors(n_classes: int) -> list[str]:
    """Return a color for each class, as used in all plots and pages.

    Parameters
    ----------
    n_classes : int
        Number of classes.

    Returns
    -------
    list of str
        Colors such as ``"#0072B2"``. The first eight can be distinguished by
        color-blind readers, too; the hues of others are multiples of the golden ratio.

    See Also
    --------
    skconftree.inspection.ConfidenceTreeDisplay : Uses these colors.

    Examples
    --------
    >>> from skconftree.tree import class_colors
    >>> class_colors(2)
    ['#0072B2', '#E69F00']
    """
    colors = list(COLORS[:n_classes])
    for index in range(len(colors), n_classes):
        hue = index * GOLDEN % 1.0
        lightness = (0.45, 0.62, 0.35)[index % 3]
        channels = colorsys.hls_to_rgb(hue, lightness, 0.6)
        colors.append("#" + "".join(f"{round(255 * c):02X}" for c in channels))
    return colors


MAX_NODES = 1200  # largest number of nodes that are written; only whole levels
MAX_HTML_LEVELS = 40  # largest depth of nested elements
SMALL_N_LEAVES = 12  # trees with at most this number are completely open
OPEN_LEVELS = 3  # levels of larger trees that are open at first
MAX_CLASSES = 12  # classes in the legend
MAX_SHARES = 6  # classes in the bar of a node
OTHERS = "#8a8a8a"  # color of the other classes
LONGEST = 80  # characters of a condition

# The class is repeated to override ``.notebook ul:not(.other)`` of notebooks.
STYLE = """\
.skconftree { font-family: system-ui, sans-serif; font-size: 14px; line-height: 1.5;
  color: inherit; max-width: 100%; overflow-x: auto; padding: 4px 2px;
  text-align: left }
.skconftree p { margin: 2px 0 }
.skconftree.skconftree ul { margin: 0 0 0 9px; padding: 0 0 0 12px;
  border-left: 1px solid rgba(128,128,128,.45) }
.skconftree.skconftree li { list-style: none; margin: 1px 0; padding: 0 }
.skconftree summary { cursor: pointer; display: list-item }
.skconftree summary:focus-visible { outline: 2px solid #0072B2; outline-offset: 1px }
.skconftree .bar { display: inline-block; width: 84px; height: 10px; margin: 0 6px;
  border: 1px solid rgba(128,128,128,.6); border-radius: 2px; vertical-align: baseline;
  print-color-adjust: exact }
.skconftree .key { display: inline-block; width: 10px; height: 10px;
  margin: 0 4px 0 10px;
  border: 1px solid rgba(128,128,128,.6); border-radius: 2px }
.skconftree .one { white-space: nowrap }
.skconftree .sure { border: 1px solid; border-radius: 9px; padding: 0 7px;
  margin: 0 4px; font-size: 12px; white-space: nowrap }
.skconftree .weak { border-style: dashed }
.skconftree .overwhelming { font-weight: 600 }
.skconftree .quiet { opacity: .8; font-size: 12px }
.skconftree .num { display: none; font-size: 12px; opacity: .8; margin-left: 6px }
.skconftree:has(> p > label > input:checked) .num { display: inline }
"""
FOLDED = "folded splits still predict: open a node to see them"
SWITCH = '<p><label><input type="checkbox"> details of each node</label></p>'
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ margin: 1.5em auto; padding: 0 1em; max-width: 70em; color: #1b1b1b;
  background: #fff; font-family: system-ui, sans-serif }}
pre {{ overflow-x: auto }}
table {{ border-collapse: collapse }}
td, th {{ padding: 1px 10px; text-align: right }}
td:first-child, th:first-child {{ text-align: left }}
@media screen and (prefers-color-scheme: dark) {{
  body {{ color: #e8e8e8; background: #161616 }} }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""


def write_tree(
    estimator, *, feature_names=None, class_names=None, fold_weak=True, audit=None
):
    """Write a fitted tree as an HTML fragment; for the names see `node_table`."""
    score, estimator = split_score(estimator)
    notes, head = {}, []
    if score is not None:
        shown = estimator.classes_ if class_names is None else class_names
        # numbers with 4 digits, in lines of at most 100 characters
        text = "\n".join(score.score_lines(feature_names, shown, 4, 100))
        notes, fold_weak = score.leaf_notes(4), False
        head = [f"<pre>{escape(text)}</pre>"]
    tree = estimator.tree_
    marks = read_marks(estimator, audit)
    rows = read_nodes(estimator, feature_names=feature_names, class_names=class_names)
    folded = weak_subtrees(rows, marks.confirmed) if fold_weak else {}
    deepest, n_hidden = _shown(tree)
    table = {row.node: row for row in rows if row.depth <= deepest}
    names = list(map(str, estimator.classes_ if class_names is None else class_names))
    root, legend = table[0], []
    if root.branches:
        legend = [*root.evidence.legend, *([FOLDED] if folded else []), *marks.legend]
    return "\n".join(
        [
            '<div class="skconftree">',
            f"<style>\n{STYLE}</style>",
            *head,
            f"<p>{escape(_headline(estimator, root))}</p>",
            f"<p>{_key(names)}</p>",
            *([SWITCH] if root.branches else []),
            *_nodes(
                table, names, tree.n_leaves <= SMALL_N_LEAVES, marks, folded, notes
            ),
            *(
                [f'<p class="quiet">{n_hidden:,} deeper nodes are not shown.</p>']
                if n_hidden
                else []
            ),
            *(f'<p class="quiet">{escape(line)}</p>' for line in legend),
            "</div>",
        ]
    )


def _shown(tree):
    # Returns the deepest level that is written, and the number of deeper nodes.
    depth = tree.depth
    sizes = np.cumsum(np.bincount(depth))
    deepest = int(np.searchsorted(sizes, MAX_NODES, side="right")) - 1
    deepest = min(max(deepest, 1), MAX_HTML_LEVELS)
    return deepest, int((depth > deepest).sum())


def _headline(estimator, root):
    tree = estimator.tree_
    leaves = "1 leaf" if tree.n_leaves == 1 else f"{tree.n_leaves:,} leaves"
    return (
        f"Grown tree: {leaves}, depth {tree.max_depth}, {root.rows}, bound "
        f"{bound_name(estimator)}"
    )


def _key(names):
    colors = class_colors(len(names))
    parts = [
        f'<span class="one"><span class="key" style="background:{color}"></span>'
        f"{escape(shortened(name, 30))}</span> "
        for name, color in zip(names[:MAX_CLASSES], colors, strict=False)
    ]
    if len(names) > MAX_CLASSES:
        parts.append(f" and {len(names) - MAX_CLASSES} more classes")
    return "Classes:" + "".join(parts)


def _nodes(table, names, is_open, marks, folded, notes):
    colors = class_colors(len(names))
    lines = ["<ul>"]
    quiet = "num" if table[0].branches else "quiet"  # a single leaf has no checkbox
    stack = [(0, "all rows")]
    while stack:
        node, condition = stack.pop()
        if node is None:
            lines.append("</ul></details></li>")
            continue
        row = table[node]
        condition = escape(shortened(condition, LONGEST))
        summary = f"{condition}: {_bar(row, names, colors)}"
        if node in notes:
            lines.append(f"<li>{summary}{escape(notes[node])}</li>")
            continue
        if not row.branches or row.branches[0].node not in table:
            if row.branches:
                lines.append(f"<li>{summary}{row.rows}, split further</li>")
            else:
                why = f'<span class="{quiet}">{escape(row.why_leaf)}</span>'
                lines.append(f"<li>{summary}{_outcome(row)}{why}</li>")
            continue
        is_shown = is_open or row.depth < OPEN_LEVELS
        split = f"split by <b>{escape(shortened(row.name, 40))}</b>"
        if node in folded:
            is_shown = False
            split = f"{_outcome(row)}, {split} ({count_weak(folded[node])})"
        else:
            split = f"{row.rows}, {split}"
        evidence = row.evidence
        ties = format_ties(row.near_ties) if len(row.near_ties) > 1 else row.tie
        # until_strong: about how many more rows would make weak evidence strong
        numbers = [evidence.candidates, ties, row.lookahead, row.until_strong]
        if evidence.level != DISTILLED:
            numbers.append(describe_evidence(evidence))
        numbers = escape("; ".join(filter(None, numbers)))
        lines.append(
            f"<li><details{' open' * is_shown}><summary>{summary}{split}"
            f'<span class="sure {evidence.level}">{evidence.level}</span>'
            f'<span class="quiet">{evidence.by_chance}</span>{_mark(marks, node)}'
            f'<span class="num">{numbers}</span></summary><ul>'
        )
        stack.append((None, None))
        stack += [(branch.node, branch.condition) for branch in row.branches[::-1]]
    lines.append("</ul>")
    return lines


def _outcome(row):
    label = escape(shortened(str(row.label), 40))
    # figures: the probability and the number of rows, as text
    return f"class <b>{label}</b> {row.figures}"


def _mark(marks, node):
    if node not in marks.of:
        return ""
    verdict, reason = marks.of[node]
    return (
        f' <span class="sure">{escape(verdict)}</span>'
        f'<span class="quiet">{escape(reason)}</span>'
    )


def _bar(row, names, colors):
    order = sorted(range(len(names)), key=lambda index: -row.value[index])
    largest = [index for index in order[:MAX_SHARES] if row.value[index] > 0.0]
    stops, shares, end = [], [], 0.0
    for index in sorted(largest):
        start, end = end, min(end + 100.0 * row.value[index], 100.0)
        stops.append(f"{colors[index]} {start:.1f}% {end:.1f}%")
        shares.append(f"{names[index]} {row.value[index]:.3f}")
    if end < 99.9:
        stops.append(f"{OTHERS} {end:.1f}% 100%")
        if len(largest) == MAX_SHARES:
            shares.append("others")
    text = escape(shortened(", ".join(shares), 160))
    return (
        f'<span class="bar" role="img" aria-label="{text}" title="{text}" '
        f'style="background:linear-gradient(90deg,{",".join(stops)})"></span>'
    )


@reads_argument
def export_html(
    estimator: Estimator,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    title: str = "Confidence tree",
    fold_weak: bool = True,
    audit: Any = None,
) -> str:
    """Write a fitted tree as an HTML page.

    Nodes can be opened and closed. The page has no scripts and loads no external
    resources.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier or PartiallyLinearTreeClassifier
        Fitted tree.
    feature_names : sequence of str or None, default=None
        One name per feature. None: the names seen by ``fit``, else ``x0``, ``x1``, ...
    class_names : sequence of str or None, default=None
        One name per class. None: the class labels.
    title : str, default="Confidence tree"
        Title of the page.
    fold_weak : bool, default=True
        If True, a subtree in which no split has strong or overwhelming evidence is
        closed. Until it is opened, only the class, the probability and the number of
        rows of its root are shown.
    audit : SplitAudit or None, default=None
        Result of :func:`skconftree.inspection.audit_splits` for this tree; its results
        are shown at the splits.

    Returns
    -------
    str
        A complete HTML page.

    See Also
    --------
    export_text : The tree as text.
    skconftree.inspection.ConfidenceTreeDisplay : The tree as a plot.

    Notes
    -----
    In a notebook, a fitted tree is displayed in this way below scikit-learn's diagram
    of its parameters. For very large trees, only the upper levels are written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import export_html
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> page = export_html(ConfidenceTreeClassifier().fit(X, y))
    >>> Path("tree.html").write_text(page, encoding="utf-8")  # doctest: +SKIP
    """
    check_tree(split_score(estimator)[1])
    tree = write_tree(
        estimator,
        feature_names=feature_names,
        class_names=class_names,
        fold_weak=fold_weak,
        audit=audit,
    )
    return PAGE.format(title=escape(title), body=tree)
