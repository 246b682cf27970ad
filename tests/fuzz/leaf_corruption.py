"""Leaves whose arrays are not what they were, but look as arrays of their kind do."""

from itertools import groupby

import numpy as np
from reference.leaf_state import NOMINAL, fields_of_leaves

N_BINS = 5  # place in a header
BINS = {"first", "edges", "low", "high", "kind", "histogram", "fresh_histogram"}
KINDS = (0, 1, NOMINAL, NOMINAL, NOMINAL + 1, 255)  # of bins, and what is none
FLOATS = (np.nan, np.inf, -np.inf, -1.0, 0.0, 1.0, 1e30)
WHOLE = (-1, 0, 1, 2, 3)
# Of arrays: one value, two of them, all of them.
WAYS = {"value": 6, "trade": 2, "reverse": 1, "level": 1, "scale": 1}


def draw_field(draw, fields):
    """A field of any name, half the time one of the bins that few leaves have."""
    names = {one.name for one in fields}
    if "first" in names and draw.chance(0.5):
        names &= BINS
    name = draw.one(sorted(names))
    return draw.one([one for one in fields if one.name == name])


def damaged_leaves(draw, tree, leaves):
    """Bytes of leaves, one of which has another value, or more bins than it may."""
    fields = fields_of_leaves(tree, leaves)
    if any(one.name == "first" for one in fields) and draw.chance(0.2):
        return _with_more_bins(draw, tree, fields, leaves)
    field = draw_field(draw, fields)
    array = np.frombuffer(leaves[field.begin : field.end], field.dtype).copy()
    with np.errstate(over="ignore", invalid="ignore"):
        _damage(draw, array)
    return leaves[: field.begin] + array.tobytes() + leaves[field.end :]


def _damage(draw, array):
    way = draw.weighted(WAYS)
    last = len(array) - 1  # means more than the others where it is an end
    place, other = (
        last if draw.chance(0.2) else draw.whole(0, last),
        draw.whole(0, last),
    )
    if way == "value":
        value = array[place]
        near = (value * 2, -value, value * 0.999, array[other])
        if array.dtype.kind == "f":
            array[place] = draw.one([*FLOATS, value + 1, *near])
        elif array.dtype.itemsize == 1:
            array[place] = draw.one(KINDS)
        else:
            top = int(np.iinfo(array.dtype).max)
            value = [*WHOLE, int(value) + 1, int(value) - 1, int(array[other]), top]
            # what does not fit begins again
            array[place] = np.array(draw.one(value) % (2 * top + 2)).astype(array.dtype)
    elif way == "trade":
        array[[place, other]] = array[[other, place]]
    elif way == "reverse":
        array[:] = array[::-1].copy()
    elif way == "level":
        array[:] = array[place]
    elif array.dtype.kind == "f":
        array *= draw.one([2.0, 0.5, -1.0])


def _with_more_bins(draw, tree, fields, leaves):
    """Empty bins of one feature: each array fits the others."""
    begins = [one for one in fields if one.name == "first"]
    node = draw.one(begins).node
    of_leaf = next(
        {one.name: one for one in part}
        for key, part in groupby(fields, lambda one: one.node)
        if key == node
    )

    def read(name):
        one = of_leaf[name]
        return np.frombuffer(leaves[one.begin : one.end], one.dtype).copy()

    header, first, edges, kind = map(read, ("header", "first", "edges", "kind"))
    feature = draw.whole(0, len(first) - 1)
    n = draw.one([1, 3, 40, 400])
    ends = np.append(first, len(edges))
    if kind[feature] == NOMINAL:
        place = ends[feature + 1]
        values = edges[place - 1] + np.arange(1, n + 1)
    else:
        place = ends[feature]  # below all values
        least = min(edges[place], 1e6)
        values = least - np.maximum(abs(least), 1.0) * np.arange(n, 0, -1)
        values = np.maximum(values, np.finfo(np.float32).min)
    new = {
        "header": header,
        "first": np.where(np.arange(len(first)) > feature, first + n, first),
        "edges": np.insert(edges, place, values.astype(edges.dtype)),
    }
    header[N_BINS] += n
    for name in ("histogram", "fresh_histogram"):
        if name in of_leaf:
            table = read(name).reshape(-1, tree.max_n_classes)
            new[name] = np.insert(table, [place] * n, 0.0, axis=0)
    out = bytearray(leaves)
    for name in sorted(new, key=lambda name: -of_leaf[name].begin):
        array = new[name].astype(of_leaf[name].dtype)
        out[of_leaf[name].begin : of_leaf[name].end] = array.tobytes()
    return bytes(out)
