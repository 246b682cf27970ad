"""The server of the page: who may ask, and what is sent."""

import base64
import hashlib
import json
import re
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources

HOST = "127.0.0.1"
MOST_BYTES = 4096  # of a request's content
PATIENCE = 20.0  # seconds that a connection may say nothing
JSON = "application/json"
# What is no page may do nothing at all, wherever it is shown.
SHUT = "default-src 'none'; frame-ancestors 'none'; sandbox"


class Refused(Exception):
    """A request that changes nothing, and why."""

    def __init__(self, status, why):
        super().__init__(why)
        self.status = status


class Server(ThreadingHTTPServer):
    """Serves one desk on this machine, to those who know the token.

    `desk` has `state()`, `picture(row, place)` and `act(said)`, which raise Refused,
    and `sent(said)`, which is called when the reply to an act is on its way.
    """

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
            self._check_host()
            found = find(self._asked_for())
        except Refused as error:
            found = _error(error.status, error)
        except TimeoutError:
            raise
        except Exception as error:  # a full disk, a classifier that fails
            found = _error(HTTPStatus.INTERNAL_SERVER_ERROR, error)
        self._send(*found)

    def _check_host(self):
        # A name that an attacker makes mean this machine is another host.
        if self._only("Host") not in self.server.hosts:
            raise Refused(HTTPStatus.FORBIDDEN, "Another host was meant.")

    def _asked_for(self):
        _, token, *path = self.path.split("/", 2) if "/" in self.path else ("", "")
        # compares in a time that tells nothing
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
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "How long is it?")
        if int(size) > MOST_BYTES:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "That is too long.")
        try:
            said = json.loads(self.rfile.read(int(size)))
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            raise Refused(HTTPStatus.BAD_REQUEST, "That is no JSON object.")
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
        """Reply to what is no request, or has a method that does not exist."""
        self.close_connection = True
        self._send(*_error(code, message or HTTPStatus(code).phrase))

    def log_message(self, format, *args):
        """Say nothing: the terminal is the user's."""


def _json(status, told):
    content = json.dumps(told, ensure_ascii=False, allow_nan=False)
    return status, content.encode("utf-8", "replace"), JSON


def _error(status, why):
    return _json(status, {"error": str(why)})
