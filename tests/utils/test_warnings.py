"""Warnings name the line of the user, whatever is between it and the package."""

import warnings
from threading import Thread

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

X = np.arange(40.0).reshape(20, 2)
Y = np.repeat([0, 1], 10)
TREE = ConfidenceTreeClassifier("derosa", delta=0.01)  # delta has no effect
FOREST = ConfidenceForestClassifier(2, bound="derosa", delta=0.01, n_jobs=2)
CALLS = {
    "fit": lambda: TREE.fit(X, Y),
    "partial_fit": lambda: clone(TREE).partial_fit(X, Y, [0, 1]),
    "forest": lambda: FOREST.fit(X, Y),
    "pipeline": lambda: make_pipeline(StandardScaler(), TREE).fit(X, Y),
    "cross_val_score": lambda: cross_val_score(TREE, X, Y, cv=2),
    "bagging": lambda: BaggingClassifier(TREE, 2).fit(X, Y),
}


def lines_of(calls):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calls()
    assert caught
    return {(one.filename, one.lineno) for one in caught}


@pytest.mark.parametrize("name", CALLS)
def test_the_line_of_the_user(name):
    line = CALLS[name].__code__.co_firstlineno
    assert lines_of(CALLS[name]) == {(__file__, line)}


def test_a_decorator_of_the_user():
    def decorated(*given):
        return TREE.fit(*given)

    line = decorated.__code__.co_firstlineno + 1
    assert lines_of(lambda: decorated(X, Y)) == {(__file__, line)}


def test_threads():
    def in_thread(target):
        thread = Thread(target=target)
        thread.start()
        thread.join()

    line = CALLS["fit"].__code__.co_firstlineno
    assert lines_of(lambda: in_thread(CALLS["fit"])) == {(__file__, line)}
    # here the thread itself calls the package
    from_thread = Thread(target=TREE.fit, args=(X, Y))
    [(name, _)] = lines_of(lambda: (from_thread.start(), from_thread.join()))
    assert name.endswith("threading.py")
