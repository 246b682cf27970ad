"""Base class of sources whose rows are divided; the contract is written in the .pxd."""

from skconftree.tree.split._source cimport lacks


cdef class RowSource(Source):
    """Rows that a builder divides among the children of a node."""

    def check(self):
        """Raise ``NotImplementedError`` if a required method is missing."""
        super().check()
        if <void*> self.divide == <void*> RowSource.divide:
            lacks(self, "divide")

    cdef void enter(
        self, intp_t node, const Segment* segments, intp_t n_segments
    ) noexcept nogil:
        pass

    cdef void divide(
        self, const NodeRecord* record, const Split* split, const intp_t* starts
    ) noexcept nogil:
        pass

    cdef int keep(self, const NodeRecord* record) except -1 nogil:
        with gil:
            lacks(self, "keep")

    cdef void put_back(self) noexcept nogil:
        pass

    cdef Passing passes(
        self, intp_t feature, intp_t outcome, Segment* segment
    ) noexcept nogil:
        return WHOLE
