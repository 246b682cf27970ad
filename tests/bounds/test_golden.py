"""What bounds compute about a hundred nodes is what it was, lower limits included.

References say what an answer must be; the cheap lower limits of a cost may be any below
it, and a fault that makes them looser changes no tree: it makes growth slower.
"""

import json

import pytest
from numpy.testing import assert_allclose
from reference.golden import KEPT_BOUNDS, PARTS, evaluations


@pytest.mark.parametrize("part", PARTS)
def test_values_are_what_they_were(part):
    expected = json.loads(KEPT_BOUNDS.read_text(encoding="utf-8"))
    expected = {name: expected[name] for name in list(expected)[part]}
    found = evaluations(part)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].keys() == values.keys()
        for field, value in values.items():
            assert_allclose(
                found[name][field], value, rtol=1e-7, err_msg=f"{name}, {field}"
            )
