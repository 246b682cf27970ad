"""Where a growing tree has found a drift."""

from typing import NamedTuple


class Drift(NamedTuple):
    """A drift that a growing tree has found.

    `row` is how many rows it had learnt by then, `node` the one below which all was
    replaced, 0 being the root, and `detector` the name of what has found it.
    """

    row: int
    node: int
    detector: str
