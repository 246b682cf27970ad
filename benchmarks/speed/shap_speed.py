"""SHAP values: CPU seconds compared with the TreeExplainer of the shap package.

Path-dependent SHAP values of the probabilities for 500 rows. The models have numeric
columns only, and shap explains their copies by ``to_sklearn``. Both have one thread.
Making the explainer is not measured. The largest difference is that of any value.

    python benchmarks shap_speed [--repeats 5]

Without shap nothing is measured, and the stored table stays what it is.
"""

import importlib
from functools import partial

import numpy as np
from common import options as command
from common.timing import interleaved, median
from sklearn.datasets import load_breast_cancer, load_digits

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.inspection import shap_values

N_ROWS = 500


def models():
    """Name, estimator and rows of each case."""
    for name, load in {"wdbc": load_breast_cancer, "digits": load_digits}.items():
        X, y = load(return_X_y=True)
        X = X.astype(np.float32)
        full = ConfidenceTreeClassifier(None, pruning=None)
        yield f"tree of {name}", full.fit(X, y), X[:N_ROWS]
        forest = ConfidenceForestClassifier(20, random_state=0)
        yield f"20 trees of {name}", forest.fit(X, y), X[:N_ROWS]


def main(argv=None):
    """Print the table."""
    options = command.parser(__doc__, repeats=5).parse_args(argv)
    shown, rows = command.tables("shap_speed", options), []
    try:
        shap = importlib.import_module("shap")
    except ImportError:
        print("shap is not installed: nothing is measured.")
        return
    for name, model, X in models():
        explainer = shap.TreeExplainer(model.to_sklearn())
        calls = {
            "own": partial(shap_values, model, X),
            "shap": partial(explainer.shap_values, X, check_additivity=False),
        }
        values, theirs = calls["own"]()[0], calls["shap"]()
        timed = interleaved(calls, options.repeats)
        seconds = {name: median(measured) for name, measured in timed.items()}
        trees = getattr(model, "estimators_", [model])
        rows.append(
            [
                name,
                sum(tree.get_n_leaves() for tree in trees),
                f"{1e3 * seconds['own']:.1f}",
                f"{1e3 * seconds['shap']:.1f}",
                f"{seconds['shap'] / seconds['own']:.1f}",
                f"{abs(values - theirs).max():.0e}",
            ]
        )
    header = ["model", "leaves", "skconftree, ms", "shap, ms", "shap / skconftree"]
    shown.show("shap-speed", [*header, "largest difference"], rows)
