"""Helpers that know nothing of the other rooms."""

from ._canonical import canonical
from ._damage import are_classes, is_array, is_count, refuse_damage
from ._labels import (
    check_classes,
    check_labels,
    class_indices,
    encode_labels,
    exact_labels,
    find_labels,
    unique_classes,
    warn_of_floats,
)
from ._missing_labels import is_missing, split_labels
from ._unchanged import unchanged_on_error

__all__ = [
    "are_classes",
    "canonical",
    "check_classes",
    "check_labels",
    "class_indices",
    "encode_labels",
    "exact_labels",
    "find_labels",
    "is_array",
    "is_count",
    "is_missing",
    "refuse_damage",
    "split_labels",
    "unchanged_on_error",
    "unique_classes",
    "warn_of_floats",
]
