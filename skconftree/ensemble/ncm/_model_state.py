"""Whether the parts of an NCM estimator that comes out of a pickle belong together."""

import numpy as np

from ...utils import are_classes, is_array, is_count, refuse_damage
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
        in_bag_shape = len(trees), (len(samples.y) + 7) // 8
        sound["_in_bag"] = is_array(in_bag, np.uint8, in_bag_shape)
        sound["_penalty"] = is_array(penalty, np.float64, (len(trees),)) and bool(
            np.isfinite(penalty).all()
        )
    refuse_damage(estimator, sound)


def _sound_parts(parts):
    classes = parts.get("classes_")
    return {
        "classes_": are_classes(classes) and parts.get("n_classes_") == len(classes),
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
    if not isinstance(samples, Samples):
        return False
    X, y, ranks, n_seen = samples
    K = parts["n_classes_"]
    return (
        is_array(y, np.uint16, (None,))
        and len(y) > 0
        and is_array(X, np.float32, (len(y), parts["n_features_in_"]))
        and is_array(ranks, np.uint32, (len(y),))
        and is_array(n_seen, np.int64, (K,))
        and all(part.flags.c_contiguous for part in samples)
        and bool(np.isfinite(X).all())
        and bool((y < K).all())
        and bool((n_seen >= np.bincount(y, minlength=K)).all())
    )
