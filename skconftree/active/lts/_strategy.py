"""The choice of rows of Learning-To-Sample, for any classifier."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone

from ..._compat import HasMethods, Interval, validate_parameters
from ...utils._types import Floats, Indices
from .._strategy import FOR_ROWS, SamplingStrategy
from ._groups import choose, find_groups
from ._sampling import ENOUGH, FOLDS, assign_folds, fit_sampler, predict_errors


class LTSSampling(SamplingStrategy):
    """Ask where the classifier is expected to be wrong, in many groups of rows.

    A *sampling model* is fitted to how wrong the classifier is about the labels so far:
    one minus the probability of the true class, out of fold from 20 labels on, which
    takes five more fits of the classifier at each query. A batch maximises the sum of
    the errors that it expects and `alpha` times the sum over groups of the square root
    of the rows chosen from each (:func:`~skconftree.active.lts.lts_select`). Before
    there is a model a batch comes from as many groups as possible.

    Made for batches: a single row is asked for by its expected error alone.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of diversity, in [0, inf].
    groups : array-like of shape (n_rows,), clusterer or None, default=None
        Groups of the pool's rows: one for each row of the pool, or what ``fit_predict``
        of a clusterer gives, at each query. None: cells of a grid on the pool's
        coordinates, at least as many as rows are asked for.
    max_dimensions : int, default=8
        Of that grid; more coordinates become principal components.
    sampler : regressor, default=None
        The sampling model; it must take a `sample_weight`. None: a
        ``GradientBoostingRegressor`` of 20 trees of depth 3.

    See Also
    --------
    LearningToSampleClassifier : The whole method, with its boosted trees.

    References
    ----------
    .. [1] J. Shao, Q. Wang and F. Liu (2019), "Learning to sample: an active learning
       framework", ICDM.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner, LTSSampling
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = ActiveLearner(GaussianNB(), strategy=LTSSampling(), random_state=0)
    >>> learner = learner.fit(X)
    >>> for _ in range(4):
    ...     rows = learner.query(10)
    ...     learner = learner.teach(rows, y[rows])
    >>> bool(learner.score(X, y) > 0.9)
    True
    """

    needs = ("predict_proba",)
    takes_costs = False
    without_model = True

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="both")],
        "groups": ["array-like", HasMethods(["fit_predict"]), None],
        "max_dimensions": [Interval(Integral, 1, 16, closed="both")],
        "sampler": [HasMethods(["fit", "predict"]), None],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        groups: Any = None,
        max_dimensions: int = 8,
        sampler: Any = None,
    ) -> None:
        self.alpha = alpha
        self.groups = groups
        self.max_dimensions = max_dimensions
        self.sampler = sampler

    def score(self, context: Any) -> Floats:
        self._check(context)
        if context.estimator is None:
            return np.zeros(len(context.candidates))
        labeled = np.sort(context.labeled)
        codes = context.codes[labeled]
        rng = _old_rng(context)
        model = fit_sampler(
            self.sampler,
            context.points[labeled],
            codes,
            _held_out_proba(context, labeled, codes, rng),
            rng.randint(2**31 - 1),
        )
        return predict_errors(model, context.points, context.candidates)

    def select(self, context: Any, k: int) -> tuple[Indices, Floats]:
        scores = self.score(context)
        rng = _old_rng(context)
        seed = rng.randint(2**31 - 1)
        groups = find_groups(self.groups, context.points, k, self.max_dimensions, seed)[
            context.candidates
        ]
        alpha = np.inf if context.estimator is None else self.alpha
        return choose(scores, groups, k, alpha, rng)

    def _check(self, context):
        validate_parameters(self)
        if context.costs is not None:
            raise ValueError(f"{type(self).__name__} does not take costs.")


def _old_rng(context):
    # scikit-learn's kind of generator, drawn from the context's
    return np.random.RandomState(context.rng(FOR_ROWS).integers(2**31))


def _held_out_proba(context, labeled, codes, rng):
    # Class probabilities of labelled rows, (n_labeled, n_classes).
    out = np.zeros((len(labeled), context.n_classes))
    if len(labeled) < ENOUGH:
        _fill(out, slice(None), context.estimator, context, labeled)
        return out
    folds = assign_folds(codes, codes[:0], rng)
    for fold in range(FOLDS):
        left_out = np.flatnonzero(folds == fold)
        kept = folds != fold
        present = np.unique(codes[kept])
        if len(present) < 2:
            out[left_out, present] = 1.0
            continue
        model = clone(context.estimator)
        model.fit(context.take(labeled[kept]), context.classes[codes[kept]])
        _fill(out, left_out, model, context, labeled[left_out])
    return out


def _fill(out, places, model, context, rows):
    if len(rows):
        known = np.searchsorted(context.classes, model.classes_)
        out[np.arange(len(out))[places][:, None], known] = model.predict_proba(
            context.take(rows)
        )
