"""Helpers that import no other subpackage."""

from ._codec import (
    NO_DEFAULT,
    VERSION,
    CannotBeRestored,
    StateError,
    VersionedState,
    canonical,
    check_state_parts,
    default_parameters,
    from_json,
    is_array,
    is_count,
    is_missing,
    merge_defaults,
    own_version,
    to_json,
    with_default_parameters,
    with_version,
    without_version,
    written_by,
)
from ._files import atomic_write, temporary_name, write_text
from ._lock import reads_argument
from ._markup import escape
from ._warnings import warn

__all__ = [
    "NO_DEFAULT",
    "VERSION",
    "CannotBeRestored",
    "StateError",
    "VersionedState",
    "atomic_write",
    "canonical",
    "check_state_parts",
    "default_parameters",
    "escape",
    "from_json",
    "is_array",
    "is_count",
    "is_missing",
    "merge_defaults",
    "own_version",
    "reads_argument",
    "temporary_name",
    "to_json",
    "warn",
    "with_default_parameters",
    "with_version",
    "without_version",
    "write_text",
    "written_by",
]
