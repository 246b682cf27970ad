"""An annotator labels rows in the terminal."""

import builtins

import numpy as np
import pandas as pd
import pytest

from skconftree import ConfidenceTreeClassifier
from skconftree.active import ActiveLearner, ConsoleOracle

ROWS = pd.DataFrame({"age": np.arange(30.0), "plan": ["basic", "plus", "pro"] * 10})


@pytest.fixture
def says(monkeypatch):
    """Make a person who gives these answers, then closes the terminal."""

    def start(*answers):
        left = iter(answers)

        def answer(prompt):
            said = next(left, None)
            if said is None:
                raise EOFError
            if isinstance(said, BaseException):
                raise said
            return said

        monkeypatch.setattr(builtins, "input", answer)

    return start


def learner(**parameters):
    one = ActiveLearner(ConfidenceTreeClassifier(), random_state=0, **parameters)
    return one.fit(ROWS)


def test_answers_are_numbers_or_classes(says, capsys):
    says("1", " no ", "3", "yes", "2", "s", "1")  # 3 is none
    one = learner().run(ConsoleOracle(["yes", "no"]), budget=5)
    labels = [answer.label for answer in one.history_]
    assert labels == ["yes", "no", "yes", "no", None, "yes"]
    out = capsys.readouterr().out
    assert (
        out.count("Please answer with a number from 1 to 2, the label itself, s or q.")
        == 1
    )
    assert "[1] yes  [2] no  [s] skip  [q] quit" in out


@pytest.mark.parametrize("end", ["q", None])
@pytest.mark.parametrize("batch_size", [1, 5])
def test_an_annotator_who_stops_keeps_the_labels(says, end, batch_size):
    answers = ["1", "2", "1", "2", "1", "2", "1"]
    says(*answers, end)
    one = learner(batch_size=batch_size)
    assert one.run(ConsoleOracle(["yes", "no"]), budget=20) is one
    assert one.n_labeled_ == 7
    says("q")
    assert one.run(ConsoleOracle(["yes", "no"])).n_labeled_ == 7
    says(*answers)
    assert one.run(ConsoleOracle(["yes", "no"]), budget=7).n_labeled_ == 7
    assert one.run(ConsoleOracle(["yes", "no"]), budget=12).n_labeled_ == 12


def test_an_interrupt_is_passed_on(says):
    says("1", "2", KeyboardInterrupt())
    one = learner()
    with pytest.raises(KeyboardInterrupt):
        one.run(ConsoleOracle(["yes", "no"]))
    assert one.n_labeled_ == 2


def test_rows_are_shown_by_names_and_values(says, capsys):
    says("q")
    learner().run(ConsoleOracle(["yes", "no"]))
    out = capsys.readouterr().out
    assert "\nage " in out
    assert "\nplan " in out
    assert "dtype" not in out
    says("q")
    learner().run(ConsoleOracle(["yes", "no"], show=lambda row: f"<{row.plan}>"))
    assert ": <" in capsys.readouterr().out
