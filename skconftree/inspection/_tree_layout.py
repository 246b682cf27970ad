"""Positions and texts of the boxes in a picture of a tree."""

import re

import numpy as np

from skconftree.tree import class_colors

MAX_CLASSES = 12  # in the legend
FOLDED = "folded splits still predict: fold_weak=False shows them"


class Picture:
    """What a picture of a tree shows, whatever draws it; `at` has the shown nodes.

    A subclass has `_broken(text, n, is_head)`, which breaks a text into at most n lines
    of a box.
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
        """Whether no branch of a node is shown."""
        return not any(branch.node in self.at for branch in row.branches)

    def share(self, node):
        """Share of the rows that a node has."""
        total = max(self.root.weight, 1e-300)
        return min(max(self.table[node].weight / total, 0.0), 1.0)

    def head(self, row):
        """The first lines of a box, in bold."""
        if not row.branches:
            return self._broken(str(row.label), 2, True)
        return [
            *self._broken(row.name, 2, True),
            *self._broken(_question(row), 2, True),
        ]

    def lines(self, row):
        """What stands below the strip of a box."""
        if not row.branches:
            return row.outcome.split(", ")
        evidence = row.evidence
        tie = self._broken(row.tie, 2, False) if row.tie else []
        rows = f"{row.rows}, split further" if self.is_end(row) else row.rows
        return [evidence.level, *tie, evidence.by_chance, rows]

    def leaf_look(self, row):
        """Place of the most probable class of a node, and how opaque its color is."""
        best = row.value.index(max(row.value))
        return best, 0.12 + 0.33 * min(max(row.value[best], 0.0), 1.0)

    def legend(self):
        """Places of the classes of the legend, how many are left out, and its lines."""
        counts, places = self.root.counts, range(len(self.names))
        most = sorted(places, key=lambda one: -counts[one])[:MAX_CLASSES]
        has_evidence = self.root.branches and not self.compact
        folds = [FOLDED] if any(hasattr(row, "n_folded") for row in self.nodes) else []
        lines = []
        if has_evidence:
            lines = [*self.root.evidence.legend, *folds, *self.notes]
        return sorted(most), len(places) - len(most), lines

    def answer(self, node):
        """What a node says when asked: how one gets there, and what is there."""
        path, row = [], self.table[node]
        one = row
        while one.parent >= 0:
            parent = self.table[one.parent]
            path.append(next(b.words for b in parent.branches if b.node == one.node))
            one = parent
        where = " and ".join(reversed(path)) or "all rows"
        if not row.branches:
            return f"{where}: class {row.label}, {row.outcome}"
        sure = "; ".join(filter(None, [row.sure, row.lookahead]))
        return f"{where}: {row.rows}, split by {row.test} ({sure})"


def arrange(nodes, max_depth=None):
    """Place nodes of `node_table`: x in widths of a box, y in levels, downwards."""
    order, offset, outline = _shown(nodes, max_depth), {}, {}
    shown = {row.node for row in order}
    for row in reversed(order):  # children before parents
        at, levels = [], []
        children = [one.node for one in row.branches if one.node in shown]
        for child in children:
            edges = outline.pop(child)
            gaps = zip(levels, edges, strict=False)
            by = max((one[1] + 1.0 - other[0] for one, other in gaps), default=0.0)
            for level, (left, right) in enumerate(edges):
                if level < len(levels):
                    levels[level] = levels[level][0], right + by
                else:
                    levels.append((left + by, right + by))
            at.append(by)
        middle = (at[0] + at[-1]) / 2 if at else 0.0
        offset.update(
            (child, by - middle) for child, by in zip(children, at, strict=True)
        )
        moved = ((left - middle, right - middle) for left, right in levels)
        outline[row.node] = [(0.0, 0.0), *moved]
    places = {0: (-min(left for left, _ in outline[0]), 0)}
    for row in order[1:]:
        x = places[row.parent][0] + offset[row.node]
        places[row.node] = x, -row.depth
    return places


def width_of(places):
    """How many boxes the widest level has room for."""
    return 1.0 + max(x for x, _ in places.values())


def readable_depth(nodes, most):
    """Deepest level, 1 at least, at which a picture is at most so many boxes wide."""
    depths = np.array([row.depth for row in nodes])
    levels = np.bincount(depths)
    found = 1
    for depth in range(1, len(levels)):
        # a level that alone is too wide is so arranged in any way
        if levels[depth] > most or width_of(arrange(nodes, depth)) > most:
            break
        found = depth
    return found


def _shown(nodes, max_depth):
    # From the left, parents before children.
    table = {row.node: row for row in nodes}  # ids may lack those replaced
    order, waiting = [], [0]
    while waiting:
        row = table[waiting.pop()]
        order.append(row)
        if row.depth != max_depth:
            waiting += [branch.node for branch in row.branches[::-1]]
    return order


# Widths of letters in ems, of a sans serif.
NARROW, WIDE = set("iljtfrI.,:;'|!()[]{} -"), set("mwMW%@<>=")
DOTS = "..."


def _question(row):
    # What a node asks of its column, without the name.
    return row.test[len(row.name) + 1 :] if row.n_children == 2 else "which category?"


def branch_words(row):
    """What stands beside the ways out of a node."""
    if row.n_children == 2:
        return ["yes", "no"]
    return [one.words[len(row.name) + 1 :] for one in row.branches]


def in_one_line(text):
    """A text without ends of lines, which pictures have no glyphs for."""
    return re.sub(r"\s+", " ", text).strip()


def width_in(text, size):
    """About how wide a text is at most, in the unit of `size`."""
    return size * sum(
        0.36
        if one in NARROW
        else 0.9
        if one in WIDE
        else 0.68
        if one.isupper()
        else 0.64
        if one.isdigit()
        else 0.6
        for one in text
    )


def wrapped(text, size, most, n_lines, width=width_in):
    """Break a text into lines, with an ellipsis; `width` measures a text."""
    found = [""]
    words = in_one_line(text).split(" ")
    for place, word in enumerate(words):
        longer = f"{found[-1]} {word}".strip()
        if width(longer, size) <= most or not found[-1]:
            found[-1] = longer
        elif len(found) < n_lines:
            found.append(word)
        else:
            found[-1] = " ".join([found[-1], *words[place:]])
            break
    return [cut(one, size, most, width) for one in found]


def cut(text, size, most, width=width_in):
    """Leave out the last words of a text that is too wide, or part of its only one."""
    text = in_one_line(text)
    if width(text, size) <= most:
        return text
    while text and width(f"{text}{DOTS}", size) > most:
        shorter = text.rpartition(" ")[0]
        text = shorter or text[:-1]
    return f"{text}{DOTS}"
