"""The page on the format has a row for each field of real states, and no other.

What reads a file in two years starts from this page.
"""

import csv
import importlib
import io
import json
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from contracts.test_skops_files import CLASSES, FRAME, LEARNERS, MODELS, X, Y
from skconftree.ensemble.ncm._centroid_tree import NCMTree
from skconftree.tree.nodes._tree import Tree
from sklearn.base import BaseEstimator

import skconftree
from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMForestClassifier,
    OASISClassifier,
)
from skconftree._cli import main
from skconftree.active import ActiveLearner, StreamActiveLearner
from skconftree.tree.nodes._compact import DROPPED, CompactTree
from skconftree.tree.nodes._derived import write_nodes
from skconftree.tree.nodes._state import EVIDENCE_DTYPE
from skconftree.tree.stream._state import GrowerState
from skconftree.utils import _model_file

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "doc/development/format.rst").read_text("utf-8")


def tables():
    """Rows of each table of the page, by its title."""
    found = re.findall(r"^\.\. csv-table:: (.+)\n((?: {3}.*\n|\n)+)", PAGE, re.M)
    assert len(found) == len({title for title, _ in found}) > 20
    return {
        title: list(
            csv.reader(
                (line.strip() for line in block.splitlines() if ":" not in line[:4]),
                skipinitialspace=True,
            )
        )
        for title, block in found
    }


TABLES = {
    title: [[row[0].strip("`"), *row[1:]] for row in rows if row]
    for title, rows in tables().items()
}
NUMBERS = TABLES.pop("Numbers")


def dictionaries():
    """A stream learner whose rows are dictionaries."""
    rows = pd.DataFrame(X, columns=list("abcd")).to_dict("records")
    learner = StreamActiveLearner(
        ConfidenceTreeClassifier(), classes=CLASSES, random_state=0
    )
    return learner.run(rows[::3], Y[::3]) and learner


def weighted():
    known = [label if i % 10 == 0 else None for i, label in enumerate(Y.tolist())]
    learner = ActiveLearner(ConfidenceTreeClassifier(), random_state=0)
    return learner.fit(FRAME, known).teach([1, 2], [0, 0], sample_weight=[1.0, 2.0])


STATES = MODELS | {
    "early tree": lambda: ConfidenceTreeClassifier().partial_fit(X, Y, CLASSES),
    "out of bag": lambda: ConfidenceForestClassifier(
        30, oob_score=True, random_state=0
    ).fit(X, Y),
    "adaptive": lambda: (
        NCMForestClassifier(4, random_state=0).fit(X, Y).partial_fit(X, Y)
    ),
    "raw OASIS": lambda: OASISClassifier(standardize=False).fit(X, Y),
    "pool": LEARNERS["pool"],
    "weights": weighted,
    "stream": LEARNERS["stream"],
    "no class": lambda: StreamActiveLearner(ConfidenceTreeClassifier()).teach(
        X[:2], Y[:2]
    ),
    "dictionaries": dictionaries,
}
TITLES = {
    "ConfidenceTreeClassifier": "Tree",
    "ConfidenceForestClassifier": "Forest",
    "NCMTreeClassifier": "NCM tree",
    "NCMForestClassifier": "NCM forest",
    "OASISClassifier": "OASIS",
    "PartiallyLinearTreeClassifier": "Partially linear tree",
}


def parts(model):
    """Pairs of the title of a table and a dict with the fields of one state."""
    kind, state = type(model).__name__, model.__getstate__()
    own = {k: v for k, v in state.items() if k not in model.get_params(deep=False)}
    if kind in TITLES:
        yield "Estimator", own
        yield from parts_of_model(TITLES[kind], own["_model"])
        return
    yield kind, own
    for name in ("_start", "_answers"):
        batches = own.get(name, [])
        for batch in batches if isinstance(batches, list) else [batches]:
            yield "Batch", batch._asdict()
    for title, name in (("LabelCodes", "_coder"), ("Pool", "_pool")):
        if name in own:
            yield title, own[name].__getstate__()


def parts_of_model(title, state):
    yield title, state
    if "schema" in state:
        yield "Schema", state["schema"]
    if title == "Tree":
        yield "Resolved settings", state["resolved"]
        if state["grower"] is not None:
            recipe, (_, *growth) = state["grower"]
            yield "Recipe", recipe
            yield "Growth settings", recipe["settings"]
            yield (
                "State of growth",
                dict(zip(GrowerState._fields, growth, strict=True)),
            )
        if "early" in state:
            yield "Early rows", state["early"]
            if state["early"]["fitted"] is not None:
                rest = {"schema": {}, "classes": np.zeros(0)}
                assert not rest.keys() & state["early"]["fitted"].keys()
    elif title == "Forest":
        for tree in state["trees"]:
            yield from parts_of_model("Tree", tree)
        for resolved in state["resolved"]:
            yield "Resolved settings", resolved
    elif title == "OASIS" and state["particle_filter"] is not None:
        arguments, particles = state["particle_filter"]
        yield "Arguments of the particles", arguments
        yield "State of the particles", particles


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Values of each field of each table, in real states and files."""
    with warnings.catch_warnings(action="ignore"):
        return fields_of_states(tmp_path_factory.mktemp("models"))


def fields_of_states(folder):
    fields = {}
    for make in STATES.values():
        for title, state in parts(make()):
            for name, value in state.items():
                fields.setdefault(title, {}).setdefault(name, []).append(value)
    FRAME.assign(target=Y).to_csv(folder / "table.csv", index=False)
    texts = ["word" if y else "other" for y in Y]
    pd.DataFrame({"a": X[:, 0], "t": texts}).to_csv(folder / "pool.csv", index=False)
    table = [str(folder / "table.csv"), "--target", "target", "--output"]
    for command, options in {
        "fit": [*table, str(folder / "fit"), "--baselines", "none", "--folds", "2"],
        "stream": [*table, str(folder / "stream")],
        "label": [
            str(folder / "pool.csv"),
            "--labels",
            "u,v",
            "--text",
            "t",
            "--model",
        ],
    }.items():
        path = str(folder / command)
        options += [path] if command == "label" else []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", io.StringIO("1\n2\n1\n2\nq\n"))
            assert main([command, *options]) == 0
        with np.load(path) as members:
            members = {name: members[name] for name in members.files}
        head = json.loads(members["head"].tobytes())
        for title, part in (
            ("Members of a model file", members),
            ("Head of a model file", head),
        ):
            for name, value in part.items():
                if not re.fullmatch(r"array_[1-9]\d*", name):
                    fields.setdefault(title, {}).setdefault(name, []).append(value)
    return fields


OF_TREES = "Arrays of a tree", "Arrays of an NCM tree"


@pytest.mark.parametrize("title", sorted(TABLES.keys() - set(OF_TREES)))
def test_each_field_has_a_row(title, found):
    assert [row[0] for row in TABLES[title]].count(TABLES[title][0][0]) == 1
    assert {row[0] for row in TABLES[title]} == found[title].keys()


def is_of(value, kind):
    """Whether a value is of a type as the page names it."""
    name = kind.split()[0]
    if name == "None":
        return value is None
    if name in ("object", "table"):
        return True
    if name == "estimator":
        return isinstance(value, BaseEstimator)
    if name == "array":
        return isinstance(value, np.ndarray)
    if "(" not in kind and name in (
        "int",
        "float",
        "str",
        "bool",
        "dict",
        "bytes",
        "tuple",
        "list",
    ):
        return type(value).__name__ == name or (name == "tuple" and type(value) is list)
    if isinstance(value, np.ndarray):
        if not value.dtype.name.startswith(name.rstrip(":")) and not (
            name == "str" and value.dtype.kind == "U"
        ):
            return False
        shape = re.search(r"\((.*)\)", kind)
        return shape is None or value.ndim == len(
            [part for part in shape[1].split(",") if part]
        )
    return name in {base.__name__ for base in type(value).__mro__}


@pytest.mark.parametrize("title", sorted(TABLES.keys() - set(OF_TREES)))
def test_fields_have_the_types_of_the_page(title, found):
    for name, kind, *_ in TABLES[title]:
        for value in found[title][name]:
            if isinstance(value, np.ndarray) and value.dtype.kind == "U":
                assert kind == "str" or kind.startswith("array"), name
                continue
            kinds = kind.split(" or ")
            assert any(is_of(value, one) for one in kinds), (name, kind, type(value))


def test_arrays_of_trees():
    """A tree with all optional arrays has the names, types and order of the page."""
    for title, tree in (
        (OF_TREES[0], Tree(2, 3, None, True, 0.0, True, True, True, True)),
        (OF_TREES[1], NCMTree(2, 3)),
    ):
        tree._add_root()
        state = tree.__getstate__()
        rows = TABLES[title]
        assert len(rows) == len(state) - 1
        sizes = {"int16": 2, "int32": 4, "int64": 8, "float32": 4, "float64": 8}
        for (name, kind, *_), data in zip(rows, state[1:], strict=True):
            dtype, _, shape = kind.partition(" ")
            if dtype in sizes and len(data):
                columns = {"": 1, "(K,)": 3, "(n_centroids, d)": 2}[shape]
                assert len(data) == sizes[dtype] * columns, name
    compact = CompactTree(2, 3, None, False, keep_values=True)
    compact.__setstate__(
        tuple(
            part
            for part, name in zip(
                state_of_compact(), ["number", *names_of_compact()], strict=True
            )
            if name not in DROPPED
        )
    )
    marked = {row[0] for row in TABLES[OF_TREES[0]] if "not if compact" in row[2]}
    assert marked == set(DROPPED)
    assert EVIDENCE_DTYPE.names == Tree(1, 2).evidence.dtype.names


def names_of_compact():
    optional = {"costs", "competitors", "stops"}
    return [row[0] for row in TABLES[OF_TREES[0]] if row[0] not in optional]


def state_of_compact():
    tree = Tree(2, 3, None, False, keep_values=True)
    tree._add_root()
    values = np.full((1, 3), 1 / 3)
    state = list(tree.__getstate__())
    state[1 + names_of_compact().index("values")] = values.tobytes()
    assert len(write_nodes(tree)[1]) == len(state)
    return state


def test_numbers_are_those_of_the_code():
    for part, place, number in NUMBERS:
        name, path = re.fullmatch(r"``(\w+)`` in ``([\w/.]+)``", place).groups()
        module = path.rpartition(".")[0].replace("/", ".")
        module = importlib.import_module(f"skconftree.{module}")
        assert getattr(module, name) == int(number), part
    assert _model_file.FORMAT == int(NUMBERS[0][2])


def test_each_row_has_a_version():
    own = tuple(map(int, re.findall(r"\d+", skconftree.__version__)))
    for rows in TABLES.values():
        for name, kind, _, since in rows:
            assert kind, name
            assert (0, 1, 0) <= tuple(map(int, since.split("."))) <= own
