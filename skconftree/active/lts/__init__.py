"""Learning to sample: the choice of rows alone."""

from ._groups import lts_select

__all__ = ["lts_select"]
