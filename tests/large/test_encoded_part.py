"""Rows of a part in several blocks, compared with NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference.effort import crossed
from skconftree.large._coded_part import CodedPart, Members

from skconftree.large._engine import in_table

N_LEVELS, N_CLASSES = (200, 300), 3


@pytest.mark.parametrize(
    ("n", "share"),
    crossed([0, 1, 65_535, 65_536, 65_537, 140_000], [None, 0.0, 0.3, 1.0]),
)
def test_a_node_is_counted_and_divided(n, share):
    rng = np.random.default_rng(n)
    columns = [
        rng.integers(0, 200, n).astype(np.uint8),
        rng.integers(0, 300, n).astype(np.uint16),
    ]
    y = rng.integers(0, N_CLASSES, n).astype(np.uint8)
    part = CodedPart(columns, y, N_LEVELS, N_CLASSES)
    present = None if share is None else rng.random(n) < share
    rows = np.arange(n) if share is None else np.flatnonzero(present)
    members = Members.of(n, present)
    assert_array_equal(members.row_indices(), rows)

    counts = np.zeros((sum(N_LEVELS), N_CLASSES), int)
    for codes, first in zip(columns, (0, N_LEVELS[0]), strict=True):
        np.add.at(counts, (first + codes[rows].astype(int), y[rows]), 1)
    assert_array_equal(part.count(members), counts)

    outcomes = rng.integers(0, 3, N_LEVELS[1]).astype(np.uint16)
    outcomes[:3] = range(3)
    of_rows = outcomes[columns[1][rows]]
    for outcome, child in enumerate(part.divide(members, 1, outcomes)):
        found = child.row_indices()
        assert_array_equal(found, rows[of_rows == outcome])
        for grandchild, side in zip(
            part.divide(child, 0, np.arange(200, dtype=np.uint16) % 2),
            (0, 1),
            strict=True,
        ):
            assert_array_equal(
                grandchild.row_indices(), found[columns[0][found] % 2 == side]
            )


def test_rows_of_several_parts_are_located_in_the_table():
    places = [slice(4, 7), np.array([9, 2], np.int32), slice(0, 0), np.array([3])]
    assert_array_equal(in_table(places, np.arange(6)), [4, 5, 6, 9, 2, 3])
    assert_array_equal(in_table(places, np.array([1, 4, 5])), [5, 2, 3])
