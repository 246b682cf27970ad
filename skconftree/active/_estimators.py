"""Capabilities of classifiers that query strategies and stopping rules require.

The attribute `needs` of a strategy or rule has the names of the capabilities: methods,
or the keys of `NEED_DESCRIPTIONS`. *Hypotheses* are the members of an ensemble, or the
hyperplanes of a Bayesian linear classifier. A *learner* is an active learner, which
wraps a classifier.
"""

from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from ..utils._warnings import warn

NEED_DESCRIPTIONS = {
    "predict_proba": "predict_proba",
    "leaves": "the leaves of a single tree (apply)",
    "committee": "members that vote (estimators_)",
    "hypotheses": "hypotheses that predict labels (hypotheses)",
    "query_score": "its own query scores (query_score)",
}


def final_step(estimator):
    """Return the final estimator of a pipeline, and the transform of earlier steps."""
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        return estimator[-1], lambda X: estimator[:-1].transform(X)
    final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return final, lambda X: X


def tags_of_wrapper(tags, estimator):
    """Return the tags of a learner, which accepts the same input as its classifier."""
    inner = get_tags(estimator)
    tags.input_tags = inner.input_tags
    tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
    return tags


def supports(strategy, estimator):
    """Whether a classifier, fitted or not, has the capabilities a strategy needs."""
    return not _unmet_needs(needs_of(strategy), estimator)


def needs_of(strategy):
    """Capabilities that a strategy or rule needs; none if it has no `needs`."""
    return getattr(strategy, "needs", ())


def _unmet_needs(needs, estimator):
    final, _ = final_step(estimator)
    unmet = []
    for need in needs:
        if need == "leaves":
            is_met = has_leaves(estimator)
        elif need == "committee":
            is_met = _is_committee(final)
        elif need == "hypotheses":
            is_met = hasattr(final, need)
        else:
            is_met = hasattr(estimator, need)
        if not is_met:
            unmet.append(need)
    return unmet


def has_leaves(estimator):
    """Whether it is a single tree, whose `apply` returns one leaf per row."""
    final, _ = final_step(estimator)
    return hasattr(final, "apply") and not _is_committee(final)


def _is_committee(final):
    return hasattr(final, "estimators_") or hasattr(final, "n_estimators")


def with_lasting_nodes(model):
    """Set `refit_rows` to 0, so that the nodes of a tree keep their ids.

    Otherwise `partial_fit` of a new tree refits it to its first rows several times.
    """
    names = [n for n in model.get_params() if n.split("__")[-1] == "refit_rows"]
    return model.set_params(**dict.fromkeys(names, 0)) if names else model


def warn_of_drift_detector(estimator):
    """Warn if a classifier would detect drift on rows selected by a strategy.

    The value "auto", the default of forests, is chosen by nobody and gives no warning,
    although it may monitor subtrees.
    """
    drift = getattr(final_step(estimator)[0], "drift", None)
    if drift not in (None, "auto"):
        warn(
            f"The classifier detects drift by itself (drift={drift!r}), but the query "
            "strategy selects the rows that it learns: it may detect drift where there "
            "is none, and discard what it has learned. Set its drift to None. "
            "StreamActiveLearner(strategy='split', drift='ddm') detects drift on "
            "labels that are queried at random."
        )


def check_capabilities(strategy, estimator, others):
    """Raise ValueError if the classifier lacks a capability.

    The message suggests those of the strategies `others`, by name, that can be used.
    """
    unmet = _unmet_needs(needs_of(strategy), estimator)
    if unmet:
        alternatives = [name for name in others if supports(others[name], estimator)]
        raise ValueError(
            f"{type(strategy).__name__} needs "
            f"{' and '.join(NEED_DESCRIPTIONS.get(need, need) for need in unmet)}, "
            f"which {type(final_step(estimator)[0]).__name__} does not have. Use one "
            f"of {alternatives}, or another classifier."
        )
