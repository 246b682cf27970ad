"""Trees, evidence and predictions of a hundred settings are what they were.

Written by ``reference.golden keep``. A mend that changes some of them writes them anew
and says why; a change of speed or shape leaves them as they are.
"""

import json
import platform

import pytest
from reference.golden import KEPT, digest, few, grow, table


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"),
    reason="other machines round products and sums in one step",
)
def test_trees_are_what_they_were():
    expected = json.loads(KEPT.read_text(encoding="utf-8"))
    found = few()
    assert len(found) > 100
    assert {name: found.get(name) for name in expected} == expected
    assert found.keys() == expected.keys()


def test_a_hash_tells_trees_apart():
    """By their evidence, by their leaves, and by nothing that is not in them."""
    grown = [
        grow({"bound": bound, **settings}, "plain", "fit")
        for bound, settings in (
            ("gtest", {}),
            ("gtest", {"max_depth": 2}),
            ("chi2", {"max_depth": 2}),
        )
    ]
    found = [digest(*one) for one in grown]
    assert len(set(found)) == 3
    assert digest(grown[0][0], table("plain")[0]) == found[0]
