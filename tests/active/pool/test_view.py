"""What sessions and recorders see of a learner, and that they see nothing else."""

import ast
from functools import wraps
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

import skconftree
from skconftree.active import ActiveLearner
from skconftree.active.pool import SamplingStrategy
from skconftree.active.pool._recorded import LearnerView

X, y = load_iris(return_X_y=True)
SOURCE = Path(skconftree.__file__).parent


def taught(n=6, **settings):
    known = np.where(np.arange(150) % 50 == 0, y, -1)
    learner = ActiveLearner(
        GaussianNB(), missing_label=-1, batch_size=3, random_state=0, **settings
    )
    learner.fit(X, known)
    for _ in range(0, n, 3):
        rows = learner.query()
        learner.teach(rows, y[rows])
    return learner


def private_names(text, owners):
    """Private attributes of what is called by one of these names, and their lines."""
    if not any(f"{owner}._" in text for owner in owners):
        return  # most files, which need not be parsed
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            value = node.value
            name = getattr(value, "attr", getattr(value, "id", None))
            if name in owners and not node.attr.startswith("__"):
                yield f"{node.lineno}: {name}.{node.attr}"


@pytest.mark.parametrize(
    ("owners", "room"), [({"learner"}, "pool"), ({"session"}, "session")]
)
def test_private_names_are_read_at_home_only(owners, room):
    wrong = [
        f"{path.relative_to(SOURCE)}:{one}"
        for path in SOURCE.rglob("*.py")
        if path.parent.name not in {room, "stream"} or "active" not in path.parts
        for one in private_names(path.read_text("utf-8"), owners)
    ]
    assert wrong == []


def test_the_checker_sees_what_it_is_to_see():
    text = "x = self.learner._codes\nlearner._pool.X\nlearner.query()\nlearner.__dict__"
    assert [*private_names(text, {"learner"})] == [
        "1: learner._codes",
        "2: learner._pool",
    ]


def test_a_view_says_what_the_learner_knows():
    learner = taught()
    view = LearnerView(learner)
    assert view.X is X
    assert view.n_rows == 150
    assert view.model is learner.estimator_
    assert view.start.rows.tolist() == [0, 50, 100]
    assert [batch.rows.tolist() for batch in view.answers] == [
        [one.row for one in learner.history_[:3]],
        [one.row for one in learner.history_[3:]],
    ]
    assert view.labeled.tolist() == [0, 50, 100] + [one.row for one in learner.history_]
    assert (view.codes == learner.y_).all()
    assert view.description["with"]["random_state"] == 0
    nothing = ActiveLearner(GaussianNB()).fit(X)
    assert LearnerView(nothing).model is None


def test_values_of_a_view_do_not_change_the_learner():
    learner = taught()
    view, codes = LearnerView(learner), LearnerView(learner).codes
    view.codes[:] = 9
    view.labeled[:] = 9
    view.answers.clear()
    assert (view.codes == codes).all()
    assert len(view.answers) == 2
    assert learner.n_labeled_ == 9


def test_other_learners_have_more_or_fewer_answers():
    learner = taught(9)
    view = LearnerView(learner)
    rows = learner.query()
    before, after = view.before(3), view.with_answers(rows, y[rows].tolist(), None)
    for other, expected in ((before, taught(6)), (after, taught(12)), (view, None)):
        if expected is not None:
            assert (other.predict_proba(X) == expected.predict_proba(X)).all()
            assert other.y_.tolist() == expected.y_.tolist()
    assert learner.n_labeled_ == 12
    told = [(batch.rows, batch.labels.tolist(), None) for batch in view.answers[:1]]
    view.replace_answers(told, view.seed)
    assert (learner.predict_proba(X) == taught(3).predict_proba(X)).all()


def test_a_view_completes_an_interrupted_update():
    learner = taught()
    expected = learner.y_
    learner._interrupted = True
    learner._codes[:] = -1
    assert (LearnerView(learner).codes == expected).all()


class Writes(SamplingStrategy):
    """A strategy that changes what it is shown."""

    needs = ()

    def __init__(self, name="codes"):
        self.name = name

    def score(self, context):
        getattr(context, self.name)[:] = 0
        return np.zeros(context.n_candidates)


@pytest.mark.parametrize("name", ["codes", "classes"])
def test_a_strategy_cannot_change_the_labels(name):
    learner = taught().set_params(strategy=Writes(name))
    learner.fit(X, np.where(np.arange(150) % 10 == 0, y, -1))
    expected = learner.y_
    with pytest.raises(ValueError, match="read-only"):
        learner.query()
    assert (learner.y_ == expected).all()


class Mine(ActiveLearner):
    """A learner that notes that its constructor was called."""

    def __init__(self, estimator, *, random_state=None):
        super().__init__(estimator, random_state=random_state)
        self.was_made = True


def test_no_learner_is_made_without_its_constructor(monkeypatch):
    made = []
    init = Mine.__init__

    @wraps(init)
    def counted(self, *args, **kwargs):
        made.append(self)
        init(self, *args, **kwargs)

    monkeypatch.setattr(Mine, "__init__", counted)
    learner = Mine(GaussianNB(), random_state=0).fit(X, np.where(y == 0, y, None))
    other = LearnerView(learner).with_answers([70], [1], None)
    assert type(other) is Mine
    assert any(one is other for one in made)
