"""Input and output files of a command, and the lock of a model."""

import contextlib
import json
import os
import socket
import stat
import sys

from .. import utils
from ._text import UserError, standard_output

# The lock is the kernel's, on a file beside the model: it ends with the process,
# however that ends. The file says who has it, and what a killed process has left
# behind.

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
    """Lock of a model, as a context manager; `scratch` is a file it may leave."""

    def __init__(self, path, scratch):
        self.model = path
        self.path = lock_path(path)
        self.scratch = scratch
        self._file = None

    def __enter__(self):
        if fcntl is not None:
            try:
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


STANDARD = "-"  # input or output
READ = ("model", "data", "test")  # options, by their names
WRITTEN = ("output", "plot", "report", "json", "answers")


def check_files(options, *, saves_model=False):
    """Check before the work that all files can be written; models need regular ones."""
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
