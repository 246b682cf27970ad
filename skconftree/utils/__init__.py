"""Helpers that import no other subpackage."""

from ._codec import merge_defaults

__all__ = ["merge_defaults"]
