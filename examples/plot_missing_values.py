"""
Missing values
==============

Nothing has to be filled in. At each node rows without the value go to the side where
they belong by their labels; and whether there is a value at all is a test of its own.
That matters when values are missing for a reason.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import export_text

rng = np.random.default_rng(0)
n = 2000
whole = rng.normal(size=(n, 3))
y = whole[:, 0] + 0.5 * rng.normal(size=n) > 0

# %%
# Two ways to lose a value of the first column: by accident, or because it was high, as
# when a scale ends.

SHARES = [0.0, 0.1, 0.2, 0.3, 0.4]
accident = rng.random(n)
high = whole[:, 0].argsort().argsort()[::-1] / n
filled = make_pipeline(SimpleImputer(), ConfidenceTreeClassifier())
_, axes = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained", sharey=True)
for ax, order, why in zip(axes, (accident, high), ("accident", "high"), strict=True):
    for model, name in (
        (ConfidenceTreeClassifier(), "as it is"),
        (filled, "filled in"),
    ):
        right = []
        for share in SHARES:
            X = whole.copy()
            X[order < share, 0] = np.nan
            right.append(cross_val_score(model, X, y, cv=5).mean())
        ax.plot(SHARES, right, marker="o", label=name)
    ax.set(title=f"missing: {why}", xlabel="share of the column that is missing")
axes[0].set_ylabel("accuracy")
axes[0].legend()
plt.show()

# %%
# What the tree asks when the highest 40 % are missing:

X = whole.copy()
X[high < 0.4, 0] = np.nan
tree = ConfidenceTreeClassifier(max_depth=2).fit(X, y)
print(export_text(tree, show_evidence=False))
