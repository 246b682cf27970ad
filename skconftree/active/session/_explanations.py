"""What a session shows: values of a row, explanations of a query, and forecasts."""

import unicodedata
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from ..._compat import _safe_indexing, get_feature_names
from ...bounds import confidence_sequence
from .._estimators import final_step, has_leaves
from .._journal import fingerprint
from .._labels import in_chunks, n_rows_of, take
from ..pool._simulate import simulate
from ..pool._stopping import share_of
from ..pool._view import LearnerView

N_NEAR = 5
MAX_TESTS = 12


def reasons(learner, row, has_model, named=None):
    """Sentences about a row of the pool; `named` has names and formats of columns."""
    if not has_model:
        return [
            "Fewer than two classes have been labeled so far. Rows that are far from "
            "each other are queried, so that the first labels cover the pool."
        ]
    model = learner.estimator_
    if has_leaves(model) and hasattr(final_step(model)[0], "tree_"):
        return _of_leaf(learner, row, named)
    view = LearnerView(learner)
    labeled = view.labeled
    labeled = labeled[labeled != row]
    away = view.squared_distances(row, labeled)
    near = labeled[np.argsort(away, kind="stable")[:N_NEAR]]
    classes = learner.classes_[view.codes[near]].tolist()
    told = ", ".join(
        f"row {other} ({label})"
        for other, label in zip(near.tolist(), classes, strict=True)
    )
    return [f"The nearest rows with a label are: {told}."]


def _of_leaf(learner, row, named):
    model = learner.estimator_
    final, seen = final_step(model)
    view = LearnerView(learner)
    X, codes = view.X, view.codes

    def leaves(rows):
        return final.apply(seen(take(X, rows)))

    here = int(leaves(np.array([row]))[0])
    labeled = np.flatnonzero(codes >= 0)
    inside = labeled[leaves(labeled) == here]
    counts = np.bincount(codes[inside], minlength=len(learner.classes_))
    told = ", ".join(
        f"{count} {label}"
        for label, count in zip(learner.classes_.tolist(), counts, strict=True)
        if count
    )
    out = [f"It lies in leaf {here}, whose labels are: {told or 'none'}."]
    if model is not final and len(model) > 1:  # features of other columns
        named = None
        names = getattr(model[:-1], "get_feature_names_out", lambda: None)()
    else:
        names = get_feature_names(X)
    if named is None:
        if names is None:
            names = [f"column {j}" for j in range(final.n_features_in_)]
        named = [(str(name), _number) for name in names]
    tests = _tests(final.tree_, here, named)
    if tests:
        out.append(f"The leaf is where {' and '.join(tests[:MAX_TESTS])}.")
    return out


def _number(value):
    return f"{value:.4g}"


def _tests(tree, leaf, named):
    # Conditions on the path to a leaf; none unless all splits have one threshold.
    left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
    if not hasattr(tree, "threshold") or (left == -2).any():
        return []
    parent = {}
    for node in np.flatnonzero(left >= 0).tolist():
        parent[int(left[node])] = node, "<="
        parent[int(right[node])] = node, ">"
    tests = []
    while leaf in parent:
        leaf, sign = parent[leaf]
        feature = int(tree.feature[leaf])
        threshold = float(tree.threshold[leaf])
        if not np.isfinite(threshold):  # categories, or missing values alone
            return []
        name, write = named[feature]
        tests.append(f"{name} {sign} {write(threshold)}")
    return tests[::-1]


# Control characters to keep; emoji need some of them.
VISIBLE_CONTROLS = {"\n", "\u200c", "\u200d"}
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # Unicode categories to remove
MAX_ENTRIES = 30  # entries shown of a sparse row


class Shown:
    """Texts of a table, by column name; it may be a dict of columns."""

    def __init__(self, table):
        if isinstance(table, dict):
            self.columns = {str(name): list(one) for name, one in table.items()}
            self.table, self.n_rows = None, len(next(iter(self.columns.values()), []))
        else:
            self.columns = None
            self.table = table if hasattr(table, "shape") else list(table)
            self.n_rows = n_rows_of(self.table)
            names = getattr(table, "columns", None)
            self.names = None if names is None else [str(one) for one in names]

    def check(self, n_rows):
        """Raise ValueError unless the table has `n_rows` rows."""
        sizes = [self.n_rows, *map(len, (self.columns or {}).values())]
        if set(sizes) != {n_rows}:
            raise ValueError(
                f"shown must have the {n_rows} rows of X. Got {sizes[0]} rows."
            )

    def fingerprint(self):
        """Return a hash of the table."""
        if self.columns is None:
            return fingerprint(
                np.array(self.table, dtype=object)
                if isinstance(self.table, list)
                else self.table
            )
        table = np.empty((self.n_rows, len(self.columns)), dtype=object)
        for place, column in enumerate(self.columns.values()):
            table[:, place] = column
        return fingerprint(table)

    def values(self, row):
        """Return the text of each value of a row, by column name."""
        if self.columns is not None:
            found = {name: one[row] for name, one in self.columns.items()}
        elif issparse(self.table):
            one = take(self.table, np.array([row])).tocoo()
            places = np.argsort(-np.abs(one.data), kind="stable")[:MAX_ENTRIES]
            found = {f"column {one.col[k]}": one.data[k] for k in sorted(places)}
        elif isinstance(self.table, list):
            found = _numbered(self.table[row])
        elif self.names is not None:
            one = _safe_indexing(self.table, [row])
            found = {
                name: np.asarray(_safe_indexing(one, j, axis=1)).tolist()[0]
                for j, name in enumerate(self.names)
            }
        else:
            found = _numbered(np.asarray(take(self.table, np.array([row])))[0])
        return {name: _text(value) for name, value in found.items()}


def _numbered(row):
    if isinstance(row, str) or np.ndim(row) == 0:
        return {"text": row}
    return {f"column {j}": value for j, value in enumerate(np.asarray(row).tolist())}


def _text(value):
    if value is None or value != value:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def visible(text):
    """Text without characters that control a terminal or the writing direction."""
    text = text.replace("\r\n", "\n").replace("\t", " ")
    return "".join(
        one
        for one in text
        if one in VISIBLE_CONTROLS or unicodedata.category(one) not in UNSEEN
    )


MIN_LABELS = 20  # smallest number of labels for a learning curve
RUNS = 10


def forecast_text(learner, rules, n):
    """Return a sentence about the expected benefit of the next `n` labels."""
    wrong, judged = learner.audit_
    audits = [one for one in rules if share_of(one) > 0.0 and hasattr(one, "limit")]
    if judged and audits:
        return _limit_text(audits[0], wrong, judged, n)
    return _curve_text(learner, n)


def _limit_text(rule, wrong, judged, n):
    # Assume the same error rate and the same proportion of audited rows as so far.
    more = max(1, round(n * share_of(rule)))
    later = np.array([wrong, judged - wrong]) * (judged + more) / judged
    limits = [
        confidence_sequence(counts, rule.delta)[0, 1]
        for counts in ([wrong, judged - wrong], later)
    ]
    now, then = (f"{100 * one:.0f} %" for one in limits)
    return (
        f"At most {now} of the predictions are wrong, by an audit of {judged}; if the "
        f"next {n} labels go on like this, at most {then}."
    )


def _curve_text(learner, n):
    view = LearnerView(learner)
    labeled = np.sort(view.labeled)
    codes = view.codes[labeled]
    counts = np.bincount(codes, minlength=1)
    if len(labeled) < MIN_LABELS or (counts > 1).sum() < 2:
        return (
            f"At least {MIN_LABELS} labels of two or more classes are needed to "
            "forecast the benefit of further labels."
        )
    X, y = take(view.X, labeled), learner.classes_[codes]
    step = len(labeled) // 4
    result = simulate(
        learner.estimator,
        X,
        y,
        cv=RUNS,
        batch_size=step,
        budget=2 * step,
        scoring="accuracy",
        random_state=view.seed,
    )
    changed = _changed(learner, n)
    few, more = 1.0 - result.scores[result.strategies.index("random")].mean(axis=0)
    # power law through the error rates with `step` labels and with twice as many
    slope = min(max(np.log2(few / more), 0.0), 1.0) if more > 0.0 else 0.0
    sizes = len(labeled), len(labeled) + n
    now, then = (max(more, 0.0) * (size / (2 * step)) ** -slope for size in sizes)
    return (
        f"The last {n} labels changed {100 * changed:.1f} % of the predictions. A "
        "learning curve of the labeled rows estimates that, of rows as difficult as "
        f"these, {100 * now:.0f} % are predicted wrongly with {len(labeled)} labels, "
        f"and {100 * then:.0f} % with {n} more."
    )


def _changed(learner, n):
    # Share of the pool whose predictions the last `n` labels changed.
    view = LearnerView(learner)
    before = view.before(n)
    if not hasattr(before, "estimator_"):
        return 1.0
    rows = np.arange(view.n_rows)
    now, then = (in_chunks(view.X, rows, one.predict) for one in (learner, before))
    return (now != then).mean()


class Question(NamedTuple):
    """A row whose label a session requests.

    Parameters
    ----------
    row : int
        Its place in the pool.
    values : dict
        What is shown of the row: the text of each value by the name of its column.
    guess : object
        Predicted label; None before two classes have been labeled.
    probability : float or None
        Predicted probability of that label.
    again : bool
        Whether the row already has a label and is to be labeled a second time.

    Examples
    --------
    >>> from skconftree.active.session import Question
    >>> Question(3, {"text": "Cheap!"}, "spam", 0.62, False).guess
    'spam'
    """

    row: int
    values: dict
    guess: object
    probability: float | None
    again: bool


class Progress(NamedTuple):
    """Progress of a session.

    Parameters
    ----------
    n_answers : int
        Number of labels given, including repeated labels but not skipped rows.
    budget : int or None
        Maximum number of labels.
    n_rows : int
        Number of rows of the pool.
    limit : float or None
        Upper confidence limit of the error rate, if a stopping rule has one.
    ended : {"budget", "rule", "rows"} or None
        Why there is no next question.

    Examples
    --------
    >>> from skconftree.active.session import Progress
    >>> Progress(17, 50, 1000, 0.09, None).n_answers
    17
    """

    n_answers: int
    budget: int | None
    n_rows: int
    limit: float | None
    ended: str | None
