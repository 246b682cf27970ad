"""Contents of a labeling session: displayed rows, explanations and forecasts.

`learner` is an `ActiveLearner` and `LearnerView` a read-only view of it, with the row
indices `labeled` and, for each row, `codes`: the index of its class, or -1. An audit
compares predictions for randomly drawn rows with their labels before these are learned.
The *pool* is the table of unlabeled and labeled rows. A recall is *certified* by labels
of random rows; *discovery* is the part of a session before it.
"""

import unicodedata
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from ..._compat import _safe_indexing, get_feature_names
from .._estimators import final_step, has_leaves
from .._journal import fingerprint, is_label, same_label
from .._labels import in_chunks, n_rows_of, take
from ..pool._recall import RecallReport
from ..pool._recorded import LearnerView
from ..pool._simulate import simulate
from ..pool._stopping import audit_limit, share_of

N_NEIGHBORS = 5
MAX_CONDITIONS = 12  # of a path that are shown


def explain_row(learner, row, has_model, columns=None):
    """Explain the prediction for a row; `columns`: their names and formats."""
    if not has_model:
        return [
            "There are labels of fewer than two classes. Until then, rows that are far "
            "from each other are queried."
        ]
    model = learner.estimator_
    # a single tree, possibly as the final step of a pipeline
    if has_leaves(model) and hasattr(final_step(model)[0], "tree_"):
        return _explain_leaf(learner, row, columns)
    view = LearnerView(learner)
    labeled = view.labeled
    labeled = labeled[labeled != row]
    distances = view.squared_distances(row, labeled)
    nearest = labeled[np.argsort(distances, kind="stable")[:N_NEIGHBORS]]
    classes = learner.classes_[view.codes[nearest]].tolist()
    listed = ", ".join(
        f"row {other} ({label})"
        for other, label in zip(nearest.tolist(), classes, strict=True)
    )
    return [f"Nearest labeled rows: {listed}."]


def _explain_leaf(learner, row, columns):
    model = learner.estimator_
    final, transform = final_step(model)  # and the function of the steps before it
    view = LearnerView(learner)
    X, codes = view.X, view.codes

    def leaves(rows):
        return final.apply(transform(take(X, rows)))

    leaf = int(leaves(np.array([row]))[0])
    labeled = np.flatnonzero(codes >= 0)
    inside = labeled[leaves(labeled) == leaf]
    counts = np.bincount(codes[inside], minlength=len(learner.classes_))
    listed = ", ".join(
        f"{count} {label}"
        for label, count in zip(learner.classes_.tolist(), counts, strict=True)
        if count
    )
    sentences = [f"The row is in leaf {leaf}. Labels in this leaf: {listed or 'none'}."]
    if model is not final and len(model) > 1:  # the tree has transformed features
        columns = None
        names = getattr(model[:-1], "get_feature_names_out", lambda: None)()
    else:
        names = get_feature_names(X)
    if columns is None:
        if names is None:
            names = [f"column {j}" for j in range(final.n_features_in_)]
        columns = [(str(name), "{:.4g}".format) for name in names]
    conditions = _path_conditions(final.tree_, leaf, columns)
    if conditions:
        shown = " and ".join(conditions[:MAX_CONDITIONS])
        sentences.append(f"Conditions of the leaf: {shown}.")
    return sentences


def _path_conditions(tree, leaf, columns):
    # Conditions on the path to a leaf; none unless all its splits have finite
    # thresholds, nor if a node of the tree has three or more children (`left` is -2).
    left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
    if not hasattr(tree, "threshold") or (left == -2).any():
        return []
    parent = {}
    for node in np.flatnonzero(left >= 0).tolist():
        parent[int(left[node])] = node, "<="
        parent[int(right[node])] = node, ">"
    conditions = []
    while leaf in parent:
        leaf, sign = parent[leaf]
        feature = int(tree.feature[leaf])
        threshold = float(tree.threshold[leaf])
        if not np.isfinite(threshold):  # a split of categories or missing values
            return []
        name, number_format = columns[feature]
        conditions.append(f"{name} {sign} {number_format(threshold)}")
    return conditions[::-1]


# Control characters to keep; emoji need some of them.
VISIBLE_CONTROLS = {"\n", "\u200c", "\u200d"}
REMOVED = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # Unicode categories
MAX_ENTRIES = 30  # of a sparse row that are shown


class DisplayedTable:
    """Table whose rows are displayed: a dict of columns, or any other table."""

    def __init__(self, table):
        if isinstance(table, dict):
            self.columns = {str(name): list(values) for name, values in table.items()}
            self.table, self.n_rows = None, len(next(iter(self.columns.values()), []))
        else:
            self.columns = None
            self.table = table if hasattr(table, "shape") else list(table)
            self.n_rows = n_rows_of(self.table)
            names = getattr(table, "columns", None)
            self.names = None if names is None else list(map(str, names))

    def check(self, n_rows):
        """Raise ValueError unless the table has `n_rows` rows."""
        sizes = [self.n_rows, *map(len, (self.columns or {}).values())]
        if set(sizes) != {n_rows}:
            raise ValueError(
                f"shown must have as many rows as X, {n_rows}. Got {sizes[0]}."
            )

    def fingerprint(self, n_rows):
        """Return a hash of the first rows."""
        if self.columns is not None:
            table = np.empty((n_rows, len(self.columns)), dtype=object)
            for index, column in enumerate(self.columns.values()):
                table[:, index] = column[:n_rows]
            return fingerprint(table)
        if isinstance(self.table, list):
            return fingerprint(np.array(self.table[:n_rows], dtype=object))
        if n_rows == self.n_rows:
            return fingerprint(self.table)
        return fingerprint(take(self.table, np.arange(n_rows)))

    def values(self, row):
        """Return the text of each value of a row, by column name."""
        if self.columns is not None:
            values = {name: column[row] for name, column in self.columns.items()}
        elif issparse(self.table):
            entries = take(self.table, np.array([row])).tocoo()
            largest = np.argsort(-np.abs(entries.data), kind="stable")[:MAX_ENTRIES]
            values = {
                f"column {entries.col[i]}": entries.data[i] for i in sorted(largest)
            }
        elif isinstance(self.table, list):
            values = _numbered(self.table[row])
        elif self.names is not None:
            frame = _safe_indexing(self.table, [row])
            values = {
                name: np.asarray(_safe_indexing(frame, j, axis=1)).tolist()[0]
                for j, name in enumerate(self.names)
            }
        else:
            values = _numbered(np.asarray(take(self.table, np.array([row])))[0])
        return {name: _text(value) for name, value in values.items()}


def _numbered(row):
    if isinstance(row, str) or np.ndim(row) == 0:
        return {"text": row}
    return {f"column {j}": value for j, value in enumerate(np.asarray(row).tolist())}


def _text(value):
    if value is None or value != value:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def visible(text):
    """Remove characters that control a terminal or the writing direction."""
    text = text.replace("\r\n", "\n").replace("\t", " ")
    return "".join(
        c
        for c in text
        if c in VISIBLE_CONTROLS or unicodedata.category(c) not in REMOVED
    )


MIN_LABELS = 20  # smallest number of labels for a learning curve
N_RUNS = 10


def forecast_text(learner, rules, n):
    """Return a sentence about the expected benefit of the next `n` labels.

    `rules` are stopping rules. Some have a `limit` of the error rate and draw a share
    of the queried rows (`share_of`) for an audit.
    """
    _, n_audited = learner.audit_  # numbers of wrong predictions and of audited rows
    audits = [rule for rule in rules if share_of(rule) > 0.0 and hasattr(rule, "limit")]
    if n_audited and audits:
        return _limit_text(audits[0], LearnerView(learner).audits, n)
    return _curve_text(learner, n)


def _limit_text(rule, audits, n):
    # Assumes the same error rate and the same share of audited rows as so far. The
    # confidence of the limit is 1 - delta; `n_more` are further audited rows.
    n_audited = sum(size for _, size in audits)
    now, then = (
        f"{100 * audit_limit(audits, rule.delta, n_more):.0f}%"
        for n_more in (0, max(1, round(n * share_of(rule))))
    )
    return (
        f"Upper confidence limit of the error rate: {now}, from {n_audited} random "
        f"rows; {then} after {n} more labels, if the share of errors stays the same."
    )


def _curve_text(learner, n):
    view = LearnerView(learner)
    labeled = np.sort(view.labeled)
    codes = view.codes[labeled]
    counts = np.bincount(codes, minlength=1)
    if len(labeled) < MIN_LABELS or (counts > 1).sum() < 2:
        return (
            f"A forecast needs at least {MIN_LABELS} labels, with at least two of each "
            "of two classes."
        )
    X, y = take(view.X, labeled), learner.classes_[codes]
    step = len(labeled) // 4
    # active learning from the labeled rows, in runs with different test rows
    result = simulate(
        learner.estimator,
        X,
        y,
        cv=N_RUNS,
        batch_size=step,
        budget=2 * step,
        scoring="accuracy",
        random_state=view.seed,
    )
    changed = _changed(learner, n)
    few, more = 1.0 - result.scores[result.strategies.index("random")].mean(axis=0)
    # a power law through the error rates with `step` and with twice as many labels
    slope = min(max(np.log2(few / more), 0.0), 1.0) if more > 0.0 else 0.0
    sizes = len(labeled), len(labeled) + n
    now, then = (max(more, 0.0) * (size / (2 * step)) ** -slope for size in sizes)
    return (
        f"The last {n} labels changed {100 * changed:.1f}% of the predictions. "
        f"Estimated error rate by a learning curve of the labeled rows: "
        f"{100 * now:.0f}% with {len(labeled)} labels, {100 * then:.0f}% with {n} more."
    )


def _changed(learner, n):
    # Share of the pool whose predictions the last `n` labels changed.
    view = LearnerView(learner)
    before = view.before(n)  # a copy of the learner without these labels
    if not hasattr(before, "estimator_"):
        return 1.0
    rows = np.arange(view.n_rows)
    after = in_chunks(view.X, rows, view.predict)
    return (after != in_chunks(view.X, rows, LearnerView(before).predict)).mean()


def read_suggestions(suggested, labels, n_rows):
    """Return the suggested labels of each source, None if missing, and notes.

    Values that are not one of `labels` are not shown; if there are no `labels` yet, any
    value is a label.
    """
    if suggested is None:
        return {}, []
    if not isinstance(suggested, dict):
        suggested = {"suggested": suggested}
    suggestions, notes = {}, []
    for source, values in suggested.items():
        values = values.tolist() if hasattr(values, "tolist") else list(values)
        if len(values) != n_rows:
            raise ValueError(
                f"suggested must have one label for each of the {n_rows} rows, or "
                f"None. Got {len(values)} for {source!r}."
            )
        found = [
            value if value is not None and value == value and is_label(value) else None
            for value in values
        ]
        known = [
            value
            if not labels or any(same_label(value, label) for label in labels)
            else None
            for value in found
        ]
        unknown = [
            value
            for value, label in zip(values, known, strict=True)
            if label is None and value is not None and value == value
        ]
        if unknown:
            notes.append(
                f"{len(unknown)} suggestions of {source!r} are not one of the labels "
                f"and are not shown, such as {str(unknown[0])[:MAX_SHOWN]!r}."
            )
        suggestions[str(source)] = known
    return suggestions, notes


MAX_SHOWN = 40  # characters of a suggestion in a note


class Question(NamedTuple):
    """A row whose label a session requests.

    Parameters
    ----------
    row : int
        Index of the row in the pool.
    values : dict
        Displayed text of each value, by column name.
    prediction : object
        Predicted label; None before two classes have been labeled.
    probability : float or None
        Predicted probability of that label.
    again : bool
        Whether the row is already labeled, and a second opinion is requested.
    suggested : dict, default=None
        Labels that were suggested for the row, by their sources.

    Examples
    --------
    >>> from skconftree.active.session import Question
    >>> Question(3, {"text": "Cheap!"}, "spam", 0.62, False).prediction
    'spam'
    """

    row: int
    values: dict
    prediction: object
    probability: float | None
    again: bool
    suggested: dict | None = None


class Progress(NamedTuple):
    """Progress of a session.

    Parameters
    ----------
    n_answers : int
        Number of queried labels, including second opinions, but neither skipped rows
        nor withdrawn labels.
    budget : int or None
        Maximum number of labels.
    n_rows : int
        Number of rows of the pool.
    limit : float or None
        Upper confidence limit of the error rate, if a stopping rule has one.
    ended : {"budget", "rule", "discovery", "rows"} or None
        Why the session has ended; None if it has not ended. ``"discovery"``: a rule
        :class:`~skconftree.active.RecallAbove` is reached without certified recall.
    recall : RecallReport or None, default=None
        Estimate and lower limit of the recall, if the session has a positive class.
    asks : bool, default=False
        Whether the person is asked to certify the recall; the answer is an argument of
        :meth:`LabelingSession.certify`.

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
    recall: RecallReport | None = None
    asks: bool = False
