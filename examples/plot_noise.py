"""
Pure noise: how many leaves does a tree grow?
=============================================

Ten columns and a label that is unrelated to all of them. A tree should stay a single
leaf for any number of rows. CART overfits: it grows more leaves the more rows there
are.
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
# The number of leaves by the number of rows; 1 is correct. CART grows proportionally to
# the number of rows, while the default stays close to 1.

_, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, means in leaves.items():
    ax.plot(SIZES, means, marker="o", label=name)
ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="leaves, mean of ten tables")
ax.legend()
plt.show()

# %%
# The default threshold is permissive: up to one false split per node is expected by
# chance, and pruning removes splits that do not lower the pessimistic error estimate.
# For a guarantee use ``"evalue"``.

for name, means in leaves.items():
    print(f"{name:25}", "  ".join(f"{mean:6.1f}" for mean in means))
