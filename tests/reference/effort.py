"""How many examples a property is tried on, where each of them takes a while."""

import os

NIGHT = os.environ.get("SKCONFTREE_HYPOTHESIS") == "nightly"


def examples(n):
    """All `n` of them at night, half of them for every change."""
    return n if NIGHT else n // 2
