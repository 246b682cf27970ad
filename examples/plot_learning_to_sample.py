"""
Learning To Sample: labels for a rare class
===========================================

A fraud, a fault or a match between records may be one row in a thousand, and every
label requires a person. Learning To Sample starts with diverse rows, and then selects
rows for which it expects its trees to be wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score

from skconftree.active import LearningToSampleClassifier

X, y = make_classification(
    100_000,
    n_features=10,
    n_informative=4,
    n_clusters_per_class=1,
    weights=[0.999],
    flip_y=0.0,
    class_sep=1.5,
    random_state=0,
)


def label(rows, indices):
    """Stands for a person who looks at rows."""
    return y[indices]


model = LearningToSampleClassifier(200, n_rounds=10, random_state=0).fit(X, label)
n_rare = y[model.queried_].reshape(10, 20).sum(axis=1)
print(f"{y.sum()} rare rows among {len(y):,}")
print(f"rare rows among the 20 labels of each round: {n_rare}")
print(f"F1 on all rows: {f1_score(y, model.predict(X)):.2f}")

# %%
# As many random labels contain no row of the rare class, so boosting learns nothing
# about it.

rows = np.random.default_rng(0).choice(len(y), 200, replace=False)
random = LearningToSampleClassifier(1.0, n_rounds=1, trees_per_round=100)
random.fit(X[rows], y[rows])
print(f"rare rows among 200 labels at random: {y[rows].sum()}")
print(f"F1: {f1_score(y, random.predict(X), zero_division=0.0):.2f}")

# %%
# The two features in which the classes differ most. Left: the rows, with the rare class
# in orange. Right: the selected rows, with later rounds darker. Rows of the rare class
# are among them, and later rounds select rows along the border of the large class.

gap = np.abs(X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)) / X.std(axis=0)
first, second = np.argsort(gap)[-2:]
figure, axes = plt.subplots(
    1, 2, figsize=(9, 4), layout="constrained", sharex=True, sharey=True
)
some = np.random.default_rng(0).choice(len(y), 3000, replace=False)
axes[0].scatter(X[some, first], X[some, second], s=3, c="C0", alpha=0.3)
axes[0].scatter(X[y == 1, first], X[y == 1, second], s=8, c="C1")
axes[0].set(title="rows (orange: all of the rare class)", ylabel=f"feature {second}")
rounds = np.repeat(np.arange(10), 20)
points = axes[1].scatter(
    X[model.queried_, first],
    X[model.queried_, second],
    s=14,
    c=rounds,
    cmap="viridis_r",
)
figure.colorbar(points, ax=axes[1], label="round")
axes[1].set(title="labels that were requested")
for axis in axes:
    axis.set_xlabel(f"feature {first}")
