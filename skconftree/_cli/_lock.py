"""One process at a time works on a model.

The lock is the kernel's, on a file beside the model: it ends with the process, however
that ends. The file says who has it, and what a killed process has left behind.
"""

import contextlib
import json
import os
import socket

from ._text import UserError

try:
    import fcntl
except ImportError:  # Windows, where a model is not locked
    fcntl = None

PROGRAM = "skconftree stream"
MOST_BYTES = 10_000  # of the file


def lock_path(model):
    """Path of the lock of a model, which lies beside it."""
    return f"{os.path.realpath(model)}.lock"


class Lock:
    """Lock of a model, a context manager.

    The path of the model is without links; `scratch` names the file that the process
    may leave in the same folder.
    """

    def __init__(self, path, scratch):
        self.model = path
        self.path = lock_path(path)
        self.scratch = scratch
        self._file = None

    def __enter__(self):
        if fcntl is not None:
            try:
                self._acquire()
            except OSError as error:
                raise UserError(
                    f"cannot write {self.path}: {error.strerror or error}"
                ) from error
        return self

    def __exit__(self, *error):
        if self._file is not None:
            # as long as it is locked, so that nobody else's file goes
            with contextlib.suppress(OSError):
                os.unlink(self.path)
            os.close(self._file)
            self._file = None

    def _acquire(self):
        while self._file is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
            file = os.open(self.path, flags, 0o666)
            try:
                self._lock(file)
                # Who had it may have removed the file in the meantime.
                with contextlib.suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(file), os.stat(self.path)):
                        self._take_over(file)
                        self._file, file = file, None
            finally:
                if file is not None:
                    os.close(file)

    def _lock(self, file):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = self._read(file)
            who = "another process"
            if owner:
                who = f"process {owner.get('pid')} on {owner.get('host')}"
            raise UserError(
                f"{self.model} is being written by {who} (it has locked {self.path})"
            ) from None
        except OSError:
            pass  # a file system without locks; its files are replaced whole as well

    def _take_over(self, file):
        before = self._read(file)
        scratch = str(before.get("scratch", ""))
        if scratch.startswith(f".{os.path.basename(self.model)}."):
            folder = os.path.dirname(self.model)
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, os.path.basename(scratch)))
        owner = {
            "program": PROGRAM,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "scratch": self.scratch,
        }
        os.ftruncate(file, 0)
        os.pwrite(file, json.dumps(owner).encode() + b"\n", 0)

    def _read(self, file):
        """What the process before has written; nothing if it had no time to."""
        content = os.pread(file, MOST_BYTES, 0)
        if not content:
            return {}
        try:
            owner = json.loads(content)
            if owner["program"] == PROGRAM:
                return owner
        except (ValueError, TypeError, KeyError):
            pass
        raise UserError(
            f"{self.path} is not a lock of `{PROGRAM}`; if it is not needed, remove it"
        )
