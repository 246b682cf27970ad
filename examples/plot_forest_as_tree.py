"""
Distillation: label with a forest, read a tree
==============================================

A tree that people read needs few labels if a forest selects them, and if the tree is
grown from the predictions of the forest for all rows. The forest makes better use of
few labels and selects better queries.
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
# The distilled tree, with the rows of the pool in each node. Its splits have no
# evidence, because it predicts what the forest predicts. "Decided" and "near tie with"
# show whether the rows of the pool prefer a split to the best one on another column.

ConfidenceTreeDisplay.from_estimator(tree)

# %%
# Accuracy on held-out rows, compared with the default tree trained on as many random
# labels, and the fidelity of the distilled tree to its forest.

alone = ConfidenceTreeClassifier().fit(X_pool[:40], y_pool[:40])
print(f"default tree of 40 random labels  {alone.score(X_new, y_new):.3f}")
print(f"tree that reads the forest        {tree.score(X_new, y_new):.3f}")
print(f"forest                            {learner.score(X_new, y_new):.3f}")
print(f"tree and forest agree on          {tree.fidelity_:.3f} of the rows")

# %%
# Rows whose labels the forest has not learned can show which of its splits are real.

print(audit_splits(tree, X_new, y_new))

# %%
# One pool may be a lucky draw. `simulate` repeats the comparison with four pools; the
# figure shows the learning curves of the tree and of its forest.

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
