"""`feature_importance`: permutation importance with intervals and p-values.

A *group* of columns is permuted together. The *donor* of a row is the row from which it
gets the values of the group. A *difference* is the loss of a row with the values of its
donor minus its loss. *Holm* is the step-down correction of p-values for multiple
comparisons. Functions decorated by `reads_argument` take the lock of a model for
reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import hstack, issparse
from scipy.spatial.distance import squareform
from scipy.stats import rankdata, t
from sklearn.base import is_classifier
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from ..utils import is_missing, reads_argument
from ..utils._types import Estimator, Floats, LabelsLike, Seed, TableLike
from ._audit import class_codes, float_weights, holm_pvalues
from ._curves import BASELINE, CurveDisplay

CORRELATED = "correlated"
SMALLEST = 1e-6  # a probability below it counts as this in the log loss
MAX_LINES = 40  # of text
NAME_WIDTH = 40  # characters of a name in text
ALPHA = 0.05  # significance level of filled dots


class Columns:
    """Columns of a table: an array, a sparse matrix, or a frame of any library.

    Frames are distinguished by their methods, because the libraries are optional.
    """

    def __init__(self, X, model):
        if not hasattr(X, "shape"):
            numbers = np.asarray(X)  # next to text, numbers must stay numbers
            is_text = numbers.dtype.kind not in "biuf"
            X = np.array(X, dtype=object) if is_text else numbers
        self.X = X.tocsc() if issparse(X) else X
        if len(X.shape) != 2:
            raise ValueError(
                f"X_new must have rows and columns. Got the shape {X.shape}."
            )
        self.n_rows, self.n_columns = X.shape
        if hasattr(X, "column_names"):  # pyarrow
            names = X.column_names
        elif hasattr(X, "columns"):
            names = list(X.columns)
        else:
            names = getattr(model, "feature_names_in_", None)
        if names is None or len(names) != self.n_columns:
            names = [f"x{j}" for j in range(self.n_columns)]
        self.names = list(names)

    def with_values_of(self, donors, columns):
        """Copy the table, with the values of the rows `donors` in some columns."""
        X, columns = self.X, columns.tolist()
        if isinstance(X, np.ndarray):
            out = X.copy()
            out[:, columns] = X[np.ix_(donors, columns)]
            return out
        if issparse(X):
            source = np.arange(self.n_columns)
            source[columns] = self.n_columns + np.arange(len(columns))
            donated = X[:, columns].tocsr()[donors]
            return hstack([X, donated], format="csc")[:, source]
        if hasattr(X, "iloc"):  # pandas
            out = X.copy(deep=False)
            for j in columns:
                out.isetitem(j, X.iloc[:, j].array.take(donors))
            return out
        if hasattr(X, "with_columns"):  # polars
            return X.with_columns(*(X.to_series(j)[donors] for j in columns))
        for j in columns:  # pyarrow
            X = X.set_column(j, X.schema.field(j), X.column(j).take(donors))
        return X

    def ranks(self, j):
        """Ranks of a column with numbers or two categories; None for another one."""
        if issparse(self.X):
            values = self.X[:, [j]].toarray().ravel()
        elif isinstance(self.X, np.ndarray):
            values = self.X[:, j]
        elif hasattr(self.X, "iloc"):
            values = self.X.iloc[:, j].to_numpy(dtype=object)
        else:
            column = self.X[:, j] if hasattr(self.X, "to_series") else self.X.column(j)
            values = np.array(column.to_numpy(), dtype=object)
        missing = np.array([is_missing(value) for value in values.tolist()])
        known = values[~missing]
        if self._is_nominal(j, known):
            categories, known = np.unique(known.astype(str), return_inverse=True)
            if len(categories) > 2:
                return None
        ranks = np.full(self.n_rows, (len(known) + 1) / 2.0)  # the mean, if missing
        ranks[~missing] = rankdata(known.astype(np.float64))
        return ranks

    def _is_nominal(self, j, known):
        # Text is nominal, even if it can be read as numbers, such as "1" and "nan".
        if hasattr(self.X, "iloc"):
            is_ordered = getattr(self.X.dtypes.iloc[j], "ordered", True)  # categorical
            if not is_ordered:
                return True
        if any(isinstance(value, str | bytes) for value in known.tolist()):
            return True
        try:
            known.astype(np.float64)
        except (TypeError, ValueError):
            return True
        return False


def correlated_groups(columns, min_correlation):
    """Group columns any two of which have at least this absolute Spearman correlation.

    Complete linkage. Nominal columns of more than two categories are not grouped.
    """
    ranks = [columns.ranks(j) for j in range(columns.n_columns)]
    usable = [j for j, of_column in enumerate(ranks) if of_column is not None]
    label = np.arange(columns.n_columns)
    if len(usable) > 1:
        centered = np.array([ranks[j] - ranks[j].mean() for j in usable])
        norm = np.sqrt(np.square(centered).sum(axis=1))
        centered /= np.where(norm > 0.0, norm, 1.0)[:, np.newaxis]
        distance = np.clip(1.0 - np.abs(centered @ centered.T), 0.0, 1.0)
        np.fill_diagonal(distance, 0.0)
        tree = linkage(squareform(distance, checks=False), "complete")
        # a tolerance for rounding
        clusters = fcluster(tree, 1.0 - min_correlation + 1e-12, "distance")
        for cluster in np.unique(clusters):
            members = [usable[i] for i in np.flatnonzero(clusters == cluster)]
            label[members] = members[0]
    return [np.flatnonzero(label == first) for first in np.unique(label)]


def _resolve_groups(groups, columns, min_correlation):
    # Return the names and the column indices of the groups, by their first column.
    if groups is None:
        parts = [np.array([j]) for j in range(columns.n_columns)]
    elif isinstance(groups, str) and groups == CORRELATED:
        parts = correlated_groups(columns, min_correlation)
    elif isinstance(groups, Mapping):
        names = [str(name) for name in groups]
        parts = [
            np.array([_position(j, columns, name) for j in _listed(members, name)])
            for name, members in groups.items()
        ]
        used = np.concatenate([np.empty(0, np.intp), *parts]).astype(np.intp)
        repeated = np.flatnonzero(np.bincount(used, minlength=1) > 1)
        if len(repeated):
            raise ValueError(
                f"groups must not overlap. Column {columns.names[repeated[0]]!r} is in "
                "more than one group, or twice in one."
            )
        for j in np.setdiff1d(np.arange(columns.n_columns), used).tolist():
            if str(columns.names[j]) in names[: len(groups)]:
                raise ValueError(
                    f"Group {columns.names[j]!r} has the name of a column that is not "
                    "in the group. Rename the group."
                )
            names.append(str(columns.names[j]))
            parts.append(np.array([j]))
        order = sorted(range(len(parts)), key=lambda i: parts[i].min())
        return [names[i] for i in order], [np.sort(parts[i]) for i in order]
    else:
        raise ValueError(
            f"groups must be None, {CORRELATED!r}, or a dict of lists of columns by "
            f"the name of the group. Got {groups!r} instead."
        )
    return [", ".join(str(columns.names[j]) for j in part) for part in parts], parts


def _listed(members, group):
    if isinstance(members, str):
        return [members]
    if not isinstance(members, Iterable):
        raise ValueError(
            f"Group {group!r} must be a list of columns. Got {members!r} instead."
        )
    members = list(members)
    if not members:
        raise ValueError("Each group in groups needs at least one column. Got none.")
    return members


def _position(column, columns, group):
    if isinstance(column, Integral) and not isinstance(column, bool):
        if 0 <= column < columns.n_columns:
            return int(column)
    elif columns.names.count(column) == 1:
        return columns.names.index(column)
    raise ValueError(
        f"Group {group!r} has the column {column!r}, which X_new does not have exactly "
        f"once. Pass names, or indices from 0 to {columns.n_columns - 1}."
    )


def draw_donors(rng, weight):
    """Draw another row for each row, in proportion to the weights.

    Rows are arranged on a circle in random order, each with a share of its weight. The
    donor of a row is at a random position outside of its own share. With equal weights
    each row is the donor of one row.
    """
    order = rng.permutation(len(weight))
    shares = weight[order]
    ends = np.cumsum(shares)
    at = (ends + rng.random_sample() * (ends[-1] - shares)) % ends[-1]
    positions = np.searchsorted(ends, at, side="right")
    donors = np.empty(len(weight), dtype=np.intp)
    donors[order] = order[np.minimum(positions, len(weight) - 1)]  # rounding
    return donors


def mean_and_error(differences, donors, weight, is_frequency):
    """Weighted mean of the differences, its standard error and degrees of freedom.

    `differences` and `donors` have the shape (n_repeats, n_rows). The mean is a
    U-statistic of pairs of a row and its donor, so that a row contributes to the
    variance twice: by its own mean difference, and as a donor, by how much larger the
    differences of the rows with its values are than their means.
    """
    n_repeats, total = len(differences), weight.sum()
    of_row = differences.mean(axis=0)
    mean = float(weight @ of_row / total)
    contribution = weight * of_row
    # the mean of a row includes the donor itself, hence n_repeats - 1
    as_donors = weight * (differences - of_row) / (n_repeats - 1)
    np.add.at(contribution, donors, as_donors)
    used = weight > 0.0
    deviation = (contribution - weight * mean)[used]
    if is_frequency:
        n = total
        variance = np.square(deviation) @ (1.0 / weight[used]) / (total * (n - 1.0))
    else:
        n = total**2 / np.square(weight).sum()  # Kish's effective number of rows
        variance = np.square(deviation).sum() / total**2 * n / (n - 1.0)
    return mean, float(np.sqrt(variance)), float(n - 1.0)


def _log_losses(model, X, codes):
    proba = np.asarray(model.predict_proba(X))[np.arange(len(codes)), codes]
    return -np.log(np.clip(proba, SMALLEST, 1.0))


def _zero_one_losses(model, X, codes):
    predicted = class_codes(model.predict(X), model.classes_, "classifier")
    return (predicted != codes).astype(np.float64)


LOSSES: dict[str, Callable[..., Floats]] = {
    "log_loss": _log_losses,
    "zero_one": _zero_one_losses,
}
LOSS_NAMES = {"log_loss": "log loss", "zero_one": "zero-one loss"}


@dataclass(frozen=True, eq=False, repr=False)
class FeatureImportance:
    """Permutation importance of columns with intervals and p-values.

    Created by :func:`~skconftree.inspection.feature_importance`. ``print(result)``
    shows the columns in the order of their importance.

    Parameters
    ----------
    names : list of str
        Names of the columns or groups of columns, in the order of the table.
    columns : list of ndarray of int
        Indices of the columns of each group.
    importances : ndarray of shape (n_groups,)
        Mean increase of the loss if the group is permuted.
    standard_errors : ndarray of shape (n_groups,)
        Standard errors over the rows.
    intervals : ndarray of shape (n_groups, 2)
        Confidence limits of the importances, each for itself.
    p_values : ndarray of shape (n_groups,)
        P-values of the null hypothesis that permuting does not increase the expected
        loss, each for itself.
    adjusted_p_values : ndarray of shape (n_groups,)
        P-values adjusted for the number of groups (Holm).
    loss : {"log_loss", "zero_one"}
        The loss function.
    mean_loss : float
        Mean loss of the rows without permuting.
    n_rows : int
        Number of rows of positive weight.
    confidence_level : float
        Of the intervals.

    See Also
    --------
    FeatureImportanceDisplay : Plot of the importances.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.inspection import feature_importance
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = ConfidenceTreeClassifier().fit(X[::2], y[::2])
    >>> result = feature_importance(tree, X[1::2], y[1::2], random_state=0)
    >>> result.names[result.importances.argmax()]
    'petal width (cm)'
    """

    names: list[str]
    columns: list[NDArray[np.intp]]
    importances: Floats
    standard_errors: Floats
    intervals: Floats
    p_values: Floats
    adjusted_p_values: Floats
    _: KW_ONLY
    loss: str
    mean_loss: float
    n_rows: int
    confidence_level: float

    def to_frame(self) -> Any:
        """Return a pandas frame with one row per column or group.

        Returns
        -------
        pandas.DataFrame
            By name: ``importance``, ``standard_error``, ``lower``, ``upper``,
            ``p_value`` and ``adjusted_p_value``, the most important first.
        """
        import pandas as pd

        frame = pd.DataFrame(
            {
                "importance": self.importances,
                "standard_error": self.standard_errors,
                "lower": self.intervals[:, 0],
                "upper": self.intervals[:, 1],
                "p_value": self.p_values,
                "adjusted_p_value": self.adjusted_p_values,
            },
            index=pd.Index(self.names, name="column"),
        )
        return frame.iloc[self.order()]

    def order(self) -> NDArray[np.intp]:
        """Return the indices of the groups, the most important first.

        Returns
        -------
        ndarray of shape (n_groups,)
            Indices; equally important groups are in the order of the table.
        """
        return np.argsort(-self.importances, kind="stable")

    def __repr__(self):
        n = np.count_nonzero(self.adjusted_p_values <= ALPHA)
        return (
            f"<FeatureImportance of {_count(len(self.names), 'column')}: {n} with "
            f"p <= {ALPHA:g} (Holm)>"
        )

    def __str__(self):
        order = self.order()
        names = [_shortened(self.names[i]) for i in order[:MAX_LINES]]
        width = max(map(len, ["column", *names]))
        level = f"{100 * self.confidence_level:g}% interval"
        lines = [
            f"Permutation importance: increase of the {LOSS_NAMES[self.loss]} "
            f"({self.mean_loss:.3f}) of {self.n_rows:,} new rows",
            "",
            f"{'column':{width}}  importance  {level:>18}  p (Holm)",
        ]
        for i, name in zip(order, names, strict=False):
            limits = "{:.4f} to {:.4f}".format(*self.intervals[i])
            lines.append(
                f"{name:{width}}  {self.importances[i]:10.4f}  {limits:>18}  "
                f"{self.adjusted_p_values[i]:8.2g}"
            )
        if len(order) > MAX_LINES:
            lines.append(f"and {len(order) - MAX_LINES:,} more, see to_frame()")
        n = _count(len(self.names), "column")
        lines += ["", f"p-values are adjusted for {n} (Holm); intervals are not"]
        return "\n".join(lines)


def _count(n, noun):
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _shortened(name):
    return name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 3]}..."


@reads_argument
def feature_importance(
    model: Estimator,
    X_new: TableLike,
    y_new: LabelsLike,
    *,
    loss: Literal["log_loss", "zero_one"] = "log_loss",
    groups: Mapping[str, Sequence[Any]] | Literal["correlated"] | None = None,
    min_correlation: float = 0.7,
    n_repeats: int = 10,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    random_state: Seed = 0,
) -> FeatureImportance:
    """Permutation importance of the columns of held-out rows, with p-values.

    The importance of a column is the increase of the expected loss of a fitted
    classifier if the values of the column are those of other rows. A column that the
    classifier does not use has importance 0, and so does, on average, a useless column
    that it uses, whatever the number of its values. The confidence intervals and
    p-values are about other rows of the same distribution, not only about other
    permutations.

    Parameters
    ----------
    model : classifier
        A fitted classifier of any library with the API of scikit-learn, or a pipeline.
    X_new : array-like, sparse or frame of shape (n_samples, n_features)
        Held-out rows, which were not used to fit the classifier or to choose its
        parameters. Nominal columns are permuted as they are.
    y_new : array-like of shape (n_samples,)
        Their classes; each must be in `classes_` of the classifier.
    loss : {"log_loss", "zero_one"}, default="log_loss"
        Loss of a row: ``"log_loss"``, the negative natural logarithm of the probability
        of its class, where probabilities below 1e-6 count as 1e-6; or ``"zero_one"``, 1
        if the row is misclassified. The first also detects columns that only change
        probabilities. The second needs no `predict_proba`.
    groups : dict of str to list of columns, "correlated" or None, default=None
        Columns that are permuted together, by name or index; other columns stay alone.
        If columns are correlated, a classifier can use one in place of the other, and
        each may seem less important than both together. ``"correlated"`` forms groups
        in which any two columns have a Spearman correlation of at least
        `min_correlation` (complete linkage). Nominal columns of more than two
        categories, that is, text or unordered categories of pandas, have no such
        correlation and stay alone.
    min_correlation : float, default=0.7
        Absolute correlation in (0, 1] from which ``groups="correlated"`` groups
        columns. Smaller values give fewer and larger groups.
    n_repeats : int, default=10
        Number of times each group is permuted, at least 2. More repeats make intervals
        slightly narrower and take proportionally longer.
    confidence_level : float, default=0.95
        Probability, in (0, 1), that an interval contains the importance that all rows
        of the distribution would have.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows. Integers are frequencies: a row of weight 2 counts as two
        rows. Other weights are relative: only their ratios matter.
    random_state : int, RandomState instance or None, default=0
        Seed of the permutations, which are the same for all groups.

    Returns
    -------
    FeatureImportance
        Importances, intervals and p-values. Printing it shows a table.

    Raises
    ------
    ValueError
        If a parameter or label is invalid, or there are fewer than two rows.

    See Also
    --------
    FeatureImportanceDisplay : Plot of the importances.
    sklearn.inspection.permutation_importance : Importances of any score, with their
        spread over permutations instead of rows.
    audit_splits : Test of each split of a tree on held-out rows.

    Notes
    -----
    Let d be the loss of a row with the values of another row, its donor, minus its loss
    without change. The importance is the mean of d over rows and repeats. The donors of
    a repeat are a random permutation in which no row is its own donor; with weights,
    they are drawn in proportion to them.

    The mean is a U-statistic of pairs of rows. Its standard error is that of the mean
    over the rows of: the mean d of the row, plus the mean deviation of d from the means
    of the rows to which it donates. The second term is needed because other held-out
    rows would also have other values to donate. The interval is that of the t
    distribution. The p-value is that of the one-sided paired t-test of the null
    hypothesis that permuting does not increase the expected loss. Intervals and
    p-values hold approximately, for enough rows on which the column changes the loss.

    P-values are adjusted for multiple comparisons by Holm's method: the probability of
    an adjusted p-value of at most 0.05 for any useless column is about 0.05
    (family-wise error rate). Intervals are not adjusted.

    Permuting makes combinations of values that may not occur. For columns that depend
    on each other, the importance describes the classifier rather than the data.

    References
    ----------
    .. [1] A. Fisher, C. Rudin, F. Dominici (2019), "All models are wrong, but many are
       useful: learning a variable's importance by studying an entire class of
       prediction models simultaneously", Journal of Machine Learning Research 20.
    .. [2] S. Holm (1979), "A simple sequentially rejective multiple test procedure",
       Scandinavian Journal of Statistics 6, 65-70.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import train_test_split
    >>> from skconftree import ConfidenceForestClassifier
    >>> from skconftree.inspection import feature_importance
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> X = X[["color_intensity", "proline", "flavanoids", "ash"]]
    >>> X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
    >>> forest = ConfidenceForestClassifier(random_state=0).fit(X, y)
    >>> print(feature_importance(forest, X_new, y_new))
    Permutation importance: increase of the log loss (...) of 89 new rows
    <BLANKLINE>
    column           importance        95% interval  p (Holm)
    ...
    p-values are adjusted for 4 columns (Holm); intervals are not
    """
    _check_options(loss, min_correlation, n_repeats, confidence_level)
    if not is_classifier(model):
        raise TypeError(
            f"model must be a classifier. Got {type(model).__name__} instead."
        )
    check_is_fitted(model)
    if isinstance(model.classes_, list):
        raise ValueError(
            f"model must predict one output. This {type(model).__name__} predicts "
            f"{len(model.classes_)}; pass one classifier for each."
        )
    if loss == "log_loss" and not hasattr(model, "predict_proba"):
        raise ValueError(
            f"loss='log_loss' needs predict_proba, which {type(model).__name__} does "
            "not have. Pass loss='zero_one'."
        )
    columns = Columns(X_new, model)
    check_consistent_length(X_new, y_new)
    codes = class_codes(y_new, model.classes_, "classifier")
    weight, is_frequency = _weights(sample_weight, columns.n_rows)
    names, parts = _resolve_groups(groups, columns, min_correlation)
    losses_of, rng = LOSSES[loss], check_random_state(random_state)
    donors = np.array([draw_donors(rng, weight) for _ in range(n_repeats)])
    intact = losses_of(model, columns.X, codes)  # without permuting
    results = []
    for part in parts:
        differences = np.array(
            [
                losses_of(model, columns.with_values_of(of_rows, part), codes) - intact
                for of_rows in donors
            ]
        )
        results.append(mean_and_error(differences, donors, weight, is_frequency))
    mean, error, freedom = np.array(results).T
    # the standard error is 0 if all differences are equal
    statistic = np.where(mean > 0.0, np.inf, -np.inf)
    np.divide(mean, error, out=statistic, where=error > 0.0)
    p_values = t.sf(statistic, freedom)
    radius = t.ppf(0.5 + confidence_level / 2.0, freedom) * error
    return FeatureImportance(
        names,
        parts,
        mean,
        error,
        np.column_stack([mean - radius, mean + radius]),
        p_values,
        holm_pvalues(p_values),
        loss=loss,
        mean_loss=float(weight @ intact / weight.sum()),
        n_rows=int(np.count_nonzero(weight)),
        confidence_level=float(confidence_level),
    )


def _check_options(loss, min_correlation, n_repeats, confidence_level):
    if loss not in [*LOSSES]:
        raise ValueError(f"loss must be one of {[*LOSSES]}. Got {loss!r} instead.")
    if not (isinstance(min_correlation, Real) and 0.0 < min_correlation <= 1.0):
        raise ValueError(
            f"min_correlation must be a number in (0, 1]. Got {min_correlation!r}."
        )
    if not (isinstance(n_repeats, Integral) and n_repeats >= 2):
        raise ValueError(
            f"n_repeats must be an integer of at least 2. Got {n_repeats!r} instead."
        )
    if not (isinstance(confidence_level, Real) and 0.0 < confidence_level < 1.0):
        raise ValueError(
            f"confidence_level must be a number in (0, 1). Got {confidence_level!r}."
        )


def _weights(sample_weight, n_rows):
    # Return the weights of the rows, and whether they are frequencies.
    weight = float_weights(sample_weight, n_rows)
    is_valid = np.isfinite(weight) & (weight >= 0.0)
    if not is_valid.all():
        raise ValueError(
            "sample_weight must be finite and not negative. Got "
            f"{weight[~is_valid][0]:g}."
        )
    if np.count_nonzero(weight) < 2:
        raise ValueError(
            "At least two rows of positive weight are needed. Got "
            f"{np.count_nonzero(weight)}."
        )
    if weight.sum() ** 2 <= np.square(weight).sum():  # equal in floating point
        raise ValueError(
            "At least two rows must have a weight that is not negligible. One row has "
            "all of the weight."
        )
    return weight, bool((weight == np.rint(weight)).all())


@dataclass(eq=False, repr=False)
class FeatureImportanceDisplay(CurveDisplay):
    """Plot of permutation importances: dots with confidence intervals.

    The most important columns are at the top. A dot is filled if the p-value, adjusted
    for the number of columns, is at most 0.05.

    Create it with :meth:`from_estimator`, or from the result of
    :func:`~skconftree.inspection.feature_importance`.

    Parameters
    ----------
    importance : FeatureImportance
        The importances.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes drawn on.
    figure_ : matplotlib.figure.Figure
        The figure they are in.
    lines_ : list of matplotlib.lines.Line2D
        The interval of each column that is shown, from the top.
    dots_ : matplotlib.collections.PathCollection
        The dots.

    See Also
    --------
    feature_importance : Computes the importances.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.inspection import FeatureImportanceDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = ConfidenceTreeClassifier().fit(X[::2], y[::2])
    >>> display = FeatureImportanceDisplay.from_estimator(tree, X[1::2], y[1::2])
    >>> display.figure_.savefig("importance.png")  # doctest: +SKIP
    """

    importance: FeatureImportance

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X_new: TableLike,
        y_new: LabelsLike,
        *,
        max_columns: int | None = 20,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compute the permutation importances of a classifier and draw them.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier.
        X_new : array-like, sparse or frame of shape (n_samples, n_features)
            Held-out rows.
        y_new : array-like of shape (n_samples,)
            Their classes.
        max_columns : int or None, default=20
            Maximum number of columns to draw, the most important ones; None draws all.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; by default those of a new figure.
        **options
            Arguments of :func:`~skconftree.inspection.feature_importance`, such as
            `loss` and `groups`.

        Returns
        -------
        FeatureImportanceDisplay
            The display, drawn.
        """
        importance = feature_importance(estimator, X_new, y_new, **options)
        return cls(importance).plot(ax, max_columns=max_columns)

    def plot(self, ax: Any = None, *, max_columns: int | None = 20) -> Self:
        """Draw the importances.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; by default those of a new figure.
        max_columns : int or None, default=20
            Maximum number of columns to draw, the most important ones; None draws all.

        Returns
        -------
        FeatureImportanceDisplay
            The display itself.
        """
        if not (max_columns is None or isinstance(max_columns, Integral)) or (
            max_columns is not None and max_columns < 1
        ):
            raise ValueError(
                "max_columns must be an integer of at least 1, or None. Got "
                f"{max_columns!r} instead."
            )
        ax = self._begin(ax)  # sets `ax_`, `figure_` and `lines_`
        result = self.importance
        order = result.order()[:max_columns]
        heights = np.arange(len(order))[::-1]
        color = ax.xaxis.label.get_color()
        ax.axvline(0.0, color=BASELINE, linewidth=1.0, zorder=0)
        for y, limits in zip(heights, result.intervals[order], strict=True):
            self.lines_ += ax.plot(limits, [y, y], color=color, linewidth=1.5)
        is_small = result.adjusted_p_values[order] <= ALPHA
        self.dots_ = ax.scatter(
            result.importances[order],
            heights,
            facecolors=[color if small else ax.get_facecolor() for small in is_small],
            edgecolors=color,
            zorder=3,
        )
        ax.set_yticks(heights, [_shortened(result.names[i]) for i in order])
        ax.set_xlabel(f"increase of the {LOSS_NAMES[result.loss]} if permuted")
        ax.set_title(
            f"{100 * result.confidence_level:g}% intervals; filled: adjusted "
            f"p <= {ALPHA:g}",
            fontsize="medium",
        )
        return self
