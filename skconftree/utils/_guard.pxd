# A guard is a mutex for a few fields that threads share, held for a few instructions.
#
# With a global interpreter lock (GIL), a guard does nothing and has no cost, because
# the thread that runs Python code holds the GIL. A guard may therefore only be taken
# with the GIL held, or in a build without GIL. Until it is left, nothing may run that
# could release the GIL: no Python code, no waiting, no creation or deletion of an
# object. A guard needs no initialization: zeros are a free guard.

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
