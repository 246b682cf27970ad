"""What exists is documented: each public method has a place in the API reference.

The pages are those of SKCONFTREE_HTML, a folder that sphinx-build has made; without it
the reference alone is built, which takes a few seconds.
"""

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from reference.public import public_modules

DOC = Path(__file__).parents[1] / "doc"
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
        if callable(member) or isinstance(
            member, property | classmethod | staticmethod
        ):
            yield name


EXPECTED = sorted(
    name if member is None else f"{name}.{member}"
    for name, one in public_objects().items()
    for member in [None, *(members(one) if inspect.isclass(one) else ())]
)


@pytest.fixture(scope="module")
def anchors(tmp_path_factory):
    given = os.environ.get("SKCONFTREE_HTML")
    if given is not None:
        html = Path(given)
    else:
        for needed in ("sphinx", "numpydoc", "myst_parser"):
            pytest.importorskip(needed, reason=f"building the pages needs {needed}")
        folder = tmp_path_factory.mktemp("reference")
        html = folder / "html"
        source = folder / "doc"
        (source / "api").mkdir(parents=True)
        shutil.copy(DOC / "conf.py", source)
        shutil.copy(DOC / "api" / "index.rst", source / "api")
        shutil.copytree(DOC / "_templates", source / "_templates")
        extensions = "sphinx.ext.autodoc,sphinx.ext.autosummary,numpydoc,myst_parser"
        run = subprocess.run(
            [
                *(sys.executable, "-P", "-m", "sphinx", "-q", "-b", "html"),
                *("-D", "master_doc=api/index", "-D", "html_theme=basic"),
                *("-D", f"extensions={extensions}", source, html),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
    pages = [page.read_text("utf-8") for page in (html / "api").rglob("*.html")]
    assert pages
    return {name for page in pages for name in re.findall(r' id="([\w.]+)"', page)}


def test_every_public_object_has_an_entry(anchors):
    missing = [name for name in EXPECTED if name not in anchors]
    assert not missing


def test_the_list_of_what_is_public_is_not_empty():
    for name in (
        "skconftree.ConfidenceTreeClassifier.predict_proba_interval",
        "skconftree.ConfidenceTreeClassifier.partial_fit",
        "skconftree.ConfidenceTreeClassifier.n_bytes_",
        "skconftree.bounds.CredibleBound.evaluate",
        "skconftree.evaluation.PrequentialEvaluator.update",
    ):
        assert name in EXPECTED


def test_what_scikit_learn_gives_to_every_estimator_is_left_out(anchors):
    assert not [name for name in anchors if "get_metadata_routing" in name]
    assert not [name for name in anchors if re.search(r"\.set_\w+_request$", name)]
