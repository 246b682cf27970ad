"""Recorded cases: a table, parameters, and calls after each of which a model is sound.

A case is a JSON file. `tests/corpus` holds those that once failed; a fuzz run adds one
by writing another. To replay one by itself, from the folder `tests`:

    python -P -m reference.replay corpus/NAME.json

Keys of a case:

about       what went wrong, in a sentence
table       {"X": rows, "y": labels} as they are (texts and null make an object table),
            {"stream": arguments of reference.streams.make_stream}, or
            {"seed", "n_rows", "columns", "labels"}, see `random_table`
sparse      true: X is a CSR array, and the tree that of the dense X
weight      one number for all rows, or a list
pool        true: the first rows without their labels are X_pool of the first call
parameters  of the estimator; bound and pruning may be {"name": ..., other parameters}
calls       names of methods, or [name, options]; see `CALLS`
raises      a pattern: the last call raises ValueError with such a message, and the
            model stays as it was
warns       a pattern: the calls warn with such a message
apart       true: in a process of its own, as it once ended the process
fuzz        {"seed", "theme"} in place of a table and calls: a sequence of `tests/fuzz`;
            write down what it did if the fuzz is to draw others
"""

import json
import pickle
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds._registry import BOUNDS
from skconftree.tree import export_text
from skconftree.tree.pruning._registry import PRUNINGS

from .streams import make_stream


def load(path):
    """Read a case."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def random_table(seed, n_rows, columns, labels):
    """Draw a table column by column.

    Parameters
    ----------
    columns : list
        ``"normal"``, ``"zero"``, ``"count"`` (0, 1, ...), ``["integers", low, high]``,
        ``["sparse", share]`` (others are 0) or ``["holes", share]``.
    labels : dict
        ``classes`` for random ones; ``of`` a column and ``modulo`` for its remainder,
        turned round from row ``flip_at`` on; ``noise`` is the share of random ones.
    """
    rng = np.random.default_rng(seed)

    def column(kind, *arguments):
        if kind == "zero":
            return np.zeros(n_rows)
        if kind == "count":
            return np.arange(float(n_rows))
        if kind == "integers":
            return rng.integers(*arguments, n_rows).astype(float)
        drawn = rng.normal(size=n_rows)
        if kind == "normal":
            return drawn
        kept = rng.random(n_rows) < arguments[0]
        return (
            np.where(kept, drawn, 0.0)
            if kind == "sparse"
            else (np.where(kept, np.nan, drawn))
        )

    X = np.column_stack([column(*([c] if isinstance(c, str) else c)) for c in columns])
    classes = labels.get("classes", 2)
    y = rng.integers(0, classes, n_rows)
    if "of" in labels:
        rule = np.nan_to_num(X[:, labels["of"]]).astype(int) % labels["modulo"]
        flip_at = labels.get("flip_at", n_rows)
        rule[flip_at:] = labels["modulo"] - 1 - rule[flip_at:]
        y = np.where(rng.random(n_rows) < labels.get("noise", 0.0), y, rule)
    return X.astype(np.float32), y


def make_table(case):
    """X, y, sample_weight and X_pool of a case."""
    spec = case["table"]
    weight = pool = None
    if "X" in spec:
        X, y = spec["X"], np.array(spec["y"])
        if any(isinstance(value, (str, list)) for row in X for value in row):
            table = np.empty((len(X), len(X[0])), dtype=object)
            for i, row in enumerate(X):
                for j, value in enumerate(row):
                    table[i, j] = tuple(value) if isinstance(value, list) else value
            X = table
        else:
            X = np.array(X, dtype=float)
    elif "stream" in spec:
        stream = make_stream(**spec["stream"])
        X, y, weight, pool = stream.X, stream.y, stream.weight, stream.X_pool
    else:
        X, y = random_table(**spec)
    if "weight" in case:
        weight = np.broadcast_to(np.array(case["weight"], dtype=float), len(y)).copy()
    if case.get("pool"):
        pool = X[: len(X) // 4].copy()
    return X, y, weight, pool


def make_model(case):
    """Return the estimator of a case."""
    parameters = dict(case.get("parameters", {}))
    for name, kinds in (("bound", BOUNDS), ("pruning", PRUNINGS)):
        if isinstance(parameters.get(name), dict):
            own = dict(parameters[name])
            parameters[name] = kinds[own.pop("name")](**own)
    if isinstance(parameters.get("class_weight"), dict):
        parameters["class_weight"] = {
            int(label): value for label, value in parameters["class_weight"].items()
        }
    return ConfidenceTreeClassifier(**parameters)


class Replay:
    """One case on its way."""

    def __init__(self, case):
        self.case = case
        self.X, self.y, self.weight, self.pool = make_table(case)
        self.rows = self.X
        if case.get("sparse"):
            self.rows = sparse.csr_array(self.X.astype(np.float32))
        self.model = make_model(case)

    def run(self):
        """Make all calls; raises AssertionError where the model is not sound."""
        calls = [[c] if isinstance(c, str) else c for c in self.case["calls"]]
        if "raises" in self.case:
            refused = calls.pop()
        for name, *options in calls:
            CALLS[name](self, **(options[0] if options else {}))
            self.check()
        if "raises" in self.case:
            self._refuse(*refused)

    def _refuse(self, name, options=None):
        before = pickle.dumps(vars(self.model))
        with pytest.raises(ValueError, match=self.case["raises"]):
            CALLS[name](self, **(options or {}))
        assert pickle.dumps(vars(self.model)) == before

    # -- calls ---------------------------------------------------------------------

    def fit(self, pool=True):
        options = {"X_pool": self.pool} if pool and self.pool is not None else {}
        self.model.fit(self.rows, self.y, self.weight, **options)
        if self.case.get("sparse"):
            dense = make_model(self.case).fit(self.X, self.y, self.weight, **options)
            assert pickle.dumps(dense.tree_) == pickle.dumps(self.model.tree_)
        self._compare_counts()

    def partial_fit(self, begin=0, end=None, chunk=None):
        end = len(self.y) if end is None else end
        for start in range(begin, end, chunk or max(end - begin, 1)):
            part = slice(start, min(start + (chunk or end), end))
            first = getattr(self.model, "_grower", None) is None
            self.model.partial_fit(
                self.rows[part],
                self.y[part],
                np.unique(self.y) if not hasattr(self.model, "tree_") else None,
                None if self.weight is None else self.weight[part],
                **({"X_pool": self.pool} if first and self.pool is not None else {}),
            )

    def pickle(self):
        self.model = pickle.loads(pickle.dumps(self.model))

    def predict(self, X=None):
        self._readable(self.model.predict, X)

    def explain(self, X=None):
        self._readable(self.model.explain, X)

    def decision_path(self, X=None):
        self._readable(self.model.decision_path, X)

    def export_text(self):
        assert export_text(self.model)

    def to_sklearn(self):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Some splits send missing values")
            copy = self.model.to_sklearn()
        np.testing.assert_array_equal(
            copy.predict_proba(self.X), self.model.predict_proba(self.X)
        )

    def _readable(self, method, X):
        rows = self.rows if X is None else np.array(X)
        answer = method(rows)
        n_rows = answer.shape[0] if hasattr(answer, "shape") else len(answer)
        assert n_rows == rows.shape[0]

    # -- soundness -----------------------------------------------------------------

    def _compare_counts(self):
        # The rows of a fit are in the leaves, and are found there again.
        model, tree = self.model, self.model.tree_
        weight = np.ones(len(self.y)) if self.weight is None else self.weight
        labels = np.searchsorted(model.classes_, self.y)
        expected = np.bincount(labels, weights=weight, minlength=len(model.classes_))
        if isinstance(model.class_weight, dict):
            expected[[model.class_weight.get(c, 1) == 0 for c in model.classes_]] = 0
        kind = model.sample_weight_kind
        if kind == "relative" or (kind == "auto" and (weight != weight.round()).any()):
            expected *= tree.counts[0].sum() / expected.sum()
        leaf = tree.feature < 0
        np.testing.assert_allclose(tree.counts[leaf].sum(axis=0), expected)
        np.testing.assert_allclose(tree.counts[0], expected)
        if model.pruning == "c45" or model.class_weight is not None:
            return  # a branch that was raised holds rows that others brought
        reached = np.zeros_like(tree.counts)
        np.add.at(reached, (model.apply(self.X), labels), weight)
        reached *= tree.counts[0].sum() / weight.sum()
        np.testing.assert_allclose(reached[leaf], tree.counts[leaf])

    def check(self):
        """Whether what the model says makes sense, and a copy says the same."""
        if not hasattr(self.model, "tree_"):
            return
        rows = self.rows[: min(len(self.y), 500)]
        probabilities = self.model.predict_proba(rows)
        assert np.isfinite(probabilities).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        limits = self.model.predict_proba_interval(rows)
        assert np.isfinite(limits).all()
        assert (limits[..., 0] <= limits[..., 1]).all()
        tree = self.model.tree_
        assert np.isfinite(tree.counts).all()
        again = pickle.loads(pickle.dumps(self.model))
        np.testing.assert_array_equal(again.predict_proba(rows), probabilities)


CALLS = {
    name: getattr(Replay, name)
    for name in (
        "fit",
        "partial_fit",
        "pickle",
        "predict",
        "explain",
        "decision_path",
        "export_text",
        "to_sklearn",
    )
}


def replay(case):
    """Replay a case, given as what its file holds."""
    if "fuzz" in case:
        from fuzz.run import run_one

        assert run_one(**case["fuzz"])["found"] is None
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Replay(case).run()
    messages = [str(warning.message) for warning in caught]
    if "warns" in case:
        assert any(re.search(case["warns"], message) for message in messages), messages
    else:
        assert not messages


if __name__ == "__main__":
    for name in sys.argv[1:]:
        replay(load(name))
