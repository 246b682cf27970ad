"""The estimator OASIS: an online linear classifier that uses unlabeled rows, too.

A `schema` has the names and types of the columns, and reads later rows. A model `grows`
once the scale of the features is known, so that it can learn. A `call` has the
validated arguments of `partial_fit`. The *odds* are the weighted likelihoods of the
labels 1 and -1, summed over the particles; `decide` returns their log ratio.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from .._compat import (
    Interval,
    InvalidParameterError,
    StrOptions,
    _fit_context,
    check_row_weights,
    validate_parameters,
)
from ..tables._labels import Classes, is_unlabeled, split_labels
from ..tables._partial_fit import Call, learn
from ..utils._fitted import ModelClassifier, fitted
from ..utils._lock import learns, reads  # lock the estimator
from ..utils._parameter_names import suggests_parameters
from ..utils._types import Floats, LabelsLike, Seed, TableLike
from ..utils._warnings import warn
from ._model import OASISModel, QueryMixin, decide, read_doubles

LIKELIHOODS = {"normal": (0.5, 0.2), "steep": (0.1, 0.1), "flat": (0.7, 0.3)}
MIN_PARAMETER = 1e-9  # of alpha and gamma, so that their logarithms are moderate
MAX_COUNT = 2**31 - 1
MIN_DISTINCT_DIVISOR = 10  # a warning is issued if fewer than 1 / 10 are distinct


@suggests_parameters()  # in the error for an unknown parameter
@dataclass(eq=False, repr=False)
class OASISClassifier(QueryMixin, ModelClassifier):
    r"""Semi-supervised online linear classifier based on a particle filter (OASIS).

    OASIS (online, active, semi-supervised) approximates the posterior over hyperplanes
    (planes) :math:`w` by weighted particles. A row :math:`x` with label :math:`y \in
    \{-1, 1\}` multiplies the weight of each particle by

    .. math::

        L(y \mid x, w) = \min\{1 - \gamma, \max\{\gamma \alpha,
            c\, e^{-y c' w^\top x}\}\}, \quad
        c = \sqrt{(1 - \gamma) \gamma \alpha}, \quad c' = \ln(\gamma \alpha / c),

    and a row without a label by :math:`L(1 \mid x, w) + L(-1 \mid x, w)`, which is
    small for planes that pass close to rows. When the weight concentrates on too few
    particles, the particles are resampled and each is moved by Metropolis steps: one
    along its length and several along its coordinates in turn. More than two classes
    are learned one-vs-rest.

    Use it for a stream in which few rows are labeled, or to select the labels to
    query, if the classes are linearly separable with a margin. :doc:`/guide/oasis`
    describes when it does not help.

    Parameters
    ----------
    likelihood : {"normal", "steep", "flat"} or tuple of two floats, default="normal"
        The pair :math:`(\alpha, \gamma)`; the names stand for (0.5, 0.2), (0.1, 0.1)
        and (0.7, 0.3). :math:`1 - \gamma` is the likelihood of a label on the correct
        side of the margin, :math:`\gamma \alpha` that on the wrong side. Larger values
        tolerate more label noise.
    prior : {"cauchy", "normal"}, default="cauchy"
        Prior distribution of each coordinate of a plane, centered at 0.
    scale : float, default=1.0
        Scale of the prior: the standard deviation of ``"normal"``.
    n_particles : int, default=1000
        Number of planes per binary problem: one, or one per class against the rest.
        More particles approximate the posterior better and take proportionally longer.
    buffer_size : int, default=1000
        Number of recent rows that determine where particles are moved. Older rows are
        gradually forgotten. Smaller values adapt faster to concept drift, larger ones
        take longer.
    resample : bool, default=True
        Whether particles are resampled and moved when their effective sample size
        falls below half their number. If False, only the weights change. The
        parameter may be changed between two calls of `partial_fit`.
    fit_intercept : bool or "auto", default="auto"
        Whether planes have an intercept relative to the mean of the rows. If True, a
        constant feature is added, whose coordinate has the same prior. ``"auto"`` is
        True, because the mean rarely lies between classes of unequal size, or between
        one class and the rest. The published classifier has no intercept.
    standardize : bool, default=True
        Whether features are scaled to mean 0 and standard deviation 1/2. `fit` uses
        all rows, `partial_fit` the first 100 rows, which it learns as soon as all of
        them have arrived; predictions are uninformative until then. If False, rows
        are not scaled and learned at once.
    missing_label : int, float, str or None, default=None
        Value that marks a missing label, in addition to None and NaN. By default, -1
        is an ordinary label.
    random_state : int, RandomState instance or None, default=None
        Seed of the prior, of resampling and of moves. Pass an int for reproducible
        results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels. With two classes, the second is the label 1 of the planes.
    n_classes_ : int
        Number of classes.
    mean_, scale_ : ndarray of shape (`n_features_in_`,)
        The planes separate the standardized features ``(X - mean_) / scale_``. Only
        available once the scale is known. `scale_` is infinite for constant features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if they are all strings.
    n_rows_seen_ : int
        Number of rows so far, without those of weight 0.
    learns_unlabeled : bool
        True: the estimator learns from unlabeled rows.

    See Also
    --------
    ConfidenceTreeClassifier : Learns streams whose classes need not be separable.

    References
    ----------
    A. Goldberg, X. Zhu, A. Furger and J.-M. Xu, "OASIS: online active semi-supervised
    learning", AAAI 2011; B. Rupprechter, "Noisy active learning from a Bayesian
    perspective", 2012, section 4.1.

    Examples
    --------
    A label for every tenth row of 500 (the class is the side of one gap between cubes):

    >>> import numpy as np
    >>> from skconftree import OASISClassifier
    >>> from skconftree.datasets import make_diced
    >>> X, y = make_diced(500, random_state=0)
    >>> few = np.where(np.arange(500) % 10 == 0, y, -1)
    >>> model = OASISClassifier(missing_label=-1, random_state=0).fit(X, few)
    >>> model.score(X, y) > 0.95
    True

    The row whose label would be the most informative:

    >>> score = model.query_score(X, "oasis")
    >>> best = score.argmin()
    >>> bool(np.abs(X[best, 0]) < 0.25)
    True
    """

    _parameter_constraints = {
        "likelihood": [StrOptions(set(LIKELIHOODS)), tuple, list],
        "prior": [StrOptions({"cauchy", "normal"})],
        "scale": [Interval(Real, 1e-9, 1e9, closed="both")],
        "n_particles": [Interval(Integral, 2, MAX_COUNT, closed="both")],
        "buffer_size": [Interval(Integral, 1, MAX_COUNT, closed="both")],
        "resample": ["boolean"],
        "fit_intercept": ["boolean", StrOptions({"auto"})],
        "standardize": ["boolean"],
        "missing_label": [Real, str, None],
        "random_state": ["random_state"],
    }
    learns_unlabeled = True

    likelihood: Literal["normal", "steep", "flat"] | tuple[float, float] = "normal"
    _: KW_ONLY
    prior: Literal["cauchy", "normal"] = "cauchy"
    scale: float = 1.0
    n_particles: int = 1000
    buffer_size: int = 1000
    resample: bool = True
    fit_intercept: bool | Literal["auto"] = "auto"
    standardize: bool = True
    missing_label: float | str | None = None
    random_state: Seed = None

    _kind = OASISModel  # class of the attribute `_model`

    # `fitted` returns a property that reads an attribute of `_model`.
    mean_ = fitted("known_mean", "Mean of the features.")
    scale_ = fitted("known_scale", "Scale of the features.")

    def _validate_params(self):
        validate_parameters(self)

    @_fit_context(prefer_skip_nested_validation=True)
    @learns
    def fit(self, X: TableLike, y: LabelsLike) -> Self:
        """Fit to a table, row by row in its order, starting from the prior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of numbers without missing values. All of them determine the scale.
        y : array-like of shape (n_samples,)
            Class labels, some of which may be missing (see `missing_label`).

        Returns
        -------
        OASISClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid. The estimator is then unchanged.
        """
        alpha_gamma, caller = self._resolve_likelihood(), type(self).__name__
        labels, known = split_labels(y, self.missing_label)
        rows = read_doubles(X, schema=None, caller=caller)
        check_consistent_length(rows.X, known)
        if not len(labels):
            raise ValueError(
                "y has no label, from which fit could determine the classes. Use "
                "partial_fit with the argument classes, which accepts unlabeled rows."
            )
        classes, _ = Classes.of(labels)
        model = OASISModel(rows.schema, classes, self._draw_seed())
        model.start(self._settings(alpha_gamma), rows.X if self.standardize else None)
        # without weights, and without an array for the odds before learning
        model.particle_filter.learn(
            model.scaled(rows.X), _encoded(classes, labels, known), None, None
        )
        self._model = model
        self._warn_of_copies(0)
        return self

    def partial_fit(
        self,
        X: TableLike,
        y: LabelsLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Update the model with further rows.

        The model does not depend on how a stream is divided into calls; it is the same
        bit for bit. After `fit`, the fitted particles are updated. All parameters
        except `resample` are those of the call that draws the particles: the first
        call, or with `standardize` the one that passes the hundredth row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of numbers in the order of their arrival.
        y : array-like of shape (n_samples,)
            Class labels, any of which may be missing (see `missing_label`).
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur. Required on the first call, unless the estimator
            is already fitted.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: exponents of their likelihoods. A row of weight 0 is
            ignored.

        Returns
        -------
        OASISClassifier
            The updated estimator.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid. The estimator is then unchanged.
        """
        self._learn(X, y, classes, sample_weight, False)
        return self

    def partial_fit_predict(
        self,
        X: TableLike,
        y: LabelsLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Predict each row before learning it (prequential `partial_fit`).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the order of their arrival.
        y : array-like of shape (n_samples,)
            Class labels, any of which may be missing.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur, as in `partial_fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of weight 0 is predicted, but not learned.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class predicted for each row, labeled or not, by the model before it
            learned the row.
        """
        return self._learn(X, y, classes, sample_weight, True)

    @learns
    def _learn(self, X, y, classes, sample_weight, predicts):
        before = self._model
        grew = before is not None and before.grows
        if not grew:
            self._validate_params()
        call = self._read_call(X, y, classes, sample_weight)
        n_moves = before.particle_filter.counts()["n_moves"] if grew else 0
        odds = learn(self, call, resample=bool(self.resample), return_odds=predicts)
        if self._model.grows:
            self._warn_of_copies(n_moves)
        return None if odds is None else self.classes_[_choice(decide(odds))]

    def _read_call(self, X, y, classes, sample_weight):
        model, caller = self._model, type(self).__name__
        if model is None and classes is None:
            raise ValueError(
                "classes must be given on the first call to partial_fit. Pass all "
                "classes that may occur in the stream."
            )
        labels, known = split_labels(y, self.missing_label)
        rows = read_doubles(X, None if model is None else model.schema, caller)
        check_consistent_length(rows.X, known)
        if classes is not None:
            listed = np.asarray(classes, dtype=object).ravel()
            if is_unlabeled(listed, self.missing_label).any():
                raise ValueError(
                    f"classes={classes!r} contains missing_label="
                    f"{self.missing_label!r}, None or NaN, which mark missing labels. "
                    "Pass actual class labels only."
                )
        if model is None:
            names = Classes.listed(classes)
        else:
            names = model.classes
            names.check(classes)
        weight = None
        if sample_weight is not None:
            weight = check_row_weights(sample_weight, rows.X)
        return Call(rows, _encoded(names, labels, known), names, weight)

    def _started(self, call):
        # Return a model that grows, or that has stored the rows of the call until then.
        # Called by `learn` if the present model is None or does not grow.
        settings, before = self._settings(self._resolve_likelihood()), self._model
        if before is None:
            model = OASISModel(call.rows.schema, call.classes, self._draw_seed())
        else:
            model = OASISModel(
                before.schema, before.classes, before.seed, before.waiting
            )  # `waiting`: rows that are stored until the scale is known
        if self.standardize:
            model.wait_or_start(settings, call)
        else:
            model.start(settings, X=None)  # without scaling
        return model

    def _warn_of_copies(self, n_moves):
        # n_moves: number of moves of the particles before this call.
        particles = self._model.particle_filter
        moved = particles.counts()["n_moves"] > n_moves
        if not moved.any():
            return
        n_distinct = particles.n_distinct()[moved].min()
        if n_distinct * MIN_DISTINCT_DIVISOR < particles.n_particles:
            warn(
                f"Only {n_distinct} of the {particles.n_particles} particles of this "
                f"{type(self).__name__} are distinct: few hyperplanes are likely given "
                "the rows. Increase n_particles, use a prior of another scale, or pass "
                "smaller sample weights."
            )

    def _resolve_likelihood(self):
        likelihood = self.likelihood
        is_name = isinstance(likelihood, str)
        pair = LIKELIHOODS[likelihood] if is_name else tuple(likelihood)
        valid = len(pair) == 2 and all(isinstance(value, Real) for value in pair)
        if valid:
            alpha, gamma = pair
            valid = MIN_PARAMETER <= alpha <= 1.0 and MIN_PARAMETER <= gamma < 1.0
            valid = valid and gamma * alpha < 1.0 - gamma
        if not valid:
            raise InvalidParameterError(
                f"The 'likelihood' parameter of {type(self).__name__} must be one of "
                f"{sorted(LIKELIHOODS)} or a pair (alpha, gamma) of numbers with alpha "
                f"in [{MIN_PARAMETER}, 1], gamma in [{MIN_PARAMETER}, 1) and gamma * "
                f"alpha below 1 - gamma. Got {likelihood!r} instead."
            )
        return float(pair[0]), float(pair[1])

    def _settings(self, alpha_gamma):
        return {
            "n_particles": int(self.n_particles),
            "intercept": bool(self.fit_intercept),  # "auto" is True
            "buffer_size": int(self.buffer_size),
            "alpha": alpha_gamma[0],
            "gamma": alpha_gamma[1],
            "cauchy": self.prior == "cauchy",
            "scale": float(self.scale),
            "resample": bool(self.resample),
        }

    def _rows(self, X):
        check_is_fitted(self)
        return read_doubles(X, self._model.schema, type(self).__name__).X

    def _odds(self, X):  # for `QueryMixin`
        rows = self._rows(X)  # which checks first that there is a model
        return self._model.odds(rows)

    def _best(self, rows):  # predicted class index, for `predict` of the base class
        return _choice(decide(self._model.odds(rows)))

    @reads
    def decision_function(self, X: TableLike) -> Floats:
        """Log odds of each class against the rest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, the log odds of the second, which is predicted if they are
            positive.
        """
        decision = decide(self._odds(X))
        if self.n_classes_ == 1:
            return np.zeros((len(decision), 1))
        return decision[:, 0] if self.n_classes_ == 2 else decision

    @reads
    def predict_proba(self, X: TableLike) -> Floats:
        r"""Predict class probabilities.

        The probability is the ratio of the weighted sums
        :math:`\sum_j w_j L(1 \mid x, w_j)` and
        :math:`\sum_j w_j [L(1 \mid x, w_j) + L(-1 \mid x, w_j)]`. With more than two
        classes, it is computed for each class against the rest and divided by the sum
        over the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Class probabilities, in the order of `classes_`.
        """
        share = expit(decide(self._odds(X)))
        if self.n_classes_ == 1:
            return np.ones((len(share), 1))
        if self.n_classes_ == 2:
            return np.column_stack([1.0 - share[:, 0], share[:, 0]])
        return share / share.sum(axis=1, keepdims=True)


def _encoded(classes, labels, known):
    # Class indices, -1 for missing labels.
    y = np.full(len(known), -1, dtype=np.intp)
    if len(labels):
        y[known] = classes.codes(labels, np.intp)
    return y


def _choice(decision):
    # Predicted class indices; ties are broken in favor of the lowest.
    if decision.shape[1] > 1:
        return decision.argmax(axis=1)
    return (decision > 0.0).any(axis=1).astype(np.intp)
