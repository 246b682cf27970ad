"""What the documentation says about which method has a use for a parameter.

Who tunes a parameter that changes nothing, or misses one that does, has been misled.
"""

import numpy as np
import pytest
from numpydoc.docscrape import ClassDoc

from skconftree import ConfidenceTreeClassifier

# Another value than the default, with which each matters on the table below.
OTHER = {
    "fit": {
        "pruning": "c45",
        "ccp_alpha": 0.01,
        "monotonic_cst": [1, -1, 0, 0, 0, 0, 0, 0],
        "shrinkage": 50.0,
        "lookahead": 3,
        "max_bins": 4,
        "sample_weight_kind": "relative",
    },
    "partial_fit": {
        "grace_period": 900,
        "max_bytes": 65536,
        "refit_rows": 2000,
        "drift": "ddm",
    },
}
SAME_TREE = {"n_jobs"}  # for every value
# by the other method
REFUSED = {"pruning", "ccp_alpha", "monotonic_cst", "sample_weight_kind"}
CASES = [
    (method, name, value) for method in OTHER for name, value in OTHER[method].items()
]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 8))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=8000) > 0).astype(int)
    y[5000:] = 1 - y[5000:]  # a drift
    return X, y, rng.integers(1, 10, size=8000).astype(float)


def learned(method, table, **parameters):
    X, y, weight = table
    model = ConfidenceTreeClassifier(**parameters)
    if method == "fit":
        model.fit(X, y, sample_weight=weight)
    else:
        if "refit_rows" not in parameters:  # a refit has the parameters of `fit`
            model.set_params(refit_rows=0)
        model.partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    return model.predict_proba(X)


@pytest.fixture(scope="module")
def by_default(table):
    return {method: learned(method, table) for method in OTHER}


def test_these_are_the_parameters_of_one_method():
    said = {method: set() for method in OTHER}
    for one in ClassDoc(ConfidenceTreeClassifier)["Parameters"]:
        for method, names in said.items():
            if one.desc[0].startswith(f"`{method}` only. "):
                names.add(one.name)
    said["fit"] -= SAME_TREE
    assert said == {method: set(names) for method, names in OTHER.items()}


@pytest.mark.parametrize(("method", "name", "value"), CASES)
def test_a_parameter_of_one_method_is_of_no_other(
    table, by_default, method, name, value
):
    found = learned(method, table, **{name: value})
    assert not np.array_equal(found, by_default[method])
    (other,) = OTHER.keys() - {method}
    if name in REFUSED:
        with pytest.raises((AttributeError, ValueError), match=f"'{name}' parameter"):
            learned(other, table, **{name: value})
    else:
        found = learned(other, table, **{name: value})
        np.testing.assert_array_equal(found, by_default[other])
