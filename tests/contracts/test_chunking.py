"""The division of a stream into calls does not matter.

Any model that has learned the same rows in the same order is the same bytes, however
the rows came, whatever else was asked of it in between.
"""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from reference.effort import crossed, examples
from reference.registries import DETECTORS, MEMORIES, PREDICTIONS, STREAM_BOUNDS
from reference.streams import (
    grown,
    learn,
    make_stream,
    problems,
    problems_in_chunks,
    state_of,
)

from skconftree import ConfidenceTreeClassifier

few = settings(
    max_examples=examples(1000, by_day=30),
    suppress_health_check=[HealthCheck.too_slow],
)


@few
@given(problem=problems_in_chunks())
def test_chunks_do_not_matter(problem):
    model, stream, ends = problem
    assert state_of(grown(model, stream, ends)) == state_of(grown(model, stream))


@settings(max_examples=examples(70), suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems(max_rows=80))
def test_rows_one_by_one(problem):
    model, stream = problem
    ends = range(1, len(stream) + 1)
    assert state_of(grown(model, stream, ends)) == state_of(grown(model, stream))


@few
@given(problem=problems_in_chunks())
def test_foreseeing_and_looking_do_not_matter(problem):
    """Neither predicting before learning nor reading the tree changes it."""
    model, stream, ends = problem
    watched = copy.deepcopy(model)
    begin = 0
    for end in ends:
        learn(watched, stream, [end], begin, foresee=True)
        begin = end
        watched.predict_proba(stream.X)
        assert watched.tree_.proba.shape == watched.tree_.counts.shape
        assert watched.n_bytes_ > 0
        pickle.dumps(watched)
    assert state_of(watched) == state_of(grown(model, stream))


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems(max_rows=80))
def test_predicted_is_predicted(problem):
    """partial_fit_predict answers what predict would have said before each row."""
    model, stream = problem
    predicted = learn(copy.deepcopy(model), stream, foresee=True)
    one_by_one = copy.deepcopy(model)
    for i in range(len(stream)):
        if i > 0:
            assert one_by_one.predict(stream.X[i : i + 1])[0] == predicted[i]
        learn(one_by_one, stream, [i + 1], i)


def via_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "joblib": via_joblib,
}


@pytest.mark.parametrize("make_copy", COPIES.values(), ids=COPIES)
@settings(max_examples=examples(70), suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems_in_chunks(min_rows=2))
def test_a_copy_goes_on_like_the_original(make_copy, problem):
    model, stream, ends = problem
    middle = ends[0]
    original = grown(model, stream, [middle])
    duplicate = make_copy(original)
    assert state_of(duplicate) == state_of(original)
    learn(original, stream, begin=middle)
    learn(duplicate, stream, begin=middle)
    assert state_of(duplicate) == state_of(original)
    np.testing.assert_array_equal(
        duplicate.predict_proba(stream.X), original.predict_proba(stream.X)
    )


@pytest.mark.parametrize(
    ("max_bytes", "memory", "prediction"),
    crossed([None, 65536], MEMORIES, PREDICTIONS),
)
def test_boundaries_of_1024_rows(memory, prediction, max_bytes):
    """What happens to the whole tree happens at row counts, not at ends of calls."""
    stream = make_stream(
        seed=1, n_rows=3500, n_classes=3, kinds=["continuous"] * 3 + ["ties"]
    )
    model = ConfidenceTreeClassifier(
        bound="gtest",
        grace_period=30,
        leaf_memory=memory,
        leaf_prediction=prediction,
        max_bytes=max_bytes,
    )
    expected = state_of(grown(model, stream))
    for ends in ([1023, 1024, 1025, 3500], [1024, 2048, 3072, 3500], [700, 2049, 3500]):
        assert state_of(grown(model, stream, ends)) == expected


@pytest.mark.parametrize(
    ("bound", "drift"), crossed([None, *STREAM_BOUNDS], [None, *DETECTORS])
)
def test_boundaries_with_drift(bound, drift):
    """The concept turns round after 1,200 rows."""
    stream = make_stream(seed=2, n_rows=2400, kinds=["continuous"] * 2, signal=2.0)
    stream.y[1200:] = 1 - stream.y[1200:]
    model = ConfidenceTreeClassifier(
        bound=bound,
        grace_period=40,
        drift=drift,
        leaf_memory="histogram",
        leaf_prediction="nb",  # adaptive leaves may recover before the detector
    )
    whole = grown(model, stream)
    assert drift is None or whole.n_drifts_ > 0
    for ends in ([1024, 2400], [1199, 1300, 1777, 2400]):
        assert state_of(grown(model, stream, ends)) == state_of(whole)
