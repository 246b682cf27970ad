"""Helpers that know nothing of the other rooms."""

from ._canonical import canonical
from ._damage import are_classes, is_array, is_count, refuse_damage
from ._unchanged import unchanged_on_error

__all__ = [
    "are_classes",
    "canonical",
    "is_array",
    "is_count",
    "refuse_damage",
    "unchanged_on_error",
]
