"""
Which gap tells the classes apart?
==================================

The DICED table is a square cut into four dice. Without labels its two gaps look alike;
one of them parts the classes. OASIS keeps a cloud of lines, lets unlabeled rows
push lines out of the dice, and asks for a label where the cloud is undecided.
"""

import matplotlib.pyplot as plt
import numpy as np

from skconftree import OASISClassifier
from skconftree.datasets import make_diced

X, y = make_diced(500, random_state=0)
X = (X - X.mean(axis=0)) / (2 * X.std(axis=0))

# %%
# The first two labels are given. Of the other rows a label is requested only where the
# lines on either side of the row weigh nearly the same.

start = [0, int((y != y[0]).argmax())]
rest = [row for row in range(500) if row not in start]
model = OASISClassifier(standardize=False, random_state=0)
model.partial_fit(X[start], y[start], classes=[0, 1])
clouds, asked, wrong = {}, list(start), 0
for n, row in enumerate(rest, start=3):
    wrong += model.predict(X[[row]])[0] != y[row]
    ask = model.query_score(X[[row]], "oasis")[0] < 0.1
    asked += [row] if ask else []
    model.partial_fit(X[[row]], [y[row] if ask else None])
    if n in (10, 50, 500):
        clouds[n] = model.particles_[0], model.weights_[0], list(asked)
print(f"{len(asked)} labels of 500; {wrong} rows were predicted wrong before learning;")
print(f"error of the model at the end: {1 - model.score(X, y):.1%}")

# %%
# The direction in which each line looks, as an angle. The right answer is 0: the first
# feature, rising. Its opposite, and the two directions of the other gap, are as good
# for unlabeled rows.

figure, axes = plt.subplots(2, 3, figsize=(9, 5.5), layout="constrained")
for (n, (lines, weights, bought)), (left, right) in zip(
    clouds.items(), axes.T, strict=True
):
    angle = np.degrees(np.arctan2(lines[:, 1], lines[:, 0]))
    left.hist(angle, bins=np.arange(-180, 181, 10), weights=weights)
    left.set(title=f"after {n} rows", xticks=[-180, -90, 0, 90, 180], ylim=(0, 1))
    right.scatter(*X.T, s=4, c=np.where(y == 1, "tab:orange", "tab:blue"), alpha=0.4)
    right.scatter(*X[bought].T, s=30, facecolors="none", edgecolors="black")
    right.set(xticks=[], yticks=[], title=f"{len(bought)} labels")
axes[0, 0].set_ylabel("weight of the lines")
