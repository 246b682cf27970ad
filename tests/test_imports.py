"""The import rules of the rooms, on the source: a breach is an error, not a taste.

Confidence statements that know no tree can be used and tested alone; a room that
imports upwards drags in everything. Imports inside functions count too.
"""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = "skconftree"
SOURCE = Path(__file__).parents[1] / PACKAGE

TREE = {"bounds", "drift", "utils", "_compat"}
MAY_IMPORT = {
    "utils": set(),
    "_compat": set(),
    "bounds": {"utils", "_compat"},
    "drift": {"utils"},
    "datasets": {"utils"},
    "tree": TREE,
    "ensemble": {"tree", *TREE},
    "linear_model": {"bounds", "utils", "_compat"},
    "active": TREE,
    "evaluation": {"drift", "datasets", "utils"},
}
PUBLIC_NAMES_OF_ANYTHING = {"inspection", "_cli"}

CYTHON_FROM = re.compile(
    r"^[ \t]*from[ \t]+([.\w]+)[ \t]+c?import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE
)
CYTHON_IMPORT = re.compile(r"^[ \t]*c?import[ \t]+([^\n]*)", re.MULTILINE)
COMMENT = re.compile(r"#[^\n]*")


class Import(NamedTuple):
    """`module` imports `name` (or all of the module, if None) from `origin`."""

    path: str
    module: str
    origin: str
    name: str | None


def module_of(path, source):
    parts = path.relative_to(source.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def python_imports(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node.level, node.module or "", alias.name


def cython_imports(text):
    text = COMMENT.sub("", text).replace("\\\n", " ")
    for origin, names in CYTHON_FROM.findall(text):
        bare = origin.lstrip(".")
        for name in names.strip("() \n").split(","):
            if name.strip():
                yield len(origin) - len(bare), bare, name.split()[0]
    for names in CYTHON_IMPORT.findall(text):
        yield from ((0, name.split()[0], None) for name in names.split(","))


def imports(source):
    for path in sorted(source.rglob("*")):
        if path.suffix not in {".py", ".pyx", ".pxd", ".pxi"}:
            continue
        module = module_of(path, source)
        package = module if path.stem == "__init__" else module.rpartition(".")[0]
        parse = python_imports if path.suffix == ".py" else cython_imports
        for level, origin, name in parse(path.read_text(encoding="utf-8")):
            if level:
                base = package.split(".")[: len(package.split(".")) - level + 1]
                origin = ".".join([*base, origin] if origin else base)
            yield Import(str(path.relative_to(source)), module, origin, name)


def is_private(*names):
    parts = [part for name in names if name for part in name.split(".")]
    return any(part.startswith("_") and not part.startswith("__") for part in parts)


def breach(found):
    """Say what is wrong with an import, or return None."""
    top = found.origin.split(".")[0]
    room = [*found.module.split("."), ""][1]
    if top == "sklearn":
        if found.path.endswith((".pyx", ".pxd")):
            return "compiled code does not build on scikit-learn"
        if room != "_compat" and is_private(found.origin, found.name):
            return "_compat alone touches private parts of scikit-learn"
        return None
    if top != PACKAGE:
        return None
    inside = found.origin.split(".")[1:] or [found.name or ""]
    target = inside[0]
    if target == room and room:
        return None
    if target == "_cli":
        return "_cli is imported by nobody"
    if room == "":
        return None
    if room in PUBLIC_NAMES_OF_ANYTHING:
        if is_private(found.origin, found.name):
            return f"{room} uses public names only"
        return None
    if room not in MAY_IMPORT:
        return f"{room} has no row in the import rules"
    if target not in MAY_IMPORT[room]:
        return f"{room} may import {sorted(MAY_IMPORT[room]) or 'nothing of ours'}"
    compiled = found.path.endswith((".pyx", ".pxd"))
    if room == "tree" and target == "bounds" and compiled:
        if found.origin != f"{PACKAGE}.bounds._contract":
            return "compiled tree code sees the contract of bounds alone"
    return None


def breaches(source):
    """Every breach of the import rules in a source tree, and every circle."""
    found = list(imports(source))
    wrong = [
        f"{one.path}: {one.origin} {one.name or ''}: {why}"
        for one in found
        if (why := breach(one)) is not None
    ]
    modules = {one.module for one in found}
    graph = {module: set() for module in modules}
    for one in found:
        target = f"{one.origin}.{one.name}"
        target = target if target in modules else one.origin
        if target in modules and target != one.module:
            graph[one.module].add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        wrong.append("circle: " + " -> ".join(error.args[1]))
    return wrong


def test_rooms_import_only_what_they_may():
    assert breaches(SOURCE) == []


def test_the_checker_sees_the_source():
    seen = {(found.module, found.origin) for found in imports(SOURCE)}
    assert (f"{PACKAGE}.bounds._registry", f"{PACKAGE}.bounds._base") in seen
    contract = f"{PACKAGE}.bounds._contract"
    assert (contract, f"{PACKAGE}.utils._typedefs") in seen


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("bounds/_a.py", "from ..tree import _tree", "bounds may import"),
        ("bounds/_a.py", "from skconftree import tree", "bounds may import"),
        ("bounds/_a.py", "def f():\n    import skconftree.tree", "bounds may import"),
        ("bounds/_a.pyx", "from ..tree._tree cimport Tree", "bounds may import"),
        ("bounds/_a.pxd", "cimport skconftree.tree._tree", "bounds may import"),
        (
            "utils/_a.pyx",
            "from skconftree.bounds._contract cimport (\n    Bound,\n)",
            "nothing of ours",
        ),
        ("tree/_a.pyx", "from ..bounds._credible cimport X", "contract"),
        ("tree/_a.py", "from sklearn.tree._tree import Tree", "_compat alone"),
        ("tree/_a.py", "from sklearn.base import _fit_context", "_compat alone"),
        ("tree/_a.pyx", "from sklearn.tree._tree cimport Tree", "does not build"),
        ("tree/_a.py", "from .._cli import main", "imported by nobody"),
        ("__init__.py", "from ._cli import main", "imported by nobody"),
        ("inspection/_a.py", "from ..tree._tree import Tree", "public names"),
        ("attic/_a.py", "from ..tree import Tree", "no row"),
        ("tree/_a.py", "from . import _a2", "circle"),
        ("tree/_a.pyx", "from ._a2 cimport x", "circle"),
    ],
)
def test_the_checker_catches_a_planted_breach(tmp_path, path, text, words):
    source = tmp_path / PACKAGE
    harmless = {
        "bounds/_b.py": "import numpy\nfrom ._c import x\nfrom .._compat import y",
        "tree/_a2.py": "from . import _a",
        "tree/_b.pyx": "from skconftree.bounds._contract cimport Bound  # import a, b",
        "inspection/_b.py": "from skconftree import ConfidenceTreeClassifier",
        "__init__.py": "from .tree import x\nfrom .bounds._contract import Bound",
    }
    for name, content in harmless.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(content)
    assert breaches(source) == []
    (source / path).parent.mkdir(parents=True, exist_ok=True)
    (source / path).write_text(text)
    (wrong,) = breaches(source)
    assert words in wrong
