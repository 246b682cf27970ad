"""What exists is documented: each public method has an entry in the API reference.

Sphinx does not know what is missing. `.ci/run` builds the site and names its folder in
SKCONFTREE_HTML; without it there is nothing to look at.
"""

import inspect
import os
import re
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
