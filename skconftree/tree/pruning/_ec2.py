"""Tests that label noise may explain."""

from ...bounds import EC2Bound, ec2_confidence
from ._base import Strength
from ._unsupported import UnsupportedTests


class EC2Pruning(UnsupportedTests):
    """A test stays if EC2's confidence reaches the one asked for (paper D).

    The noise, and what is to be beaten, are those of the tree's bound, if it is EC2's.
    """

    strength = Strength(0.5, 0.0, 1.0, "[]")

    def stops(self, tables, depth, rows):
        noise = rows.bound if isinstance(rows.bound, EC2Bound) else EC2Bound()
        sure = ec2_confidence(
            tables,
            depth,
            noise.noise,
            error_outcomes=noise.error_outcomes,
            margin=noise.margin,
            against=noise.against,
        )
        return sure < self.confidence
