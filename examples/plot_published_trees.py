"""
Three published trees on one table: BOCT, PiTree and C-Tree
===========================================================

BOCT, PiTree and C-Tree have different split rules. The pictures show how large each
tree becomes on the same table, with all other settings equal.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import DeRosaBound
from skconftree.inspection import ConfidenceTreeDisplay

warnings.filterwarnings("ignore", "The tree is a single leaf")  # C-Tree, see below
data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
trees = {
    "BOCT (Collet and Pietquin 2015)": ConfidenceTreeClassifier("credible"),
    "PiTree (Serrurier and Prade 2015)": ConfidenceTreeClassifier("possibilistic"),
    "C-Tree (De Rosa and Cesa-Bianchi 2017)": ConfidenceTreeClassifier(
        DeRosaBound(c=0.1)
    ),
}
for name, tree in trees.items():
    accuracy = cross_val_score(tree, X, y, cv=5).mean()
    print(f"{name}: leaves: {tree.fit(X, y).get_n_leaves()}, accuracy {accuracy:.1%}")

# %%
# The width of an edge is the number of rows. C-Tree is made for streams: its bound
# needs more than a few hundred rows, so it stays a single leaf here.

for name, tree in trees.items():
    display = ConfidenceTreeDisplay.from_estimator(tree, max_depth=2)
    display.figure_.suptitle(name)
plt.show()
