"""A labeling session in a browser: its page, its server and its images.

The *journal* is the file of the labels. A row that is shown to a person is *reserved*:
others do not see it until RESERVED_SECONDS after the last request of that person. A
recall is *certified* by labels of random rows. `visible` removes control characters
from a text. A question is asked `again` if it is for a second opinion, a further
label of a labeled row.
"""

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
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import unquote
from zlib import crc32

from ...utils._markup import escape
from .._journal import same_label
from .._strategy import choices, typed_like
from ._explanations import visible
from ._session import RESERVED_SECONDS
from ._terminal import (
    COMMANDS,
    check_labels_and_columns,
    end_text,
    estimates_text,
    first_suggestion,
    progress_text,
    suggestion_text,
)

if TYPE_CHECKING:
    from ._session import LabelingSession

HOST = "127.0.0.1"
MAX_CONTENT_BYTES = 4096  # of a request's content
MAX_NAME = 80  # characters of an annotator's name
TIMEOUT = 20.0  # seconds without data after which a connection is closed
JSON = "application/json"
# Content security policy of all responses except the page: nothing is allowed.
NO_CONTENT = "default-src 'none'; frame-ancestors 'none'; sandbox"


class RequestError(Exception):
    """Error of a request, with the HTTP status of the response."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Server(ThreadingHTTPServer):
    """HTTP server of an `_Api`, for clients that know its token."""

    allow_reuse_address = False  # on Windows another process could use the port

    def __init__(self, api):
        self.api = api
        self.token = secrets.token_urlsafe(24)
        self.page = resources.files(__package__).joinpath("_page.html").read_bytes()
        self.policy = _policy(self.page)
        super().__init__((HOST, 0), _Handler)
        self.hosts = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}
        self.url = f"http://{HOST}:{self.server_port}/{self.token}/"

    def handle_error(self, request, client_address):
        """Ignore errors of the connection; all others are sent as responses."""


def _policy(page):
    # Only the script and the style of the page itself are allowed, by their hashes.
    def digest(tag):
        (part,) = re.findall(rb"<%b>(.*?)</%b>" % (tag, tag), page, re.DOTALL)
        return base64.b64encode(hashlib.sha256(part).digest()).decode()

    return (
        "default-src 'none'; img-src 'self'; connect-src 'self'; "
        f"script-src 'sha256-{digest(b'script')}'; "
        f"style-src 'sha256-{digest(b'style')}'; require-trusted-types-for 'script'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class _Handler(BaseHTTPRequestHandler):
    server_version, sys_version = "skconftree", ""
    timeout = TIMEOUT

    def do_GET(self):
        self._reply(self._get)

    def do_POST(self):
        self._reply(self._post)

    def _reply(self, respond):
        try:
            # against DNS rebinding
            host = self._single_header("Host")
            if host not in self.server.hosts:
                raise RequestError(
                    HTTPStatus.FORBIDDEN,
                    f"Use the host and port of the printed address. Got {host!r}.",
                )
            response = respond(self._path_after_token())
        except RequestError as error:
            response = _error(error.status, error)
        except TimeoutError:
            raise
        except Exception as error:  # a full disk, a classifier that fails
            response = _error(HTTPStatus.INTERNAL_SERVER_ERROR, error)
        self._send(*response)

    def _path_after_token(self):
        _, token, *path = self.path.split("/", 2) if "/" in self.path else ("", "")
        # constant-time comparison
        is_valid = secrets.compare_digest(token.encode(), self.server.token.encode())
        if not is_valid or not path:
            raise RequestError(
                HTTPStatus.NOT_FOUND, "Open the full address that was printed."
            )
        return path[0]

    def _get(self, path):
        if path == "":
            page = self.server.page
            return HTTPStatus.OK, page, "text/html; charset=utf-8", self.server.policy
        if path == "state":
            return _json(HTTPStatus.OK, self.server.api.state(self._annotator()))
        picture = re.fullmatch(r"picture/([0-9]{1,15})/([0-9]{1,6})", path)
        if picture is None:
            raise RequestError(HTTPStatus.NOT_FOUND, "This address does not exist.")
        kind, content = self.server.api.picture(*map(int, picture.groups()))
        return HTTPStatus.OK, content, kind, NO_CONTENT

    def _post(self, path):
        # Browsers set these headers; scripts of other pages cannot change them.
        if (
            self._single_header("Origin") != f"http://{self._single_header('Host')}"
            or self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin"
        ):
            raise RequestError(HTTPStatus.FORBIDDEN, "Another page sent this request.")
        if path != "act":
            raise RequestError(HTTPStatus.NOT_FOUND, "This address does not exist.")
        if self._single_header("Content-Type") != JSON:
            raise RequestError(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type must be {JSON}."
            )
        self._request, annotator = self._read_request(), self._annotator()
        return _json(HTTPStatus.OK, self.server.api.act(self._request, annotator))

    def _annotator(self):
        # Name of the person at this browser, or None.
        name = unquote(self._single_header("X-Annotator") or "")
        name = " ".join(visible(name).split())
        if len(name) > MAX_NAME:
            raise RequestError(
                HTTPStatus.BAD_REQUEST, f"The name has more than {MAX_NAME} characters."
            )
        return name or None

    def _read_request(self):
        size = self._single_header("Content-Length") or ""
        if not re.fullmatch("[0-9]{1,15}", size) or "Transfer-Encoding" in self.headers:
            raise RequestError(HTTPStatus.LENGTH_REQUIRED, "Content-Length is missing.")
        if int(size) > MAX_CONTENT_BYTES:
            raise RequestError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"The request has more than {MAX_CONTENT_BYTES} bytes.",
            )
        try:
            request = json.loads(self.rfile.read(int(size)))
        except (ValueError, RecursionError):
            request = None
        if not isinstance(request, dict):
            raise RequestError(
                HTTPStatus.BAD_REQUEST, "The request is not a JSON object."
            )
        return request

    def _single_header(self, name):
        # None if the header is missing, or ambiguous because there are several.
        values = self.headers.get_all(name, [])
        return values[0] if len(values) == 1 else None

    _request = None  # a request that was executed

    def _send(self, status, content, kind, policy=NO_CONTENT):
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
            if self._request is not None:
                self.server.api.sent(self._request)

    def send_error(self, code, message=None, explain=None):
        """Respond to an invalid request or an unsupported method."""
        self.close_connection = True
        self._send(*_error(code, message or HTTPStatus(code).phrase))

    def log_message(self, format, *args):
        """Print nothing, because the terminal belongs to the user."""


def _json(status, value):
    content = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return status, content.encode("utf-8", "replace"), JSON


def _error(status, message):
    return _json(status, {"error": str(message)})


# Formats that cannot contain scripts, unlike SVG.
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
    """Images of a folder; paths and links that lead out of it are rejected."""

    def __init__(self, folder):
        self.folder = os.path.realpath(os.fspath(folder))
        if not os.path.isdir(self.folder):
            raise ValueError(f"images must be a folder. Got {os.fspath(folder)!r}.")

    def find(self, path):
        """Return the real path of an image; None if it is not in the folder."""
        if _ending(path) not in TYPES:
            return None
        try:
            real = os.path.realpath(os.path.join(self.folder, path))
            inside = os.path.commonpath([self.folder, real]) == self.folder
            status = os.stat(real) if inside else None
        except (OSError, ValueError):  # no such file, a zero byte, another drive
            return None
        if status is None or not stat.S_ISREG(status.st_mode):
            return None
        # a link may end with .png and lead to a file that is not an image
        is_image = _ending(real) in TYPES and status.st_size <= MAX_IMAGE_BYTES
        return real if is_image else None

    def read(self, path):
        """Return type and content of an image, or None."""
        real = self.find(path)
        if real is None:
            return None
        with open(real, "rb") as file:
            return TYPES[_ending(real)], file.read(MAX_IMAGE_BYTES)


def _ending(path):
    return os.path.splitext(path)[1].lower()


MAX_LISTED = 100  # labels that can be changed on the page
MAX_CHARACTERS = 80  # of a row in their list
INTERVAL = 0.5  # seconds between checks for Ctrl-C while waiting


class WebOracle:
    """Web page on this machine, for labeling the rows of a session in a browser.

    The page is served at 127.0.0.1 on a free port. Its address contains a secret token,
    and other web pages cannot send labels. The page shows the row, the labels to choose
    from, the progress of the session, and earlier labels, which can be changed. Keys
    are the same as in the terminal. Each label is saved in the file of the session (its
    journal) before the next row is shown. The page can be reloaded, and closed and
    opened again.

    Several people can label at once, each in a browser. The name that a person enters
    on the page is stored in the browser and in the journal. A row that is shown to one
    person is not shown to another, until it is labeled or skipped, or for five minutes
    after the last request of the first person.

    Parameters
    ----------
    session : LabelingSession
        The session. Do not use it otherwise until :meth:`close` is called. Its
        `annotator` is the name of people who do not enter one.
    show : list of str, default=None
        Columns to show. None: all.
    images : str or path-like, default=None
        Folder of images. A value that is the relative path of an image in this folder
        (AVIF, GIF, JPEG, PNG or WebP) is displayed as the image. No other files are
        read, and nothing is loaded from other addresses.

    Attributes
    ----------
    url : str
        Address of the page. Everyone who knows it can add labels from this machine.

    See Also
    --------
    LabelingSession.label : The same in a terminal.

    Notes
    -----
    In a notebook, the object is displayed as a link to the page.

    If several people label at once, their labels are learned in the order in which they
    arrive. Limits of the error rate and of the recall then assume that this order does
    not depend on the labels of rows that were drawn at random.

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
        self._api = _Api(
            session,
            None if show is None else list(show),
            None if images is None else Images(images),
        )
        self._server = Server(self._api)
        self.url = self._server.url
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), daemon=True
        )
        self._thread.start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until a person quits, on the page or by Ctrl-C.

        Parameters
        ----------
        timeout : float, default=None
            Maximum number of seconds. None: no limit.

        Returns
        -------
        bool
            Whether a person has quit.
        """
        try:
            if timeout is not None:
                return self._api.quit.wait(timeout)
            while not self._api.quit.wait(INTERVAL):
                pass
        except KeyboardInterrupt:  # all labels are saved
            self._api.quit.set()
        return True

    def close(self) -> None:
        """Save labels that have arrived, and stop the server."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._api.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def _repr_html_(self):
        return (
            f'<a href="{escape(self.url)}" target="_blank" '
            'rel="noopener noreferrer">Open the labeling page</a>'
        )


class _Api:
    """Requests of the page to a session, which are executed one at a time."""

    def __init__(self, session, show, images):
        self.session, self.show, self.images = session, show, images
        session._forget_reserved()  # nobody has seen a row yet
        self.default_name = session.annotator
        self._last_requests = {}  # times by annotator
        self.lock = threading.Lock()
        self.quit = threading.Event()
        self.open = True
        self._estimate = None, None  # number of lines of the journal, and a sentence

    def close(self):
        """Wait for the current request, and reject all later ones."""
        with self.lock:
            self.open = False
            self.session.annotator = self.default_name
        self.quit.set()

    def _enter(self, annotator):
        # Continue the session as one of the people at their browsers.
        self._check_open()
        self.session.annotator = annotator or self.default_name
        self._last_requests[self.session.annotator] = monotonic()

    def state(self, annotator=None):
        """Return the content of the page."""
        with self.lock:
            self._enter(annotator)
            return self._state()

    def picture(self, row, index):
        """Return type and content of an image of the current row, or a listed one."""
        with self.lock:
            self._check_open()
            shown = {answer["row"] for answer in self._answers()}
            shown |= self.session._shown_rows()
        values = self._values(row) if row in shown else []
        image = None
        if index < len(values):
            image = self.images and self.images.read(values[index][1])
        if image is None:
            raise RequestError(HTTPStatus.NOT_FOUND, "This image does not exist.")
        return image

    def act(self, request, annotator=None):
        """Execute a request, unless the page was outdated; return the new content."""
        with self.lock:
            self._enter(annotator)
            if str(request.get("do")) not in ACTS:
                raise RequestError(
                    HTTPStatus.BAD_REQUEST, "This action does not exist."
                )
            if request.get("seen") != self._seen():
                raise RequestError(
                    HTTPStatus.CONFLICT,
                    "Another page has changed a label. This page is now up to date.",
                )
            try:
                more = ACTS[request["do"]](self, request)
            except ValueError as error:
                raise RequestError(HTTPStatus.CONFLICT, str(error)) from error
            return more if more.get("quit") else self._state() | more

    def sent(self, request):
        """End `WebOracle.wait` when "quit" of the last person has been answered."""
        if request.get("do") == "quit" and not self._last_requests:
            self.quit.set()

    def _quit(self, request):
        # Others may continue; people who have closed their page are not waited for.
        self.session._forget_reserved()
        del self._last_requests[self.session.annotator]
        self._last_requests = {
            annotator: time
            for annotator, time in self._last_requests.items()
            if monotonic() - time < RESERVED_SECONDS
        }
        return {"quit": True}

    def _check_open(self):
        if not self.open:
            raise RequestError(HTTPStatus.GONE, "The session has ended.")

    def _n_lines(self):
        return len(self.session._record.journal.lines)

    def _seen(self):
        # What a page must have seen: the lines of its annotator, and the labels, which
        # it refers to by their positions. Lines of other people do not matter.
        lines, name = self.session._record.journal.lines, self.session.annotator
        n_own = sum(line.get("by") == name for line in lines)
        return [n_own, crc32(repr(self.session.labels).encode())]

    def _undo(self, request):
        # Withdraw the last label of this person, who is then shown the row again. If
        # others have answered since, the row is in the list, without a label.
        try:
            return _note(f"Row {self.session.undo()}: label withdrawn.")
        except ValueError:
            own = (
                answer
                for answer in self.session.answers()
                # pairs of annotator and label; rows that only this person labeled
                if answer["opinions"] == [(self.session.annotator, answer["label"])]
            )
            row = next((answer["row"] for answer in own), None)
            if row is None:
                raise
            self.session.relabel(row, label=None)
        return _note(
            f"Row {row}: label withdrawn. To label it again, use the list of earlier "
            "labels."
        )

    def _answer(self, request):
        label, row = self._label(request), self._row(request)
        self.session.answer(label, row)
        return _note(f"Row {row}: {label}.")

    def _skip(self, request):
        row = self._row(request)
        self.session.skip(row)
        return _note(f"Row {row}: skipped.")

    def _relabel(self, request):
        label = None if request.get("label") is None else self._label(request)
        row = self._row(request)
        self.session.relabel(row, label)
        return _note(f"Row {row}: {'no label' if label is None else label}.")

    def _why(self, request):
        return _note("\n".join(self.session.why()))

    def _error_rate(self, request):
        return _note(estimates_text(self.session))

    def _certify(self, request):
        if type(request.get("agree")) is not bool:
            raise RequestError(HTTPStatus.BAD_REQUEST, "agree must be true or false.")
        self.session.certify(request["agree"])
        return {}

    def _add_label(self, request):
        text = request.get("label")
        if not isinstance(text, str):
            raise RequestError(HTTPStatus.BAD_REQUEST, "label must be a text.")
        label = typed_like(text.strip(), self.session.labels)
        self.session.add_label(label)
        return _note(f"New label: {label}.")

    def _label(self, request):
        index, labels = request.get("label"), self.session.labels
        if type(index) is not int or not 0 <= index < len(labels):
            raise RequestError(HTTPStatus.BAD_REQUEST, "This label does not exist.")
        return labels[index]

    def _row(self, request):
        if type(request.get("row")) is not int:
            raise RequestError(HTTPStatus.BAD_REQUEST, "row must be an integer.")
        return request["row"]

    def _state(self):
        self._check_open()
        session = self.session
        question, progress = session.question(), session.progress()
        return {
            "seen": self._seen(),  # returned by the page with each request
            "annotator": visible(session.annotator or ""),
            "labels": [visible(str(label)) for label in session.labels],
            "keys": [  # of the labels; those of more than one character are not used
                key if len(key) == 1 else ""
                for key in choices(session.labels, COMMANDS)[0]
            ],
            "progress": visible(progress_text(progress, question)),
            "done": progress.n_answers,
            "budget": progress.budget,
            "question": None if question is None else self._question(question),
            "ended": progress.ended and self._ended(progress),
            "asks": progress.asks,  # whether to certify the recall
            "notes": list(map(visible, session.notes)),
            "answers": list(map(self._listed, self._answers())),
        }

    def _ended(self, progress):
        # Why the session has ended, and the estimate of the error rate.
        # "rows": no row is left to label
        if progress.ended == "rows" and self.session._rows_of_others():
            return "The last rows are shown to other people. Reload the page later."
        n_lines, estimate = self._estimate
        if n_lines != self._n_lines():
            estimate = str(self.session.estimate_error())
            self._estimate = self._n_lines(), estimate
        return f"{visible(end_text(progress))}\n{visible(estimate)}"

    def _question(self, question):
        values = [
            {
                "name": visible(name),
                "text": visible(text),
                "picture": bool(self.images and self.images.find(text)),
            }
            for name, text in self._values(question.row)
        ]
        suggested = None
        if question.suggested:
            suggested = {
                "text": visible(suggestion_text(question)),
                "label": self._index_of(first_suggestion(question)),
            }
        return {
            "row": question.row,
            "again": question.again,
            "values": values,
            "suggested": suggested,
        }

    def _index_of(self, label):
        # Index of a label among those to choose from, or None.
        return next(
            (
                index
                for index, other in enumerate(self.session.labels)
                if label is not None and same_label(other, label)
            ),
            None,
        )

    def _values(self, row):
        values = self.session._shown.values(row)
        return [(name, values[name]) for name in self.show or values]

    def _answers(self):
        return self.session.answers()[:MAX_LISTED]

    def _listed(self, answer):
        text = " ".join(value for _, value in self._values(answer["row"]))
        return {
            "row": answer["row"],
            "annotator": visible(answer["annotator"] or ""),
            "label": self._index_of(answer["label"]),
            "text": visible(text[:MAX_CHARACTERS]),
            "picture": next(
                (
                    index
                    for index, (_, value) in enumerate(self._values(answer["row"]))
                    if self.images and self.images.find(value)
                ),
                None,
            ),
        }


def _note(text):
    return {"note": visible(text)}


ACTS = {
    "answer": _Api._answer,
    "skip": _Api._skip,
    "undo": _Api._undo,
    "relabel": _Api._relabel,
    "why": _Api._why,
    "error rate": _Api._error_rate,
    "new label": _Api._add_label,
    "certify": _Api._certify,
    "quit": _Api._quit,
}
