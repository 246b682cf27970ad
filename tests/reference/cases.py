"""Every bound in all its forms, with its reference implementation."""

from . import bounds
from .registries import BOUNDS, STREAM_BOUNDS
from .registries import CRITERIA as REGISTERED

# Every bound as published and in its other forms, with parameters lax enough to
# split small tables: name in the registry, parameters, bounds.
CASES = {
    "credible": ("credible", {"delta": 0.1}, bounds.Credible),
    "credible-perks": (
        "credible",
        {"delta": 0.3, "prior": "perks"},
        bounds.Credible,
    ),
    "credible-labeled": (
        "credible",
        {"delta": 0.1, "pool_weight": "labeled"},
        bounds.Credible,
    ),
    "credible-volume": (
        "credible",
        {"delta": 0.2, "pool_weight": "volume"},
        bounds.Credible,
    ),
    "possibilistic": (
        "possibilistic",
        {"delta": 0.05, "classes": "all"},
        bounds.Possibilistic,
    ),
    "possibilistic-all": (
        "possibilistic",
        {"delta": 0.3, "correction": "all_tests", "classes": "all"},
        bounds.Possibilistic,
    ),
    "possibilistic-present": (
        "possibilistic",
        {"delta": 0.05},
        bounds.Possibilistic,
    ),
    "hoeffding": ("hoeffding", {"delta": 0.3}, bounds.Hoeffding),
    "hoeffding-factor": (
        "hoeffding",
        {"delta": 0.5, "factor": 2.0},
        bounds.Hoeffding,
    ),
    "hoeffding-no-split": (
        "hoeffding",
        {"delta": 0.2, "against": "no_split"},
        bounds.Hoeffding,
    ),
    "hoeffding-interval": (
        "hoeffding",
        {"delta": 0.2, "against": "no_split", "variant": "interval", "factor": 0.7},
        bounds.HoeffdingInterval,
    ),
    "mcdiarmid": ("mcdiarmid", {"delta": 0.5}, bounds.McDiarmid),
    "derosa": ("derosa", {"c": 0.02}, bounds.DeRosa),
    "derosa-paper": ("derosa", {"delta": 0.5, "form": "paper"}, bounds.DeRosa),
    "derosa-tight": ("derosa", {"delta": 0.5, "form": "tight"}, bounds.DeRosa),
    "derosa-anytime": ("derosa", {"delta": 0.5, "form": "anytime"}, bounds.DeRosa),
    "chi2": ("chi2", {"delta": 0.23}, bounds.Chi2),
    "chi2-tests": (
        "chi2",
        {"delta": 0.47, "correction": "tests"},
        bounds.Chi2,
    ),
    "chi2-attributes": (
        "chi2",
        {"delta": 0.47, "correction": "attributes"},
        bounds.Chi2,
    ),
    "ec2": ("ec2", {"noise": 0.2, "confidence": 0.5}, bounds.EC2),
    "ec2-outcomes": (
        "ec2",
        {
            "noise": 0.3,
            "confidence": 0.2,
            "error_outcomes": "non_uniform",
            "margin": 2.0,
        },
        bounds.EC2,
    ),
    "ec2-chance": (
        "ec2",
        {"noise": 0.1, "confidence": 0.2, "margin": 0.5, "against": "chance"},
        bounds.EC2,
    ),
    "evalue": ("evalue", {"delta": 0.3}, bounds.EValue),
    "evalue-node": (
        "evalue",
        {"delta": 0.5, "per_path": False, "a": 1.0},
        bounds.EValue,
    ),
    "evalue-criterion": (
        "evalue",
        {"delta": 0.3, "choose": "criterion"},
        bounds.EValue,
    ),
    "bayes_factor": ("bayes_factor", {}, bounds.BayesFactor),
    "bayes_factor-criterion": (
        "bayes_factor",
        {"delta": 0.3, "prior_odds": 0.5, "a": 0.5, "choose": "criterion"},
        bounds.BayesFactor,
    ),
    "gtest": ("gtest", {"delta": 0.3}, bounds.GTest),
}
# A bound of which nobody has written a reference, as it is; of `ctree`, ctree.py.
WITHOUT_REFERENCE = {
    name: (name, {}, None)
    for name in STREAM_BOUNDS
    if name not in {name for name, _, _ in CASES.values()}
}
CRITERIA = tuple(name for name in REGISTERED if name != "log_loss")  # entropy's alias


def settings_of(case, criterion, n_classes):
    """Return the parameter object of a case and its reference."""
    if case == "none":
        return None, bounds.NoBound(criterion, n_classes)
    name, parameters, make = (CASES | WITHOUT_REFERENCE)[case]
    if make is None:
        return BOUNDS[name](**parameters), None
    expected = {k: v for k, v in parameters.items() if k != "variant"}
    if make is bounds.HoeffdingInterval:
        del expected["against"]
    return BOUNDS[name](**parameters), make(criterion, n_classes, **expected)


PAIRS = [
    (case, criterion)
    for case, (name, _, _) in CASES.items()
    if name in BOUNDS
    for criterion in BOUNDS[name].criteria
]
