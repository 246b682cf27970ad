"""Files that are replaced in one step."""

import contextlib
import os
import secrets
import stat


def temporary_name(path):
    """Name, which nobody can foresee, of a temporary file in the folder of another."""
    return f".{os.path.basename(path)}.{secrets.token_hex(8)}.tmp"


@contextlib.contextmanager
def atomic_write(path, mode="wb", *, temporary=None, **how):
    """Open a file to write that replaces another one when the `with` block ends.

    Until then, and after an error or an interrupt, the file at `path` is the old one,
    and there is no other. The new one is on the disk afterwards, with the permissions
    of the old one. If `path` is a link, the file that it leads to is replaced. What is
    not a regular file, such as a pipe, cannot be replaced and is written to.

    `temporary` is the name, without a folder, of the file until then; `how` are
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


def write_text(path, text):
    """Write a text file in one step."""
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
        was = os.stat(path)
    except FileNotFoundError:
        return
    # not everybody may give a file away
    with contextlib.suppress(OSError, AttributeError):
        os.fchown(file.fileno(), was.st_uid, was.st_gid)
    with contextlib.suppress(OSError, AttributeError):
        os.fchmod(file.fileno(), stat.S_IMODE(was.st_mode))


def sync_folder(folder):
    # The new name lasts; some file systems cannot say so.
    with contextlib.suppress(OSError):
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
