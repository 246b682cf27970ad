"""Whether what comes out of a pickle is an active learner of its pool."""

import numpy as np

from ...utils import are_classes, is_array, is_count, refuse_damage
from .._labels import LabelCodes
from .._rows import n_rows_of
from .._state import fits_classes, fits_features
from ._answers import Batch, Pool


def check_learner(learner):
    """Raise ValueError unless what has been learnt fits the pool and the answers."""
    parts = vars(learner)
    if "_codes" not in parts and "_answers" not in parts:
        return
    pool, coder = parts.get("_pool"), parts.get("_coder")
    start, answers = parts.get("_start"), parts.get("_answers")
    d = parts.get("n_features_in_")
    sound = {
        "n_features_in_": d is None or (is_count(d) and d > 0),  # texts have none
        "_pool": isinstance(pool, Pool) and _is_pool(vars(pool), d),
        "_coder": isinstance(coder, LabelCodes) and _is_coder(vars(coder)),
        "_seed": is_count(parts.get("_seed")),
        "_asked": parts.get("_asked", ()) is None,
        "_strategy": callable(getattr(parts.get("_strategy"), "select", None)),
        "_weighs_pool": isinstance(parts.get("_weighs_pool"), bool),
    }
    if all(sound.values()):
        n, classes = pool.n_rows, coder.classes
        sound["_start"] = _is_batch(start, n, classes)
        sound["_answers"] = isinstance(answers, list) and all(
            _is_batch(one, n, classes) for one in answers
        )
    if all(sound.values()):
        sound |= _compared(parts, [start, *answers], n, coder)
    if all(sound.values()):
        sound["estimator_"] = _is_model(learner, classes, d)
    refuse_damage(learner, sound)


def _is_pool(parts, n_features):
    X = parts.get("X")
    shape = getattr(X, "shape", ())
    return (
        len(shape) > 0
        and n_rows_of(X) == parts.get("n_rows")
        and (n_features is None if len(shape) == 1 else shape[1] == n_features)
        and isinstance(parts.get("_made_of"), tuple)
        and len(parts["_made_of"]) == 3
        and _makes_coordinates(*parts["_made_of"])
        and parts.get("_embedding", ()) is None
    )


def _makes_coordinates(transform, neighbors, seed):
    return (
        (transform is None or callable(transform))
        and (neighbors is None or hasattr(neighbors, "kneighbors"))
        and is_count(seed)
    )


def _is_coder(parts):
    return (
        are_classes(parts.get("classes"), 0)
        and isinstance(parts.get("fixed"), bool)
        and np.ndim(parts.get("missing_label", ())) == 0
    )


def _is_batch(batch, n_rows, classes):
    if not isinstance(batch, Batch):
        return False
    rows, known, labels, weight, n_wrong = batch
    if not (
        is_array(rows, np.intp, (None,))
        and is_array(known, bool, rows.shape)
        and is_array(labels, None, (int(known.sum()),))
        and ((rows >= 0) & (rows < n_rows)).all()
        and len(np.unique(rows)) == len(rows)
    ):
        return False
    return (n_wrong is None or (is_count(n_wrong) and n_wrong <= len(labels))) and (
        weight is None
        or (
            is_array(weight, np.float64, rows.shape)
            and bool((np.isfinite(weight) & (weight > 0.0)).all())
        )
    )


def _compared(parts, batches, n_rows, coder):
    # What is kept for speed, with what the answers say.
    codes = np.full(n_rows, -1, dtype=np.intp)
    parked = np.zeros(n_rows, dtype=bool)
    order, weights, n_taught = [], None, -len(batches[0].rows)
    for rows, known, labels, weight, _ in batches:
        found = coder.encode(labels)
        if found is None or (codes[rows] >= 0).any():
            return {"_answers": False}
        codes[rows[known]] = found
        parked[rows] = ~known
        order.extend(rows[known].tolist())
        n_taught += len(rows)
        if weight is not None:
            weights = np.ones(n_rows) if weights is None else weights
            weights[rows[known]] = weight[known]
    return {
        "_codes": _is_same(parts.get("_codes"), codes),
        "_parked": _is_same(parts.get("_parked"), parked),
        "_order": type(parts.get("_order")) is list and parts["_order"] == order,
        "_n_taught": parts.get("_n_taught") == n_taught,
        "_n_parked": parts.get("_n_parked") == int(parked.sum()),
        "_weights": parts.get("_weights", 0) is None
        if weights is None
        else _is_same(parts.get("_weights"), weights),
    }


def _is_same(array, expected):
    return is_array(array, expected.dtype, expected.shape) and np.array_equal(
        array, expected
    )


def _is_model(learner, classes, n_features):
    parts = vars(learner)
    if "estimator_" not in parts:
        return not learner.prefit and not parts["_order"]
    model = parts["estimator_"]
    if not hasattr(model, "predict"):
        return False
    # one that was fitted elsewhere may know more
    return bool(learner.prefit) or (
        fits_classes(model, classes) and fits_features(model, n_features)
    )
