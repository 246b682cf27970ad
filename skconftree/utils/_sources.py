"""Files of a source: a path, a folder, a pattern or an address of remote storage.

The folders directly above a file that are named ``column=value`` are columns of all its
rows (Hive partitions). The library fsspec reads remote storage.
"""

import glob
import os
import re
from pathlib import PurePath
from typing import Any, NamedTuple
from urllib.parse import unquote

# Two letters at least: C:/ is a folder of Windows.
ADDRESS = re.compile(r"[A-Za-z][\w+.-]+(::|://)")
MISSING = "__HIVE_DEFAULT_PARTITION__"  # value of a partition
PARQUET = (".parquet", ".pq")  # endings of names


class DataFile(NamedTuple):
    """A file; `filesystem` is that of fsspec, or None for a local file."""

    path: str
    filesystem: Any = None

    def __str__(self):
        if self.filesystem is None:
            return self.path
        return self.filesystem.unstrip_protocol(self.path)

    def open(self):
        """Return the path of a local file, or an open file."""
        if self.filesystem is None:
            return self.path
        return self.filesystem.open(self.path, "rb")

    def stamp(self):
        """Return values, such as size and time, that differ if the file has changed."""
        if self.filesystem is None:
            stats = os.stat(self.path)
            return stats.st_size, stats.st_mtime_ns
        info = self.filesystem.info(self.path)
        changing = ("size", "mtime", "LastModified", "ETag", "created", "md5Hash")
        return tuple(str(info.get(name)) for name in changing)

    @property
    def partition(self):
        """Columns that the names of folders define; the values are strings."""
        pairs = []
        for folder in reversed(PurePath(self.path).parts[:-1]):
            name, equals, value = folder.partition("=")
            if not (name and equals):
                break
            pairs.append((unquote(name), None if value == MISSING else unquote(value)))
        return dict(reversed(pairs))


def is_address(source):
    """Whether a source is an address such as s3://bucket/folder."""
    return isinstance(source, str) and ADDRESS.match(source) is not None


def find_files(source, endings=PARQUET):
    """Return the files of a source in the order of their names.

    Of a folder, these are the files with one of the `endings` in it and in its
    subfolders, without names that begin with ``.`` or ``_``.
    """
    if is_address(source):
        return _remote_files(source, endings)
    path = os.fspath(source)
    if os.path.isdir(path):
        names = _within(path, os.walk(path), endings)
        return [DataFile(name) for name in sorted(names, key=PurePath)]
    if os.path.exists(path) or not glob.has_magic(path):
        return [DataFile(path)]
    names = []
    for name in glob.glob(path, recursive=True):
        is_folder = os.path.isdir(name)
        names += _within(name, os.walk(name), endings) if is_folder else [name]
    return [DataFile(name) for name in _matching_files(path, names)]


def _remote_files(source, endings):
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ImportError(
            f"Reading {source} needs fsspec: pip install fsspec"
        ) from None
    try:
        filesystem, path = url_to_fs(source)
        matches = [path]
        if glob.has_magic(path) and not filesystem.exists(path):
            matches = filesystem.glob(path)
        names = []
        for name in matches:
            is_folder = filesystem.isdir(name)
            names += (
                _within(name, filesystem.walk(name), endings) if is_folder else [name]
            )
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # that of a storage
        raise ValueError(f"{source} cannot be opened: {error}") from error
    return [DataFile(name, filesystem) for name in _matching_files(path, names)]


def _within(folder, walk, endings):
    # Return the files below a folder.
    names = []
    for where, folders, files in walk:
        folders[:] = filter(_is_data, folders)
        names += [
            os.path.join(where, name)
            for name in files
            if _is_data(name) and name.endswith(endings)
        ]
    if not names:
        kinds = " or ".join(f"*{ending}" for ending in endings)
        raise ValueError(f"The folder {folder} contains no {kinds} file.")
    return names


def _is_data(name):
    return not name.startswith((".", "_")) or (name[0] == "_" and "=" in name)


def _matching_files(pattern, names):
    # Sort what a pattern matches; its wildcards do not match hidden files or folders.
    parts = PurePath(pattern).parts
    literal = next(
        (n for n, part in enumerate(parts) if glob.has_magic(part)), len(parts)
    )
    paths = {PurePath(name): name for name in names}
    matches = sorted(p for p in paths if all(map(_is_data, p.parts[literal:])))
    if not matches:
        raise ValueError(f"No file matches {pattern}.")
    return [paths[path] for path in matches]


def partition_values(files):
    """Return the values of each partition column of files, as numbers if all are."""
    partitions = [file.partition for file in files]
    names = list(partitions[0])
    for file, partition in zip(files, partitions, strict=True):
        if list(partition) != names:
            raise ValueError(
                "All files must be in folders of the same columns. Got "
                f"{names} for {files[0]} and {list(partition)} for {file}."
            )
    columns = {}
    for name in names:
        texts = [partition[name] for partition in partitions]
        known = [text for text in texts if text is not None]
        if known and all(re.fullmatch(r"[-+]?\d{1,18}", text) for text in known):
            texts = [None if text is None else int(text) for text in texts]
        columns[name] = texts
    return columns
