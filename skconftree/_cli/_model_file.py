"""Saving a model and how far its stream was read, so that a kill costs nothing.

A file is an archive of arrays, as `numpy.savez` writes them, and holds no program:
``head`` is JSON with the format and what can be checked before a model is made,
``state`` is JSON with the states of the model and of its run (see `utils.to_json`), the
arrays of these are numbered, and ``sha256`` is the checksum of all. One file, because
two cannot be replaced in one step.
"""

import hashlib
import json
import os
import stat
import zipfile

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import ConfidenceTreeClassifier
from ..utils import from_json, to_json
from ._files import atomic_write
from ._text import UserError

FORMAT = 4
OBJECT = "run"  # the part of the progress that is a state
CHECKSUM = "sha256"  # the member of this name


def save(path, model, progress, scratch=None):
    """Write model and progress atomically; `scratch` names the temporary file."""
    arrays = []
    state = {"model": to_json(model.__getstate__(), arrays)}
    state[OBJECT] = to_json(progress.get(OBJECT), arrays)
    facts = {"format": FORMAT, **progress}
    facts.pop(OBJECT, None)
    members = {"head": _as_json(facts), "state": _as_json(state)}
    members |= {f"array_{place}": array for place, array in enumerate(arrays)}
    members[CHECKSUM] = np.array(_checksum(members))
    with atomic_write(path, temporary=scratch) as file:
        np.savez(file, **members)


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


def load(path, check=None):
    """Read what `save` wrote; `check` gets the progress before a model is made."""
    try:
        with open(path, "rb", opener=_open_regular) as file:
            members = _read_members(path, file)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    facts = _checked_metadata(path, members)
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


def _checked_metadata(path, members):
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
