"""Learners that strategies and stopping rules are tried in."""

from sklearn.linear_model import LogisticRegression

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    OASISClassifier,
)
from skconftree.active import ActiveLearner


def learner(estimator, strategy, **parameters):
    """Make an active learner whose draws are fixed."""
    return ActiveLearner(
        estimator, strategy=strategy, **{"random_state": 0, **parameters}
    )


def serving(plug_in, estimators, ask):
    """Give the first estimator that a plug-in works with.

    `ask` is called with each, and raises ValueError where it does not serve.
    """
    reason = None
    for one in estimators:
        try:
            ask(one)
        except ValueError as error:
            reason = error
            continue
        return one
    raise AssertionError(
        f"{type(plug_in).__name__} must work with one of the classifiers it is tried "
        f"with; give this check an estimator that it serves: {reason}"
    )


def of_a_pool(estimator):
    """What a plug-in is tried with in a pool: what is given, or ours."""
    if estimator is not None:
        return (estimator,)
    return (
        ConfidenceTreeClassifier(bound=None),
        LogisticRegression(),
        ConfidenceForestClassifier(5, bound=None, random_state=0),
        OASISClassifier(n_particles=50, random_state=0),
    )
