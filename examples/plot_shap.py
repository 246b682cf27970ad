"""
Feature effects: partial dependence and SHAP values
===================================================

Partial dependence shows how the prediction of the forest changes with a feature, on
average over the table. SHAP values explain single rows. Tools for scikit-learn's trees
work on the copy that `to_sklearn` returns.
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
# The copy has the same predictions as the forest. If `shap` is installed, its tree
# explainer accepts the copy; the SHAP values of a row sum to the prediction.

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
    for column in np.argsort(-abs(values))[:5]:
        print(f"{X.columns[column]}: {values[column]:+.3f}")
    total = explainer.expected_value[1] + values.sum()
    print(f"sum {total:.3f}, forest {forest.predict_proba(X.iloc[[20]])[0, 1]:.3f}")
