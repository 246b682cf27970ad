"""The plot shows means and standard errors over the runs of a simulation."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from skconftree.active.pool import SimulationResult
from skconftree.inspection import ActiveCurveDisplay

STEPS = np.array([5, 10, 15])


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def result(n_runs=4, names=("random", "margin", "auto")):
    scores = np.random.default_rng(0).random((len(names), n_runs, 3))
    return SimulationResult(list(names), STEPS, scores, np.zeros((len(names), n_runs)))


def test_means_and_errors():
    found = result()
    display = ActiveCurveDisplay.from_simulation(found, score_name="accuracy")
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == found.strategies
    assert display.ax_.get_ylabel() == "accuracy"
    for line, band, scores in zip(
        display.lines_, display.bands_, found.scores, strict=True
    ):
        mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=1) / 2.0
        np.testing.assert_array_equal(line.get_xdata(), STEPS)
        np.testing.assert_allclose(line.get_ydata(), mean)
        corners = band.get_paths()[0].vertices
        at_first = corners[corners[:, 0] == 5][:, 1]
        np.testing.assert_allclose(at_first.min(), mean[0] - error[0])
        np.testing.assert_allclose(at_first.max(), mean[0] + error[0])
    colors = [line.get_color() for line in display.lines_]
    assert len(set(colors)) == 3


def test_some_strategies_on_passed_axes():
    _, ax = plt.subplots()
    display = ActiveCurveDisplay.from_simulation(
        result(), strategies=["auto", "random"], ax=ax
    )
    assert display.ax_ is ax
    assert [line.get_label() for line in display.lines_] == ["auto", "random"]
    np.testing.assert_allclose(
        display.lines_[0].get_ydata(), result().scores[2].mean(axis=0)
    )
    grey = display.lines_[1].get_color()
    again = ActiveCurveDisplay.from_simulation(result())
    assert again.lines_[0].get_color() == grey


def test_a_single_run_has_no_bands_and_many_strategies_have_colors():
    names = ["random", *(f"s{i}" for i in range(20))]
    display = ActiveCurveDisplay.from_simulation(result(1, names))
    assert display.bands_ == []
    assert len(display.lines_) == 21


def test_unknown_strategies():
    for strategies in (["margin", "best"], []):
        with pytest.raises(ValueError, match="strategies must be some of"):
            ActiveCurveDisplay.from_simulation(result(), strategies=strategies)


@pytest.mark.slow
def test_matplotlib_is_imported_when_it_is_used():
    code = (
        "import sys; from skconftree.inspection import ActiveCurveDisplay; "
        "sys.exit('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], check=False)
    assert done.returncode == 0
