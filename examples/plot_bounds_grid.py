"""
Select a split rule by grid search
==================================

All split rules are values of one parameter, so one grid search can compare them. The
table shows the log loss of each rule with its best confidence parameter, and the number
of leaves.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, cross_validate

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import param_grid

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
grid = param_grid(["gtest", "evalue", "bayes_factor", "credible", "hoeffding", "chi2"])
search = GridSearchCV(ConfidenceTreeClassifier(), grid, scoring="neg_log_loss", cv=5)
search.fit(X, y)
print(search.best_params_)

# %%
# The best value for each split rule. Trees with few leaves are easier to read; a lower
# log loss means better probabilities.

best = {}
for parameters, loss in zip(
    search.cv_results_["params"], -search.cv_results_["mean_test_score"], strict=True
):
    name = str(parameters["bound"])
    if name not in best or loss < best[name][0]:
        best[name] = loss, parameters

_, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, (loss, parameters) in best.items():
    tree = ConfidenceTreeClassifier(**parameters)
    fitted = cross_validate(tree, X, y, cv=5, return_estimator=True)["estimator"]
    leaves = np.mean([one.get_n_leaves() for one in fitted])
    ax.plot(leaves, loss, "o")
    ax.annotate(name, (leaves, loss), xytext=(6, 4), textcoords="offset points")
ax.set(xlabel="leaves", ylabel="log loss (lower is better)", xmargin=0.2)
plt.show()
