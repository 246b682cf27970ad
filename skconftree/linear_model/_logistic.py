"""Logistic regression on columns and the leaves of a tree: fit, covariance, tests."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, pinvh, solve
from scipy.sparse import csr_array, hstack, issparse
from scipy.special import expit, log_softmax, softmax
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

MAX_PARAMETERS = 1500  # of all classes together, for their joint covariance matrix
MAX_TERMS = 2000  # for standard errors and the selection of columns
MAX_WORK = 3e7  # multiplications of all likelihood-ratio tests of a model
SMALLEST = 1e-7  # probability in a log loss
MAX_NEWTON = 150  # parameters of a fit by Newton's method
N_NEWTON = 3  # steps after those of LogisticRegression, to full precision


class Term(NamedTuple):
    """One term of a linear score: what is multiplied by a coefficient."""

    column: int
    category: object
    mean: float
    scale: float


class Columns(NamedTuple):
    """Standardized numeric columns and one-hot nominal columns of coded rows.

    A numeric column with missing values in training has them replaced by its mean,
    `fill`, and one more term that indicates them. A nominal column has a term for each
    of its `codes`, and one for all others if it is in `with_rare`. Columns without
    variation have no term. Only the terms `kept` are in the score.
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
            square = share @ X.power(2)
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
        """The same with the terms of some columns."""
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
    # The numeric columns with their missing values replaced, and indicators of these.
    values = X[:, numeric].astype(np.float64)
    is_missing = np.isnan(values)
    values = np.where(is_missing, fill, values)
    return np.hstack([values, is_missing[:, missing]])


class Score(NamedTuple):
    """Linear score: one row for two classes, otherwise a row for each class."""

    coef: np.ndarray
    leaf_coef: np.ndarray
    intercept: np.ndarray

    @property
    def theta(self):
        """All parameters, a row for each row of the score."""
        return np.hstack([self.coef, self.leaf_coef, self.intercept[:, None]])

    @classmethod
    def of_theta(cls, theta, q):
        """Make a score with `q` terms from its parameters."""
        return cls(theta[:, :q], theta[:, q:-1], theta[:, -1])

    def centered(self, center):
        """The same score in other parameters; `center` is None to keep them."""
        if center is None:
            return self
        return Score.of_theta(self.theta @ center.T, self.coef.shape[1])

    def values(self, terms, leaves):
        """Score of each row."""
        return terms @ self.coef.T + self.leaf_coef.T[leaves] + self.intercept


class Rows(NamedTuple):
    """Rows of a logistic regression: terms, leaf, class index, and weight."""

    terms: object
    leaves: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    n_leaves: int
    n_classes: int

    def with_terms(self, columns):
        """The same rows with some of the terms."""
        return self._replace(terms=self.terms[:, columns])


def probabilities(score, n_classes):
    """Class probabilities of scores."""
    if n_classes > 2:
        return softmax(score, axis=1)
    positive = expit(score[:, 0])
    return np.column_stack([1.0 - positive, positive])


def log_losses(proba, y):
    """Log loss of each row, with probabilities of at least 1e-7."""
    return -np.log(np.maximum(proba[np.arange(len(y)), y], SMALLEST))


def _objective(score, rows, theta, C):
    # Penalized negative log-likelihood; the intercept is not penalized.
    values = score.values(rows.terms, rows.leaves)
    index = np.arange(len(rows.y))
    if rows.n_classes > 2:
        loss = -log_softmax(values, axis=1)[index, rows.y]
    else:
        loss = np.logaddexp(0.0, np.where(rows.y == 1, -values[:, 0], values[:, 0]))
    return rows.weight @ loss + 0.5 * (theta[:, :-1] ** 2).sum() / C


def indicator_of(rows, weight=None):
    """Sparse indicators of the leaves, times a weight of each row."""
    n = len(rows.y)
    weight = np.ones(n) if weight is None else weight
    return csr_array((weight, rows.leaves, np.arange(n + 1)), shape=(n, rows.n_leaves))


def fit_score(rows, C, tol=1e-4):
    """Fit the logistic regression; None if the rows have fewer than two classes."""
    present = np.unique(rows.y[rows.weight > 0])
    if len(present) < 2:
        return None
    q = rows.terms.shape[1]
    indicator = indicator_of(rows)
    if issparse(rows.terms) or rows.n_leaves > 2 * q + 20:
        design = hstack([csr_array(rows.terms), indicator], format="csr")
    else:
        design = np.hstack([rows.terms, indicator.toarray()])
    size = design.shape[1] * (1 if len(present) == 2 else len(present))
    solver = "newton-cholesky" if size <= MAX_NEWTON else "lbfgs"
    model = LogisticRegression(C=C, solver=solver, max_iter=2000, tol=tol)
    model.fit(design, rows.y, sample_weight=rows.weight)
    n_rows = 1 if rows.n_classes == 2 else rows.n_classes
    theta = np.zeros((n_rows, design.shape[1] + 1))
    theta[:, -1] = 0.0 if n_rows == 1 else -np.log(1.0 / SMALLEST)  # absent classes
    fitted = np.column_stack([model.coef_, model.intercept_])
    if n_rows == 1:
        theta[:] = fitted
    elif len(present) == 2:
        theta[present] = np.vstack([-0.5 * fitted, 0.5 * fitted])
    else:
        theta[present] = fitted
    return Score.of_theta(theta, q)


class Curvature:
    """Covariance matrix of the parameters of a score, given the tree.

    It is the inverse of the Hessian of the penalized negative log-likelihood: of all
    parameters together if there are few, otherwise of those of each class.
    """

    def __init__(self, score, rows, C):
        self.rows, self.C = rows, C
        n_score = len(score.intercept)
        self.size = score.theta.shape[1]
        self.q = score.coef.shape[1]
        self.joint = n_score * self.size <= MAX_PARAMETERS
        for _ in range(N_NEWTON if self.joint else 0):
            score = self._newton_step(score)
        self.score = score
        self.minimum = _objective(score, rows, score.theta, C)
        self.covariance = [pinvh(hessian) for hessian in self._hessian(score)]

    def _proba(self, score):
        values = score.values(self.rows.terms, self.rows.leaves)
        return probabilities(values, self.rows.n_classes)

    def _newton_step(self, score):
        theta, rows = score.theta, self.rows
        error = self._proba(score)
        error[np.arange(len(rows.y)), rows.y] -= 1.0
        error = (error if len(theta) > 1 else error[:, 1:]) * rows.weight[:, None]
        sums = indicator_of(rows).T @ error
        gradient = np.vstack([rows.terms.T @ error, sums, error.sum(axis=0)]).T
        gradient[:, :-1] += theta[:, :-1] / self.C
        try:
            step = solve(self._hessian(score)[0], gradient.ravel(), assume_a="pos")
        except LinAlgError:
            return score
        new = theta - step.reshape(theta.shape)
        if len(new) > 1:  # a common shift of all intercepts has no effect
            new[:, -1] -= new[:, -1].mean()
        new = Score.of_theta(new, self.q)
        before = _objective(score, rows, theta, self.C)
        after = _objective(new, rows, new.theta, self.C)
        return new if after <= before else score

    def _weighted_gram(self, weight):
        # Z' diag(weight) Z of the terms, the indicators of leaves and the constant.
        rows, q, size = self.rows, self.q, self.size
        gram = np.zeros((size, size))
        terms = rows.terms
        scaled = (
            terms.multiply(weight[:, None])
            if issparse(terms)
            else terms * weight[:, None]
        )
        block = terms.T @ scaled
        gram[:q, :q] = block.toarray() if issparse(block) else block
        indicator = indicator_of(rows, weight)
        across = indicator.T @ terms
        across = across.toarray() if issparse(across) else across
        gram[q:-1, :q] = across
        gram[:q, q:-1] = across.T
        total = np.bincount(rows.leaves, weight, rows.n_leaves)
        diagonal = np.arange(q, size - 1)
        gram[diagonal, diagonal] = total
        gram[-1, q:-1] = gram[q:-1, -1] = total
        gram[-1, :q] = gram[:q, -1] = across.sum(axis=0)
        gram[-1, -1] = total.sum()
        return gram

    def _hessian(self, score):
        # A list with the joint matrix, or with one matrix for each row of the score.
        proba, weight = self._proba(score), self.rows.weight
        n_score, size = len(score.intercept), self.size
        penalty = np.full(size, 1.0 / self.C)
        penalty[-1] = 1e-9  # the intercepts of all classes can be shifted together
        if n_score == 1:
            v = weight * proba[:, 0] * proba[:, 1]
            return [self._weighted_gram(v) + np.diag(penalty)]
        if not self.joint:
            return [
                self._weighted_gram(weight * p * (1.0 - p)) + np.diag(penalty)
                for p in proba.T
            ]
        joint = np.zeros((n_score, size, n_score, size))
        for k in range(n_score):
            for other in range(k + 1):
                v = weight * proba[:, k] * ((k == other) - proba[:, other])
                gram = self._weighted_gram(v) + (
                    np.diag(penalty) if k == other else 0.0
                )
                joint[k, :, other] = gram
                joint[other, :, k] = gram
        return [joint.reshape(n_score * size, n_score * size)]

    def variances(self, contrasts):
        """Covariance of ``contrasts @ parameters``, in each row of the score."""
        size = self.size
        if self.joint:
            covariance = self.covariance[0]
            n_score = len(covariance) // size
            blocks = covariance.reshape(n_score, size, n_score, size)
            blocks = [blocks[k, :, k] for k in range(n_score)]
        else:
            blocks = self.covariance
        return np.array(
            [np.einsum("ij,jk,ik->i", contrasts, b, contrasts) for b in blocks]
        )

    def test(self, contrasts):
        """Likelihood-ratio test that some contrasts are 0 in all rows of the score.

        The restricted optimum is that of the quadratic approximation. Returns the
        statistic and the logarithm of its p-value.
        """
        theta = self.score.theta
        n_score = len(theta)
        rank = np.linalg.matrix_rank(contrasts)
        if self.joint:
            full = np.kron(np.eye(n_score), contrasts)
            step = self.covariance[0] @ full.T
            change = step @ (pinvh(full @ step) @ (full @ theta.ravel()))
            restricted = theta - change.reshape(theta.shape)
        else:
            restricted = theta.copy()
            for k, covariance in enumerate(self.covariance):
                step = covariance @ contrasts.T
                change = pinvh(contrasts @ step) @ (contrasts @ theta[k])
                restricted[k] -= step @ change
        new = Score.of_theta(restricted, self.q)
        after = _objective(new, self.rows, restricted, self.C)
        statistic = max(2.0 * (after - self.minimum), 0.0)
        return statistic, chi2.logsf(statistic, rank * max(n_score - 1, 1))


def order_columns(rows, column, C, n_columns):
    """Select columns one after the other, by score tests given the leaves.

    Returns
    -------
    list of int
        At most `n_columns` columns, in the order of their selection.
    """
    selected, remaining = [], sorted(set(column.tolist()))
    while remaining and len(selected) < n_columns:
        in_model = np.flatnonzero(np.isin(column, selected))
        score = fit_score(rows.with_terms(in_model), C)
        if score is None:
            return selected
        values = score.values(rows.terms[:, in_model], rows.leaves)
        proba = probabilities(values, rows.n_classes)
        statistic = dict.fromkeys(remaining, 0.0)
        for k in range(len(score.intercept)):
            p = proba[:, -1] if len(score.intercept) == 1 else proba[:, k]
            positive = rows.y == (
                rows.n_classes - 1 if len(score.intercept) == 1 else k
            )
            _add_score_statistics(rows, column, in_model, p, positive, C, statistic)
        n_free = max(rows.n_classes - 1, 1)
        share = 1.0 if rows.n_classes == 2 else (rows.n_classes - 1) / rows.n_classes
        size = {j: max((column == j).sum(), 1) for j in remaining}
        best = min(
            remaining, key=lambda j: chi2.logsf(share * statistic[j], size[j] * n_free)
        )
        selected.append(best)
        remaining.remove(best)
    return selected


def _add_score_statistics(rows, column, in_model, p, positive, C, statistic):
    # Add g' V^-1 g of each column, where g is the gradient with respect to its terms
    # and V its variance given the leaves and the terms of the model.
    terms = rows.terms
    v = rows.weight * p * (1.0 - p)
    gradient = terms.T @ (rows.weight * (positive - p))
    indicator = indicator_of(rows, v)
    across = indicator.T @ terms
    across = across.toarray() if issparse(across) else across
    total = np.maximum(np.bincount(rows.leaves, v, rows.n_leaves), 1e-12)
    scaled = terms.multiply(v[:, None]) if issparse(terms) else terms * v[:, None]
    gram = terms.T @ scaled
    gram = gram.toarray() if issparse(gram) else gram
    gram = gram - across.T @ (across / total[:, None]) + np.eye(len(gram)) / C
    if len(in_model):
        part = gram[:, in_model] @ pinvh(gram[np.ix_(in_model, in_model)])
        gram = gram - part @ gram[in_model]
        gradient = gradient - part @ gradient[in_model]
    for j in statistic:
        own = np.flatnonzero(column == j)
        statistic[j] += gradient[own] @ pinvh(gram[np.ix_(own, own)]) @ gradient[own]
