"""Saving a model and how far its stream was read, so that a kill costs nothing.

A file holds two pickles: the model, which `pickle.load` and `joblib.load` find, and
behind it the progress. One file, because two cannot be replaced in one step.
"""

import os
import pickle

from ._common import UserError

FORMAT = 2


def save(path, model, progress):
    """Write both; the file is the old one or the new one, whatever happens."""
    scratch = f"{path}.tmp"
    try:
        with open(scratch, "wb") as file:
            for part in (model, {"format": FORMAT, **progress}):
                pickler = pickle.Pickler(file, protocol=5)
                # Without the memo, whose references tell how the parts of the model
                # came to be, the bytes depend on the state only.
                pickler.fast = True
                pickler.dump(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error


def check_writable(path):
    """Find out before the work whether its result can be saved."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise UserError(f"cannot write {path}: it is a folder")
    if not os.path.isdir(folder):
        raise UserError(f"cannot write {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise UserError(f"cannot write {path}: no permission to write in {folder}")


def load(path):
    """Read what `save` has written.

    Returns
    -------
    model : object
    progress : dict
    """
    try:
        with open(path, "rb") as file:
            model, progress = pickle.load(file), pickle.load(file)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # bytes that are no pickle raise nearly anything
        raise UserError(
            f"{path} was not saved by `skconftree stream`, or is damaged: {error}"
        ) from error
    found = progress.get("format") if isinstance(progress, dict) else None
    if found != FORMAT:
        raise UserError(
            f"{path} cannot be resumed: it has format {found!r}, this version reads "
            f"{FORMAT}"
        )
    return model, progress
