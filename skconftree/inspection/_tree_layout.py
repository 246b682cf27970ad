"""Layout of a drawing of a tree: positions and texts of its boxes.

Nodes are records of `tree.node_table`: split, branches, class counts and *evidence*,
test statistics of the split with a level such as "strong" and the number of such splits
that are expected by chance. Of a record, `outcome` is the prediction of a leaf as text,
`tie` names a column that is almost as good as that of the split, and `lookahead` is the
reason if the split was chosen by growing trees below several candidates (look-ahead).
An *audit* tests the splits on held-out rows. A *folded* subtree, one without strong
splits, is drawn as a single box. A *compact* drawing has small boxes without text.
"""

import re

import numpy as np

from skconftree.tree import class_colors

MAX_CLASSES = 12  # in the legend
FOLDED = "folded splits still predict: fold_weak=False shows them"


class Picture:
    """Base class of drawings of a tree as SVG and by matplotlib.

    `at` maps the drawn nodes to their positions. `marks` maps nodes to pairs of an
    audit's verdict and its numbers, as text; `notes` are further lines of the legend. A
    subclass defines `_wrapped(text, n, is_head)`, which wraps a text into at most n
    lines of a box.
    """

    def __init__(self, nodes, class_names, marks, notes, compact):
        self.nodes, self.root = nodes, nodes[0]
        self.table = {row.node: row for row in nodes}
        self.names = class_names
        self.colors = class_colors(len(class_names))
        self.marks, self.notes = marks or {}, notes
        self.compact = compact
        self.at = {}

    def is_end(self, row):
        """Whether no branch of a node is drawn."""
        return not any(branch.node in self.at for branch in row.branches)

    def share(self, node):
        """Return the share of the rows that reach a node."""
        total = max(self.root.weight, 1e-300)  # above 0
        return min(max(self.table[node].weight / total, 0.0), 1.0)

    def head(self, row):
        """Return the first lines of a box, which are bold."""
        if not row.branches:
            return self._wrapped(str(row.label), 2, True)
        return [
            *self._wrapped(row.name, 2, True),
            *self._wrapped(_condition(row), 2, True),
        ]

    def lines(self, row):
        """Return the lines below the colored strip of a box."""
        if not row.branches:
            return row.outcome.split(", ")
        evidence = row.evidence
        tie = self._wrapped(row.tie, 2, False) if row.tie else []
        rows = f"{row.rows}, split further" if self.is_end(row) else row.rows
        return [evidence.level, *tie, evidence.by_chance, rows]

    def leaf_style(self, row):
        """Return the most probable class of a node, and the opacity of its color."""
        best = row.value.index(max(row.value))
        return best, 0.12 + 0.33 * min(max(row.value[best], 0.0), 1.0)

    def legend(self):
        """Return classes to show, number of omitted classes, and more lines."""
        counts, classes = self.root.counts, range(len(self.names))
        shown = sorted(classes, key=lambda label: -counts[label])[:MAX_CLASSES]
        has_evidence = self.root.branches and not self.compact
        # only records of folded subtrees have `n_folded`
        folds = [FOLDED] if any(hasattr(row, "n_folded") for row in self.nodes) else []
        lines = []
        if has_evidence:
            lines = [*self.root.evidence.legend, *folds, *self.notes]
        return sorted(shown), len(classes) - len(shown), lines

    def describe(self, node):
        """Describe the path to a node, and its prediction or split."""
        path, row = [], self.table[node]
        node_row = row
        while node_row.parent >= 0:
            parent = self.table[node_row.parent]
            path.append(
                next(b.condition for b in parent.branches if b.node == node_row.node)
            )
            node_row = parent
        where = " and ".join(reversed(path)) or "all rows"
        if not row.branches:
            return f"{where}: class {row.label}, {row.outcome}"
        reasons = "; ".join(filter(None, [row.evidence_text, row.lookahead]))
        return f"{where}: {row.rows}, split by {row.test} ({reasons})"


def arrange(nodes, max_depth=None):
    """Compute positions of nodes: x in widths of a box, y is minus the depth.

    Subtrees are placed side by side as close as possible; a parent is above the middle
    between its first and last child.
    """
    # outline: left and right edge of a subtree at each depth, relative to its root
    order, offset, outline = _shown(nodes, max_depth), {}, {}
    shown = {row.node for row in order}
    for row in reversed(order):  # children before parents
        shifts, levels = [], []
        children = [branch.node for branch in row.branches if branch.node in shown]
        for child in children:
            edges = outline.pop(child)
            gaps = zip(levels, edges, strict=False)
            shift = max(
                (branch[1] + 1.0 - other[0] for branch, other in gaps), default=0.0
            )
            for level, (left, right) in enumerate(edges):
                if level < len(levels):
                    levels[level] = levels[level][0], right + shift
                else:
                    levels.append((left + shift, right + shift))
            shifts.append(shift)
        middle = (shifts[0] + shifts[-1]) / 2 if shifts else 0.0
        offset.update(
            (child, shift - middle)
            for child, shift in zip(children, shifts, strict=True)
        )
        moved = ((left - middle, right - middle) for left, right in levels)
        outline[row.node] = [(0.0, 0.0), *moved]
    positions = {0: (-min(left for left, _ in outline[0]), 0)}
    for row in order[1:]:
        x = positions[row.parent][0] + offset[row.node]
        positions[row.node] = x, -row.depth
    return positions


def width_of(positions):
    """Return the width of the widest level, in boxes."""
    return 1.0 + max(x for x, _ in positions.values())


def readable_depth(nodes, max_width):
    """Return the largest depth, at least 1, at which a plot is narrow enough.

    The plot down to this depth is at most `max_width` boxes wide.
    """
    depths = np.array([row.depth for row in nodes])
    levels = np.bincount(depths)
    deepest = 1
    for depth in range(1, len(levels)):
        # a level with too many boxes is too wide in any arrangement
        if levels[depth] > max_width or width_of(arrange(nodes, depth)) > max_width:
            break
        deepest = depth
    return deepest


def _shown(nodes, max_depth):
    # Returns the drawn nodes from the left, parents before children.
    table = {row.node: row for row in nodes}
    order, stack = [], [0]
    while stack:
        row = table[stack.pop()]
        order.append(row)
        if row.depth != max_depth:
            stack += [branch.node for branch in row.branches[::-1]]
    return order


# Letters of a sans serif font by width.
NARROW, WIDE = set("iljtfrI.,:;'|!()[]{} -"), set("mwMW%@<>=")
DOTS = "..."


def _condition(row):
    # Returns the condition of a split without the name of its feature.
    return row.test[len(row.name) + 1 :] if row.n_children == 2 else "which category?"


def edge_labels(row):
    """Return the labels of the edges from a node to its children."""
    if row.n_children == 2:
        return ["yes", "no"]
    return [branch.condition[len(row.name) + 1 :] for branch in row.branches]


def single_line(text):
    """Replace line breaks in a text, which fonts cannot draw, by spaces."""
    return re.sub(r"\s+", " ", text).strip()


def width_in(text, size):
    """Return an approximate width of a text, in the unit of `size`."""
    return size * sum(
        0.36
        if letter in NARROW
        else 0.9
        if letter in WIDE
        else 0.68
        if letter.isupper()
        else 0.64
        if letter.isdigit()
        else 0.6
        for letter in text
    )


def wrapped(text, size, max_width, n_lines, width=width_in):
    """Wrap a text into lines, with an ellipsis; `width` measures a text."""
    lines = [""]
    parts = single_line(text).split(" ")
    for i, part in enumerate(parts):
        longer = f"{lines[-1]} {part}".strip()
        if width(longer, size) <= max_width or not lines[-1]:
            lines[-1] = longer
        elif len(lines) < n_lines:
            lines.append(part)
        else:
            lines[-1] = " ".join([lines[-1], *parts[i:]])
            break
    return [cut(line, size, max_width, width) for line in lines]


def cut(text, size, max_width, width=width_in):
    """Shorten a text that is too wide, at a space if there is one."""
    text = single_line(text)
    if width(text, size) <= max_width:
        return text
    while text and width(f"{text}{DOTS}", size) > max_width:
        shorter = text.rpartition(" ")[0]
        text = shorter or text[:-1]
    return f"{text}{DOTS}"
