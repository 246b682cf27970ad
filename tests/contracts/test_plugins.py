"""Whatever has a row in a registry keeps the contract of its kind.

A new bound, criterion, pruning or detector is one file and one row: these tests come
with the row. What they ask for stands in `tests/reference/plugins.py`.
"""

import pytest
from reference import plugins
from reference.registries import (
    BOUNDS,
    CRITERIA,
    DETECTORS,
    MEMORIES,
    PRUNINGS,
    eager_detector,
    lax,
)


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize(
    "check",
    [
        plugins.check_parameters_of_bound,
        plugins.check_answers_of_bound,
        plugins.check_hostile_parameters_of_bound,
        plugins.check_batch_of_bound,
    ],
)
def test_bound(name, check):
    check(lax(BOUNDS[name]()))


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("memory", MEMORIES)
def test_bound_on_a_stream(name, memory):
    plugins.check_stream_of_bound(lax(BOUNDS[name]()), memory)


@pytest.mark.parametrize("name", CRITERIA)
def test_criterion(name):
    plugins.check_criterion(name, CRITERIA[name])


@pytest.mark.parametrize("name", PRUNINGS)
def test_pruning(name):
    plugins.check_pruning(PRUNINGS[name])


@pytest.mark.parametrize("name", DETECTORS)
def test_detector(name):
    plugins.check_detector(eager_detector(name))
