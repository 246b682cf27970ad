"""What a node costs as a leaf; the contract is written in the .pxd."""


cdef class LeafCost:
    """What a node costs as a leaf."""

    def check(self):
        """Raise ``NotImplementedError`` if the required method is missing."""
        if <void*> self.of == <void*> LeafCost.of:
            raise NotImplementedError(f"{type(self).__name__} does not define of.")

    cdef float64_t of(self, const float64_t* counts, intp_t n_classes) noexcept nogil:
        return 0.0
