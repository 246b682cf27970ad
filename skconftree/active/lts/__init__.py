"""Learning To Sample (LTS): selection of rows by expected error and diversity."""

from ._selection import lts_select

__all__ = ["lts_select"]
