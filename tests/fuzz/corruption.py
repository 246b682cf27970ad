"""Pickles with corrupt parts."""

import io
import pickle
import pickletools
import struct

import numpy as np
from reference.leaf_state import fields_of_leaves
from skconftree.tree.nodes._tree import Tree
from sklearn.base import BaseEstimator

from skconftree import ConfidenceTreeClassifier
from skconftree.tree.nodes._derived import read_nodes
from skconftree.tree.stream._state import GrowerState

from .leaf_corruption import damaged_leaves, draw_field

INTEGERS = (-1, 0, 1, 2, 3, 5, 31, 64, 4096, 65535, 2**31, 2**62, -(2**63), 2**70)
NUMBERS = (-1.0, 0.0, 0.5, 1e300, np.nan, np.inf, -np.inf, 5e-324)
WORDS = ("", "nb", "nba", "majority", "gini", "entropy", "x" * 1000)
TARGETS = {
    **{"tree": 4, "recipe": 3, "leaves": 8, "growth": 2, "detector": 1},
    **{"class weights": 1.5, "background": 1},
    **{"ConfidenceTreeClassifier": 0.5, "model": 2, "schema": 1, "bytes": 1},
}
# Parts of what a growing tree comes from, and of one that watches for drifts.
GROWTH = ("recipe", "class weights", "leaves", "growth")
WATCH = ("detector", "background")
# Parts of the state of a model, or of that of a tree in it, and all of it.
OF_MODEL = (*GROWTH, *WATCH, "tree", "schema", "particle_filter", "samples", "model")
# Parts of a model that another one may have as well.
PARTS = ("tree", "classes", "schema", "resolved", "grower", "honest_counts")
# What happens to bytes, which hold arrays: of half words most of all.
BYTES = {
    **{"short": 4, "trade": 3, "flip": 1, "integer": 1, "number": 1, "float": 1},
    **{"ordinal": 1, "cut": 1, "add": 1, "zeros": 1},
}


class Pickler(pickle.Pickler):
    """Damages one of the objects of a class on its way into the pickle."""

    def __init__(self, file, draw, target):
        super().__init__(file)
        self.draw = draw
        self.target = target
        self.done = False

    def reducer_override(self, one):
        if self.done or not self._is_target(one) or self.draw.chance(0.1):
            return NotImplemented
        self.done = True
        make, arguments, *rest = one.__reduce_ex__(4)
        if self.target in OF_MODEL:
            state, *rest = rest
            model = self._in_model(state["_model"])
            return make, arguments, {**state, "_model": model}, *rest
        if rest and (make.__name__ == "__newobj__" or self.draw.chance(0.7)):
            return (make, arguments, self.in_state(one, rest[0]), *rest[1:])
        return (make, _in_sequence(self.draw, arguments), *rest)

    def in_state(self, one, state):
        """Damage of the state of an object."""
        return damaged(self.draw, state)

    def _is_target(self, one):
        if self.target in OF_MODEL:
            return isinstance(one, BaseEstimator) and hasattr(one, "classes_")
        return self.target in [cls.__name__ for cls in type(one).__mro__]

    def _in_model(self, model):
        if self.target == "model":
            return damaged(self.draw, model)
        if self.target != "tree" and self.target not in GROWTH + WATCH:
            return {**model, self.target: damaged(self.draw, model[self.target])}
        if "trees" not in model:
            return self._in_tree(model)
        trees = list(model["trees"])
        place = self.draw.whole(0, len(trees) - 1)
        trees[place] = self._in_tree(trees[place])
        return {**model, "trees": trees}

    def _in_tree(self, model):
        if isinstance(model, tuple):
            return self._in_nodes(model)
        if self.target == "tree":
            return {**model, "tree": self._in_nodes(model["tree"])}
        return {**model, "grower": self._in_growth(model["tree"], *model["grower"])}

    def _in_nodes(self, tree):
        arguments, arrays = tree
        if self.draw.chance(0.7):
            return arguments, damaged(self.draw, arrays)
        return damaged(self.draw, arguments), arrays

    def _in_growth(self, tree, recipe, state):
        tree = read_nodes(Tree, tree)
        if self.target == "recipe":
            recipe = damaged(self.draw, recipe)
        elif self.target == "class weights":
            weight = _damaged_weights(self.draw, tree.max_n_classes)
            recipe = {**recipe, "class_weight": weight}
        elif self.target == "growth":
            state = damaged(self.draw, state)
        else:
            place = 1 + GrowerState._fields.index(self.target)  # behind the version
            part = state[place]
            if self.target == "leaves":
                part = self._in_leaves(tree, recipe, part)
            else:
                part = damaged(self.draw, part)
            state = (*state[:place], part, *state[place + 1 :])
        return [recipe, state]

    def _in_leaves(self, tree, recipe, leaves):
        if recipe["in_forest"] or self.draw.chance(0.25):
            return damaged(self.draw, leaves)  # most bytes are those of rows and counts
        if self.draw.chance(0.6):
            return damaged_leaves(self.draw, tree, leaves)
        field = draw_field(self.draw, fields_of_leaves(tree, leaves))
        data = _damaged_bytes(self.draw, leaves[field.begin : field.end])
        return leaves[: field.begin] + data + leaves[field.end :]


def damage_and_use(sequence, name, model, targets, use):
    """Dump a model with damage to one of `targets`: an error, or it can be used."""
    file = io.BytesIO()
    target = sequence.draw.one(targets)
    Pickler(file, sequence.draw, target).dump(model)

    def call():
        try:
            with np.errstate(all="ignore"):
                other = pickle.loads(file.getvalue())
                use(other)
                pickle.dumps(other)
        except SystemError:  # of compiled code that returned without a result
            raise
        except Exception:
            pass

    sequence.call(f"{name}: damaged {target}", call)


def targets_of(model):
    """What there is in a model to be damaged, and how often it is."""
    grower = model._model.grower
    absent = set()
    if grower is None:
        absent.update(GROWTH)
    if grower is None or grower.recipe.settings.drift is None:
        absent.update(WATCH)
    return {name: share for name, share in TARGETS.items() if name not in absent}


def damaged_pickle(draw, model):
    """Bytes of a pickle of a model, and what was damaged in it."""
    target = draw.weighted(targets_of(model))
    sound = pickle.dumps(model)
    if target == "bytes":
        return _damaged_file(draw, sound), target
    for _ in range(5):  # what is drawn may be what was there
        file = io.BytesIO()
        Pickler(file, draw, target).dump(model)
        if file.getvalue() != sound:
            break
    return file.getvalue(), target


class Mixer(pickle.Pickler):
    """Gives an estimator parts of another one on its way into the pickle."""

    def __init__(self, file, parts):
        super().__init__(file)
        self.parts = parts

    def reducer_override(self, one):
        if type(one) is not ConfidenceTreeClassifier:
            return NotImplemented
        make, arguments, state, *_ = one.__reduce_ex__(4)
        return make, arguments, {**state, "_model": state["_model"] | self.parts}


def mixed_pickle(draw, model, other):
    """Bytes of a pickle of a model, some of whose parts are those of another one."""
    state = other.__getstate__()["_model"]
    file = io.BytesIO()
    names = draw.some(PARTS, 0.5) or [draw.one(PARTS)]
    Mixer(file, {name: state[name] for name in names}).dump(model)
    return file.getvalue(), "stranger"


def damaged(draw, value):
    """Copy of a value in which one part, however deep inside, is another."""
    if draw.chance(0.03):
        return draw.one([None, (), {}, "", b"", -1, 1.5, np.zeros(3), [value]])
    if isinstance(value, tuple | list) and len(value):
        return _in_sequence(draw, value)
    if isinstance(value, dict) and value:
        key = draw.one(sorted(value, key=str))
        if draw.chance(0.05):
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: damaged(draw, value[key])}
    if isinstance(value, bytes) and value:
        return _damaged_bytes(draw, value)
    if isinstance(value, np.ndarray):
        return _damaged_array(draw, value)
    if isinstance(value, bool):
        return draw.one([not value, 2, None])
    if isinstance(value, int):
        return draw.one([*INTEGERS, value + 1, value - 1])
    if isinstance(value, float):
        return draw.one([*NUMBERS, value * 2, -value])
    if isinstance(value, str):
        return draw.one(WORDS)
    if value is None:
        return draw.one([0, "x", b"", (1, 2), np.zeros((2, 2))])
    return value


def _in_sequence(draw, value):
    kind = type(value)
    items = list(value)
    place = draw.whole(0, len(items) - 1)
    what = draw.weighted({"deeper": 20, "drop": 1, "twice": 1, "swap": 1})
    if what == "drop":
        del items[place]
    elif what == "twice":
        items.insert(place, items[place])
    elif what == "swap":
        other = draw.whole(0, len(items) - 1)
        items[place], items[other] = items[other], items[place]
    else:
        items[place] = damaged(draw, items[place])
    if hasattr(kind, "_fields"):
        return tuple(items)
    return kind(items)


def _damaged_weights(draw, n_classes):
    # Of classes that leaves hold, mostly: those for a model without weights as well.
    weight = np.ones(n_classes)
    if draw.chance(0.2):
        return _damaged_array(draw, weight)
    weight[draw.whole(0, n_classes - 1)] = draw.one([*NUMBERS, 1e-160, *[0.0] * 8])
    return weight


def _damaged_file(draw, data):
    # One that ends too soon, or has other numbers in an array. The rest of a pickle is
    # a program, and NumPy believes whatever state it gives to a dtype: it may crash.
    arrays = [
        (place + data[place:].index(value), value)
        for code, value, place in pickletools.genops(data)
        if isinstance(value, bytes) and value
    ]
    if not arrays or draw.chance(0.3):
        return data[: draw.whole(0, len(data) - 1)]
    place, value = draw.one(arrays)
    other = _damaged_bytes(draw, value)[: len(value)]
    return data[:place] + other + data[place + len(other) :]


def _damaged_bytes(draw, data):
    data = bytearray(data)
    place = draw.whole(0, len(data) - 1)
    aligned = max(min(place - place % 8, len(data) - 8), 0)
    half = max(min(place - place % 4, len(data) - 4), 0)
    kind = draw.weighted(BYTES)
    if kind == "flip":
        data[place] ^= 1 << draw.whole(0, 7)
    elif kind == "integer":
        value = struct.pack("<q", min(draw.one(INTEGERS), 2**63 - 1))
        data[aligned : aligned + 8] = value[: len(data)]
    elif kind == "short":
        value = struct.pack("<i", draw.one([-(2**31), -2, -1, 0, 1, 2, 3, 2**31 - 1]))
        data[half : half + 4] = value[: len(data)]
    elif kind == "ordinal":
        place -= place % 2
        value = struct.pack("<h", draw.one([-2, -1, 0, 1, 2, 3, 2**15 - 1]))
        data[place : place + 2] = value[: len(data) - place]
    elif kind == "trade":
        # what is plausible elsewhere, such as the number of another node
        other = draw.whole(0, max(len(data) // 4 - 1, 0)) * 4
        words = data[half : half + 4], data[other : other + 4]
        data[other : other + 4], data[half : half + 4] = words
    elif kind == "number":
        data[aligned : aligned + 8] = struct.pack("<d", draw.one(NUMBERS))[: len(data)]
    elif kind == "float":
        value = struct.pack("<f", draw.one([np.nan, np.inf, -1.0, 0.0, 1e38]))
        data[half : half + 4] = value[: len(data)]
    elif kind == "cut":
        del data[place:]
    elif kind == "add":
        data[place:place] = bytes(draw.one([1, 4, 8, 64]))
    else:
        data[place : place + 64] = bytes(len(data[place : place + 64]))
    return bytes(data)


def _damaged_array(draw, array):
    what = draw.one(["value", "cut", "longer", "dtype", "shape", "order"])
    if what == "value" and array.size and array.dtype.kind in "fiub":
        array = array.copy()
        values = NUMBERS if array.dtype.kind == "f" else (0, 1, 100)
        with np.errstate(over="ignore"):  # 1e300 in 32 bits
            array.flat[draw.whole(0, array.size - 1)] = draw.one(values)
        return array
    if what == "cut":
        return array[: len(array) // 2].copy()
    if what == "longer" and array.size:
        return np.concatenate([array, array])
    if what == "dtype" and array.dtype.kind in "fiub":
        kind = draw.one([np.float64, np.float32, np.int8, object, str])
        with np.errstate(all="ignore"):
            return array.astype(kind)
    if what == "shape":
        return array.reshape(-1)
    return np.asfortranarray(array)
