"""Actions of a sequence: each one makes calls and checks the results."""

import copy
import pickle
import re

import numpy as np
from sklearn.base import clone

from skconftree.tree import export_rules, export_text, node_table

from . import invariants
from .corruption import damaged_pickle, mixed_pickle
from .failures import require
from .leaves import valid_leaves
from .parameters import FIT_ALONE, OTHERS, make_model
from .tables import Rows

# Rows of a call. Compiled code has limits of its own: 24, 64, 128, 256, 512, 1,024 and
# 1,500 rows or values.
SIZES = (1, 1, 2, 5, 20, 50, 100, 200, 300, 600)
RARE = (1100, 1600)

# -- learning ----------------------------------------------------------------------


def draw_size(draw, fewest=1):
    """Number of rows, small as a rule."""
    if draw.chance(0.03):
        return draw.one(RARE)
    return max(fewest, draw.one(SIZES))


def fit(sequence):
    draw = sequence.draw
    if not sequence.batch or sequence.started:
        sequence.new_model(batch=True)
    table = sequence.table
    rows = table.rows(draw, draw_size(draw, 2))
    X_pool = None
    if draw.chance(0.2):
        X_pool = table.rows(draw, draw_size(draw)).X
    as_dense = table.family == "sparse" and draw.chance(0.2)
    if not sequence.attempt(
        "fit",
        sequence.model.fit,
        table.give(draw, rows.X, dense=as_dense),
        table.labeled(draw, rows.y),
        rows.weight,
        X_pool=None if X_pool is None else table.give(draw, X_pool),
    ):
        return
    sequence.fitted = rows, X_pool
    sequence.parts = []
    weights, least = rows.weights, 0.0
    if sequence.fitted_to_relative_weights:
        weights = weights / weights.max()  # their sum may overflow
        least = 1e-12 * weights.sum()  # rows of less weight are left out
    sequence.known = np.unique(rows.y[weights > least])
    after_fit(sequence, rows)


def after_fit(sequence, rows):
    model = sequence.model
    invariants.size(model, sequence.parameters)
    if invariants_of_counts(sequence):
        expected, weight = sequence.expected_counts()
        invariants.counts_of_leaves(model, expected)
        X = sequence.table.give(sequence.draw, rows.X[weight > 0.0])
        y = np.searchsorted(sequence.known, rows.y[weight > 0.0])
        invariants.rows_reach_their_leaves(model, X, y, weight[weight > 0.0])
    if sequence.table.family == "sparse" and sequence.draw.chance(0.8):
        sparse_equals_dense(sequence)


def learn(sequence):
    draw, model, table = sequence.draw, sequence.model, sequence.table
    first = not sequence.started
    if first and sequence.batch:
        fit(sequence)
        return
    if draw.chance(0.3):
        table.met = min(1.0, table.met + 0.3)
    if draw.chance(0.2):
        table.shift += 1
    n = draw_size(draw)
    if sequence.parameters.get("max_bytes") is not None and draw.chance(0.3):
        n = sequence.rows_to_boundary()
    rows = sequence.rows(n)
    options = {}
    if first:
        options["classes"] = draw.one([list, np.asarray])(table.classes)
        if draw.chance(0.3) or (sequence.by_volume and draw.chance(0.9)):
            sequence.pool = table.rows(draw, draw_size(draw)).X
            options["X_pool"] = table.give(draw, sequence.pool)
    elif draw.chance(0.1):
        options["classes"] = table.classes[sequence.known]
    arguments = table.give(draw, rows.X), table.labeled(draw, rows.y)
    if rows.weight is not None:
        options["sample_weight"] = rows.weight
    foresee = draw.chance(0.3)
    name = "partial_fit_predict" if foresee else "partial_fit"
    told = []

    def call():
        told.append(getattr(model, name)(*arguments, **options))

    if not sequence.attempt(name, call):
        if first:
            sequence.pool = None
        return
    sequence.parts.append(rows)
    if foresee:
        require(
            told[0].shape == (len(rows),) and np.isin(told[0], model.classes_).all(),
            "predicted classes",
        )
    after_learning(sequence)


def after_learning(sequence):
    model = sequence.model
    invariants.size(model, sequence.parameters)
    invariants.memory(model, sequence.parameters)
    if sequence.draw.chance(0.1) and model._model.grower is not None:
        valid_leaves(model)
    last = sequence.parts[-1]
    learned = np.flatnonzero(last.weights * sequence.class_weights()[last.y] > 0.0)
    is_refitted = sequence.parameters.get("refit_rows", 0) > 0  # to fewer rows
    if (
        len(learned)
        and sequence.parameters.get("max_bytes") is None
        and not is_refitted
    ):
        X = sequence.table.give(sequence.draw, last.X[learned[-1:]])
        invariants.reaches_leaf(model, X)
    if invariants_of_counts(sequence):
        expected, weight = sequence.expected_counts()
        require(
            model.n_rows_seen_ == np.count_nonzero(weight),
            "n_rows_seen_",
            lambda: f"{model.n_rows_seen_} instead of {np.count_nonzero(weight)}",
        )
        if sequence.parameters.get("drift") is None and not is_refitted:
            invariants.counts_of_leaves(model, expected)


def invariants_of_counts(sequence):
    """Whether the weights are counts, and sums of them exact enough."""
    relative = sequence.fitted_to_relative_weights
    return sequence.table.weights != "extreme" and not relative


def set_parameters(sequence):
    """Parameters of the growth are those of the first call: these change nothing."""
    if not sequence.started or sequence.fitted or not sequence.parts:
        return
    draw = sequence.draw
    name = draw.one(sorted(set(OTHERS) - FIT_ALONE - {"leaf_prediction"}))
    value = draw.one(OTHERS[name])
    sequence.call("set_params", sequence.model.set_params, **{name: value})
    sequence.comparable = False


# -- reading -----------------------------------------------------------------------


def read(sequence):
    if not sequence.started:
        return
    draw, model = sequence.draw, sequence.model
    n = draw.one([1, 2, 7, 40])
    rows = sequence.rows(n, weights=False)
    X = sequence.table.give(draw, rows.X)
    proba = sequence.call("predict_proba", model.predict_proba, X)
    invariants.probabilities(model, proba, n)
    which = draw.one(
        [
            *("predict", "apply", "interval", "alone", "log", "score", "words"),
            *("sequence", "copy"),
        ]
    )
    if which == "predict":
        sequence.call("predict", invariants.predictions, model, X, n, proba)
    elif which == "apply":
        leaves = sequence.call("apply, decision_path", invariants.paths, model, X, n)
        if draw.chance(0.5):
            sequence.call("explain", invariants.explanations, model, X, leaves)
    elif which == "interval":
        level = draw.one([0.95, 0.5, 1e-3, 1 - 1e-12])
        sequence.call(
            "predict_proba_interval", invariants.intervals, model, X, n, level
        )
    elif which == "alone":
        i = draw.whole(0, n - 1)
        one = sequence.table.give(draw, rows.X[i : i + 1])
        alone = sequence.call("predict_proba", model.predict_proba, one)
        require(
            np.array_equal(alone[0], proba[i]), "a row alone is predicted otherwise"
        )
    elif which == "copy":
        # which has not kept any answer
        other = sequence.call("pickle", sequence.copy_by_pickle)
        require(
            np.array_equal(other.predict_proba(X), proba), "a copy predicts otherwise"
        )
    elif which == "words":
        told = sequence.call("explain_text", model.explain_text, X)
        require(isinstance(told, str) and told, "words about rows")
    elif which == "sequence":
        if sequence.parts:
            sequence.attempt(
                "predict_proba_interval",
                *(invariants.intervals, model, X, n, 0.9, "sequence"),
            )
    elif which == "log":
        logs = sequence.call("predict_log_proba", model.predict_log_proba, X)
        require((logs <= 1e-12).all(), "logarithms of probabilities")
    else:
        labels = sequence.table.labels[rows.y]
        score = sequence.call("score", model.score, X, labels)
        require(0.0 <= score <= 1.0, "score")


def read_as_sklearn(sequence):
    if not sequence.started:
        return
    draw, model = sequence.draw, sequence.model
    rows = sequence.rows(draw.one([1, 9]), weights=False)
    X = sequence.table.give(draw, rows.X)
    proba = model.predict_proba(X)
    sequence.attempt("to_sklearn", invariants.same_in_sklearn, model, X, proba)


def read_tree(sequence):
    if not sequence.started:
        return
    model, draw = sequence.model, sequence.draw
    which = draw.one(["structure", "text", "node", "repr", "words", "counts"])
    if which == "structure":
        if invariants_of_counts(sequence):
            sequence.call("tree_", invariants.structure, model)
        else:
            sequence.call(
                "tree_", lambda: [getattr(model.tree_, n) for n in invariants.ARRAYS]
            )
    elif which == "text":
        depth = draw.one([None, 0, 2])
        text = sequence.call("export_text", export_text, model, max_depth=depth)
        require(re.search(r"^\|---", text, re.MULTILINE), "export_text")
    elif which == "words":
        sequence.call("summary", model.summary)
        if not model._model.predicts_by_bayes:
            language = draw.one(["python", "sql", "list", "json"])
            sequence.attempt("export_rules", export_rules, model, language)
        sequence.call("node_table", node_table, model)
    elif which == "counts":
        for fresh in (False, True):
            sequence.call("leaf_counts", model.leaf_counts, fresh=fresh)
    elif which == "repr":
        sequence.call("repr", repr, model)
        sequence.call("n_bytes_", lambda: model.n_bytes_ + model.n_drifts_)
    else:
        node = draw.one([-1, 0, 1, model.tree_.node_count, 2**40])
        for ask in (model.tree_.children, model.tree_.branches):
            try:
                sequence.call("tree_.children, tree_.branches", ask, node)
            except IndexError:
                require(not 0 <= node < model.tree_.node_count, "a node that is there")


def follow_rows(sequence):
    """An index says where the rows of a table are, however the tree has grown."""
    if not sequence.started:
        return
    draw, model = sequence.draw, sequence.model
    if sequence.index is None or draw.chance(0.2):
        X = sequence.table.give(draw, sequence.rows(draw.one([3, 60])).X)
        if not sequence.table.family == "array" or isinstance(X, np.ndarray):
            sequence.index = sequence.call("index_rows", model.index_rows, X), X, model
        return
    index, X, owner = sequence.index
    moved = sequence.call("index.update", index.update)
    leaves = owner.apply(X)
    require(np.array_equal(index.apply(), leaves), "an index of rows is not apply")
    counts = sequence.call("index.counts", index.counts)
    require(
        np.array_equal(counts, np.bincount(leaves, minlength=len(counts))),
        "counts of an index of rows",
    )
    require(len(np.unique(moved)) == len(moved), "rows that have moved twice")
    node = int(leaves[0])
    require(
        np.array_equal(np.sort(index.members(node)), np.flatnonzero(leaves == node)),
        "rows of a node",
    )
    drawn = sequence.call("index.draw", index.draw, node, draw.whole(0, 2**62))
    require(leaves[drawn] == node, "a row drawn from a node")
    sequence.call("index.take", index.take, drawn)
    require(drawn not in index.members(node), "a row that is taken out")
    sequence.call("index.put_back", index.put_back, drawn)
    require(drawn in index.members(node), "a row that is put back")


def count_again(sequence):
    """Honest limits rest on other rows."""
    if not sequence.started:
        return
    draw, model, table = sequence.draw, sequence.model, sequence.table
    rows = sequence.rows(draw.one([1, 30]), weights=False)
    X = table.give(draw, rows.X)
    sequence.call("recount_leaves", model.recount_leaves, X, table.labels[rows.y])
    sequence.call(
        "predict_proba_interval",
        *(invariants.intervals, model, X, len(rows), 0.9, "honest"),
    )
    # the next partial_fit would say that it discards them
    getattr(model._model, "used", model._model).honest_counts = None


def learn_from_pool(sequence):
    """Rows of the pool get labels."""
    draw, model, table = sequence.draw, sequence.model, sequence.table
    if sequence.pool is None or not sequence.parts or not sequence.uses_pool:
        return
    n = draw.whole(1, min(20, len(sequence.pool)))
    places = draw.rng.choice(len(sequence.pool), n, replace=False)
    y = draw.rng.integers(0, len(sequence.known), n)
    y = sequence.known[y]

    def call():
        model.partial_fit(None, table.labels[y], from_pool=places)

    if sequence.attempt("partial_fit from the pool", call):
        sequence.parts.append(Rows(sequence.pool[places], y))
        sequence.comparable = False
        after_learning(sequence)


def leave_out_absent(sequence):
    """Rows of weight 0 might as well not be there."""
    if not sequence.comparable or not (sequence.fitted or sequence.parts):
        return
    parts = [part.taken(part.weights > 0.0) for part in sequence.parts]
    if sum(map(len, parts)) == sum(map(len, sequence.parts)) and not sequence.fitted:
        return
    if sequence.fitted and not (sequence.fitted[0].weights > 0.0).any():
        return
    if sequence.parts and not any(map(len, parts)):
        return  # a call of `partial_fit` makes a grower, whatever its rows
    kept = sequence.fitted, sequence.parts
    if sequence.fitted:
        rows, X_pool = sequence.fitted
        sequence.fitted = rows.taken(rows.weights > 0.0), X_pool
    sequence.parts = [part for part in parts if len(part)]
    try:
        other = sequence.call("without absent rows", sequence.learn_again)
    finally:
        sequence.fitted, sequence.parts = kept
    same_growth(sequence, other, "absent rows give another tree")


def write(sequence):
    if sequence.started:
        sequence.call("writing into tree_", invariants.read_only, sequence.model)


# -- copies ------------------------------------------------------------------------


def copy_model(sequence):
    """A copy is the same; sometimes the sequence goes on with it."""
    draw, model = sequence.draw, sequence.model
    which = draw.one(["pickle", "pickle", "deepcopy", "clone"])
    if which == "clone":
        sequence.call("clone", clone, model)
        return
    make = (
        sequence.copy_by_pickle if which == "pickle" else lambda: copy.deepcopy(model)
    )
    other = sequence.call(which, make)
    require(
        invariants.state_of(other) == invariants.state_of(model),
        f"a {which} is not the same",
    )
    if draw.chance(0.7):
        sequence.model = other


def use_damaged(sequence):
    """A damaged pickle is an error of Python, or a model that can be used."""
    if not sequence.started:
        return
    draw = sequence.draw
    if not sequence.parts and draw.chance(0.7):
        return
    # the draws of a use do not depend on what the use meets
    for _ in range(4):
        if draw.chance(0.2):
            data, target = mixed_pickle(draw, sequence.model, stranger(sequence))
        else:
            data, target = damaged_pickle(draw, sequence.model)
        state = draw.rng.bit_generator.state
        sequence.call(f"pickle with another {target}", _load_and_use, sequence, data)
        draw.rng.bit_generator.state = state


def stranger(sequence):
    """A model of rows of the same table, for which other columns are nominal."""
    draw, table = sequence.draw, sequence.table
    rows = sequence.rows(draw.one([10, 100]), weights=False)
    kinds = table.categorical_features
    if table.family == "array":
        kinds = [draw.chance(0.5) for _ in table.kinds]
    model = make_model(
        {
            "bound": None,
            "max_depth": 3,
            "pruning": None,
            "categorical_features": kinds,
        }
    )
    return model.fit(table.give(draw, rows.X), table.labels[rows.y])


def _load_and_use(sequence, data):
    try:
        with np.errstate(all="ignore"):
            model = pickle.loads(data)
            use(sequence, model)
    except SystemError:  # of compiled code that returned without a result
        raise
    except Exception as error:
        if sequence.echo:
            print(f"     {type(error).__name__}: {error}")


def use(sequence, model):
    draw, table = sequence.draw, sequence.table
    # what `partial_fit` would refuse of a model that was fitted
    model.set_params(pruning="auto", sample_weight_kind="auto")
    for _ in range(2):
        rows = sequence.rows(draw.one([5, 60]), weights=table.weights != "extreme")
        X = table.give(draw, rows.X)
        model.predict_proba(X)
        model.decision_path(X)
        model.explain(X[:2] if table.family == "array" else X)
        export_text(model)
        for name in invariants.ARRAYS:
            getattr(model.tree_, name)
        model.partial_fit(X, table.labels[rows.y], sample_weight=rows.weight)
        model = pickle.loads(pickle.dumps(model))
        if not model._model.predicts_by_bayes:
            model.to_sklearn()


# -- the same by another way ---------------------------------------------------------


def depends_on_form(sequence):
    """Whether a tree that was fitted to a dense table is another one: it has bins."""
    return bool(
        sequence.fitted
        and sequence.table.family == "sparse"
        and sequence.model.max_bins is not None
    )


def learn_in_other_chunks(sequence):
    if not sequence.parts or not sequence.comparable or depends_on_form(sequence):
        return
    draw = sequence.draw
    n = sum(map(len, sequence.parts))
    ends = sorted({*(draw.whole(1, n) for _ in range(draw.one([0, 1, 3, 9]))), n})
    other = sequence.call("chunks", sequence.learn_again, ends, draw.chance(0.5))
    same_growth(sequence, other, "other chunks give another tree")


def learn_again(sequence):
    """The same calls give the same model."""
    if not sequence.fitted or sequence.parts or not sequence.comparable:
        return
    if depends_on_form(sequence):
        return
    other = sequence.call("fit again", sequence.learn_again)
    same_growth(sequence, other, "fit again gives another tree")


def sparse_equals_dense(sequence):
    if sequence.table.family != "sparse" or not sequence.comparable:
        return
    if not sequence.fitted or sequence.parts:
        return
    if sequence.model.max_bins is not None:  # of dense tables
        return
    other = sequence.call("dense", sequence.learn_again, None, True)
    weight = sequence.fitted[0].weight
    if weight is None or (np.floor(weight) == weight).all():
        same_growth(sequence, other, "sparse is not dense")
        return
    # The rows of a node come in another order: sums of their weights' fractions, from
    # which standard errors of near ties are estimated, differ in their last digits.
    one, two = sequence.model.tree_, other.tree_
    for name in ("parent", "feature", "threshold", "missing_go_to_left", "counts"):
        same = np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True)
        require(same, f"sparse is not dense: {name}")
    for name in ("evidence", "competitors"):
        first, second = getattr(one, name), getattr(two, name)
        for field in () if first is None else first.dtype.names:
            rounding = 1e-9 if field.endswith("z") else 0.0
            require(
                np.allclose(
                    first[field], second[field], rounding, rounding, equal_nan=True
                ),
                f"sparse is not dense: {name}, {field}",
            )


def same_growth(sequence, other, name):
    require(
        invariants.growth_of(other) == invariants.growth_of(sequence.model),
        name,
        lambda: f"{other.tree_.node_count}, {sequence.model.tree_.node_count} nodes",
    )
    require(
        other.categories_ == sequence.model.categories_,
        name.replace("another tree", "other categories"),
    )
