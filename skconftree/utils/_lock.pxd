# The lock of a model: many threads read it, or one thread changes it.
#
# Who holds it is a thread. A call that has to wait gives up the GIL, and calls are
# served in the order in which they came, so that neither readers nor a learner can
# keep the others out. A thread that waited for itself would wait forever: a signal
# handler, a callback or a finalizer that interrupts a call of the same thread may
# read what that call reads, and gets an error where it would have to wait.
#
# A process that was forked while a call used the model has none of the threads that
# would end the call: there the lock refuses every call, and nothing waits.
#
# A guard keeps the fields of the lock consistent, for as long as it takes to look and
# to write: a free lock costs a few comparisons.

cimport cython

from skconftree.utils._guard cimport Guard
from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport intp_t


cdef extern from "pythread.h":
    ctypedef void* Gate "PyThread_type_lock"


cdef struct Hold:
    unsigned long thread
    intp_t depth                # calls of the thread, one within the other


cdef struct Waiter:             # a call that waits
    unsigned long thread
    bint learning
    bint granted
    Gate gate                   # closed until it is granted
    Waiter* behind


@cython.final
cdef class ModelLock:
    cdef Guard guard            # of all that follows
    cdef unsigned long learner  # thread that learns; 0 = none
    cdef intp_t n_readers
    cdef intp_t room
    cdef Blocks blocks
    cdef Hold* readers          # [room]
    cdef Waiter* first          # of the queue
    cdef intp_t n_waiting
    cdef intp_t n_forks         # before the process that used it last

    cdef int read(self) except -1
    cdef int learn(self) except -1
    cdef void leave(self) noexcept
    cdef bint is_refused(self) noexcept
    cdef bint _was_abandoned(self) noexcept
    cdef int _check_process(self) except -1
    cdef int _enter(self, bint learning) except -1
    cdef int _wait(self, unsigned long me, bint learning) except -1
    cdef int _pass_through(self, Gate gate) except -1
    cdef void _end_wait(self, Waiter* waiter) noexcept
    # What follows is for whoever has taken the guard.
    cdef int _ask(self, unsigned long me, bint learning) noexcept
    cdef Hold* _hold_of(self, unsigned long thread) noexcept
    cdef bint _is_waiting(self, unsigned long thread) noexcept
    cdef bint _reserve(self, intp_t room) noexcept
    cdef void _add(self, unsigned long thread) noexcept
    cdef void _leave(self, unsigned long me) noexcept
    cdef Waiter* _line_up(self, unsigned long me, bint learning, Gate gate) noexcept
    cdef void _step_out(self, Waiter* waiter) noexcept
    cdef void _admit(self) noexcept


cdef class Lockable:
    cdef readonly ModelLock _lock
