"""Bootstrap samples of a forest: random numbers are hashes of seed, tree and draw.

`mix` hashes a 64-bit integer (key), and `unit` maps a hash to [0, 1).
"""

import numpy as np

cimport cython

from skconftree.utils._draws cimport mix, unit
from skconftree.utils._typedefs cimport float64_t, intp_t, uint32_t, uint64_t

# 2^64 over the golden ratio: multiples of it are spread evenly over the 64-bit integers
cdef uint64_t GOLDEN = <uint64_t> 0x9E3779B97F4A7C15


def tree_seed(uint64_t seed, uint64_t tree):
    """Return the seed of one tree of a forest, below 2**31 - 1."""
    return <intp_t> (unit(mix(mix(seed) ^ mix(tree + 1))) * 2147483647.0)


@cython.overflowcheck(False)     # keys are computed modulo 2^64
def draw_counts(
    const float64_t[::1] ends not None, intp_t n_draws, uint64_t seed, uint64_t tree
):
    """Count how often each group of equal rows is drawn into the sample of a tree.

    `ends` has the cumulative weights of the groups. Draw j of tree t is a random number
    below the total weight, a hash of (seed, t, j); it selects the group into whose interval
    of the cumulative weights it falls. `n_draws` is below 2**31.
    """
    cdef intp_t n = ends.shape[0]
    counts = np.zeros(n, dtype=np.uint32)
    cdef uint32_t[::1] out = counts
    cdef float64_t total = ends[n - 1]
    # Lookup table of the search: a draw in interval k of n equal intervals falls into
    # group first_group[k] or a later one.
    cdef uint32_t[::1] first_group = np.empty(n, dtype=np.uint32)
    cdef float64_t step = total / n
    cdef uint64_t key = mix(mix(seed) + mix(~tree))
    cdef float64_t share, position
    cdef intp_t j, g
    with nogil:
        g = 0
        for j in range(n):
            while g > 0 and ends[g - 1] > j * step:
                g -= 1
            while g < n - 1 and ends[g] <= j * step:
                g += 1
            first_group[j] = <uint32_t> g
        for j in range(n_draws):
            share = unit(mix(key + <uint64_t> j * GOLDEN))
            position = share * total
            g = first_group[<intp_t> (share * n)]
            while g > 0 and ends[g - 1] > position:
                g -= 1
            while g < n - 1 and ends[g] <= position:
                g += 1
            out[g] += 1
    return counts
