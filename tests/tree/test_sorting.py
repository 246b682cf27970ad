"""Rows in the order of a feature, however its values lie."""

import numpy as np
import pytest
from reference.effort import crossed

from skconftree import ConfidenceTreeClassifier

CLUSTERS = {
    "even": lambda rng, n: rng.random(n),
    "near one": lambda rng, n: 1.0 + 1e-6 * rng.integers(0, 40, n),
    "near one, far away": lambda rng, n: np.where(
        np.arange(n) == 0, -1e38, 1.0 + 1e-6 * rng.integers(0, 40, n)
    ),
    "in two places": lambda rng, n: np.where(
        rng.random(n) < 0.5, -1.0, 1.0
    ) * (1.0 + 1e-6 * rng.permutation(n) / n),
    "of all sizes": lambda rng, n: rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(
        -40, 38, n
    ),
    "descending": lambda rng, n: -np.arange(n) / n,
}  # fmt: skip


@pytest.mark.parametrize(
    ("n", "kind", "grows"), crossed([26, 200, 1_400, 1_700], CLUSTERS, [False, True])
)
def test_values_part_rows_as_their_ranks_do(kind, n, grows):
    rng = np.random.default_rng(n)
    x = CLUSTERS[kind](rng, n).astype(np.float32)
    _, ranks = np.unique(x, return_inverse=True)
    y = (ranks > ranks.max() // 3).astype(int) ^ (rng.random(n) < 0.1)

    def tree(column):
        one = ConfidenceTreeClassifier(
            None, leaf_memory="rows", max_depth=6, grace_period=n
        )
        X = column.reshape(-1, 1).astype(np.float32)
        return one.partial_fit(X, y, [0, 1]) if grows else one.fit(X, y)

    by_value, by_rank = tree(x), tree(ranks)
    assert by_value.get_n_leaves() > 1
    np.testing.assert_array_equal(by_value.tree_.counts, by_rank.tree_.counts)
