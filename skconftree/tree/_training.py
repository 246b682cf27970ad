"""What a fit is given: read, checked, weighed, and ready to grow trees from."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from ..tables._content_order import ContentOrder
from ..tables._dates import DATES, look_like_dates
from ..tables._features import identifying
from ..tables._growth_data import MemoryData
from ..tables._labels import Classes, read_classes
from ..tables._schema import Schema
from ..tables._sparse import rows_at, take_rows
from ..tables._weights import resolve_class_weight, rows_with_weight
from ..utils._warnings import warn


class TableRequest(NamedTuple):
    """What the parameters of an estimator say about the table that `fit` reads.

    `caller` is the name of the estimator, for errors. `known` has schema and classes of
    trees that there are, beside which others are to be grown from the same rows.
    """

    caller: str
    categorical_features: object
    class_weight: object
    sample_weight_kind: str
    known: tuple[Schema, Classes] | None = None


class TrainingTable(NamedTuple):
    """Rows in memory that trees are fitted to; none of them has weight 0.

    `y` are indices of `classes`, weights frequencies, `relative` if they were given as
    relative ones. `finite`: no row that was given has a NaN. Of the `n_given` rows they
    are those at `places`.
    """

    X: object
    y: np.ndarray
    weight: np.ndarray | None
    finite: bool
    relative: bool
    X_pool: object
    schema: Schema
    classes: Classes
    class_weight: np.ndarray | None
    places: np.ndarray | slice
    n_given: int

    @property
    def total(self):
        """Weight of all rows."""
        return float(len(self.y) if self.weight is None else self.weight.sum())

    @property
    def rows(self):
        """The rows, their class indices, and their weights."""
        return self.X, self.y, self.weight

    @property
    def n_features(self):
        """Number of columns."""
        return self.schema.n_features

    @property
    def is_sparse(self):
        """Whether the rows are those of a sparse table."""
        return issparse(self.X)

    def content_order(self):
        """The order of the rows by what they hold; `y` are 16 bits wide."""
        return ContentOrder(*self.rows)

    def at(self, places, weight=None):
        """Some of the rows, in another order, with such weights."""
        return self._replace(X=rows_at(self.X, places), y=self.y[places], weight=weight)

    def identifying(self):
        """Which nominal columns tell rows apart rather than describe them."""
        return identifying(self.X, self.schema.features, self.weight)

    def encode(self, settings, n_bins=0, team=None):
        """Encode the table for trees with such settings, in bins unless there are 0.

        Columns are shared out among a team, if there is one.
        """
        features = self.schema.features
        return MemoryData(
            self.X,
            self.y,
            len(self.classes.names),
            sample_weight=self.weight,
            class_weight=self.class_weight,
            X_pool=self.X_pool if settings.uses_pool else None,
            n_categories=None if features is None else features.n_categories,
            max_bins=n_bins,
            team=team,
        )


def number_of_bins(table, settings, max_bins):
    """Return how many bins a feature has; 0, with a warning, if each value counts."""
    if table.is_sparse:
        why = "X is sparse"
    elif settings.random_cuts:
        why = "splitter='random' draws the cuts"
    elif settings.uses_pool and table.X_pool is not None:
        why = "the bound weighs the rows of X_pool"
    else:
        return max_bins
    warn(f"max_bins={max_bins} has no effect: {why}, and every value is examined.")
    return 0


def read_training(X, y, sample_weight, X_pool, request):
    """Read and check what a user gives to `fit`; the `request` is a `TableRequest`."""
    caller, categorical_features, class_weight, sample_weight_kind, known = request
    known_schema, known_classes = (None, None) if known is None else known
    if known is None:
        X, finite, schema = Schema.first(X, caller, categorical_features)
    else:
        X, finite, schema = known_schema.more(X, caller)
    y = read_classes(y, X, caller)
    n_given = len(y)
    X, places, weight, relative = rows_with_weight(
        X,
        np.arange(n_given),
        sample_weight,
        sample_weight_kind,
    )
    y = y if len(places) == n_given else y[places]
    classes, y = Classes.of(y)
    if known is not None and not np.array_equal(classes.names, known_classes.names):
        raise ValueError(
            f"y has the classes {classes.names!r}, and the trees there are know "
            f"{known_classes.names!r}. With warm_start=True they must be the same."
        )
    class_weight = resolve_class_weight(class_weight, classes.names, y, weight)
    if class_weight is not None and not class_weight.all():
        kept = class_weight[y] > 0.0
        X, y, places = take_rows(X, kept), y[kept], places[kept]
        weight = None if weight is None else weight[kept]
        if not len(y):
            raise ValueError("class_weight leaves no row with a positive weight.")
    learnt = slice(None) if len(y) < n_given else None
    schema = schema.settled(X, known_schema, learnt, weight, in_order=known is not None)
    if known is not None and schema is not known_schema:
        raise ValueError(
            "X has categories that were not there when the first trees were "
            "grown. With warm_start=True all trees are grown from the same rows."
        )
    if X_pool is not None:
        X_pool = schema.predict(X_pool, caller).X
    return TrainingTable(
        X,
        y,
        weight,
        finite,
        relative,
        X_pool,
        schema,
        classes,
        class_weight,
        places if len(y) < n_given else slice(None),
        n_given,
    )


def leave_out(table):
    """Find the columns that would tell the rows apart and say nothing of others."""
    features = table.schema.features
    if features is None:
        return None
    left_out = table.identifying()
    if left_out.any():
        names = table.schema.columns
        named = ", ".join(repr(names[j]) for j in np.flatnonzero(left_out))
        columns = "column" if left_out.sum() == 1 else "columns"
        categories = features.categories
        dated = [
            repr(names[j])
            for j in np.flatnonzero(left_out)
            if look_like_dates(categories[j])
        ]
        hint = f" Dates seem to be in {', '.join(dated)}. {DATES}" if dated else ""
        warn(
            f"No test asks for {columns} {named}: more than half of the rows have "
            f"a category of their own there, which no new row has.{hint}"
        )
    return left_out
