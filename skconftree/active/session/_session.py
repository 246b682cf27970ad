"""Labeling sessions that can be interrupted and resumed at any time.

A *journal* is the append-only file to which a session writes its labels; its first
line, the *head*, has the settings. The *ledger* of a session has the labels of its
journal in memory. *Opinions* are the labels of one row by several annotators. The
*discovery* of a rare class is the part of a session in which the query strategy selects
rows. After it, random rows can *certify* the recall: its lower limit is large enough.
The *fingerprint* of a table is a hash of its rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from os import PathLike
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...utils._codec import CannotBeRestored, from_json, written_by
from ...utils._files import write_text
from ...utils._types import Floats, LabelsLike, Stops, TableLike
from .._journal import (
    NO_LABEL,  # of a skipped row, or one whose label was withdrawn
    RESOLUTIONS,
    Journal,
    JournalError,
    Ledger,
    agreement,
    present_head,
    read_head,
    read_lines,
)
from .._labels import indexable_table, n_rows_of, take
from ..pool._check import DeliveredLabels, SuggestedErrorBelow
from ..pool._recall import RecallAbove
from ..pool._recorded import (
    LearnerView,
    RecordedLearner,
    check_pool,
    start_labels,
    with_later_classes,
)
from ..pool._stopping import check_share, read_rules
from ._explanations import (
    DisplayedTable,
    Progress,
    Question,
    explain_row,
    forecast_text,
    read_suggestions,
)
from ._export import FORMATS
from ._terminal import ENDS, label_at_terminal  # ENDS: texts of the reasons to end

if TYPE_CHECKING:
    from ..pool._estimate import ErrorEstimate
    from ..pool._evaluate import ModelEvaluator
    from ..pool._learner import ActiveLearner


# A row that is shown to an annotator is not shown to others, for this time after the
# last request of the annotator.
RESERVED_SECONDS = 300.0


class LabelingSession:
    """Labeling session: people label rows, and each label is saved immediately.

    Labels are written to a journal, an append-only file. If the process is killed, at
    most the current label is lost. A session with the same learner, file and rows
    continues with the same query; :meth:`resume` only needs the file and the rows.

    Front ends are a terminal (:meth:`label`), a notebook or a web page. They show the
    result of :meth:`question`, and call :meth:`answer`, :meth:`skip`, :meth:`undo` and
    :meth:`relabel`.

    Parameters
    ----------
    learner : ActiveLearner or ModelEvaluator
        Active learner that selects the rows, or an evaluator that draws them. The
        session fits it to the pool, the rows to label. If it has `classes`, these are
        the labels to choose from. When the file is opened again, there may be more of
        them.
    path : str or path-like
        File of the journal, which is created if it does not exist. One session at a
        time can write to it.
    X : array-like, sparse or frame of shape (n_rows, n_features)
        The pool, or a list of texts for a text classifier. When the file is opened
        again, there may be more rows after the original ones.
    y : array-like of shape (n_rows,), default=None
        Initial labels, None for unlabeled rows. They are stored in the journal. When
        the file is opened again, pass them only if new rows have initial labels.
    budget : int, default=None
        Maximum number of answers, including those in the journal and second opinions,
        but neither initial labels, skipped rows nor withdrawn labels. None: no limit.
    stop : stopping rule or list of them, default=None
        When to stop querying labels.
    annotator : str, default=None
        Name of the person who labels.
    resolve_by : {"last", "first", "majority"}, default="last"
        Which label the learner uses if a row has several.
    repeat : float, default=None
        Share of the queries, in [0, 1), that request a second opinion on a labeled row,
        preferably from another annotator. The row is the one whose label has the
        smallest predicted probability. Larger values find more wrong labels and leave
        fewer labels for new rows. None: the value in the journal, 0 for a new journal.
        Any other value applies from now on.
    random_share : float, default=None
        Share of the queries, in [0, 1], whose rows are drawn at random once there are
        labels of two classes. Larger values narrow the confidence interval of
        :meth:`estimate_error` and leave fewer labels for the query strategy. None: the
        value in the journal, 0 for a new journal. Any other value applies from now on.
    shown : dict, frame or array-like, default=None
        Table with the same number of rows that is shown instead of X and identifies the
        pool, for example the texts from which X was computed.
    columns : list of tuple (str, callable), default=None
        Name of each column of X and a function that formats its values, such as dates,
        for :meth:`why`. None: names and numbers of X.
    suggested : array-like of shape (n_rows,) or dict, default=None
        Labels that are shown as suggestions, for example from a language model; None
        for rows without a suggestion. A dict maps names of sources to their labels. The
        classifier is not trained with them. :meth:`estimate_suggested_error` estimates
        the share of wrong suggestions. With the rule
        :class:`~skconftree.active.SuggestedErrorBelow` in `stop`, the labels of one
        source are not shown, but written to the journal; :meth:`delivered_labels`
        returns them for the rows that are not queried.
    positive : object, default=None
        Label of a rare class whose recall is shown with the progress. None: that of a
        stopping rule :class:`RecallAbove`, if there is one.

    Attributes
    ----------
    learner : ActiveLearner or ModelEvaluator
        The learner, with the labels of all complete queries.
    notes : list of str
        Notes on opening the journal, for example about an incomplete last line.

    See Also
    --------
    ActiveLearner.run : Gets the labels from a function; `save` writes them to a file.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner, LabelingSession
    >>> X, y = load_iris(return_X_y=True)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "answers.jsonl")
    >>> with LabelingSession(ActiveLearner(GaussianNB()), path, X) as session:
    ...     for _ in range(10):
    ...         question = session.question()
    ...         session.answer(int(y[question.row]))
    ...     row = session.question().row
    >>> session = LabelingSession.resume(path, X)
    >>> session.progress().n_answers, session.question().row == row
    (10, True)
    >>> session.close()
    >>> folder.cleanup()
    """

    def __init__(
        self,
        learner: ActiveLearner | ModelEvaluator,
        path: str | PathLike,
        X: TableLike,
        y: LabelsLike | None = None,
        *,
        budget: int | None = None,
        stop: Stops | Sequence[Stops] | None = None,
        annotator: str | None = None,
        resolve_by: Literal["last", "first", "majority"] = "last",
        repeat: float | None = None,
        random_share: float | None = None,
        shown: dict[Any, Any] | TableLike | ArrayLike | None = None,
        columns: Sequence[tuple[str, Callable[[float], str]]] | None = None,
        suggested: dict[str, Any] | ArrayLike | None = None,
        positive: object = None,
    ) -> None:
        if budget is not None and (not isinstance(budget, Integral) or budget < 1):
            raise ValueError(f"budget must be 1 or more, or None. Got {budget!r}.")
        if resolve_by not in RESOLUTIONS:
            raise ValueError(
                f"resolve_by must be one of {RESOLUTIONS}. Got {resolve_by!r}."
            )
        if repeat is not None and (
            not isinstance(repeat, Real) or not 0.0 <= repeat < 1.0
        ):
            raise ValueError(f"repeat must be in [0, 1). Got {repeat!r}.")
        if random_share is not None:
            random_share = check_share("random_share", random_share)
        if not isinstance(annotator, str | None):
            raise ValueError(f"annotator must be a name or None. Got {annotator!r}.")
        self.budget = None if budget is None else int(budget)
        self.annotator = annotator
        self._columns = columns
        self._rules = [] if stop is None else read_rules(stop, learner.estimator)
        self._recall_rule = None  # of the class whose recall is shown
        for rule in self._rules:
            if isinstance(rule, RecallAbove) and positive in (None, rule.positive):
                self._recall_rule = rule
                break
        if self._recall_rule is None and positive is not None:
            self._recall_rule = RecallAbove(positive)
            read_rules(self._recall_rule, learner.estimator)  # validates it
        path, journal = os.fspath(path), None
        X = indexable_table(X)
        self._shown = DisplayedTable(X if shown is None else shown)
        table = DisplayedTable(X) if shown is None else self._shown
        if os.path.exists(path) and os.path.getsize(path):
            journal = Journal(path)
        try:
            # the head has the pool as "X"; it is None in a file without a complete line
            if journal is not None and "X" in (journal.head or ()):
                known = journal.present_head()  # with the changes of later lines
                check_pool(known, table.fingerprint, table.n_rows, path)
                y = start_labels(known, n_rows_of(X)) if y is None else y
                # labels that were added during the session become `classes`, too
                with_later_classes(learner, journal)
            self._shown.check(n_rows_of(X))
            learner.fit(X, y)
        except BaseException:
            if journal is not None:
                journal.close()
            raise
        # the learner with its journal; its `view` is a read-only view of the learner
        self._record = RecordedLearner(
            learner,
            path if journal is None else journal,
            self._rules,
            resolve_by,
            None if repeat is None else float(repeat),
            random_share,
            table.fingerprint,
            self.budget,
        )
        self.learner = learner
        if self._recall_rule is not None:
            try:
                self._record.recall_report(self._recall_rule)  # checks the class
            except BaseException:
                self._record.journal.close()
                raise
        self._suggestions, notes = read_suggestions(
            suggested, self.labels, self._record.view.n_rows
        )
        self.notes = self._record.notes + notes
        # whether a rule has suggestions checked, which are then not shown
        self._checks = any(
            isinstance(rule, SuggestedErrorBelow) for rule in self._rules
        )
        if self._checks:
            try:
                self._record_suggestions()
            except BaseException:
                self._record.journal.close()
                raise
        # cached at the last query: the number of lines of the journal and the
        # annotator, the question, and why the session has ended
        self._last_query = None, None, None
        # the `QueriedRow` of this question; `again`: it requests a second opinion
        self._queried = None
        self._reserved = {}  # that of each annotator, and the time of the last request
        self._uncertified = None  # the rule whose recall is not certified at the end

    def _record_suggestions(self):
        # Write the suggestions that are checked to the journal.
        known = self._record.suggestions
        if len(self._suggestions) != 1 and not (known and not self._suggestions):
            raise ValueError(
                "SuggestedErrorBelow needs suggested labels of one source. Got "
                f"{len(self._suggestions)} sources in suggested."
            )
        for source, labels in self._suggestions.items():
            passed = {
                row: label for row, label in enumerate(labels) if label is not None
            }
            if any(known.get(row, label) != label for row, label in passed.items()):
                raise JournalError(
                    f"{self._record.journal.path} was started with other suggestions "
                    f"than those of {source!r}. Pass the original ones, or another "
                    "file."
                )
            new = {row: label for row, label in passed.items() if row not in known}
            if new:
                self._record.add_suggestions(new, source)

    def __getstate__(self):
        # A copy would write to the same file.
        raise TypeError(
            "A LabelingSession cannot be copied or pickled. Its labels are in the "
            f"journal, {self._record.journal.path!r}. Use LabelingSession.resume(path, "
            "X) to continue in any process; the `learner` can be pickled."
        )

    @classmethod
    def resume(
        cls,
        path: str | PathLike,
        X: TableLike,
        *,
        learner: ActiveLearner | ModelEvaluator | None = None,
        budget: int | None = None,
        annotator: str | None = None,
        repeat: float | None = None,
        random_share: float | None = None,
        shown: dict[Any, Any] | TableLike | ArrayLike | None = None,
        columns: Sequence[tuple[str, Callable[[float], str]]] | None = None,
        suggested: dict[str, Any] | ArrayLike | None = None,
        positive: object = None,
    ) -> Self:
        """Resume the session of a journal.

        Parameters
        ----------
        path : str or path-like
            File of the journal.
        X : array-like, sparse or frame of shape (n_rows, n_features)
            The pool with which the session was started. New rows may follow it.
        learner : ActiveLearner or ModelEvaluator, default=None
            None: it is restored from the parameters in the journal. This is not
            possible if they include functions, or estimators that are neither from
            scikit-learn nor from this package.
        budget : int, default=None
            Maximum number of answers, including those in the journal. None: the initial
            budget.
        annotator : str, default=None
            Name of the person who labels.
        repeat, random_share : float, default=None
            Shares of the queries that request a second opinion, or whose rows are drawn
            at random. None: the values in the journal.
        shown : dict, frame or array-like, default=None
            The table with which the session was started.
        columns : list of tuple (str, callable), default=None
            Names and formats of columns, as in the constructor.
        suggested : array-like of shape (n_rows,) or dict, default=None
            Suggested labels, as in the constructor. They are not in the journal, except
            those that were shown.
        positive : object, default=None
            Label of the class whose recall is shown, as in the constructor.

        Returns
        -------
        LabelingSession
            The resumed session.
        """
        head = read_head(path)
        if learner is None and "predictions" in head:
            raise ValueError(
                f"{os.fspath(path)} evaluates a classifier, which is not in the file. "
                "Pass learner=ModelEvaluator(...), with the classifier and the "
                "original parameters."
            )
        what = "learner"
        remedy = "Pass learner=..., with its original parameters."
        try:
            with written_by(
                head["version"], os.fspath(path)
            ):  # names the version in errors
                if learner is None:
                    learner = from_json(head["learner"])
                what = "stopping rule"
                remedy = "Use LabelingSession(learner, path, X, stop=...) to continue."
                stop = from_json(head["stop"])
            resolve_by = head["resolve_by"]
            budget = head["budget"] if budget is None else budget
        except CannotBeRestored as error:
            raise ValueError(
                f"The {what} of {os.fspath(path)} cannot be restored: {error} {remedy}"
            ) from None
        except (KeyError, TypeError) as error:
            raise JournalError(f"{path} is corrupt in line 1: {error!r}") from None
        return cls(
            learner,
            path,
            X,
            budget=budget,
            stop=stop or None,
            annotator=annotator,
            shown=shown,
            columns=columns,
            resolve_by=resolve_by,
            repeat=repeat,
            random_share=random_share,
            suggested=suggested,
            positive=positive,
        )

    @staticmethod
    def describe(path: str | PathLike) -> dict[str, Any]:
        """Describe a journal without its pool; the file may be in use.

        Parameters
        ----------
        path : str or path-like
            File of the journal.

        Returns
        -------
        dict
            ``version``, the package version that started the journal; ``n_rows`` and
            ``n_columns``, the shape of the pool (``n_columns`` is None for a list of
            texts); ``n_labeled``, the number of labeled rows, including initial labels;
            ``labels``, the distinct labels so far.

        Raises
        ------
        JournalError
            If the file is not a journal, is corrupt, or was started by a later version.

        Examples
        --------
        >>> import os, tempfile
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skconftree.active import ActiveLearner, LabelingSession
        >>> X, y = load_iris(return_X_y=True)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "answers.jsonl")
        ...     with LabelingSession(ActiveLearner(GaussianNB()), path, X) as session:
        ...         session.answer(int(y[session.question().row]))
        ...     LabelingSession.describe(path)["n_labeled"]
        1
        """
        head, lines = read_lines(path)
        try:
            head = present_head(head, lines)
            start, pool = head["start"], head["X"]
            n_rows, n_columns = pool["n_rows"], pool["n_columns"]
            ledger = Ledger(lines, head["resolve_by"], n_rows, start["rows"])
            opinions = ledger.opinions().values()
            # an opinion is [annotator, label, line of the journal]
            known = [ledger.resolve(of_row)[1] for of_row in opinions]
            labels = list(dict.fromkeys([*start["labels"], *known]))
            return {
                "version": head["version"],
                "n_rows": n_rows,
                "n_columns": n_columns,
                "n_labeled": len(start["rows"]) + len(known),
                "labels": sorted(labels, key=lambda label: (str(type(label)), label)),
            }
        except (KeyError, TypeError, ValueError) as error:
            raise JournalError(f"{os.fspath(path)} is corrupt: {error}") from error

    @property
    def labels(self) -> NDArray[Any]:
        """Labels to choose from: `classes` of the learner, or all labels so far."""
        if self.learner.classes is None:
            return self._record.view.labels
        return list(dict.fromkeys(np.asarray(self.learner.classes).tolist()))

    def add_label(self, label: str | float | bool) -> None:
        """Add a label to those to choose from, and write it to the journal.

        Parameters
        ----------
        label : str, number or bool
            The new label, of the type of the others.

        Raises
        ------
        ValueError
            If the label exists, or if the learner has no `classes`. Without `classes`,
            every label is accepted, so none has to be added.
        """
        self._record.add_class(label, self.annotator)
        self._forget_reserved()

    def question(self) -> Question | None:
        """Return the next row to label.

        Returns
        -------
        Question or None
            The question is the same until a label is added, withdrawn or changed. None
            if the session has ended; :meth:`progress` returns the reason.
        """
        return self._next()[1]

    def _next(self):
        if self._last_query[0] != (len(self._record.journal.lines), self.annotator):
            self._queried, ended = None, self._ended()
            if ended is None:
                self._queried = self._next_row()
                ended = "rows" if self._queried is None else None
            question = self._queried and self._question_of(self._queried)
            n_lines = len(self._record.journal.lines)  # a rule may have added one
            self._last_query = (n_lines, self.annotator), question, ended
        if self._queried is not None:
            self._reserved[self.annotator] = self._queried, monotonic()
        return self._last_query

    def _next_row(self):
        # The row that is reserved for the annotator, or another one that is reserved
        # for nobody.
        others = self._rows_of_others()
        queried, _ = self._reserved.get(self.annotator, (None, 0.0))
        if queried is not None and queried.row not in others:
            if self._record.is_open(queried):  # nobody has answered it since
                return queried
        return self._record.next_row(self.annotator, others)

    def _rows_of_others(self):
        return {
            queried.row
            for annotator, (queried, time) in self._reserved.items()
            if annotator != self.annotator and monotonic() - time < RESERVED_SECONDS
        }

    def _shown_rows(self):
        # All rows that are shown to annotators.
        return {queried.row for queried, _ in self._reserved.values()}

    def _forget_reserved(self):
        # After each change by the annotator, another row may be the most informative.
        self._reserved.pop(self.annotator, None)

    def _ended(self):
        record = self._record
        if self.budget is not None and record.ledger.n_answers >= self.budget:
            return "budget"
        # a stopping rule is reached, and no row of the last query is open;
        # `uncertified` returns the rule without a certified recall, or None
        if record.is_query_complete and record.reached():
            self._uncertified = record.uncertified()
            return "rule" if self._uncertified is None else "discovery"
        return None

    def _question_of(self, queried):
        # a model needs labels of two classes; the learner may hide its predictions
        prediction = probability = None
        if self._record.has_model and self._record.view.shows_predictions:
            X = take(self._record.view.X, np.array([queried.row]))
            prediction = self._record.view.predict(X).tolist()[0]
            proba = self._record.view.predict_proba(X)
            probability = None if proba is None else float(proba.max())
        values = self._shown.values(queried.row)
        return Question(
            *(queried.row, values, prediction, probability, queried.again),
            self._suggested(queried.row) or None,
        )

    def _suggested(self, row):
        if self._checks:  # a person who sees a suggestion tends to agree with it
            return {}
        return {
            source: labels[row]
            for source, labels in self._suggestions.items()
            if labels[row] is not None
        }

    def answer(self, label: LabelsLike, row: int | None = None) -> None:
        """Label the current row.

        Parameters
        ----------
        label : object
            The label.
        row : int, default=None
            The row that was shown; an error is raised if it is not the current one.
        """
        if label is None:
            raise ValueError("label must not be None. Use skip() to skip the row.")
        self._answer(label, row)

    def skip(self, row: int | None = None) -> None:
        """Skip the current row; it is queried again in a later session.

        Parameters
        ----------
        row : int, default=None
            The row that was shown, as in :meth:`answer`.
        """
        self._answer(None, row)

    def _answer(self, label, row):
        self._next()
        if self._queried is None:
            raise ValueError(f"The session has ended. {ENDS[self._last_query[2]]}")
        if row is not None and row != self._queried.row:
            raise ValueError(
                f"The current row is {self._queried.row}. Got row {row!r}. Use "
                "relabel() to change the label of an earlier row."
            )
        suggested = None if label is None else self._suggested(self._queried.row)
        self._record.add_label(self._queried, label, self.annotator, suggested)
        self._forget_reserved()

    def certify(self, agree: bool = True) -> None:
        """Decide whether to certify the recall after discovery has ended.

        If so, rows are drawn at random until the limit of :class:`RecallAbove` holds.
        The decision is written to the journal, so that it is not asked for again. It is
        not withdrawn by :meth:`undo`.

        Parameters
        ----------
        agree : bool, default=True
            Whether to certify the recall.

        Raises
        ------
        ValueError
            If :meth:`progress` does not say that the discovery has ended.
        """
        if self._next()[2] != "discovery":
            raise ValueError(
                "The recall can only be certified when the discovery of a RecallAbove "
                'rule has ended, that is if progress().ended is "discovery".'
            )
        self._record.decide(self._uncertified, bool(agree), self.annotator)
        self._forget_reserved()

    def undo(self) -> int:
        """Withdraw the last label, skip or change of a label.

        Returns
        -------
        int
            The row of the label.

        Raises
        ------
        ValueError
            If there is no label, or if the last one is by another annotator.
        """
        row = self._record.undo(self.annotator).row
        self._forget_reserved()
        return row

    def relabel(self, row: int, label: LabelsLike) -> None:
        """Change the label of an earlier row; later labels are not affected.

        Parameters
        ----------
        row : int
            A row that was queried.
        label : object
            The new label; None withdraws the label.
        """
        self._record.relabel(row, label, self.annotator)
        self._forget_reserved()

    def close(self) -> None:
        """Learn all labels, and release the journal for other sessions."""
        try:
            self._record.finish()
        finally:
            self._record.journal.close()

    def __enter__(self):
        return self

    def __exit__(self, error, *more):
        if error is None:
            self.close()
        else:
            self._record.journal.close()

    def progress(self) -> Progress:
        """Return the progress of the session.

        Returns
        -------
        Progress
            Number of labels, upper confidence limit of the error rate, recall of a
            class, and why the session has ended.
        """
        # asks: whether the person is asked to certify the recall
        ended, asks, rule = self._next()[2], False, self._recall_rule
        limits = self._record.limits(self._rules)  # of the error, by rules with one
        if ended == "discovery":
            rule = self._uncertified
            asks = not self._record.is_decided(rule)
        return Progress(
            self._record.ledger.n_answers,
            self.budget,
            self._record.view.n_rows,
            min(limits) if limits else None,
            ended,
            None if rule is None else self._record.recall_report(rule),
            asks,
        )

    def answers(self) -> list[dict[str, Any]]:
        """List the queried rows, from the latest to the earliest.

        Returns
        -------
        list of dict
            For each row its `row` index, the `label` that the learner uses (None if
            skipped), its `annotator` and time (`at`), and all `opinions`, pairs of
            annotator and label.
        """
        ledger = self._record.ledger
        opinions = ledger.opinions()
        lines = {entry.line: entry for entry in ledger.entries}
        answers = {}
        for entry in reversed(ledger.entries):
            of_row = opinions.get(entry.row, [])
            # the entry of the opinion (annotator, label, line) that counts
            current = lines[ledger.resolve(of_row)[2]] if of_row else entry
            answers.setdefault(
                entry.row,
                {
                    "row": entry.row,
                    "label": None if current.label is NO_LABEL else current.label,
                    "annotator": current.by,
                    "at": current.at,
                    "opinions": [(by, label) for by, label, _ in of_row],
                },
            )
        return list(answers.values())

    def agreement(self) -> list[dict[str, Any]]:
        """Agreement of annotators on rows that were queried twice.

        The classifier assigns a small probability to the first labels of these rows.
        Annotators therefore agree less often on them than on other rows.

        Returns
        -------
        list of dict
            For each pair of `annotators` (possibly the same person twice): `n_rows`,
            the number of labels that `agreed`, and Cohen's `kappa`, None if it is
            undefined.
        """
        return agreement(self._record.ledger)

    def why(self, row: int | None = None) -> list[str]:
        """Explain the prediction for a row.

        The explanation has the leaf and the splits of a single tree, or for other
        classifiers the nearest labeled rows.

        Parameters
        ----------
        row : int, default=None
            Index of the row. None: the current row.

        Returns
        -------
        list of str
            Sentences.
        """
        if row is None:
            question = self.question()
            if question is None:
                return []
            row = question.row
        return explain_row(self.learner, row, self._record.has_model, self._columns)

    def estimate_error(self, *, confidence: float = 0.95) -> ErrorEstimate:
        """Estimate the error rate on the pool of the classifier trained on all labels.

        Parameters
        ----------
        confidence : float, default=0.95
            Confidence level of the limits, as in :meth:`ActiveLearner.estimate_error`.

        Returns
        -------
        ErrorEstimate
            The share of wrong predictions with confidence limits; `str` returns it as a
            sentence. With a :class:`ModelEvaluator`, the report of its metric.
        """
        # the learner with all labels, also those of an incomplete query
        return self._record.complete_learner().estimate_error(confidence=confidence)

    def estimate_suggested_error(
        self, *, confidence: float = 0.95
    ) -> dict[str, ErrorEstimate]:
        """Estimate the share of wrong suggestions of each source.

        The labels of the session are taken to be correct. Like the error rate of the
        classifier, the share is estimated from rows that were drawn at random
        (`random_share`), because the query strategy selects difficult rows. The
        estimate is too low if people accept wrong suggestions that they see.

        Parameters
        ----------
        confidence : float, default=0.95
            Confidence level of the limits, as in :meth:`ActiveLearner.estimate_error`.

        Returns
        -------
        dict
            An :class:`~skconftree.active.pool.ErrorEstimate` for each source, of the
            rows with a suggestion.
        """
        return self._record.suggestion_errors(self._suggestions, confidence)

    def delivered_labels(self, *, confidence: float = 0.95) -> DeliveredLabels:
        """Labels of the session, and for other rows the suggestions.

        Needs the rule :class:`~skconftree.active.SuggestedErrorBelow` in `stop`.

        Parameters
        ----------
        confidence : float, default=0.95
            Confidence of the upper limit of the share of wrong labels, in (0, 1).

        Returns
        -------
        DeliveredLabels
            The labels and an upper limit of the share of wrong ones, as in
            :meth:`ActiveLearner.delivered_labels`.
        """
        learner = self._record.complete_learner()
        return learner.delivered_labels(confidence=confidence)

    def forecast(self, n: int = 20) -> str:
        """Forecast the benefit of further labels.

        The forecast is the upper confidence limit of the error rate if a stopping rule
        has one and some labeled rows were drawn at random to estimate it. Otherwise, it
        extrapolates a learning curve of the labels so far, computed by
        :func:`simulate`.

        Parameters
        ----------
        n : int, default=20
            Number of further labels.

        Returns
        -------
        str
            A sentence.
        """
        return forecast_text(self._record.complete_learner(), self._rules, n)

    def predictions(self) -> tuple[NDArray[Any] | None, Floats | None]:
        """Predict the rows of the pool, after learning all labels.

        Returns
        -------
        labels : ndarray of shape (n_rows,) or None
            Predicted labels; None until rows of two classes are labeled.
        probabilities : ndarray of shape (n_rows, n_classes) or None
            Class probabilities; None if `labels` is None or if the classifier has no
            `predict_proba`.
        """
        learner = self._record.complete_learner()
        view = LearnerView(learner)
        known = view.codes[view.labeled]  # class indices
        if not hasattr(learner, "estimator_") or len(np.unique(known)) < 2:
            return None, None
        return view.predict(view.X), view.predict_proba(view.X)

    def export(
        self, path: str | PathLike, format: Literal["csv", "label_studio"] = "csv"
    ) -> None:
        """Export all rows with their labels, annotators and predictions.

        If suggested labels are checked (:meth:`delivered_labels`), rows that were not
        queried have the suggested label, and its source is the annotator.

        Parameters
        ----------
        path : str or path-like
            File, which is replaced atomically.
        format : {"csv", "label_studio"}, default="csv"
            A table with the values of the rows, or tasks for import by Label Studio.
        """
        if format not in FORMATS:
            raise ValueError(f"format must be one of {list(FORMATS)}. Got {format!r}.")
        write_text(path, FORMATS[format](self))

    def label(self, show: Sequence[str] | None = None) -> Self:
        """Label rows at the terminal, until the session ends or the person quits.

        Keys are the positions of the labels in the menu, or the labels themselves if a
        label equals the position of another one. ``u`` withdraws the last label, ``s``
        skips the row, ``=`` accepts the suggested label, ``+`` adds a label to the
        menu, ``?`` explains the prediction, ``%`` estimates the error rate and the
        recall, ``q`` and Ctrl-C quit.

        Parameters
        ----------
        show : list of str, default=None
            Columns to show. None: all.

        Returns
        -------
        LabelingSession
            The session.
        """
        label_at_terminal(self, show)
        return self
