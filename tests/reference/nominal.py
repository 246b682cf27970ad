"""Which tests of a nominal attribute a tree compares, written for reading.

A test is a list of lists of categories, one for each outcome.
"""

import itertools

ENUMERABLE = 10
ITERATIONS = 20
NEAR = 1e-9


def tests_of(counts, *, n_classes, concave, multiway):
    """Candidate tests and how many tests they stand for.

    Parameters
    ----------
    counts : dict of category to list of float
        Class counts, as the criterion sees them, of each category of labeled rows.
    concave : bool
        Whether the criterion alone scores, and is concave.

    Returns
    -------
    tests : list
        In the order in which ties are decided.
    compared : int or None
        Tests compared; None: as many as there are candidates.
    near : bool
        Rounding may have decided an ordering.
    """
    present = sorted(counts)
    if multiway:
        return [[[category] for category in present]], None, False
    if len(present) <= ENUMERABLE and not (concave and n_classes == 2):
        return subsets(present), None, False
    tests, near = [], False
    for order, close in orderings(present, counts, n_classes):
        near |= close
        for length in range(1, len(present)):
            tests.append([order[:length], order[length:]])
    return tests, 2 ** (len(present) - 1) - 1, near


def subsets(present):
    """Every way to divide the categories in two, the last one on the right."""
    tests = []
    for bits in range(1, 2 ** (len(present) - 1)):
        left = [c for place, c in enumerate(present) if bits >> place & 1]
        tests.append([left, [c for c in present if c not in left]])
    return tests


def orderings(present, counts, n_classes):
    """Yield orders of the categories; whether one hangs on rounding."""
    everything = [sum(column) for column in zip(*counts.values(), strict=True)]
    shares = {c: [k / sum(counts[c]) for k in counts[c]] for c in present}
    for label in [1] if n_classes == 2 else range(n_classes):
        if everything[label] > 0 or n_classes == 2:
            yield ordered({c: shares[c][label] for c in present})
    if n_classes > 2:
        yield ordered(principal(present, counts, shares, everything))


def ordered(values):
    """Categories by value, equal ones by category."""
    order = sorted(values, key=lambda c: (values[c], c))
    gaps = [values[b] - values[a] for a, b in itertools.pairwise(order)]
    return order, any(0 < gap < NEAR for gap in gaps)


def principal(present, counts, shares, everything):
    """Project the class shares on their first principal component.

    Power method, a fixed number of steps from the deviation with the most weight.
    """
    total = sum(everything)
    deviation = {
        c: [p - k / total for p, k in zip(shares[c], everything, strict=True)]
        for c in present
    }
    weight = {c: sum(counts[c]) for c in present}

    def dot(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True))

    start, most = None, -1.0
    for c in present:
        square = weight[c] * dot(deviation[c], deviation[c])
        if square > most:
            start, most = c, square
    axis = deviation[start]
    for _ in range(ITERATIONS):
        moved = [0.0] * len(axis)
        for c in present:
            pull = weight[c] * dot(axis, deviation[c])
            moved = [m + pull * d for m, d in zip(moved, deviation[c], strict=True)]
        length = dot(moved, moved) ** 0.5
        if not length > 0:
            break
        axis = [m / length for m in moved]
    return {c: dot(axis, deviation[c]) for c in present}
