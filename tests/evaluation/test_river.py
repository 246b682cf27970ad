"""`RiverClassifier` is one of river's classifiers, and learns what arrays teach."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from reference.programs import run_program
from sklearn.naive_bayes import GaussianNB

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.datasets import make_sea
from skconftree.evaluation import RiverClassifier

river = pytest.importorskip("river")
from river import checks, ensemble, evaluate, metrics, preprocessing  # noqa: E402

X, Y = make_sea(600, random_state=0)
FRAME = pd.DataFrame(X.astype(float), columns=list("abc"))
ROWS, LABELS = FRAME.to_dict("records"), ["no", "yes"]
LABELS = [LABELS[one] for one in Y]


def tree(**settings):
    return ConfidenceTreeClassifier(grace_period=25, **settings)


def taught(model, n=600):
    for x, y in zip(ROWS[:n], LABELS[:n], strict=True):
        model.learn_one(x, y)
    return model


slow = pytest.mark.slow


@pytest.mark.parametrize(
    "estimator",
    [
        ConfidenceTreeClassifier(),
        ConfidenceTreeClassifier(drift="adwin"),
        ConfidenceForestClassifier(3, random_state=0),
    ],
    ids=str,
)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Keys that do not occur in the first rows")
def test_it_passes_the_checks_of_river(estimator):
    checks.check_estimator(RiverClassifier(estimator))


def test_labels_need_no_declaration():
    model = taught(RiverClassifier(tree()), 2)
    assert model.predict_proba_one(ROWS[0]).keys() == set(LABELS[:2])
    model = taught(RiverClassifier(tree()))
    declared = taught(RiverClassifier(tree(), classes=["no", "yes"]))
    for x in ROWS[:50]:
        assert model.predict_one(x) == declared.predict_one(x)
        found, want = model.predict_proba_one(x), declared.predict_proba_one(x)
        assert found == pytest.approx(want, abs=1e-3)
    assert sorted(model.classes_) == declared.classes_ == ["no", "yes"]
    for _ in range(50):
        model.learn_one({"a": 50.0, "b": 50.0, "c": 50.0}, "late")
    assert model.predict_one({"a": 50.0, "b": 50.0, "c": 50.0}) == "late"
    with pytest.raises(ValueError, match="'late'"):
        declared.learn_one(ROWS[0], "late")
    assert model.n_rows_seen_ == 650


@pytest.mark.parametrize(
    "estimator",
    [
        tree(),
        ConfidenceForestClassifier(2, max_features=2, random_state=0),
        pytest.param(
            ConfidenceForestClassifier(
                2, max_features=2, leaf_memory="gaussian", drift="ddm", random_state=0
            ),
            marks=slow,
        ),
    ],
    ids=["tree", "forest", "gaussian forest"],
)
def test_many_rows_are_learned_and_predicted_as_one_by_one(estimator):
    frame = FRAME.assign(color=np.where(FRAME["a"] > 3, "red", "blue"))
    frame["late"] = np.where(frame.index > 250, frame["b"] - frame["c"], np.nan)
    one, many = RiverClassifier(estimator), RiverClassifier(estimator)
    labels = [*LABELS[:300], *["third" if i % 5 else "no" for i in range(300)]]
    assert many.predict_many(frame[:2]).tolist() == [None, None]
    assert many.predict_proba_many(frame[:2]).shape == (2, 0)
    rows = [{k: v for k, v in x.items() if v == v} for x in frame.to_dict("records")]
    for x, y in zip(rows[:251], labels, strict=False):
        one.learn_one(x, y)
    with pytest.warns(UserWarning, match="become columns"):
        one.learn_one(rows[251], labels[251])
    for x, y in zip(rows[252:], labels[252:], strict=True):
        one.learn_one(x, y)
    many.learn_many(frame[:200].drop(columns="late"), pd.Series(labels[:200]))
    with pytest.warns(UserWarning, match="become columns"):
        many.learn_many(frame[200:400], pd.Series(labels[200:400]))
    many.learn_many(frame[400:], pd.Series(labels[400:]))
    assert many.classes_ == ["no", "third", "yes"]
    assert pickle.dumps(one) == pickle.dumps(many)
    queries = frame[:60].set_index(np.arange(100, 160))
    found, proba = many.predict_many(queries), many.predict_proba_many(queries)
    assert found.index.equals(queries.index)
    for i, x in enumerate(queries.to_dict("records")):
        assert found.iloc[i] == one.predict_one(x)
        assert proba.iloc[i].to_dict() == pytest.approx(one.predict_proba_one(x))


def test_rows_without_values_do_not_determine_the_columns():
    frame = FRAME.copy()
    frame.loc[:4] = np.nan
    many, one = RiverClassifier(tree()), RiverClassifier(tree())
    many.learn_many(frame[:3], pd.Series(LABELS[:3]))
    assert many.columns_ is None
    many.learn_many(frame[3:50], pd.Series(LABELS[3:50]))
    assert sorted(many.columns_) == ["a", "b", "c"]
    for x, y in zip(frame[:50].to_dict("records"), LABELS, strict=False):
        one.learn_one(x, y)
    assert pickle.dumps(one) == pickle.dumps(many)


def test_a_failed_call_leaves_no_label_behind():
    model = taught(RiverClassifier(tree()), 50)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="'a' is numeric. Got 'x'"):
        model.learn_one({"a": "x"}, "new")
    frame = pd.DataFrame({"a": [1.0, "x"]})
    with pytest.raises(ValueError, match="'a' is numeric. Got 'x'"):
        model.learn_many(frame, pd.Series(["new", "newer"]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples: .2, 1"):
        model.learn_many(FRAME[:2], pd.Series(["yes"]))
    with pytest.raises(TypeError, match="x must be a dict .* Got list"):
        RiverClassifier(tree()).learn_one([1.0], "yes")
    assert pickle.dumps(model) == before


def test_no_rows_have_no_predictions():
    model = taught(RiverClassifier(tree()), 50)
    assert model.predict_many(FRAME[:0]).tolist() == []
    assert model.predict_proba_many(FRAME[:0]).columns.tolist() == ["no", "yes"]
    model.learn_many(FRAME[:0], pd.Series([], dtype=object))
    assert model.n_rows_seen_ == 50


def test_it_works_in_the_tools_of_river():
    stream = list(zip(ROWS, LABELS, strict=True))
    model = preprocessing.StandardScaler() | RiverClassifier(tree())
    metric = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
    assert metric.get() > 0.8
    bag = ensemble.ADWINBaggingClassifier(RiverClassifier(tree()), n_models=2, seed=0)
    for x, y in stream[:100]:
        bag.learn_one(x, y)
    assert bag.predict_proba_one(ROWS[0]).keys() == {"no", "yes"}


def test_clones_and_fitted_estimators():
    template = tree()
    model = taught(RiverClassifier(template), 100)
    assert not hasattr(template, "classes_")
    assert model.clone().n_rows_seen_ == 0
    whole = model.clone(include_attributes=True)
    assert whole.predict_proba_one(ROWS[0]) == model.predict_proba_one(ROWS[0])
    assert model.clone({"estimator": tree(max_depth=1)}).estimator.max_depth == 1
    fitted = tree().fit(FRAME, LABELS)
    model = taught(RiverClassifier(fitted), 10)
    assert model.classes_ == ["no", "yes"]
    assert (fitted.n_rows_seen_, model.n_rows_seen_) == (600, 610)
    numbers = RiverClassifier(GaussianNB(), classes=[False, True])
    for a in [1.0, 2.0, 5.0, 6.0]:
        numbers.learn_one({"a": a}, a < 3.0)
    assert numbers.estimator_.class_count_.tolist() == [2, 2]


def test_drifts_and_explanations_are_told():
    model = RiverClassifier(tree(drift="ddm"))
    assert model.explain_one(ROWS[0]) == []
    found = []
    for i in range(1200):
        flip = i >= 600
        model.learn_one(ROWS[i % 600], LABELS[i % 600] if not flip else "no")
        if model.drift_detected:
            found.append(i)
    assert len(found) == model.estimator_.n_drifts_ > 0
    assert found[0] > 600
    steps = taught(RiverClassifier(tree())).explain_one(ROWS[0])
    assert steps[0]["name"] in "abc"


def test_without_river_only_the_wrapper_is_missing():
    program = """
        import sys
        for name in [name for name in sys.modules if "skconftree.evaluation" in name]:
            del sys.modules[name]
        sys.modules["river"] = None
        import skconftree.evaluation as e
        from sklearn.naive_bayes import GaussianNB
        try:
            e.RiverClassifier(GaussianNB())
        except ImportError as error:
            said = str(error)
        assert said == "RiverClassifier needs river. Install it: pip install river"
    """
    run_program(program, timeout=60.0)


def test_a_key_that_comes_late_warns_once():
    model = RiverClassifier(tree(), late_columns="drop")
    model.learn_one({"a": 1.0}, 0)
    with pytest.warns(UserWarning, match=r"are ignored: \['b'\]"):
        model.learn_many(pd.DataFrame({"a": [1.0], "b": [2.0]}), pd.Series([1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.learn_one({"a": 1.0, "b": 3.0}, 0)
