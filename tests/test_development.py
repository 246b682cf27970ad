"""The development pages name files and objects that exist, and their recipes run.

Developers read these pages before the source, so outdated names would mislead them.
"""

import builtins
import importlib
import re
import sys
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest
from test_imports import MAY_IMPORT, PUBLIC_NAMES_OF_ANYTHING, SETTINGS

import skconftree
from skconftree import ConfidenceTreeClassifier
from skconftree._compat import InvalidParameterError
from skconftree.testing import check_stopping_rule, check_strategy
from skconftree.testing._plug_ins import table
from skconftree.tree import _parameters
from skconftree.tree import _parameters as tree_parameters

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "skconftree"
PAGES = sorted((ROOT / "doc/development").glob("*.rst"))
PICTURES = [ROOT / f"doc/images/row-{name}.svg" for name in ("batch", "stream")]
PICTURES += [ROOT / f"doc/images/row-{name}.svg" for name in ("forest", "query")]
FIRST_SCREEN = 48  # lines

FILE = re.compile(r"[\w.-]+(?:/[\w.-]+)+|\w+\.(?:pyx|pxd|py)")
LITERAL = re.compile(r"``([^`]+)``")
NAME_IN_FILE = re.compile(r"``([\w.]+)``\s+in\s+``([\w./]+)``")
NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
# Lines that define a name: functions, classes, assignments, fields of compiled code.
DEFINITIONS = (
    r"^[ \t]*(?:def|cdef|cpdef|class)\b[^\n#=(]*?\b{0}\b[ \t]*[(:]",
    r"^[ \t]*(?:self\.)?(?:\w+, )*{0}(?:, \w+)*(?:: [^=\n]+)?[ \t]*=(?!=)",
    r"^[ \t]+(?!return|raise|from|import|in |and |or |not |yield|else|if |del )"
    r"(?:(?:cdef|readonly|const) )*\w[\w.\[\]:]*[ *]+{0}[ \t]*(?:#.*)?$",
)
EXTERNAL = {"cimport", "pytest", "copy.copy", "copy.deepcopy", *dir(builtins)}


def text_of(path):
    """A source file and its header, without docstrings."""
    header = path.with_suffix(".pxd")
    files = [path, header] if path.suffix == ".pyx" and header.exists() else [path]
    text = "\n".join(file.read_text("utf-8") for file in files)
    return re.sub(r'"""(?s:.*?)"""', "", text)


def defines(text, name):
    """Whether a source defines a function, class, constant or attribute."""
    return name in text and any(
        re.search(form.format(re.escape(name)), text, re.MULTILINE)
        for form in DEFINITIONS
    )


TEXTS = {
    path: text_of(path)
    for suffix in ("*.py", "*.pyx", "*.pxd")
    for path in SOURCE.rglob(suffix)
}


def is_file(name):
    return any((base / name).exists() for base in (SOURCE, ROOT))


def is_name(name, texts=TEXTS):
    """Whether a dotted name is a module, or defined, its parts in one file."""
    if name.split(".")[0] == "skconftree":
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            parent, _, last = name.rpartition(".")
            return hasattr(importlib.import_module(parent), last)
        return True
    parts = name.split(".")
    return any(all(defines(text, part) for part in parts) for text in texts.values())


def unknown(text):
    """Yield the names on a page that do not exist."""
    for name in LITERAL.findall(text):
        if FILE.fullmatch(name):
            if not is_file(name):
                yield name
        elif NAME.fullmatch(name) and name not in EXTERNAL:
            if not (is_name(name) or is_file(name)):
                yield name
    for name, file in NAME_IN_FILE.findall(text):
        path = SOURCE / file
        if path.is_file() and not all(
            defines(TEXTS[path], part) for part in name.split(".")
        ):
            yield f"{name} in {file}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_on_a_page_exist(page):
    text = page.read_text("utf-8")
    assert LITERAL.findall(text)
    assert list(unknown(text)) == []


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.stem)
def test_files_of_a_picture_exist(picture):
    shown = " ".join(re.findall(r"<text[^>]*>([^<]*)<", picture.read_text("utf-8")))
    files = [name for name in FILE.findall(shown) if "." in name]
    assert len(files) > 8
    assert [name for name in files if not is_file(name)] == []


def test_unknown_names_are_detected():
    for name in (
        "tree/_modell.py",
        "tests/contracts/test_nothing.py",
        "TreeModel.of_no_state",
        "NoSuchModel",
        "skconftree.nowhere",
    ):
        assert list(unknown(f"the ``{name}`` here")) == [name]
    moved = "``Schema`` in\n   ``tree/_model.py``"
    assert list(unknown(moved)) == ["Schema in tree/_model.py"]
    assert list(unknown("``Schema`` in ``tables/_schema.py``, ``delta=0.3``")) == []


def test_the_first_screen_has_the_entry_points():
    lines = (ROOT / "doc/development/index.rst").read_text("utf-8").splitlines()
    screen = "\n".join(lines[:FIRST_SCREEN])
    for question, answer in {
        "validation of a table": "tables/_schema.py",
        "a call of ``partial_fit``": "tables/_partial_fit.py",
        "a fitted tree": "tree/_model.py",
        "pickling and copying": "TreeModel.of_state",
        "binning of values": "EncodedTable",
        "rows stored in a leaf": "count_rows",
        "concept drift": "MonitoredGrower",
        "progress callbacks": "tree/_progress.py",
    }.items():
        assert question in screen
        assert answer in screen.split(question)[1].split("   * - ")[0]


def test_other_pages_link_here():
    assert "development/index" in (ROOT / "doc/index.rst").read_text("utf-8")
    assert "doc/development" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")


@pytest.fixture
def layers(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "doc"))
    yield importlib.import_module("maps").LAYERS
    for name in ("maps", "drawing"):
        del sys.modules[name]


def test_the_picture_of_the_layers_is_the_table_of_imports(layers):
    """Every package is in it, and imports from lower layers only."""
    height = {
        package.replace("/", "."): -layer
        for layer, (_, packages) in enumerate(layers)
        for package in packages
    }
    assert set(height) == (MAY_IMPORT.keys() | PUBLIC_NAMES_OF_ANYTHING) - {SETTINGS}
    for package, others in MAY_IMPORT.items():
        for other in others - {SETTINGS}:
            if package != SETTINGS and not other.startswith(f"{package}."):
                assert height[other] < height[package], (package, other)


# -- recipes -----------------------------------------------------------------------

RECIPES = (ROOT / "doc/development/recipes.rst").read_text("utf-8")


@pytest.fixture
def recipe():
    """Execute a printed block in a new module and return the module."""
    made = []

    def run(text, **namespace):
        blocks = re.findall(
            r"^\.\. code-block:: python\n\n((?:(?: {3}.*)?\n)+)", RECIPES, re.MULTILINE
        )
        (block,) = [block for block in blocks if text in block]
        module = types.ModuleType(f"recipe_{len(made)}")
        # The new module keeps its own `__name__`.
        vars(module).update(
            {
                name: value
                for name, value in namespace.items()
                if not name.startswith("__")
            }
        )
        sys.modules[module.__name__] = module  # pickles look there
        made.append(module.__name__)
        exec(textwrap.dedent(block), vars(module))
        return module

    yield run
    for name in made:
        del sys.modules[name]


def test_every_kind_has_a_recipe():
    printed = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for title in re.findall(r'"(Add a \w+)"', RECIPES):
        assert f"## {title}\n" in printed
    for check in skconftree.testing.__all__:
        assert f"testing.{check}" in RECIPES


def test_query_strategy(recipe):
    MySampling = recipe("class MySampling").MySampling
    check_strategy(MySampling())
    check_strategy(MySampling(power=0.0))


def test_stopping_rule(recipe):
    check_stopping_rule(recipe("class MyRule").MyRule(n_each=7))


def test_parameter(recipe, monkeypatch):
    row = recipe("ROW = {", **vars(_parameters)).ROW
    added = [
        (setting, name, resolve)
        for name, parameter in row.items()
        for setting, resolve in parameter.settings.items()
    ]
    monkeypatch.setattr(tree_parameters, "RESOLVERS", [*_parameters.RESOLVERS, *added])

    class Tree(ConfidenceTreeClassifier):
        _parameter_constraints = ConfidenceTreeClassifier._parameter_constraints | {
            "leaf_bins": row["leaf_bins"].allowed
        }

        def __init__(self, *, leaf_memory="histogram", leaf_bins=32):
            super().__init__(leaf_memory=leaf_memory)
            self.leaf_bins = leaf_bins

    X, y = table()
    X += np.random.default_rng(0).normal(size=X.shape)
    proba = [
        Tree(leaf_bins=bins).partial_fit(X, y, [0, 1, 2]).predict_proba(X)
        for bins in (2, 32)
    ]
    assert not np.array_equal(*proba)
    with pytest.raises(InvalidParameterError, match="'leaf_bins' parameter of Tree"):
        Tree(leaf_bins=1).partial_fit(X, y, [0, 1, 2])
