"""A pool of texts, for a pipeline that makes numbers of them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from reference.effort import cases
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skconftree import ConfidenceTreeClassifier
from skconftree.active import ActiveLearner, ArrayOracle, LabelingSession
from skconftree.active.pool._context import Embedding

SPAM = "cheap offer win money now free click prize".split()
HAM = "meeting tomorrow report lunch project team budget plan".split()
REST = "the a of and to in is you that it".split()


@pytest.fixture(scope="module")
def messages():
    rng = np.random.default_rng(0)
    y = rng.choice(["ham", "spam"], 200)
    texts = [
        " ".join(rng.choice((SPAM if one == "spam" else HAM) + REST * 2, 12))
        for one in y
    ]
    return texts, y


def learner(strategy="auto", estimator=None):
    last = LogisticRegression() if estimator is None else estimator
    model = make_pipeline(TfidfVectorizer(), last)
    return ActiveLearner(model, strategy=strategy, random_state=0)


@pytest.mark.parametrize(
    "strategy",
    cases(
        ["auto", "random", "margin", "k_center", "diversity", "density"],
        ["margin"],
    ),
)
def test_strategies_query_texts(messages, strategy):
    texts, y = messages
    tables = [texts, np.array(texts, dtype=object)]
    tables += [pd.Series(texts, index=range(7, 207))]
    asked = []
    for X in tables:
        one = learner(strategy).fit(X).run(ArrayOracle(y), budget=15)
        asked.append([answer.row for answer in one.history_])
    assert all(rows == asked[0] for rows in asked)
    assert one.score(texts, y) > 0.75
    again = pickle.loads(pickle.dumps(one))
    assert again.query() == one.query()


def test_a_tree_queries_in_its_leaves(messages):
    texts, y = messages
    one = learner("leaf_risk", ConfidenceTreeClassifier(bound=None))
    one.fit(texts).run(ArrayOracle(y), budget=40)
    assert one.score(texts, y) > 0.8


def test_sessions_of_texts(messages, tmp_path):
    texts, y = messages
    path = tmp_path / "answers.jsonl"
    tree = ConfidenceTreeClassifier(bound=None)
    with LabelingSession(learner(estimator=tree), path, texts) as session:
        for _ in range(30):
            question = session.question()
            assert question.values == {"text": texts[question.row]}
            session.answer(y[question.row].item())
        told = session.why()[1]
        assert any(word in told for word in SPAM + HAM)
        question = session.question()
    with LabelingSession.resume(path, pd.Series(texts)) as session:
        assert session.question() == question


def test_texts_of_the_same_words_are_near(messages):
    texts, y = messages
    texts = [*texts, None, "", "?"]  # which have no words
    points = Embedding(np.array(texts, dtype=object))
    away = points.squared_distances(0)[: len(y)]
    same = y == y[0]
    assert away[same].mean() < away[~same].mean()
    frame = pd.DataFrame({"text": texts, "n": np.zeros(len(texts))})
    inside = Embedding(frame).squared_distances(0)[: len(y)]
    assert inside[same].mean() < inside[~same].mean()
    assert (Embedding(np.array(["?", "!"], dtype=object)).points == 0).all()


def test_a_few_long_categories_remain_categories():
    names = ["a town by the sea", "a town in the hills"] * 10
    points = Embedding(pd.DataFrame({"place": names})).points
    assert points.shape == (20, 2)
