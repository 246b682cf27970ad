"""Learning to sample: the choice of rows alone."""

from ._selection import lts_select

__all__ = ["lts_select"]
