"""The rules for imports between packages, checked in the source.

A package that imports from lower layers only can be used and tested alone. Imports
inside functions count too. Memory has a similar rule: `utils._memory` alone calls
malloc, so that a test can make every allocation fail and each one is freed.
"""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

import skconftree

PACKAGE = "skconftree"
SOURCE = Path(__file__).parents[1] / PACKAGE

# Nested packages, which do not import each other. The other modules of `tree` are the
# public estimator; those of `ensemble` and `active` are common code.
NESTED = {
    "tree": {"split", "nodes", "batch", "leaves", "stream", "pruning", "reading"},
    "ensemble": {"forest", "ncm"},
    "active": {"pool", "stream", "lts", "ec2", "session"},
}
TREE, SETTINGS = "tree", "tree._settings"
MAY_IMPORT = {
    "utils": set(),
    "_compat": set(),
    "criteria": {"utils"},
    "bounds": {"criteria", "utils", "_compat"},
    "drift": {"utils"},
    "datasets": {"utils"},
    "tables": {"utils", "_compat"},
    SETTINGS: {"utils"},
    "tree.split": {"criteria", "bounds", SETTINGS, "utils"},
    "tree.nodes": {"criteria", "bounds", SETTINGS, "utils"},
    "tree.batch": {"tables", "tree.split", "tree.nodes", "bounds", SETTINGS, "utils"},
    "tree.leaves": {"tree.nodes", SETTINGS, "utils"},
    "tree.stream": {
        "tables",
        "tree.leaves",
        "tree.split",
        "tree.nodes",
        "bounds",
        SETTINGS,
        "drift",
        "utils",
    },
    "tree.pruning": {"tree.nodes", "criteria", "bounds", "utils", "_compat"},
    "tree.reading": {"tree.nodes", "criteria", "tables", "utils", "_compat"},
    TREE: {
        *(f"tree.{package}" for package in NESTED["tree"]),
        SETTINGS,
        "criteria",
        "bounds",
        "drift",
        "tables",
        "utils",
        "_compat",
    },
    "linear_model": {"bounds", TREE, "tables", "utils", "_compat"},
    "evaluation": {"drift", "datasets", "tables", "utils"},
}
for package in NESTED["ensemble"]:
    MAY_IMPORT[f"ensemble.{package}"] = MAY_IMPORT[TREE] | {TREE, "ensemble"}
MAY_IMPORT["large"] = MAY_IMPORT[TREE] | {TREE, "ensemble.forest"}
SHARED_BY_LEARNERS = {"bounds", "drift", "tables", "utils", "_compat"}
for package in NESTED["active"]:
    MAY_IMPORT[f"active.{package}"] = SHARED_BY_LEARNERS | {"active"}
MAY_IMPORT["active.session"] = MAY_IMPORT["active.session"] | {"active.pool"}
MAY_IMPORT["active"] = SHARED_BY_LEARNERS | {
    f"active.{package}" for package in NESTED["active"]
}
MAY_IMPORT["ensemble"] = {
    "utils",
    *(f"ensemble.{package}" for package in NESTED["ensemble"]),
}
# Modules of common code that may import the nested packages: exports and registries.
IMPORTS_NESTED = {"active/__init__.py", "active/_registry.py", "ensemble/__init__.py"}
PUBLIC_NAMES_OF_ANYTHING = {"inspection", "testing", "_cli"}
TYPES = f"{PACKAGE}.utils._types"  # of arguments: what any public call is told by
# Of bounds: what every split is stored with, whichever rule made it, included.
CONTRACT_OF_BOUNDS = {
    f"{PACKAGE}.bounds._contract",
    f"{PACKAGE}.bounds._contingency",
}
# Packages that use only the contract of bounds.
BY_CONTRACT = {"tree.split", "tree.nodes", "tree.batch", "tree.stream"}
COMPILED_OF_ENSEMBLE = {
    "criteria",
    "bounds",
    "tables",
    "tree.split",
    "tree.nodes",
    "tree.batch",
    "tree.leaves",
    "tree.stream",
    SETTINGS,
    "utils",
    "ensemble",
}
# Imports by a name in a string, which the checker does not see: modules of other
# libraries, and of packages that use the public API.
BY_NAME = {
    "__init__.py": {'f"{__name__}.{_PACKAGE_OF.get(name, name)}"'},
    "_cli/_options.py": {'f"{__package__}.{module}"'},
    "tree/reading/_to_sklearn.py": {"library"},
    "utils/_codec.py": {"parent", 'f"{module.__name__}.{part}"'},
}
# The only module that calls the functions below.
OWNERS_OF_MEMORY = {"utils/_memory.pyx"}
RAW_MEMORY = re.compile(
    r"\b(malloc|calloc|realloc|free|aligned_alloc|posix_memalign|mmap|munmap"
    r"|Py\w+_(?:Raw)?(?:Malloc|Calloc|Realloc|Free))[ \t]*\(|\b(libcpp)\b"
)

CYTHON_FROM = re.compile(
    r"^[ \t]*from[ \t]+([.\w]+)[ \t]+c?import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE
)
CYTHON_IMPORT = re.compile(r"^[ \t]*c?import[ \t]+([^\n]*)", re.MULTILINE)
COMMENT = re.compile(r"#[^\n]*")


class Import(NamedTuple):
    """`module` imports `name` (or all of the module, if None) from `origin`.

    `level` is the number of leading dots in the source.
    """

    path: str
    module: str
    origin: str
    name: str | None
    level: int


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
            yield Import(
                path.relative_to(source).as_posix(), module, origin, name, level
            )


@cache
def imports_of_the_package():
    """Imports of the package, whose files are parsed once for all tests."""
    return list(imports(SOURCE))


def is_private(*names):
    parts = [part for name in names if name for part in name.split(".")]
    return any(part.startswith("_") and not part.startswith("__") for part in parts)


def package_of(parts):
    """Return the package of a module, given the parts of its name after skconftree."""
    inner = NESTED.get(parts[0], set()) if parts else set()
    if parts[1:2] and (parts[1] in inner or parts[:2] == SETTINGS.split(".")):
        return ".".join(parts[:2])
    return parts[0] if parts else ""


def breach(found):
    """Say what is wrong with an import, or return None."""
    top = found.origin.split(".")[0]
    package = package_of(found.module.split(".")[1:])
    if top == "sklearn":
        if found.path.endswith((".pyx", ".pxd")):
            return "compiled code does not build on scikit-learn"
        if package != "_compat" and is_private(found.origin, found.name):
            return "_compat alone touches private parts of scikit-learn"
        return None
    if top != PACKAGE or found.origin == TYPES:
        return None
    inside = [*found.origin.split(".")[1:], *([found.name] if found.name else [])]
    target = package_of(inside)
    if target == package and package:
        return None
    if target == "_cli":
        # `python -m skconftree` is the command line
        return None if found.path == "__main__.py" else "_cli is imported by nobody"
    if package == "":
        return None
    if package in PUBLIC_NAMES_OF_ANYTHING:
        if target != "_compat" and is_private(found.origin, found.name):
            return f"{package} uses public names only"
        return None
    if package not in MAY_IMPORT:
        return f"{package} has no row in the import rules"
    if target not in MAY_IMPORT[package]:
        return f"{package} may import {sorted(MAY_IMPORT[package]) or 'nothing'}"
    if target.startswith(f"{package}.") and package != TREE:
        if found.path not in IMPORTS_NESTED:
            return f"the common code of {package} imports none of them"
    compiled = found.path.endswith((".pyx", ".pxd"))
    of_ensemble = package.startswith("ensemble.")
    if target == "bounds":
        by_contract = package in BY_CONTRACT or (
            compiled and (package == TREE or of_ensemble)
        )
        if by_contract and found.origin not in CONTRACT_OF_BOUNDS:
            return f"{package} uses the contract of bounds only"
        if package == "tree.pruning" and is_private(found.origin, found.name):
            return f"{package} uses public names of bounds"
    if package == "linear_model" and target == TREE:
        if is_private(found.origin, found.name):
            return f"{package} uses public names of tree"
    if of_ensemble and compiled and target not in COMPILED_OF_ENSEMBLE:
        return f"compiled {package} may import {sorted(COMPILED_OF_ENSEMBLE)}"
    return None


def breaches(found):
    """Every breach of the import rules among imports, and every circle of them."""
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


def test_packages_import_from_lower_layers_only():
    assert breaches(imports_of_the_package()) == []


def test_imports_are_written_in_one_style():
    """Compiled files use absolute imports, Python files use relative ones.

    The command line, the plots and the checks of components use the public API.
    """
    for one in imports_of_the_package():
        if not one.path.endswith(".py"):
            assert one.level == 0, one
        elif one.path.split("/")[0] not in PUBLIC_NAMES_OF_ANYTHING:
            assert one.level > 0 or one.origin.split(".")[0] != PACKAGE, one


def test_imports_by_name_are_those_that_are_listed():
    found = {}
    for path in SOURCE.rglob("*.py*"):
        if path.suffix not in {".py", ".pyx"}:
            continue
        text = COMMENT.sub("", path.read_text(encoding="utf-8"))
        called = re.findall(
            r"\b(?:import_module|__import__)\(([^()]*(?:\([^()]*\)[^()]*)*)\)", text
        )
        if called:
            found[path.relative_to(SOURCE).as_posix()] = set(called)
    assert found == BY_NAME


def test_the_checker_sees_the_source():
    seen = {(found.module, found.origin) for found in imports_of_the_package()}
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
        ("bounds/_a.pxd", "cimport skconftree.tree.nodes._tree", "bounds may import"),
        ("criteria/_a.pyx", "from ..bounds._b cimport X", "criteria may import"),
        (
            "utils/_a.pyx",
            "from skconftree.bounds._contract cimport (\n    Bound,\n)",
            "nothing",
        ),
        ("tree/split/_a.pyx", "from ...bounds._credible cimport X", "contract"),
        ("tree/batch/_a.py", "from ...bounds import CredibleBound", "contract"),
        ("tree/stream/_a.pyx", "from ..batch._b cimport X", "tree.stream may import"),
        ("tree/batch/_a.pyx", "from ..stream._b cimport X", "tree.batch may import"),
        ("tree/nodes/_a.pyx", "from ..split._b cimport X", "tree.nodes may import"),
        ("tree/leaves/_a.pyx", "from ..split._b cimport X", "tree.leaves may import"),
        ("tree/split/_a.py", "from .._classes import X", "tree.split may import"),
        ("tree/nodes/_a.py", "from ... import tree", "tree.nodes may import"),
        ("tree/reading/_a.py", "from ..split._scan import X", "reading may import"),
        ("tree/pruning/_a.py", "from ...bounds._ec2 import X", "public names"),
        ("linear_model/_a.py", "from ..tree._model import X", "public names"),
        ("tables/_a.py", "from ..tree.nodes._tree import Tree", "tables may import"),
        ("active/_a.py", "from ..tree import X", "active may import"),
        ("active/_a.py", "from .pool._b import X", "imports none"),
        ("active/pool/_a.py", "from ...tree import X", "active.pool may import"),
        ("active/lts/_a.py", "from ..pool._b import X", "active.lts may import"),
        ("active/stream/_a.py", "from ..ec2._b import X", "active.stream may import"),
        ("ensemble/ncm/_a.pyx", "from ...tree._classes cimport X", "compiled"),
        ("ensemble/ncm/_a.pyx", "from ...bounds._gtest cimport X", "contract"),
        ("ensemble/ncm/_a.py", "from ..forest._b import X", "ensemble.ncm may import"),
        ("ensemble/forest/_a.pyx", "from ..ncm._b cimport X", "forest may import"),
        ("ensemble/_a.py", "from ..tree import X", "ensemble may import"),
        ("ensemble/_a.py", "from .ncm._b import X", "imports none"),
        ("tree/_a.py", "from sklearn.tree._tree import Tree", "_compat alone"),
        ("tree/_a.py", "from sklearn.base import _fit_context", "_compat alone"),
        ("tree/_a.pyx", "from sklearn.tree._tree cimport Tree", "does not build"),
        ("tree/_a.py", "from .._cli import main", "imported by nobody"),
        ("tree/__main__.py", "from .._cli import main", "imported by nobody"),
        ("__init__.py", "from ._cli import main", "imported by nobody"),
        ("inspection/_a.py", "from ..tree._tree import Tree", "public names"),
        ("testing/_a.py", "from skconftree.tree._tree import Tree", "public names"),
        ("tree/_a.py", "from ..testing import check_bound", "tree may import"),
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
        "tree/split/_b.pyx": "from skconftree.bounds._contract cimport Bound  # a, b",
        "tree/nodes/_b.pyx": "from skconftree.tree._settings cimport GrowthSettings",
        "tree/reading/_b.py": "from ...criteria._criterion import CRITERIA",
        "tree/pruning/_b.py": "from ...bounds import chi2_pvalue",
        "ensemble/_b.py": "from ..utils import x",
        "ensemble/__init__.py": "from .forest._b import X",
        "ensemble/forest/_b.py": "from ...tree import X\nfrom .._b import y",
        "active/_registry.py": "from .ec2._b import X",
        "active/pool/_b.py": "from .._registry import X",
        "inspection/_b.py": "from skconftree import ConfidenceTreeClassifier",
        "testing/_b.py": "from skconftree.bounds import BaseBound\nfrom ._c import x",
        "__init__.py": "from .tree import x\nfrom .bounds._contract import Bound",
    }
    for name, content in harmless.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(content)
    assert breaches(list(imports(source))) == []
    (source / path).parent.mkdir(parents=True, exist_ok=True)
    (source / path).write_text(text)
    (wrong,) = breaches(list(imports(source)))
    assert words in wrong


def takers_of_memory(source):
    """Compiled files that allocate on their own, and how."""
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source).as_posix()
        if path.suffix in {".pyx", ".pxd", ".pxi", ".h"}:
            text = COMMENT.sub("", path.read_text(encoding="utf-8"))
            for called, library in RAW_MEMORY.findall(text):
                yield name, called or library


def test_memory_is_taken_of_its_owners():
    takers = set(takers_of_memory(SOURCE))
    assert {name for name, _ in takers} == OWNERS_OF_MEMORY
    assert ("utils/_memory.pyx", "realloc") in takers


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("a = <int*> malloc(n * sizeof(int))", "malloc"),
        ("    free(self.a)", "free"),
        ("a = <int*> PyMem_RawMalloc(n)", "PyMem_RawMalloc"),
        ("from libcpp.vector cimport vector", "libcpp"),
    ],
)
def test_raw_memory_is_seen(tmp_path, text, how):
    (tmp_path / "_a.pyx").write_text(
        f"# free() and malloc(n)\na = free_lock(b)\n{text}"
    )
    assert list(takers_of_memory(tmp_path)) == [("_a.pyx", how)]


@pytest.mark.parametrize(
    ("missing", "error", "words"),
    [
        ("skconftree.tree._kernel", ImportError, "is not compiled in .*Run `pip inst"),
        ("scipy", ModuleNotFoundError, "no scipy"),
    ],
)
def test_a_module_that_is_not_compiled_is_named(monkeypatch, missing, error, words):
    def import_module(name):
        raise ModuleNotFoundError(f"no {missing}", name=missing)

    monkeypatch.delattr(skconftree, "tree", raising=False)
    monkeypatch.setattr(
        skconftree, "_importlib", SimpleNamespace(import_module=import_module)
    )
    with pytest.raises(error, match=words) as raised:
        skconftree.tree  # noqa: B018
    assert raised.type is error
