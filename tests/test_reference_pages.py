"""What exists is documented: each public method has an entry in the API reference.

Sphinx does not know what is missing. `.ci/run` builds the site and names its folder in
SKCONFTREE_HTML; without it there is nothing to look at.
"""

import importlib
import inspect
import os
import re
import sys
import zlib
from pathlib import Path

import pytest
from reference.public import public_modules

HTML = os.environ.get("SKCONFTREE_HTML")
FROM_SCIKIT_LEARN = {"get_params", "set_params"}


def public_objects():
    """Every exported object under the first name it has, as `doc/conf.py` lists it."""
    found, names = [], []
    for module in public_modules():
        for name in module.__all__:
            one = getattr(module, name)
            if callable(one) and not any(one is other for other in found):
                found.append(one)
                names.append(f"{module.__name__}.{name}")
    return dict(zip(names, found, strict=True))


def members(cls):
    """Public methods and properties that are ours, or that users call by name."""
    for name in dir(cls):
        if name.startswith("_") or re.fullmatch(r"set_\w+_request", name):
            continue
        owner = next(one for one in cls.__mro__ if name in vars(one))
        member = vars(owner)[name]
        ours = owner.__module__.startswith("skconftree")
        if not ours and name not in FROM_SCIKIT_LEARN:
            continue
        # the fields of a tuple or a dataclass are described in its docstring
        if (
            callable(member)
            or isinstance(member, property | classmethod | staticmethod)
            or hasattr(member, "__wrapped__")  # exists with some parameters only
        ):
            yield name


EXPECTED = sorted(
    name if member is None else f"{name}.{member}"
    for name, one in public_objects().items()
    for member in [None, *(members(one) if inspect.isclass(one) else ())]
)


@pytest.fixture(scope="module")
def entries():
    if HTML is None:
        pytest.skip("SKCONFTREE_HTML names no folder that sphinx-build has written")
    *_, packed = Path(HTML, "objects.inv").read_bytes().split(b"\n", 4)
    lines = zlib.decompress(packed).decode().splitlines()
    return {line.split(" ")[0] for line in lines if " py:" in line}


def test_every_public_object_has_an_entry(entries):
    assert not [name for name in EXPECTED if name not in entries]


def test_the_list_of_what_is_public_is_not_empty():
    for name in (
        "skconftree.ConfidenceTreeClassifier.predict_proba_interval",
        "skconftree.ConfidenceTreeClassifier.partial_fit",
        "skconftree.ConfidenceTreeClassifier.n_bytes_",
        "skconftree.bounds.CredibleBound.evaluate",
        "skconftree.evaluation.PrequentialEvaluator.update",
    ):
        assert name in EXPECTED


def test_members_of_scikit_learn_are_excluded(entries):
    assert not [name for name in entries if "get_metadata_routing" in name]
    assert not [name for name in entries if re.search(r"\.set_\w+_request$", name)]


ROOT = Path(__file__).parents[1]


@pytest.fixture
def page_parts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "doc"))
    yield importlib.import_module("page_parts")
    del sys.modules["page_parts"]


def test_parameters_are_grouped_by_the_method_that_uses_them(page_parts):
    """All 27 of a tree in one list are more than anybody reads."""
    lines = ["Text.", "", ":Parameters:", ""]
    for name, about in (
        ("a", "Both."),
        ("b", "`fit` only. More."),
        ("c", "`partial_fit` only. More."),
        ("d", "Both, and `fit` only if."),
    ):
        lines += [f"    **{name}** : int", f"        {about}", ""]
    lines += [":Attributes:", "", "    **x_** : int"]
    page_parts.group_parameters(None, "class", "", None, None, lines)
    titles = [line for line in lines if line.startswith(":")]
    assert titles == [f":{title}:" for title in page_parts.TITLES.values()] + [
        ":Attributes:"
    ]
    names = [line[6] for line in lines if line.startswith("    **")]
    assert names == list("adbcx")
    tree = inspect.getdoc(public_objects()["skconftree.ConfidenceTreeClassifier"])
    for method in ("fit", "partial_fit"):
        assert len(re.findall(rf"^    `{method}` only\.", tree, re.M)) > 2


def test_names_break_at_their_parts(page_parts):
    html = '<a href="x_y.html#a_b"><span>feature_importances_</span> TreeModel</a>'
    assert page_parts.mark_breaks(html) == (
        '<a href="x_y.html#a_b"><span>feature_<wbr>importances_</span> '
        "Tree<wbr>Model</a>"
    )


def test_each_page_has_a_copy_for_machines(entries):
    site = Path(HTML)
    listed = re.findall(r"\]\((\S+)\.md\)", (site / "llms.txt").read_text("utf-8"))
    pages = {f"guide/{page.stem}" for page in (ROOT / "doc/guide").glob("*.rst")}
    assert pages - {"guide/index"} <= set(listed)
    for page in listed:
        text = (site / f"{page}.md").read_text("utf-8")
        assert re.match(r"(?:<a.*>\s*)*# ", text), page
