"""Every public name has a docstring that is complete, and whose examples run.

pytest's own doctest collection finds nothing in extension modules, where the
vectorised functions of the bounds live; this walk over public names does. The
rules are pyproject.toml's.
"""

import doctest
import inspect
import tomllib
from enum import EnumType
from pathlib import Path

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate
from reference.public import public_modules

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def public_objects():
    """Name and object of every public class and function, and of their methods."""
    seen = []
    for module in public_modules():
        for name in module.__all__:
            found = getattr(module, name)
            if not callable(found) or found in seen:
                continue
            seen.append(found)
            yield f"{module.__name__}.{name}", found
            if not inspect.isclass(found):
                continue
            for attribute, method in own_attributes(found).items():
                if attribute.startswith("_") or inherited_text(method):
                    continue
                if method.__doc__ is None and inspect.getdoc(method):
                    continue  # the text is that of the method it stands in for
                if callable(method) or isinstance(method, property | classmethod):
                    METHODS.add(f"{module.__name__}.{name}.{attribute}")
                    yield f"{module.__name__}.{name}.{attribute}", method


def own_attributes(cls):
    """What a class has of itself and of our mixins and base classes."""
    found = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("skconftree."):
            found |= vars(base)
    return found


def inherited_text(method):
    # Metadata routing writes set_fit_request and its like into the class.
    return type(method).__module__.startswith("sklearn.") or getattr(
        method, "__module__", ""
    ).startswith("sklearn.")


METHODS = set()
OBJECTS = dict(public_objects())


CHECKS = tomllib.loads(PYPROJECT.read_text("utf-8"))["tool"]["numpydoc_validation"]


def looked_up(full_name):
    """Give the object as users get it, without a search among modules."""
    if full_name in METHODS:
        owner, _, name = full_name.rpartition(".")
        return getattr(OBJECTS[owner], name)
    return OBJECTS[full_name]


def ignored_rules(full_name, found):
    rules = set(CHECKS["checks"]) - {"all"}
    if full_name in METHODS:
        rules.add("EX01")  # a method's example is its class's
    if isinstance(found, property):
        rules |= {"RT01", "YD01"}
    if isinstance(found, EnumType):
        rules.add("PR01")  # nobody calls the constructor's functional form
    return rules


def test_public_modules_say_what_is_public():
    for module in public_modules():
        assert module.__doc__, module.__name__
        for name in module.__all__:
            assert hasattr(module, name), f"{module.__name__}.{name}"


@pytest.mark.parametrize("full_name", OBJECTS)
def test_docstring_is_complete(full_name):
    ignored = ignored_rules(full_name, OBJECTS[full_name])
    errors = [
        f"{rule} {text}"
        for rule, text in validate(get_doc_object(looked_up(full_name)))["errors"]
        if rule not in ignored
    ]
    assert errors == []


def examples():
    parser = doctest.DocTestParser()
    texts = {name: found.__doc__ for name, found in OBJECTS.items()}
    texts |= {module.__name__: module.__doc__ for module in public_modules()}
    for name, text in texts.items():
        test = parser.get_doctest(
            inspect.cleandoc(text or ""), {"__name__": "__main__"}, name, name, 0
        )
        if test.examples:
            yield pytest.param(test, id=name)


@pytest.mark.parametrize("example", list(examples()))
def test_examples_run(example):
    said = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    result = runner.run(example, out=said.append)
    assert result.failed == 0, "".join(said)
