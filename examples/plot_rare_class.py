"""
Imbalanced classes: choose a decision threshold
===============================================

If one row in twelve has the class that matters, predicting the more probable class
misses most of them. The ROC curves show the true positive rate (recall) and the false
positive rate of a tree and of a forest at all thresholds; a lower threshold finds more
rows of the class.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import RocCurveDisplay, precision_score, recall_score
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

X, y = make_classification(
    4000,
    12,
    n_informative=5,
    weights=[0.92],
    flip_y=0.02,
    class_sep=0.8,
    random_state=0,
)
X, X_new, y, y_new = train_test_split(X, y, stratify=y, random_state=0)
tree = ConfidenceTreeClassifier().fit(X, y)
forest = ConfidenceForestClassifier(random_state=0).fit(X, y)

_, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
RocCurveDisplay.from_estimator(tree, X_new, y_new, ax=ax, name="tree")
RocCurveDisplay.from_estimator(forest, X_new, y_new, ax=ax, name="forest")
plt.show()

# %%
# A threshold that cross-validation tuned for balanced accuracy, compared with the usual
# 0.5:

tuned = TunedThresholdClassifierCV(tree, scoring="balanced_accuracy", cv=5).fit(X, y)
for name, model in (("at 0.5", tree), (f"at {tuned.best_threshold_:.2f}", tuned)):
    predicted = model.predict(X_new)
    recall = recall_score(y_new, predicted)
    precision = precision_score(y_new, predicted)
    print(f"{name}: recall {recall:.0%}, precision {precision:.0%}")
