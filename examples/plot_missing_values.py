"""
Missing values without imputation
=================================

Missing values need no imputation. At each node, rows without the value go to the side
that fits their labels, and whether the value is missing is a candidate split of its
own. This matters if values are missing for a reason.
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
# Two ways in which values of the first column are missing: at random, or because they
# were high, as at the end of a scale. Accuracy falls with the share of missing values.
# In both cases the tree is as accurate without imputation as with it.

SHARES = [0.0, 0.1, 0.2, 0.3, 0.4]
accident = rng.random(n)
high = whole[:, 0].argsort().argsort()[::-1] / n
filled = make_pipeline(SimpleImputer(), ConfidenceTreeClassifier())
_, axes = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained", sharey=True)
for ax, order, why in zip(axes, (accident, high), ("at random", "high"), strict=True):
    for model, name in (
        (ConfidenceTreeClassifier(), "no imputation"),
        (filled, "imputation"),
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
# The tree if the highest 40% are missing:

X = whole.copy()
X[high < 0.4, 0] = np.nan
tree = ConfidenceTreeClassifier(max_depth=2).fit(X, y)
print(export_text(tree, show_evidence=False))
