"""Input and output files of a command, and the lock file of a model."""

import contextlib
import glob
import json
import os
import secrets
import socket
import stat
import sys

from .. import utils
from ._sources import STANDARD, files_of
from ._text import UserError, standard_output

try:
    import fcntl
except ImportError:  # Windows, where models are not locked
    fcntl = None

PROGRAM = "skconftree stream"
MAX_LOCK_BYTES = 1000  # bytes read from a lock file


def lock_path(model):
    """Return the path of the lock file of a model, in the same folder."""
    return f"{os.path.realpath(model)}.lock"


@contextlib.contextmanager
def locked(model):
    """Keep other processes from writing a model; yield the name of a temporary file.

    The kernel locks a file in the folder of the model, which contains the number of the
    process, and releases it when the process ends for any reason. The owner of the lock
    removes temporary files of killed processes. The name differs in each run, because
    some file systems do not support locks.
    """
    folder, name = os.path.split(os.path.realpath(model))
    scratch = f".{name}.{secrets.token_hex(8)}.part"
    if fcntl is None:
        yield scratch
        return
    path = lock_path(model)
    try:
        file, is_locked = _lock(path, model)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        left = f".{glob.escape(name)}.{'[0-9a-f]' * 16}.part"
        for other in glob.glob(left, root_dir=folder) if is_locked else ():
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, other))
        yield scratch
    finally:
        # while it is locked, so that the file of another process is not removed
        with contextlib.suppress(OSError):
            os.unlink(path)
        os.close(file)


def _lock(path, model):
    # Return an open file and whether it is locked.
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        file = os.open(path, flags, 0o666)
        try:
            owner = os.pread(file, MAX_LOCK_BYTES, 0).decode(errors="replace")
            if owner and not owner.startswith(PROGRAM):
                raise UserError(
                    f"{path} is not a lock file of `{PROGRAM}`; if it is not needed, "
                    "remove it"
                )
            is_locked = True
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                who = owner.removeprefix(f"{PROGRAM}, ").strip() or "another process"
                raise UserError(
                    f"{model} is being written by {who} (it has locked {path})"
                ) from None
            except OSError:
                is_locked = False  # a file system without locks
            # The previous owner may have removed the file in the meantime.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), os.stat(path)):
                    who = f"process {os.getpid()} on {socket.gethostname()}"
                    os.ftruncate(file, 0)
                    os.pwrite(file, f"{PROGRAM}, {who}".encode(), 0)
                    return file, is_locked
        except BaseException:
            os.close(file)
            raise
        os.close(file)


# Options whose files are read, and those whose files are written.
READ = ("model", "data", "test")
WRITTEN = ("output", "plot", "report", "json", "answers", "predictions")


def check_files(options, *, saves_model=False, read=READ, written=WRITTEN):
    """Check in advance that all files can be written. Models need regular files.

    `read` and `written` are the names of the options whose files are read or written.
    """
    used = {}
    for option in read:
        path = getattr(options, option, None)
        if path is not None:
            name = "standard input" if path == STANDARD else path
            for file in [path] if path == STANDARD else map(str, files_of(path)):
                used[_identity(file)] = f"would replace the input {name}"
    for option in written:
        path = getattr(options, option, None)
        if path is None or (option == "json" and path == STANDARD):
            continue
        option = f"--{option}"
        is_model = option == "--model" or (saves_model and option == "--output")
        _check_writable(path, option, regular=is_model)
        identity = _identity(path)
        if identity is not None and identity in used:
            raise UserError(f"{option} {path} {used[identity]}; name another file")
        used[identity] = f"is the file of {option}, too"
    if saves_model and options.output is not None and hasattr(options, "resume"):
        identity = _identity(lock_path(options.output))
        if identity in used:
            raise UserError(
                f"{lock_path(options.output)} locks the model of --output; give the "
                "other file another name"
            )


def _identity(path):
    """Return an identifier of a file that does not depend on its name.

    None means that writing cannot replace it.
    """
    try:
        status = os.fstat(sys.stdin.fileno()) if path == STANDARD else os.stat(path)
    except (OSError, ValueError, AttributeError):  # no such file, or no standard input
        return None if path == STANDARD else os.path.normcase(os.path.realpath(path))
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _check_writable(path, option, *, regular):
    if not path:
        raise UserError(f"{option} names no file; pass its path")
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
def atomic_write(path, mode="wb", **how):
    """Call `utils.atomic_write`; raise UserError if it cannot write the file."""
    try:
        with utils.atomic_write(path, mode, **how) as file:
            yield file
    except BrokenPipeError:  # the path is a pipe
        raise
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error


def write_text(path, text):
    """Write a text file."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))


def write_json(path, report):
    """Write a report as JSON to a file or to standard output."""
    text = json.dumps(report, indent=1, allow_nan=False) + "\n"
    if path == STANDARD:
        with standard_output() as file:
            file.write(text)
        return
    write_text(path, text)
