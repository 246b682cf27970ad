"""The examples in the docstrings of compiled modules are true.

Why: doctest collects nothing from extension modules, so that without this file
no example there would ever run.
"""

import doctest

import pytest

from skconftree import bounds


@pytest.mark.parametrize("name", bounds.__all__)
def test_example_runs(name):
    examples = doctest.DocTestParser().get_doctest(
        getattr(bounds, name).__doc__, {}, name, None, None
    )
    assert examples.examples, f"{name} has no example"
    runner = doctest.DocTestRunner()
    failures = []
    runner.run(examples, out=failures.append)
    assert not failures, "".join(failures)
