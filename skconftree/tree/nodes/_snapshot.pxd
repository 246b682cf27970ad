# Snapshot: what the arrays of a tree were at one moment, and what was built from them.
#
# Any number of threads may look at one: what a look builds it puts in its place when it
# is whole, in a dictionary. Two that build the same thing at once build equal ones.

from skconftree.utils._typedefs cimport intp_t


cdef class Snapshot:
    cdef intp_t version         # of the counts
    cdef intp_t node_count
    cdef intp_t n_edits         # of tests
    cdef object class_weight
    cdef double shrinkage
    cdef object criterion       # gives impurities; None if `arrays` has them
    cdef dict arrays
    cdef dict structural        # built from them, good until the next split
    cdef dict counted           # good until the next row

    cdef object array(self, str name)
    cdef object _found(self, str name)
    cdef dict all_arrays(self)
    cdef object of_structure(self, object make)
    cdef object of_counts(self, object make)
    cdef object values(self)
