"""
A stream with drift
===================

The rule behind the labels changes twice. A tree that only grows is slow to notice; one
with a detector grows a second tree from a warning on, and swaps at the drift.
"""

import matplotlib.pyplot as plt
import numpy as np

from skconftree import ConfidenceTreeClassifier
from skconftree.datasets import make_agrawal

CHANGES, STEP = (10_000, 20_000), 250
X, y = make_agrawal(
    30_000, concept=[1, 4, 7], drift_at=CHANGES, perturbation=0.05, random_state=0
)

# %%
# Each row is predicted before it is learnt. The curve is the share that was right in
# each 250 rows; triangles are drifts that were detected.

_, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
for drift in (None, "ddm", "adwin"):
    tree = ConfidenceTreeClassifier(drift=drift)
    right, found, before = [], [], 0
    for start in range(0, len(y), STEP):
        rows = slice(start, start + STEP)
        said = tree.partial_fit_predict(X[rows], y[rows], classes=[0, 1])
        right.append((said == y[rows]).mean())
        if tree.n_drifts_ > before:
            found.append(start + STEP)
            before = tree.n_drifts_
    label = f"drift={drift!r}: {np.mean(right):.1%}"
    (line,) = ax.plot(np.arange(STEP, len(y) + 1, STEP), right, label=label, alpha=0.8)
    ax.plot(
        found, [0.55] * len(found), marker="^", linestyle="", color=line.get_color()
    )
    print(f"drift={drift!r}: {tree.get_n_leaves()} leaves, drifts near {found}")
for change in CHANGES:
    ax.axvline(change, color="gray", linestyle=":")
ax.set(xlabel="row", ylabel=f"accuracy of each {STEP} rows", ylim=(0.5, 1))
ax.legend(loc="lower right")
plt.show()
