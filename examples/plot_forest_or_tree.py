"""
Tree or forest? Accuracy against readability
============================================

A single tree can be read; a forest predicts better. The figures show the decision
regions of both on two moons, and accuracy and log loss on held-out rows by the number
of trees.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.metrics import log_loss

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

X, y = make_moons(2000, noise=0.3, random_state=0)
train, held_out = slice(0, 500), slice(500, None)
models = {
    "tree": ConfidenceTreeClassifier(),
    "forest of 100 trees": ConfidenceForestClassifier(100, random_state=0),
    "random forest (bound=None)": ConfidenceForestClassifier(
        100, bound=None, random_state=0
    ),
}
_, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X[train], y[train])
    DecisionBoundaryDisplay.from_estimator(
        model,
        X[train],
        grid_resolution=60,
        response_method="predict_proba",
        ax=ax,
        cmap="PuOr",
        alpha=0.8,
    )
    ax.scatter(
        *X[train].T, c=y[train], cmap="PuOr", s=5, edgecolors="k", linewidths=0.2
    )
    ax.set_title(f"{name}: {model.score(X[held_out], y[held_out]):.1%}", fontsize=10)
plt.show()

# %%
# Size and log loss. Trees of a forest with a split rule are smaller than those of a
# random forest, which grow until their leaves are pure.

for name, model in models.items():
    trees = getattr(model, "estimators_", [model])
    size = np.mean([tree.get_n_leaves() for tree in trees])
    loss = log_loss(y[held_out], model.predict_proba(X[held_out]))
    print(f"{name:28} {size:5.1f} leaves a tree, log loss {loss:.3f}")
