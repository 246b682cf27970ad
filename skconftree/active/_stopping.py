"""What a stopping rule is."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from ..utils import VersionedState


class StoppingRule(VersionedState, BaseEstimator):
    """Base class of stopping rules: `reached` is asked before each question.

    Any object with `reached` serves as a rule. What is derived from this class has its
    parameters checked, and is cloned and compared as estimators are.

    Attributes
    ----------
    needs : tuple of str
        What the classifier must have, as for a :class:`SamplingStrategy`.
    random_share : float
        Share of the questions that are drawn at random for the rule, as an audit: the
        learner compares the answers with its predictions before it learns them.

    See Also
    --------
    skconftree.testing.check_stopping_rule : Tries a rule of your own.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.active.pool import StoppingRule
    >>> class TenOfEach(StoppingRule):
    ...     def reached(self, context):
    ...         known = context.codes[context.labeled]
    ...         counts = np.bincount(known, minlength=context.n_classes)
    ...         return context.n_classes > 1 and counts.min() >= 10
    """

    _parameter_constraints: dict = {}

    needs = ()
    random_share = 0.0

    def reached(self, context: Any) -> bool:
        """Tell whether to stop.

        Parameters
        ----------
        context : QueryContext
            The learner before its next question.

        Returns
        -------
        bool
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define reached(context)."
        )
