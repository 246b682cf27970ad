"""Helpers that know nothing of the other rooms."""

from ._state import unchanged_on_error

__all__ = ["unchanged_on_error"]
