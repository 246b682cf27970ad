"""
Partial dependence, and SHAP values
===================================

How does the forest's answer move with a column, all others as they are? Partial
dependence tells it of the table, SHAP values of single rows. Tools made for scikit-
learn's trees take the copy of `to_sklearn`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.inspection import PartialDependenceDisplay

from skconftree import ConfidenceForestClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
forest = ConfidenceForestClassifier(50, random_state=0).fit(X, y)
columns = X.columns[np.argsort(-forest.feature_importances_)[:3]].tolist()
_, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained", sharey=True)
PartialDependenceDisplay.from_estimator(forest, X, columns, ax=axes, grid_resolution=30)
plt.show()

# %%
# The forest's copy answers as the forest does. Where `shap` is installed, its fast
# explainer of trees takes it; the values of a row sum to what the forest says of it.

copy = forest.to_sklearn()
print(bool((copy.predict_proba(X) == forest.predict_proba(X)).all()))
try:
    import shap
except ImportError:
    print("shap is not installed here: pip install shap")
else:
    row = X.iloc[[20]].to_numpy()
    explainer = shap.TreeExplainer(copy)
    values = np.asarray(explainer.shap_values(row))[0, :, 1]
    for place in np.argsort(-abs(values))[:5]:
        print(f"{X.columns[place]}: {values[place]:+.3f}")
    total = explainer.expected_value[1] + values.sum()
    print(f"sum {total:.3f}, forest {forest.predict_proba(X.iloc[[20]])[0, 1]:.3f}")
