"""Saving a model and how far its stream was read, so that a kill costs nothing.

A file holds two pickles and a trailer: the model, which `pickle.load` and
`joblib.load` find, behind it the progress, and as JSON what can be checked before
anything is unpickled. One file, because two cannot be replaced in one step.
"""

import contextlib
import hashlib
import json
import os
import pickle
import secrets
import stat

from ._lock import Lock
from ._text import UserError

FORMAT = 3
MAGIC = b"skconftree stream\n"
LENGTH = 8  # bytes in which the length of the JSON is written
MOST_JSON = 2**28
OBJECT = "run"  # the part of the progress that JSON does not have

# All that a model is made of. A pickle that asks for anything else is none of ours.
ROOMS = ("bounds", "drift", "evaluation", "tables", "tree", "utils")
NAMES = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    *(
        (f"numpy.{core}.{module}", name)
        for core in ("core", "_core")
        for module, name in [
            ("multiarray", "_reconstruct"),
            ("multiarray", "scalar"),
            ("numeric", "_frombuffer"),
        ]
    ),
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        parts = module.split(".")
        ours = parts[0] == "skconftree" and len(parts) > 1 and parts[1] in ROOMS
        # a dotted name would lead from a module to whatever that has imported
        if "." in name or not (ours or (module, name) in NAMES):
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return super().find_class(module, name)


class _Hashed:
    """A file that is written, with a hash of what was."""

    def __init__(self, file):
        self._file = file
        self.hash = hashlib.sha256()

    def write(self, data):
        self.hash.update(data)
        return self._file.write(data)


class ModelFile:
    """The file that a run saves its model in, locked in a `with` block."""

    def __init__(self, path):
        check_writable(path)
        self.path = path
        place = os.path.realpath(path)
        self._scratch = scratch_name(place)
        self._lock = Lock(place, self._scratch)

    def __enter__(self):
        self._lock.__enter__()
        return self

    def __exit__(self, *error):
        self._lock.__exit__(*error)

    def exists(self):
        """Whether there is a model to go on with."""
        return os.path.exists(self.path)

    def save(self, model, progress):
        """Write model and progress."""
        save(self.path, model, progress, self._scratch)

    def load(self, check):
        """Read model and progress, see `load`."""
        return load(self.path, check)


def scratch_name(path):
    """Name, which nobody can foresee, of a file in the same folder."""
    return f".{os.path.basename(path)}.{secrets.token_hex(8)}.tmp"


def save(path, model, progress, scratch=None):
    """Write both; the file is the old one or the new one, whatever happens.

    Where `path` is a link, what it leads to is replaced; permissions are kept.
    """
    place = os.path.realpath(path)
    folder = os.path.dirname(place)
    scratch = os.path.join(folder, scratch or scratch_name(place))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        with open(
            scratch, "wb", opener=lambda name, _: os.open(name, flags, 0o666)
        ) as file:
            try:
                _write(file, model, {"format": FORMAT, **progress})
                _keep_permissions(place, file)
                os.replace(scratch, place)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(scratch)
                raise
        _sync_folder(folder)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error


def _write(file, model, progress):
    hashed = _Hashed(file)
    for part in (model, progress):
        pickler = pickle.Pickler(hashed, protocol=5)
        # Without the memo, whose references tell how the parts of the model came to
        # be, the bytes depend on the state only.
        pickler.fast = True
        pickler.dump(part)
    facts = {name: value for name, value in progress.items() if name != OBJECT}
    facts = {"sha256": hashed.hash.hexdigest(), **facts}
    trailer = json.dumps(facts, separators=(",", ":")).encode()
    file.write(trailer + len(trailer).to_bytes(LENGTH) + MAGIC)
    file.flush()
    os.fsync(file.fileno())


def _keep_permissions(path, file):
    try:
        was = os.stat(path)
    except FileNotFoundError:
        return
    # not everybody may give a file away
    with contextlib.suppress(OSError, AttributeError):
        os.fchown(file.fileno(), was.st_uid, was.st_gid)
    with contextlib.suppress(OSError, AttributeError):
        os.fchmod(file.fileno(), stat.S_IMODE(was.st_mode))


def _sync_folder(folder):
    # The new name lasts; some file systems cannot say so.
    with contextlib.suppress(OSError):
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def check_writable(path):
    """Find out before the work whether its result can be saved."""
    if not path:
        raise UserError("--output names no file")
    place = os.path.realpath(path)
    folder = os.path.dirname(place)
    if os.path.isdir(place):
        raise UserError(f"cannot write {path}: it is a folder")
    if os.path.lexists(place) and not os.path.isfile(place):
        raise UserError(f"cannot write {path}: it is not a file")
    if not os.path.isdir(folder):
        raise UserError(f"cannot write {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise UserError(f"cannot write {path}: no permission to write in {folder}")


def load(path, check=None):
    """Read the model and the progress that `save` has written.

    `check` is given the progress, but for its objects, before anything is unpickled.
    """
    try:
        with open(path, "rb", opener=_open_regular) as file:
            facts = _read_facts(path, file)
            if check is not None:
                check(facts)
            file.seek(0)
            try:
                model, progress = _Unpickler(file).load(), _Unpickler(file).load()
                return model, {**progress, **facts}
            except OSError:
                raise
            except Exception as error:  # a hostile pickle raises nearly anything
                raise UserError(f"{path} cannot be read: {error}") from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error


def _open_regular(path, flags):
    file = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise UserError(f"cannot read {path}: it is not a file")
    return file


def _read_facts(path, file):
    """The trailer, if the file is sound and of somebody who may be trusted."""
    found = os.fstat(file.fileno())
    # Unpickling lets who wrote the file do what the user may.
    if hasattr(os, "geteuid") and found.st_uid not in (0, os.geteuid()):
        raise UserError(
            f"{path} belongs to another user (number {found.st_uid}), and a model can "
            "hold any program; if you trust its origin, make a copy of your own"
        )
    foreign = UserError(
        f"{path} is not a model that this version of `skconftree` has saved, or it is "
        "damaged"
    )
    end = found.st_size - len(MAGIC) - LENGTH
    if end < 0:
        raise foreign
    file.seek(end)
    length = int.from_bytes(file.read(LENGTH))
    if file.read() != MAGIC or not 0 < length <= min(end, MOST_JSON):
        raise foreign
    file.seek(end - length)
    try:
        facts = json.loads(file.read(length))
        facts_format, digest = facts["format"], facts.pop("sha256")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise foreign from error
    if facts_format != FORMAT:
        raise UserError(
            f"{path} cannot be resumed: it has format {facts_format!r}, this version "
            f"reads {FORMAT}"
        )
    file.seek(0)
    hashed, left = hashlib.sha256(), end - length
    while left:
        block = file.read(min(left, 2**20))
        if not block:
            raise foreign
        hashed.update(block)
        left -= len(block)
    if hashed.hexdigest() != digest:
        raise UserError(f"{path} is damaged: it is not what was written")
    return facts
