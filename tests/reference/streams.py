"""Random streams, and settings of trees that grow row by row, for many tests."""

import copy
import pickle
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from skconftree import ConfidenceTreeClassifier

from .cases import CASES, PAIRS, WITHOUT_REFERENCE, settings_of
from .registries import BOUNDS, MEMORIES, PREDICTIONS

ALL_CASES = ("none", *CASES, *WITHOUT_REFERENCE)
KINDS = ("continuous", "ties", "one_hot", "constant", "skewed")
TABLE_KINDS = (*KINDS, "holes", "nominal")


@dataclass
class Stream:
    """Rows in the order of their arrival, and what goes with them."""

    X: np.ndarray
    y: np.ndarray
    n_classes: int
    weight: np.ndarray | None = None
    X_pool: np.ndarray | None = None
    nominal: list | None = None  # features that hold codes of categories

    def __len__(self):
        return len(self.y)

    @property
    def classes(self):
        return np.arange(self.n_classes)

    @property
    def weights(self):
        return np.ones(len(self)) if self.weight is None else self.weight

    def part(self, begin, end):
        """Arguments of partial_fit for some of the rows."""
        weight = None if self.weight is None else self.weight[begin:end]
        return self.X[begin:end], self.y[begin:end], self.classes, weight


def make_column(rng, kind, y, signal):
    """Values of one feature that say more or less about the classes y."""
    n = len(y)
    if kind == "constant":
        return np.full(n, 2.5)
    if kind == "one_hot":
        return (rng.random(n) < 0.2 + 0.6 * (y == 0) * min(signal, 1.0)).astype(float)
    if kind == "ties":
        return np.rint(rng.normal(size=n) + signal * y / 2)
    if kind == "nominal":
        # rare categories come late or never
        return np.minimum(rng.geometric(0.4, n) - 1 + (rng.random(n) < 0.5) * y, 5)
    if kind == "holes":
        holes = rng.random(n) < 0.2
        holes[: n // 4] = False
        return np.where(holes, np.nan, rng.normal(size=n) + signal * y)
    if kind == "skewed":
        return np.exp(rng.normal(size=n) * 3 + signal * y)
    return rng.normal(size=n) + signal * y


def make_stream(
    seed,
    n_rows,
    n_classes=2,
    kinds=("continuous", "ties"),
    signal=1.0,
    weight=None,
    n_pool=0,
):
    """Make a stream whose features of the given kinds depend on the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    # later classes come late, so that leaves meet classes they have not seen
    y[: n_rows // 3] = np.minimum(y[: n_rows // 3], 1)

    def table(labels):
        columns = [make_column(rng, kind, labels, signal) for kind in kinds]
        return np.column_stack(columns).astype(np.float32)

    X = table(y)
    X_pool = table(rng.integers(0, n_classes, n_pool)) if n_pool else None
    nominal = [f for f, kind in enumerate(kinds) if kind == "nominal"] or None
    return Stream(X, y, n_classes, make_weights(rng, weight, n_rows), X_pool, nominal)


def make_weights(rng, kind, n):
    if kind is None:
        return None
    return {
        "counts": rng.integers(0, 4, n).astype(float),
        "quarters": rng.integers(0, 9, n) / 4,
        "any": rng.uniform(0.3, 5.0, n),
        "heavy": rng.integers(1, 400, n).astype(float),
    }[kind]


@st.composite
def streams(
    draw,
    min_rows=1,
    max_rows=150,
    n_classes=None,
    pool=True,
    weights=True,
    kinds_of_features=KINDS,
):
    """Draw streams that mix all kinds of features, weights and rows without label."""
    n_classes = n_classes or draw(st.sampled_from([2, 2, 3, 6]), label="classes")
    return make_stream(
        seed=draw(st.integers(0, 2**16), label="seed"),
        n_rows=draw(st.integers(min_rows, max_rows), label="rows"),
        n_classes=n_classes,
        kinds=draw(
            st.lists(st.sampled_from(kinds_of_features), min_size=1, max_size=4),
            label="features",
        ),
        signal=draw(st.sampled_from([0.0, 1.0, 4.0]), label="signal"),
        weight=draw(
            st.sampled_from([None, None, "counts", "quarters", "any", "heavy"]),
            label="weight",
        )
        if weights
        else None,
        n_pool=draw(st.sampled_from([0, 3, 40]), label="pool") if pool else 0,
    )


GROWTH = {
    "max_depth": st.integers(1, 6),
    "max_leaf_nodes": st.integers(2, 12),
    "min_samples_split": st.sampled_from([2, 7, 0.1]),
    "min_samples_leaf": st.sampled_from([1, 3, 0.05]),
    "min_weight_fraction_leaf": st.sampled_from([0.0, 0.04]),
    "min_impurity_decrease": st.sampled_from([0.0, 0.01]),
    "max_features": st.sampled_from([1, 0.5, "sqrt"]),
    "splitter": st.just("random"),
    "tie_threshold": st.sampled_from([0.05, 0.5]),
}


def settle_ties(bound, tie_threshold):
    """Set the tie threshold of a bound that knows ties."""
    if hasattr(bound, "tie_threshold"):
        bound.set_params(tie_threshold=tie_threshold)


@st.composite
def models(draw, n_classes, cases=ALL_CASES, **fixed):
    """Draw estimators with any bound, memory, prediction and rules of growth."""
    case = draw(st.sampled_from(cases), label="bound")
    if case in WITHOUT_REFERENCE:
        criteria = BOUNDS[case].criteria
    else:
        criteria = [criterion for name, criterion in PAIRS if name == case]
    criteria = criteria or ("gini", "entropy")
    criterion = draw(st.sampled_from(criteria), label="criterion")
    class_weight = draw(st.sampled_from([None, None, "dict"]), label="class weight")
    if class_weight is not None:
        class_weight = {c: 0.5 + 0.75 * c for c in range(n_classes)}
        if n_classes > 2 and draw(st.booleans(), label="ignored class"):
            class_weight[1] = 0.0
    parameters = {
        "bound": settings_of(case, criterion, n_classes)[0],
        "criterion": criterion,
        "class_weight": class_weight,
        "grace_period": draw(st.sampled_from([1, 2, 9, 25, 50]), label="grace"),
        "leaf_memory": draw(st.sampled_from(MEMORIES), label="memory"),
        "leaf_prediction": draw(st.sampled_from(PREDICTIONS), label="prediction"),
        "random_state": 3,
        **draw(st.fixed_dictionaries({}, optional=GROWTH), label="growth"),
        **fixed,
    }
    settle_ties(parameters["bound"], parameters.pop("tie_threshold", 0.0))
    return ConfidenceTreeClassifier(**parameters)


@st.composite
def problems(draw, min_rows=1, max_rows=150, cases=ALL_CASES, **fixed):
    """Draw an estimator and a stream it can learn."""
    stream = draw(
        streams(min_rows=min_rows, max_rows=max_rows, kinds_of_features=TABLE_KINDS)
    )
    model = draw(models(stream.n_classes, cases=cases, **fixed))
    if stream.nominal:
        model.set_params(categorical_features=stream.nominal)
    if getattr(model.bound, "pool_weight", "pool") == "volume" and (
        stream.X_pool is None
    ):
        stream.X_pool = stream.X[:1].copy()
    if stream.X_pool is None and model.max_bytes is None:
        refit_rows = draw(st.sampled_from(["auto", 60, 110]), label="refits")
        model.set_params(refit_rows=refit_rows)
    return model, stream


@st.composite
def cuts_into_chunks(draw, n, max_chunks=6):
    """Draw the ends of consecutive chunks of n rows."""
    inner = draw(
        st.lists(st.integers(1, n), max_size=max_chunks - 1, unique=True), label="cuts"
    )
    return sorted({*inner, n})


@st.composite
def problems_in_chunks(draw, **options):
    """Draw an estimator, a stream it can learn and the ends of its chunks."""
    model, stream = draw(problems(**options))
    return model, stream, draw(cuts_into_chunks(len(stream)))


def learn(model, stream, ends=None, begin=0, foresee=False):
    """Learn the rest of a stream in chunks; return what was predicted, if asked for."""
    predicted = []
    for end in ends or [len(stream)]:
        if end <= begin:
            continue
        pool = {}
        if not hasattr(model, "tree_"):
            pool = {"X_pool": stream.X_pool}
        call = model.partial_fit_predict if foresee else model.partial_fit
        predicted.append(call(*stream.part(begin, end), **pool))
        begin = end
    return np.concatenate(predicted) if foresee else model


def grown(model, stream, ends=None):
    """Learn a stream with a fresh copy of a model."""
    return learn(copy.deepcopy(model), stream, ends)


def state_of(model):
    """All a model knows, as bytes."""
    return pickle.dumps(model)
