# A mutex for a few fields that threads share, held for some instructions.
#
# Where Python has a global lock, whoever runs Python holds that: a guard is nothing
# then, and costs nothing. So a guard is taken by threads that hold the global lock, or
# would if there were one, and nothing that could give it up may run until it is left:
# no Python code, no wait, no object made or let go. A field of this type needs no
# beginning: zeros are a guard that is free.

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    typedef PyMutex skconftree_guard;
    #define skconftree_take(guard) PyMutex_Lock(guard)
    #define skconftree_leave(guard) PyMutex_Unlock(guard)
    #else
    typedef char skconftree_guard;
    #define skconftree_take(guard) ((void) (guard))
    #define skconftree_leave(guard) ((void) (guard))
    #endif
    """
    ctypedef struct Guard "skconftree_guard":
        pass

    void take_guard "skconftree_take"(Guard* guard) noexcept
    void leave_guard "skconftree_leave"(Guard* guard) noexcept
