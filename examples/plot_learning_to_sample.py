"""
Which labels does Learning To Sample request?
=============================================

Two records may be of the same person although a name is mistyped, or of two people of
one family. Of 100,000 pairs of records one in a thousand is a match, and someone has to
look at each pair whose label we want. Learning To Sample begins with pairs of all kinds
and goes where its trees are expected to be wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score

from skconftree.active import LearningToSampleClassifier
from skconftree.datasets import make_record_pairs

X, y = make_record_pairs(5000, 100_000, imbalance=1000, random_state=0)


def ask(rows, places):
    """Stands for a person who looks at pairs."""
    return y[places]


model = LearningToSampleClassifier(200, n_rounds=10, random_state=0).fit(X, ask)
bought = y[model.queried_].reshape(10, 20).sum(axis=1)
print(f"{y.sum()} matches among {len(y):,} pairs")
print(f"matches among the 20 labels of each round: {bought}")
print(f"F1 on all pairs: {f1_score(y, model.predict(X)):.2f}")

# %%
# As many labels at random hardly hold a match, and boosting learns nothing of them.

rows = np.random.default_rng(0).choice(len(y), 200, replace=False)
random = LearningToSampleClassifier(1.0, n_rounds=1, trees_per_round=100)
random.fit(X[rows], y[rows])
print(f"matches among 200 labels at random: {y[rows].sum()}")
print(f"F1: {f1_score(y, random.predict(X), zero_division=0.0):.2f}")

# %%
# The likeness of the names against that of the dates of birth: pairs at random on the
# left, what was requested on the right, later rounds darker.

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
shake = np.random.default_rng(1).uniform(-0.02, 0.02, size=(len(y), 2))
names = X[:, [0, 2]].mean(axis=1) + shake[:, 0]
dates = X[:, 7] + shake[:, 1]
some = np.random.default_rng(0).choice(len(y), 3000, replace=False)
axes[0].scatter(names[some], dates[some], s=3, c="tab:blue", alpha=0.3)
axes[0].scatter(names[y == 1], dates[y == 1], s=8, c="tab:orange")
axes[0].set(title="pairs (orange: all matches)", ylabel="date of birth: equal digits")
rounds = np.repeat(np.arange(10), 20)
found = axes[1].scatter(
    names[model.queried_], dates[model.queried_], s=14, c=rounds, cmap="viridis_r"
)
figure.colorbar(found, ax=axes[1], label="round")
axes[1].set(title="labels that were requested")
for axis in axes:
    axis.set_xlabel("first and last name: likeness")
