"""
Audit a tree: which splits hold on new rows?
============================================

Three trees grow from one half of a table, and the other half audits them: each split is
tested once on held-out rows. In a table whose truth is known, the audit confirms
exactly the three real splits, whether the tree is a full CART with 219 splits, a tuned
CART or the default tree.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier
from skconftree.inspection import ConfidenceTreeDisplay, audit_splits

VERDICTS = {
    "confirmed": "#0072B2",
    "not confirmed": "#E69F00",
    "too few rows": "#bbbbbb",
}


def three_trees(X, y):
    """A CART in full, one pruned by cross-validation, and ours."""
    cart = DecisionTreeClassifier(random_state=0)
    alphas = np.unique(cart.cost_complexity_pruning_path(X, y).ccp_alphas.clip(0.0))
    alphas = alphas[:: max(len(alphas) // 20, 1)]
    return {
        "CART": cart.fit(X, y),
        "CART, tuned": GridSearchCV(cart, {"ccp_alpha": alphas})
        .fit(X, y)
        .best_estimator_,
        "ours": ConfidenceTreeClassifier().fit(X, y),
    }


def show(audits):
    """Draw how many splits of each tree have which verdict."""
    _, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
    start = np.zeros(len(audits))
    for verdict, color in VERDICTS.items():
        counts = [
            sum(one.verdict == verdict for one in audit.splits_)
            for audit in audits.values()
        ]
        ax.barh(list(audits), counts, left=start, color=color, label=verdict)
        start += counts
    ax.invert_yaxis()
    ax.set_xlabel("splits")
    ax.legend(loc="lower right")
    plt.show()


# %%
# Tumors
# ------
# Most splits of a full CART are in nodes so small that no new rows could confirm them.
# Tuning removes most of these splits.

data = load_breast_cancer(as_frame=True)
X, X_new, y, y_new = train_test_split(
    data.data, data.target_names[data.target], test_size=0.5, random_state=0
)
trees = three_trees(X, y)
audits = {name: audit_splits(tree, X_new, y_new) for name, tree in trees.items()}
show(audits)
print(audits["ours"])

# %%
# The picture marks each split of the default tree with the result of the audit.

ConfidenceTreeDisplay.from_estimator(trees["ours"], audit=audits["ours"])

# %%
# Three levels
# ------------
# Twelve columns, of which three matter: the third column has an effect only where the
# first is large, and the second only where the third is large as well. So there are
# three real splits, one below the other. About one row in seven has a wrong label.

rng = np.random.default_rng(0)
X = rng.random((3_000, 12))
is_likely = (X[:, 0] >= 0.5) & ((X[:, 2] < 0.5) | (X[:, 1] < 0.5))
shares = np.where(is_likely, 0.85, 0.15)
y = rng.random(3_000) < shares
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
trees = three_trees(X, y)
audits = {name: audit_splits(tree, X_new, y_new) for name, tree in trees.items()}
show(audits)

# %%
# In all three trees the audit confirms only splits on these three columns.

for name, audit in audits.items():
    frame = audit.to_frame()
    confirmed = frame[frame.verdict == "confirmed"]
    print(f"{name}, {len(frame)} splits, {len(confirmed)} confirmed")
    print(confirmed[["test", "n_rows", "p_value"]].to_string(), end="\n\n")
