"""
A first tree with default settings
==================================

The default tree needs no tuning. The picture shows the path of the rows and, for each
split, the number of candidate splits that are expected to look this good by chance.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier
from skconftree.inspection import ConfidenceTreeDisplay
from skconftree.tree import node_table

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
tree = ConfidenceTreeClassifier().fit(X, y)
ConfidenceTreeDisplay.from_estimator(tree)
plt.show()

# %%
# The same tree as text. The evidence becomes weaker further down, because nodes have
# fewer rows and less is left to find.

for row in node_table(tree):
    if row.test:
        print(
            f"{row.test:32} {row.weight:4.0f} rows, "
            f"{row.evidence.candidates}, {row.evidence.short}"
        )

# %%
# Compared with CART, which grows until its leaves are pure:

for model in (tree, DecisionTreeClassifier(random_state=0)):
    right = cross_val_score(model, X, y, cv=10).mean()
    leaves = model.fit(X, y).get_n_leaves()
    print(f"{type(model).__name__:25} accuracy {right:.1%}, {leaves} leaves")
