"""Several people who label at once, each in a browser."""

import json
import threading

import pytest
from sklearn.naive_bayes import GaussianNB

from skconftree.active import ActiveLearner, LabelingSession, WebOracle
from skconftree.active.session import _session

from .test_web import Browser, X, open_session, y

NAMES = "anna", "Jörg Müller"


class Person(Browser):
    """Browser of a person with a name."""

    def __init__(self, page, name):
        super().__init__(page)
        self.name = name

    def ask(self, method, path, content=None, **headers):
        name = "".join(f"%{byte:02x}" for byte in self.name.encode())
        return super().ask(method, path, content, X_Annotator=name, **headers)

    def row(self):
        question = self.state()["question"]
        return None if question is None else question["row"]

    def answer(self, row):
        return self.act("answer", row=row, label=int(y[row]))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.jsonl"


def people(page):
    return [Person(page, name) for name in NAMES]


@pytest.mark.parametrize(
    "settings", [{}, {"random_share": 0.4, "repeat": 0.2}], ids=["plain", "shares"]
)
def test_two_people_label_different_rows_in_threads(path, settings):
    def label(person):
        barrier.wait()
        for _ in range(12):
            question = person.state()["question"]
            row = question["row"]
            with lock:
                shown.append((person.name, row))
                last.pop(person.name, None)
                # the second opinion may be on the row that the other has just labeled
                if not question["again"]:
                    last[person.name] = row
                assert len(set(last.values())) == len(last)
            statuses.append(person.answer(row)[0])

    shown, last, statuses = [], {}, []
    barrier, lock = threading.Barrier(2), threading.Lock()
    with open_session(path, **settings) as session, WebOracle(session) as page:
        threads = [
            threading.Thread(target=label, args=(person,)) for person in people(page)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [200] * 24
        history = session.learner.history_
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()[1:]]
    assert sorted((line["by"], line["row"]) for line in lines) == sorted(shown)
    new = [line["row"] for line in lines if not line.get("again")]
    assert len(new) == len(set(new))  # none has been labeled twice
    with LabelingSession.resume(path, X) as again:
        assert again.learner.history_ == history
        assert again.progress().n_answers == 24


def test_a_row_is_reserved_for_a_while(path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_session, "monotonic", lambda: now[0])
    with open_session(path) as session, WebOracle(session) as page:
        anna, bert = people(page)
        row = anna.row()
        for _ in range(5):
            other = bert.row()
            assert other != row == anna.row()
            assert bert.answer(other)[0] == 200
        assert anna.answer(other)[0] == 409  # bert's
        assert bert.answer(row)[0] == 409
        now[0] += 299.0
        assert bert.row() != row
        now[0] += 2.0
        bert.act("skip", row=bert.row())
        assert bert.answer(row)[0] == (200 if bert.row() == row else 409)
        now[0] += 301.0  # nobody else is shown the row of anna
        row = anna.row()
        assert anna.answer(row)[0] == 200
        row = anna.row()
        now[0] += 301.0
        session._reserved[NAMES[1]] = session._reserved["anna"][0], now[0]
        assert bert.row() == row
        assert anna.row() != row
        assert anna.answer(row)[0] == 409


def test_the_last_row_is_shown_to_one_person(path):
    learner = ActiveLearner(GaussianNB(), classes=["a", "b", "c"], random_state=0)
    with LabelingSession(learner, path, X[:1]) as session, WebOracle(session) as page:
        anna, bert = people(page)
        assert anna.row() == 0
        assert bert.state()["ended"].startswith("The last rows are shown to other")
        assert anna.act("skip", row=0)[0] == 200
        assert bert.state()["ended"].startswith("All rows are labeled or skipped.")


@pytest.mark.parametrize("batch_size", [1, 3])
def test_a_journal_of_two_people_has_the_same_queries(path, batch_size):
    with open_session(path) as session:
        session.learner.batch_size = batch_size
        with WebOracle(session) as page:
            anna, bert = people(page)
            late = anna.row()
            for _ in range(4):
                assert bert.answer(bert.row())[0] == 200
            assert anna.answer(late)[0] == 200
            for person in (anna, bert, bert, anna):
                assert person.answer(person.row())[0] == 200
        rows = [entry.row for entry in session._record.ledger.entries]
        batches = session._record.ledger.batches()
        assert late in rows[4:5]
    known = [answer.row for answer in session.learner.history_]
    assert known == [entry.row for batch in batches for entry, _ in batch] == rows
    assert max(map(len, batches)) <= batch_size


def test_people_withdraw_their_own_labels_and_leave_one_by_one(path):
    with open_session(path, annotator="nobody") as session, WebOracle(session) as page:
        anna, bert = people(page)
        own = anna.row()
        assert anna.answer(own)[0] == 200
        assert anna.row() is not None
        assert bert.answer(bert.row())[0] == 200
        listed = anna.state()["answers"]
        assert {item["annotator"] for item in listed} == set(NAMES)
        note = anna.act("undo")[1]["note"]
        assert note.startswith(f"Row {own}: label withdrawn. To label it again, ")
        known = [answer["label"] for answer in session.answers() if answer["label"]]
        assert len(known) == 1
        assert Person(page, "carla").act("undo")[0] == 409
        assert bert.act("undo")[0] == 200
        assert session.learner.n_labeled_ == 0
        assert bert.act("quit")[1] == {"quit": True}
        assert not page.wait(0)
        assert Person(page, "carla").act("quit")[1] == {"quit": True}
        assert not page.wait(0)
        assert anna.act("quit")[1] == {"quit": True}
        assert page.wait(30)
    assert session.annotator == "nobody"


def test_a_name_is_short(path):
    with open_session(path) as session, WebOracle(session) as page:
        reply, found = Person(page, "x" * 81).ask("GET", Browser(page).path + "state")
        assert reply.status == 400
        assert "more than 80 characters" in json.loads(found)["error"]
        assert Person(page, " x\n\u202ey ").state()["annotator"] == "x y"
