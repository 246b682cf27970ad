"""
Pre-pruning or post-pruning? Exclusive or
=========================================

A split rule stops a tree while it grows (pre-pruning). Post-pruning removes splits
after it has grown. They differ if a split is useful only together with the splits below
it: here the label is the exclusive or of two columns, and no first split is useful by
itself.
"""

import matplotlib.pyplot as plt
import numpy as np

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import PessimisticPruning

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(1200, 4))
y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
y = y ^ (rng.random(len(y)) < 0.1)
train, held_out = slice(0, 600), slice(600, None)

models = {
    "grown in full": ConfidenceTreeClassifier(None, pruning=None),
    "stopped (evalue)": ConfidenceTreeClassifier("evalue"),
    "pruned (pessimistic)": ConfidenceTreeClassifier(
        None, pruning=PessimisticPruning(0.01)
    ),
    "the default: both": ConfidenceTreeClassifier(),
}

# %%
# Predictions of each tree over the first two columns; the others are 0. The full tree
# and the one that is only pruned find the four squares. Trees whose split rule stops
# early stay at a single leaf.

_, axes = plt.subplots(1, 4, figsize=(11, 3.2), layout="constrained", sharey=True)
side = np.linspace(-1, 1, 150)
grid = np.zeros((side.size**2, 4))
grid[:, 0], grid[:, 1] = (axis.ravel() for axis in np.meshgrid(side, side))
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X[train], y[train])
    proba = model.predict_proba(grid)[:, 1].reshape(side.size, side.size)
    ax.imshow(proba, origin="lower", extent=(-1, 1, -1, 1), cmap="PuOr", vmin=0, vmax=1)
    right = model.score(X[held_out], y[held_out])
    ax.set_title(f"{name}\n{model.get_n_leaves()} leaves, {right:.0%}", fontsize=10)
plt.show()

# %%
# One label in ten is wrong, so no model can exceed 90%. Split rules stay at a single
# leaf if no single split helps; post-pruning keeps what the full tree has found.
