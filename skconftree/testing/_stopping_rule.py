"""What a stopping rule has to keep."""

from __future__ import annotations

import pickle

import numpy as np

from skconftree.active import ArrayOracle
from skconftree.active.pool import StoppingRule

from ..utils._types import Estimator, Stops
from ._learners import learner, of_a_pool, serving
from ._parameters import check_nonsense, check_object, unchanged
from ._require import going_well, require
from ._tables import pool, some_labels


def check_stopping_rule(rule: Stops, estimator: Estimator | None = None) -> None:
    """Check that a stopping rule keeps the contract of rules.

    It says yes or no at every look, before the first label and after the last one too;
    looks change neither the rule nor the learner, so that one rule serves many
    learners and stops each where it would stop it alone. It can be pickled. One that is
    derived from :class:`~skconftree.active.pool.StoppingRule` is cloned, and its
    parameters are checked.

    Parameters
    ----------
    rule : object with ``reached(context)``
        For learners with a pool.
    estimator : classifier, default=None
        What it is tried with; None: the first that it works with of a tree, logistic
        regression, a forest and OASIS.

    Raises
    ------
    AssertionError
        If something is wrong; the message says what.

    See Also
    --------
    skconftree.active.pool.StoppingRule : What a rule defines.

    Examples
    --------
    >>> from skconftree.active import Stable
    >>> from skconftree.testing import check_stopping_rule
    >>> check_stopping_rule(Stable(n_looks=3))
    """
    require(
        callable(getattr(rule, "reached", None)) and not isinstance(rule, type),
        f"{rule!r} must be an object with reached(context).",
    )
    name = type(rule).__name__
    if isinstance(rule, StoppingRule):
        check_object(rule, StoppingRule)
    with going_well(f"{name} must be pickled"):
        before = pickle.dumps(rule)
    X, y = pool()
    labels = some_labels(y)

    def ask(one):
        learner(one, "random").fit(X, labels).reached(rule)

    with going_well(f"{name} must say whether to stop"):
        estimator = serving(rule, of_a_pool(estimator), ask)
    fitted = learner(estimator, "random").fit(X, labels)
    if isinstance(rule, StoppingRule):
        check_nonsense(rule, fitted.reached)
    share = getattr(rule, "random_share", 0.0)
    require(
        0.0 <= share <= 1.0,
        f"{name}.random_share must be between 0 and 1. Got {share}.",
    )
    for known, when in ((None, "first"), (labels, "next"), (y, "last")):
        _check_look(rule, estimator, known, when)
    _check_runs(rule, estimator)
    unchanged(
        rule, before, "it is asked; what it remembers belongs into context.memory"
    )


def _check_look(rule, estimator, labels, when):
    """A look is answered by a bool and changes nothing."""
    name = type(rule).__name__
    X, _ = pool()
    one = learner(estimator, "random").fit(X, labels)
    before = pickle.dumps(one)
    noted = _Noted(rule)
    with going_well(f"{name} must say whether to stop before the {when} question"):
        one.reached(noted)
    require(
        isinstance(noted.answer, bool | np.bool_),
        f"{name}.reached must give a bool. Got {noted.answer!r}.",
    )
    require(
        pickle.dumps(one) == before,
        f"{name} must leave the learner as it is when it is asked.",
    )


class _Noted:
    """A rule, and its last answer."""

    def __init__(self, rule):
        self.rule = rule
        self.needs = getattr(rule, "needs", ())

    def reached(self, context):
        self.answer = self.rule.reached(context)
        return self.answer


def _check_runs(rule, estimator):
    """Two learners with one rule stop where one with a copy of it stops."""
    X, y = pool()
    bought = []
    for one in (rule, rule, pickle.loads(pickle.dumps(rule))):
        asked = learner(estimator, "random").fit(X)
        with going_well(f"A run with {type(rule).__name__} must end"):
            bought.append(asked.run(ArrayOracle(y), stop=one).n_labeled_)
    require(
        len(set(bought)) == 1,
        f"{type(rule).__name__} must stop equal learners after as many labels. Got "
        f"{bought}.",
    )
