"""Atomic replacement of files."""

import contextlib
import os
import secrets
import stat


def temporary_name(path):
    """Return an unpredictable name for a temporary file in the folder of `path`."""
    return f".{os.path.basename(path)}.{secrets.token_hex(8)}.tmp"


@contextlib.contextmanager
def atomic_write(path, mode="wb", *, temporary=None, **how):
    """Open a file for writing that replaces the file at `path` when the block ends.

    Until then, and after an error or an interrupt, the file at `path` is the old one,
    and no other file remains. The new file is synchronized to disk and has the
    permissions of the old one. If `path` is a link, its target is replaced. A file that
    is not regular, such as a pipe, cannot be replaced and is written to directly.

    `temporary` is the name, without a folder, of the file during the block; `how` are
    arguments of `open`.
    """
    path = os.fspath(path)
    if _is_special(path):
        with open(path, mode, **how) as file:
            yield file
        return
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, temporary or temporary_name(path))
    try:
        with open(temporary, mode, opener=_new, **how) as file:
            yield file
            file.flush()
            _keep_permissions(path, file)
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(folder)


@contextlib.contextmanager
def named_errors(action, path):
    """Let errors of the system name the action and the file, except for a pipe."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"cannot {action} {path}: {error.strerror or error}"
        raise type(error)(message) from error


def write_text(path, text):
    """Write a text file atomically."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))


def _is_special(path):
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _new(path, flags):
    # The process's umask applies to the permissions.
    return os.open(path, flags | os.O_EXCL, 0o666)


def _keep_permissions(path, file):
    try:
        old = os.stat(path)
    except FileNotFoundError:
        return
    # changing the owner requires privileges
    with contextlib.suppress(OSError, AttributeError):
        os.fchown(file.fileno(), old.st_uid, old.st_gid)
    with contextlib.suppress(OSError, AttributeError):
        os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))


def sync_folder(folder):
    # Makes the new name durable; some file systems do not support this.
    with contextlib.suppress(OSError):
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
