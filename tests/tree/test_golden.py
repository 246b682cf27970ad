"""Trees, evidence and predictions of a hundred settings are what they were.

Written by ``reference.golden keep``. A mend that changes some of them writes them anew
and says why; a change of speed or shape leaves them as they are.
"""

import json
import platform

from reference.golden import KEPT, digest, few, grow, table

# How many tests are compared in a leaf of normal distributions depends on whether its
# mathematical library makes the share of a far tail nothing, or nearly so.
BY_LIBRARY = {
    "stream gaussian possibilistic-present entropy / four nominal",
    "stream gaussian bayes_factor-criterion kearns_mansour / four nominal",
}


def test_trees_are_what_they_were():
    expected = json.loads(KEPT.read_text(encoding="utf-8"))
    found = few()
    if platform.machine() not in ("x86_64", "AMD64"):
        for name in BY_LIBRARY:
            found[name] = expected[name]
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
