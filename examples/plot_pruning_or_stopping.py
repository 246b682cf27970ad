"""
Pruning against stopping
========================

A bound stops a tree while it grows. A pruning takes splits back once it has grown. They
differ where a split pays only together with the splits below it: here the label is the
exclusive or of two columns, and the first split, looked at alone, is worth nothing.
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
# The first two columns, and what each tree says of them; the others are 0.

_, axes = plt.subplots(1, 4, figsize=(11, 3.2), layout="constrained", sharey=True)
side = np.linspace(-1, 1, 150)
grid = np.zeros((side.size**2, 4))
grid[:, 0], grid[:, 1] = (axis.ravel() for axis in np.meshgrid(side, side))
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X[train], y[train])
    said = model.predict_proba(grid)[:, 1].reshape(side.size, side.size)
    ax.imshow(said, origin="lower", extent=(-1, 1, -1, 1), cmap="PuOr", vmin=0, vmax=1)
    right = model.score(X[held_out], y[held_out])
    ax.set_title(f"{name}\n{model.get_n_leaves()} leaves, {right:.0%}", fontsize=10)
plt.show()

# %%
# One in ten labels is wrong, so 90 % is the most that any model reaches. Bounds stay
# at a single leaf where no test alone tells anything; pruning keeps what the full tree
# has found.
