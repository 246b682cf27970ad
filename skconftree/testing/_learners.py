"""Learners that strategies and stopping rules are tried in."""

from sklearn.linear_model import LogisticRegression

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    OASISClassifier,
)
from skconftree.active import ActiveLearner

from ._require import require


def learner(estimator, strategy, **parameters):
    """Make an active learner whose draws are fixed."""
    return ActiveLearner(
        estimator, strategy=strategy, **{"random_state": 0, **parameters}
    )


def serving(plug_in, estimator, ask):
    """Give an estimator that a plug-in works with: the given one, or one of ours.

    `ask` is called with each estimator, and raises ValueError where it does not serve.
    """
    ours = (
        ConfidenceTreeClassifier(bound=None),
        LogisticRegression(),
        ConfidenceForestClassifier(5, bound=None, random_state=0),
        OASISClassifier(n_particles=50, random_state=0),
    )
    reasons = []
    for one in ours if estimator is None else (estimator,):
        try:
            ask(one)
        except ValueError as error:
            reasons.append(str(error))
            continue
        return one
    require(
        False,
        f"{type(plug_in).__name__} must work with one of the classifiers it is tried "
        f"with; give this check an estimator that it serves: {reasons[-1]}",
    )
