"""What the readers of tables share.

A reader goes through a table once, from the first row to the last, and never holds all
of it. It has `header` (names of all columns), `features` (those besides the target),
`n_rows` (rows read so far), `fingerprint` (a checksum of them), and the methods of
`CsvStream`.
"""

from typing import NamedTuple

import numpy as np

from ._common import UserError

NUMBERS_ONLY = "text columns are not supported yet, so drop or encode it"


class Piece(NamedTuple):
    """Consecutive rows; if `problem` is not None, the row after them is at fault."""

    first: int  # number of the first row; the first of the table is row 1
    X: np.ndarray  # (n_rows, n_features), float32
    labels: list[str]
    fingerprints: list[int]  # of the table up to and with each row
    problem: UserError | None


def check_header(path, header, target):
    """Check the names of the columns, and give those of the features."""
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise UserError(f"{path} has more than one column named {twice[0]!r}")
    if target not in header:
        raise UserError(
            f"there is no column {target!r} in {path}; its columns are: "
            + ", ".join(header)
        )
    if len(header) == 1:
        raise UserError(f"{path} has no column besides the target {target!r}")
    return [name for name in header if name != target]
