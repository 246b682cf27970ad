"""
Three published trees of one table
==================================

BOCT, PiTree and C-Tree ask different things before they split. On the same table, with
all else equal, how much of it does each dare to say?
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import DeRosaBound
from skconftree.inspection import ConfidenceTreeDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
classes = ["malignant", "benign"]
trees = {
    "BOCT (Collet and Pietquin 2015)": ConfidenceTreeClassifier("credible"),
    "PiTree (Serrurier and Prade 2015)": ConfidenceTreeClassifier("possibilistic"),
    "C-Tree (De Rosa and Cesa-Bianchi 2017)": ConfidenceTreeClassifier(
        DeRosaBound(c=0.1)
    ),
}
for name, tree in trees.items():
    accuracy = cross_val_score(tree, X, y, cv=5).mean()
    print(f"{name}: leaves: {tree.fit(X, y).get_n_leaves()}, {accuracy:.1%} right")

# %%
# The wider an edge, the more rows go along it. C-Tree is made for streams: a table of a
# few hundred rows is too small for its radius, and it says nothing.

for name, tree in trees.items():
    display = ConfidenceTreeDisplay.from_estimator(
        tree, class_names=classes, max_depth=2
    )
    display.figure_.suptitle(name)
plt.show()
