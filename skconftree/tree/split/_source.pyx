"""Base class of the sources of a node's rows; the contract is written in the .pxd."""

from libc.math cimport NAN


cdef int lacks(object made, str method) except -1:
    raise NotImplementedError(f"{type(made).__name__} does not define {method}.")


cdef class Source:
    """Rows of a node, asked about one attribute at a time."""

    def __init__(self, ExaminedNode node not None):
        self.node = node
        self.longest_walk = ANY_LENGTH

    def check(self):
        """Raise ``NotImplementedError`` if a required method is missing."""
        if <void*> self.walk == <void*> Source.walk:
            lacks(self, "walk")
        if <void*> self.count_values == <void*> Source.count_values:
            lacks(self, "count_values")
        if <void*> self.everything == <void*> Source.everything:
            lacks(self, "everything")
        if <void*> self.draw == <void*> Source.draw:
            lacks(self, "draw")
        if <void*> self.threshold == <void*> Source.threshold:
            lacks(self, "threshold")
        if <void*> self.count_sides == <void*> Source.count_sides:
            lacks(self, "count_sides")
        if <void*> self.count_categories == <void*> Source.count_categories:
            lacks(self, "count_categories")

    cdef void begin(self) noexcept nogil:
        pass

    cdef void announce(self, const int32_t* features, intp_t n) noexcept nogil:
        pass

    cdef float64_t weight_without_repeats(self) noexcept nogil:
        return self.node.n

    cdef bint count_values(
        self, intp_t feature, ValueCounts* values
    ) noexcept nogil:
        return False

    cdef intp_t walk(self, intp_t feature, Scan scan) noexcept nogil:
        return 0

    cdef intp_t sketch(self, intp_t feature, float32_t* left) noexcept nogil:
        return -1

    cdef intp_t everything(self, intp_t feature) noexcept nogil:
        return 0

    cdef intp_t draw(
        self, intp_t feature, float64_t u, float64_t* threshold
    ) noexcept nogil:
        return 0

    cdef float64_t threshold(self, intp_t feature, intp_t place) noexcept nogil:
        return NAN

    cdef bint count_sides(
        self, intp_t feature, intp_t place, Children* children, ValueCounts* values
    ) noexcept nogil:
        return False

    cdef intp_t count_categories(
        self, intp_t feature, float64_t* counts
    ) noexcept nogil:
        return 0

    cdef void count_branches(self, intp_t feature, Children* children) noexcept nogil:
        pass
