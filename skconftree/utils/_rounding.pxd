# What rounding can make of sums that are equal on paper: this share of them, at most.

cdef extern from *:
    """
    #define SKCONFTREE_ROUNDING 1e-12
    """
    const double ROUNDING "SKCONFTREE_ROUNDING"
