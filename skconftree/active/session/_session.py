"""A sitting of labelling that can be ended at any moment, and gone on with."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...utils._codec import CannotBeRestored, from_json, written_by
from ...utils._files import write_text
from ...utils._types import Floats, LabelsLike, Stops, TableLike
from .._journal import (
    NO_LABEL,
    RESOLUTIONS,
    Journal,
    JournalError,
    agreement,
    fingerprint,
    read_head,
)
from .._labels import n_rows_of, readable, take
from ..pool._recorded import Recorded, check_pool, start_labels
from ..pool._stopping import read_rules
from ..pool._view import LearnerView
from ._explanations import Progress, Question, Shown, forecast_text, reasons
from ._export import FORMATS
from ._terminal import label_at_terminal

if TYPE_CHECKING:
    from ..pool._learner import ActiveLearner


class LabelingSession:
    """Labels of a pool by people, each of them on the disk before the next question.

    The answers are lines of a journal, a file that is only ever added to. A process
    that is killed loses the answer that was being given, at most. Who begins a session
    with the same learner, file and rows goes on, with the question that would have
    come next; :meth:`resume` needs the file and the rows only.

    A terminal (:meth:`label`), a notebook or a page are front ends: they show
    :meth:`question`, and call :meth:`answer`, :meth:`skip`, :meth:`undo` and
    :meth:`relabel`.

    Parameters
    ----------
    learner : ActiveLearner
        What asks. It is fitted to the pool anew. Its `classes` are the labels to choose
        from, if it has them.
    path : str or path-like
        The journal. It is made if there is no such file, and can be written by one
        session at a time.
    X : array-like, sparse or frame of shape (n_rows, n_features)
        The pool; a list of texts will do for a classifier of texts.
    y : array-like of shape (n_rows,), default=None
        Labels that there are already, None elsewhere. They become part of the journal
        and need not be given again.
    budget : int, default=None
        Labels to ask for, all those in the journal included.
    stop : stopping rule or list of them, default=None
        When to ask no more.
    annotator : str, default=None
        Who answers.
    resolve_by : {"last", "first", "majority"}, default="last"
        Which of several opinions of one row is learnt.
    repeat : float, default=0.0
        Share of the questions, in [0, 1), that ask again for a row with one label, of
        another annotator if there is one.
    shown : dict, frame or array-like, default=None
        A table with as many rows that people are shown in the place of X, and by which
        the rows are known again, such as the texts that X was made of.
    columns : list of tuple (str, callable), default=None
        For :meth:`why`, the name of each column of X and a function that writes a
        number of the column, such as a date. None: names and numbers as X has them.

    Attributes
    ----------
    learner : ActiveLearner
        With all answers of the questions answered to their end.
    notes : list of str
        What was found when the journal was opened, such as a line that was torn.

    See Also
    --------
    ActiveLearner.run : Asks a function, and saves the answers with `save`.

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
        learner: ActiveLearner,
        path: str | PathLike,
        X: TableLike,
        y: LabelsLike | None = None,
        *,
        budget: int | None = None,
        stop: Stops | Sequence[Stops] | None = None,
        annotator: str | None = None,
        resolve_by: Literal["last", "first", "majority"] = "last",
        repeat: float = 0.0,
        shown: dict[Any, Any] | TableLike | ArrayLike | None = None,
        columns: Sequence[tuple[str, Callable[[float], str]]] | None = None,
    ) -> None:
        if budget is not None and (not isinstance(budget, Integral) or budget < 1):
            raise ValueError(f"budget must be 1 or more, or None. Got {budget!r}.")
        if resolve_by not in RESOLUTIONS:
            raise ValueError(
                f"resolve_by must be one of {RESOLUTIONS}. Got {resolve_by!r}."
            )
        if not isinstance(repeat, Real) or not 0.0 <= repeat < 1.0:
            raise ValueError(f"repeat must be in [0, 1). Got {repeat!r}.")
        if not isinstance(annotator, str | None):
            raise ValueError(f"annotator must be a name or None. Got {annotator!r}.")
        self.budget = None if budget is None else int(budget)
        self.annotator = annotator
        self._columns = columns
        self._rules = [] if stop is None else read_rules(stop, learner.estimator)
        path, journal = os.fspath(path), None
        X = readable(X)
        self._shown = Shown(X if shown is None else shown)
        pool = fingerprint(X) if shown is None else self._shown.fingerprint()
        if os.path.exists(path) and os.path.getsize(path):
            journal = Journal(path)
        try:
            if journal is not None and "X" in (journal.head or ()):
                check_pool(journal.head, pool, path)
                y = start_labels(journal.head) if y is None else y
            learner.fit(X, y)
            self._shown.check(n_rows_of(X))
        except BaseException:
            if journal is not None:
                journal.close()
            raise
        self._record = Recorded(
            learner,
            path if journal is None else journal,
            self._rules,
            resolve_by,
            float(repeat),
            pool,
            self.budget,
        )
        self.learner = learner
        self.notes = self._record.notes
        self._known = None, None, None  # lines, question, why there is none
        self._asked = None  # what the record asks for, if `_known` holds a question

    def __getstate__(self):
        # A copy would write into the same file without knowing of the other's lines.
        raise TypeError(
            f"A LabelingSession can be neither copied nor saved: all of it is in its "
            f"journal, {self._record.journal.path!r}. LabelingSession.resume(path, X) "
            "goes on with it, in another process too; the `learner` can be saved."
        )

    @classmethod
    def resume(
        cls,
        path: str | PathLike,
        X: TableLike,
        *,
        learner: ActiveLearner | None = None,
        budget: int | None = None,
        annotator: str | None = None,
        shown: dict[Any, Any] | TableLike | ArrayLike | None = None,
        columns: Sequence[tuple[str, Callable[[float], str]]] | None = None,
    ) -> Self:
        """Go on with a journal.

        Parameters
        ----------
        path : str or path-like
            The journal.
        X : array-like, sparse or frame of shape (n_rows, n_features)
            The pool of the first time.
        learner : ActiveLearner, default=None
            None: it is made again from its parameters. That cannot be done if it has
            functions, or estimators that are neither of scikit-learn nor of this
            package.
        budget : int, default=None
            None: as at the beginning.
        annotator : str, default=None
            Who answers.
        shown : dict, frame or array-like, default=None
            As at the beginning.
        columns : list of tuple (str, callable), default=None
            As at the beginning.

        Returns
        -------
        LabelingSession
        """
        head = read_head(path)
        try:
            with written_by(head["version"]):
                if learner is None:
                    learner = from_json(head["learner"])
                stop = from_json(head["stop"])
            given = {"resolve_by": head["resolve_by"], "repeat": head["repeat"]}
            budget = head["budget"] if budget is None else budget
        except CannotBeRestored as error:
            raise ValueError(
                f"The learner of {os.fspath(path)} cannot be restored: {error} Give "
                "it as learner."
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
            **given,
        )

    @property
    def labels(self) -> NDArray[Any]:
        """Labels to choose from: those of the learner, in its order, or all so far."""
        if self.learner.classes is None:
            return self.learner.classes_.tolist()
        return list(dict.fromkeys(np.asarray(self.learner.classes).tolist()))

    def question(self) -> Question | None:
        """Say what to ask next.

        Returns
        -------
        Question or None
            The same until something is answered, taken back or relabeled. None if there
            is none; :meth:`progress` says why.
        """
        return self._next()[1]

    def _next(self):
        n_lines = len(self._record.journal.lines)
        if self._known[0] != n_lines:
            self._asked, ended = None, self._ended()
            if ended is None:
                self._asked = self._record.ask(self.annotator)
                ended = "rows" if self._asked is None else None
            question = None if self._asked is None else self._shape(self._asked)
            self._known = n_lines, question, ended
        return self._known

    def _ended(self):
        record = self._record
        if self.budget is not None and record.ledger.n_answers >= self.budget:
            return "budget"
        if self._rules and record.between and self.learner.reached(self._rules):
            return "rule"
        return None

    def _shape(self, asked):
        guess = probability = None
        if self._record.has_model:
            X = take(self._record.view.X, np.array([asked.row]))
            guess = self.learner.predict(X).tolist()[0]
            if hasattr(self.learner, "predict_proba"):
                probability = float(self.learner.predict_proba(X).max())
        values = self._shown.values(asked.row)
        return Question(asked.row, values, guess, probability, asked.again)

    def answer(self, label: LabelsLike, row: int | None = None) -> None:
        """Answer the question.

        Parameters
        ----------
        label : object
            A label.
        row : int, default=None
            The row that was shown, to be sure that it is the one that is asked for.
        """
        if label is None:
            raise ValueError("label must not be None. A row is left out by skip().")
        self._answer(label, row)

    def skip(self, row: int | None = None) -> None:
        """Leave the row out; it is asked for again in a later session.

        Parameters
        ----------
        row : int, default=None
            As in :meth:`answer`.
        """
        self._answer(None, row)

    def _answer(self, label, row):
        self._next()
        if self._asked is None:
            raise ValueError(f"There is no question: {self._known[2]}.")
        if row is not None and row != self._asked.row:
            raise ValueError(
                f"Row {row!r} is not asked for, but row {self._asked.row}. Give "
                "another label to an earlier row by relabel()."
            )
        self._record.answer(self._asked, label, self.annotator)

    def undo(self) -> int:
        """Take back the last answer of this annotator, or what was relabeled last.

        Returns
        -------
        int
            Its row.
        """
        return self._record.undo(self.annotator).row

    def relabel(self, row: int, label: LabelsLike) -> None:
        """Give an earlier row another label; later answers stay.

        Parameters
        ----------
        row : int
            A row that has been asked for.
        label : object
            None withdraws its label.
        """
        self._record.relabel(row, label, self.annotator)

    def close(self) -> None:
        """Let the learner have all answers, and other sessions the journal."""
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
        """Say how far the session is.

        Returns
        -------
        Progress
        """
        ended = self._next()[2]
        limits = self._record.limits(self._rules)
        return Progress(
            self._record.ledger.n_answers,
            self.budget,
            self._record.view.n_rows,
            min(limits) if limits else None,
            ended,
        )

    def answers(self) -> list[dict[str, Any]]:
        """List the rows that have been asked for, the last one first.

        Returns
        -------
        list of dict
            For each its `row`, the `label` that is learnt (None if it was skipped), the
            `annotator` and time (`at`) of that, and all `opinions`, pairs of annotator
            and label.
        """
        ledger = self._record.ledger
        opinions = ledger.opinions()
        lines = {one.line: one for one in ledger.entries}
        out = {}
        for entry in reversed(ledger.entries):
            told = opinions.get(entry.row, [])
            rules = lines[ledger.rule(told)[2]] if told else entry
            out.setdefault(
                entry.row,
                {
                    "row": entry.row,
                    "label": None if rules.label is NO_LABEL else rules.label,
                    "annotator": rules.by,
                    "at": rules.at,
                    "opinions": [(by, label) for by, label, _ in told],
                },
            )
        return list(out.values())

    def agreement(self) -> list[dict[str, Any]]:
        """Compare annotators on the rows that were asked for twice.

        Returns
        -------
        list of dict
            For each two `annotators` (or one and himself) the number of rows, how many
            `agreed`, and Cohen's `kappa`; None where it is not defined.
        """
        return agreement(self._record.ledger)

    def why(self, row: int | None = None) -> list[str]:
        """Say what speaks for a row, in sentences.

        The leaf and the tests of a single tree, else the nearest rows with a label.

        Parameters
        ----------
        row : int, default=None
            None: that of the question.

        Returns
        -------
        list of str
        """
        if row is None:
            question = self.question()
            if question is None:
                return []
            row = question.row
        return reasons(self.learner, row, self._record.has_model, self._columns)

    def forecast(self, n: int = 20) -> str:
        """Say what the next labels would probably bring.

        The course of the risk's limit if a rule has one, else the learning curve on the
        answers, by :func:`simulate`.

        Parameters
        ----------
        n : int, default=20
            How many labels.

        Returns
        -------
        str
        """
        return forecast_text(self._record.whole_learner(), self._rules, n)

    def predictions(self) -> tuple[NDArray[Any] | None, Floats | None]:
        """Predict the rows of the pool by all answers.

        Returns
        -------
        labels : ndarray of shape (n_rows,) or None
            None until rows of two classes are labelled.
        probabilities : ndarray of shape (n_rows, n_classes) or None
            None until then, or if the classifier has none.
        """
        learner = self._record.whole_learner()
        view = LearnerView(learner)
        known = view.codes[view.labeled]
        if not hasattr(learner, "estimator_") or len(np.unique(known)) < 2:
            return None, None
        X = view.X
        proba = None
        if hasattr(learner, "predict_proba"):
            proba = learner.predict_proba(X)
        return learner.predict(X), proba

    def export(
        self, path: str | PathLike, format: Literal["csv", "label_studio"] = "csv"
    ) -> None:
        """Write all rows with their labels, who gave them, and predictions.

        Parameters
        ----------
        path : str or path-like
            A file, which is replaced when all is written.
        format : {"csv", "label_studio"}, default="csv"
            A table with the values of the rows, or tasks that Label Studio imports.
        """
        if format not in FORMATS:
            raise ValueError(f"format must be one of {list(FORMATS)}. Got {format!r}.")
        write_text(path, FORMATS[format](self))

    def label(self, show: Sequence[str] | None = None) -> Self:
        """Ask at the terminal, until there is no question or the person quits.

        Keys are the numbers of the labels in the menu, or the labels themselves if one
        is the number of another, as 1 is among 0 and 1. ``u`` takes the last answer
        back, ``s`` skips the row, ``?`` says why it is asked for, ``q`` and Ctrl-C
        quit.

        Parameters
        ----------
        show : list of str, default=None
            Columns to show. None: all.

        Returns
        -------
        LabelingSession
            The session itself.
        """
        label_at_terminal(self, show)
        return self
