"""Training with single dictionaries equals training with a data frame."""

import pickle
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.threads import at_once
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMForestClassifier,
    NCMTreeClassifier,
    OASISClassifier,
)
from skconftree.bounds import CredibleBound
from skconftree.datasets import make_sea
from skconftree.evaluation import OneByOne, _one_by_one

NUMERIC = [NCMForestClassifier, NCMTreeClassifier, OASISClassifier]
COLUMNS = ["salary", "commission", "age", "elevel", "car", "zipcode"]
COLUMNS += ["hvalue", "hyears", "loan"]
NOMINAL = ["elevel", "car", "zipcode"]


def people(n, seed=0):
    """Rows as a frame with texts in it, as dictionaries, and their labels."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, len(COLUMNS))), columns=COLUMNS)
    frame["age"] = rng.integers(20, 81, n).astype(float)
    for name, k in zip(NOMINAL, (5, 20, 9), strict=True):
        codes = rng.integers(0, k, n)
        frame[name] = pd.Series([f"{name} {one}" for one in codes], dtype="str")
    y = (frame["salary"] > 0) & (frame["age"] > 30) | (frame["elevel"] == "elevel 0")
    return frame, frame.to_dict("records"), y.astype(int).tolist()


PEOPLE = people(60)[1:]


def taught(model, rows, labels, **options):
    one = OneByOne(model, classes=[0, 1], **options)
    for x, y in zip(rows, labels, strict=True):
        one.learn_one(x, y)
    return one


def tree():
    return ConfidenceTreeClassifier(grace_period=25)


@pytest.mark.parametrize("numbers_only", [True, False])
@pytest.mark.parametrize(
    "make",
    [tree, lambda: ConfidenceForestClassifier(3, grace_period=25, random_state=0)],
    ids=["tree", "forest"],
)
def test_a_tree_is_that_of_a_frame_of_the_same_rows(make, numbers_only):
    frame, rows, y = people(1500)
    if numbers_only:
        frame = frame.drop(columns=NOMINAL)
        rows = frame.to_dict("records")
    one = taught(make(), rows, y)
    model = make().partial_fit(frame, y, classes=[0, 1])
    assert pickle.dumps(one.model) == pickle.dumps(model)
    leaves = one.model.get_n_leaves() if make is tree else 9
    assert leaves > 5
    proba = model.predict_proba(frame[:40])
    for x, row in zip(rows, proba, strict=False):
        assert one.predict_proba_one(x) == dict(enumerate(row))
        assert one.predict_one(x) == int(row[1] > row[0])
        assert type(one.predict_one(x)) is int
    assert one.columns_ == {
        name: "category" if name in NOMINAL else "number" for name in frame
    }


@pytest.mark.parametrize("make", NUMERIC)
def test_models_of_numbers_are_those_of_an_array(make):
    X, y = make_sea(80, random_state=0)
    X = X.astype(float)
    few = {"n_estimators": 3} if make is NCMForestClassifier else {}
    model = make(**few, random_state=0)
    one = OneByOne(clone(model), classes=[0, 1])
    for row, label in zip(X, y.tolist(), strict=True):
        one.learn_one(dict(zip("abc", row.tolist(), strict=True)), label)
        model.partial_fit(row[np.newaxis], [label], classes=[0, 1])
    proba = model.predict_proba(X[:20])
    for row, want in zip(X[:20], proba, strict=True):
        x = dict(zip("abc", row.tolist(), strict=True))
        assert one.predict_proba_one(x) == dict(enumerate(want))
    assert one.model.feature_names_in_.tolist() == ["a", "b", "c"]


@given(data=st.data())
def test_order_and_absence_of_keys_do_not_change_the_model(data):
    rows, y = PEOPLE
    lost = data.draw(st.lists(st.sets(st.sampled_from(COLUMNS), max_size=3)))
    order = data.draw(st.permutations(COLUMNS))
    shuffled = rows[:1]
    for i, x in enumerate(rows[1:]):
        gone = lost[i % len(lost)] if lost else ()
        shuffled.append({name: x[name] for name in order if name not in gone})
    one = taught(tree(), shuffled, y)
    kinds = {name: "str" if name in NOMINAL else float for name in COLUMNS}
    gaps = pd.DataFrame(shuffled, columns=COLUMNS).astype(kinds)
    model = tree().partial_fit(gaps, y, classes=[0, 1])
    assert pickle.dumps(one.model) == pickle.dumps(model)


def test_missing_is_a_missing_key_none_or_nan():
    rows = [{"a": 1.0, "b": "x"}] + [{"a": 2.0, "b": None}, {"a": None, "b": "y"}]
    same = [{"a": 1.0, "b": "x"}] + [{"a": 2.0}, {"a": float("nan"), "b": "y"}]
    first, second = (taught(tree(), some, [0, 1, 1]) for some in (rows, same))
    assert pickle.dumps(first.model) == pickle.dumps(second.model)
    assert first.predict_proba_one({}) == second.predict_proba_one({"a": None})
    numbers = taught(tree(), [{"a": 1.0}, {"a": None}, {}, {"a": np.nan}], [0, 1, 1, 0])
    assert numbers.model.n_rows_seen_ == 4


def test_first_rows_wait_until_each_column_has_a_value():
    one = OneByOne(tree(), classes=[0, 1])
    assert one.predict_one({"a": 1}) is None
    assert one.predict_proba_one({"a": 1}) == {}
    one.learn_one({"a": 1, "b": None}, 0)
    one.learn_one({"c": True, "a": 2}, 1)
    assert one.n_waiting_ == 2
    assert one.columns_ is None
    assert one.predict_one({"a": 1}) is None
    again = pickle.loads(pickle.dumps(one))
    for each in (one, again):
        each.learn_one({"b": "x"}, 1)
        assert each.n_waiting_ == 0
        assert each.model.n_rows_seen_ == 3
        assert each.columns_ == {"a": "number", "b": "category", "c": "number"}
    assert pickle.dumps(one.model) == pickle.dumps(again.model)


def test_no_more_than_a_hundred_rows_wait():
    one = OneByOne(tree(), classes=[0, 1])
    for i in range(99):
        one.learn_one({"a": i, "b": None}, 0)
    assert one.n_waiting_ == 99
    one.learn_one({"a": 3, "b": None}, 1)
    assert one.n_waiting_ == 0
    assert one.columns_ == {"a": "number", "b": "number"}
    with pytest.raises(ValueError, match=r"Column 'b' is numeric. Got 'x'\."):
        one.learn_one({"a": 3, "b": "x"}, 1)
    assert one.model.n_rows_seen_ == 100


def test_declared_columns_start_at_once():
    columns = {"zip": "category", "age": "number"}
    one = OneByOne(tree(), classes=[0, 1], columns=columns)
    one.learn_one({"age": 3}, 0)
    one.learn_one({"zip": 4711, "age": Decimal("3.5")}, 1)
    assert one.model.categories_ == [[None, 4711], None]
    assert one.columns_ == columns


def test_an_unknown_key_is_dropped_with_one_warning():
    one = OneByOne(tree(), classes=[0, 1], late_columns="drop")
    one.learn_one({"a": 1, "b": 2}, 0)
    with pytest.warns(UserWarning, match=r"are ignored: \['c', 'd'\]") as caught:
        one.learn_one({"a": 1, "b": 2, "c": 0, "d": 4}, 1)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one.learn_one({"c": 1}, 1)
        one.predict_one({"e": 1, "a": 3, "b": 4})
    assert one.model.n_features_in_ == 2


def test_a_fitted_model_goes_on():
    frame, rows, y = people(300)
    model = tree().partial_fit(frame[:200], y[:200], classes=[0, 1])
    one = OneByOne(model)
    for x, label in zip(rows[200:], y[200:], strict=True):
        one.learn_one(x, label)
    whole = tree().partial_fit(frame, y, classes=[0, 1])
    assert pickle.dumps(one.model) == pickle.dumps(whole)
    nameless = tree().partial_fit([[1.0, 2.0]], [0], classes=[0, 1])
    with pytest.raises(ValueError, match="fitted without column names"):
        OneByOne(nameless)
    one = OneByOne(nameless, columns={"b": "number", "a": "number"})
    one.learn_one({"a": 5.0, "b": -1.0}, 1)
    same = tree().partial_fit([[1.0, 2.0], [-1.0, 5.0]], [0, 1], classes=[0, 1])
    assert pickle.dumps(one.model) == pickle.dumps(same)


def test_keys_need_not_be_texts():
    one = taught(tree(), [{0: 1.0, 1: "x"}, {0: 2.0, 1: "y"}], [0, 1])
    assert not hasattr(one.model, "feature_names_in_")
    assert one.model.n_features_in_ == 2
    assert one.predict_one({1: "y", 0: 2.0}) in (0, 1)


def test_labels_and_weights():
    labels = ["no", "yes", "yes"]
    one = OneByOne(tree(), classes=["yes", "no"])
    for a, label in enumerate(labels):
        one.learn_one({"a": a}, label, w=1.0 + a)
    want = tree().partial_fit(
        pd.DataFrame({"a": [0.0, 1.0, 2.0]}),
        labels,
        classes=["no", "yes"],
        sample_weight=[1.0, 2.0, 3.0],
    )
    assert pickle.dumps(one.model) == pickle.dumps(want)
    assert one.predict_one({"a": 2}) == "yes"


def test_ncm_learns_classes_that_come_late():
    one = OneByOne(NCMTreeClassifier(random_state=0), classes=["a"])
    one.learn_one({"x": 0.0, "y": 1.0}, "a")
    for _ in range(20):
        one.learn_one({"x": 9.0, "y": 9.0}, "b")
    assert one.predict_one({"x": 9.0, "y": 9.0}) == "b"
    assert list(one.predict_proba_one({"x": 9.0, "y": 9.0})) == ["a", "b"]


def test_a_pickle_goes_on_with_the_model():
    _, rows, y = people(400)
    one = taught(tree(), rows[:200], y[:200])
    again = pickle.loads(pickle.dumps(one))
    for each in (one, again):
        for x, label in zip(rows[200:], y[200:], strict=True):
            each.learn_one(x, label)
    assert pickle.dumps(one) == pickle.dumps(again)


@pytest.mark.slow
def test_threads_may_share_one():
    """A file that is written while rows are learned is of one moment."""
    _, rows, y = people(300)
    one = taught(tree(), rows[:1], y[:1])

    def read():
        again = pickle.loads(pickle.dumps(one))
        return sum(again.predict_proba_one(rows[0]).values())

    with at_once(read, lambda: one.predict_one(rows[0])) as threads:
        for x, label in zip(rows[1:], y[1:], strict=True):
            one.learn_one(x, label)
    assert one.model.n_rows_seen_ == 300
    assert threads[0].results == pytest.approx([1.0] * len(threads[0].results))


def begun():
    return taught(tree(), [{"a": 1, "b": "x"}], [0])


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ({"a": "1", "b": "x"}, 0, "Column 'a' is numeric. Got '1'"),
        ({"a": 1, "b": 2}, 0, "Column 'b' had text when"),
        ({"a": 1, "b": "x"}, 2, "label"),
        ({"a": float("inf"), "b": "x"}, 0, "infinity"),
        ({"a": 10**400, "b": "x"}, 0, "Column 'a' contains a number that is too large"),
    ],
)
def test_an_invalid_row_is_rejected(x, y, message):
    one = begun()
    before = pickle.dumps(one)
    with pytest.raises(ValueError, match=message):
        one.learn_one(x, y)
    assert pickle.dumps(one) == before


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ({"a": 1}, 2, r"y must be one of the classes \[0, 1\]. Got 2"),
        ({"a": [1]}, 0, r"Column 'a' is numeric. Got \[1\]"),
        ({"a": 10**400}, 0, "Column 'a' contains a number that is too large"),
        ({}, 0, "columns|feature"),
    ],
)
def test_a_first_row_that_does_not_fit_is_refused(x, y, message):
    one = OneByOne(tree(), classes=[0, 1])
    with pytest.raises(ValueError, match=message):
        one.learn_one(x, y)
    assert one.n_waiting_ == 0
    one.learn_one({"a": 1}, 1)
    assert one.model.n_rows_seen_ == 1


@pytest.mark.parametrize("x", [{"a": "1"}, {"a": [2]}, {"a": 10**400}])
def test_a_value_that_is_no_number_is_refused(x):
    one = taught(tree(), [{"a": 1}], [0])
    with pytest.raises(ValueError, match="Column 'a' (is numeric|contains)"):
        one.learn_one(x, 0)
    with pytest.raises(ValueError, match="Column 'a' (is numeric|contains)"):
        one.predict_one(x)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": [0, 1], "late_columns": "ignore"}, "must be 'add' or 'drop'"),
        ({"classes": [0, 1], "columns": ["a"]}, "columns must be a dict"),
        ({"classes": [0, 1], "columns": {}}, "columns must be a dict"),
        ({"classes": [0, 1], "columns": {"a": "text"}}, "map 'a' to .*Got 'tex"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        OneByOne(tree(), **options)


def test_what_does_not_fit_the_model():
    with pytest.raises(TypeError, match="model must have partial_fit"):
        OneByOne(object(), classes=[0, 1])
    model = tree().partial_fit(pd.DataFrame({"a": [1.0]}), [0], classes=[0, 1])
    with pytest.raises(ValueError, match="classes must be those of the fitted model"):
        OneByOne(model, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="columns must be those of the fitted model"):
        OneByOne(model, columns={"b": "number"})
    nameless = tree().partial_fit([[1.0, 2.0]], [0], classes=[0, 1])
    with pytest.raises(ValueError, match="columns must have the 2 columns"):
        OneByOne(nameless, columns={"b": "number"})
    one = OneByOne(model)
    model.fit(pd.DataFrame({"b": [1.0, 2.0]}), [0, 1])
    with pytest.raises(ValueError, match="differ from those of the dictionaries"):
        one.learn_one({"a": 1.0}, 1)


@pytest.mark.parametrize("make", NUMERIC)
def test_categories_are_refused_by_models_of_numbers(make):
    one = OneByOne(make(random_state=0), classes=[0, 1])
    with pytest.raises(ValueError, match=r"categories: \['color'\]"):
        one.learn_one({"a": 1.0, "color": "red"}, 0)


def test_a_model_of_others_learns_numbers():
    one = OneByOne(GaussianNB(), classes=[0, 1])
    for a in range(10):
        one.learn_one({"a": float(a), "b": 1.0 - a}, int(a > 4))
    assert one.predict_one({"b": -8.0, "a": 9.0}) == 1


def test_an_invalid_value_is_reported_with_its_key():
    one = taught(tree(), *people(30)[1:])
    for call in (one.predict_one, one.predict_proba_one, lambda x: one.learn_one(x, 0)):
        with pytest.raises(ValueError, match="'salary' is numeric. Got 'high'"):
            call({"salary": "high"})
    with pytest.raises(ValueError, match=r"not among the classes .*: \['rich'\]"):
        one.learn_one({"salary": 1.0}, "rich")


def test_rows_that_are_no_dictionaries_are_refused():
    waits = OneByOne(tree(), classes=[0, 1])
    with pytest.raises(TypeError, match="x must be a dict .* Got list"):
        waits.learn_one([1.0, 2.0], 0)
    one = taught(tree(), [{"a": 1.0}, {"a": 2.0}], [0, 1])
    for x in ([1.0], (1.0,), 1.0, None):
        with pytest.raises(TypeError, match="x must be a dict"):
            one.predict_one(x)


def test_warnings_of_keys_point_to_the_call():
    one = taught(tree(), [{"a": 1.0, "b": 2.0}], [0], late_columns="drop")
    with pytest.warns(UserWarning, match="are ignored") as said:
        one.predict_one({"a": 1.0, "c": 2.0})
    assert said[0].filename == __file__


def test_how_it_is_written():
    one = OneByOne(tree(), classes=["b", "a"])
    begun = "OneByOne(ConfidenceTreeClassifier(grace_period=25), classes=['a', 'b']"
    assert repr(one) == f"{begun})"
    one.learn_one({"km": 1.0, "rain": "no"}, "a")
    columns = "{'km': 'number', 'rain': 'category'}"
    assert repr(one) == f"{begun}, columns={columns})"


def river_class():
    base = pytest.importorskip("river.base")

    class Model(OneByOne, base.Classifier):
        """For river's pipelines and evaluation."""

    return Model


def test_the_arguments_of_the_constructor_are_attributes():
    model = tree()
    one = OneByOne(model, classes=["b", "a"])
    assert (one.model, one.classes, one.columns) == (model, ["a", "b"], None)
    columns = {"z": "number", "a": "category"}
    one = OneByOne(model, classes=["b", "a"], columns=columns)
    again = pickle.loads(pickle.dumps(one))
    assert list(again.columns.items()) == list(columns.items())
    assert not hasattr(one, "clone")


def test_river_clones_a_model_that_has_not_learned():
    Model = river_class()
    _, rows, y = people(100)
    kinds = {one: "category" if one in NOMINAL else "number" for one in COLUMNS}
    for columns in (None, kinds):
        one = Model(tree(), classes=[0, 1], columns=columns)
        empty = one.clone()
        for x, label in zip(rows, y, strict=True):
            one.learn_one(x, label)
        fresh = one.clone()
        assert repr(fresh) == repr(empty)
        assert type(fresh) is Model
        assert fresh.model is not one.model
        assert fresh.predict_one(rows[0]) is None
        for x, label in zip(rows, y, strict=True):
            fresh.learn_one(x, label)
        assert pickle.dumps(fresh.model) == pickle.dumps(one.model)
        whole = one.clone(include_attributes=True)
        whole.learn_one(rows[0], y[0])
        assert one.model.n_rows_seen_ == 100
        assert whole.model.n_rows_seen_ == 101
        other = one.clone({"model": ConfidenceTreeClassifier(max_depth=1)})
        assert other.model.max_depth == 1


def test_a_fitted_model_without_classes_can_be_cloned():
    Model = river_class()
    frame, _, y = people(300)
    fitted = tree().partial_fit(frame, y, classes=[0, 1])
    assert Model(fitted).clone().classes == [0, 1]


@pytest.mark.parametrize("name", ["ADWINBaggingClassifier", "SRPClassifier"])
def test_ensembles_of_river_take_it(name):
    Model = river_class()
    ensemble = pytest.importorskip("river.ensemble")
    rows, y = [{"a": i % 7, "b": i % 3} for i in range(60)], [i % 2 for i in range(60)]
    model = getattr(ensemble, name)(Model(tree(), classes=[0, 1]), n_models=3, seed=0)
    for x, label in zip(rows, y, strict=True):
        model.learn_one(x, label)
    assert model.predict_proba_one(rows[0]).keys() == {0, 1}


def test_a_model_of_rivers_kind_is_one_line():
    Model = river_class()
    evaluate = pytest.importorskip("river.evaluate")
    metrics = pytest.importorskip("river.metrics")

    _, rows, y = people(300)
    stream = list(zip(rows, y, strict=True))
    model = Model(ConfidenceTreeClassifier(), classes=[0, 1])
    metric = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
    assert metric.get() > 0.5
    assert model.model.n_rows_seen_ == 300


def test_a_loop_written_for_river_changes_in_two_lines():
    _, rows, y = people(300)
    stream = list(zip(rows, y, strict=True))

    model = OneByOne(ConfidenceTreeClassifier(), classes=[0, 1])
    right = 0
    for x, label in stream:
        right += model.predict_one(x) == label
        model.learn_one(x, label)

    frame = pd.DataFrame(rows).astype(dict.fromkeys(NOMINAL, "category"))
    other = ConfidenceTreeClassifier()
    predicted = other.partial_fit_predict(frame, y, classes=[0, 1])
    assert right == np.count_nonzero(predicted[1:] == y[1:])


NUMERALS = [{"day": str(i % 7), "late": None} for i in range(50)]
NUMERALS += [{"day": "?", "late": 0.0}]


def test_a_text_that_reads_as_a_number_is_a_category():
    one = taught(tree(), [{"day": "2"}, {"day": "3"}, {"day": "two"}], [0, 1, 0])
    assert one.columns_ == {"day": "category"}
    assert one.model.categories_[0] == ["2", "3", "two"]


def test_an_unparseable_value_warns_unless_declared():
    y = [0, 1] * 25 + [0]
    words = r"Column 'day' .* only 1 of its 51 .*float\(x\['day'\]\).*`columns` of One"
    with pytest.warns(UserWarning, match=words):
        taught(tree(), NUMERALS, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kinds = {"day": "category", "late": "number"}
        one = taught(tree(), NUMERALS, y, columns=kinds)
    assert one.model.n_rows_seen_ == len(y)


@pytest.mark.parametrize(
    "row",
    [
        ({"a": 1}, 0, 1.0),
        ([("a", 1)], 7, 1.0),
        ([("a", 1)], [0], 1.0),
        ([("a", 1)], 0, "heavy"),
        ([("a",)], 0, 1.0),
        ([("a", 1)], 0),
        None,
    ],
    ids=repr,
)
def test_a_row_that_waits_and_cannot_be_learned_is_refused(row):
    one = OneByOne(tree(), classes=[0, 1])
    one.learn_one({"a": None}, 0)
    state = one.__getstate__()
    OneByOne.__new__(OneByOne).__setstate__(state)
    with pytest.raises(ValueError, match="'n_waiting_' is not valid"):
        OneByOne.__new__(OneByOne).__setstate__(state | {"_waiting": [row]})


@pytest.mark.parametrize(
    "model",
    [
        ConfidenceTreeClassifier(leaf_memory="rows"),
        ConfidenceTreeClassifier(leaf_memory="gaussian", leaf_prediction="nb"),
        ConfidenceForestClassifier(2, grace_period=50, random_state=0),
    ],
    ids=["rows", "gaussian", "forest"],
)
def test_labels_and_keys_that_come_late_are_learned(model):
    """The model is that of a stream whose column was missing, with all classes."""
    frame, rows, y = people(900)
    labels = ["late" if i >= 500 and i % 3 == 0 else "ab"[y[i]] for i in range(900)]
    late = ["salary", "elevel"]
    gaps = frame.copy()
    for name in late:
        gaps.loc[:399, name] = None if name in NOMINAL else np.nan
    one, want = OneByOne(clone(model)), clone(model)
    assert one.classes == []
    given = [{k: v for k, v in x.items() if k not in late} for x in rows[:400]]
    for x, label in zip(given, labels, strict=False):
        one.learn_one(x, label)
    assert one.classes == ["a", "b"]
    one.predict_one(rows[400])  # no warning: the row would add the columns
    with pytest.warns(UserWarning, match=r"become columns .*: \['elevel', 'salary'\]"):
        one.learn_one(rows[400], labels[400])
    one = pickle.loads(pickle.dumps(one))
    for x, label in zip(rows[401:], labels[401:], strict=True):
        one.learn_one(x, label)
    assert one.classes == ["a", "b", "late"]
    columns = [name for name in COLUMNS if name not in late] + sorted(late)
    assert list(one.columns_) == columns
    want.partial_fit(gaps[columns], labels, classes=["a", "b", "late"])
    found = [one.predict_one(x) for x in rows]
    assert (want.predict(frame[columns]) == found).all()
    (found, want) = (
        getattr(m, "estimators_", [m])[-1].tree_ for m in (one.model, want)
    )
    assert found.node_count == want.node_count > 5
    assert columns.index("salary") in found.feature


@pytest.mark.parametrize("weighs", ["pool", "volume"])
def test_columns_come_late_to_unlabeled_rows(weighs):
    """The model is that of a pool whose column was missing."""
    frame, rows, y = people(600)
    frame, pool = frame[["age", "loan"]], people(200, 7)[0][["age", "loan"]]
    added, gaps = rows[300]["salary"], pool.assign(salary=np.nan)
    model = ConfidenceTreeClassifier(
        bound=CredibleBound(pool_weight=weighs), grace_period=25
    )
    late = clone(model).partial_fit(frame[:300], y[:300], [0, 1], X_pool=pool)
    one = OneByOne(late)
    with pytest.warns(UserWarning, match="become columns"):
        one.learn_one({"loan": 0.0, "age": 30.0, "salary": added}, 1)
    rest = frame[300:].assign(salary=[x["salary"] for x in rows[300:]])
    late.partial_fit(rest, y[300:])
    want = model.partial_fit(
        frame[:300].assign(salary=np.nan), y[:300], [0, 1], X_pool=gaps
    )
    want.partial_fit(pd.DataFrame({"age": [30.0], "loan": 0.0, "salary": added}), [1])
    want.partial_fit(rest, y[300:])
    assert late.get_n_leaves() > 2
    np.testing.assert_array_equal(late.predict_proba(rest), want.predict_proba(rest))


@pytest.mark.filterwarnings("ignore:Keys that do not occur in the first rows become")
def test_an_invalid_row_adds_nothing():
    one = OneByOne(tree())
    one.learn_one({"a": 1.0}, "x")
    before = pickle.dumps(one)
    for x, label, w, message in [
        ({"a": "one"}, "y", 1.0, "'a' is numeric"),
        ({"a": 1.0, "b": [1]}, "x", 1.0, "'b' is numeric"),
        ({"a": "one", "b": 1.0}, "x", 1.0, "'a' is numeric"),
        ({"a": 1.0}, 7, 1.0, "another type than the classes before, such as 'x'"),
        ({"a": 1.0, "b": 1.0}, 7, 1.0, "another type than the classes before"),
        ({"a": 1.0, "b": np.inf}, "x", 1.0, "Column 'b' holds such a value"),
        ({"a": 1.0, "b": 1.0}, "y", np.nan, "sample_weight contains NaN"),
        ([("a", 1.0)], "x", 1.0, "x must be a dict .* Got list"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            one.learn_one(x, label, w=w)
        assert pickle.dumps(one) == before


def test_columns_above_the_limit_are_dropped(monkeypatch):
    monkeypatch.setattr(_one_by_one, "MAX_LATE_COLUMNS", 0)
    one = OneByOne(tree())
    one.learn_one({"a": 1.0}, "x")
    with pytest.warns(UserWarning, match="0 columns have been added"):
        one.learn_one({"a": 2.0, "b": 1.0}, "x")
    one.learn_one({"d": 1.0}, "y")
    assert one.n_rows_seen_ == 3
    assert one.classes == ["x", "y"]
    assert list(one.columns_) == ["a"]
