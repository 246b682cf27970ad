"""Which numbers the functions of `skconftree.bounds` take: the ends of each range."""

import inspect

import numpy as np
import pytest
from reference.golden import pairs

from skconftree import bounds

TABLE = [[9.0, 2.0], [3.0, 8.0]]
# Required arguments of the functions that limit others.
CALLS = {
    "agresti_coull_upper": {"p": 0.3, "n": 9},
    "binomial_upper": {"errors": 0, "n": 9},
    "confidence_sequence": {"counts": [3, 4]},
    "consistency_radius": {"n_queried": 4, "n_seen": 9},
    "credible_interval": {"counts": [3, 4]},
    "derosa_practical_radius": {"n": 9, "time": 9, "n_attributes": 3},
    "derosa_radius": {"n": 9, "delta": 0.1},
    "derosa_share": {"delta": 0.1},
    "ec2_confidence": {"tables": TABLE, "depth": 2, "noise": 0.1},
    "excess_risk_upper": {"counts": [3, 4, 1]},
    "hoeffding_radius": {"n": 9, "delta": 0.1},
    "log_bayes_factor": {"tables": TABLE},
    "log_evalue": {"tables": TABLE},
    "mcdiarmid_radius": {"n": 9, "delta": 0.1},
    "noise_beta": {"noise": 0.1},
    "possibilistic_entropy": {"counts": [3, 4]},
    "risk_upper": {"counts": [3, 4]},
}
LEVEL, SHARE, AT_LEAST_1 = ("(", 0, 1, ")"), ("[", 0, 1, "]"), ("[", 1, None, ")")
POSITIVE, NOT_NEGATIVE = ("(", 0, None, ")"), ("[", 0, None, ")")
RANGES = {
    "agresti_coull_upper": {"p": SHARE, "n": NOT_NEGATIVE, "gamma": LEVEL},
    "binomial_upper": {"delta": LEVEL},
    "confidence_sequence": {"alpha": LEVEL, "a": POSITIVE},
    "consistency_radius": {
        "n_queried": NOT_NEGATIVE,
        "n_seen": AT_LEAST_1,
        "delta": ("(", 0, 1, "]"),
        "c": POSITIVE,
    },
    "credible_interval": {"delta": ("(", 0, 0.5, ")")},
    "derosa_practical_radius": {
        "n": AT_LEAST_1,
        "depth": NOT_NEGATIVE,
        "time": AT_LEAST_1,
        "n_attributes": AT_LEAST_1,
        "c": POSITIVE,
    },
    "derosa_radius": {
        "n": AT_LEAST_1,
        "delta": LEVEL,
        "n_classes": ("[", 2, None, ")"),
        "n_outcomes": ("[", 2, None, ")"),
    },
    "derosa_share": {
        "delta": LEVEL,
        "n": AT_LEAST_1,
        "depth": NOT_NEGATIVE,
        "time": AT_LEAST_1,
        "n_attributes": AT_LEAST_1,
        "attempt": AT_LEAST_1,
        "n_tests": AT_LEAST_1,
    },
    "ec2_confidence": {
        "margin": NOT_NEGATIVE,
        "depth": NOT_NEGATIVE,
        "noise": ("[", 0, 1, ")"),
    },
    "excess_risk_upper": {"delta": LEVEL, "weight": NOT_NEGATIVE},
    "hoeffding_radius": {"n": POSITIVE, "delta": LEVEL, "value_range": POSITIVE},
    "log_bayes_factor": {"a": ("[", 1e-100, 1e6, "]")},
    "log_evalue": {"a": ("[", 1e-100, 1e6, "]")},
    "mcdiarmid_radius": {
        "n": AT_LEAST_1,
        "delta": LEVEL,
        "n_classes": ("[", 2, None, ")"),
    },
    "noise_beta": {"noise": ("[", 0, 1, ")"), "n_outcomes": ("[", 2, None, ")")},
    "possibilistic_entropy": {"gamma": LEVEL},
    "risk_upper": {"delta": LEVEL, "weight": NOT_NEGATIVE},
}


@pytest.mark.parametrize("name", RANGES)
def test_ranges(name):
    function = getattr(bounds, name)
    for argument, (opening, low, high, closing) in RANGES[name].items():
        valid = [low * 1.0001 + 1e-4 * (low == 0)] + [low] * (opening == "[")
        invalid = [low - 1e-3] + [low] * (opening == "(")
        if high is None:
            valid.append(1e4)
            invalid.append(np.inf)
        else:
            valid += [high * 0.9999] + [high] * (closing == "]")
            invalid += [high * 1.0001] + [high] * (closing == ")")
        for value in valid:
            if argument == "n_queried":
                value = min(value, 9)
            found = function(**CALLS[name] | {argument: value})
            assert not np.isnan(found).any()
        for value in invalid:
            with pytest.raises(ValueError, match=f"^{argument} must be"):
                function(**CALLS[name] | {argument: value})


def test_functions_with_such_arguments_are_above():
    for name in bounds.__all__:
        function = getattr(bounds, name)
        if inspect.isclass(function) or name in (*CALLS, "param_grid"):
            continue
        assert {"delta", "n", "depth", "a"}.isdisjoint(
            inspect.signature(function).parameters
        )


@pytest.mark.parametrize(
    ("case", "bound", "criterion"),
    [one for one in pairs() if one[0] in ("evalue", "bayes_factor", "ctree")],
)
def test_a_scan_scores_a_split_as_its_outcomes_are_scored(case, bound, criterion):
    rng = np.random.default_rng(0)
    for k, n_max in [(2, None), (3, None), (3, 200), (5, 200)]:
        score = bound.kernel(criterion, k).score
        if n_max is not None:
            score.reserve(n_max)
        node = rng.integers(2, 30, k).astype(float)
        left = np.floor(rng.random((9, k)) * (node + 1.0))
        left[:, 0] = np.clip(left[:, 0], 1.0, node[0] - 1.0)
        expected = [
            score.evaluate_outcomes([one, rest])
            for one, rest in zip(left, node - left, strict=True)
        ]
        np.testing.assert_allclose(score.evaluate(left, node), expected, rtol=1e-10)
