"""Helpers that import no other subpackage."""

from ._codec import (
    NO_DEFAULT,
    VERSION,
    CannotBeRestored,
    StateError,
    VersionedState,
    canonical,
    completed,
    default_parameters,
    from_json,
    is_array,
    is_count,
    is_missing,
    own_version,
    refuse_damage,
    to_json,
    with_default_parameters,
    with_version,
    without_version,
    written_by,
)
from ._files import replacing, temporary_name, write_text
from ._lock import reads_argument
from ._markup import escape
from ._warnings import warn

__all__ = [
    "NO_DEFAULT",
    "VERSION",
    "CannotBeRestored",
    "StateError",
    "VersionedState",
    "canonical",
    "completed",
    "default_parameters",
    "escape",
    "from_json",
    "is_array",
    "is_count",
    "is_missing",
    "own_version",
    "reads_argument",
    "refuse_damage",
    "replacing",
    "temporary_name",
    "to_json",
    "warn",
    "with_default_parameters",
    "with_version",
    "without_version",
    "write_text",
    "written_by",
]
