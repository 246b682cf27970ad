"""
Calibrated probabilities by shrinkage
=====================================

A leaf with three rows of one class is not proof that other classes are impossible.
Shrinkage combines the class proportions of a leaf with those of the nodes above. In the
calibration curve, calibrated probabilities lie on the diagonal. Those of a full CART
are far from it, and the log loss is lowest with shrinkage.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier

rng = np.random.default_rng(0)
X = rng.uniform(size=(22_000, 8))
true = 1 / (1 + np.exp(-6 * (X[:, 0] + X[:, 1] * X[:, 2] - 0.75)))
y = rng.random(len(X)) < true
train, held_out = slice(0, 2000), slice(2000, None)
models = {
    "CART": DecisionTreeClassifier(random_state=0),
    "proportions (shrinkage=0)": ConfidenceTreeClassifier(shrinkage=0),
    "the default (shrinkage=10)": ConfidenceTreeClassifier(),
}

_, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
ax.plot([0, 1], [0, 1], color="gray", linestyle=":")
for name, model in models.items():
    proba = model.fit(X[train], y[train]).predict_proba(X[held_out])[:, 1]
    share, mean = calibration_curve(y[held_out], proba, n_bins=10, strategy="uniform")
    ax.plot(mean, share, marker="o", label=name)
    loss, brier = log_loss(y[held_out], proba), brier_score_loss(y[held_out], proba)
    print(f"{name:28} log loss {loss:6.3f}, Brier score {brier:.3f}")
ax.set(xlabel="probability", ylabel="share of the rows that have the class")
ax.legend()
plt.show()

# %%
# For comparison, the log loss of the true probabilities:

loss = log_loss(y[held_out], true[held_out])
print(f"{'the truth':28} log loss {loss:6.3f}")
