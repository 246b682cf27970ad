"""Helpers that import no other subpackage."""

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
from ._warnings import warn

__all__ = [
    "NO_DEFAULT",
    "VERSION",
    "atomic_write",
    "check_state_parts",
    "escape",
    "from_json",
    "is_missing",
    "merge_defaults",
    "reads_argument",
    "to_json",
    "warn",
    "with_version",
    "written_by",
]
