"""
What a split rule compares: impurity limits and radii
=====================================================

The pictures show, for each split, the quantities by which its rule decided: the limits
of the impurity of interval bounds, and the radius of Hoeffding-type bounds.
"""

from sklearn.datasets import load_breast_cancer

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import HoeffdingBound
from skconftree.inspection import ConfidenceTreeDisplay

data = load_breast_cancer(as_frame=True)

# %%
# Each box names the level of evidence, and its colored strip the class probabilities.
# With ``verbose=True`` a bar shows the upper limit of the impurity of the two children,
# and a tick the lower limit of the impurity of the node. A split requires that the bar
# ends before the tick.

X, y = data.data, data.target_names[data.target]
tree = ConfidenceTreeClassifier("credible", delta=0.1).fit(X, y)
ConfidenceTreeDisplay.from_estimator(tree, verbose=True)

# %%
# The same with every eighth row. Limits of small nodes are far from the observed
# values, the bars nearly reach their ticks, and several splits are rejected.

eighth = X.index % 8 == 0
tree.fit(X[eighth], y[eighth])
ConfidenceTreeDisplay.from_estimator(tree, verbose=True)

# %%
# A Hoeffding-type bound compares the best split with the best one on another feature,
# or with no split. The bar is the score of the best split and the whisker the radius:
# it must end before the tick of the runner-up.

tree = ConfidenceTreeClassifier(HoeffdingBound(delta=0.01, against="no_split"))
tree.fit(X, y)
ConfidenceTreeDisplay.from_estimator(tree, max_depth=2, verbose=True)
