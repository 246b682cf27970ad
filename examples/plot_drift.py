"""
Concept drift in a stream: with and without a detector
======================================================

The concept behind the labels changes twice. The accuracy of a tree without a detector
recovers slowly. A tree with a detector trains a second tree after a warning, and
replaces the first one at the drift.
"""

import matplotlib.pyplot as plt

from skconftree import ConfidenceTreeClassifier
from skconftree.datasets import make_random_tree_stream
from skconftree.inspection import PrequentialDisplay

CHANGES = (10_000, 20_000)
X, y = make_random_tree_stream(
    30_000,
    n_leaves=10,
    p_left=0.98,
    p_right=0.02,
    concept=[0, 1, 2],
    drift_at=CHANGES,
    random_state=0,
)

# %%
# Each row is predicted before it is learned. The curves show the accuracy in each 250
# rows, and the triangles the detected drifts. After both changes, the trees with a
# detector recover first.

models = {
    f"drift={drift!r}": ConfidenceTreeClassifier(drift=drift)
    for drift in (None, "ddm", "adwin")
}
_, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
display = PrequentialDisplay.from_estimator(
    models, X, y, window=250, changes=CHANGES, ax=ax
)
for name, model in models.items():
    print(f"{name}: {model.get_n_leaves()} leaves, drifts near {display.drifts[name]}")
plt.show()

# %%
# If labels arrive late, the drift is detected late. Here each label arrives after 2,000
# rows.

late = {
    name: ConfidenceTreeClassifier(**model.get_params())
    for name, model in models.items()
}
_, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
PrequentialDisplay.from_estimator(
    late, X, y, window=250, changes=CHANGES, delay=2000, ax=ax
)
plt.show()
