"""The OASIS estimator."""

from __future__ import annotations

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
from ..utils._fitted import LearntClassifier, learnt
from ..utils._lock import learns, reads
from ..utils._parameter_names import suggests_parameters
from ..utils._types import Floats, LabelsLike, Seed, TableLike
from ..utils._warnings import warn
from ._columns import read_doubles
from ._model import OASISModel, Questions, decide

SHAPES = {"normal": (0.5, 0.2), "steep": (0.1, 0.1), "flat": (0.7, 0.3)}
SMALLEST = 1e-9  # of alpha and gamma: their logarithms must be of some size
LARGEST = 2**31 - 1
FEWEST = 10  # a share of the planes; if fewer are different, it is said


@suggests_parameters()
class OASISClassifier(Questions, LearntClassifier):
    r"""A linear classifier that learns online, with few labels, from a cloud of planes.

    OASIS (online, active, semi-supervised) keeps a posterior over hyperplanes
    :math:`w` as weighted particles. A row :math:`x` with label :math:`y \in \{-1, 1\}`
    multiplies the weight of each particle by

    .. math::

        L(y \mid x, w) = \min\{1 - \gamma, \max\{\gamma \alpha,
            c\, e^{-y c' w^\top x}\}\}, \quad
        c = \sqrt{(1 - \gamma) \gamma \alpha}, \quad c' = \ln(\gamma \alpha / c),

    and a row without a label by :math:`L(1 \mid x, w) + L(-1 \mid x, w)`, which is
    small for planes that run through data. When the weights have gathered on too few
    particles, these are resampled and each is moved by Metropolis steps, one along its
    length and more along each coordinate in turn. More than two classes are learnt one
    against the rest.

    Use it for a stream of which few rows have a label, or to decide which labels to
    buy, where a line separates the classes with a gap; :doc:`/guide/oasis` says when it
    does not pay.

    Parameters
    ----------
    likelihood : {"normal", "steep", "flat"} or tuple of two floats, default="normal"
        The pair :math:`(\alpha, \gamma)`, by name (0.5, 0.2), (0.1, 0.1), (0.7, 0.3).
        :math:`1 - \gamma` is the likelihood of a label on the right side of the
        margin, :math:`\gamma \alpha` on the wrong one.
    prior : {"cauchy", "normal"}, default="cauchy"
        Distribution of each coordinate of a plane before any row, around 0.
    scale : float, default=1.0
        Its scale: the standard deviation of ``"normal"``.
    n_particles : int, default=1000
        Planes, for each class against the rest.
    buffer_size : int, default=1000
        Rows, the last ones, that a moved particle has to fit: older ones are forgotten
        by and by. Fewer follow a stream that drifts, more take longer.
    resample : bool, default=True
        Whether particles are resampled and moved when their effective sample size
        falls below half their number. Otherwise only weights change: for offline
        learning from a cloud that stays. It may be changed between two calls of
        `partial_fit`.
    fit_intercept : bool or "auto", default="auto"
        Whether planes may miss the mean of the rows. Then a feature that is always 1
        is added, and its coordinate has the same prior. ``"auto"`` is True: the mean
        seldom lies between classes of unequal size, or between one and all others. The
        published classifier has none.
    standardize : bool, default=True
        Whether features are brought to mean 0 and standard deviation 1/2: by all rows
        in `fit`, by the first 100 rows in `partial_fit`, which are learnt when they
        are there. Until then nothing is known. Otherwise rows are taken as they are
        and learnt at once.
    missing_label : int, float, str or None, default=None
        What stands for no label beside None and NaN, which always do. By default -1 is
        an ordinary label.
    random_state : int, RandomState instance or None, default=None
        Seed of the prior, of resampling and of moves. Pass an int for the same planes
        on every call.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels. Of two, the second is the label 1 of the planes.
    n_classes_ : int
        Their number.
    mean_, scale_ : ndarray of shape (`n_features_in_`,)
        Planes are those of the features ``(X - mean_) / scale_``. Not there before the
        scale is known. `scale_` is infinite for a feature that was constant.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if they are all strings.
    n_rows_seen_ : int
        Rows given so far, those of weight 0 left out.
    learns_unlabeled : bool
        True: unlabelled rows teach something.

    See Also
    --------
    ConfidenceTreeClassifier : Learns streams without a gap, with all their labels.

    References
    ----------
    A. Goldberg, X. Zhu, A. Furger and J.-M. Xu, "OASIS: online active semi-supervised
    learning", AAAI 2011; B. Rupprechter, "Noisy active learning from a Bayesian
    perspective", 2012, section 4.1.

    Examples
    --------
    A label for every tenth row of 500:

    >>> import numpy as np
    >>> from skconftree import OASISClassifier
    >>> from skconftree.datasets import make_diced
    >>> X, y = make_diced(500, random_state=0)
    >>> few = np.where(np.arange(500) % 10 == 0, y, -1)
    >>> model = OASISClassifier(missing_label=-1, random_state=0).fit(X, few)
    >>> model.score(X, y) > 0.95
    True

    Where is a further label worth most?

    >>> score = model.query_score(X, "oasis")
    >>> asked = score.argmin()
    >>> bool(np.abs(X[asked, 0]) < 0.25)
    True
    """

    _parameter_constraints: dict = {
        "likelihood": [StrOptions(set(SHAPES)), tuple, list],
        "prior": [StrOptions({"cauchy", "normal"})],
        "scale": [Interval(Real, 1e-9, 1e9, closed="both")],
        "n_particles": [Interval(Integral, 2, LARGEST, closed="both")],
        "buffer_size": [Interval(Integral, 1, LARGEST, closed="both")],
        "resample": ["boolean"],
        "fit_intercept": ["boolean", StrOptions({"auto"})],
        "standardize": ["boolean"],
        "missing_label": [Real, str, None],
        "random_state": ["random_state"],
    }
    learns_unlabeled = True

    def __init__(
        self,
        likelihood: Literal["normal", "steep", "flat"] | tuple[float, float] = "normal",
        *,
        prior: Literal["cauchy", "normal"] = "cauchy",
        scale: float = 1.0,
        n_particles: int = 1000,
        buffer_size: int = 1000,
        resample: bool = True,
        fit_intercept: bool | Literal["auto"] = "auto",
        standardize: bool = True,
        missing_label: float | str | None = None,
        random_state: Seed = None,
    ) -> None:
        self.likelihood = likelihood
        self.prior = prior
        self.scale = scale
        self.n_particles = n_particles
        self.buffer_size = buffer_size
        self.resample = resample
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.missing_label = missing_label
        self.random_state = random_state

    _kind = OASISModel

    mean_ = learnt("known_mean", "Mean of the features.")
    scale_ = learnt("known_scale", "Scale of the features.")

    def _validate_params(self):
        validate_parameters(self)

    @_fit_context(prefer_skip_nested_validation=True)
    @learns
    def fit(self, X: TableLike, y: LabelsLike) -> Self:
        """Learn a table, row by row in its order, from the prior on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of numbers, none missing. All of them set the scale.
        y : array-like of shape (n_samples,)
            Class labels, some of which may be missing (see `missing_label`).

        Returns
        -------
        OASISClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid; the estimator is then as it was
            before the call.
        """
        alpha_gamma, caller = self._resolve_likelihood(), type(self).__name__
        labels, known = split_labels(y, self.missing_label)
        rows = read_doubles(X, None, caller)
        check_consistent_length(rows.X, known)
        if not len(labels):
            raise ValueError(
                "y has no label: fit does not know the classes. Give them to "
                "partial_fit, which can learn unlabelled rows first."
            )
        classes, _ = Classes.of(labels)
        model = OASISModel(rows.schema, classes, self._draw_seed())
        model.start(self._settings(alpha_gamma), rows.X if self.standardize else None)
        model.cloud.learn(
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
        """Learn further rows.

        A stream gives the same model, bit for bit, however it is cut into calls. After
        `fit` the fitted particles go on. Parameters, all but `resample`, are those of
        the call that draws the particles: the first one, or with `standardize` the one
        that brings the hundredth row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of numbers in the order of their arrival.
        y : array-like of shape (n_samples,)
            Class labels, any of which may be missing (see `missing_label`).
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur. Needed on the first call, unless the estimator
            is fitted already.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: the power of their likelihood. A row of weight 0 is not
            learnt.

        Returns
        -------
        OASISClassifier
            The estimator itself.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid; nothing is learnt then.
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
        """Predict each row, then learn it: `partial_fit` with foresight.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the order of their arrival.
        y : array-like of shape (n_samples,)
            Class labels, any of which may be missing.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur, as in `partial_fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of weight 0 is predicted, but not learnt.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class predicted for each row, with or without a label, by the model as
            it was before the row was learnt.
        """
        return self._learn(X, y, classes, sample_weight, True)

    @learns
    def _learn(self, X, y, classes, sample_weight, foresee):
        before = self._model
        grew = before is not None and before.grows
        if not grew:
            self._validate_params()
        call = self._read_call(X, y, classes, sample_weight)
        n_moves = before.cloud.counts()["n_moves"] if grew else 0
        odds = learn(self, call, resample=bool(self.resample), foresee=foresee)
        if self._model.grows:
            self._warn_of_copies(n_moves)
        return None if odds is None else self.classes_[_choice(decide(odds))]

    def _read_call(self, X, y, classes, sample_weight):
        model, caller = self._model, type(self).__name__
        if model is None and classes is None:
            raise ValueError(
                "classes must be given on the first call to partial_fit: all "
                "classes that may occur in the stream."
            )
        labels, known = split_labels(y, self.missing_label)
        rows = read_doubles(X, None if model is None else model.schema, caller)
        check_consistent_length(rows.X, known)
        if classes is not None:
            listed = np.asarray(classes, dtype=object).ravel()
            if is_unlabeled(listed, self.missing_label).any():
                raise ValueError(
                    f"classes={classes!r} holds missing_label={self.missing_label!r} "
                    "or another sign for no label."
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
        settings, before = self._settings(self._resolve_likelihood()), self._model
        if before is None:
            model = OASISModel(call.rows.schema, call.classes, self._draw_seed())
        else:
            model = OASISModel(
                before.schema, before.classes, before.seed, before.waiting
            )
        if self.standardize:
            model.wait_or_start(settings, call)
        else:
            model.start(settings, None)
        return model

    def _warn_of_copies(self, n_moves):
        # n_moves: how often particles had moved before this call.
        cloud = self._model.cloud
        moved = cloud.counts()["n_moves"] > n_moves
        if not moved.any():
            return
        n_distinct = cloud.n_distinct()[moved].min()
        if n_distinct * FEWEST < cloud.n_particles:
            warn(
                f"Of the {cloud.n_particles} planes of this "
                f"{type(self).__name__} {n_distinct} are different, the others are "
                "copies: the rows leave hardly any plane that is likely. Take more "
                "particles (n_particles), a prior of another scale, or smaller sample "
                "weights."
            )

    def _resolve_likelihood(self):
        given = self.likelihood
        pair = SHAPES[given] if isinstance(given, str) else tuple(given)
        sound = len(pair) == 2 and all(isinstance(one, Real) for one in pair)
        if sound:
            alpha, gamma = pair
            sound = SMALLEST <= alpha <= 1.0 and SMALLEST <= gamma < 1.0
            sound = sound and gamma * alpha < 1.0 - gamma
        if not sound:
            raise InvalidParameterError(
                f"The 'likelihood' parameter of {type(self).__name__} must be one of "
                f"{sorted(SHAPES)} or a pair (alpha, gamma) of numbers with alpha in "
                f"[{SMALLEST}, 1], gamma in [{SMALLEST}, 1) and gamma * alpha below "
                f"1 - gamma. Got {given!r} instead."
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

    def _odds(self, X):
        rows = self._rows(X)
        return self._model.odds(rows)

    def _best(self, rows):
        return _choice(decide(self._model.odds(rows)))

    @reads
    def decision_function(self, X: TableLike) -> Floats:
        """Logarithm of the odds of each class against the rest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes those of the second: positive where it is predicted.
        """
        decision = decide(self._odds(X))
        if self.n_classes_ == 1:
            return np.zeros((len(decision), 1))
        return decision[:, 0] if self.n_classes_ == 2 else decision

    @reads
    def predict_proba(self, X: TableLike) -> Floats:
        r"""Predict class probabilities.

        The ratio of weighted sums :math:`\sum_j w_j L(1 \mid x, w_j)` over
        :math:`\sum_j w_j [L(1 \mid x, w_j) + L(-1 \mid x, w_j)]`; of more than two
        classes, those of each against the rest, divided by their sum.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        share = expit(decide(self._odds(X)))
        if self.n_classes_ == 1:
            return np.ones((len(share), 1))
        if self.n_classes_ == 2:
            return np.column_stack([1.0 - share[:, 0], share[:, 0]])
        return share / share.sum(axis=1, keepdims=True)


def _encoded(classes, labels, known):
    # Class indices, -1 where there is no label.
    y = np.full(len(known), -1, dtype=np.intp)
    if len(labels):
        y[known] = classes.codes(labels, np.intp)
    return y


def _choice(decision):
    # Class indices; ties go to the lowest.
    if decision.shape[1] > 1:
        return decision.argmax(axis=1)
    return (decision > 0.0).any(axis=1).astype(np.intp)
