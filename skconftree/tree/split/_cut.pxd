# Cut: where a test of one attribute lies.
#
# A test is an attribute and a cut. What the place means is the business of the source
# (_source.pxd) or, for sets of categories, of _category_sets.pxd.

from skconftree.utils._typedefs cimport intp_t


cdef struct Cut:
    intp_t place            # -1 = no test
    bint missing_left       # rows without a value go left as well


cdef inline bint precedes(Cut a, Cut b) noexcept nogil:
    # The order of the walks, by which ties are broken: missing values go right first.
    if a.missing_left != b.missing_left:
        return b.missing_left
    return a.place < b.place
