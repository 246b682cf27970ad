# A hint that memory will soon be read; it may do nothing.

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define skconftree_prefetch(address) __builtin_prefetch(address)
    #else
    #define skconftree_prefetch(address) ((void) (address))
    #endif
    """
    void prefetch "skconftree_prefetch"(const void* address) nogil
