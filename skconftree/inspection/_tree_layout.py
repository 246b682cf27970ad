"""Where nodes stand in a picture of a tree: subtrees as near as levels allow."""

import numpy as np


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
