"""``skconftree evaluate`` at a terminal whose lines are read."""

import csv
import json
import sys

import numpy as np
import pytest
from cli.people import write_people

from skconftree._cli import main


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """A model, an unlabeled table with more columns, and the labels of its rows."""
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "train.csv", 0, 200)
    write_people(tmp_path / "all.csv", 1, 120)
    command = ["fit", "train.csv", "--target", "buys", "--output", "m.model"]
    assert main([*command, "--baselines", "none", "--folds", "2"]) == 0
    with open("all.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    labels = [row.pop("buys") for row in rows]
    with open("new.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["id", *rows[0]])
        writer.writeheader()
        writer.writerows({"id": i, **row} for i, row in enumerate(rows))
    return labels


class Person:
    """Answers the questions that were printed, then quits."""

    def __init__(self, out, labels, n):
        self.out, self.labels, self.n = out, labels, n
        self.shown = ""

    def readline(self, *_):
        self.shown += self.out.readouterr().out
        self.n -= 1
        if self.n < 0:
            return "q\n"
        row = int(self.shown.rpartition("\nRow ")[2].split()[0])
        return f"{self.labels[row]}\n"

    def isatty(self):
        return False

    def fileno(self):
        raise OSError


def ask(monkeypatch, capsys, labels, n, *options):
    person = Person(capsys, labels, n)
    monkeypatch.setattr(sys, "stdin", person)
    capsys.readouterr()
    code = main(["evaluate", "m.model", "new.csv", *options])
    captured = capsys.readouterr()
    return code, person.shown + captured.out, captured.err


def test_evaluation_continues_and_reports(paths, monkeypatch, capsys):
    json_file = ("--json", "report.json")
    code, out, _ = ask(monkeypatch, capsys, paths, 10, *json_file)
    assert code == 0
    assert "predicted" not in out
    assert "with 95% confidence at all times), from 10 labels." in out
    options = ("--budget", "200", *json_file)
    code, out, _ = ask(monkeypatch, capsys, paths, 200, *options)
    assert code == 0
    assert "11 of 200" in out
    assert "All rows are labeled or skipped." in out
    with open("report.json", encoding="utf-8") as file:
        report = json.load(file)
    code = main(["predict", "m.model", "all.csv", "--output", "predicted.csv"])
    with open("predicted.csv", newline="", encoding="utf-8") as file:
        predicted = [row["buys"] for row in csv.DictReader(file)]
    accuracy = np.mean([a == b for a, b in zip(predicted, paths, strict=True)])
    assert report["labels"] == report["data"]["rows"] == 120
    assert report["estimate"] == pytest.approx(accuracy)
    assert report["limits"] == pytest.approx([accuracy, accuracy])


def test_known_labels_half_width_and_errors(paths, monkeypatch, capsys):
    code, _, err = ask(monkeypatch, capsys, paths, 1, "--pos-label", "maybe")
    assert code == 1
    assert "'maybe' is not one of the labels of the model: no, yes" in err
    code, out, _ = ask(monkeypatch, capsys, paths, 99, "--half-width", "0.2")
    assert code == 0
    assert "The stopping rule is reached" in out
    code, _, err = ask(monkeypatch, capsys, paths, 1, "--metric", "f1")
    assert code == 1
    assert "was started with metric='accuracy'" in err
    assert "--answers" in err
    with open("all.csv", encoding="utf-8") as file:
        text = file.read().replace("yes\n", "perhaps\n")
    with open("new.csv", "w", encoding="utf-8") as file:
        file.write(text)
    code, _, err = ask(monkeypatch, capsys, paths, 1, "--answers", "b.jsonl")
    assert code == 1
    assert "the label 'perhaps', which the model does not know" in err


def test_labels_that_the_model_does_not_know_can_be_added(paths, monkeypatch, capsys):
    with open("all.csv", encoding="utf-8") as file:
        text = file.read()
    with open("new.csv", "w", encoding="utf-8") as file:
        file.write(text.replace("yes\n", "perhaps\n", 3))
    argv = ["--labels", "perhaps", "--pos-label", "yes", "--metric", "precision"]
    code, out, _ = ask(monkeypatch, capsys, paths, 0, *argv, "--json", "report.json")
    assert code == 0
    assert "Label?" not in out  # the table has all of them
    with open("report.json", encoding="utf-8") as file:
        report = json.load(file)
    assert main(["predict", "m.model", "new.csv", "--output", "predicted.csv"]) == 0
    with open("predicted.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with open("new.csv", newline="", encoding="utf-8") as file:
        true = np.array([row["buys"] for row in csv.DictReader(file)])
    is_yes = np.array([row["buys"] for row in rows]) == "yes"
    assert report["estimate"] == pytest.approx(np.mean(true[is_yes] == "yes"))


def test_added_labels_of_a_model_of_numbers_are_numbers(paths, monkeypatch, capsys):
    with open("train.csv", encoding="utf-8") as file:
        text = file.read().replace("yes\n", "1\n").replace("no\n", "0\n")
    with open("train.csv", "w", encoding="utf-8") as file:
        file.write(text)
    command = ["fit", "train.csv", "--target", "buys", "--output", "m.model"]
    assert main([*command, "--baselines", "none", "--folds", "2"]) == 0
    code, out, _ = ask(monkeypatch, capsys, ["2"] * 120, 3, "--labels", "2")
    assert code == 0
    assert "from 3 labels" in out
    with open("new.evaluation.jsonl", encoding="utf-8") as file:
        answers = [json.loads(line) for line in file]
    assert [row["label"] for row in answers if "label" in row] == [2, 2, 2]
    code, _, err = ask(monkeypatch, capsys, paths, 1, "--labels", "two")
    assert code == 1
    assert "--labels 'two' is not a number, but the labels of the model are" in err
