"""Whether the parts of a model that comes out of a pickle belong together."""

import numpy as np

from ..utils import are_classes, is_count, refuse_damage
from ._particle_filter import ParticleFilter

FIRST_ROWS = 100  # set the scale in partial_fit


def count_problems(n_classes):
    """Say how many hyperplanes tell so many classes apart: one for two, none for one.

    Parameters
    ----------
    n_classes : int

    Returns
    -------
    int
    """
    return n_classes if n_classes > 2 else n_classes - 1


def check_model(estimator):
    """Raise unless what has come out of a pickle fits together.

    Parameters
    ----------
    estimator : OASISClassifier
        Fitted or not.

    Raises
    ------
    ValueError
        If a part is missing, of another kind, or that of another model.
    """
    parts = vars(estimator)
    if "classes_" not in parts:
        return
    d, classes = parts.get("n_features_in_"), parts["classes_"]
    cloud, waiting = parts.get("_filter"), parts.get("_waiting")
    sound = {
        "classes_": are_classes(classes) and parts.get("n_classes_") == len(classes),
        "n_features_in_": is_count(d) and d > 0,
        "n_rows_seen_": is_count(parts.get("n_rows_seen_")),
        "_seed": is_count(parts.get("_seed")),
    }
    if all(sound.values()):
        sound["_filter"] = cloud is None or (
            isinstance(cloud, ParticleFilter)
            and cloud.n_problems == count_problems(len(classes))
            and cloud.n_features - d in (0, 1)
            and np.shape(parts.get("mean_")) == (d,)
            and np.shape(parts.get("scale_")) == (d,)
        )
        sound["_waiting"] = waiting is None or (
            isinstance(waiting, tuple)
            and len(waiting) == 3
            and 0 < len(waiting[0]) < FIRST_ROWS
            and [np.shape(part) for part in waiting]
            == [(len(waiting[0]), d), (len(waiting[0]),), (len(waiting[0]),)]
        )
    refuse_damage(estimator, sound)
