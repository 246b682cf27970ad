"""Model of the start of a stream: an incremental tree, and a tree refitted to all rows.

The early rows, the first ones of a stream, are stored (`refit_rows`). A single pass
over them gives a worse tree than `fit` if the incremental tree splits late, and a
better one if naive Bayes in its large leaves predicts well. There are therefore two
trees: the incremental tree, which learns each row, and a fitted tree, which is refitted
to the stored rows at increasing numbers of rows. Predictions are those of the tree that
has predicted more of the recent rows correctly, each before it was learned.

A grower (stream/_grower.pyx) trains the incremental tree, from a recipe with its
arguments (stream/_state.py). A *schema* has the names, types and categories of the
columns. *Look-ahead* chooses a split by the subtrees that can be grown below it.
`X_pool` are unlabeled rows, and `honest_counts` are class counts of held-out rows. A
`call` has the validated arguments of `partial_fit`, and a *state* is the data in a
pickle. Rows are `finite` if they have no NaN.
"""

from bisect import bisect_left, bisect_right
from numbers import Integral
from types import SimpleNamespace
from typing import NamedTuple
from weakref import ref

import numpy as np
from sklearn.base import clone

from .._compat import InvalidParameterError
from ..drift import LocalRepair  # replaces subtrees after a drift
from ..tables._growth_data import rows_with_weight
from ..tables._row_hashes import Rows
from ..utils._codec import (
    NO_DEFAULT,
    canonical,
    check_state_parts,
    is_array,
    merge_defaults,
)
from ..utils._lock import Lockable, share_lock  # lock the estimator
from ..utils._warnings import warn
from ._growth import TrainingTable, TreeGrowth
from ._model import DISCARDED, TreeModel  # a warning that `honest_counts` are discarded
from ._parameters import CONSTRAINTS, resolve_lookahead
from .stream._resize import resized_model

AUTO_ROWS, AUTO_BYTES = 2500, 2**22  # limits of refit_rows="auto"
# Number of rows of the first refit, and factor between the numbers of rows of refits.
FIRST_REFIT, FACTOR = 50, 1.25
# Refits with more rows, except the last one, omit look-ahead.
MAX_LOOKAHEAD_ROWS = 800
DECAY = 0.998  # factor per row of the numbers of correct predictions
SHARED = ("schema", "classes")  # parts of a state that both trees have in common
# Attributes that are those of the incremental tree, even while the fitted tree is used.
OF_INCREMENTAL = ("weight_seen", "n_drifts", "drifts")
# Parts of the state of a model with early rows.
PARTS = "refit_rows parameters X y weight fitted refitted_at comparison".split()
# Parameters that have been resolved before a refit.
RESOLVED = {"categorical_features": "from_dtype", "class_weight": None}


def early_rows(estimator, schema, X_pool):
    """Resolve `refit_rows` to a number of rows."""
    n_rows, drift = estimator.refit_rows, estimator.drift
    is_limited = X_pool is not None or estimator.max_bytes is not None
    if n_rows != "auto":
        if n_rows and is_limited:
            cause = "max_bytes" if X_pool is None else "an X_pool"
            raise InvalidParameterError(
                f"The 'refit_rows' parameter of {type(estimator).__name__} must be "
                f"'auto' or 0 with {cause}. Got {n_rows!r} instead."
            )
        return int(n_rows)
    if (
        is_limited
        or estimator.bound != "gtest"
        or estimator.delta is not None
        or not estimator.grace_period == estimator.leaf_memory == "auto"
        or not (drift is None or drift == "local" or isinstance(drift, LocalRepair))
    ):
        return 0
    n_rows = min(AUTO_ROWS, AUTO_BYTES // (4 * schema.n_features))
    return n_rows if n_rows >= FIRST_REFIT else 0


def start_early(estimator, model, call):
    """Add early rows to the `model` of a new stream, unless `refit_rows` is 0."""
    schema = call.rows.schema
    n_rows = early_rows(estimator, schema, call.X_pool)
    if n_rows == 0:
        return model
    parameters = clone(estimator).get_params(deep=False)
    parameters = {name: parameters[name] for name in CONSTRAINTS} | RESOLVED
    recipe, seed = model.grower.recipe, estimator.random_state
    seed = seed if isinstance(seed, Integral) else recipe.seed
    parameters["random_state"] = int(seed)
    if recipe.settings.random_cuts:  # splitter="random"
        parameters["max_bins"] = None  # it has no effect in `fit`, with a warning
    # meaning of "auto" with the bound, and the pruning, in `fit`
    *_, defaults, pruning = TreeGrowth.of(estimator)
    settings = recipe.settings
    try:  # any size of the table: only the conditions of look-ahead are checked
        resolve_lookahead(
            estimator, defaults, pruning, settings, schema, total=1.0, n_rows=1
        )
    except InvalidParameterError:  # `fit` raises it
        parameters["lookahead"] = 0
    return EarlyModel(model, parameters, n_rows, owner=estimator)


class Comparison(NamedTuple):
    """Comparison of the two trees after `n_rows` rows.

    `incremental` and `fitted` are the decayed numbers of correct predictions of both
    trees since the first refit. The tree in use has been the same since `since` rows.
    """

    n_rows: int = 0
    incremental: float = 0.0
    fitted: float = 0.0
    uses_fitted: bool = False
    since: int = 0

    def after(self, labels, incremental, fitted):
        """Return the comparison after further rows, and `uses_fitted` before each row.

        `incremental` and `fitted` are the classes that the trees predicted. Each row is
        one step, so that sums do not depend on the division into calls.
        """
        n_rows, n_incremental, n_fitted, uses_fitted, since = self
        used_fitted = []
        for label, by_incremental, by_fitted in zip(
            labels, incremental, fitted, strict=True
        ):
            used_fitted.append(uses_fitted)
            n_incremental = DECAY * n_incremental + (by_incremental == label)
            n_fitted = DECAY * n_fitted + (by_fitted == label)
            n_rows += 1
            if (n_fitted > n_incremental) != uses_fitted:
                uses_fitted, since = not uses_fitted, n_rows
        comparison = Comparison(n_rows, n_incremental, n_fitted, uses_fitted, since)
        return comparison, used_fitted


class StoredRows(NamedTuple):
    """Arrays with capacity for rows, labels, weights, and predictions of both trees."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    incremental: np.ndarray
    fitted: np.ndarray

    @classmethod
    def empty(cls, capacity, n_features):
        """Make arrays for `capacity` rows."""
        X = np.empty((capacity, n_features), np.float32)
        dtypes = np.uint16, np.float64, np.intp, np.intp
        return cls(X, *(np.empty(capacity, dtype) for dtype in dtypes))

    def with_capacity(self, n_rows, capacity):
        """Copy the first rows to larger arrays."""
        larger = StoredRows.empty(capacity, self.X.shape[1])
        for old, new in zip(self, larger, strict=True):
            new[:n_rows] = old[:n_rows]
        return larger


class EarlyModel(Lockable):
    """Model of a stream while its rows are stored: two trees, one of which is used.

    Attributes that are not defined here are those of the used tree. The predictions of
    both trees are stored before a row is learned, and compared later, so that the model
    is consistent if learning is interrupted: its number of rows is that of the
    incremental tree. After `refit_rows` rows the used tree replaces this model in its
    `owner`, the estimator.
    """

    grows = True  # whether the model learns row by row

    def __init__(self, incremental, parameters, refit_rows, *, owner):
        self.incremental, self.parameters = incremental, parameters
        self.refit_rows = refit_rows
        self.classes, self.class_weight = incremental.classes, incremental.class_weight
        points = [FIRST_REFIT]
        while points[-1] < refit_rows:
            points.append(int(FACTOR * points[-1]) + 1)
        # numbers of rows at which later refits are due; empty once one tree is left
        self._points = [*points[: bisect_left(points, refit_rows)], refit_rows]
        self.fitted, self._refitted_at = None, 0
        self._comparison = Comparison()
        self._rows = StoredRows.empty(0, incremental.schema.n_features)
        self._owner = ref(owner)
        share_lock(self, owner)

    def __getattr__(self, name):
        return getattr(self.incremental if name in OF_INCREMENTAL else self.used, name)

    @property
    def used(self):
        """The tree with more correct predictions."""
        return self.fitted if self.comparison.uses_fitted else self.incremental

    @property
    def schema(self):
        """The schema, which is that of both trees."""
        return self.incremental.schema

    @property
    def n_rows_seen(self):
        """Number of rows learned."""
        # n_rows_before: rows from which the tree was grown by `fit`
        return self.incremental.grower.n_rows_seen + self.incremental.n_rows_before

    @property
    def n_bytes(self):
        """Bytes of both trees, and of the rows."""
        n_bytes = sum(array[:1].nbytes for array in self._rows) * self.n_rows_seen
        trees = self.incremental, self.fitted
        return n_bytes + sum(tree.n_bytes for tree in trees if tree is not None)

    @property
    def comparison(self):
        """The `Comparison` after the rows learned."""
        # not stored, because another thread may be training the model
        comparison = self._comparison
        if comparison.n_rows < self.n_rows_seen:
            comparison, _ = self._compared()
        return comparison

    def _compared(self):
        # The comparison after all learned rows, and for each row that was added to it
        # whether the fitted tree was used to predict the row.
        before, end = self._comparison, self.n_rows_seen
        if self.fitted is None:
            return before._replace(n_rows=end), [False] * (end - before.n_rows)
        _, y, _, incremental, fitted = self._rows
        new = slice(before.n_rows, end)
        return before.after(
            y[new].tolist(), incremental[new].tolist(), fitted[new].tolist()
        )

    def _compare(self):
        self._comparison, uses_fitted = self._compared()
        return uses_fitted

    @property
    def notes(self):
        """Sentences about the used tree, for summaries."""
        n_rows, incremental, fitted, uses_fitted, since = self.comparison
        n_compared = n_rows - FIRST_REFIT
        notes = [
            f"start of a stream: {n_rows:,} of at most {self.refit_rows:,} rows stored "
            "(refit_rows); node ids may change"
        ]
        if self.fitted is None or n_compared <= 0:
            return notes
        total = (1.0 - DECAY**n_compared) / (1.0 - DECAY)
        trees = [
            ("the incremental tree", incremental / total),
            (f"the tree refitted to {self._refitted_at:,} rows", fitted / total),
        ][:: -1 if uses_fitted else 1]
        (used, share), (other, share_of_other) = trees
        return [
            *notes,
            f"used since row {max(since, FIRST_REFIT):,}: {used}, {share:.1%} of its "
            f"recent predictions correct; not used: {other}, {share_of_other:.1%}",
        ]

    def make_ready(self, call, from_pool=None, **options):
        """Reserve memory for rows, see `TreeModel.make_ready`."""
        if self.fitted is not None and self.fitted.honest_counts is not None:
            warn(DISCARDED)
        # from_pool: rows of an `X_pool` to learn; an error here, where there is none
        self.incremental.make_ready(call, from_pool)
        n_rows, capacity = self.n_rows_seen, len(self._rows.y)
        needed = min(n_rows + len(call.labels), self.refit_rows)
        if needed > capacity:
            capacity = max(needed, min(2 * capacity, self.refit_rows))
            self._rows = self._rows.with_capacity(n_rows, capacity)

    def learn(self, call, *, returns=None, from_pool=None):
        """Learn rows in order, see `TreeModel.learn`."""
        # returns: "class", "proba" or None, the predictions before rows are learned
        X, finite, schema = call.rows
        if not isinstance(X, np.ndarray):
            call = call._replace(rows=Rows(X.tocsr(), finite, schema))
        weight = call.weight
        if weight is not None and returns is None and not weight.all():
            # rows of weight 0 are not learned; without predictions, they are left out
            call = _rows_of(call, np.flatnonzero(weight))
        n_rows = self.n_rows_seen
        if self._comparison.n_rows < n_rows:  # after an interrupt
            self._compare()
        self.incremental.begin(schema)
        if self.fitted is not None:
            self.fitted.begin(schema)
        n, begin, results = len(call.labels), 0, []
        while True:
            if self._points and n_rows >= self._points[0]:
                self._refit_if_needed(n_rows)
            if begin == n:
                break
            end = self._end_of_part(begin, n, n_rows, call.weight)
            part = call if end - begin == n else _rows_of(call, slice(begin, end))
            if self._points:
                predicted = self._learn_part(part, n_rows, returns)
            else:
                self.incremental.make_ready(part)
                predicted = self.incremental.learn(part, returns=returns)
            results.append(predicted)
            begin, n_rows = end, self.n_rows_seen
        return None if returns is None else np.concatenate(results)

    def _end_of_part(self, begin, end, n_rows, weight):
        # The end of a part of a call: rows up to the next refit that are either all
        # learned, or all of weight 0.
        if not self._points:
            return end
        end = min(end, begin + self._points[0] - n_rows)
        if weight is not None:
            differs = (weight[begin:end] > 0.0) != (weight[begin] > 0.0)
            if differs.any():
                end = begin + int(differs.argmax())
        return end

    def _learn_part(self, call, n_rows, returns):
        rows, labels, weight = call.rows, call.labels, call.weight
        if not isinstance(rows.X, np.ndarray):
            rows = Rows(rows.X.toarray(), rows.finite, rows.schema)
        n_new, fitted, proba = len(labels), self.fitted, None
        stored, start = self._rows, n_rows
        is_learned = weight is None or weight[0] > 0.0
        if not is_learned:
            stored, start = StoredRows.empty(n_new, rows.X.shape[1]), 0
        new = slice(start, start + n_new)
        stored.X[new], stored.y[new] = rows.X, labels
        stored.weight[new] = 1.0 if weight is None else weight
        of_incremental, of_fitted = stored.incremental[new], stored.fitted[new]
        if fitted is not None:
            of_fitted[:] = fitted.best(rows)
        if returns == "proba":
            proba = np.empty((n_new, len(self.classes)))
        self.incremental.grower.learn(
            rows.X, labels, weight, rows.finite, of_incremental, proba
        )
        uses_fitted = self._comparison.uses_fitted
        if is_learned:
            uses_fitted = self._compare()
        if returns is None:
            return None
        predicted = of_incremental if proba is None else proba
        if fitted is None:
            return predicted
        if proba is None:
            return np.where(uses_fitted, of_fitted, predicted)
        uses_fitted = np.reshape(uses_fitted, (-1, 1))
        return np.where(uses_fitted, fitted.proba(rows), predicted)

    def _refit_if_needed(self, n_rows):
        # A refit that was interrupted is repeated by the next call.
        is_last = n_rows >= self.refit_rows
        if n_rows > self._refitted_at and (not is_last or self._comparison.uses_fitted):
            self.fitted, self._refitted_at = self._refit(keeps_rows=is_last), n_rows
        if is_last:
            self._end()
        else:
            del self._points[0]

    def _refit(self, *, keeps_rows):
        # The leaves of the last refit get statistics of the rows (`keeps_rows`),
        # because this tree continues to grow.
        n_rows, model = self.n_rows_seen, self.incremental
        X, y, weight, *_ = (array[:n_rows] for array in self._rows)
        # only categories of these rows, not of later ones in the same call, with codes
        # in the order of the rows
        schema = model.schema.keep_learned(X, learned=slice(None), in_order=True)
        weight = None if (weight == 1.0).all() else weight
        kind = self.parameters["sample_weight_kind"]
        X, y, weight, relative = rows_with_weight(X, y, weight, kind)
        table = TrainingTable(
            X,
            y,
            weight,
            finite=not np.isnan(X).any(),
            relative=relative,  # whether only the ratios of the weights matter
            X_pool=None,
            schema=schema,
            classes=model.classes,
            class_weight=model.class_weight,
            row_indices=slice(None),
            n_input_rows=n_rows,
        )
        parameters = dict(self.parameters)
        if n_rows > MAX_LOOKAHEAD_ROWS and not keeps_rows:
            parameters["lookahead"] = 0  # which takes most of the time of large refits
        growth = TreeGrowth.of(SimpleNamespace(**parameters))
        fitted = growth.grow(table, keeps_rows=keeps_rows)
        fitted.schema = model.schema
        return fitted

    def _end(self):
        # Keep the used tree only, which continues to grow.
        model, owner = self.used, self._owner()
        share_lock(model, self)
        model.grower.share_lock(self)
        if owner is not None:
            owner._model = model
        self.incremental, self._points = model, []
        self._comparison = Comparison(self.n_rows_seen)
        self._rows, self.fitted = StoredRows.empty(0, 0), None

    def state(self):
        """Arrays, plain values and parameter objects; equal for equal models."""
        state = self.incremental.state()
        n_rows = self.n_rows_seen
        if not self._points:
            return state
        X, y, weight, *_ = (array[:n_rows] for array in self._rows)
        fitted = None
        if self.fitted is not None:
            fitted = self.fitted.state()
            fitted = {name: fitted[name] for name in fitted.keys() - SHARED}
        early = {
            "refit_rows": self.refit_rows,
            "parameters": self.parameters,
            "X": X,
            "y": y,
            "weight": weight,
            "fitted": fitted,
            "refitted_at": self._refitted_at,
            "comparison": tuple(self.comparison),
        }
        return canonical(state | {"early": early})

    def compacted(self):
        """Copy for predictions alone, see `TreeModel.compacted`."""
        compact = self.used.compacted()  # without counts and evidence
        compact.n_rows_before = self.n_rows_seen
        return compact

    def resized(self, resizing, schema, classes, owner):
        """Copy with further columns and classes, see `TreeModel.resized`."""
        state = resized_model(self.state(), resizing)
        state |= {"schema": schema.state(), "classes": classes.names}
        early = state["early"]
        n_rows = len(early["y"])
        # categories are integer codes; that of missing values in a new column is 0
        new = [0.0 if is_nominal else np.nan for is_nominal in resizing.is_nominal]
        new = np.tile(np.array(new, np.float32), (n_rows, 1))
        early = early | {
            "X": np.hstack([early["X"], new]),
            # `classes_at` has the new index of each old class
            "y": resizing.classes_at[early["y"]].astype(np.uint16),
        }
        if early["fitted"] is not None:
            early["fitted"] = resized_model(early["fitted"], resizing)
        return EarlyModel.of_state(state | {"early": early}, owner)

    def __reduce__(self):
        return EarlyModel.of_state, (self.state(), None)

    @classmethod
    def of_state(cls, state, owner):
        """Make a model from a state: a `TreeModel` unless rows are stored."""
        if not isinstance(state, dict) or "early" not in state:
            return TreeModel.of_state(state, owner)
        early = _read(state["early"], PARTS, "The state of early rows")
        # without an owner, the model has a lock of its own
        owner = TreeModel.__new__(TreeModel) if owner is None else owner
        state = {name: part for name, part in state.items() if name != "early"}
        model = TreeModel.of_state(state, owner)
        fitted = early["fitted"]
        if fitted is not None:
            shared = {"schema": model.schema, "classes": model.classes}
            fitted = TreeModel.of_state(fitted, owner, shared)
        parameters = _read(early["parameters"], CONSTRAINTS, "A refit")
        comparison = _read_comparison(early["comparison"])
        n_rows = model.n_rows_seen
        checks = {
            "grower": model.grows and model.n_rows_before == 0,
            "refit_rows": _is_int(early["refit_rows"], max(n_rows, 1)),
            "X": _are_rows(early["X"], n_rows, model.schema),
            "y": is_array(early["y"], np.uint16, (n_rows,))
            and (early["y"] < len(model.classes)).all(),
            "weight": is_array(early["weight"], np.float64, (n_rows,))
            and np.isfinite(early["weight"]).all()
            and (early["weight"] > 0.0).all(),
            "refitted_at": _is_int(early["refitted_at"], 0, n_rows)
            and (fitted is None) == (early["refitted_at"] == 0),
            "comparison": comparison is not None
            and comparison.n_rows == n_rows
            and comparison.since <= n_rows
            and comparison.uses_fitted <= (fitted is not None),
        }
        check_state_parts(owner, checks)
        early_model = cls(model, parameters, early["refit_rows"], owner=owner)
        early_model.fitted, early_model._refitted_at = fitted, early["refitted_at"]
        early_model._comparison = comparison
        points = early_model._points
        del points[: min(bisect_right(points, early["refitted_at"]), len(points) - 1)]
        # these arrays are copied once rows are added
        unused = np.zeros(n_rows, np.intp)
        stored = early["X"], early["y"], early["weight"], unused, unused
        early_model._rows = StoredRows(*stored)
        return early_model


def _rows_of(call, row_indices):
    X, finite, schema = call.rows
    weight = None if call.weight is None else call.weight[row_indices]
    rows, labels = Rows(X[row_indices], finite, schema), call.labels[row_indices]
    return call._replace(rows=rows, labels=labels, weight=weight)


def _read(values, names, what):
    # Values of all these names, or StateError.
    return merge_defaults(values, dict.fromkeys(names, NO_DEFAULT), what)


def _is_int(value, low, high=None):
    return type(value) is int and low <= value and (high is None or value <= high)


def _are_rows(X, n_rows, schema):
    if not is_array(X, np.float32, (n_rows, schema.n_features)) or np.isinf(X).any():
        return False
    if schema.features is None:  # no nominal columns
        return True
    nominal = schema.is_categorical
    codes, n_codes = X[:, nominal], schema.features.n_categories[nominal]
    return bool(((codes >= 0) & (codes < n_codes) & (codes == np.rint(codes))).all())


def _read_comparison(values):
    # None if it is not valid.
    kinds = [type(default) for default in Comparison()]
    if not isinstance(values, tuple) or [type(value) for value in values] != kinds:
        return None
    numbers = np.array(values[1:3])
    limit = 1.0 / (1.0 - DECAY)
    return Comparison(*values) if ((numbers >= 0) & (numbers <= limit)).all() else None
