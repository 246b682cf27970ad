"""Arrays that lie in memory, or in a file that is mapped there."""

import mmap
import os
import tempfile

import numpy as np

CACHE_LINE = 64  # bytes
AT_ONCE = 1 << 20  # bytes written at a time where a system has no better way


def make_arrays(lengths, dtypes, folder):
    """Make arrays in one piece of memory, or in one file of a folder.

    The file has no name and takes its whole size at once, so that a full disk is found
    out now. Memory and file end with the last array.
    """
    sizes = [n * np.dtype(one).itemsize for n, one in zip(lengths, dtypes, strict=True)]
    padded = [-(-size // CACHE_LINE) * CACHE_LINE for size in sizes]
    total = max(sum(padded), 1)
    piece = np.empty(total, np.uint8) if folder is None else _mapped(total, folder)
    arrays, start = [], 0
    for n, dtype, size in zip(lengths, dtypes, padded, strict=True):
        arrays.append(np.frombuffer(piece, dtype, n, start))
        start += size
    return arrays


def _mapped(n_bytes, folder):
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            _take(file, n_bytes)
            return mmap.mmap(file.fileno(), n_bytes)
    except OSError as error:
        raise OSError(
            error.errno,
            f"temp_folder has no file of {n_bytes} bytes for the codes of the table: "
            f"{error.strerror}",
            os.fspath(folder),
        ) from error


def _take(file, n_bytes):
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, n_bytes)
        return
    for start in range(0, n_bytes, AT_ONCE):
        file.write(bytes(min(AT_ONCE, n_bytes - start)))
    file.flush()
