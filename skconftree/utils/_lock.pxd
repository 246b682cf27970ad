# The lock of a model: many threads read it, or one thread changes it.
#
# Who holds it is a thread. A call that has to wait gives up the GIL, and calls are
# served in the order in which they came, so that neither readers nor a learner can
# keep the others out. A thread that waited for itself would wait forever: a signal
# handler, a callback or a finalizer that interrupts a call of the same thread may
# read what that call reads, and gets an error where it would have to wait.
#
# The GIL guards the fields of the lock: a free lock costs a few comparisons, and
# nothing here gives the GIL up but a wait.

from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport intp_t


cdef struct Hold:
    unsigned long thread
    intp_t depth                # calls of the thread, one within the other


cdef class Ticket:              # of a call that waits
    cdef unsigned long thread
    cdef bint learning
    cdef bint granted
    cdef object gate


cdef class ModelLock:
    cdef unsigned long learner  # thread that learns; 0 = none
    cdef intp_t n_readers
    cdef intp_t room
    cdef Blocks blocks
    cdef Hold* readers          # [room]
    cdef list queue             # of tickets
    cdef intp_t n_forks         # that it has heard of

    cdef int read(self) except -1
    cdef int learn(self) except -1
    cdef void leave(self) noexcept
    cdef bint is_mine(self) noexcept
    cdef int _refuse(self, unsigned long me) except -1
    cdef int _reserve(self, intp_t room) except -1
    cdef void _add(self, unsigned long thread) noexcept
    cdef int _wait(self, unsigned long me, bint learning) except -1
    cdef void _admit(self) noexcept
    cdef void _leave_behind(self) noexcept


cdef class Lockable:
    cdef readonly ModelLock _lock


# Learning changes a model in place. It says when, so that a fork can wait until all
# models are whole: between two rows that a Python signal handler may come between.
cdef int begin_rows() except -1
cdef int between_rows() except -1
cdef void end_rows() noexcept
