# Readers-writer lock of a model: either many threads read the model, or one thread, the
# learner, changes it.
#
# The lock is held by a thread and is reentrant for reading. A waiting call releases the
# GIL. Calls are served in order of arrival, so that neither readers nor a learner can
# starve the others. A thread that waits for itself would deadlock: therefore a signal
# handler, callback or finalizer that interrupts a reading call of the same thread may
# read as well, and gets an error if it would have to wait.
#
# If a process was forked while another thread used the model, the child does not have
# the thread that would release the lock. In the child, the lock refuses all calls, and
# nothing waits.
#
# A guard (_guard.pxd), a mutex held for a few instructions, keeps the fields of the lock
# consistent while they are read and updated.
# Acquiring a free lock costs a few comparisons.

cimport cython

from skconftree.utils._guard cimport Guard
from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport intp_t


cdef extern from "pythread.h":
    ctypedef void* Gate "PyThread_type_lock"     # a lock of the operating system


cdef struct Hold:               # a thread that holds the lock for reading
    unsigned long thread
    intp_t depth                # number of nested calls of the thread


cdef struct Waiter:             # a call that waits
    unsigned long thread
    bint learning               # whether it waits to learn, not to read
    bint granted                # whether it has the lock by now
    Gate gate                   # released by another thread when the call may continue
    Waiter* next


@cython.final
cdef class ModelLock:
    cdef Guard guard            # protects all fields below
    cdef unsigned long learner  # thread that holds the lock exclusively; 0 = none
    cdef intp_t n_readers
    cdef intp_t capacity        # of `readers`
    cdef Blocks blocks          # memory of the fields below
    cdef Hold* readers          # [capacity] of which `n_readers` are used
    cdef Waiter* first          # head of the queue
    cdef intp_t n_waiting
    cdef intp_t n_forks         # number of forks before this process, at the last use

    cdef int read(self) except -1       # acquire the lock, shared with other readers
    cdef int learn(self) except -1      # acquire it exclusively
    cdef void leave(self) noexcept      # release what this thread acquired last
    # Whether waiting for the lock would be an error in this thread.
    cdef bint is_refused(self) noexcept
    cdef bint _was_in_use_at_fork(self) noexcept
    cdef int _check_process(self) except -1
    cdef int _enter(self, bint learning) except -1
    cdef int _wait(self, unsigned long thread, bint learning) except -1
    cdef int _acquire_gate(self, Gate gate) except -1
    cdef void _end_wait(self, Waiter* waiter) noexcept
    # The guard must be held when these are called. _try_enter() returns whether the call may
    # continue, must wait or is an error; _admit() lets waiting calls continue.
    cdef int _try_enter(self, unsigned long thread, bint learning) noexcept
    cdef Hold* _hold_of(self, unsigned long thread) noexcept
    cdef bint _is_waiting(self, unsigned long thread) noexcept
    cdef bint _reserve(self, intp_t capacity) noexcept
    cdef void _add(self, unsigned long thread) noexcept
    cdef void _leave(self, unsigned long thread) noexcept
    cdef Waiter* _enqueue(self, unsigned long thread, bint learning, Gate gate) noexcept
    cdef void _dequeue(self, Waiter* waiter) noexcept
    cdef void _admit(self) noexcept


# Base class of estimators and models, which have a lock.
cdef class Lockable:
    cdef readonly ModelLock _lock
