"""
OASIS: unlabeled rows shape a linear classifier
===============================================

The DICED table is a square cut into four dice. Without labels its two gaps look alike,
but only one of them separates the classes. OASIS represents its uncertainty by many
lines (particles). Unlabeled rows move the lines into the gaps, and a label is requested
if the lines disagree.
"""

import matplotlib.pyplot as plt
import numpy as np

from skconftree import OASISClassifier
from skconftree.datasets import make_diced

X, y = make_diced(500, random_state=0)
X = (X - X.mean(axis=0)) / (2 * X.std(axis=0))

# %%
# The first two labels are given. For other rows a label is requested only if the lines
# on both sides of the row have nearly the same weight.

start = [0, int((y != y[0]).argmax())]
rest = [row for row in range(500) if row not in start]
model = OASISClassifier(standardize=False, random_state=0)
model.partial_fit(X[start], y[start], classes=[0, 1])
clouds, queried, wrong = {}, list(start), 0
for n, row in enumerate(rest, start=3):
    wrong += model.predict(X[[row]])[0] != y[row]
    ask = model.query_score(X[[row]], "oasis")[0] < 0.1
    queried += [row] if ask else []
    model.partial_fit(X[[row]], [y[row] if ask else None])
    if n in (10, 50, 500):
        clouds[n] = model.particles_[0], model.weights_[0], list(queried)
print(
    f"{len(queried)} labels of 500; {wrong} rows were predicted wrong before learning;"
)
print(f"error of the model at the end: {1 - model.score(X, y):.1%}")

# %%
# The direction of each line, as an angle. The correct answer is 0. For unlabeled rows,
# the opposite direction and the two directions of the other gap are as good.

figure, axes = plt.subplots(2, 3, figsize=(9, 5.5), layout="constrained")
for (n, (lines, weights, queried_rows)), (left, right) in zip(
    clouds.items(), axes.T, strict=True
):
    angle = np.degrees(np.arctan2(lines[:, 1], lines[:, 0]))
    left.hist(angle, bins=np.arange(-180, 181, 10), weights=weights)
    left.set(title=f"after {n} rows", xticks=[-180, -90, 0, 90, 180], ylim=(0, 1))
    right.scatter(*X.T, s=4, c=np.where(y == 1, "C1", "C0"), alpha=0.4)
    right.scatter(*X[queried_rows].T, s=30, facecolors="none", edgecolors="black")
    right.set(xticks=[], yticks=[], title=f"{len(queried_rows)} labels")
axes[0, 0].set_ylabel("weight of the lines")
