"""The state of a model, and whether what comes out of a pickle belongs together."""

import numpy as np

from ..tables._features import Features
from ..tables._weights import LARGEST_SUM
from ..utils import canonical, is_array, is_count, refuse_damage
from ..utils._lock import reads
from ..utils._state import Frozen
from .nodes._tree import Tree
from .stream._grower import Grower


class SavedModel:
    """Mixin of a tree estimator that is saved, copied, and checked when it is read."""

    def __sklearn_is_fitted__(self):
        return "tree_" in vars(self)

    @reads
    def __getstate__(self):
        state = dict(super().__getstate__())
        if isinstance(state.get("_grower"), Grower):
            reduced = self._grower.__reduce__()
            state["_grower"], state["tree_"] = Frozen(reduced), reduced[1][0]
        return canonical(state)

    def __setstate__(self, state):
        super().__setstate__(state)
        if isinstance(self._grower, Frozen):  # copy.copy does not share what grows
            self._grower = self._grower.thaw()
        if isinstance(self._grower, Grower) and "tree_" in vars(self):
            self.tree_ = self._grower.tree  # what is read is what learns
        check_model(self)
        if self._grower is not None:
            self._grower.share_lock(self)


def check_model(estimator):
    """Raise unless what a tree estimator has learnt fits together.

    Compiled code indexes the arrays of a tree with classes, features and codes.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier
        Fitted or not.

    Raises
    ------
    ValueError
        If a part is missing, of another kind, or that of another model.
    """
    parts = vars(estimator)
    if "tree_" not in parts:
        return
    tree, grower = parts["tree_"], parts.get("_grower")
    sound = isinstance(tree, Tree) and tree.node_count > 0
    sound = sound and isinstance(grower, Grower | None)
    sound_parts = {
        "tree_": sound,
        "classes_": sound and _has_classes(parts, tree),
        "n_features_in_": sound and _has_features(parts, tree),
        "bound_": sound and _has_bound(parts, tree),
        "_grower": sound and _has_grower(parts, tree, grower),
        "_honest_counts": sound and _has_honest_counts(parts, tree),
    }
    refuse_damage(estimator, sound_parts)


def _has_classes(parts, tree):
    classes, n_classes = parts.get("classes_"), parts.get("n_classes_")
    return (
        is_array(classes, None, (tree.n_classes,))
        and is_count(n_classes)
        and n_classes == tree.n_classes
    )


def _has_features(parts, tree):
    d = tree.n_features
    n_features, names = parts.get("n_features_in_"), parts.get("feature_names_in_")
    features, nominal = parts.get("_features"), parts.get("is_categorical_")
    if not (is_count(n_features) and n_features == d):
        return False
    if names is not None and np.shape(names) != (d,):
        return False
    if features is None:
        return nominal is None and not tree.is_nominal.any()
    return (
        isinstance(features, Features)
        and len(features.dictionaries) == d
        and np.array_equal(nominal, features.is_categorical)
        and _asks_of_kinds(tree, nominal)
        and _has_categories(tree, features)
    )


def _asks_of_kinds(tree, nominal):
    # Nominal tests are of nominal columns, and thresholds of the others.
    split = tree.feature >= 0
    return np.array_equal(nominal[tree.feature[split]], tree.is_nominal[split])


def _has_categories(tree, features):
    # A category that a test knows has a name.
    named = [0 if one is None else len(one.codes) for one in features.dictionaries]
    return bool((tree.n_known() <= named).all())


def _has_bound(parts, tree):
    # Splits have evidence if a bound has looked at them.
    return "bound_" in parts and tree.keeps_evidence == (parts["bound_"] is not None)


def _has_grower(parts, tree, grower):
    if not is_count(parts.get("n_rows_seen_")):
        return False
    if grower is None:
        return True
    nominal = parts["is_categorical_"]
    nominal = () if nominal is None else tuple(np.flatnonzero(nominal).tolist())
    return grower.recipe.nominal == nominal and is_count(parts.get("_rows_before"))


def _has_honest_counts(parts, tree):
    counts = parts.get("_honest_counts")
    return counts is None or (
        is_array(counts, np.float64, (tree.node_count, tree.n_classes))
        and bool(((counts >= 0.0) & (counts <= LARGEST_SUM)).all())
    )
