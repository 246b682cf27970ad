"""A stream of dictionaries equals a stream of data frames with the same rows."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from reference.effort import crossed
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

from skconftree import ConfidenceTreeClassifier
from skconftree.evaluation import (
    OneByOne,
    PrequentialEvaluator,
    iter_prequential,
    prequential_score,
)


def frame(n=900, seed=0):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "color": pd.Series(rng.choice(["red", "green", "blue"], n), dtype="str"),
        }
    )
    rows.loc[rng.random(n) < 0.1, "size"] = np.nan
    rows.loc[0, "size"] = 1.0  # the first chunk tells what columns there are
    y = np.where((rows["color"] == "red") ^ (rng.random(n) < 0.1), "yes", "no")
    return rows, y


def alone(rows, y, *more):
    """Rows as a stream of river gives them; a missing value has no key."""
    held = rows.to_dict("records")
    for row, *told in zip(held, y, *more, strict=True):
        yield {k: v for k, v in row.items() if v == v}, *told


@pytest.mark.parametrize(("chunk_size", "delay"), crossed([1, 7, 1000], [0, 3]))
def test_dictionaries_equal_a_frame(chunk_size, delay):
    rows, y = frame(300)
    settings = {"classes": ["no", "yes"], "report_every": 80, "delay": delay}
    models = ConfidenceTreeClassifier(), ConfidenceTreeClassifier()
    whole = list(iter_prequential(models[0], rows, y, **settings))
    found = [
        record
        for record in iter_prequential(
            models[1], alone(rows, y), chunk_size=chunk_size, **settings
        )
    ]
    assert [one.accuracy for one in found] == [one.accuracy for one in whole]
    assert [one.n_rows for one in found] == [one.n_rows for one in whole]
    assert models[1].feature_names_in_.tolist() == ["size", "color"]
    assert (models[0].predict_proba(rows) == models[1].predict_proba(rows)).all()


def test_a_record_uses_no_later_row():
    rows, y = frame(100)
    given = []

    def stream():
        for row in alone(rows, y):
            given.append(row)
            yield row

    records = iter_prequential(
        ConfidenceTreeClassifier(), stream(), classes=["no", "yes"], report_every=30
    )
    next(records)
    assert len(given) == 30


def test_a_classifier_that_knows_names_goes_on_with_dictionaries():
    rows, y = frame(60)
    one, other = (ConfidenceTreeClassifier().fit(rows, y) for _ in range(2))
    given = {"report_every": 30}
    found = list(iter_prequential(one, alone(rows, y), **given))
    expected = list(iter_prequential(other, rows, y, **given))
    assert [record.accuracy for record in found] == [
        record.accuracy for record in expected
    ]


def test_weights_come_with_some_rows():
    rows, y = frame(300)
    weight = np.where(np.arange(300) % 3 == 0, 2.0, 1.0)
    mixed = (
        (row, label) if w == 1.0 else (row, label, w)
        for row, label, w in alone(rows, y, weight)
    )
    classes = ["no", "yes"]
    tree = ConfidenceTreeClassifier()
    found = prequential_score(tree, mixed, classes=classes)
    again = ConfidenceTreeClassifier()
    assert found == prequential_score(again, rows, y, sample_weight=weight)
    assert tree.n_rows_seen_ == 300


def test_any_classifier_takes_dictionaries_of_numbers():
    rows, y = frame()
    rows = pd.DataFrame({"a": np.arange(900) % 7, "b": (y == "yes") + 0.5})
    found = prequential_score(
        GaussianNB(), alone(rows, y), classes=["no", "yes"], chunk_size=50
    )
    assert found == prequential_score(GaussianNB(), rows.to_numpy(), y, chunk_size=50)


def test_tables_and_dictionaries_may_take_turns():
    rows, y = frame(60)
    tree = ConfidenceTreeClassifier()

    def stream():
        yield from alone(rows[:20], y[:20])
        yield rows[20:40], y[20:40]
        yield from alone(rows[40:], y[40:])

    found = prequential_score(tree, stream(), classes=["no", "yes"])
    assert found == prequential_score(ConfidenceTreeClassifier(), rows, y)


def test_rows_before_an_error_of_the_source_are_learned():
    rows, y = frame(50)

    def stream():
        yield from alone(rows, y)
        raise OSError("the wire is cut")

    tree = ConfidenceTreeClassifier()
    with pytest.raises(OSError, match="wire"):
        prequential_score(tree, stream(), classes=["no", "yes"])
    assert tree.n_rows_seen_ == 50


def test_a_run_that_is_left_early_ends_in_peace():
    rows, y = frame(50)
    records = iter_prequential(
        ConfidenceTreeClassifier(),
        alone(rows, y),
        classes=["no", "yes"],
        report_every=20,
    )
    next(records)
    records.close()


def test_a_key_that_comes_late_is_left_out_with_one_warning():
    rows = [({"a": 1.0}, 0), ({"a": 2.0, "b": 1.0}, 1)] * 3
    tree = ConfidenceTreeClassifier()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        prequential_score(tree, rows, classes=[0, 1], chunk_size=1)
    assert [str(one.message) for one in found] == [
        "Keys that do not occur in the first rows are ignored: ['b']."
    ]


def test_what_cannot_be_read_is_named():
    rows, y = frame(20)
    model = ConfidenceTreeClassifier()
    with pytest.raises(ValueError, match="a single row must be a dictionary"):
        prequential_score(model, zip(np.eye(2), [0, 1], strict=True), classes=[0, 1])
    with pytest.raises(TypeError, match="Pass its attribute `model`"):
        prequential_score(OneByOne(model, classes=[0, 1]), alone(rows, y))
    with pytest.raises(ValueError, match="Column 'size' is numeric. Got 'big'"):
        prequential_score(
            model, [({"size": 1.0}, 0), ({"size": "big"}, 1)], classes=[0, 1]
        )
    known = ConfidenceTreeClassifier().fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="fitted without column names"):
        prequential_score(known, [({"a": 1.0}, 0)])


def test_texts_that_read_as_numbers_are_categories():
    rows = [({"day": day}, day) for day in ["2", "3", "2", "two"] * 5]
    tree = ConfidenceTreeClassifier()
    prequential_score(tree, rows, classes=["2", "3", "two"], chunk_size=2)
    assert list(tree.categories_[0]) == ["2", "3", "two"]


@pytest.mark.parametrize("delay", [0, 3])
def test_an_evaluator_takes_dictionaries(delay):
    rows, y = frame(300)
    runs = [
        PrequentialEvaluator(
            ConfidenceTreeClassifier(), classes=["no", "yes"], delay=delay
        )
        for _ in range(3)
    ]
    runs[0].update(rows, y)
    held = list(alone(rows, y))
    predicted = [runs[1].update(x, label) for x, label in held[:100]]
    assert set(predicted[-10:]) <= {"no", "yes"}
    runs[1] = pickle.loads(pickle.dumps(runs[1]))
    runs[1].update([x for x, _ in held[100:]], y[100:])
    runs[2].update([x for x, _ in held], y, sample_weight=np.ones(300))
    want = runs[0].report()
    for run in runs[1:]:
        found = run.report()
        assert (found.n_rows, found.accuracy) == (want.n_rows, want.accuracy)
    assert runs[1].estimator.feature_names_in_.tolist() == ["size", "color"]


def test_a_failed_first_call_does_not_determine_the_columns():
    run = PrequentialEvaluator(ConfidenceTreeClassifier(), classes=[0, 1])
    with pytest.raises(ValueError, match="not one of the classes"):
        run.update({"a": 1.0}, 7)
    run.update({"b": "x"}, 1)
    assert run.estimator.feature_names_in_.tolist() == ["b"]
    with pytest.raises(TypeError, match="only dictionaries"):
        run.update([{"b": "x"}, [1.0]], [0, 1])


def test_sparse_tables_that_are_dictionaries_are_tables():
    X, y = sparse.dok_matrix(np.eye(4)), [0, 1, 0, 1]
    run = PrequentialEvaluator(GaussianNB(), classes=[0, 1])
    with pytest.raises(TypeError, match="(?i)sparse"):
        run.update(X, y)
