"""
Uncertainty, density and diversity: which rows a strategy selects
=================================================================

Four rows of three classes have a label. Three scores select 24 more rows each: by the
uncertainty of the classifier, by the density of the rows, and by the distance to
labeled rows (diversity). The fourth picture uses the sum of the three.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.naive_bayes import GaussianNB

from skconftree.active import ActiveLearner, DensitySampling, WeightedSampling

X, y = make_blobs(
    [150, 150, 100],
    centers=[[0, 0], [4, 0], [2, 3]],
    cluster_std=[0.7, 0.7, 1.2],
    random_state=0,
)
known = np.full(len(y), None)
for label in (0, 1, 2):
    first = np.flatnonzero(y == label)[:2]
    known[first] = label

strategies = {
    "least sure": "margin",
    "crowded": DensitySampling(n_neighbors=10),
    "far from labels": "diversity",
    "all three": WeightedSampling(
        [
            ("unsure", "margin", 1.0),
            ("crowded", "density", 1.0),
            ("far", "diversity", 1.0),
        ]
    ),
}
chosen = {}
for name, strategy in strategies.items():
    learner = ActiveLearner(GaussianNB(), strategy=strategy, random_state=0)
    chosen[name] = learner.fit(X, known).query(24)

# %%
# Uncertain rows lie along the borders of the classes, many of them side by side. Rows
# of high density are near copies of each other in the middle of the densest class.
# Diverse rows cover the pool, outliers first: each row of a batch counts as labeled
# once it is selected.

figure, axes = plt.subplots(2, 2, figsize=(8, 7), layout="constrained")
has_label = np.array([label is not None for label in known])
for axis, (name, rows) in zip(axes.flat, chosen.items(), strict=True):
    axis.scatter(*X.T, c=y, cmap="Pastel1", s=12)
    axis.scatter(*X[has_label].T, marker="s", c="0.4", s=30, label="had a label")
    axis.scatter(*X[rows].T, marker="x", c="k", s=30, label="taken")
    axis.set(title=name, xticks=[], yticks=[])
axes[0, 0].legend(loc="upper left")

# %%
# The mean distance of each selected row to the nearest other one. The sum of the three
# scores avoids both near copies and outliers.

for name, rows in chosen.items():
    apart = np.linalg.norm(X[rows][:, None] - X[rows], axis=2)
    np.fill_diagonal(apart, np.inf)
    print(f"{name:16} {apart.min(axis=1).mean():.2f}")

# %%
# The figure corresponds to the third one of the slides behind these scores
# (:doc:`/published`); their data are not available.
