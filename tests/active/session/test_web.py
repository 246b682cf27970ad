"""The page of a session, and those who must not get at it."""

import http.client
import json
import os
import socket
from urllib.parse import urlsplit

import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from skconftree.active import (
    ActiveLearner,
    LabelingSession,
    SuggestedErrorBelow,
    WebOracle,
)

X, y = load_iris(return_X_y=True)
PNG = b"\x89PNG\r\n\x1a\n"


def open_session(path, **settings):
    learner = ActiveLearner(GaussianNB(), classes=["a", "b", "c"], random_state=0)
    return LabelingSession(learner, path, X, **settings)


class Browser:
    """Asks as the page does, and otherwise if told so."""

    def __init__(self, page):
        found = urlsplit(page.url)
        self.host, self.path = found.netloc, found.path

    def ask(self, method, path, content=None, **headers):
        given = {"Host": self.host}
        if method == "POST":
            given |= {"Origin": f"http://{self.host}", "Content-Type": JSON}
        given |= {name.replace("_", "-"): one for name, one in headers.items()}
        line = http.client.HTTPConnection(self.host, timeout=30)
        line.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if content is not None:
            given.setdefault("Content-Length", str(len(content)))
        for name, one in given.items():
            if one is not None:
                line.putheader(name, one)
        line.endheaders(content)
        reply = line.getresponse()
        found = reply.read()
        line.close()
        return reply, found

    def state(self):
        reply, found = self.ask("GET", self.path + "state")
        assert reply.status == 200, found
        return json.loads(found)

    def act(self, do, **said):
        said = {"do": do, "seen": self.state()["seen"], **said}
        reply, found = self.ask("POST", self.path + "act", json.dumps(said).encode())
        return reply.status, json.loads(found)


JSON = "application/json"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.jsonl"


@pytest.fixture
def session_page(path):
    with open_session(path, budget=12) as session, WebOracle(session) as page:
        yield session, page, Browser(page)


def test_labels_are_in_the_journal_before_the_next_query(session_page, path):
    _, page, browser = session_page
    for n in range(12):
        state = browser.state()
        assert state["done"] == n
        row = state["question"]["row"]
        status, after = browser.act("answer", row=row, label=int(y[row]))
        assert status == 200
        told = json.loads(path.read_text("utf-8").splitlines()[-1])
        assert (told["row"], told["label"]) == (row, "abc"[y[row]])
    assert after["question"] is None
    assert "budget" in after["ended"]
    assert "No row was drawn at random" in after["ended"]
    assert browser.state()["ended"] == after["ended"]
    assert not page.wait(0)
    assert browser.act("undo")[1]["question"]["row"] == row
    other = after["answers"][5]
    _, relabeled = browser.act("relabel", row=other["row"], label=None)
    assert {one["row"]: one["label"] for one in relabeled["answers"]}[
        other["row"]
    ] is None
    assert browser.act("why")[1]["note"]
    assert "No row was drawn" in browser.act("error rate")[1]["note"]
    added = browser.act("new label", label=" d ")[1]
    assert added["note"] == "New label: d."
    assert added["labels"] == ["a", "b", "c", "d"]
    assert browser.act("new label", label="d")[0] == 409
    assert browser.act("new label", label=4)[0] == 400
    assert browser.act("new label", label=" ")[0] == 409
    row = browser.state()["question"]["row"]
    assert browser.act("skip", row=row)[1]["question"]["row"] != row
    assert browser.act("quit")[1]["quit"]
    assert page.wait(30)


def test_suggestions_are_on_the_page(path):
    suggested = ["b", None, "?"] * 50
    with open_session(path, suggested={"llm": suggested}) as session:
        with WebOracle(session) as page:
            browser = Browser(page)
            for _ in range(9):
                question = browser.state()["question"]
                expected = None
                if question["row"] % 3 == 0:
                    expected = {"text": "Suggested: b (llm)", "label": 1}
                assert question["suggested"] == expected
                browser.act("answer", row=question["row"], label=0)
        assert "50 suggestions of 'llm' are not one of the labels" in session.notes[0]


def test_checked_suggestions_are_not_on_the_page(path):
    """The person labels rows until the limit of the others is low enough."""
    settings = {"stop": SuggestedErrorBelow(0.2), "suggested": {"llm": ["a"] * 150}}
    with open_session(path, **settings) as session, WebOracle(session) as page:
        browser = Browser(page)
        while (state := browser.state())["question"] is not None:
            assert state["question"]["suggested"] is None
            browser.act("answer", row=state["question"]["row"], label=0)
        assert "The stopping rule is reached" in state["ended"]
        delivered = session.delivered_labels()
    assert 5 < delivered.n_checked == state["done"] < 60
    assert delivered.error_limit <= 0.2


def test_what_another_page_has_answered_is_not_answered_again(session_page):
    _, _, browser = session_page
    state = browser.state()
    row = state["question"]["row"]
    assert browser.act("answer", row=row, label=0)[0] == 200
    status, told = browser.act("answer", row=row, label=1, seen=state["seen"])
    assert (status, browser.state()["done"]) == (409, 1)
    assert "Another page" in told["error"]
    assert browser.act("answer", row=row, label=1)[0] == 409


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (403, {"Origin": "http://evil.example"}),
        (403, {"Origin": "null"}),
        (403, {"Origin": None}),
        (403, {"Host": "evil.example"}),
        (403, {"Host": None}),
        (403, {"Sec_Fetch_Site": "cross-site"}),
        (415, {"Content_Type": "text/plain"}),
        (413, {"Content_Length": "5000"}),
        (411, {"Content_Length": "-1"}),
        (411, {"Transfer_Encoding": "chunked"}),
    ],
)
def test_others_cannot_answer(session_page, status, headers):
    _, _, browser = session_page
    state = browser.state()
    said = {"do": "answer", "seen": state["seen"], "label": 0}
    content = json.dumps(said | {"row": state["question"]["row"]}).encode()
    reply, _ = browser.ask("POST", browser.path + "act", content, **headers)
    assert reply.status == status
    assert browser.state() == state
    assert browser.ask("POST", browser.path + "act", content)[0].status == 200


def test_nothing_without_the_token(session_page):
    _, _, browser = session_page
    for path in (
        "/",
        "/state",
        "//state",
        "/guess/state",
        browser.path[:-2] + "/",
        "*",
    ):
        reply, content = browser.ask("GET", path)
        assert reply.status == 404
        assert b"Open the full address that was printed." in content
    assert browser.ask("POST", "/guess/act", b"{}")[0].status == 404
    assert browser.ask("POST", browser.path + "other", b"{}")[0].status == 404
    reply, content = browser.ask("GET", browser.path, Host="evil.example:80")
    assert reply.status == 403
    assert b"host and port of the printed address. Got 'evil.example:80'" in content
    assert browser.ask("OPTIONS", browser.path + "act")[0].status == 501


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"[" * 4000, b"\xff", b'{"do": []}', b'{"do": "close"}'],
)
def test_what_is_no_act(session_page, content):
    _, _, browser = session_page
    reply, found = browser.ask("POST", browser.path + "act", content)
    assert reply.status == 400, found


@pytest.mark.parametrize("label", [-1, 3, True, "a", None, 0.0])
def test_what_is_no_label(session_page, label):
    _, _, browser = session_page
    row = browser.state()["question"]["row"]
    assert browser.act("answer", row=row, label=label)[0] == 400
    assert browser.act("answer", row=str(row), label=0)[0] == 400


def test_headers_shut_the_page(session_page):
    _, _, browser = session_page
    for path in ("", "state", "nothing"):
        reply, _ = browser.ask("GET", browser.path + path)
        policy = reply.getheader("Content-Security-Policy")
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert reply.getheader("Referrer-Policy") == "no-referrer"
        assert reply.getheader("X-Content-Type-Options") == "nosniff"
        assert reply.getheader("Access-Control-Allow-Origin") is None


def test_pictures_come_from_their_folder_only(tmp_path, path):
    inside, outside = tmp_path / "in", tmp_path / "in of others"
    inside.mkdir()
    outside.mkdir()
    for folder in (inside, outside):
        (folder / "one.png").write_bytes(PNG)
    (inside / "text.txt").write_text("secret")
    (inside / "link.png").symlink_to(outside / "one.png")
    (inside / "text.png").symlink_to(inside / "text.txt")
    (inside / "up").symlink_to(outside)
    os.mkfifo(inside / "pipe.png")
    (inside / "folder.png").mkdir()
    values = [
        "one.png",
        "./up/../one.png",
        "../in of others/one.png",
        str(outside / "one.png"),
        "link.png",
        "text.png",
        "text.txt",
        "up/one.png",
        "pipe.png",
        "folder.png",
        "one.png\0.png",
        "http://evil.example/one.png",
        "",
    ]
    shown = {f"c{k}": [one] * len(X) for k, one in enumerate(values)}
    with (
        open_session(path, shown=shown) as session,
        WebOracle(session, images=inside) as page,
    ):
        browser = Browser(page)
        question = browser.state()["question"]
        row = question["row"]
        pictures = [one["picture"] for one in question["values"]]
        assert pictures == [True, *[False] * (len(values) - 1)]
        for place in range(len(values) + 1):
            reply, found = browser.ask("GET", f"{browser.path}picture/{row}/{place}")
            assert reply.status == (200 if place == 0 else 404)
            assert (found == PNG) == (place == 0)
        for wrong in (f"{row + 1}/0", f"{row}/../../text.txt", f"{row}/%2e%2e"):
            assert browser.ask("GET", f"{browser.path}picture/{wrong}")[0].status == 404
        # an earlier answer keeps its picture, as a thumbnail
        state = browser.act("answer", row=row, label=0)[1]
        assert state["answers"][0]["picture"] == 0
        reply, found = browser.ask("GET", f"{browser.path}picture/{row}/0")
        assert (reply.status, found) == (200, PNG)
        assert browser.ask("GET", f"{browser.path}picture/{row}/3")[0].status == 404
        other = {row, state["question"]["row"]}
        unseen = next(one for one in range(len(X)) if one not in other)
        reply, _ = browser.ask("GET", f"{browser.path}picture/{unseen}/0")
        assert reply.status == 404


def test_signs_that_hide_are_left_out(path):
    shown = {"text": ["<b>\u202ebold\x1b[2J</b>"] * len(X)}
    with open_session(path, shown=shown) as session, WebOracle(session) as page:
        (value,) = Browser(page).state()["question"]["values"]
    assert value["text"] == "<b>bold[2J</b>"


def test_a_closed_page_is_gone_and_the_session_goes_on(path):
    with open_session(path) as session:
        with WebOracle(session) as page:
            assert f'href="{page.url}"' in page._repr_html_()
            browser = Browser(page)
            row = browser.state()["question"]["row"]
            browser.act("answer", row=row, label=0)
        assert page.wait()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(browser.host.split(":"), timeout=5)
        assert session.answers()[0]["row"] == row


def test_what_cannot_be_shown(path, tmp_path):
    with open_session(path) as session:
        with pytest.raises(ValueError, match="show must contain names of columns"):
            WebOracle(session, show=["nothing"])
        with pytest.raises(ValueError, match="images must be a folder"):
            WebOracle(session, images=tmp_path / "nothing")
