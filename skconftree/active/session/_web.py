"""A session in a browser."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from http import HTTPStatus
from os import PathLike
from typing import TYPE_CHECKING

from ...utils import escape
from .._choices import choices
from .._ledger import same_label
from ._desk import COMMANDS, ENDS, check_desk, progress_text
from ._images import Images
from ._server import Refused, Server
from ._shown import visible

if TYPE_CHECKING:
    from ._session import LabelingSession

MOST_LISTED = 100  # answers that can be mended on the page
BRIEF = 80  # signs of a row in their list
TICK = 0.5  # seconds until Ctrl-C is noticed where waiting cannot be interrupted


class WebOracle:
    """A page in the browser of this machine that asks the questions of a session.

    The page is served from 127.0.0.1 on a port that is free, to those who know its
    address, which has a token; no other page can send an answer. It shows a row with
    the labels to choose from, how far the session is, and the answers, for slips to be
    mended. Keys are those of the terminal. Each answer is in the journal before the
    next question is shown; the page may be reloaded, closed and opened again.

    Parameters
    ----------
    session : LabelingSession
        What asks. Leave it to the page until :meth:`close`.
    show : list of str, default=None
        Columns to show. None: all.
    images : str or path-like, default=None
        Folder of pictures. A value that is the path of a picture in it (AVIF, GIF,
        JPEG, PNG or WebP), as seen from the folder, is shown as it. Nothing else is
        read, and no address fetched.

    Attributes
    ----------
    url : str
        Address of the page. Whoever has it, on this machine, can answer.

    See Also
    --------
    LabelingSession.label : Asks at the terminal.

    Notes
    -----
    A notebook shows a link to the page.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner, LabelingSession, WebOracle
    >>> X, y = load_iris(return_X_y=True)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "answers.jsonl")
    >>> learner = ActiveLearner(GaussianNB(), classes=[0, 1, 2])
    >>> with LabelingSession(learner, path, X) as session, WebOracle(session) as page:
    ...     print(page.url)
    ...     page.wait()  # doctest: +SKIP
    http://127.0.0.1:...
    >>> folder.cleanup()
    """

    def __init__(
        self,
        session: LabelingSession,
        *,
        show: Sequence[str] | None = None,
        images: str | PathLike | None = None,
    ) -> None:
        check_desk(session, show)
        self._desk = _Desk(
            session,
            None if show is None else list(show),
            None if images is None else Images(images),
        )
        self._server = Server(self._desk)
        self.url = self._server.url
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), daemon=True
        )
        self._thread.start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until somebody quits, on the page or by Ctrl-C.

        Parameters
        ----------
        timeout : float, default=None
            Seconds to wait at most.

        Returns
        -------
        bool
            Whether somebody has quit.
        """
        try:
            if timeout is not None:
                return self._desk.quit.wait(timeout)
            while not self._desk.quit.wait(TICK):
                pass
        except KeyboardInterrupt:  # what was answered is saved
            self._desk.quit.set()
        return True

    def close(self) -> None:
        """Serve no more; an answer that has arrived is saved first."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._desk.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def _repr_html_(self):
        return (
            f'<a href="{escape(self.url)}" target="_blank" '
            'rel="noopener noreferrer">Label in a page of its own</a>'
        )


class _Desk:
    """What the page is told of a session, and does with it; one request at a time."""

    def __init__(self, session, show, images):
        self.session, self.show, self.images = session, show, images
        self.lock = threading.Lock()
        self.quit = threading.Event()
        self.open = True

    def close(self):
        """Let the request that runs end, and refuse all later ones."""
        with self.lock:
            self.open = False
        self.quit.set()

    def state(self):
        """All that the page shows."""
        with self.lock:
            return self._state()

    def picture(self, row, place):
        """Type and content of a picture of the row that is asked for."""
        with self.lock:
            self._check_open()
            question = self.session.question()
        values = [] if question is None else self._values(question.row)
        found = None
        if question is not None and question.row == row and place < len(values):
            found = self.images and self.images.read(values[place][1])
        if found is None:
            raise Refused(HTTPStatus.NOT_FOUND, "There is no such picture.")
        return found

    def act(self, said):
        """Do what a key says, unless the page has shown something else; the state."""
        with self.lock:
            self._check_open()
            if str(said.get("do")) not in ACTS:
                raise Refused(HTTPStatus.BAD_REQUEST, "Nothing is known by that name.")
            if said.get("seen") != self._n_lines():
                raise Refused(
                    HTTPStatus.CONFLICT,
                    "Another page has answered in the meantime; this is the latest.",
                )
            try:
                more = ACTS[said["do"]](self, said)
            except ValueError as error:
                raise Refused(HTTPStatus.CONFLICT, str(error)) from error
            return self._state() | more

    def sent(self, said):
        """Let the program go on when the page knows that it has ended."""
        if said["do"] == "quit":
            self.quit.set()

    def _check_open(self):
        if not self.open:
            raise Refused(HTTPStatus.GONE, "The session has ended.")

    def _n_lines(self):
        return len(self.session._record.journal.lines)

    # -- acts ----------------------------------------------------------------------

    def _answer(self, said):
        label, row = self._label(said), self._row(said)
        self.session.answer(label, row)
        return _told(row, label)

    def _skip(self, said):
        row = self._row(said)
        self.session.skip(row)
        return {"note": f"Row {row}: skipped."}

    def _undo(self, said):
        return {"note": f"Row {self.session.undo()}: the answer is taken back."}

    def _mend(self, said):
        label = None if said.get("label") is None else self._label(said)
        row = self._row(said)
        self.session.mend(row, label)
        return _told(row, "no label" if label is None else label)

    def _why(self, said):
        return {"note": visible("\n".join(self.session.why()))}

    def _quit(self, said):
        return {"quit": True}

    def _label(self, said):
        place, labels = said.get("label"), self.session.labels
        if type(place) is not int or not 0 <= place < len(labels):
            raise Refused(HTTPStatus.BAD_REQUEST, "There is no such label.")
        return labels[place]

    def _row(self, said):
        if type(said.get("row")) is not int:
            raise Refused(HTTPStatus.BAD_REQUEST, "Which row?")
        return said["row"]

    # -- what is shown -------------------------------------------------------------

    def _state(self):
        self._check_open()
        session = self.session
        question, progress = session.question(), session.progress()
        return {
            "seen": self._n_lines(),
            "labels": [visible(str(one)) for one in session.labels],
            "keys": [
                key if len(key) == 1 else ""
                for key in choices(session.labels, COMMANDS)[0]
            ],
            "progress": visible(progress_text(progress, question)),
            "done": progress.n_answers,
            "budget": progress.budget,
            "question": None if question is None else self._shape(question),
            "ended": ENDS.get(progress.ended),
            "notes": [visible(one) for one in session.notes],
            "answers": [self._listed(one) for one in session.answers()[:MOST_LISTED]],
        }

    def _shape(self, question):
        values = [
            {
                "name": visible(name),
                "text": visible(text),
                "picture": bool(self.images and self.images.find(text)),
            }
            for name, text in self._values(question.row)
        ]
        return {"row": question.row, "again": question.again, "values": values}

    def _values(self, row):
        values = self.session._shown.values(row)
        return [(name, values[name]) for name in self.show or values]

    def _listed(self, one):
        places = [
            place
            for place, label in enumerate(self.session.labels)
            if one["label"] is not None and same_label(label, one["label"])
        ]
        text = " ".join(value for _, value in self._values(one["row"]))
        return {
            "row": one["row"],
            "label": places[0] if places else None,
            "text": visible(text[:BRIEF]),
        }


def _told(row, label):
    return {"note": visible(f"Row {row}: {label}.")}


ACTS = {
    "answer": _Desk._answer,
    "skip": _Desk._skip,
    "undo": _Desk._undo,
    "mend": _Desk._mend,
    "why": _Desk._why,
    "quit": _Desk._quit,
}
