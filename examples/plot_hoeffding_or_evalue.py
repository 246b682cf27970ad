"""
Hoeffding bound or e-value on a stream?
=======================================

A leaf of a growing tree is examined again and again. The Hoeffding bound waits until
the best split leads by a margin that depends on the number of rows alone. An e-value
tests the split itself. The figure shows which of them learns the stream sooner.
"""

import matplotlib.pyplot as plt

from skconftree import ConfidenceTreeClassifier
from skconftree.datasets import make_random_tree_stream
from skconftree.inspection import PrequentialDisplay

X, y = make_random_tree_stream(n_samples=20_000, random_state=1)
models = {
    name: ConfidenceTreeClassifier(name, leaf_prediction="majority")
    for name in ("hoeffding", "evalue")
}
PrequentialDisplay.from_estimator(models, X, y, window=1000)
plt.show()

# %%
# Neither is a test of the tree as a whole. The e-value is valid at any time although a
# leaf is examined repeatedly, and still needs fewer rows until its splits; :doc:`the
# guide </guide/hoeffding>` explains why.

for name, model in models.items():
    model.partial_fit(X, y, classes=[0, 1])
    print(f"{name}: leaves after {len(X):,} rows: {model.get_n_leaves()}")
