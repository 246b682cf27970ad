"""``skconftree label``, as a person at a terminal sees it."""

import csv
import io
import json
import os
import re
import select
import signal
import sys
import time
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np
import pytest
from reference.programs import COMMAND, Process
from sklearn.feature_extraction.text import TfidfVectorizer

from skconftree import load_model
from skconftree._cli import main
from skconftree._cli._text import UserError
from skconftree._cli._text_model import TextFeatures

SPAM = "cheap offer win money now free click prize".split()
HAM = "meeting tomorrow report lunch project team budget plan".split()
REST = "the a of and to in is you that it".split()
KEYS = {"ham": "1", "spam": "2"}


@pytest.fixture
def pool(tmp_path):
    """A table of messages, and the label of each."""
    rng = np.random.default_rng(0)
    labels = rng.choice(["ham", "spam"], 200).tolist()
    path = tmp_path / "pool.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["message", "sender"])
        for place, label in enumerate(labels):
            words = rng.choice((SPAM if label == "spam" else HAM) + REST, 40)
            text = " ".join(words) + "\x1b[2J\u202e last word"
            writer.writerow([text, ("shop", "work")[place % 2]])
    return path, labels


class Terminal:
    """The command in a pseudo-terminal."""

    def __init__(self, *argv):
        self.place, inside = os.openpty()
        ends = dict.fromkeys(("stdin", "stdout", "stderr"), inside)
        self.run = Process(COMMAND, *argv, **ends)
        os.close(inside)
        self.text = ""

    def read_until(self, words):
        """Read on until one of some words is shown; gives all up to it."""
        end = time.monotonic() + 120
        while (found := re.search(words, self.text)) is None:
            assert time.monotonic() < end, self.text
            if select.select([self.place], [], [], 1)[0]:
                try:
                    block = os.read(self.place, 65536)
                except OSError:  # it was closed
                    block = b""
                assert block, self.text
                self.text += block.decode("utf-8", "replace")
        shown, self.text = self.text[: found.end()], self.text[found.end() :]
        return shown

    def question(self):
        return self.read_until(r"\[q\] quit|predictions\.")

    def press(self, keys):
        os.write(self.place, keys.encode())

    def close(self):
        self.run.close()
        os.close(self.place)


@pytest.fixture
def terminal():
    opened = []

    def start(*argv):
        opened.append(Terminal(*argv))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def row_of(shown):
    return int(re.findall(r"Row (\d+)\r?\n", shown)[-1])


@pytest.mark.slow
def test_fifty_labels_with_a_slip_a_crash_and_a_restart(pool, terminal):
    path, labels = pool
    argv = ["label", path, "--labels", "ham,spam", "--text", "message"]
    argv += ["--stop-risk", ".01", "--annotator", "anna"]
    one = terminal(*argv)
    given = {}
    for n in range(20):
        shown = one.question()
        assert f"{n} of 50" in shown
        row = row_of(shown)
        assert "last word" in shown  # the whole text, wrapped
        assert "\x1b[2J" not in shown
        assert "\u202e" not in shown
        if n == 12:  # a slip
            one.press(KEYS["ham" if labels[row] == "spam" else "spam"])
            assert "13 of 50" in one.question()
            one.press("u")
            again = one.question()
            assert "label withdrawn" in again
            assert row_of(again) == row
        given[row] = labels[row]
        one.press(KEYS[labels[row]])
    shown = one.question()
    told = r"20 of 50, predicted: (ham|spam) \(\S+\), error rate at most \d+%"
    assert re.search(told, shown)
    os.kill(one.run.pid, signal.SIGKILL)
    other = terminal(*argv)
    shown_again = other.question()
    assert "20 of 50" in shown_again
    assert row_of(shown_again) == row_of(shown)
    other.press("?")
    assert "Nearest labeled rows" in other.read_until("rows: row")
    other.press("x")
    shown = other.read_until(r"A key from 1 to 2.*\n")
    row = row_of(shown_again)
    for _ in range(30):
        given[row] = labels[row]
        other.press(KEYS[labels[row]])
        shown = other.question()
        if "Row" in shown:
            row = row_of(shown)
    assert "The budget is used up" in shown
    assert "50 labels are in" in shown
    other.read_until("after 20 more labels")
    assert other.run.wait(60) == 0
    lines = path.with_name("pool.answers.jsonl").read_text().splitlines()
    assert len(lines) == 1 + 50 + 2
    assert sum("undo" in json.loads(line) for line in lines) == 1
    written = rows_of(path.with_name("pool.labeled.csv"))
    assert {
        row: line["label"] for row, line in enumerate(written) if line["label"]
    } == given
    assert all(
        (line["labeled by"] == "anna") == (row in given)
        for row, line in enumerate(written)
    )
    predicted = np.array([line["predicted"] for line in written])
    assert (predicted == labels).mean() > 0.9
    assert float(written[0]["probability of ham"]) <= 1
    # nothing is left to ask for
    third = terminal(*argv)
    assert "50 labels are in" in third.question()


def test_an_interrupt_is_a_quiet_exit(pool, terminal):
    path, labels = pool
    one = terminal("label", path, "--labels", "ham,spam", "--text", "message")
    for _ in range(3):
        one.press(KEYS[labels[row_of(one.question())]])
    one.question()
    one.press("\x03")  # Ctrl-C
    shown = one.read_until(r"at least 20 labels")
    assert "Traceback" not in shown
    assert "3 labels are in" in shown
    assert one.run.wait(60) == 0


def test_lines_may_have_labels_and_slips(pool, monkeypatch, capsys):
    """Where there is no terminal, or more labels than keys."""
    path, _ = pool
    argv = ["label", str(path), "--labels", "ham,spam", "--text", "message"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("ham\nspm\n7\nq\n"))
    assert main(argv) == 0
    shown = capsys.readouterr().out
    assert shown.count("A number from 1 to 2, the label itself, or [u] undo") == 2
    assert "1 label is in" in shown
    assert "has the table with labels.\n" in shown
    written = rows_of(path.with_name("pool.labeled.csv"))
    assert {line["predicted"] for line in written} == {""}
    assert [line["label"] for line in written if line["label"]] == ["ham"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("spam\nq\n"))
    assert main(argv) == 0
    assert "has the table with labels and predictions" in capsys.readouterr().out
    assert main([*argv, "--stop-risk", ".1"]) == 1
    told = capsys.readouterr().err
    assert "was started with stop=[]. Got [RiskBelow(" in told
    assert told.endswith("or another file. Use --answers to name another file.\n")


def test_a_file_that_is_not_a_journal_is_an_error_with_a_remedy(
    numbers, monkeypatch, capsys
):
    other = numbers.with_name("other.csv")
    other.write_text("a,b\n1,2\n")
    argv = [numbers, "--target", "class", "--answers", other]
    assert label(monkeypatch, "q", *argv) == 1
    told = capsys.readouterr().err
    assert told.endswith(
        "is not a journal of labels: it starts with b'a,b'. Pass a file that "
        "LabelingSession or `skconftree label` wrote. Use --answers to name another "
        "file.\n"
    )
    assert other.read_text() == "a,b\n1,2\n"


# -- in a browser --------------------------------------------------------------------


def act(url, do, **said):
    """Do what the page does when a key is pressed; its next state."""
    state = page_state(url)
    said |= {"do": do, "seen": state["seen"], "row": state["question"]["row"]}
    origin = f"http://{urlsplit(url).netloc}"
    headers = {"Content-Type": "application/json", "Origin": origin}
    request = Request(url + "act", json.dumps(said).encode(), headers)
    with urlopen(request, timeout=60) as reply:
        return json.load(reply)


def page_state(url):
    with urlopen(url + "state", timeout=60) as reply:
        return json.load(reply)


@pytest.mark.slow
def test_a_page_makes_the_queries_of_a_terminal(pool, terminal):
    path, labels = pool
    (path.parent / "pictures").mkdir()
    argv = ["label", path, "--labels", "ham,spam", "--text", "message", "--web"]
    argv += ["--budget", "30", "--stop-risk", ".01"]
    argv += ["--images", path.parent / "pictures"]
    for ending, end in ("q", 8), ("\x03", 16):
        one = terminal(*argv)
        url = re.search(r"http://127\S+", one.read_until("answers are saved"))[0]
        assert page_state(url)["done"] == end - 8
        for _ in range(8):
            row = page_state(url)["question"]["row"]
            state = act(url, "answer", label=int(labels[row] == "spam"))
        if ending == "q":
            assert act(url, "quit")["quit"]
        else:
            one.press(ending)  # Ctrl-C
        assert f"{end} labels are in" in one.read_until("labels are in")
        shown = one.read_until("at least 20 labels|after 20 more labels")
        assert "Traceback" not in shown
        assert one.run.wait(60) == 0
    assert re.search(r"16 of 30, .*, error rate at most \d+%", state["progress"])
    # the terminal goes on with what the page would have asked
    at_terminal = [one for one in argv[:-2] if one != "--web"]
    assert row_of(terminal(*at_terminal).question()) == state["question"]["row"]
    written = rows_of(path.with_name("pool.labeled.csv"))
    assert sum(bool(line["label"]) for line in written) == 16


# -- without a terminal --------------------------------------------------------------


def label(monkeypatch, said, *argv):
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(said) + "\n"))
    return main(["label", *map(str, argv)])


@pytest.fixture
def numbers(tmp_path):
    path = tmp_path / "numbers.csv"
    lines = ["size,kind,color,class"]
    for place in range(60):
        kind = "" if place % 6 else ("7", "9")[place % 12 == 0]
        lines.append(f"{place % 17}.5,{place},{('red', 'blue')[place % 2]},{kind}")
    path.write_text("\n".join(lines))
    return path


def test_existing_labels_are_used(numbers, monkeypatch, capsys):
    argv = [numbers, "--target", "class", "--budget", "3", "--ignore", "kind"]
    assert label(monkeypatch, "1221", *argv) == 0
    told = capsys.readouterr()
    assert "[1] 7  [2] 9" in told.out
    assert re.search(r"\ncolor  (red|blue)\n", told.out)
    journal = numbers.with_name("numbers.answers.jsonl").read_text().splitlines()
    head = json.loads(journal[0])
    assert head["start"]["labels"] == [9, 7] * 5
    assert [json.loads(line)["label"] for line in journal[1:]] == [7, 9, 9]
    written = rows_of(numbers.with_name("numbers.labeled.csv"))
    assert sum(line["labeled by"] == "the table" for line in written) == 10
    assert sum(line["labeled by"] == "a person" for line in written) == 3
    assert all(line["size"].endswith(".5") for line in written)


def test_the_error_rate_is_estimated_by_random_rows(numbers, monkeypatch, capsys):
    argv = [numbers, "--target", "class", "--budget", "12"]
    assert label(monkeypatch, ["1", "2", "%", "u", "u", "u", "q"], *argv) == 0
    told = capsys.readouterr().out
    unknown = "No row was drawn at random, so the error rate is unknown"
    assert told.count(unknown) == 2
    # the keys again: after the estimate, and after an undo that failed
    menu = "[1] 7  [2] 9  [u] undo  [s] skip  [?] why this row  [%] error rate"
    assert f"at random.\n{menu}" in told.replace("\nof the", " of the")
    assert f"There is no label to withdraw.\n{menu}" in told
    argv += ["--random-share", ".9"]
    assert label(monkeypatch, "12?" * 6, *argv) == 0
    told = capsys.readouterr().out
    assert re.search(rf"(?s)\[1\] 7.*(Nearest|same) .*\n{re.escape(menu)}", told)
    assert re.search(r"About \d+% of the predictions are wrong \(\d+% to \d+%", told)
    assert re.search(r"judged on ([8-9]|1[0-2]) rows drawn at random, as pred", told)


def predicted_again(path, model, capsys):
    """Predictions of the table by the saved model, and those that the session wrote."""
    capsys.readouterr()
    assert main(["predict", str(model), str(path), "--proba"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    written = rows_of(path.with_name(f"{path.stem}.labeled.csv"))
    shares = [name for name in written[0] if name.startswith("probability of ")]
    assert len(shares) == 2
    for name in shares:
        np.testing.assert_allclose(
            [float(line[name]) for line in lines],
            [float(line[name]) for line in written],
            rtol=1e-4,
        )
    label = next(iter(lines[0]))
    assert [line[label] for line in lines] == [line["predicted"] for line in written]


@pytest.mark.parametrize("strategy", ["auto", "leaf_risk"])
def test_the_model_is_kept(numbers, monkeypatch, capsys, strategy):
    argv = [numbers, "--target", "class", "--strategy", strategy, "--ignore", "kind"]
    model = numbers.with_name("numbers.model")
    assert label(monkeypatch, "1212q", *argv) == 0
    told = capsys.readouterr().out
    assert f"Predict other rows with `skconftree predict {model} DATA`." in told
    predicted_again(numbers, model, capsys)
    assert label(monkeypatch, "1q", *argv) == 0  # its own model is replaced
    predicted_again(numbers, model, capsys)
    trees = {"auto": "ConfidenceForestClassifier", "leaf_risk": "ConfidenceTree"}
    assert trees[strategy] in repr(load_model(model))
    other = numbers.with_name("other.model")
    assert label(monkeypatch, "q", *argv, "--model", other) == 0
    assert other.read_bytes() == model.read_bytes()
    # but not another file
    before = numbers.with_name("numbers.labeled.csv").read_bytes()
    for content in (b"notes", b""):
        model.write_bytes(content)
        assert label(monkeypatch, "q", *argv) == 1
        message = "and `skconftree label` did not write it; name the file of the model"
        assert message in capsys.readouterr().err
        assert model.read_bytes() == content
    for path in (numbers, numbers.with_name("numbers.answers.jsonl")):
        assert label(monkeypatch, "q", *argv, "--model", path) == 1
        assert "--model" in capsys.readouterr().err
    assert numbers.with_name("numbers.labeled.csv").read_bytes() == before


@pytest.mark.parametrize("strategy", ["auto", "leaf_risk"])
def test_a_model_of_texts_is_kept(pool, monkeypatch, capsys, strategy):
    path, labels = pool
    lines = path.read_text().splitlines()
    sizes = [str(row % 50) if row % 9 else "" for row in range(len(labels))]
    table = [f"{lines[0]},size"]
    table += [f"{line},{size}" for line, size in zip(lines[1:], sizes, strict=True)]
    path.write_text("\n".join(table))
    argv = [path, "--labels", "ham,spam", "--text", "message", "--strategy", strategy]
    assert label(monkeypatch, "12211212q", *argv) == 0
    model = path.with_name("pool.model")
    predicted_again(path, model, capsys)
    # unknown words and categories, and other columns
    other = path.with_name("other.csv")
    other.write_text("size,sender,message\n7,nobody,unknown words only\n,shop,\n")
    assert main(["predict", str(model), str(other)]) == 0
    told = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert [line[0] in ("ham", "spam") for line in told] == [False, True, True]
    assert main(["check", str(model)]) == 0
    told = capsys.readouterr().out
    assert re.search("contains +model of texts, (Logistic|ConfidenceTree)", told)
    assert re.search("columns +3: message, sender, size", told)
    for command in (["show", model], ["predict", model, other, "--explain"]):
        assert main(list(map(str, command))) == 1
        assert "has a model of texts" in capsys.readouterr().err
    assert main(["predict", str(model), str(path.with_name("pool.answers.jsonl"))])
    if strategy == "auto":
        with pytest.raises(ValueError, match="has a model of texts that `skconftree"):
            load_model(model)


def test_columns_of_a_model_of_texts():
    """Features are those of scikit-learn, and the same after saving."""
    words = ["a bc bc", "de", None, "bc de fg"]
    numbers = np.array([1.0, np.nan, 3.0, 5.0])
    features = TextFeatures.fit(
        [("words", words), ("categories", ["x", None, "x", "y"]), ("numbers", numbers)]
    )
    columns = [words, ["x", None, "x", "y"], numbers]
    found = features.transform(columns).toarray()
    texts = ["" if text is None else text for text in words]
    expected = TfidfVectorizer(sublinear_tf=True).fit_transform(texts).toarray()
    np.testing.assert_array_equal(found[:, :3], expected)
    np.testing.assert_array_equal(found[:, 3:6].argmax(axis=1), [1, 0, 1, 2])
    np.testing.assert_allclose(found[:, 6], [-1.224745, 0, 0, 1.224745], atol=1e-6)
    again = TextFeatures(features.columns)
    np.testing.assert_array_equal(again.transform(columns).toarray(), found)
    with pytest.raises(UserError, match="--text: empty vocabulary"):
        TextFeatures.fit([("words", ["", None])])
    constant = TextFeatures.fit([("numbers", [2.0, 2.0]), ("numbers", [np.nan] * 2)])
    new = constant.transform([[2.0, 3.0], [1.0, np.inf]]).toarray()
    np.testing.assert_array_equal(new, [[0, 1], [1, 0]])


def test_more_labels_and_rows_and_second_opinions_later(numbers, monkeypatch, capsys):
    table = numbers.read_text()
    argv = [numbers, "--target", "class", "--annotator"]
    assert label(monkeypatch, "1212q", *argv, "anna") == 0
    numbers.write_text(table + "\n3.5,77,red,8\n5.5,78,blue,\n")
    capsys.readouterr()
    assert label(monkeypatch, "3q", *argv, "anna", "--labels", "7,9,8") == 0
    assert "[1] 7  [2] 9  [3] 8" in capsys.readouterr().out
    assert label(monkeypatch, "1" * 9, *argv, "bert", "--repeat", ".9") == 0
    assert "already labeled: second opinion" in capsys.readouterr().out
    written = rows_of(numbers.with_name("numbers.labeled.csv"))
    assert len(written) == 62
    capsys.readouterr()
    assert main(["check", str(numbers.with_name("numbers.answers.jsonl"))]) == 0
    told = capsys.readouterr().out
    assert re.search(r"rows +62, \d+ with a label", told)
    assert re.search("classes +3: 7, 8, 9", told)
    assert "probability of 8" in written[0]
    lines = numbers.with_name("numbers.answers.jsonl").read_text().splitlines()[1:]
    changes = [json.loads(line) for line in lines if '"row"' not in line]
    assert [next(iter(change)) for change in changes] == ["pool", "classes", "settings"]
    numbers.write_text(table)
    assert label(monkeypatch, "q", *argv, "anna", "--labels", "7,9,8") == 1
    assert "it has 60 rows, expected 62" in capsys.readouterr().err


def test_labels_of_a_model_are_suggested(numbers, monkeypatch, capsys):
    lines = numbers.read_text().splitlines()
    guesses = ["7", "9", "", "no idea"] * 15
    table = [f"{lines[0]},llm"]
    table += [f"{line},{guess}" for line, guess in zip(lines[1:], guesses, strict=True)]
    numbers.write_text("\n".join(table))
    argv = [numbers, "--target", "class", "--suggest", "llm,llm"]
    argv += ["--random-share", ".8"]
    assert label(monkeypatch, "=1" * 12, *argv, "--budget", "15") == 0
    told = capsys.readouterr().out
    assert "15 suggestions of 'llm' are not one of the labels" in told
    assert "Suggested: 9 (llm)" in told
    assert re.search(r"\[=\] (7|9)  \[1\] 7  \[2\] 9", told)
    assert re.search(r"About \d+% of the labels in column 'llm' are wrong \(", told)
    written = rows_of(numbers.with_name("numbers.labeled.csv"))
    assert [line["llm"] for line in written] == guesses
    # it is not a feature
    assert main(["predict", str(numbers.with_name("numbers.model")), str(numbers)]) == 0
    features = load_model(numbers.with_name("numbers.model")).feature_names_in_
    assert features.tolist() == ["size", "kind", "color"]
    assert label(monkeypatch, "q", *argv[:3], "--suggest", "lm") == 1
    assert "--suggest 'lm' is not one of the columns" in capsys.readouterr().err


def test_texts_are_recognized(pool, monkeypatch, capsys):
    path, _ = pool
    argv = [path, "--labels", "ham,spam"]
    assert label(monkeypatch, ["1", "2", "?", "q"], *argv) == 0
    told = capsys.readouterr()
    note = "column 'message' has texts, whose words become features; --ignore message"
    assert note in told.err
    assert re.search(r"\nsender +(shop|work)\n", told.out)  # all columns are shown
    head = json.loads(path.with_name("pool.answers.jsonl").read_text().splitlines()[0])
    estimator = head["learner"]["with"]["estimator"]
    assert estimator["class"].endswith("LogisticRegression")
    predicted_again(path, path.with_name("pool.model"), capsys)
    # as before
    argv += ["--answers", path.with_name("new.jsonl"), "--ignore", "message"]
    assert label(monkeypatch, "12q", *argv) == 0
    assert "has texts" not in capsys.readouterr().err
    model = load_model(path.with_name("pool.model"))
    assert model.feature_names_in_.tolist() == ["sender"]


def test_pictures_need_features(tmp_path, monkeypatch, capsys):
    path = tmp_path / "birds.csv"
    lines = ["file,size"] + [f"bird {row}.JPG,{row % 7}" for row in range(40)]
    path.write_text("\n".join(lines))
    argv = [path, "--labels", "wren,robin"]
    assert label(monkeypatch, "12q", *argv) == 0
    told = capsys.readouterr().err
    assert "column 'file' has names of pictures" in told
    assert "compute an embedding of each picture" in told
    assert "--text" not in told
    assert label(monkeypatch, "q", *argv, "--ignore", "size") == 1
    told = capsys.readouterr().err
    assert "has no features. column 'file' has names of pictures" in told


def test_a_rare_class_is_looked_for(numbers, monkeypatch, capsys):
    argv = [numbers, "--target", "class", "--strategy", "most_likely"]
    journal = numbers.with_name("numbers.answers.jsonl")
    for pos_label, given in ((), 9), (("--pos-label", "7"), 7):
        assert label(monkeypatch, "12q", *argv, *pos_label) == 0
        head = json.loads(journal.read_text().splitlines()[0])
        assert head["learner"]["with"]["strategy"]["with"] == {"pos_label": given}
        journal.unlink()
    for wrong, message in (
        ([*argv, "--pos-label", "8"], "--pos-label '8' is not one of the labels 7, 9"),
        ([*argv, "--labels", "7,9,11"], "with 3 labels needs --pos-label"),
        (
            [*argv[:3], "--stop-recall", ".9", "--labels", "7,9,11"],
            "--stop-recall with",
        ),
        ([*argv, "--certify"], "--certify needs --stop-recall"),
    ):
        assert label(monkeypatch, "q", *wrong) == 1
        assert message in capsys.readouterr().err
        assert not journal.exists()


def test_the_recall_of_a_rare_class_is_certified(numbers, monkeypatch, capsys):
    argv = [numbers, "--target", "class", "--stop-recall", ".2", "--pos-label", "9"]
    argv += ["--strategy", "leaf_risk"]  # a tree is fast
    journal = numbers.with_name("numbers.answers.jsonl")
    assert label(monkeypatch, [*"1" * 20, "x", "y", "u", "%", *"1" * 40], *argv) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert re.search(r"19 labels, .*, 5 9 found \(recall about \d+%, at least ", told)
    assert "Discovery has ended: the query strategy finds few further rows." in told
    report = r"To certify a recall of 20%, label (\d+) of the 30 remaining rows,"
    assert 0 < int(re.search(report, told)[1]) < 30
    assert "rows, drawn at random; more if one of them is 9. Certify" in told
    asked = "Certify the recall? [y] yes [n] no [q] quit"
    assert told.count(asked) == 2  # again after another key
    assert "5 rows with label 9 found, among 29 labeled rows." in told  # by %
    assert "The stopping rule is reached" in told
    assert "Recall is at least 2" in told
    lines = list(map(json.loads, journal.read_text().splitlines()[1:]))
    assert sum("certify" in line for line in lines) == 1
    assert label(monkeypatch, "", *argv, "--certify") == 0  # or given in advance


def test_a_strategy_of_leaves_takes_a_tree(numbers, monkeypatch, capsys):
    argv = [numbers, "--target", "class", "--strategy", "leaf_risk"]
    argv += ["--show", "size", "--output", numbers.with_name("out.csv")]
    assert label(monkeypatch, ["s", "?", "1", "q"], *argv) == 0
    told = capsys.readouterr().out
    assert "The row is in leaf" in told
    assert "color" not in told
    assert numbers.with_name("out.csv").exists()


def test_reasons_name_columns_and_write_dates(tmp_path, monkeypatch, capsys):
    path = tmp_path / "loans.csv"
    lines = ["serial,opened,class"]
    for place in range(200):
        lines.append(f"{place % 3},{place % 28 + 1:02}.0{place // 28 + 1}.2024,")
        if place % 2:
            lines[-1] += "new" if place > 99 else "old"
    path.write_text("\n".join(lines))
    argv = [path, "--target", "class", "--strategy", "leaf_risk"]
    assert label(monkeypatch, ["?", "q"], *argv, "--dates", "dmy") == 0
    told = capsys.readouterr().out
    assert re.search(r"Conditions of the leaf: opened (<=|>) 2024-04-\d\d\.", told), (
        told
    )


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "at least two labels are needed, got none"),
        (["--labels", "a"], "at least two labels are needed"),
        (["--labels", "a,b", "--target", "class"], "has the label '9', which is not"),
        (["--labels", "a,b", "--text", "tekst"], "--text 'tekst' is not one of the"),
        (["--labels", "a,b", "--show", "siz"], "--show 'siz' is not one of the"),
        (["--labels", "a,b", "--ignore", "siz"], "Did you mean 'size'"),
        (["--labels", "a,b", "--output", "no/such/out.csv"], "no/such"),
        (["--labels", "a,b", "--images", "."], "--images needs --web"),
        (["--labels", "a,b", "--web", "--images", "no"], "'no' is not a folder"),
        (
            ["--labels", "a,b", "--ignore", "size,kind,color,class"],
            "has no features",
        ),
    ],
)
def test_errors_are_one_line(numbers, monkeypatch, capsys, argv, message):
    assert label(monkeypatch, "q", numbers, *argv) == 1
    told = capsys.readouterr().err.splitlines()
    assert message in told[-1]
    assert not numbers.with_name("numbers.answers.jsonl").exists()


def test_another_table_is_refused(numbers, monkeypatch, capsys):
    argv = [numbers, "--target", "class"]
    assert label(monkeypatch, ["1", "q"], *argv) == 0
    numbers.write_text(numbers.read_text().replace("0.5,", "1.5,"))
    assert label(monkeypatch, ["1", "q"], *argv) == 1
    assert "is not the pool of" in capsys.readouterr().err


@pytest.mark.slow
def test_a_check_that_is_killed_continues_with_the_same_journal(pool, terminal):
    path, labels = pool
    lines = path.read_text("utf-8").splitlines()
    suggested = ["llm", *labels]
    for row in range(1, 200, 12):
        suggested[row] = "ham"
    table = zip(lines, suggested, strict=True)
    path.write_text("\n".join(f"{line},{label}" for line, label in table), "utf-8")
    argv = ["label", path, "--labels", "ham,spam", "--text", "message"]
    argv += ["--suggest", "llm", "--max-error", ".1", "--answers"]

    def answer(name, n):
        one = terminal(*argv, path.with_name(name))
        while n and "Row" in (shown := one.question()):
            one.press(KEYS[labels[row_of(shown)]])
            n -= 1
        return one

    journals = []
    for name, parts in (("whole", [200]), ("killed", [1, 12, 7, 200])):
        for n in parts:
            one = answer(name, n)
            if n < 200:
                os.kill(one.run.pid, signal.SIGKILL)
                one.run.wait(60)
        one.read_until("20 more")
        assert one.run.wait(60) == 0
        with open(path.with_name(name), encoding="utf-8") as file:
            entries = [json.loads(line) for line in file]
        journals.append([{k: v for k, v in e.items() if k != "at"} for e in entries])
        written = rows_of(path.with_name("pool.labeled.csv"))
        journals[-1].append([line["label"] for line in written])
    assert len(journals[0]) > 30
    assert journals[0] == journals[1]


def test_labels_of_a_model_are_checked(numbers, monkeypatch, capsys):
    lines = numbers.read_text().splitlines()
    table = [
        f"{lines[0]},llm",
        *(f"{line},{'79'[i % 2]}" for i, line in enumerate(lines[1:])),
    ]
    numbers.write_text("\n".join(table))
    argv = [numbers, "--labels", "7,9", "--suggest", "llm", "--max-error", ".2"]
    # the person agrees with each suggestion
    assert label(monkeypatch, "12q", *argv) == 0
    told = capsys.readouterr().out
    assert "Suggested" not in told
    assert "[=]" not in told
    head = numbers.with_name("numbers.answers.jsonl").read_text().splitlines()[0]
    assert json.loads(head)["budget"] is None  # the check ends by its rule
    assert "60 rows have labels: 2 of the expert, 58 of 'llm'." in told
    written = rows_of(numbers.with_name("numbers.labeled.csv"))
    assert [line["labeled by"] for line in written].count("llm") == 58
    assert all(
        line["label"] == line["llm"] for line in written if line["labeled by"] == "llm"
    )
    assert label(monkeypatch, "q", *argv[:3], "--max-error", ".2") == 1
    assert "--max-error needs --suggest with one column" in capsys.readouterr().err
