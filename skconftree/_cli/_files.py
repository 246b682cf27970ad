"""Files that a command reads and writes: none is written over another one."""

import contextlib
import json
import os
import stat
import sys

from skconftree import utils

from ._lock import lock_path
from ._text import UserError, standard_output

STANDARD = "-"  # input or output
READ = ("model", "data", "test")  # options, by their names
WRITTEN = ("output", "plot", "report", "json", "answers")


def check_files(options, *, saves_model=False):
    """Find out before the work whether all files can be written, each to its own place.

    `saves_model`: the output is a model, which takes a regular file.
    """
    taken = {}
    for option in READ:
        path = getattr(options, option, None)
        if path is not None:
            name = "standard input" if path == STANDARD else path
            taken[_identity(path)] = f"would replace the input {name}"
    for option, path in _outputs(options):
        _check_writable(path, option, regular=saves_model and option == "--output")
        found = _identity(path)
        if found is not None and found in taken:
            raise UserError(f"{option} {path} {taken[found]}; name another file")
        taken[found] = f"is the file of {option}, too"
    if saves_model and options.output is not None and hasattr(options, "resume"):
        found = _identity(lock_path(options.output))
        if found in taken:
            raise UserError(
                f"{lock_path(options.output)} locks the model of --output; give no "
                "other file this name"
            )


def _outputs(options):
    for option in WRITTEN:
        path = getattr(options, option, None)
        if path is not None and not (option == "json" and path == STANDARD):
            yield f"--{option}", path


def _identity(path):
    """What all names of a file have in common; None: nothing of it can be replaced."""
    try:
        found = os.fstat(sys.stdin.fileno()) if path == STANDARD else os.stat(path)
    except (OSError, ValueError, AttributeError):  # no such file, or no standard input
        return None if path == STANDARD else os.path.normcase(os.path.realpath(path))
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _check_writable(path, option, *, regular):
    if not path:
        raise UserError(f"{option} names no file")
    is_special = os.path.exists(path) and not os.path.isfile(path)
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise UserError(f"cannot write {path}: it is a folder")
    if is_special and not regular:
        return
    if is_special:
        raise UserError(f"cannot write {path}: it is not a file")
    if not os.path.isdir(folder):
        raise UserError(f"cannot write {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise UserError(f"cannot write {path}: no permission to write in {folder}")


@contextlib.contextmanager
def replacing(path, mode="wb", **how):
    """Open a file that replaces another when all is written, see `utils.replacing`."""
    try:
        with utils.replacing(path, mode, **how) as file:
            yield file
    except BrokenPipeError:  # of a pipe that the path names
        raise
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error


def write_text(path, text):
    """Write a text file."""
    with replacing(path) as file:
        file.write(text.encode("utf-8"))


def write_json(path, report):
    """Write figures as JSON."""
    written = json.dumps(report, indent=1, allow_nan=False) + "\n"
    if path == STANDARD:
        with standard_output() as file:
            file.write(written)
        return
    write_text(path, written)
