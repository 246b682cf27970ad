"""A journal: lines that are on the disk before anything else happens."""

import contextlib
import json
import os

try:
    import fcntl
except ImportError:  # Windows, where a journal is not locked
    fcntl = None

KIND = "skconftree labels"
FORMAT = 1
BARE_HEAD = {"journal": KIND, "format": FORMAT}
START = json.dumps({"journal": KIND})[:-1].encode()  # of every journal's first line


class JournalError(ValueError):
    """A file is not the journal of a session: of other rows or settings, or damaged.

    Another file, or the rows and settings of the first time, are the ways out.

    Examples
    --------
    >>> import os, tempfile
    >>> from skconftree.active import LabelingSession
    >>> from skconftree.active.session import JournalError
    >>> with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
    ...     _ = file.write(b"a,b")
    ...     file.flush()
    ...     try:
    ...         LabelingSession.resume(file.name, [[1.0], [2.0]])
    ...     except JournalError as error:
    ...         print(str(error).replace(file.name, "PATH"))
    PATH is not a journal of answers, or has none.
    """


class Journal:
    """A file of JSON lines that is only ever added to, by one process at a time.

    A line is on the disk when `append` returns, and not in the file when it raises. The
    lock is the kernel's, on the file itself: it ends with the process, however that
    ends. A process that is killed while it writes leaves a last line without an end,
    which is dropped when the file is opened again. A forked process shares the lock,
    so only the process that opened the journal may write.

    `head` is the first line. Without it the file must exist, and `head` is None if no
    whole line was found there, until `begin` writes one. `lines` are the others, of
    which the first is line 2 of the file; `note` says what was dropped.
    """

    def __init__(self, path, head=None):
        self.path = os.fspath(path)
        self.head, self.lines, self.note = None, [], None
        self._process = os.getpid()
        flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
        flags |= getattr(os, "O_CLOEXEC", 0) | (0 if head is None else os.O_CREAT)
        self._file = os.open(self.path, flags, 0o666)
        try:
            self._lock()
            found, self._size = self._read()
            if found:
                self.head, *self.lines = found
            elif head is not None:
                self.begin(head)
        except BaseException:
            self.close()
            raise

    def _lock(self):
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlockingIOError(
                f"{self.path} is being written by another process, or by another "
                "session of this one. One at a time may write answers there."
            ) from None
        except OSError:
            pass  # a file system without locks

    def begin(self, head):
        """Write the first line of a journal that has none."""
        self._write(BARE_HEAD | head)
        folder = os.path.dirname(os.path.abspath(self.path))
        with contextlib.suppress(OSError):  # some systems do not open folders
            place = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(place)  # else a crash may take the file's name away
            finally:
                os.close(place)
        (self.head,), self.lines = self.lines, []

    def _read(self):
        # The lines of the file, and how many bytes they are; what is torn is cut off.
        size = os.fstat(self._file).st_size
        content = os.pread(self._file, size, 0) if hasattr(os, "pread") else b""
        while len(content) < size:
            os.lseek(self._file, len(content), os.SEEK_SET)
            more = os.read(self._file, size - len(content))
            if not more:
                break
            content += more
        if content and not content.startswith(START[: len(content)]):
            raise JournalError(f"{self.path} is not a journal of answers.")
        *whole, torn = content.split(b"\n")
        found, last = [], len(whole) - 1
        for place, line in enumerate(whole):
            try:
                found.append(_record(line))
            except ValueError as error:
                if place < last or torn or place == 0:
                    raise JournalError(
                        f"{self.path} is damaged in line {place + 1}: {error}"
                    ) from None
                torn = line
        if found and found[0].get("format") != FORMAT:
            raise JournalError(
                f"{self.path} has format {found[0].get('format')!r}, this version of "
                f"skconftree reads {FORMAT}."
            )
        if found == [BARE_HEAD]:  # an earlier version put it in place of a torn line
            torn, found = whole[0], []
        good = sum(len(line) + 1 for line in whole[: len(found)])
        if good < size:
            os.ftruncate(self._file, good)
            shown = torn[:80].decode("utf-8", "replace")
            which, then = ("last", "is dropped") if found else ("first", "is replaced")
            self.note = (
                f"The {which} line of {self.path} was torn, as when a process is "
                f"killed while it writes, and {then}: {shown!r}"
            )
        return found, good

    def append(self, record):
        """Write a line; it is on the disk afterwards, or not in the file."""
        if self.head is None:
            raise ValueError(f"The journal {self.path} has no first line yet.")
        self._write(record)

    def _write(self, record):
        if self._file is None:
            raise ValueError(f"The journal {self.path} is closed.")
        if os.getpid() != self._process:
            raise BlockingIOError(
                f"{self.path} belongs to the process that opened it, of which this "
                "process is a fork. Give answers there, or open another file here."
            )
        line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
        left = memoryview(line.encode("utf-8"))
        size, n_lines = self._size, len(self.lines)
        try:
            self._size += len(left)
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
            self.lines.append(record)
        except BaseException as error:
            # half a line would be taken for the start of the next one
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size)
            self._size = size
            del self.lines[n_lines:]
            if isinstance(error, OSError):
                raise OSError(
                    f"cannot write {self.path}: {error.strerror or error}. The "
                    f"{n_lines} lines before are safe; this one is not written."
                ) from error
            raise

    def close(self):
        """Give the file up, for another process to write."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def read_head(path):
    """What the first line of a journal says; the file may be in use."""
    with open(path, "rb") as file:
        line = file.readline()
    if not line.endswith(b"\n") or not line.startswith(START):
        raise JournalError(
            f"{os.fspath(path)} is not a journal of answers, or has none."
        )
    return _record(line)


def _record(line):
    record = json.loads(line)
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object.")
    return record
