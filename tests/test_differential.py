"""The differential command runs, agrees, and can disagree."""

import differential


def test_some_cases_agree(capsys):
    assert differential.main(["--cases", "60", "--first", "100000"]) == 0
    told = capsys.readouterr().out
    assert "60 cases from seed 100000: 0 failed" in told
    split = int(told.split(";")[1].split()[0])
    assert split > 15


def test_a_wrong_tree_is_detected(monkeypatch, capsys):
    right = differential.grow_both

    def wrong(problem, *arguments, **parameters):
        other = {**problem, "y": problem["y"][::-1].copy()}
        estimator, _ = right(problem, *arguments, **parameters)
        return estimator, right(other, *arguments, **parameters)[1]

    monkeypatch.setattr(differential, "grow_both", wrong)
    assert differential.main(["--cases", "10", "--first", "100000"]) == 1
    told = capsys.readouterr().out
    assert "failed: 1000" in told
    monkeypatch.undo()
    assert differential.main(["--seed", "100000"]) == 0
