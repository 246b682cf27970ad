"""Saving a model and how far its stream was read, so that a kill costs nothing.

A file is an archive of arrays, as `numpy.savez` writes them, and holds no program:
``head`` is JSON with the format and what can be checked before a model is made,
``state`` is JSON with the states of the model and of its run (see `utils.to_json`), the
arrays of these are numbered, and ``sha256`` is the checksum of all. One file, because
two cannot be replaced in one step.
"""

import contextlib
import hashlib
import json
import os
import secrets
import stat
import zipfile

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import ConfidenceTreeClassifier
from ..utils import from_json, to_json
from ._lock import Lock
from ._text import UserError

FORMAT = 4
OBJECT = "run"  # the part of the progress that is a state
CHECKSUM = "sha256"  # the member of this name


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
    arrays = []
    run = progress.get(OBJECT)
    state = {"model": to_json(model.__getstate__(), arrays)}
    state[OBJECT] = to_json(run, arrays)
    facts = {name: value for name, value in progress.items() if name != OBJECT}
    members = {"head": _as_json(facts), "state": _as_json(state)}
    members |= {f"array_{place}": array for place, array in enumerate(arrays)}
    members[CHECKSUM] = np.array(_checksum(members))
    np.savez(file, **members)
    file.flush()
    os.fsync(file.fileno())


def _as_json(value):
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _checksum(members):
    """Hash of all members but that of the checksum itself, in their order."""
    made = hashlib.sha256()
    for name, array in members.items():
        if name != CHECKSUM:
            made.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            made.update(np.ascontiguousarray(array).data)
    return made.hexdigest()


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

    `check` is given the progress, but for its state, before a model is made.
    """
    try:
        with open(path, "rb", opener=_open_regular) as file:
            members = _read_members(path, file)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    facts = _checked_facts(path, members)
    if check is not None:
        check(facts)
    try:
        state = json.loads(members["state"].tobytes())
        arrays = [members[f"array_{place}"] for place in range(len(members) - 3)]
        model = ConfidenceTreeClassifier()
        model.__setstate__(from_json(state["model"], arrays))
        check_is_fitted(model)
        run = from_json(state[OBJECT], arrays)
    except Exception as error:  # what somebody has made up fails in nearly any way
        raise UserError(f"{path} cannot be read: {error}") from error
    return model, {**facts, OBJECT: run}


def _open_regular(path, flags):
    file = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise UserError(f"cannot read {path}: it is not a file")
    return file


def _foreign(path):
    return UserError(
        f"{path} is not a model that this version of `skconftree` has saved, or it is "
        "damaged"
    )


def _read_members(path, file):
    """The arrays of the archive, which together are no larger than the file."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
        size = sum(one.file_size for one in entries)
        packed = any(one.compress_type != zipfile.ZIP_STORED for one in entries)
        if packed or size > os.fstat(file.fileno()).st_size:
            raise _foreign(path)
        file.seek(0)
        with np.load(file, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except (OSError, UserError):
        raise
    except Exception as error:  # a damaged archive fails in nearly any way
        raise _foreign(path) from error


def _checked_facts(path, members):
    try:
        facts = json.loads(members["head"].tobytes())
        found, digest = facts["format"], members[CHECKSUM].item()
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _foreign(path) from error
    if found != FORMAT:
        raise UserError(
            f"{path} cannot be resumed: it has format {found!r}, this version "
            f"reads {FORMAT}"
        )
    if _checksum(members) != digest:
        raise UserError(f"{path} is damaged: it is not what was written")
    return facts
