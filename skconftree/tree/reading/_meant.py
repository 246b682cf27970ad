"""Refuses what is no confidence tree, and says what to give instead."""

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted


def check_tree(estimator):
    """Raise unless `estimator` is a fitted confidence tree."""
    check_is_fitted(estimator)
    if not (hasattr(estimator, "tree_") and hasattr(estimator, "explain_text")):
        raise TypeError(
            "The estimator must be a fitted ConfidenceTreeClassifier. Got "
            f"{type(estimator).__name__} instead.{_remedy(estimator)}"
        )


def _remedy(estimator):
    if isinstance(estimator, Pipeline):
        # Its tests ask for the columns that the other steps make, by their names.
        last = "Give its last step, pipeline[-1]"
        if hasattr(estimator[-1], "feature_names_in_"):
            return f" {last}."
        return (
            f" {last}, and feature_names=pipeline[:-1].get_feature_names_out(), the "
            "columns that the tree has seen."
        )
    if hasattr(estimator, "best_estimator_"):
        return " Give its best_estimator_."
    if hasattr(estimator, "estimators_"):
        return " Give one of its trees, which are in estimators_."
    if type(estimator).__module__.startswith("sklearn."):
        return " scikit-learn's own trees have functions in sklearn.tree."
    return ""
