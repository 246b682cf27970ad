"""What classifiers have that strategies and stopping rules need."""

from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from ..utils._warnings import warn

WORDS = {
    "predict_proba": "predict_proba",
    "leaves": "the leaves of a single tree (apply)",
    "committee": "members that vote (estimators_)",
    "hypotheses": "hypotheses that foresee labels (hypotheses)",
    "query_score": "scores of its own (query_score)",
}


def final_step(estimator):
    """The classifier at the end of a pipeline, and a function: what it sees of rows."""
    if not isinstance(estimator, Pipeline):
        return estimator, _as_they_are
    before = estimator[:-1]
    seen = (lambda X: before.transform(X)) if len(before) else _as_they_are
    return estimator[-1], seen


def _as_they_are(X):
    return X


def tags_of_wrapper(tags, estimator):
    """Tags of a learner, which takes the rows that its classifier does."""
    inner = get_tags(estimator)
    tags.input_tags = inner.input_tags
    tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
    return tags


def serves(strategy, estimator):
    """Whether a classifier, fitted or not, has what a strategy needs."""
    return not _lacks(needs_of(strategy), estimator)


def needs_of(strategy):
    """What a classifier must have for a strategy or rule, which need not say."""
    return getattr(strategy, "needs", ())


def _lacks(needs, estimator):
    final, _ = final_step(estimator)
    lacks = []
    for need in needs:
        if need == "leaves":
            found = has_leaves(estimator)
        elif need == "committee":
            found = _is_committee(final)
        elif need == "hypotheses":
            found = hasattr(final, need)
        else:
            found = hasattr(estimator, need)
        if not found:
            lacks.append(need)
    return lacks


def has_leaves(estimator):
    """Whether it is one tree, fitted or not, whose `apply` gives one leaf a row."""
    final, _ = final_step(estimator)
    return hasattr(final, "apply") and not _is_committee(final)


def _is_committee(final):
    return hasattr(final, "estimators_") or hasattr(final, "n_estimators")


def warn_of_own_detector(estimator):
    """Warn if a classifier is to look for drifts in rows that were chosen for it."""
    drift = getattr(final_step(estimator)[0], "drift", None)
    if drift not in (None, "auto"):
        warn(
            f"The classifier looks for drifts by itself (drift={drift!r}), among rows "
            "whose labels were chosen to be asked for: it may find some that are none, "
            "and replace what it has learnt. Set its drift to None; a "
            "StreamActiveLearner(strategy='split', drift='ddm') looks among labels "
            "that are asked for at random."
        )


def refuse_unserved(strategy, estimator, others):
    """Raise if the classifier lacks what a plug-in needs; `others` are the remedies."""
    lacks = _lacks(needs_of(strategy), estimator)
    if lacks:
        able = [name for name, one in others.items() if serves(one, estimator)]
        raise ValueError(
            f"{type(strategy).__name__} needs "
            f"{' and '.join(WORDS.get(one, one) for one in lacks)}, which "
            f"{type(final_step(estimator)[0]).__name__} does not have. What works "
            f"with it: {able}."
        )
