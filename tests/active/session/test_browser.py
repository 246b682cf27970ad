"""The page of a session in a real Chromium."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from reference.browser import open_browser
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from skconftree.active import (
    ActiveLearner,
    LabelingSession,
    ModelEvaluator,
    MostLikelySampling,
    RecallAbove,
    RiskBelow,
    WebOracle,
)

pytest.importorskip("selenium.webdriver", reason="selenium is missing")
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

pytestmark = pytest.mark.slow

SCRIPT = Path(sys.executable).with_name("skconftree")
X, y = load_iris(return_X_y=True)
NAMES = ["setosa", "versicolor", "virginica"]


class Person:
    """Somebody in front of the page."""

    def __init__(self, driver):
        self.driver = driver

    def see(self, place):
        return self.driver.find_element(By.ID, place).text

    def wait(self, condition):
        WebDriverWait(self.driver, 60, 0.02).until(lambda _: condition())

    def open(self, url):
        self.driver.get(url)
        self.wait(lambda: self.see("title"))
        return self

    def row(self):
        return int(re.match(r"Row (\d+)", self.see("title"))[1])

    def press(self, key):
        """Press a key, and wait for what it does."""
        self.run("document.getElementById('note').textContent = ''")
        self.driver.find_element(By.TAG_NAME, "body").send_keys(key)
        self.wait(lambda: self.see("note"))

    def find(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def keys(self):
        """Keys of the labels that the page shows, with what is on their buttons."""
        shown = "[...document.querySelectorAll('#labels button')]"
        return self.run(f"return {shown}.map((one) => one.innerText)")

    def name(self, name):
        """Enter a name, and wait for the row that is shown to it."""
        self.driver.find_element(By.ID, "name").send_keys(name, Keys.ENTER)
        self.wait(lambda: self.run("return state.annotator") == name)

    def label(self, n):
        for _ in range(n):
            self.press(str(y[self.row()] + 1))

    def run(self, script):
        return self.driver.execute_script(script)

    def shape(self, width, height, scheme):
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [feature]}
        )


@pytest.fixture
def person(chromium):
    chromium.execute_cdp_cmd("Network.clearBrowserCookies", {})  # the name of a person
    return Person(chromium)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.jsonl"


def open_session(path, **settings):
    learner = ActiveLearner(GaussianNB(), classes=NAMES, random_state=0)
    return LabelingSession(learner, path, X, **settings)


def lines_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()[1:]]


def test_keys_label_undo_skip_relabel_and_quit(person, path):
    rule = RiskBelow(0.01, method="audit")
    given = {"budget": 14, "stop": rule}
    with open_session(path, **given) as session, WebOracle(session) as page:
        person.open(page.url).label(10)
        assert re.search(
            r"^10 of 14, .* error rate at most \d+%$", person.see("progress")
        )
        row = person.row()
        person.press(str((y[row] + 1) % 3 + 1))  # a slip
        assert f"Row {row}: {NAMES[(y[row] + 1) % 3]}." in person.see("note")
        person.press("u")
        assert person.row() == row
        person.press("?")
        assert "Nearest labeled rows" in person.see("note")
        person.press("s")
        assert person.row() != row
        # an earlier answer is relabeled; the later ones stay
        person.driver.find_element(By.TAG_NAME, "summary").click()
        other = session.answers()[6]["row"]
        place = By.CSS_SELECTOR, f"select[aria-label='label of row {other}']"
        Select(person.driver.find_element(*place)).select_by_index((y[other] + 2) % 3)
        person.wait(lambda: f"Row {other}: " in person.see("note"))
        told = {one["row"]: one["label"] for one in session.answers()}
        assert told.pop(row) is None
        assert told.pop(other) == NAMES[(y[other] + 2) % 3]
        assert told == {one: NAMES[y[one]] for one in told}
        assert len(told) == 9
        assert (
            len(lines_of(path)) == 14
        )  # 11 labels, one taken back, skipped, relabeled
        person.label(4)
        assert "The budget is used up" in person.see("title")
        assert not page.wait(0)
        person.driver.find_element(By.TAG_NAME, "body").send_keys("q")
        assert page.wait(60)
        person.wait(
            lambda: "can be closed" in person.run("return document.body.innerText")
        )
    loud = [one["message"] for one in person.driver.get_log("browser")]
    assert not [one for one in loud if "favicon" not in one]


def test_buttons_do_what_keys_do(person, path):
    with open_session(path) as session, WebOracle(session) as page:
        person.open(page.url)
        row = person.row()
        person.driver.find_elements(By.CSS_SELECTOR, "#labels button")[2].click()
        person.wait(lambda: session.progress().n_answers == 1)
        assert session.answers()[0]["label"] == NAMES[2]
        person.wait(lambda: person.row() != row)
        # what another window has answered is not answered again
        session.answer(NAMES[0])
        n_lines = len(lines_of(path))
        person.press("1")
        assert "Another page has changed a label" in person.see("note")
        assert len(lines_of(path)) == n_lines


def test_a_crash_loses_nothing(person, tmp_path):
    table = tmp_path / "iris.csv"
    np.savetxt(table, X, delimiter=",", header="a,b,c,d", comments="")
    argv = [SCRIPT, "label", table, "--labels", ",".join(NAMES), "--web"]
    seen = None
    for n in (0, 12, 24):
        command = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            url = re.search(r"http:\S+", command.stdout.readline())[0]
            person.open(url)
            assert person.see("progress").startswith(f"{n} of 50")
            assert seen in (None, person.row())
            person.label(12)
            seen = person.row()
            os.kill(command.pid, signal.SIGKILL)
            command.wait()
            person.press("1")
            assert "does not respond" in person.see("note")
        finally:
            command.kill()
            command.communicate()
    told = lines_of(tmp_path / "iris.answers.jsonl")
    assert len(told) == 36
    assert all(one["label"] == NAMES[y[one["row"]]] for one in told)


def test_a_suggestion_is_taken_by_one_key(person, path):
    """It is a guess: each label keeps its own key, and rows may have none."""
    guesses = [NAMES[(code + (row % 4 == 0)) % 3] for row, code in enumerate(y)]
    guesses = [None if row % 5 == 0 else one for row, one in enumerate(guesses)]
    with open_session(path, suggested={"llm": guesses}) as session:
        with WebOracle(session) as page:
            person.open(page.url)
            n_shown = 0
            for _ in range(20):
                row = person.row()
                own = [f"{k + 1} {name}" for k, name in enumerate(NAMES)]
                if guesses[row] is None:
                    assert person.keys() == own
                    assert "Suggested" not in person.see("row")
                    person.label(1)
                    continue
                n_shown += 1
                assert person.keys() == [f"= {guesses[row]}", *own]
                assert f"Suggested: {guesses[row]} (llm)" in person.see("row")
                if guesses[row] == NAMES[y[row]]:
                    person.press("=")
                else:
                    person.label(1)
                assert f"Row {row}: {NAMES[y[row]]}." in person.see("note")
    assert 10 < n_shown < 20
    told = lines_of(path)
    assert [one["label"] for one in told] == [NAMES[y[one["row"]]] for one in told]
    kept = [one.get("suggested") for one in told]
    assert kept == [
        None if guesses[one["row"]] is None else {"llm": guesses[one["row"]]}
        for one in told
    ]


@pytest.mark.parametrize("agree", [True, False])
def test_the_recall_is_shown_and_certified_on_request(person, path, agree):
    """The numbers come with the first row found, the price before it is paid."""
    learner = ActiveLearner(
        GaussianNB(),
        strategy=MostLikelySampling(NAMES[0]),
        classes=NAMES,
        random_state=0,
    )
    rule = RecallAbove(NAMES[0], recall=0.8, patience=5)
    rows = np.r_[:12, 50:98]  # 12 of 60
    with LabelingSession(learner, path, X[rows], stop=rule) as session:
        with WebOracle(session) as page:
            person.open(page.url)

            def label_all():
                while re.match(r"Row \d+", person.see("title")):
                    row = rows[person.row()]
                    person.press(str(y[row] + 1))
                    found = sum(y[rows[one["row"]]] == 0 for one in session.answers())
                    seen = person.see("progress")
                    assert f", {found} setosa found" in seen
                    assert ("recall" in seen) == (found > 0)

            label_all()
            assert not person.find("#bar")[0].is_displayed()  # there is no budget
            report = session.progress().recall
            assert f"(recall about {report.estimate:.0%}, at least " in person.see(
                "progress"
            )
            assert "Certify the recall?" in person.see("title")
            assert "To certify a recall of 80%, label " in person.see("title")
            assert person.keys() == ["y yes", "n no"]
            if not agree:
                person.driver.find_element(By.TAG_NAME, "body").send_keys("n")
                person.wait(lambda: person.keys() == [])
                assert "Quit to end the session" in person.see("title")
                assert lines_of(path)[-1]["certify"] is False
                return
            person.find("#labels button")[0].click()
            person.wait(lambda: person.see("title").startswith("Row "))
            label_all()
            assert "The stopping rule is reached" in person.see("title")
            assert session.progress().recall.lower_limit >= 0.8
    decisions = [one["certify"] for one in lines_of(path) if "certify" in one]
    assert decisions == [True]


def test_two_people_label_different_rows(person, path):
    """Each in a browser; a name is kept there, and each withdraws own labels only."""
    with open_session(path) as session, WebOracle(session) as page:
        with open_browser() as second:
            anna, bert = person.open(page.url), Person(second).open(page.url)
            anna.name("Anna")
            bert.name("Jörg M.")
            for _ in range(4):
                assert anna.row() != bert.row()
                row = anna.row()
                bert.label(2)  # and the row of Anna is not among them
                assert anna.row() == row
                anna.label(1)
                assert f"Row {row}: " in anna.see("note")
            # a row that another person is shown is refused, whoever asks for it
            row = bert.row()
            said = anna.run(
                f"return call('act', {{method: 'POST', body: JSON.stringify("
                f"{{do: 'answer', row: {row}, label: 0, seen: state.seen}}), headers: "
                "{'Content-Type': 'application/json'}}).then(String, String)"
            )
            assert f"Got row {row}." in said
            # who withdraws a label withdraws the last own one
            own = [one["row"] for one in lines_of(path) if one["by"] == "Jörg M."][-1]
            bert.press("u")
            assert f"Row {own}: label withdrawn. To label it" in bert.see("note")
            bert.find("summary")[0].click()
            choice = bert.find(f"select[aria-label='label of row {own}']")[0]
            assert Select(choice).first_selected_option.text == "no label"
            Select(choice).select_by_index(y[own])
            bert.wait(lambda: f"Row {own}: {NAMES[y[own]]}." in bert.see("note"))
            anna.open(page.url)  # the browser knows the name
            assert anna.run("return state.annotator") == "Anna"
            anna.find("summary")[0].click()
            assert "Jörg M." in anna.see("answers")
            assert "Anna" not in anna.see("answers")
            bert.driver.find_element(By.TAG_NAME, "body").send_keys("q")
            bert.wait(
                lambda: "can be closed" in bert.run("return document.body.innerText")
            )
            anna.label(1)  # goes on alone
            assert not page.wait(0)
    told = [one for one in lines_of(path) if one.get("label") is not None]
    assert {one["by"] for one in told} == {"Anna", "Jörg M."}
    assert all(one["label"] == NAMES[y[one["row"]]] for one in told)


def test_a_label_is_added(person, path):
    with open_session(path) as session, WebOracle(session) as page:
        person.open(page.url).label(2)
        row = person.row()
        # the dialog itself is the browser's, and another one in each
        for typed in (None, " ", " hybrid "):
            person.run(f"window.prompt = () => {json.dumps(typed)}")
            person.driver.find_element(By.TAG_NAME, "body").send_keys("+")
        person.wait(lambda: "New label: hybrid." in person.see("note"))
        assert person.keys()[-1] == "4 hybrid"
        assert person.row() == row
        person.press("4")
        assert f"Row {row}: hybrid." in person.see("note")
        assert lines_of(path)[-2]["classes"][-1] == "hybrid"
        assert session.answers()[0]["label"] == "hybrid"
        person.press("u")
        assert session.progress().n_answers == 2
        person.find("summary")[0].click()
        choices = Select(person.find("#answers select")[0]).options
        assert [one.text for one in choices] == [*NAMES, "hybrid", "no label"]


def test_an_evaluation_shows_no_prediction(person, path):
    """Who labels to judge a model must not see what it predicts."""
    model = GaussianNB().fit(X[::3], [NAMES[code] for code in y[::3]])
    learner = ModelEvaluator(model, random_state=0)
    pool = np.flatnonzero(np.arange(150) % 3)
    with LabelingSession(learner, path, X[pool], budget=12) as session:
        with WebOracle(session) as page:
            person.open(page.url)
            for n in range(12):
                assert person.see("progress") == f"{n} of 12"
                assert person.find("#bar")[0].get_property("value") == n
                assert "predicted" not in person.run("return document.body.innerText")
                person.press(str(y[pool[person.row()]] + 1))
            assert "The budget is used up" in person.see("title")
            assert str(learner.report()) in person.see("title")
            person.press("%")
            assert str(learner.report()) in person.see("note")
            person.press("u")
            assert person.see("progress") == "11 of 12"


HOSTILE = [
    "<script>document.title = 'bad'</script>",
    "<img src=x onerror=\"document.title='bad'\"><b>bold</b>",
    "javascript:document.title='bad'",
    "before\x1b[2J\x00\u202eafter",
    "</td></table><h1 id=title>bad",
    "long " * 20_000 + "x" * 20_000,
]


def test_values_are_texts(person, path):
    shown = {one[:40]: [one] * len(X) for one in HOSTILE}
    with open_session(path, shown=shown) as session, WebOracle(session) as page:
        person.open(page.url)
        cells = person.run(
            "return [...document.querySelectorAll('td')].map((one) => one.textContent)"
        )
        assert cells == [*HOSTILE[:3], "before[2Jafter", *HOSTILE[4:]]
        inside = "return document.querySelectorAll('#row :is(script, img, b, h1)')"
        assert person.run(inside) == []
        # nor do they run if they get there by a mistake of the page
        with pytest.raises(WebDriverException, match="TrustedHTML"):
            person.run("document.getElementById('row').innerHTML = '<b>bold</b>'")
        person.label(2)
        person.driver.find_element(By.TAG_NAME, "summary").click()
        assert "<script>" in person.see("answers")
        assert person.driver.title == "Labels"


def test_pictures_of_the_folder(person, path, tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for place in (folder / "in.png", tmp_path / "out.png"):
        matplotlib.image.imsave(place, np.full((20, 30, 3), 0.5))
    values = [
        "in.png",
        "../out.png",
        str(tmp_path / "out.png"),
        "http://127.0.0.1/x.png",
    ]
    shown = {f"c{k}": [one] * len(X) for k, one in enumerate(values)}
    with (
        open_session(path, shown=shown) as session,
        WebOracle(session, images=folder) as page,
    ):
        person.open(page.url)
        (picture,) = person.driver.find_elements(By.CSS_SELECTOR, "#row img")
        person.wait(lambda: picture.get_property("complete"))
        assert picture.get_property("naturalWidth") == 30
        for value in values[1:]:
            assert value in person.see("row")
        # an earlier answer keeps its picture, as a thumbnail
        row = person.row()
        person.label(1)
        person.driver.find_element(By.TAG_NAME, "summary").click()
        (small,) = person.find("#answers img")
        person.wait(lambda: small.get_property("complete"))
        assert small.get_attribute("src").endswith(f"picture/{row}/0")
        assert small.get_property("naturalWidth") == 30
        assert 0 < small.size["height"] <= 64
        for wrong, message in (
            ("picture/../../out.png", "Open the full address that was printed"),
            ("picture/0/%2e%2e%2fout.png", "This address does not exist"),
        ):
            person.driver.get(page.url + wrong)
            assert message in person.driver.page_source


@contextmanager
def other_origin(content):
    """A page that somebody else serves."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


ATTACK = """<!doctype html><title>tries</title><iframe src="URL"></iframe>
<form action="URLact" method="post" enctype="text/plain" target="nowhere">
<input name='SAID' value=''></form><iframe name="nowhere"></iframe>
<script>
const tries = [];
for (const mode of ["cors", "no-cors"])
  for (const type of ["application/json", "text/plain"])
    tries.push(fetch("URLact", {method: "POST", mode, body: 'SAID',
      headers: {"Content-Type": type}}).then((reply) => reply.type, String));
tries.push(fetch("URLstate").then((reply) => reply.text(), String));
document.forms[0].submit();
Promise.all(tries).then((found) => { window.found = found; document.title = "done"; });
</script>"""


def test_another_origin_cannot_answer_even_with_the_token(person, path):
    with open_session(path) as session, WebOracle(session) as page:
        row = person.open(page.url).row()
        seen = person.run("return state.seen")
        before = path.read_bytes()
        said = json.dumps({"do": "answer", "row": row, "label": 0, "seen": seen})
        attack = ATTACK.replace("URL", page.url).replace("SAID", said)
        with other_origin(attack) as url:
            person.driver.get(url)
            person.wait(lambda: person.driver.title == "done")
            found = person.run("return window.found")
            assert not [
                one for one in found if "Failed to fetch" not in one and one != "opaque"
            ]
            person.driver.switch_to.frame(0)  # is not shown there
            assert not person.driver.find_elements(By.ID, "row")
            person.driver.switch_to.default_content()
        assert path.read_bytes() == before
        # the same request is done if the page itself sends it
        person.open(page.url)
        person.run(
            "return fetch('act', {method: 'POST', headers: "
            f"{{'Content-Type': 'application/json'}}, body: '{said}'}})"
        )
        assert session.progress().n_answers == 1


def test_a_notebook_opens_the_page(person, path):
    with open_session(path) as session, WebOracle(session) as page:
        with other_origin(f"<!doctype html>{page._repr_html_()}") as notebook:
            person.driver.get(notebook)
            first = person.driver.current_window_handle
            person.driver.find_element(By.TAG_NAME, "a").click()
            person.wait(lambda: len(person.driver.window_handles) == 2)
            (other,) = {*person.driver.window_handles} - {first}
            person.driver.switch_to.window(other)
            try:
                person.wait(lambda: person.see("title"))
                person.label(3)
                assert person.run("return window.opener") is None
            finally:
                person.driver.close()
                person.driver.switch_to.window(first)
        assert session.progress().n_answers == 3


CONTRAST = """
const shine = (color) => color.match(/[\\d.]+/g).slice(0, 3).map((one) => one / 255)
  .map((one) => one <= .04045 ? one / 12.92 : ((one + .055) / 1.055) ** 2.4)
  .reduce((sum, one, place) => sum + one * [.2126, .7152, .0722][place], 0);
const behind = (one) => {
  const color = getComputedStyle(one).backgroundColor;
  return color === "rgba(0, 0, 0, 0)" ? behind(one.parentElement) : color;
};
return [...document.querySelectorAll(
  "#progress, h1, th, td p, button, kbd, #note, summary, li span, select"
)].map((one) => {
  const [dark, light] = [shine(getComputedStyle(one).color), shine(behind(one))]
    .sort((a, b) => a - b);
  return (light + .05) / (dark + .05);
});
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1200])
def test_legible_in_the_light_in_the_dark_and_on_a_phone(person, path, width, scheme):
    shown = {"message": ["many words " * 400] * len(X), "sender": ["x" * 90] * len(X)}
    with open_session(path, shown=shown) as session, WebOracle(session) as page:
        person.shape(width, 700, scheme)
        person.open(page.url).label(2)
        person.press("?")
        dark = person.run("return getComputedStyle(document.body).backgroundColor")
        assert (dark == "rgb(255, 255, 255)") == (scheme == "light")
        person.driver.find_element(By.TAG_NAME, "summary").click()
        ratios = person.run(CONTRAST)
        assert len(ratios) > 20
        assert min(ratios) >= 4.5  # WCAG 2, level AA
        person.run("scrollTo(0, 0)")
        assert person.run("return document.documentElement.scrollWidth") <= width
        # the keys are in sight, and large enough for a finger
        for one in person.driver.find_elements(By.TAG_NAME, "button"):
            shape = one.rect
            assert shape["y"] + shape["height"] <= 700
            assert shape["height"] >= 44
