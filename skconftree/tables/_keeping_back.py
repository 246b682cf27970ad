"""Rows that are kept back: which, by what they hold."""

import numpy as np
from scipy.special import betaincc, ndtri

from ._content_order import ContentOrder

LARGE = 100.0  # standard deviation from which a binomial distribution is a normal one


def keep_back(X, y, weight, share):
    """Divide the weights of a table; gives what is kept back of each.

    Every row is kept back with this probability, by a hash of what it holds: neither
    the order of the rows matters, nor which others there are. Of equal rows the number
    that is kept back has the binomial distribution, so that they are independent of
    those that are used. It depends on their number alone: weight k equals k rows. Equal
    rows whose weights are not whole numbers count as the next whole number of rows, and
    each of them is divided.
    """
    order = ContentOrder(X, y.astype(np.uint16), weight)
    whole = weight is None or bool((weight == np.rint(weight)).all())
    if whole:
        sums = sizes = np.diff(order.ends, prepend=0.0)
    else:  # differences of long sums are not what the group alone has
        sums = np.add.reduceat(weight[order.places], order.starts)
        # a sum that exceeds a whole number by rounding is that number
        sizes = np.ceil(sums * (1.0 - 1e-12))
    # 53 bits: a number in [0, 1)
    draws = (order.hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53
    numbers = _binomial_quantiles(draws, sizes, share)
    groups = order.group_of_rows()
    if not whole:
        return weight * (numbers / sizes)[groups]
    # rows of a group are kept back one after the other until the number is reached
    held = np.ones(len(y)) if weight is None else weight
    before = np.empty(len(y))
    before[order.places] = np.cumsum(held[order.places]) - held[order.places]
    before -= (order.ends - sums)[groups]
    return np.clip(numbers[groups] - before, 0.0, held)


def _binomial_quantiles(draws, sizes, share):
    # The smallest numbers whose distribution function exceeds the draws.
    numbers = np.where(draws < 1.0 - share, 0.0, 1.0)
    spread = np.sqrt(sizes * (share * (1.0 - share)))
    large = np.flatnonzero(spread > LARGE)
    found = np.rint(sizes[large] * share + spread[large] * ndtri(draws[large]))
    numbers[large] = np.clip(found, 0.0, sizes[large])
    many = np.flatnonzero((sizes > 1.0) & (spread <= LARGE))
    n, drawn = sizes[many], draws[many]
    low, high = np.full(len(many), -1.0), n.copy()  # of it: not above, above
    for _ in range(int(n.max(initial=1.0)).bit_length()):
        middle = np.clip(np.floor((low + high) / 2.0), 0.0, n - 1.0)
        exceeds = betaincc(middle + 1.0, n - middle, share) > drawn
        high = np.where(exceeds, middle, high)
        low = np.where(exceeds, low, middle)
    numbers[many] = high
    return numbers
