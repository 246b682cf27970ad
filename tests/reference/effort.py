"""How often a property is tried, where each time takes a while."""

import os

PROFILE = os.environ.get("SKCONFTREE_HYPOTHESIS")
NIGHT = PROFILE == "nightly"


def examples(n, by_day=None):
    """All `n` of them at night; for every change `by_day`, or half of them.

    Three where each takes twenty times as long, on a processor that is emulated.
    """
    if NIGHT:
        return n
    if PROFILE == "emulated":
        return min(n, 3)
    return n // 2 if by_day is None else by_day


def cases(everything, by_day):
    """All cases at night; for every change those `by_day`, each of its own kind."""
    return [one for one in everything if NIGHT or one in by_day]
