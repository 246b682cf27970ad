# Where a test sends rows without a value, and how a cut says so.

from skconftree.utils._typedefs cimport intp_t


cdef enum MissingRows:
    NONE            # or on the right, where nothing is to be done
    LEFT
    UNLABELLED


cdef inline intp_t missing_left_bit() noexcept nogil:
    return (<intp_t> 1) << 40
