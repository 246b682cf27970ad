"""A prequential figure is believed only if it equals what a plain loop finds.

The loop here takes one row at a time and leaves all scoring to scikit-learn. Everything
that is no property of the stream (pieces, containers, pickles) must change nothing.
"""

import dataclasses
import math
import pickle
import re
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from reference.effort import cases
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB

from skconftree.evaluation import (
    PrequentialEvaluator,
    PrequentialRecord,
    iter_prequential,
    prequential_score,
)

FIGURES = ("accuracy", "kappa", "f1", "no_change_accuracy", "majority_accuracy")


class Counter:
    """Learns row by row how often each class came; predicts the last but one label.

    Its predictions are easy to get wrong if rows are learned too early or too late.
    """

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self.partial_fit_predict(X, y, classes, sample_weight)
        return self

    def partial_fit_predict(self, X, y, classes=None, sample_weight=None):
        if not np.isfinite(np.asarray(X, dtype=float)).all():
            raise ValueError("X contains NaN")
        if not hasattr(self, "classes_"):
            self.classes_ = np.asarray(classes)
            self.before = [self.classes_[0]] * 2
            self.n_rows_seen_ = 0
        predictions = []
        for label in y:
            predictions.append(self.before[0])
            self.before = [self.before[1], label]
            self.n_rows_seen_ += 1
        self.n_bytes_ = 8 * self.n_rows_seen_
        return np.array(predictions)

    def get_n_leaves(self):
        return 1 + self.n_rows_seen_ // 10


def stream(n=250, n_classes=3, seed=0):
    """Labels that stick, so that no baseline is trivial."""
    rng = np.random.default_rng(seed)
    y = np.empty(n, dtype=int)
    label = 0
    for row in range(n):
        if rng.random() < 0.4:
            label = rng.integers(n_classes)
        y[row] = label
    X = rng.normal(size=(n, 2)) + y[:, np.newaxis]
    return X, y


def expected(y, predictions, classes, positive, start=0, stop=None, weight=None):
    """Figures of rows start to stop; the baselines see all rows before."""
    no_change = np.append(classes[0], y[:-1])
    weights = np.ones(len(y)) if weight is None else weight
    majority, counts = [], dict.fromkeys(classes, 0.0)
    for label, one in zip(y, weights, strict=True):
        majority.append(max(classes, key=counts.get))
        counts[label] += one
    part = slice(start, stop)
    truth, given, w = y[part], predictions[part], weights[part]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "accuracy": accuracy_score(truth, given, sample_weight=w),
            "kappa": cohen_kappa_score(truth, given, sample_weight=w, labels=classes),
            "f1": f1_score(
                truth,
                given,
                labels=[positive],
                average="macro",
                zero_division=0.0,
                sample_weight=w,
            ),
            "no_change_accuracy": accuracy_score(
                truth, no_change[part], sample_weight=w
            ),
            "majority_accuracy": accuracy_score(
                truth, np.array(majority)[part], sample_weight=w
            ),
        }


def predictions_of_counter(y, first):
    return np.concatenate([[first, first], y[:-2]])[: len(y)]


def without_time(records):
    return [dataclasses.replace(one, cpu_seconds=0.0) for one in records]


def test_figures_are_those_of_scikit_learn():
    X, y = stream()
    predictions = predictions_of_counter(y, 0)
    records = list(
        iter_prequential(Counter(), X, y, report_every=60, chunk_size=7, pos_label=2)
    )
    assert [one.n_rows for one in records] == [60, 120, 180, 240, 250]
    before = 0
    for record in records:
        stop = record.n_tested
        assert stop == record.n_rows
        for start, prefix in ((0, ""), (before, "window_")):
            want = expected(y, predictions, [0, 1, 2], 2, start, stop)
            for name in FIGURES:
                found = getattr(record, prefix + name)
                assert found == pytest.approx(want[name], abs=1e-12), prefix + name
        assert record.n_leaves == 1 + stop // 10
        assert record.n_bytes == 8 * stop
        before = stop
    last = records[-1]
    no_change = last.no_change_accuracy
    assert last.kappa_temporal == pytest.approx(
        (last.accuracy - no_change) / (1 - no_change)
    )
    assert last.kappa_majority == pytest.approx(
        (last.accuracy - last.majority_accuracy) / (1 - last.majority_accuracy)
    )
    assert last.window_kappa_temporal == pytest.approx(
        (last.window_accuracy - last.window_no_change_accuracy)
        / (1 - last.window_no_change_accuracy)
    )


@given(data=st.data(), n_classes=st.integers(1, 6), weighted=st.booleans())
def test_pieces_of_the_stream_change_nothing(data, n_classes, weighted):
    X, y = stream(90, n_classes, seed=data.draw(st.integers(0, 5)))
    weight = None
    if weighted:
        weight = np.random.default_rng(1).choice([0.1, 0.7, 3.0], size=len(y))
    settings = {"classes": np.arange(n_classes), "pos_label": 0, "report_every": 20}
    whole = without_time(
        iter_prequential(Counter(), X, y, sample_weight=weight, **settings)
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, 90), max_size=5)))
    chunks = [
        (X[a:b], y[a:b], None if weight is None else weight[a:b])
        for a, b in zip([0, *cuts], [*cuts, 90], strict=True)
    ]
    size = data.draw(st.integers(1, 100))
    pieces = without_time(
        iter_prequential(Counter(), iter(chunks), chunk_size=size, **settings)
    )
    # repr: NaN equals itself there, and every digit counts.
    assert repr(pieces) == repr(whole)
    predictions = predictions_of_counter(y, 0)
    want = expected(y, predictions, list(range(n_classes)), 0, weight=weight)
    for name in FIGURES:
        found = getattr(whole[-1], name)
        assert found == pytest.approx(want[name], abs=1e-9, nan_ok=True), name


def test_many_classes_are_no_reason_to_warn():
    X, y = stream(300, n_classes=60)
    run = PrequentialEvaluator(Counter(), classes=np.arange(60))
    run.update(X, y)
    want = expected(y, predictions_of_counter(y, 0), list(range(60)), 0)
    assert run.report().kappa == pytest.approx(want["kappa"], abs=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e290])
def test_kappa_does_not_depend_on_the_size_of_weights(scale):
    X, y = stream(300, n_classes=3)
    found = []
    for factor in (1.0, scale):
        weight = np.linspace(1.0, 2.0, 300) * factor
        (record,) = iter_prequential(Counter(), X, y, sample_weight=weight)
        found.append((record.accuracy, record.kappa, record.no_change_accuracy))
    assert found[1] == pytest.approx(found[0], abs=1e-9)


def test_weights_whose_sum_is_too_large():
    X, y = stream(300, n_classes=3)
    run = PrequentialEvaluator(Counter(), classes=np.unique(y))
    run.update(X[:100], y[:100], np.full(100, 5e297))
    before = pickle.dumps(run)
    for weight in (np.full(100, 6e297), np.full(100, 1e308)):
        with pytest.raises(ValueError, match=r"sum to at most 1e\+300"):
            run.update(X[100:200], y[100:200], weight)
    assert pickle.dumps(run) == before


def test_labels_may_be_text():
    X, y = stream(n_classes=2)
    text = np.array(["down", "up"])[y]
    for labels in (text, text.astype(object), pd.Series(text), list(text)):
        (record,) = iter_prequential(Counter(), X, labels)
        want = expected(y, predictions_of_counter(y, 0), [0, 1], 1)
        for name in FIGURES:
            assert getattr(record, name) == pytest.approx(want[name], abs=1e-12), name


@pytest.mark.parametrize("chunk_size", cases([1, 30, 100], [30, 100]))
def test_any_other_classifier_predicts_a_chunk_then_learns_it(chunk_size):
    X, y = stream()
    reference, predictions = SGDClassifier(random_state=0), []
    edges = [250]
    for due in (200, 100, 0):
        edges = [*range(due, edges[0], chunk_size), *edges]
    for a, b in pairwise(edges):
        if a:
            predictions.extend(reference.predict(X[a:b]))
        reference.partial_fit(X[a:b], y[a:b], classes=[0, 1, 2])
    model = SGDClassifier(random_state=0)
    records = list(
        iter_prequential(model, X, y, chunk_size=chunk_size, report_every=100)
    )
    first = edges[1]
    assert records[-1].n_rows == 250
    assert records[-1].n_tested == 250 - first
    want = accuracy_score(y[first:], predictions)
    assert records[-1].accuracy == pytest.approx(want)
    np.testing.assert_array_equal(model.coef_, reference.coef_)
    if chunk_size == 100:
        assert records[0].n_tested == 0
        assert math.isnan(records[0].accuracy)
        assert math.isnan(records[0].majority_accuracy)


def test_a_fitted_classifier_is_tested_from_the_first_row():
    X, y = stream()
    model = GaussianNB().fit(X, y)
    right = model.predict(X[:100]) == y[:100]
    record = next(iter_prequential(model, X, y, chunk_size=100, report_every=100))
    assert record.n_tested == 100
    assert record.accuracy == pytest.approx(right.mean())


def test_the_model_has_learned_the_rows_of_the_record():
    X, y = stream()
    model = Counter()
    for record in iter_prequential(model, X, y, chunk_size=1000, report_every=33):
        assert model.n_rows_seen_ == record.n_rows


@pytest.mark.parametrize(
    "container",
    [
        pd.DataFrame,
        np.ndarray.tolist,
        scipy.sparse.csc_array,
        scipy.sparse.coo_matrix,
        lambda X: pl.DataFrame(X, schema=["a", "b"]),
    ],
)
def test_rows_may_come_in_any_container(container):
    X, y = stream()
    X = np.abs(X)
    settings = {"chunk_size": 40, "report_every": 70}
    want = list(iter_prequential(MultinomialNB(), X, y, **settings))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        found = list(iter_prequential(MultinomialNB(), container(X), y, **settings))
    assert repr(without_time(found)) == repr(without_time(want))


def test_a_pickled_run_goes_on():
    X, y = stream()
    settings = {"classes": [0, 1, 2], "pos_label": 1}
    whole = PrequentialEvaluator(Counter(), **settings)
    run = PrequentialEvaluator(Counter(), **settings)
    for start in range(0, 250, 50):
        part = slice(start, start + 50)
        ours = run.update(X[part], y[part])
        np.testing.assert_array_equal(ours, whole.update(X[part], y[part]))
        run = pickle.loads(pickle.dumps(run))
    assert without_time([run.report()]) == without_time([whole.report()])


def test_a_source_that_fails_leaves_a_usable_model():
    X, y = stream()

    def source():
        yield X[:55], y[:55]
        yield X[55:120], y[55:120]
        raise OSError("the line is dead")

    model, records = Counter(), []
    settings = {"classes": [0, 1, 2], "chunk_size": 10, "report_every": 50}
    with pytest.raises(OSError, match="line is dead"):
        records.extend(iter_prequential(model, source(), **settings))
    assert [one.n_rows for one in records] == [50, 100]
    assert model.n_rows_seen_ == 120
    again = model.partial_fit_predict(X[120:], y[120:])
    np.testing.assert_array_equal(again, predictions_of_counter(y, 0)[120:])


def test_a_bad_row_stops_the_run_before_its_chunk():
    X, y = stream()
    X[137] = np.nan
    model = Counter()
    with pytest.raises(ValueError, match="NaN"):
        list(iter_prequential(model, X, y, chunk_size=20))
    assert model.n_rows_seen_ == 120


def test_an_unknown_label_is_named_and_not_learned():
    X, y = stream()
    y[137] = 7
    model = Counter()
    with pytest.raises(ValueError, match=r"Row 137 .* label 7, .* \[0, 1, 2\]"):
        list(iter_prequential(model, X, y, classes=[0, 1, 2], chunk_size=20))
    assert model.n_rows_seen_ == 120
    run = PrequentialEvaluator(Counter(), classes=["0", "1"])
    with pytest.raises(ValueError, match="label 1, .* '1'"):
        run.update(X[:2], np.array([1, 0]))
    assert run.n_rows_ == 0


def test_score_is_the_last_record():
    X, y = stream()
    *_, last = iter_prequential(Counter(), X, y, pos_label=1)
    assert prequential_score(Counter(), X, y) == last.accuracy
    names = ["f1", "kappa", "kappa_temporal", "no_change_accuracy"]
    found = prequential_score(Counter(), X, y, scoring=names, pos_label=1)
    assert found == {name: getattr(last, name) for name in names}
    chunks = [(X[:3], y[:3]), (X[3:], y[3:])]
    found = prequential_score(Counter(), chunks, classes=[0, 1, 2], scoring="kappa")
    assert found == last.kappa


def test_verbose_prints_one_line_a_record(capsys):
    X, y = stream()
    list(iter_prequential(Counter(), X, y, report_every=100, verbose=1))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["100", "200", "250"]
    assert "11 leaves" in lines[0]
    for line in lines:
        assert re.search(r"; previous label 0\.\d+, most frequent label 0\.\d+\)", line)
    list(iter_prequential(Counter(), X, y))
    assert capsys.readouterr().out == ""


def test_weights_reach_the_estimator():
    X, y = stream()
    weight = np.random.default_rng(0).uniform(0.0, 2.0, size=len(y))
    model, reference = GaussianNB(), GaussianNB()
    list(iter_prequential(model, X, y, sample_weight=weight, chunk_size=250))
    reference.partial_fit(X, y, classes=[0, 1, 2], sample_weight=weight)
    np.testing.assert_array_equal(model.theta_, reference.theta_)


def test_an_empty_stream_has_no_record():
    assert list(iter_prequential(Counter(), iter(()), classes=[0, 1])) == []
    empty = [(np.empty((0, 2)), np.empty(0, dtype=int))]
    assert list(iter_prequential(Counter(), empty, classes=[0, 1])) == []
    with pytest.raises(ValueError, match="No row of the stream was tested"):
        prequential_score(Counter(), iter(()), classes=[0, 1])


class NoWeights(Counter):
    def partial_fit_predict(self, X, y, classes=None):
        return super().partial_fit_predict(X, y, classes)


X, Y = stream(20)


@pytest.mark.parametrize(
    ("arguments", "settings", "error", "words"),
    [
        ((object(), X, Y), {}, TypeError, "partial_fit_predict"),
        ((Counter(), X, Y), {"chunk_size": 0}, ValueError, "chunk_size == 0"),
        ((Counter(), X, Y), {"chunk_size": 1.5}, TypeError, "chunk_size"),
        ((Counter(), X, Y), {"report_every": 0}, ValueError, "report_every == 0"),
        ((Counter(), X, Y[1:]), {}, ValueError, "inconsistent numbers of samples"),
        ((Counter(), X, Y), {"sample_weight": [1.0]}, ValueError, "inconsistent"),
        ((Counter(), X), {}, ValueError, "y is missing"),
        ((Counter(), 3), {}, ValueError, "y is missing"),
        ((Counter(), [(X, Y)]), {}, ValueError, "classes must list all labels"),
        ((Counter(), X, Y), {"classes": []}, ValueError, "must not be empty"),
        ((Counter(), [(X, Y)]), {"sample_weight": [1.0]}, ValueError, "needs y"),
        ((Counter(), X, Y), {"pos_label": 9}, ValueError, r"pos_label .*Got 9"),
        ((Counter(), X, Y + 0.5), {}, ValueError, "Unknown label type"),
        ((GaussianNB().fit(X, Y), X, Y), {"classes": [0, 5]}, ValueError, "fitted"),
    ],
)
def test_a_mistake_is_named_before_the_first_row(arguments, settings, error, words):
    with pytest.raises(error, match=words):
        iter_prequential(*arguments, **settings)


@pytest.mark.parametrize(
    ("chunks", "words"),
    [
        ([X], "must be a tuple"),
        ([(X, Y, None, None)], "must be a tuple"),
        ([(X, Y[1:])], "inconsistent"),
        ([(X, Y, -np.ones(20))], "not negative"),
        ([(X, Y, np.full(20, np.inf))], "finite"),
    ],
)
def test_a_mistake_in_a_chunk_is_named(chunks, words):
    model = Counter()
    with pytest.raises(ValueError, match=words):
        list(iter_prequential(model, chunks, classes=[0, 1, 2]))
    assert not hasattr(model, "n_rows_seen_")


def test_a_mistake_in_scoring_is_named():
    with pytest.raises(ValueError, match=r"scoring .*Got 'loss'"):
        prequential_score(Counter(), X, Y, scoring="loss")
    with pytest.raises(ValueError, match="needs pos_label, as there are 3 classes"):
        prequential_score(Counter(), X, Y, scoring=["f1"])
    with pytest.raises(ValueError, match="No row of the stream was tested"):
        prequential_score(GaussianNB(), X, Y)
    with pytest.raises(TypeError, match="does not support sample_weight"):
        prequential_score(NoWeights(), X, Y, sample_weight=np.ones(20))


def test_records_are_frozen():
    record = next(iter_prequential(SGDClassifier(), X, Y))
    assert isinstance(record, PrequentialRecord)
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.accuracy = 1.0
