"""
New classes in a trained forest (hi-RF)
=======================================

A forest knows six digits, and then the others arrive one after the other. hi-RF regrows
the trees that are worse than the average, and counts the new rows in the leaves of the
others. The figure compares it with three other updates.
"""

import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from skconftree import NCMForestClassifier

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

# %%
# The same forest with four updates: some trees are regrown, leaves are only counted,
# leaves are split (incrementally growing trees), or all trees are regrown.

updates = {
    "hi-RF": "hi-rf",
    "only leaf counts": "leaves",
    "trees grow on": "igt",
    "retrained": "retrain",
}
known = y < 6
forests = {
    name: NCMForestClassifier(100, update=update, random_state=0).fit(
        X[known], y[known]
    )
    for name, update in updates.items()
}

scores = {name: [] for name in forests}
seconds = dict.fromkeys(forests, 0.0)
for digit in range(5, 10):
    for name, forest in forests.items():
        if digit > 5:
            start = time.process_time()
            forest.partial_fit(X[y == digit], y[y == digit])
            seconds[name] += time.process_time() - start
        seen = y_test <= digit
        scores[name].append(forest.score(X_test[seen], y_test[seen]))

# %%
# Rows of a new class reach the leaves of similar classes. If only the leaves are
# updated, the new class shares them with the old ones, and the accuracy is lower.

_, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, accuracies in scores.items():
    ax.plot(
        range(6, 11), accuracies, marker="o", label=f"{name}: {seconds[name]:.2f} s"
    )
ax.set_xlabel("digits known")
ax.set_xticks(range(6, 11))
ax.set_ylabel("accuracy on test rows of these digits")
ax.legend(title="CPU time of four updates")

# %%
# Number of trees that the last update of hi-RF regrew, and the mean error with which it
# compared the trees, on rows outside their samples:

forest = forests["hi-RF"]
print(int(forest.regrown_.sum()), round(forest.threshold_, 3))

plt.show()
