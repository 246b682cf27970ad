"""
Categorical features without encoding
=====================================

A column of strings needs no encoding. A split sends a set of categories to one side. A
column with many categories has a huge number of such sets, and the best of them looks
good by chance. A split rule that counts these candidates is not misled.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import export_text

rng = np.random.default_rng(0)
n = 1000
X = pd.DataFrame(
    {
        "color": rng.choice(["red", "green", "blue", "black"], n),
        "size": rng.normal(size=n).round(2),
        "city": rng.choice([f"city {i}" for i in range(60)], n),
    }
)
chance = np.where(X["color"].isin(["red", "black"]), 0.8, 0.2)
y = np.where(rng.random(n) < chance, "buys", "leaves")
tree = ConfidenceTreeClassifier().fit(X, y)
print(export_text(tree, show_evidence=False))

# %%
# The city is unrelated to the label. Trees that do not count the sets of cities split
# on it again and again, as the feature importance of each column shows:

models = {
    "CART": ConfidenceTreeClassifier(None, pruning=None),
    "chi2, not corrected": ConfidenceTreeClassifier("chi2"),
    "the default": tree,
    "evalue": ConfidenceTreeClassifier("evalue"),
}
_, ax = plt.subplots(figsize=(7, 3), layout="constrained")
start = np.zeros(len(models))
shares = np.array([m.fit(X, y).feature_importances_ for m in models.values()])
for column, share in zip(X, shares.T, strict=True):
    ax.barh(list(models), share, left=start, label=column)
    start += share
ax.invert_yaxis()
ax.set_xlabel("share of the importance")
ax.legend()
plt.show()

for name, model in models.items():
    print(f"{name:20} {model.get_n_leaves():3} leaves")
