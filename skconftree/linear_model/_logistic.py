"""Logistic regression on columns and the leaves of a tree: fit, covariance, tests.

A linear score is a sum of *terms* (columns of a design matrix times coefficients), a
constant per leaf and an intercept. With two classes there is one score, the log odds of
the second class; with more, there is one per class. `theta` has all coefficients, with
a row for each score: those of the `q` terms, those of the leaves, and the intercept.
`C` is the inverse strength of the L2 penalty, as in LogisticRegression.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from scipy.sparse import csc_array, csr_array, hstack, issparse
from scipy.special import chdtrc, expit, gammaln
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

MAX_TERMS = 2000  # up to which standard errors and selection of columns are possible
MAX_WORK = 1e7  # rows times parameters up to which likelihood-ratio tests are exact
SMALLEST = 1e-7  # smallest probability in a log loss
# Newton's method is used if a step takes at most MIN_NEWTON multiplications (little
# time), plus MAX_RATIO per row, class and term.
MIN_NEWTON = 3e7
MAX_RATIO = 50
MAX_JOINT = 2e8  # multiplications up to which the covariance includes all classes
RIDGE = 1e-9  # added to variances of terms (relative), because terms can be collinear
MAX_STEPS = 100  # maximum number of steps of Newton's method


class Term(NamedTuple):
    """One term of a linear score: a standardized column, or a category's indicator."""

    column: int
    category: object
    mean: float
    scale: float


class Columns(NamedTuple):
    """Standardized numeric columns and one-hot encoded nominal columns.

    `numeric` and `nominal` are indices of columns. Nominal columns have integer codes
    instead of categories.

    If a numeric column has missing values in training, they are replaced by its mean,
    `fill`, and one more term indicates them; `missing` are the positions of these
    columns in `numeric`. `center` and `scale` standardize the columns and indicators,
    and `varies` is False for those that are constant and have no term. A nominal column
    has a term for each of its `codes`, and one for all other codes if `with_rare` is
    True for it. `kept` are the indices of the terms that are in the score.
    """

    numeric: np.ndarray
    missing: np.ndarray
    fill: np.ndarray
    varies: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    nominal: np.ndarray
    codes: tuple
    with_rare: tuple
    kept: np.ndarray

    @classmethod
    def fit(cls, X, is_categorical, weight, max_categories):
        """Determine the terms of training rows; all are kept."""
        is_nominal = np.zeros(X.shape[1], dtype=bool)
        is_nominal |= False if is_categorical is None else is_categorical
        numeric, nominal = np.flatnonzero(~is_nominal), np.flatnonzero(is_nominal)
        share = weight / weight.sum()
        missing = np.empty(0, dtype=np.intp)
        if issparse(X):  # not centered, so that it stays sparse
            fill = center = np.zeros(X.shape[1])
            square = share @ X.astype(np.float64).power(2)
            variance = square - (share @ X) ** 2
        else:
            values = X[:, numeric].astype(np.float64)
            is_missing = np.isnan(values)
            missing = np.flatnonzero(is_missing.any(axis=0))
            known = share @ ~is_missing
            values[is_missing] = 0.0
            fill = share @ values / np.where(known > 0.0, known, 1.0)
            values = _filled(X, numeric, missing, fill)
            center, square = share @ values, share @ values**2
            variance = share @ (values - center) ** 2
        varies = variance > 1e-12 * square
        codes, with_rare = [], []
        if len(nominal):
            encoder = OneHotEncoder(
                max_categories=max_categories, handle_unknown="infrequent_if_exist"
            ).fit(X[:, nominal])
            for known, rare in zip(
                encoder.categories_, encoder.infrequent_categories_, strict=True
            ):
                with_rare.append(rare is not None)
                codes.append(known if rare is None else np.setdiff1d(known, rare))
        columns = cls(
            numeric,
            missing,
            fill,
            varies,
            center,
            np.sqrt(np.maximum(variance, 0.0)),
            nominal,
            tuple(codes),
            tuple(with_rare),
            np.empty(0, dtype=np.intp),
        )
        return columns._replace(kept=np.arange(len(columns._all_terms())))

    def _all_terms(self):
        columns = [*self.numeric.tolist(), *self.numeric[self.missing].tolist()]
        category = [None] * len(self.numeric) + ["missing"] * len(self.missing)
        terms = [
            Term(columns[k], category[k], float(self.center[k]), float(self.scale[k]))
            for k in np.flatnonzero(self.varies)
        ]
        for j, codes, rare in zip(
            self.nominal.tolist(), self.codes, self.with_rare, strict=True
        ):
            terms += [Term(j, code, 0.0, 1.0) for code in codes.tolist()]
            terms += [Term(j, "infrequent", 0.0, 1.0)] * rare
        return terms

    @property
    def terms(self):
        """The terms that are kept; the category of a nominal one is its code."""
        terms = self._all_terms()
        return [terms[k] for k in self.kept]

    @property
    def column(self):
        """Column of each term that is kept."""
        return np.array([term.column for term in self.terms], dtype=np.intp)

    def only(self, columns):
        """Return a copy with the terms of some columns only."""
        return self._replace(kept=self.kept[np.isin(self.column, columns)])

    def transform(self, X):
        """Return the kept terms of rows, dense unless X is sparse."""
        if issparse(X):
            values = csr_array(X, dtype=np.float64)[:, np.flatnonzero(self.varies)]
            values = csr_array(values.multiply(1.0 / self.scale[self.varies]))
            return values[:, self.kept]
        values = _filled(X, self.numeric, self.missing, self.fill)
        values = (values - self.center)[:, self.varies] / self.scale[self.varies]
        parts = [values]
        for j, codes, rare in zip(
            self.nominal, self.codes, self.with_rare, strict=True
        ):
            is_code = X[:, [j]] == codes
            parts.append(is_code)
            if rare:  # rare categories, and those that training did not have
                parts.append(~is_code.any(axis=1, keepdims=True))
        return np.hstack(parts)[:, self.kept]


def _filled(X, numeric, missing, fill):
    # Return the numeric columns with missing values replaced, then the indicators of
    # missing values.
    values = X[:, numeric].astype(np.float64)
    is_missing = np.isnan(values)
    values = np.where(is_missing, fill, values)
    return np.hstack([values, is_missing[:, missing]])


class Score(NamedTuple):
    """Coefficients of a linear score: one row for two classes, else one per class."""

    coef: np.ndarray
    leaf_coef: np.ndarray
    intercept: np.ndarray

    @property
    def theta(self):
        """All coefficients: of terms, of leaves and the intercept, in this order."""
        return np.hstack([self.coef, self.leaf_coef, self.intercept[:, None]])

    @classmethod
    def of_theta(cls, theta, q):
        """Make a score with `q` terms from its parameters."""
        return cls(theta[:, :q], theta[:, q:-1], theta[:, -1])

    def centered(self, center):
        """Return the score with coefficients times a matrix; None: the same score."""
        if center is None:
            return self
        return Score.of_theta(self.theta @ center.T, self.coef.shape[1])

    def values(self, terms, leaves):
        """Score of each row."""
        return terms @ self.coef.T + self.leaf_coef.T[leaves] + self.intercept


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a logistic regression: terms, leaf, class index, and weight."""

    terms: Any
    leaves: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    n_leaves: int
    n_classes: int

    @property
    def scored(self):
        """Classes that have a score: all, or the second of two."""
        return np.arange(self.n_classes)[1 if self.n_classes == 2 else 0 :]

    def is_small(self, limit):
        """Whether a step of Newton's method takes few, or `limit`, multiplications."""
        size = len(self.scored) * (self.terms.shape[1] + 1)
        work = size**2 * (len(self.y) + self.n_leaves * len(self.scored))
        return work <= max(limit, MIN_NEWTON + MAX_RATIO * len(self.y) * size)

    @cached_property
    def design(self):
        """The terms and a column of ones."""
        ones = np.ones((len(self.y), 1))
        if issparse(self.terms):
            return hstack([self.terms, ones], format="csr")
        return np.hstack([self.terms, ones])

    @cached_property
    def indicator(self):
        """Sparse indicators of the leaves, one row for each leaf."""
        n = len(self.y)
        parts = (np.ones(n), self.leaves, np.arange(n + 1))
        return csc_array(parts, shape=(self.n_leaves, n))

    def values(self, theta):
        """Score of each row."""
        score = Score.of_theta(theta, self.terms.shape[1])
        return score.values(self.terms, self.leaves)

    def proba(self, theta):
        """Probability of each class that has a score."""
        return probabilities(self.values(theta), self.n_classes)[:, -len(theta) :]

    def error(self, proba, of=slice(None)):
        """Derivative of the loss with respect to the scores of some classes."""
        error = proba - (self.y[:, None] == self.scored[of])
        return error * self.weight[:, None]

    def with_terms(self, columns):
        """Return the rows with some of the terms only."""
        return replace(self, terms=self.terms[:, columns])


def probabilities(score, n_classes):
    """Class probabilities of scores."""
    if n_classes > 2:
        odds = np.exp(score - score.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)
    positive = expit(score[:, 0])
    return np.column_stack([1.0 - positive, positive])


def log_losses(proba, y):
    """Log loss of each row, with probabilities of at least `SMALLEST`."""
    return -np.log(np.maximum(proba[np.arange(len(y)), y], SMALLEST))


def _objective(rows, theta, C):
    # Penalized negative log-likelihood; the intercept is not penalized.
    values = rows.values(theta)
    if rows.n_classes > 2:
        values -= values[np.arange(len(rows.y)), rows.y][:, None]
        largest = values.max(axis=1)
        loss = largest + np.log(np.exp(values - largest[:, None]).sum(axis=1))
    else:
        loss = np.logaddexp(0.0, np.where(rows.y == 1, -values[:, 0], values[:, 0]))
    return rows.weight @ loss + 0.5 * (theta[:, :-1] ** 2).sum() / C


def fit_score(rows, C, start=None):
    """Fit the logistic regression to rows of at least two classes.

    `start` has parameters to start from.
    """
    present = np.unique(rows.y[rows.weight > 0])
    q = rows.terms.shape[1]
    if start is None:  # from the log odds of each leaf
        start = np.zeros((len(rows.scored), q + rows.n_leaves + 1))
        y = (rows.y[:, None] == np.arange(rows.n_classes)) * rows.weight[:, None]
        odds = np.log(rows.indicator @ y + 1.0)
        odds -= odds[:, :1] if rows.n_classes == 2 else odds.mean(axis=1)[:, None]
        start[:, q:-1] = odds[:, -len(start) :].T
    if len(present) < rows.n_classes:  # absent classes have probabilities near 0
        y = np.searchsorted(present, rows.y)
        fitted = fit_score(replace(rows, y=y, n_classes=len(present)), C).theta
        theta = np.zeros_like(start)
        theta[:, -1] = np.log(SMALLEST)
        theta[present] = (
            fitted if len(fitted) > 1 else np.vstack([-0.5 * fitted, 0.5 * fitted])
        )
        return Score.of_theta(theta, q)
    if rows.is_small(0):
        optimum = _by_newton(rows, C, start, 1e-3)
        if optimum is not None:
            return Score.of_theta(optimum[0], q)
    if issparse(rows.terms) or rows.n_leaves > 2 * q + 20:
        design = hstack([csr_array(rows.terms), rows.indicator.T], format="csr")
    else:
        design = np.hstack([rows.terms, rows.indicator.T.toarray()])
    model = LogisticRegression(C=C, max_iter=2000, warm_start=True)
    model.coef_, model.intercept_ = start[:, :-1], start[:, -1]
    model.fit(design, rows.y, sample_weight=rows.weight)
    return Score.of_theta(np.column_stack([model.coef_, model.intercept_]), q)


def _by_newton(rows, C, theta, tol):
    # Return the optimum and the Hessian near it, or None if Newton's method fails. The
    # squared Newton decrement per row is at most `tol` before the last step.
    limit = tol * rows.weight.sum()
    before = _objective(rows, theta, C)
    for _ in range(MAX_STEPS):
        hessian = Hessian(rows, rows.proba(theta), C)
        try:
            step, decrement = hessian.step(theta)
        except LinAlgError:
            return None
        length, after = 1.0, _objective(rows, theta - step, C)
        while not after <= before and length > 1e-6:
            length *= 0.5
            after = _objective(rows, theta - length * step, C)
        if after <= before:
            theta, before = theta - length * step, after
        if decrement <= limit or length <= 1e-6:
            return theta, hessian
    return None


class Hessian:
    """Hessian of the penalized negative log-likelihood in the coefficients of classes.

    The coefficients of the leaves form a block-diagonal part, with a block per leaf. It
    is eliminated: `inverse` has the inverse of each block, and `rest` is the Schur
    complement for the other coefficients, of the terms and the intercept. `of` are the
    classes whose coefficients are included.
    """

    def __init__(self, rows, proba, C, of=slice(None)):
        proba = proba[:, of]
        self.rows, self.proba, self.C, self.of = rows, proba, C, of
        n_score, design, n_leaves = proba.shape[1], rows.design, rows.n_leaves
        n_terms = design.shape[1]
        if n_score > 1:
            design = _dense(design)
        # Blocks of the Hessian: terms and intercept by themselves, leaves by these, and
        # (`own`) each leaf by itself. The last column of the design is constant 1.
        whole = np.zeros((n_score, n_terms, n_score, n_terms))
        across = np.zeros((n_leaves, n_score, n_score, n_terms))
        for k in range(n_score):
            # second derivatives of the loss, by score k and each score up to k
            v = -proba[:, : k + 1] * (rows.weight * proba[:, k])[:, None]
            v[:, k] += rows.weight * proba[:, k]
            scaled = _scaled(design, v)
            block = _dense(design.T @ scaled).reshape(n_terms, k + 1, n_terms)
            whole[k, :, : k + 1] = block
            whole[:k, :, k] = block[:, :k].swapaxes(0, 1)
            block = _dense(rows.indicator @ scaled)
            across[:, k, : k + 1] = block.reshape(n_leaves, k + 1, n_terms)
            across[:, :k, k] = across[:, k, :k]
        own = across[..., -1] + np.eye(n_score) / C
        at = np.arange(n_terms - 1)
        whole[:, at, :, at] += np.eye(n_score) / C
        # A common shift of the intercepts of all classes has no effect: it is set to 0.
        whole[:, -1, :, -1] += (n_score > 1) * rows.weight.sum()
        try:
            self.inverse = np.linalg.inv(own)
        except LinAlgError:  # of a leaf whose probabilities are near 0 or 1
            self.inverse = np.linalg.pinv(own, hermitian=True)
        across = across.reshape(n_leaves, n_score, -1)
        self.weighted = (self.inverse @ across).reshape(n_leaves * n_score, -1)
        self.rest = whole.reshape(n_score * n_terms, -1)
        self.rest -= across.reshape(len(self.weighted), -1).T @ self.weighted

    def step(self, theta):
        """Newton step of the coefficients, and its squared decrement."""
        rows, theta, q = self.rows, theta[self.of], self.rows.terms.shape[1]
        error = rows.error(self.proba, self.of)
        terms = (rows.design.T @ error).T
        terms[:, :-1] += theta[:, :q] / self.C
        leaves = rows.indicator @ error + theta[:, q:-1].T / self.C
        rest = terms.ravel() - self.weighted.T @ leaves.ravel()
        step = np.linalg.solve(self.rest, rest)
        of_leaves = (self.inverse @ leaves[..., None]).ravel() - self.weighted @ step
        decrement = terms.ravel() @ step + leaves.ravel() @ of_leaves
        step, of_leaves = step.reshape(terms.shape), of_leaves.reshape(leaves.shape)
        return np.hstack([step[:, :-1], of_leaves.T, step[:, -1:]]), decrement

    def covariance(self):
        """Inverse, of shape (n_scores, n_coefficients, n_scores, n_coefficients)."""
        n_score, n_leaves = self.proba.shape[1], self.rows.n_leaves
        q, size = self.rows.terms.shape[1], self.rows.terms.shape[1] + n_leaves + 1
        of_rest = np.zeros((n_score, size, n_score, q + 1))
        for k in range(n_score):
            of_rest[k, :q, k, :q] = np.eye(q)
            of_rest[k, -1, k, -1] = 1.0
        weighted = self.weighted.reshape(n_leaves, n_score, n_score, q + 1)
        of_rest[:, q:-1] = -weighted.swapaxes(0, 1)
        of_rest = of_rest.reshape(n_score * size, -1)
        covariance = of_rest @ np.linalg.pinv(self.rest, hermitian=True) @ of_rest.T
        covariance = covariance.reshape(n_score, size, n_score, size)
        at = q + np.arange(n_leaves)
        covariance[:, at, :, at] += self.inverse
        return covariance


def _scaled(terms, weight):
    # The terms times each column of weights, side by side; sparse if there is only one.
    if issparse(terms):
        return terms.multiply(weight)
    return (weight[:, :, None] * terms[:, None, :]).reshape(len(terms), -1)


def _dense(matrix):
    return matrix.toarray() if issparse(matrix) else matrix


class Curvature:
    """Covariance matrix of the coefficients of a score, given the tree.

    It is the inverse of the Hessian of the penalized negative log-likelihood: of all
    coefficients together if there are few, otherwise of the coefficients of each class
    separately.
    """

    def __init__(self, score, rows, C):
        self.rows, self.C, self.q = rows, C, rows.terms.shape[1]
        theta, self.size = score.theta, score.theta.shape[1]
        optimum = None
        if len(theta) == 1 or rows.is_small(MAX_JOINT):
            optimum = _by_newton(rows, C, theta, 1e-10)
        if optimum is None:
            proba = rows.proba(theta)
            parts = [Hessian(rows, proba, C, [k]) for k in range(len(theta))]
        else:
            theta, parts = optimum[0], [optimum[1]]
        self.theta, self.score = theta, Score.of_theta(theta, self.q)
        self.minimum = _objective(rows, theta, C)
        self.covariance = [part.covariance() for part in parts]

    def variances(self, contrasts):
        """Variance of ``contrasts @ coefficients``, for each row of `theta`."""
        return np.array(
            [
                ((contrasts @ part[k, :, k]) * contrasts).sum(axis=1)
                for part in self.covariance
                for k in range(len(part))
            ]
        )

    def test(self, contrasts, groups):
        """Test for each group of contrasts whether they are 0 in all rows of `theta`.

        A contrast is a linear combination of the coefficients of a score. Each test is
        a likelihood-ratio test, whose restricted optimum is that of the quadratic
        approximation of the log-likelihood. If there are many rows and groups, it is a
        Wald test: the likelihood is approximated too. Returns p-values.
        """
        changes = np.empty((len(groups), *self.theta.shape))
        statistic, rank = np.zeros(len(groups)), np.ones(len(groups))
        start = 0
        for part in self.covariance:
            of = slice(start, start + len(part))
            start = of.stop
            steps, values = part @ contrasts.T, self.theta[of] @ contrasts.T
            for g, at in enumerate(groups):
                step, value = steps[..., at], values[:, at].ravel()
                gram = np.tensordot(contrasts[at], step, (1, 1)).swapaxes(0, 1)
                gram = gram.reshape(len(value), -1)
                if len(value) > 1:
                    value = np.linalg.pinv(gram, 1e-9, hermitian=True) @ value
                else:
                    value = value / np.maximum(gram[0], 1e-300)
                if len(at) > 1:
                    rank[g] = np.linalg.matrix_rank(contrasts[at])
                changes[g, of] = step.reshape(len(part), self.size, -1) @ value
                statistic[g] += value @ values[:, at].ravel()
        if len(self.rows.y) * changes.size / self.size <= MAX_WORK:
            for g, change in enumerate(changes):
                after = _objective(self.rows, self.theta - change, self.C)
                statistic[g] = 2.0 * (after - self.minimum)
        return chdtrc(rank * (self.rows.n_classes - 1), statistic.clip(0.0))


def forward_scores(rows, column, C, n_columns):
    """Select columns one after the other, by score tests given the leaves.

    For no column, one column, and so on up to `n_columns`, yield the indices of the
    terms of the selected columns, and the score that is fitted to them.
    """
    q, selected = rows.terms.shape[1], []
    groups = {j: np.flatnonzero(column == j) for j in sorted(set(column.tolist()))}
    theta = None
    while True:
        at = np.flatnonzero(np.isin(column, selected))
        here = np.append(at, np.arange(q, q + rows.n_leaves + 1))
        start = None if theta is None else theta[:, here]
        score = fit_score(rows.with_terms(at), C, start)
        theta = np.zeros((len(rows.scored), q + rows.n_leaves + 1))
        theta[:, here] = score.theta
        yield at, score
        if len(selected) == min(n_columns, len(groups)):
            return
        rest = [j for j in groups if j not in selected]
        own = [groups[j] for j in rest]
        statistic = _score_statistics(rows, rows.proba(theta), C, at, own)
        df = (rows.n_classes - 1) * np.array(list(map(len, own)))
        selected.append(rest[int(np.argmin(_log_sf(statistic, df)))])


def _score_statistics(rows, proba, C, in_model, groups):
    # Statistic g' V^-1 g of each group, summed over the scores, where g is the gradient
    # with respect to the terms of the group, and V its variance given the leaves and
    # the terms in the model. With one score for each of K > 2 classes, the sum is
    # multiplied by (K - 1) / K, so that its expectation under the null hypothesis is
    # the number of degrees of freedom.
    design = rows.design
    base = np.append(in_model, design.shape[1] - 1)
    square = design.power(2) if issparse(design) else design**2
    gradient = (design.T @ rows.error(proba)).T
    statistics = np.zeros(len(groups))
    for k, v in enumerate((rows.weight[:, None] * proba * (1.0 - proba)).T):
        scaled = _scaled(design, v[:, None])
        across = _dense(rows.indicator @ scaled)
        share = across / (across[:, -1:] + 1.0 / C)
        gram = _dense(design[:, base].T @ scaled) - share[:, base].T @ across
        at = np.arange(len(in_model))
        gram[at, in_model] += 1.0 / C
        gram[np.arange(len(base)), base] += RIDGE * (square[:, base].T @ v) + 1e-300
        part = np.linalg.solve(gram[:, base], gram)
        variance = square.T @ v - (share * across).sum(axis=0) + 1.0 / C
        variance -= (gram * part).sum(axis=0)
        single = gradient[k] ** 2 / np.maximum(variance, 1e-12)
        for g, own in enumerate(groups):
            if len(own) == 1:
                statistics[g] += single[own[0]]
                continue
            block = design[:, own].T @ scaled[:, own] - share[:, own].T @ across[:, own]
            block -= gram[:, own].T @ part[:, own]
            block[np.diag_indices(len(own))] += 1.0 / C + RIDGE * v.sum()
            statistics[g] += gradient[k, own] @ np.linalg.solve(block, gradient[k, own])
    return statistics * (rows.n_classes - 1) / len(rows.scored)


def _log_sf(x, df):
    # Logarithm of the survival function of the chi-squared distribution; `tail` is its
    # asymptotic expansion, for probabilities below the range of floats.
    p, half = chdtrc(df, x), 0.5 * np.maximum(x, 1.0)
    tail = (0.5 * df - 1.0) * np.log(half) - half - gammaln(0.5 * df)
    return np.where(p > 1e-300, np.log(np.maximum(p, 1e-300)), tail)
