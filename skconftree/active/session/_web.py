"""A labeling session in a browser: its page, its server and its images."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import secrets
import stat
import threading
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from os import PathLike
from typing import TYPE_CHECKING

from ...utils._markup import escape
from .._journal import same_label
from .._strategy import choices
from ._explanations import visible
from ._terminal import COMMANDS, ENDS, check_labels_and_columns, progress_text

if TYPE_CHECKING:
    from ._session import LabelingSession

HOST = "127.0.0.1"
MAX_CONTENT_BYTES = 4096  # of a request's content
PATIENCE = 20.0  # seconds that a connection may say nothing
JSON = "application/json"
# Content security policy of all replies except the page: nothing is allowed.
SHUT = "default-src 'none'; frame-ancestors 'none'; sandbox"


class Refused(Exception):
    """A request that changes nothing, and why."""

    def __init__(self, status, why):
        super().__init__(why)
        self.status = status


class Server(ThreadingHTTPServer):
    """Serves a desk (`state`, `picture`, `act`, `sent`) to those who know its token."""

    allow_reuse_address = False  # on Windows others could take the port over

    def __init__(self, desk):
        self.desk = desk
        self.token = secrets.token_urlsafe(24)
        self.page = resources.files(__package__).joinpath("_page.html").read_bytes()
        self.policy = _policy(self.page)
        super().__init__((HOST, 0), _Handler)
        self.hosts = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}
        self.url = f"http://{HOST}:{self.server_port}/{self.token}/"

    def handle_error(self, request, client_address):
        """Say nothing: a connection broke, all other errors are replies."""


def _policy(page):
    # The page's own program and style are known by their hashes, and no others run.
    def known(tag):
        (part,) = re.findall(rb"<%b>(.*?)</%b>" % (tag, tag), page, re.DOTALL)
        return base64.b64encode(hashlib.sha256(part).digest()).decode()

    return (
        "default-src 'none'; img-src 'self'; connect-src 'self'; "
        f"script-src 'sha256-{known(b'script')}'; "
        f"style-src 'sha256-{known(b'style')}'; require-trusted-types-for 'script'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class _Handler(BaseHTTPRequestHandler):
    server_version, sys_version = "skconftree", ""
    timeout = PATIENCE

    def do_GET(self):
        self._reply(self._get)

    def do_POST(self):
        self._reply(self._post)

    def _reply(self, find):
        try:
            # A name that an attacker makes mean this machine is another host.
            if self._only("Host") not in self.server.hosts:
                raise Refused(HTTPStatus.FORBIDDEN, "Another host was meant.")
            found = find(self._asked_for())
        except Refused as error:
            found = _error(error.status, error)
        except TimeoutError:
            raise
        except Exception as error:  # a full disk, a classifier that fails
            found = _error(HTTPStatus.INTERNAL_SERVER_ERROR, error)
        self._send(*found)

    def _asked_for(self):
        _, token, *path = self.path.split("/", 2) if "/" in self.path else ("", "")
        # constant-time comparison
        known = secrets.compare_digest(token.encode(), self.server.token.encode())
        if not known or not path:
            raise Refused(HTTPStatus.NOT_FOUND, "There is nothing here.")
        return path[0]

    def _get(self, path):
        if path == "":
            page = self.server.page
            return HTTPStatus.OK, page, "text/html; charset=utf-8", self.server.policy
        if path == "state":
            return _json(HTTPStatus.OK, self.server.desk.state())
        picture = re.fullmatch(r"picture/([0-9]{1,15})/([0-9]{1,6})", path)
        if picture is None:
            raise Refused(HTTPStatus.NOT_FOUND, "There is nothing here.")
        kind, content = self.server.desk.picture(*map(int, picture.groups()))
        return HTTPStatus.OK, content, kind, SHUT

    def _post(self, path):
        # Browsers say who sends, which pages cannot change.
        if self._only("Origin") != f"http://{self._only('Host')}":
            raise Refused(HTTPStatus.FORBIDDEN, "Another page has sent this.")
        if self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            raise Refused(HTTPStatus.FORBIDDEN, "Another page has sent this.")
        if path != "act":
            raise Refused(HTTPStatus.NOT_FOUND, "There is nothing here.")
        if self._only("Content-Type") != JSON:
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Only {JSON} is read.")
        said = self._said()
        state = self.server.desk.act(said)
        self._after = said
        return _json(HTTPStatus.OK, state)

    def _said(self):
        size = self._only("Content-Length") or ""
        if not re.fullmatch("[0-9]{1,15}", size) or "Transfer-Encoding" in self.headers:
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "Content-Length is missing.")
        if int(size) > MAX_CONTENT_BYTES:
            raise Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"The request has more than {MAX_CONTENT_BYTES} bytes.",
            )
        try:
            said = json.loads(self.rfile.read(int(size)))
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            raise Refused(HTTPStatus.BAD_REQUEST, "The request is not a JSON object.")
        return said

    def _only(self, name):
        # Of two headers of one name nobody knows which one counts.
        found = self.headers.get_all(name, [])
        return found[0] if len(found) == 1 else None

    _after = None

    def _send(self, status, content, kind, policy=SHUT):
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", len(content)),
            ("Content-Security-Policy", policy),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, str(value))
        self.end_headers()
        try:
            self.wfile.write(content)
            self.wfile.flush()
        finally:
            if self._after is not None:
                self.server.desk.sent(self._after)

    def send_error(self, code, message=None, explain=None):
        """Reply to what is not a request, or has a method that does not exist."""
        self.close_connection = True
        self._send(*_error(code, message or HTTPStatus(code).phrase))

    def log_message(self, format, *args):
        """Say nothing: the terminal is the user's."""


def _json(status, told):
    content = json.dumps(told, ensure_ascii=False, allow_nan=False)
    return status, content.encode("utf-8", "replace"), JSON


def _error(status, why):
    return _json(status, {"error": str(why)})


# None of them can hold a program, as SVG can.
TYPES = {
    ".avif": "image/avif",
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}
MAX_IMAGE_BYTES = 50_000_000


class Images:
    """A folder out of which no path leads, by dots, by links or from the root."""

    def __init__(self, folder):
        self.folder = os.path.realpath(os.fspath(folder))
        if not os.path.isdir(self.folder):
            raise ValueError(f"images must be a folder. Got {os.fspath(folder)!r}.")

    def find(self, path):
        """Say where a picture really is; None if it is none, or not in the folder."""
        if _ending(path) not in TYPES:
            return None
        try:
            place = os.path.realpath(os.path.join(self.folder, path))
            inside = os.path.commonpath([self.folder, place]) == self.folder
            found = os.stat(place) if inside else None
        except (OSError, ValueError):  # no such file, a zero in the name, another drive
            return None
        if found is None or not stat.S_ISREG(found.st_mode):
            return None
        # a link may end with .png and lead to a file that is not a picture
        fits = _ending(place) in TYPES and found.st_size <= MAX_IMAGE_BYTES
        return place if fits else None

    def read(self, path):
        """Give the type and the content of a picture, or None."""
        place = self.find(path)
        if place is None:
            return None
        with open(place, "rb") as file:
            return TYPES[_ending(place)], file.read(MAX_IMAGE_BYTES)


def _ending(path):
    return os.path.splitext(path)[1].lower()


MAX_LISTED = 100  # answers that can be relabeled on the page
BRIEF = 80  # signs of a row in their list
TICK = 0.5  # seconds until Ctrl-C is noticed where waiting cannot be interrupted


class WebOracle:
    """A page in the browser of this machine that asks the questions of a session.

    The page is served from 127.0.0.1 on a port that is free, to those who know its
    address, which has a token; no other page can send an answer. It shows a row with
    the labels to choose from, how far the session is, and the answers, for slips to be
    relabeled. Keys are those of the terminal. Each answer is in the journal before the
    next question is shown; the page may be reloaded, closed and opened again.

    Parameters
    ----------
    session : LabelingSession
        The session. Do not use it elsewhere until :meth:`close`.
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
        check_labels_and_columns(session, show)
        self._desk = _Api(
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


class _Api:
    """Serves a session to the page, one request at a time."""

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
        """Type and content of a picture of the row in the request."""
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
                raise Refused(HTTPStatus.BAD_REQUEST, "This action does not exist.")
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

    def _relabel(self, said):
        label = None if said.get("label") is None else self._label(said)
        row = self._row(said)
        self.session.relabel(row, label)
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
            raise Refused(HTTPStatus.BAD_REQUEST, "row must be an integer.")
        return said["row"]

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
            "answers": [self._listed(one) for one in session.answers()[:MAX_LISTED]],
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
    "answer": _Api._answer,
    "skip": _Api._skip,
    "undo": _Api._undo,
    "relabel": _Api._relabel,
    "why": _Api._why,
    "quit": _Api._quit,
}
