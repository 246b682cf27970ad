"""Model files: a model and its position in a stream, saved atomically.

`progress` is a dict of metadata. In files of ``skconftree stream``, it contains the
number of rows read and, as ``run``, the state of the evaluation, to resume the stream.

A file is an archive of arrays in the format of `numpy.savez` and contains no code.
``head`` is JSON with the format and metadata that are checked before a model is
created. ``state`` is JSON with the states (pickled attributes) of the model and of the
evaluation, see `utils.to_json`. Their arrays are members ``array_0``, ``array_1`` etc.;
``sha256`` is the checksum of all other members.
"""

import hashlib
import json
import os
import stat
import zipfile

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import ConfidenceTreeClassifier, PartiallyLinearTreeClassifier
from ..utils import from_json, to_json
from ._files import atomic_write
from ._text import UserError

FORMAT = 4
RUN = "run"  # key of the state of the evaluation in `progress`
KINDS = {
    kind.__name__: kind
    for kind in (ConfidenceTreeClassifier, PartiallyLinearTreeClassifier)
}
CHECKSUM = "sha256"  # member with the checksum


def save(path, model, progress, scratch=None):
    """Write model and progress atomically; `scratch` names the temporary file."""
    arrays = []
    state = {"model": to_json(model.__getstate__(), arrays)}
    state[RUN] = to_json(progress.get(RUN), arrays)
    metadata = {"format": FORMAT, "model": type(model).__name__, **progress}
    metadata.pop(RUN, None)
    members = {"head": _as_json(metadata), "state": _as_json(state)}
    members |= {f"array_{index}": array for index, array in enumerate(arrays)}
    members[CHECKSUM] = np.array(_checksum(members))
    with atomic_write(path, temporary=scratch) as file:
        np.savez(file, **members)


def _as_json(value):
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _checksum(members):
    """Return the hash of all members, except the checksum, in their order."""
    digest = hashlib.sha256()
    for name, array in members.items():
        if name != CHECKSUM:
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def load(path, check=None):
    """Load a file written by `save`; `check` is first called with the metadata.

    Commands print only the message of a UserError, without a traceback.
    """
    members, metadata = _read(path)
    if check is not None:
        check(metadata)
    try:
        state = json.loads(members["state"].tobytes())
        arrays = [members[f"array_{index}"] for index in range(len(members) - 3)]
        model = KINDS[metadata["model"]]()
        model.__setstate__(from_json(state["model"], arrays))
        check_is_fitted(model)
        run = from_json(state[RUN], arrays)
    except Exception as error:  # an invalid state can fail in many ways
        raise UserError(f"{path} cannot be read: {error}") from error
    return model, {**metadata, RUN: run}


def load_metadata(path):
    """Load only the metadata of a file written by `save`."""
    return _read(path)[1]


def _read(path):
    try:
        with open(path, "rb", opener=_open_regular) as file:
            members = _read_members(path, file)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    return members, _checked_metadata(path, members)


def _open_regular(path, flags):
    file = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise UserError(f"cannot read {path}: it is not a file")
    return file


def _invalid_file(path):
    return UserError(
        f"{path} is not a model that this version of `skconftree` has saved, or it is "
        "corrupt; name another file, or save the model again"
    )


def _read_members(path, file):
    """Return the arrays of the archive, whose total size is limited by the file."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
        size = sum(entry.file_size for entry in entries)
        packed = any(entry.compress_type != zipfile.ZIP_STORED for entry in entries)
        if packed or size > os.fstat(file.fileno()).st_size:
            raise _invalid_file(path)
        file.seek(0)
        with np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, UserError):
        raise
    except Exception as error:  # a corrupt archive can fail in many ways
        raise _invalid_file(path) from error


def _checked_metadata(path, members):
    try:
        metadata = json.loads(members["head"].tobytes())
        version, digest = metadata["format"], members[CHECKSUM].item()
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _invalid_file(path) from error
    if version != FORMAT:
        raise UserError(
            f"{path} cannot be resumed: it has format {version!r}, this version "
            f"reads {FORMAT}"
        )
    if _checksum(members) != digest:
        raise UserError(
            f"{path} is corrupt: its checksum is wrong; use another copy, or save the "
            "model again"
        )
    return metadata
