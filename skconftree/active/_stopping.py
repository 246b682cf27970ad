"""Base class of stopping rules.

Labels are queried for rows of the *pool*, the table of unlabeled and labeled rows;
*candidates* are the rows that can be queried. `VersionedState` stores the version of
the package in pickles. Of a `QueryContext`, `codes` are the class indices of rows, and
`labeled` the labeled rows.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from ..utils._codec import VersionedState


class StoppingRule(VersionedState, BaseEstimator):
    """Base class of stopping rules: `reached` is called before each query.

    Any object with the method `reached` can be used as a rule. The parameters of a
    subclass are validated, and it is cloned like an estimator.

    Attributes
    ----------
    needs : tuple of str
        Capabilities that the classifier must have, as in :class:`SamplingStrategy`.
    random_share : float
        Share of the queries that are drawn at random for the rule, as an audit: the
        learner compares these labels with its predictions before it learns them.

    See Also
    --------
    skconftree.testing.check_stopping_rule : Checks a custom rule.

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
        """Return whether to stop.

        Parameters
        ----------
        context : QueryContext
            State of the learner before its next query.

        Returns
        -------
        bool
            Whether no more labels are queried.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define reached(context)."
        )

    def select(self, context: Any, k: int) -> tuple[Any, bool] | None:
        """Select the next rows, in place of the query strategy.

        Parameters
        ----------
        context : QueryContext
            State of the learner before its next query.
        k : int
            Number of rows.

        Returns
        -------
        tuple or None
            Up to `k` candidates, and whether they were drawn at random from all of
            them. None, the default: the query strategy selects.
        """
        return None

    def random_share_of(self, context: Any) -> float:
        """Return the share of the next query that is drawn at random.

        Parameters
        ----------
        context : QueryContext
            State of the learner before its next query.

        Returns
        -------
        float
            By default `random_share`, whatever the state.
        """
        return self.random_share
