"""The report of fit: sentences first, every section there, what it says is true."""

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest
from cli.people import write_people

from skconftree._cli import main
from skconftree._cli._report import _drifts, headline
from skconftree._cli._report_figures import (
    calibration,
    categories,
    confusion,
    numbers,
)

SECTIONS = [
    "Confusion matrix",
    "Feature importance",
    "Calibration",
    "The tree",
    "Rules",
    "Columns",
    "Cross-validation",
    "Notes on the data",
    "Settings and versions",
]
VOID = {"meta", "br", "input", "col"}


class Checked(HTMLParser):
    """A page whose elements are closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.scripts, self.links = [], 0, []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        self.links += [v for name, v in attributes if name in ("href", "src")]
        self.scripts += sum(name.startswith("on") for name, _ in attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if tag == "p" and self.open[-1] != "p":
            return
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    data, page = write_people(folder / "people.csv"), folder / "report.html"
    test = write_people(folder / "later.csv", seed=1)
    command = ["fit", data, "--target", "buys", "--report", page, "--folds", "5"]
    assert main([str(one) for one in [*command, "--test", test]]) == 0
    return page.read_text("utf-8")


def test_the_page_is_complete_and_self_contained(made):
    page = Checked(made)
    assert not page.scripts
    assert not page.links
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", made)
    for picture in re.findall(r"<svg.*?</svg>", made, re.DOTALL):
        ET.fromstring(picture)


def test_sections_come_in_their_order(made):
    found = re.findall(r"<h2>(.*?)</h2>", made)
    assert found == SECTIONS
    lead = re.search(r'<p class="lead">(.*?)</p>', made)[1]
    assert made.index(lead) < made.index("<h2>")
    assert re.match(r"Accuracy: \d+\.\d% of held-out rows \(standard error ", lead)
    assert " points over always predicting no." in lead
    assert re.search(
        r"Hardest class: \d+% of yes rows are predicted yes \(recall\)", lead
    )
    assert re.search(r"Tree: \d+ leaves, \d+ splits \(\d+ overwhelming", lead)
    assert " points over CART (standard error " in lead
    assert not re.search(r"\d %", made)


def test_values_are_quoted(made):
    assert "{&quot;10th&quot;, &quot;&lt;5th&quot;" in made


def test_hostile_names_stay_text(tmp_path):
    data, page = tmp_path / "t.csv", tmp_path / "t.html"
    rows = [f"{i},{'<script>no' if i < 60 else '</main>yes'}" for i in range(120)]
    data.write_text("<b>size</b>,<i>kind\n" + "\n".join(rows) + "\n")
    command = ["fit", data, "--target", "<i>kind", "--report", page, "--folds", "2"]
    assert main([*map(str, command), "--baselines", "none"]) == 0
    written = page.read_text("utf-8")
    Checked(written)
    assert "<script" not in written
    assert "<b>size" not in written
    assert written.count("</main>") == 1


def test_a_tree_of_one_leaf_has_a_report(tmp_path):
    data, page = tmp_path / "t.csv", tmp_path / "t.html"
    rng = np.random.default_rng(0)
    lines = [
        f"{x:.3f},{'ab'[k]}" for x, k in zip(rng.random(60), [0, 1] * 30, strict=True)
    ]
    data.write_text("x,y\n" + "\n".join(lines) + "\n")
    command = ["fit", data, "--target", "y", "--report", page, "--folds", "2"]
    assert main([*map(str, command), "--set", "min_samples_leaf=40"]) == 0
    written = page.read_text("utf-8")
    Checked(written)
    assert "single leaf" in written
    assert "Not used: x." in written


def test_groups_of_the_reliability_are_all_rows():
    rng = np.random.default_rng(0)
    sure = rng.choice([0.6, 0.7, 0.95], 500)
    right = rng.random(500) < sure
    groups = calibration(sure, right)
    assert sum(n for _, _, n in groups) == 500
    assert [round(one, 6) for one, _, _ in groups] == [0.6, 0.7, 0.95]
    for one, share, n in groups:
        mine = np.isclose(sure, one)
        assert n == mine.sum()
        assert share == pytest.approx(right[mine].mean())
    sure = rng.random(1000)
    groups = calibration(sure, sure > 0.5)
    assert len(groups) == 10
    assert {n for _, _, n in groups} == {100}
    assert calibration(np.array([0.5]), np.array([True])) == [(0.5, 1.0, 1)]


def test_bars_of_a_column_have_all_of_its_rows():
    values = np.array([0.0, 1.0, 1.0, 2.0, np.nan, 1000.0])
    codes = np.array([0, 1, 1, 0, 1, 0])
    picture = ET.fromstring(numbers(values, codes, 2, [1.5]))
    highs = [float(one.get("height")) for one in picture.iter("rect")]
    assert highs
    assert sum(one.get("class") == "cut" for one in picture.iter("line")) == 1
    ET.fromstring(numbers(np.full(3, np.nan), codes[:3], 2, []))
    ET.fromstring(numbers(np.ones(3), codes[:3], 2, [1.0]))


def test_the_confusion_has_every_count():
    figures = {
        "classes": ["a", "b"],
        "confusion": [[5, 1], [0, 0]],
        "recall": [5 / 6, float("nan")],
    }
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", confusion(figures))
    assert cells == ["5", "1", "83%", "0", "0", ""]
    figures["classes"] = list("abcdefghijklm")
    assert confusion(figures) == ""


def test_sentences_are_those_of_the_figures(capsys, tmp_path):
    data = write_people(tmp_path / "people.csv")
    command = [
        "fit",
        str(data),
        "--target",
        "buys",
        "--folds",
        "5",
        "--baselines",
        "none",
    ]
    assert main(command) == 0
    told = capsys.readouterr().out
    right = float(re.search(r"Accuracy: ([\d.]+)%", told)[1])
    assert re.search(rf"confidence tree +{right}%", told)
    share = float(re.search(r"majority class +([\d.]+)%", told)[1])
    better = float(re.search(r"([+-][\d.]+) points over always", told)[1])
    assert better == pytest.approx(right - share, abs=0.11)
    found = float(re.search(r"(\d+)% of yes rows are predicted yes", told)[1])
    recall = float(re.search(r"^yes +\d+ +([\d.]+)%", told, re.MULTILINE)[1])
    assert found == pytest.approx(recall, abs=0.51)


def test_the_parameters_are_printed_on_request(capsys, tmp_path):
    data = write_people(tmp_path / "people.csv")
    command = [
        "fit",
        str(data),
        "--target",
        "buys",
        "--folds",
        "2",
        "--baselines",
        "none",
    ]
    assert main(command) == 0
    assert "ConfidenceTreeClassifier(" not in capsys.readouterr().out
    assert main([*command, "--verbose"]) == 0
    assert "ConfidenceTreeClassifier(" in capsys.readouterr().out


def test_sentences_of_many_classes_and_of_no_gain():
    found = {"confidence tree": {"accuracy": [0.5, 0.5], "leaves": [1, 1]}}
    classes = {
        "classes": ["a", "b", "c"],
        "rows": [5, 3, 2],
        "recall": [1.0, 0.0, 0.0],
        "precision": [0.5, float("nan"), 0.1],
    }
    lines = headline(found, (0.5, 1.0, "a"), classes, [])
    assert lines[0].endswith(
        "(standard error 0.0), +0.0 points over always predicting a."
    )
    assert lines[2] == (
        "Hardest classes: 0% of b rows are predicted b (recall); no row is predicted "
        "b. 0% of c rows are predicted c (recall); 10% of rows predicted c are c "
        "(precision)."
    )


def test_what_is_too_much_for_a_page_is_counted():
    values = np.array([f"category {i}" for i in range(40)])
    shown = categories(values, np.zeros(40, dtype=int), 2)
    n_more = int(re.search(r"and (\d+) categories more", shown)[1])
    assert shown.count("category ") == 40 - n_more
    drifts = [(10 * i, 0) for i in range(103)]
    assert list(_drifts(drifts))[-1] == "<p class=soft>and 3 more</p>"
