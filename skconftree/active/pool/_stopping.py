"""When to stop buying labels."""

import weakref
from numbers import Integral, Real

import numpy as np
from sklearn.dummy import DummyClassifier

from ..._compat import Interval, StrOptions, validate_parameters
from ...bounds import confidence_sequence, risk_upper
from .._estimators import final_step
from .._rows import in_chunks
from .._stopping import StoppingRule

COMPARED = 10_000  # rows whose predictions are compared between looks


class Budget(StoppingRule):
    """Stop once so many rows have a label.

    Parameters
    ----------
    n_labels : int
        Labels in all, those that were there from the beginning included.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner, ArrayOracle, Budget
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = ActiveLearner(GaussianNB(), random_state=0).fit(X)
    >>> learner.run(ArrayOracle(y), stop=Budget(20)).n_labeled_
    20
    """

    _parameter_constraints = {"n_labels": [Interval(Integral, 1, None, closed="left")]}

    def __init__(self, n_labels):
        self.n_labels = n_labels

    def reached(self, learner):
        return learner.n_labeled_ >= self.n_labels


class RiskBelow(StoppingRule):
    """Stop once the risk, the share of wrong predictions, is surely below a limit.

    ``method="leaves"`` looks at the leaves of a single tree. Each has an upper credible
    limit of its risk, :func:`~skconftree.bounds.risk_upper` with ``delta`` divided by
    the number of leaves; their sum, weighted by rows of the pool, is compared with
    `eps`. It is a statement of one look at splits that stay, from labels drawn at
    random inside the leaves as :class:`LeafRiskSampling` draws them: who stops at the
    first of many looks, or lets the labels choose the leaves, stops a little early.

    ``method="audit"`` works with any classifier. A share of the questions that
    :meth:`ActiveLearner.run` asks is drawn at random from the pool, and the answer is
    compared with the prediction before it is learnt. The limit is that of a
    :func:`~skconftree.bounds.confidence_sequence`, which holds at every look: stopping
    at the first limit below `eps` is no cheat. It is one of the average risk during the
    audit, which the risk at its end is not above as long as labels do not make the
    classifier worse.

    Parameters
    ----------
    eps : float
        Limit of the risk, in (0, 1).
    method : {"leaves", "audit"}, default="leaves"
        Where the statement comes from.
    delta : float, default=0.05
        Probability, in (0, 1), that the risk is above the limit.
    audit_share : float, default=0.2
        Share of the questions that is drawn at random, in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import ActiveLearner, ArrayOracle, RiskBelow
    >>> X = np.linspace(0, 1, 500).reshape(-1, 1)
    >>> y = (X[:, 0] > 0.4).astype(int)
    >>> learner = ActiveLearner(
    ...     ConfidenceTreeClassifier(), strategy="leaf_risk", random_state=0)
    >>> learner = learner.fit(X).run(ArrayOracle(y), stop=RiskBelow(0.1))
    >>> 20 < learner.n_labeled_ < 120
    True
    """

    _parameter_constraints = {
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "method": [StrOptions({"leaves", "audit"})],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "audit_share": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(self, eps, *, method="leaves", delta=0.05, audit_share=0.2):
        self.eps = eps
        self.method = method
        self.delta = delta
        self.audit_share = audit_share

    def check(self):
        """Raise if a parameter is out of its range."""
        validate_parameters(self)

    def limit(self, learner):
        """Upper limit of the risk on the learner's pool.

        Parameters
        ----------
        learner : ActiveLearner

        Returns
        -------
        float
            1.0 before anything is known.
        """
        self.check()
        if self.method == "audit":
            wrong, n = learner.audit_
            return float(confidence_sequence([wrong, n - wrong], self.delta)[0, 1])
        if len(learner.classes_) < 2 or not hasattr(learner, "estimator_"):
            return 1.0
        return self._limit_of_leaves(learner)

    def _limit_of_leaves(self, learner):
        final, before = final_step(learner.estimator_)
        if not hasattr(final, "tree_"):
            if isinstance(final, DummyClassifier):
                return 1.0
            raise ValueError(
                "RiskBelow(method='leaves') looks at the leaves of a single tree. Got "
                f"{type(final).__name__}; method='audit' works with any classifier."
            )

        def leaves_of(X):
            return final.apply(X if before is None else before.transform(X))

        pool, codes = learner._pool, learner._codes
        leaves = in_chunks(pool.X, np.arange(pool.n_rows), leaves_of).astype(np.intp)
        rows = np.bincount(leaves)
        labeled = np.flatnonzero(codes >= 0)
        counts = np.zeros((len(rows), len(learner.classes_)))
        np.add.at(counts, (leaves[labeled], codes[labeled]), 1.0)
        used = rows > 0
        risk = risk_upper(counts[used], self.delta / used.sum(), weight=rows[used])
        return float(risk.sum() / pool.n_rows)

    def reached(self, learner):
        return self.limit(learner) <= self.eps


class Stable(StoppingRule):
    """Stop once predictions have stopped changing.

    At each look the classes predicted for the pool (10,000 rows of it at most) are
    compared with those of the looks before; a rule of thumb without a promise.

    Parameters
    ----------
    agreement : float, default=0.99
        Share of equal predictions, in (0, 1].
    n_looks : int, default=5
        For how many looks in a row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner, ArrayOracle, Stable
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = ActiveLearner(GaussianNB(), random_state=0).fit(X)
    >>> learner.run(ArrayOracle(y), stop=Stable()).n_labeled_ < 100
    True
    """

    _parameter_constraints = {
        "agreement": [Interval(Real, 0, 1, closed="right")],
        "n_looks": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, agreement=0.99, n_looks=5):
        self.agreement = agreement
        self.n_looks = n_looks

    def reached(self, learner):
        if not hasattr(learner, "estimator_"):
            return False
        n = learner._pool.n_rows
        rows = np.linspace(0, n - 1, min(n, COMPARED)).astype(np.intp)
        predicted = in_chunks(learner._pool.X, rows, learner.predict)
        pool, before, streak = getattr(self, "_looked", (None, None, 0))
        same = (
            pool is not None
            and pool() is learner._pool
            and (before == predicted).mean() >= self.agreement
        )
        streak = streak + 1 if same else 0
        self._looked = weakref.ref(learner._pool), predicted, streak
        return streak >= self.n_looks

    def __getstate__(self):
        # A copy has looked at no learner yet.
        state = dict(super().__getstate__())
        state.pop("_looked", None)
        return state
