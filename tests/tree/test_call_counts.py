"""Number of Python functions of the package that a fit of few rows calls."""

import sys
from pathlib import Path

import numpy as np

import skconftree
from skconftree import ConfidenceTreeClassifier

MOST_CALLS = 100  # each takes a third of a microsecond, or more
PACKAGE = str(Path(skconftree.__file__).parent)


def test_a_second_fit_runs_few_functions():
    X = np.random.default_rng(0).normal(size=(100, 4))
    y = (X[:, 0] > 0).astype(int)
    tree = ConfidenceTreeClassifier().fit(X, y)  # what is made once is there
    calls = []

    def count(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            calls.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        tree.fit(X, y)
    finally:
        sys.setprofile(before)
    assert 50 < len(calls) <= MOST_CALLS, calls
