"""Coded parts of a table in the memory of this process."""

from functools import partial

import numpy as np

from . import _steps
from ._steps import Sampled


class LocalEngine:
    """Parts whose codes are here, or in a file that is mapped here.

    The threads of a team count and divide them side by side.
    """

    is_here = True

    def __init__(self, parts, team=None):
        self.parts = parts
        self.n_rows = sum(part.n_rows for part in parts)
        self._each = _steps.in_turn if team is None else partial(_side_by_side, team)

    @property
    def is_one_part(self):
        """Whether the codes of all rows are had without a copy."""
        return len(self.parts) == 1

    def with_team(self, team):
        """The same for a tree that a team grows."""
        return self if team is None else LocalEngine(self.parts, team)

    def columns(self):
        """Codes of all rows, column by column."""
        return _steps.in_order(_steps.whole(self.parts))

    def begin(self, counts, repeated, weights):
        """Begin a tree whose sample has each row so often; None: each once.

        Gives what the parts know of the sample, the rows of the root, its counts, and
        what it weighs.
        """
        places = [places_of(part.places, part.n_rows) for part in self.parts]
        present, sampled = sample_of_parts(places, counts, repeated, weights)
        found = _steps.begin(self.parts, present, sampled, self._each)
        weight = None if found.weights is None else found.weights[0]
        return sampled, found.members[0], found.counts[0], weight

    def divide(self, sampled, members, question):
        """Divide the rows of a node: those of children, counts, and weights."""
        return _steps.divide(self.parts, sampled, members, question, self._each)

    def count_cells(self, sampled, members, tests):
        """Count the rows of a node by the outcomes of tests."""
        return _steps.count_cells(self.parts, sampled, members, tests, self._each)

    def collect(self, sampled, members):
        """Take the rows of a node."""
        return _steps.collect(self.parts, sampled, members)


def _side_by_side(team, function, *lists):
    # As `_steps.in_turn`, by threads.
    calls = list(zip(*lists, strict=True))
    found = [None] * len(calls)

    def do(thread, place):
        found[place] = function(*calls[place])

    team.run(do, len(calls))
    return found


def places_of(places, n_rows):
    """Where rows of a part are in a table: an index of its arrays."""
    if np.ndim(places) == 0:
        return slice(int(places), int(places) + n_rows)
    return places


def sample_of_parts(places, counts, repeated, weights):
    """Which rows of each part are in a sample, and what they are there."""
    present, sampled = [], []
    if counts is not None:
        counts = counts.astype(np.uint8 if counts.max() < 256 else np.int32)
    for where in places:
        of_part = None if counts is None else np.ascontiguousarray(counts[where])
        present.append(None if of_part is None else of_part > 0)
        sampled.append(
            Sampled(
                of_part if repeated else None,
                None if weights is None else weights[where],
            )
        )
    return present, sampled
