"""What is typed to choose a label means what a reader of the menu thinks."""

import io
import sys

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from skconftree.active import ActiveLearner, ConsoleOracle, LabelingSession
from skconftree.active._strategy import choices, keys_text, menu_entries


@pytest.mark.parametrize(
    ("labels", "keys", "typed"),
    [
        (["ham", "spam"], ["1", "2"], {"1": "ham", "spam": "spam", "2": "spam"}),
        ([7, 9], ["1", "2"], {"1": 7, "2": 9, "7": 7, "9": 9}),
        ([1, 2, 3], ["1", "2", "3"], {"3": 3}),
        ([1, 10], ["1", "2"], {"1": 1, "2": 10, "10": 10}),
        ([0, 1], ["0", "1"], {"0": 0, "1": 1, "2": None}),
        ([0.0, 1.0], ["0.0", "1.0"], {"0": 0.0, "1": 1.0, "1.0": 1.0}),
        (["2", "1", "x"], ["2", "1", "x"], {"1": "1", "3": None, "x": "x"}),
        (list(range(10)), [*"0123456789"], {"5": 5, "0": 0, "10": None}),
        # a label that cannot be typed, as it is a command, needs its number
        (["2", "q"], ["1", "2"], {"1": "2", "2": "q"}),
    ],
)
def test_a_text_means_the_label_that_it_is(labels, keys, typed):
    shown, meanings = choices(labels, ("q",))
    assert shown == keys
    found = {
        text: labels[meanings[text]] if text in meanings else None for text in typed
    }
    assert found == typed
    assert all(meanings[key] == place for place, key in enumerate(shown))


def test_a_menu_shows_what_is_typed():
    assert list(menu_entries(["1", "2"], ["ham", "spam"])) == ["[1] ham", "[2] spam"]
    assert list(menu_entries(["0", "1"], [0, 1])) == ["[0]", "[1]"]
    assert keys_text(["1", "2"], "key") == "a key from 1 to 2"
    assert keys_text(["0", "1"]) == "one of 0, 1"


@pytest.fixture
def digits(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    learner = ActiveLearner(GaussianNB(), classes=list(range(10)), random_state=0)
    with LabelingSession(learner, tmp_path / "journal", X) as session:
        yield session


def test_a_digit_is_the_label_that_is_seen(digits, monkeypatch, capsys):
    lines = ["5", "3", "10", "9" * 5000, "q"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines) + "\n"))
    digits.label()
    assert [one["label"] for one in reversed(digits.answers())] == [5, 3]
    told = capsys.readouterr().out
    assert "[0]  [1]  [2]" in told
    assert told.count("One of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, or [u] undo") == 2


def test_the_console_takes_digits_as_they_are(monkeypatch, capsys):
    lines = ["1", "0", "9" * 5000, "s"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines) + "\n"))
    answers = ConsoleOracle([0, 1])(np.zeros((3, 1)), [4, 5, 6])
    assert answers.tolist() == [1, 0, None]
    assert "Please answer with one of 0, 1, s or q." in capsys.readouterr().out
