# Workers: the threads of one growth. Each has a splitter, with kernels and scratch of its
# own, whose source looks at the arrays of the rows that all share.
#
# In a large node they share out the columns: SharedSplitter lets them scan the features,
# SharedSource divide them. What a scan finds of a feature depends on nothing that was
# scanned before it, and features are compared in their order, so that the tree is the
# one that a thread alone would grow. Where it does depend on that, scans are not shared:
# features that are drawn are as many as vary; evidence is summed up in an order; the
# floors of interval bounds leave out tests that are worse than one met before.
#
# Subtrees (_subtrees.pxd) lets them grow what lies below smaller nodes.

from skconftree.tree.batch._table_source cimport TableSource
from skconftree.tree.split._node cimport NodeRecord
from skconftree.tree.split._selection cimport Best
from skconftree.tree.split._splitter cimport Splitter
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef struct FoundTest:
    intp_t n_tests          # emitted; 0 = the feature is constant in the node
    Best best


cdef class Workers:
    cdef readonly object team
    cdef readonly intp_t n_workers
    cdef intp_t worth_sharing       # values of a node
    cdef list splitters             # [n_workers]
    cdef Arena arena
    cdef bint failed                # what they last did is not done
    cdef object failure             # why

    # The node whose columns are shared out.
    cdef NodeRecord* record
    cdef const float64_t* counts
    cdef FoundTest* found           # [n_features] by place in record.features
    cdef intp_t split_feature
    cdef intp_t n_others            # parts that are no columns
    cdef intp_t n_parts             # of the columns
    cdef intp_t n_nodes             # that have been scanned,
    cdef intp_t* entered            # [n_workers] and the number of the last one entered

    cdef bint are_worth_it(self, const NodeRecord* record) noexcept nogil
    # Fill `found`, or divide the columns, whose sides are known, and perhaps the rows;
    # False if something has failed.
    cdef bint scan(
        self, NodeRecord* record, const float64_t* counts
    ) noexcept nogil
    cdef bint divide(
        self, const NodeRecord* record, intp_t feature, bint by_rows
    ) noexcept nogil
    cdef bint _run(self, str part, intp_t n_others) noexcept with gil
    cdef intp_t _first(self, intp_t part) noexcept nogil
    cdef int check(self) except -1 nogil


cdef class SharedSplitter(Splitter):
    cdef Workers workers
    cdef bint shares


cdef class SharedSource(TableSource):
    cdef Workers workers
