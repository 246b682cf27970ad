"""Tables of all kinds of columns, and models that grow in all kinds of ways."""

import numpy as np
import pyarrow as pa

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

TREES = [
    ConfidenceTreeClassifier(max_bins=255),
    ConfidenceTreeClassifier(max_bins=16, lookahead=0, pruning=None),
    ConfidenceTreeClassifier(max_bins=2, class_weight="balanced"),
    ConfidenceTreeClassifier("credible", max_bins=7, class_weight={"b": 0.0, "c": 3.0}),
    ConfidenceTreeClassifier(None, max_bins=100, max_leaf_nodes=9),
    ConfidenceTreeClassifier("evalue", max_bins=255, max_features=2, random_state=3),
    ConfidenceTreeClassifier("chi2", max_bins=30, nominal_splits="multiway"),
    ConfidenceForestClassifier(3, max_bins=255, random_state=0),
    ConfidenceForestClassifier(3, bound=None, max_bins=9, random_state=1),
    ConfidenceForestClassifier(2, max_bins=40, bootstrap=False, random_state=2),
    ConfidenceForestClassifier(
        2,
        max_bins=20,
        class_weight="balanced_subsample",
        max_samples=0.5,
        random_state=0,
    ),
]


def make_table(seed, n=600):
    """A table of all kinds of columns, with missing values and repeated rows."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, n, n)  # rows that occur again
    normal = rng.normal(size=n)
    whole = rng.integers(-40, 400, n)
    heavy = np.where(rng.random(n) < 0.6, 0.0, rng.normal(size=n))
    heavy[rng.random(n) < 0.1] = np.nan
    near = 1.0 + rng.integers(0, 3000, n) * 2.0**-22  # one high half
    words = np.array(["x", "y", "zz", "u", None], object)[rng.integers(0, 5, n)]
    many = np.array([f"w{i}" for i in rng.integers(0, 300, n)], object)
    many[:300] = [f"w{i}" for i in range(300)]
    score = normal + (words == "x") + np.nan_to_num(heavy) + rng.normal(size=n) * 0.3
    label = np.array(["a", "b", "c"])[np.digitize(score, [-0.3, 1.0])]
    table = pa.table(
        {
            "normal": normal,
            "words": pa.array(words, pa.string()),
            "label": label,
            "whole": whole,
            "heavy": pa.array(heavy.astype(np.float32)),
            "near": near,
            "many": many,
            "flag": rng.random(n) < 0.5,
            "none": np.full(n, np.nan),
            "coded": pa.array(words).dictionary_encode(),
        }
    )
    return table.take(np.where(rng.random(n) < 0.3, place, np.arange(n)))
