"""Chances of `ConfTreeSampling`, beside the formula row by row."""

from types import SimpleNamespace

import numpy as np
import pytest

from skconftree.active import ConfTreeSampling
from skconftree.bounds import consistency_radius

LEAVES = np.array([4, 2, 4, 4, 2, 7])
COUNTS = {4: [30.0, 2.0], 2: [5.0, 5.0], 7: [0.0, 0.0]}  # of requested labels
BEFORE = {4: 60, 2: 15, 7: 0}  # rows of a leaf before these


def counts_of(leaf_ids, n_classes):
    counts = np.array([COUNTS[leaf] for leaf in leaf_ids])
    return counts, np.array([BEFORE[leaf] for leaf in leaf_ids])


@pytest.mark.parametrize("form", ["theory", "practical"])
def test_chances_by_the_formula(form):
    calls = []

    def probability(share, radius, gap):
        calls.append((share, radius, gap))
        return share / 2.0 + np.zeros(len(gap))

    context = SimpleNamespace(
        estimator=object(),
        n_rows=len(LEAVES),
        n_classes=2,
        first=100,
        leaf_ids=LEAVES,
        leaves=SimpleNamespace(of=counts_of),
        budget=SimpleNamespace(share=0.1),
    )
    found = ConfTreeSampling(form, c=0.7, probability=probability).chances(context)
    seen, settled = dict(BEFORE), []
    for row, leaf in enumerate(LEAVES):
        seen[leaf] += 1
        n = sum(COUNTS[leaf])
        gap = (max(COUNTS[leaf]) - min(COUNTS[leaf])) / max(n, 1.0) / 2.0
        radius = consistency_radius(
            n,
            seen[leaf] if form == "practical" else 100 + row + 1,
            n_classes=2,
            form=form,
            c=0.7,
        )
        settled.append(gap > radius)
    assert any(settled)
    np.testing.assert_array_equal(found, np.where(settled, 0.05, 1.0))
    ((share, radius, gap),) = calls
    assert share == 0.1
    assert (gap > radius).all()
