"""Rows until a bound splits on a test that separates two balanced classes.

Two equal halves whose class shares mirror each other, fractions of rows included: the
fewest rows with which the bound splits.

    python benchmarks first_split
"""

from common import options as command

from skconftree.bounds import CredibleBound

SHARES = (1.0, 0.9, 0.8, 0.7)
DELTAS = (0.1, 0.01)
LARGEST = 2000


def first_split(bound, share):
    """Return the fewest rows, an even number, with which the bound splits."""
    kernel = bound.kernel(None, 2)
    for half in range(1, LARGEST // 2):
        k = share * half
        if kernel.evaluate([[k, half - k], [half - k, k]]).split:
            return 2 * half
    return "-"


def main(argv=None):
    """Show the table."""
    options = command.parser(__doc__).parse_args(argv)
    tables = command.tables("first_split", options)
    rows = []
    for share in SHARES:
        low, high = round(100 * (1 - share)), round(100 * share)
        cells = [f"{high}/{low}, {low}/{high}"]
        rows.append([*cells, *(first_split(CredibleBound(d), share) for d in DELTAS)])
    header = ["class shares in the halves", *(f"`delta={d:g}`" for d in DELTAS)]
    tables.show("first-split-credible", header, rows)
