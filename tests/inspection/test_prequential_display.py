"""The plot shows the windows of the records and the detected drifts."""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pytest
from reference.effort import cases
from sklearn.naive_bayes import GaussianNB

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.datasets import make_random_tree_stream
from skconftree.evaluation import iter_prequential
from skconftree.inspection import PrequentialDisplay

X, Y = make_random_tree_stream(
    3000, n_leaves=8, p_left=1.0, p_right=0.0, concept=[0, 1], random_state=0
)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def legend(display):
    found = display.ax_.get_legend()
    return found.get_title().get_text(), [one.get_text() for one in found.get_texts()]


def test_curves_are_those_of_the_records():
    models = {"a": ConfidenceTreeClassifier(), "b": GaussianNB()}
    display = PrequentialDisplay.from_estimator(models, X, Y, window=400, chunk_size=50)
    for line, model in zip(
        display.lines_, (ConfidenceTreeClassifier(), GaussianNB()), strict=True
    ):
        records = list(iter_prequential(model, X, Y, report_every=400, chunk_size=50))
        np.testing.assert_array_equal(line.get_xdata(), [one.n_rows for one in records])
        np.testing.assert_array_equal(
            line.get_ydata(), [one.window_accuracy for one in records]
        )
    np.testing.assert_array_equal(
        display.baseline_.get_ydata()[1:],
        [one.window_no_change_accuracy for one in records[1:]],
    )
    assert legend(display) == ("windows of 400 rows", ["previous label", "a", "b"])
    assert models["a"].n_rows_seen_ == 3000
    assert len({line.get_color() for line in display.lines_}) == 2
    assert display.drift_lines_ == []


@pytest.mark.parametrize(
    "model",
    [
        ConfidenceTreeClassifier(drift="ddm"),
        ConfidenceForestClassifier(3, drift="adwin", random_state=0),
    ],
    ids=["tree", "forest"],
)
def test_drifts_are_drawn_at_their_rows(model):
    display = PrequentialDisplay.from_estimator(
        model, X, Y, window=100, name="mine", changes=[1500]
    )
    assert model.n_drifts_ > 0
    (found,) = display.drift_lines_
    assert len(found.get_xdata()) == model.n_drifts_ == len(display.drifts["mine"])
    assert (found.get_xdata() > 1500).all()
    assert found.get_color() == display.lines_[0].get_color()
    assert legend(display)[1][1].startswith(f"mine ({model.n_drifts_} drift")
    assert display.change_lines_[0].get_xdata()[0] == 1500


class Place(NamedTuple):
    row: int


class Exact(GaussianNB):
    n_drifts_ = 0

    @property
    def drifts_(self):
        return [Place(1234)]


def test_the_position_of_a_model_is_used():
    display = PrequentialDisplay.from_estimator(Exact(), X, Y)
    assert display.drift_lines_[0].get_xdata().tolist() == [1234]
    assert legend(display)[1][1] == "Exact (1 drift)"


@pytest.mark.parametrize(
    "metric",
    cases(
        ["kappa", "geometric_mean", "roc_auc", "f1_macro"],
        ["geometric_mean", "roc_auc"],
    ),
)
def test_other_figures(metric):
    scoring = metric if metric in ("roc_auc", "f1_macro") else None
    display = PrequentialDisplay.from_estimator(
        ConfidenceTreeClassifier(), X[:1500], Y[:1500], metric=metric, delay=20
    )
    records = iter_prequential(
        ConfidenceTreeClassifier(), X[:1500], Y[:1500], delay=20, scoring=scoring
    )
    want = [
        one.window_scores[metric] if scoring else getattr(one, f"window_{metric}")
        for one in records
    ]
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), want)
    assert display.baseline_ is None
    assert display.ax_.get_ylabel() == metric.replace("_", " ")


def test_records_and_axes_can_be_passed():
    records = {
        "long": list(iter_prequential(GaussianNB(), X, Y, report_every=500)),
        "short": list(iter_prequential(GaussianNB(), X[:900], Y[:900])),
    }
    _, ax = plt.subplots()
    display = PrequentialDisplay.from_records(records, drifts={"short": [40]}, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert legend(display)[0] == "windows of 500 rows"
    assert len(display.baseline_.get_xdata()) == 6
    records["short"] = list(iter_prequential(GaussianNB(), X, Y, report_every=750))
    display = PrequentialDisplay.from_records(records)
    assert legend(display)[0] == "windows of 500 to 750 rows"
    display, ax = PrequentialDisplay.from_records(records), display.ax_
    again = display.plot()
    assert again is display
    assert display.ax_ is not ax
    for wrong, message in [
        ({"records": {}}, "records must be a dict"),
        ({"records": records, "drifts": {"none": [3]}}, "drifts has the key 'none'"),
        (
            {"records": records, "metric": "speed"},
            r"one of .*'kappa_temporal'.* Got 'speed'",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            PrequentialDisplay.from_records(**wrong)
