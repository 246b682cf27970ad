"""
Request labels with the forest, read the tree
=============================================

A tree that is to be read gets by with few labels if a forest requests them, and the
tree is grown from what the forest says of all rows, most of which have no label: the
forest makes more of few labels, and knows better which ones to request.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.active import ActiveLearner, simulate
from skconftree.inspection import (
    ActiveCurveDisplay,
    ConfidenceTreeDisplay,
    audit_splits,
)

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X_pool, X_new, y_pool, y_new = train_test_split(X, y, random_state=0)

learner = ActiveLearner(ConfidenceForestClassifier(random_state=0), random_state=0)
learner.fit(X_pool)
while learner.n_labeled_ < 40:
    rows = learner.query(2)
    learner.teach(rows, y_pool.iloc[rows])
tree = learner.to_tree(max_leaf_nodes=5, random_state=0)

# %%
# The tree, with the real rows of the pool in each node. Its splits have no evidence: it
# predicts what the forest predicts. "Decided" and "near tie with" say whether the rows
# of the pool prefer a split to the best one by another column.

ConfidenceTreeDisplay.from_estimator(tree)

# %%
# Beside it the default tree of as many labels at random, on rows that neither has seen,
# and how often the tree says what the forest does.

alone = ConfidenceTreeClassifier().fit(X_pool[:40], y_pool[:40])
print(f"default tree of 40 random labels  {alone.score(X_new, y_new):.3f}")
print(f"tree that reads the forest        {tree.score(X_new, y_new):.3f}")
print(f"forest                            {learner.score(X_new, y_new):.3f}")
print(f"tree and forest agree on          {tree.fidelity_:.3f} of the rows")

# %%
# Which of its splits are real, rows must say whose labels the forest has not learned.

print(audit_splits(tree, X_new, y_new))

# %%
# One pool may flatter. `simulate` draws it again in each of four runs; the curve of the
# tree stands beside that of its forest.

result = simulate(
    ConfidenceForestClassifier(25),
    X,
    y,
    cv=4,
    budget=50,
    batch_size=10,
    n_initial=10,
    to_tree=True,
    random_state=0,
)
ActiveCurveDisplay.from_simulation(result, score_name="accuracy")
