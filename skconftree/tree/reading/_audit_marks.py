"""What an audit says of the splits that a text or a page shows."""

from typing import NamedTuple


class Marks(NamedTuple):
    """Verdict and grounds of each audited node, and lines that explain them."""

    of: dict
    legend: list

    def lines(self, node):
        """Say it of one node, in one line or none."""
        if node not in self.of:
            return []
        verdict, grounds = self.of[node]
        return [f"audit: {verdict} ({grounds})"]


def read_marks(estimator, audit):
    """Marks of a tree's nodes; none without an audit."""
    if audit is None:
        return Marks({}, [])
    if not (hasattr(audit, "marks") and hasattr(audit, "legend")):
        raise TypeError(
            "audit must be what skconftree.inspection.audit_splits gives, or None. Got "
            f"{audit!r} instead."
        )
    return Marks(audit.marks(estimator), audit.legend)
