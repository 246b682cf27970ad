"""One sequence: a table, a model, and the calls that a seed makes of them."""

import copy
import pickle
import re
import sys
from collections import Counter

import numpy as np
from sklearn.base import clone

from skconftree.bounds import CredibleBound

from . import action_choice, invariants
from .draws import Draw
from .failures import Finding
from .invariants import BOUNDARY
from .parameters import draw_parameters, make_model
from .tables import Rows, draw_table

THEMES = {
    **{"batch": 14, "stream": 16, "sparse": 17, "drift": 15, "threads": 16},
    **{"signals": 5, "damage": 12, "c45": 4, "wrong": 6, "deep": 1, "functions": 3},
    **{"memory": 2, "competition": 6, "forests": 8, "packages": 4},
    **{"mistakes": 5, "interrupts": 5, "shared": 4, "states": 4, "indexes": 4},
    **{"teams": 2, "large": 4, "people": 3},
}
# Share of models that begin with `fit`, if it is another than usual.
BATCHES = {"stream": 0.1, "drift": 0.15, "memory": 0.1, "signals": 0.2}
BATCHES["threads"] = BATCHES["indexes"] = 0.1
FEWEST, MOST = 20, 34  # calls

# What a legal call may say no to, in the words that are documented for it.
REFUSALS = re.compile(
    "|".join(
        [
            r"pool_weight='volume' requires the limits",
            r"class_weight leaves no row",
            r"class_weight",
            r"sample_weight_kind' parameter must be 'auto' or 'frequency' in"
            r" partial_fit",
            r"lookahead",
            r"max_bytes",
            r"'refit_rows' parameter of \w+ must be 'auto' or 0 with an X_pool",
            r"max_samples",
            r"and booleans can be exported",
            r"cannot be written safely in SQL",
            r"method='sequence' requires rows",
            r"too many rows to draw",
            r"of X_pool has already been learned",
            r"must be 'auto' or None in partial_fit",
            r"'monotonic_cst' parameter of \w+ must be None in partial_fit",
            r"'leaf_prediction' .* with monotonic_cst",
            r"tests the features of all rows of a node",
            r"Sample weights must contain at least one non-zero",
            r"sample_weight must (sum to at most|be 0 or at least)",
            r"max_bytes=\d+ is too small",
            r"X_pool can only be passed in the first call",
            r"leaves predict by naive Bayes (has no counterpart|cannot be converted)",
            r"categories that scikit-learn's OrdinalEncoder cannot encode",
        ]
    )
)


class Sequence:
    """State of a sequence.

    Attributes
    ----------
    parameters : dict
        Of the model as it was made.
    fitted : tuple or None
        Rows, rows without label and whether sparse, of the last `fit`.
    parts : list of Rows
        Learned by `partial_fit` since.
    known : ndarray
        Indices, among the classes of the table, of those the model knows.
    """

    def __init__(self, seed, theme=None, echo=False):
        self.seed = seed
        self.draw = Draw(seed)
        self.theme = self.draw.weighted(THEMES)
        self.theme = theme or self.theme
        self.echo = echo
        self.calls = Counter()
        self.traits = {self.theme}
        self.table = draw_table(self.draw, self.theme)
        self.new_model()

    @property
    def n_calls(self):
        return self.calls.total()

    def run(self):
        wanted = self.draw.whole(FEWEST, MOST)
        weights = action_choice.weights_of(self.theme)
        while self.n_calls < wanted:
            action = action_choice.ACTIONS[self.draw.weighted(weights)]
            action(self)

    # -- the model -----------------------------------------------------------------

    def new_model(self, batch=None):
        draw = self.draw
        if batch is None:
            batch = draw.chance(BATCHES.get(self.theme, 0.6))
        self.batch = batch or self.theme == "c45"
        self.parameters = draw_parameters(
            draw, self.table, self.theme, batch=self.batch
        )
        self.model = make_model(copy.deepcopy(self.parameters))
        self.fitted = None
        self.parts = []
        self.pool = None
        self.index = None
        self.known = np.arange(self.table.n_classes)
        self.comparable = True  # with a model that learns the same again
        self.note_traits()

    def note_traits(self):
        table, parameters = self.table, self.parameters
        if table.family == "sparse" and parameters.get("max_features") is not None:
            self.traits.add("sparse with max_features")
        if table.categories and parameters.get("drift") is not None:
            self.traits.add("drift with categories")

    @property
    def started(self):
        return self.model._model is not None

    @property
    def by_volume(self):
        bound = self.parameters["bound"]
        return isinstance(bound, CredibleBound) and bound.pool_weight == "volume"

    @property
    def uses_pool(self):
        return (
            self.model._model.grower is not None
            and self.model._model.grower.recipe.X_pool is not None
        )

    def rows(self, n, **options):
        """Rows whose classes the model knows."""
        rows = self.table.rows(self.draw, n, **options)
        rows.y = self.known[rows.y % len(self.known)]
        return rows

    def rows_to_boundary(self):
        """How many more rows until the model looks at its memory."""
        grower = self.model._model.grower if self.started else None
        return BOUNDARY - (0 if grower is None else grower.n_rows_seen % BOUNDARY)

    @property
    def fitted_to_relative_weights(self):
        """Whether `fit` has rescaled its weights."""
        if not self.fitted:
            return False
        kind = self.parameters.get("sample_weight_kind", "auto")
        weights = self.fitted[0].weights
        return kind == "relative" or (
            kind == "auto" and bool((weights != np.rint(weights)).any())
        )

    def learned(self):
        """Rows that the model has learned, in their order."""
        parts = [self.fitted[0]] if self.fitted else []
        return Rows.joined([*parts, *self.parts])

    def class_weights(self):
        """Factor of each class of the table: 0 if it is not learned at all."""
        weights = self.parameters.get("class_weight")
        if not isinstance(weights, dict):
            return np.ones(self.table.n_classes)
        return np.array([weights[label] for label in self.table.labels.tolist()])

    def expected_counts(self):
        rows = self.learned()
        weight = rows.weights * (self.class_weights()[rows.y] > 0.0)
        counts = np.bincount(rows.y, weights=weight, minlength=self.table.n_classes)
        return counts[self.known], weight

    # -- calls ---------------------------------------------------------------------

    def call(self, name, function, *arguments, **options):
        """Make a call that must not fail."""
        self.calls[name] += 1
        if self.echo:
            print(f"  {self.n_calls}: {name}", file=sys.stderr, flush=True)
        return function(*arguments, **options)

    def attempt(self, name, function, *arguments, **options):
        """Make a call that may say no for a documented reason; whether it did not."""
        before = None
        if self.draw.chance(0.3):
            before = invariants.state_of(self.model)
        try:
            self.call(name, function, *arguments, **options)
        except (AttributeError, ValueError) as error:
            if not REFUSALS.search(str(error)):
                raise
            if self.echo:
                print(f"     refused: {error}", file=sys.stderr)
            if before is not None:
                invariants.unchanged(self.model, before, name)
            return False
        return True

    def refused(
        self, name, function, *arguments, errors=ValueError, of=None, **options
    ):
        """Make a call that must be refused and leave the model, or `of`, as it was."""
        of = self.model if of is None else of
        before = invariants.state_of(of)
        try:
            self.call(
                f"{name.split(' with')[0]} (wrong)", function, *arguments, **options
            )
        except errors as error:
            if not str(error):
                raise Finding("an error without a message", name) from error
        else:
            raise Finding("a wrong call was not refused", name)
        invariants.unchanged(of, before, name)

    # -- learning again ------------------------------------------------------------

    def learn_again(self, ends=None, dense=False):
        """A model that learns the same rows, in other chunks and containers."""
        model = clone(make_model(self.parameters))
        table, draw = self.table, self.draw
        pool = {}
        if self.pool is not None:
            pool = {"X_pool": table.give(draw, self.pool, dense=dense)}
        if self.fitted:
            rows, X_pool = self.fitted
            model.fit(
                table.give(draw, rows.X, dense=dense),
                table.labels[rows.y],
                rows.weight,
                X_pool=None
                if X_pool is None
                else table.give(draw, X_pool, dense=dense),
            )
        if not self.parts:
            return model
        rows = Rows.joined(self.parts)
        begin = 0
        for end in ends or [len(rows)]:
            part = rows.part(begin, end)
            model.partial_fit(
                table.give(draw, part.X, dense=dense),
                table.labels[part.y],
                None if hasattr(model, "tree_") else table.classes,
                part.weight,
                **(pool if begin == 0 else {}),
            )
            begin = end
        return model

    def copy_by_pickle(self):
        return pickle.loads(pickle.dumps(self.model))
