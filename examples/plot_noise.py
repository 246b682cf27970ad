"""
Noise stays a stump
===================

Ten columns and a label that has nothing to do with any of them. A tree should stay a
single leaf, however many rows there are. CART finds something in any noise, and the
more rows, the more it finds.
"""

import matplotlib.pyplot as plt
import numpy as np

from skconftree import ConfidenceTreeClassifier

SIZES = [50, 100, 200, 500, 1000, 2000]
models = {
    "CART (bound=None)": ConfidenceTreeClassifier(None, pruning=None),
    "credible": ConfidenceTreeClassifier("credible"),
    "possibilistic": ConfidenceTreeClassifier("possibilistic"),
    "the default, not pruned": ConfidenceTreeClassifier(pruning=None),
    "the default": ConfidenceTreeClassifier(),
    "evalue": ConfidenceTreeClassifier("evalue"),
}
leaves = {name: np.zeros(len(SIZES)) for name in models}
for i, size in enumerate(SIZES):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(size, 10)), rng.integers(0, 2, size)
        for name, model in models.items():
            leaves[name][i] += model.fit(X, y).get_n_leaves() / 10

# %%
# A line at 1 is right: a single leaf.

_, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, means in leaves.items():
    ax.plot(SIZES, means, marker="o", label=name)
ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="leaves, mean of ten tables")
ax.legend()
plt.show()

# %%
# The default is lax on purpose. It expects up to one false split at a node, and lets
# pruning take back what does not lower an exact limit of the errors. For a promise
# there is ``"evalue"``.

for name, means in leaves.items():
    print(f"{name:25}", "  ".join(f"{mean:6.1f}" for mean in means))
