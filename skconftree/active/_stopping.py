"""What a stopping rule is."""

from sklearn.base import BaseEstimator


class StoppingRule(BaseEstimator):
    """Base class of stopping rules: `reached` is asked before each question.

    Examples
    --------
    >>> from skconftree.active import StoppingRule
    >>> class TenOfEach(StoppingRule):
    ...     def reached(self, learner):
    ...         labels = [answer.label for answer in learner.history_]
    ...         return all(labels.count(one) >= 10 for one in learner.classes_)
    """

    _parameter_constraints: dict = {}

    def reached(self, learner):
        """Tell whether to stop.

        Parameters
        ----------
        learner : ActiveLearner
            The learner before its next question.

        Returns
        -------
        bool
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define reached(learner)."
        )
