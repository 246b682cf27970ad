"""Whether the parts of an NCM estimator that comes out of a pickle belong together."""

import numpy as np

from ...utils import is_count, refuse_damage
from ._centroid_tree import NCMTree
from ._samples import Samples


def check_ncm_tree(estimator):
    """Raise unless what a tree has learnt fits together.

    Parameters
    ----------
    estimator : NCMTreeClassifier
        Fitted or not.

    Raises
    ------
    ValueError
        If a part is missing, of another kind, or that of another model.
    """
    parts = vars(estimator)
    if "tree_" not in parts:
        return
    sound = _sound_parts(parts)
    if all(sound.values()):
        sound["tree_"] = fits(parts["tree_"], parts)
        samples = parts.get("_samples")
        sound["_samples"] = samples is None or are_samples(samples, parts)
    refuse_damage(estimator, sound)


def check_ncm_forest(estimator):
    """Raise unless what a forest has learnt fits together.

    Parameters
    ----------
    estimator : NCMForestClassifier
        Fitted or not.

    Raises
    ------
    ValueError
        If a part is missing, of another kind, or that of another model.
    """
    parts = vars(estimator)
    if "estimators_" not in parts:
        return
    sound = _sound_parts(parts)
    if all(sound.values()):
        trees, samples = parts["estimators_"], parts.get("_samples")
        sound["estimators_"] = (
            isinstance(trees, list)
            and len(trees) > 0
            and all(
                fits(getattr(tree, "tree_", None), parts)
                and np.array_equal(getattr(tree, "classes_", None), parts["classes_"])
                for tree in trees
            )
        )
        sound["_samples"] = are_samples(samples, parts)
    if all(sound.values()):
        in_bag, penalty = parts.get("_in_bag"), parts.get("_penalty")
        sound["_in_bag"] = (
            isinstance(in_bag, np.ndarray)
            and in_bag.dtype == np.uint8
            and in_bag.shape == (len(trees), (len(samples.y) + 7) // 8)
        )
        sound["_penalty"] = (
            isinstance(penalty, np.ndarray)
            and penalty.dtype == np.float64
            and penalty.shape == (len(trees),)
            and bool(np.isfinite(penalty).all())
        )
    refuse_damage(estimator, sound)


def _sound_parts(parts):
    classes = parts.get("classes_")
    return {
        "classes_": isinstance(classes, np.ndarray)
        and classes.ndim == 1
        and parts.get("n_classes_") == len(classes) > 0,
        "n_features_in_": is_count(parts.get("n_features_in_"))
        and parts["n_features_in_"] > 0,
        "_seed": is_count(parts.get("_seed")),
        "n_rows_seen_": is_count(parts.get("n_rows_seen_")),
        "n_updates_": is_count(parts.get("n_updates_")),
    }


def fits(tree, parts):
    """Whether a tree, which has checked itself, knows these features and classes."""
    return (
        isinstance(tree, NCMTree)
        and tree.node_count > 0
        and tree.n_features == parts["n_features_in_"]
        and tree.n_classes == parts["n_classes_"]
    )


def are_samples(samples, parts):
    """Whether rows can be learnt from: compiled code indexes by their classes."""
    if not isinstance(samples, Samples) or not all(
        isinstance(part, np.ndarray) and part.flags.c_contiguous for part in samples
    ):
        return False
    X, y, ranks, n_seen = samples
    n, K = len(y) if y.ndim == 1 else 0, parts["n_classes_"]
    return (
        n > 0
        and X.dtype == np.float32
        and X.shape == (n, parts["n_features_in_"])
        and bool(np.isfinite(X).all())
        and y.dtype == np.uint16
        and bool((y < K).all())
        and ranks.dtype == np.uint32
        and ranks.shape == (n,)
        and n_seen.dtype == np.int64
        and n_seen.shape == (K,)
        and bool((n_seen >= np.bincount(y, minlength=K)).all())
    )
