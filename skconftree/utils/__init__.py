"""Helpers that import no other subpackage.

A state is the dict of plain values that `__getstate__` returns. `with_version` adds the
version of the package to it, with the key `VERSION`. `written_by` adds that version to
an error about the state, and `check_state_parts` raises such errors. `merge_defaults`
completes settings of an older version; `NO_DEFAULT` marks those without a default.
`load` and `save` read and write a model file with metadata, which `load_metadata` reads
alone. `reads_argument` decorates a function that locks a model while it reads it.
`find_files` lists the files of a path or pattern, and `partition_values` has the values
of columns that names of folders define. `escape` is for text in HTML, and `warn` warns
at the line of the user's code.
"""

from ._codec import (
    NO_DEFAULT,
    VERSION,
    check_state_parts,
    from_json,
    is_missing,
    merge_defaults,
    to_json,
    with_version,
    written_by,
)
from ._files import atomic_write
from ._lock import reads_argument
from ._markup import escape
from ._model_file import load, load_metadata, load_model, save, save_model
from ._sources import find_files, partition_values
from ._warnings import warn

__all__ = [
    "NO_DEFAULT",
    "VERSION",
    "atomic_write",
    "check_state_parts",
    "escape",
    "find_files",
    "from_json",
    "is_missing",
    "load",
    "load_metadata",
    "load_model",
    "merge_defaults",
    "partition_values",
    "reads_argument",
    "save",
    "save_model",
    "to_json",
    "warn",
    "with_version",
    "written_by",
]
