"""Settings of third parties that every test relies on.

Labels such as A6 or C3 in the tests name sections of the project's mathematical
specification: A Collet and Pietquin (2015), B Serrurier and Prade (2015), C De Rosa
and Cesa-Bianchi (2017), D Rupprechter (2012), G rules of our own.
"""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings
from reference.browser import open_browser
from reference.effort import examples

os.environ.setdefault("MPLBACKEND", "Agg")
# scikit-learn's threads wait for each other by spinning: beside another process on the
# same cores, clusters of 150 rows then take a second instead of six milliseconds.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same few examples on every run, and no clock: a busy machine is not a bug. With
# SKCONFTREE_HYPOTHESIS=nightly every run draws others, more of them, and a failure says
# how to repeat it.
settings.register_profile(
    "skconftree", max_examples=examples(100), derandomize=True, deadline=None
)
settings.register_profile("emulated", settings.get_profile("skconftree"))
settings.register_profile(
    "nightly",
    max_examples=examples(100),
    derandomize=False,
    deadline=None,
    print_blob=True,
)
settings.load_profile(os.environ.get("SKCONFTREE_HYPOTHESIS", "skconftree"))

CORPUS = Path(__file__).parent / "corpus"


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Do without the garbage collector: what is collected here stays to the end.

    Looking through it again and again takes a quarter of the time of the collection,
    and some seconds while tests run, unless it is frozen. What tests import is looked
    through less often than by default.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        gc.enable()


def pytest_collection_modifyitems(items):
    """Run the corpus of failures first."""
    items.sort(key=lambda item: CORPUS not in item.path.parents)


@pytest.fixture(scope="module")
def chromium():
    """A browser without a window, whose messages are kept."""
    with open_browser() as found:
        yield found
