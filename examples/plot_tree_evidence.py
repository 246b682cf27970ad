"""
A tree and its evidence
=======================

Every split of this tree was allowed by a statement about the class counts. The
picture shows both: where the rows go, and how clear the decision was.
"""

from sklearn.datasets import load_breast_cancer

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import HoeffdingBound
from skconftree.inspection import ConfidenceTreeDisplay

data = load_breast_cancer(as_frame=True)

# %%
# A box says in words how strong its split is. The colored strip shows the
# probabilities of the classes. With ``verbose=True`` a bar below it goes as far as the
# impurity of the two children may reach, and the tick stands at what the impurity of
# the node is at least. A split needs the bar to end before the tick.

tree = ConfidenceTreeClassifier("credible", delta=0.1).fit(data.data, data.target)
names = list(data.target_names)
ConfidenceTreeDisplay.from_estimator(tree, class_names=names, verbose=True)

# %%
# The same with every eighth row only. Limits of small nodes lie far from what was
# observed, bars come close to their ticks, and splits that many rows allowed wait.

few = data.data.index % 8 == 0
tree.fit(data.data[few], data.target[few])
ConfidenceTreeDisplay.from_estimator(tree, class_names=names, verbose=True)

# %%
# A race compares the winner with the best test of another attribute, or with no split.
# The bar is the winner's score, the whisker the radius of the race: it has to end
# before the runner-up's tick.

tree = ConfidenceTreeClassifier(HoeffdingBound(delta=0.01, against="no_split"))
tree.fit(data.data, data.target)
ConfidenceTreeDisplay.from_estimator(tree, class_names=names, max_depth=2, verbose=True)
