"""
Forests under concept drift
===========================

A stream changes its concept three times. The figure compares a single tree with three
forests: one without drift detection, one that repairs the affected parts of its trees
(the default), and one that replaces trees whose errors rise. Each row is predicted
before it is learned.
"""

import matplotlib.pyplot as plt
import numpy as np

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.datasets import make_random_tree_stream

X, y = make_random_tree_stream(
    20_000,
    n_leaves=20,
    p_left=0.95,
    p_right=0.05,
    concept=[0, 1, 2, 3],
    random_state=1,
)

# %%
# The adaptive forest trains each tree on every row about six times, monitors each tree
# with ADWIN, and weights its vote by its recent accuracy.

models = {
    "tree": ConfidenceTreeClassifier(),
    "forest, drift=None": ConfidenceForestClassifier(10, drift=None, random_state=0),
    "forest": ConfidenceForestClassifier(10, random_state=0),
    "adaptive forest": ConfidenceForestClassifier(
        10,
        online_rate=6.0,
        max_features=0.6,
        drift="adwin",
        vote="accuracy",
        random_state=0,
    ),
}

WINDOW = 500
_, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, model in models.items():
    right = model.partial_fit_predict(X, y, classes=[0, 1]) == y
    late = np.convolve(right, np.full(WINDOW, 1 / WINDOW), mode="valid")
    label = f"{name}: {right.mean():.1%}"
    ax.plot(np.arange(WINDOW, len(y) + 1), late, label=label)
for change in range(5000, 20_000, 5000):
    ax.axvline(change, color="gray", linestyle=":")
ax.set_xlabel("row")
ax.set_ylabel(f"accuracy over the last {WINDOW} rows")
ax.legend()

# %%
# Number of repairs of subtrees, and of replaced trees in the last forest:

for name in ("forest", "adaptive forest"):
    print(name, [tree.n_drifts_ for tree in models[name].estimators_])

plt.show()
