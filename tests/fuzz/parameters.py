"""Random parameters of trees: legal ones from all of their ranges, and illegal ones."""

import numpy as np
from reference import registries
from sklearn.model_selection import ParameterGrid

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import (
    BayesFactorBound,
    Chi2Bound,
    CredibleBound,
    DeRosaBound,
    EC2Bound,
    EValueBound,
    GTestBound,
    HoeffdingBound,
    McDiarmidBound,
    PossibilisticBound,
    param_grid,
)
from skconftree.drift import DDM

# One of the values of each parameter is drawn; the first is the default.
BOUNDS = {
    BayesFactorBound: {
        "delta": [0.5, 0.01, 0.999],
        "a": [None, 0.5, 1e-3, 50.0],
        "prior_odds": [1.0, 0.1, 1e6],
        "choose": ["evidence", "criterion"],
    },
    Chi2Bound: {
        "delta": [0.05, 0.4, 1e-9],
        "correction": [None, "attributes", "tests"],
        "fisher": ["freeman_halton", "point"],
    },
    CredibleBound: {
        "delta": [0.05, 0.3, 0.499, 1e-9],
        "prior": ["uniform", "perks"],
        "pool_weight": ["pool", "labeled", "volume"],
    },
    DeRosaBound: {
        "delta": [0.05, 0.9],
        "form": ["practical", "paper", "tight", "anytime"],
        "c": [0.1, 0.01, 5.0],
        "against": ["runner_up", "no_split"],
        "tie_threshold": [0.0, 0.05, 1e300],
    },
    EC2Bound: {
        "confidence": [0.5, 0.0, 1.0],
        "noise": [0.1, 0.0, 0.4, 0.99],
        "error_outcomes": ["uniform", "non_uniform"],
        "margin": [0.0, 3.0, 1e12],
    },
    EValueBound: {
        "delta": [0.05, 0.9, 1e-12],
        "a": [0.5, 1e-3, 20.0],
        "per_path": [True, False],
        "choose": ["evidence", "criterion"],
    },
    GTestBound: {"delta": [1.0, 0.05, 30.0, 1e-12]},
    HoeffdingBound: {
        "delta": [0.05, 0.5, 0.999, 1e-9],
        "against": ["runner_up", "no_split"],
        "factor": [1.0, 0.1, 2.0],
        "tie_threshold": [0.0, 0.05, 1.0, 1e300],
    },
    McDiarmidBound: {
        "delta": [0.05, 0.5, 0.999],
        "against": ["runner_up", "no_split"],
        "tie_threshold": [0.0, 1.0],
    },
    PossibilisticBound: {
        "delta": [0.05, 0.5, 0.999, 1e-9],
        "correction": ["branches", "all_tests"],
        "classes": ["all", "present"],
    },
}
NAMES = tuple(registries.STREAM_BOUNDS)
for one in registries.STREAM_BOUNDS.values():
    BOUNDS.setdefault(one, {one.delta_parameter: [*one().levels]})
CRITERIA = tuple(registries.CRITERIA)
PRUNINGS = {
    None: [None],
    "auto": [None],
    "pessimistic": [None, 0.01, 0.9],
    "c45": [None, 0.05, 0.5],
    "possibilistic": [None, 0.5],
    "cost_complexity": [None, 0.0, 0.02, 5.0],
    "chi2": [None, 0.01, 0.9],
    "ec2": [None, 0.0, 1.0],
}
for one in registries.PRUNINGS:
    PRUNINGS.setdefault(one, [None])
OTHERS = {
    "splitter": ["random"],
    "max_depth": [1, 2, 5, 2**31, 2**70],
    "min_samples_split": [3, 10, 0.1, 1.0, 2**70],
    "min_samples_leaf": [2, 5, 0.05, 0.49, 2**70],
    "min_weight_fraction_leaf": [0.05, 0.5],
    "max_features": [1, 2, 0.5, "sqrt", "log2", 2**70],
    "max_leaf_nodes": [2, 5, 20, 2**70],
    "min_impurity_decrease": [1e-3, 0.2, 1e300],
    "max_bins": [2, 3, 16, 255],
    "shrinkage": [0.0, 5.0, 1e300],
    "nominal_splits": ["binary", "multiway"],
    "max_bytes": [65536, 100_000, 2**62, 2**70],
    "leaf_memory": list(registries.MEMORIES[1:]),
    "leaf_prediction": list(registries.PREDICTIONS[1:]),
    "refit_rows": [0, 1, 55, 90, 300],
    "drift": [
        *registries.DETECTORS,
        DDM(min_samples=5),
        DDM(1, 1e-9, 1e-9),
        DDM(min_errors=3),
    ],
}
GRACE = [1, 2, 5, 20, 100, 0.5, 1e-9, 1e300]
ILLEGAL = {
    "bound": [
        *("nothing", 3, GTestBound, CredibleBound(delta=0.5), EC2Bound(noise=1)),
        *(HoeffdingBound(tie_threshold=-1.0), McDiarmidBound(tie_threshold=np.nan)),
    ],
    "criterion": ["", "GINI", 1],
    "delta": [0.0, -1, np.nan, np.inf, "0.1"],
    "splitter": ["worst", None],
    "max_depth": [0, -1, 1.5, "3", np.nan],
    "min_samples_split": [1, 0.0, 1.5, np.nan, None],
    "min_samples_leaf": [0, 1.0, -3, np.nan],
    "min_weight_fraction_leaf": [0.6, -0.1, np.nan],
    "max_features": [0, 0.0, 1.1, "all", np.nan],
    "max_leaf_nodes": [1, 0, 2.0],
    "min_impurity_decrease": [-1e-9, np.nan, "x"],
    "max_bins": [0, 1, 256, 2.5, "auto"],
    "shrinkage": [-1.0, np.nan, "none"],
    "lookahead": [-1, 0.5, "never"],
    "sample_weight_kind": ["other", None],
    "pruning": ["none", 1, ""],
    "categorical_features": ["x", 3, [99], [[0]], ["no such column"], [0.5]],
    "nominal_splits": ["ternary", None],
    "monotonic_cst": [1, "up", {"no such column": 1}, [2], [[0]]],
    "grace_period": [0, -1, np.nan, None],
    "leaf_memory": ["none", None],
    "max_bytes": [0, 65535, 1e6, -1],
    "leaf_prediction": ["", None],
    "refit_rows": [-1, 50.0, "never", None],
    "drift": ["never", DDM, 1, DDM(min_samples=0), DDM(drift_level=1.0)],
    "class_weight": ["uneven", {"no such class": 1.0}, {0: -1.0}, 3],
    "random_state": [-1, "seed", 1.5],
}
# These are looked at in one of the two ways to learn only.
FIT_ALONE = {"pruning", "monotonic_cst"}
STREAM_ALONE = {"drift", "class_weight"}


def with_strength(pruning, confidence):
    """A pruning by its name, or its object if it is to have another strength."""
    return pruning if confidence is None else registries.PRUNINGS[pruning](confidence)


def draw_bound(draw):
    """A bound and the criteria it is defined for."""
    if draw.chance(0.15):
        return None, CRITERIA
    kind = draw.one(list(BOUNDS))
    parameters = {
        name: draw.one(values)
        for name, values in BOUNDS[kind].items()
        if draw.chance(0.5)
    }
    if kind is HoeffdingBound and draw.chance(0.2):
        parameters |= {"against": "no_split", "variant": "interval"}
    if kind is HoeffdingBound and draw.chance(0.1):
        parameters["delta"] = 0.9999
    return kind(**parameters), kind.criteria


def draw_parameters(draw, table, theme, *, batch):
    """Legal parameters of an estimator for a table."""
    if draw.chance(0.3):
        parameters = {"bound": draw.one([None, "gtest", *NAMES])}
    elif draw.chance(0.3):
        parameters = {"bound": None}
    else:
        bound, criteria = draw_bound(draw)
        parameters = {"bound": bound}
        if draw.chance(0.6):
            parameters["criterion"] = draw.one(criteria)
    if parameters["bound"] is None and draw.chance(0.5):
        parameters["criterion"] = draw.one(CRITERIA)
    if theme == "competition":
        parameters = draw_competition(draw)
    for name, values in OTHERS.items():
        if name == "drift" and theme != "drift" and draw.chance(0.8):
            continue
        often = name in ("leaf_memory", "leaf_prediction", "refit_rows")
        if draw.chance(0.5 if often else 0.12):
            parameters[name] = draw.one(values)
    if batch and draw.chance(0.1):
        parameters["lookahead"] = draw.one([1, 2])
        parameters["max_depth"] = 3
    if batch and draw.chance(0.6):
        kinds = ["frequency"] * 5 + ["relative"]
        parameters["sample_weight_kind"] = draw.one(kinds)
    if batch and draw.chance(0.5):
        pruning = draw.one(list(PRUNINGS))
        parameters["pruning"] = with_strength(pruning, draw.one(PRUNINGS[pruning]))
    if batch and theme == "c45":
        parameters |= {"bound": None, "criterion": None}
        parameters["pruning"] = with_strength("c45", draw.one([None, 0.45]))
    if theme == "sparse" and draw.chance(0.85):
        parameters["max_features"] = draw.one([1, 1, 0.5, "sqrt"])
        if draw.chance(0.5):
            parameters |= {"bound": None, "criterion": None}
    if parameters.get("nominal_splits") == "multiway" and draw.chance(0.4):
        parameters["max_leaf_nodes"] = draw.one([2, 3, 4, 6])
    if parameters.get("nominal_splits") == "multiway" and draw.chance(0.3):
        parameters["max_bytes"] = 65536
    if theme == "drift":
        parameters["drift"] = draw.one(OTHERS["drift"])
    parameters["grace_period"] = draw.one(GRACE)
    if theme == "memory":
        parameters |= {"bound": None, "criterion": None, "grace_period": 5}
        parameters |= {"leaf_memory": draw.one(["rows", "auto", "histogram"])}
    parameters["random_state"] = draw.whole(0, 2**31)
    if draw.chance(0.15):
        parameters["class_weight"] = draw_class_weight(draw, table, batch=batch)
    parameters["categorical_features"] = table.categorical_features
    if batch and table.n_classes == 2 and draw.chance(0.15):
        nominal = set(table.categories)
        parameters["monotonic_cst"] = [
            0 if j in nominal else draw.one([-1, 0, 1]) for j in range(table.n_features)
        ]
        if parameters.get("leaf_prediction") in ("nb", "nba"):
            del parameters["leaf_prediction"]
    return parameters


def draw_competition(draw):
    """A bound for which attributes compete, or a pair of the grid over all bounds."""
    if draw.chance(0.3):
        return dict(draw.one(list(ParameterGrid(param_grid(n=draw.whole(1, 5))))))
    if draw.chance(0.4):
        bound = GTestBound(delta=draw.one(BOUNDS[GTestBound]["delta"]))
    else:
        bound = Chi2Bound(
            draw.one([0.05, 0.4]),
            correction=draw.one(["attributes", "tests"]),
            fisher=draw.one(["freeman_halton", "freeman_halton", "point"]),
        )
    return {"bound": bound, "criterion": draw.one(bound.criteria)}


def draw_class_weight(draw, table, *, batch):
    if batch and draw.chance(0.3):
        return "balanced"
    weights = draw.one(
        [[0.5, 1.0, 2.0], [0.0, 1.0], [1.0], [1e-9, 1e9], [1.0, 1e308], [1e-300, 1.0]]
    )
    return {label: draw.one(weights) for label in table.labels.tolist()}


def make_model(parameters):
    return ConfidenceTreeClassifier(**parameters)


def draw_illegal(draw, *, batch):
    """One parameter and a value that is not allowed."""
    names = set(ILLEGAL) - (STREAM_ALONE if batch else FIT_ALONE)
    name = draw.one(sorted(names))
    return name, draw.one(ILLEGAL[name])
