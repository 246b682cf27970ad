"""Prequential evaluation of trees: each row is predicted before it is learned."""

import dataclasses

import numpy as np
import pytest
from reference.effort import cases
from reference.registries import STREAM_BOUNDS, lax

from skconftree import ConfidenceTreeClassifier
from skconftree.evaluation import iter_prequential


def stream(n=600):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    y = np.where((X[:, 0] > 0) ^ (rng.random(n) < 0.1), "yes", "no")
    return X, y


@pytest.mark.parametrize("bound", cases(STREAM_BOUNDS, list(STREAM_BOUNDS)[::2]))
def test_chunks_change_nothing(bound):
    X, y = stream()

    def records(size):
        tree = ConfidenceTreeClassifier(lax(STREAM_BOUNDS[bound]()))
        for record in iter_prequential(tree, X, y, chunk_size=size, report_every=250):
            assert tree.n_rows_seen_ == record.n_rows
            yield dataclasses.replace(record, cpu_seconds=0.0)

    tree, right = ConfidenceTreeClassifier(lax(STREAM_BOUNDS[bound]())), []
    for row in range(len(y)):
        here = slice(row, row + 1)
        guess = tree.predict(X[here])[0] if row else "no"
        right.append(guess == y[row])
        tree.partial_fit(X[here], y[here], classes=["no", "yes"])
    whole = list(records(600))
    assert whole == list(records(7)) == list(records(1))
    assert whole[-1].accuracy == np.mean(right)
    assert whole[-1].n_leaves == tree.get_n_leaves() > 1
    assert whole[-1].n_bytes > 0


def test_a_bad_chunk_leaves_a_usable_tree():
    X, y = stream()
    X[333, 1] = np.inf
    tree = ConfidenceTreeClassifier()
    with pytest.raises(ValueError, match="infinity"):
        list(iter_prequential(tree, X, y, chunk_size=50))
    assert tree.n_rows_seen_ == 300
    *_, last = iter_prequential(tree, X[400:], y[400:], chunk_size=50)
    assert tree.n_rows_seen_ == 500
    assert last.n_tested == 200
