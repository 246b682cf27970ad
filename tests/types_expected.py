"""What checkers of types see of the calls that users make most; read by test_types."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from skconftree import (
    BinaryTests,
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMForestClassifier,
    NCMTreeClassifier,
    OASISClassifier,
    large,
)
from skconftree.active import ActiveLearner, StreamActiveLearner, simulate
from skconftree.active.pool import SimulationResult
from skconftree.bounds import BaseBound, credible_interval, param_grid
from skconftree.datasets import make_sea
from skconftree.drift import DDM, DriftState
from skconftree.evaluation import OneByOne, RiverClassifier, iter_prequential
from skconftree.inspection import (
    ConfidenceTreeDisplay,
    FeatureImportance,
    FeatureImportanceDisplay,
    SplitAudit,
    audit_splits,
    feature_importance,
    shap_values,
)
from skconftree.tree import RowIndex, export_html, export_text

Floats = NDArray[np.float64]
X, y = make_sea(500, random_state=0)
assert_type(X, NDArray[np.float32])
assert_type(y, NDArray[np.intp])

tree = ConfidenceTreeClassifier(drift=DDM(), max_features="sqrt")
assert_type(tree.fit(X, y), ConfidenceTreeClassifier)
assert_type(tree.partial_fit(X, y, classes=[0, 1]), ConfidenceTreeClassifier)
assert_type(tree.partial_fit_predict(X, y), NDArray[Any])
assert_type(tree.predict(X), NDArray[Any])
assert_type(tree.predict_proba(X), Floats)
assert_type(tree.predict_log_proba(X), Floats)
assert_type(tree.predict_proba_interval(X, confidence_level=0.9), Floats)
assert_type(tree.apply(X), NDArray[np.intp])
assert_type(tree.explain(X), list[list[dict[str, Any]]])
assert_type(tree.explain_text(X), str)
assert_type(tree.summary(), str)
assert_type(tree.get_n_leaves(), int)
assert_type(tree.index_rows(X), RowIndex)
assert_type(tree.n_classes_, int)
assert_type(tree.classes_, NDArray[Any])
assert_type(export_text(tree), str)
assert_type(export_html(tree, feature_names=["a", "b", "c"]), str)

forest = ConfidenceForestClassifier(10, bound=["gtest", None])
assert_type(forest.fit(X, y), ConfidenceForestClassifier)
assert_type(forest.predict_proba(X), Floats)
assert_type(forest.to_tree(X), ConfidenceTreeClassifier)
assert_type(large.fit(tree, "a.parquet", target="y"), ConfidenceTreeClassifier)
assert_type(
    large.fit(forest, ["a.parquet"], target="y", columns=["x"]),
    ConfidenceForestClassifier,
)
assert_type(NCMTreeClassifier().fit(X, y), NCMTreeClassifier)
assert_type(NCMForestClassifier().partial_fit(X, y), NCMForestClassifier)
assert_type(OASISClassifier().fit(X, y), OASISClassifier)
assert_type(BinaryTests().fit(X), BinaryTests)

learner = ActiveLearner(forest, strategy="margin")
assert_type(learner.fit(X), ActiveLearner)
assert_type(learner.teach(0, 1), ActiveLearner)
assert_type(learner.predict(X), NDArray[Any])
assert_type(StreamActiveLearner(tree).teach(X, y), StreamActiveLearner)
assert_type(simulate(tree, X, y), SimulationResult)

assert_type(audit_splits(tree, X, y), SplitAudit)
assert_type(shap_values(tree, X), tuple[Floats, Floats])
assert_type(feature_importance(forest, X, y, groups="correlated"), FeatureImportance)
assert_type(
    FeatureImportanceDisplay.from_estimator(forest, X, y), FeatureImportanceDisplay
)
assert_type(forest.unbiased_feature_importances_, Any)
assert_type(ConfidenceTreeDisplay.from_estimator(tree), ConfidenceTreeDisplay)
assert_type(DDM().update(True), DriftState)
assert_type(OneByOne(tree).predict_proba_one({"a": 1.0}), dict[Any, float])
assert_type(RiverClassifier(tree).explain_one({"a": 1.0}), list[dict[str, Any]])
assert_type(next(iter_prequential(tree, X, y)).accuracy, float)
interval = credible_interval([3, 4])
assert_type(interval[0], np.float64 | Floats)
bound: BaseBound = tree.bound_
grid = param_grid(n=2)
