"""The lock of a model: many threads read it, or one thread changes it."""

import os
import time
from _thread import allocate_lock
from functools import wraps
from inspect import signature

from cpython.exc cimport PyErr_CheckSignals

from skconftree.utils._memory cimport give_all_back, longer_array


cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident() noexcept


cdef object ABSENT = object()       # what no caller gives


cdef class Ticket:
    pass


cdef class ModelLock:
    """A lock that many threads hold to read, or one to learn.

    In a `with` statement it is held to read.

    It is no part of the state of what it guards: pickled or copied it is another
    lock, which is free.
    """

    def __cinit__(self):
        self.queue = []
        self.n_forks = n_forks

    def __dealloc__(self):
        give_all_back(&self.blocks)

    def __reduce__(self):
        return ModelLock, ()

    def __enter__(self):
        self.read()

    def __exit__(self, kind, error, traceback):
        self.leave()

    cdef int read(self) except -1:
        # Hold the lock beside others that read.
        cdef unsigned long me = PyThread_get_thread_ident()
        cdef intp_t i
        if self.n_forks != n_forks:
            self._leave_behind()
        if self.learner == me:
            self._refuse(me)
        for i in range(self.n_readers):
            if self.readers[i].thread == me:
                self.readers[i].depth += 1
                return 0
        if self.learner != 0 or len(self.queue) > 0:
            return self._wait(me, False)
        if self.n_readers == self.room:
            self._reserve(self.n_readers + 1)
        self._add(me)
        return 0

    cdef int learn(self) except -1:
        # Hold the lock alone.
        cdef unsigned long me = PyThread_get_thread_ident()
        cdef intp_t i
        if self.n_forks != n_forks:
            self._leave_behind()
        if self.learner == me:
            self._refuse(me)
        for i in range(self.n_readers):
            if self.readers[i].thread == me:
                self._refuse(me)
        if self.learner != 0 or self.n_readers > 0 or len(self.queue) > 0:
            return self._wait(me, True)
        self.learner = me
        return 0

    cdef void leave(self) noexcept:
        # Give up what this thread took last.
        cdef unsigned long me = PyThread_get_thread_ident()
        cdef intp_t i
        if self.n_forks != n_forks:
            self._leave_behind()
        if self.learner == me:
            self.learner = 0
        else:
            for i in range(self.n_readers):
                if self.readers[i].thread == me:
                    self.readers[i].depth -= 1
                    if self.readers[i].depth > 0:
                        return
                    self.n_readers -= 1
                    self.readers[i] = self.readers[self.n_readers]
                    break
        if len(self.queue) > 0:
            self._admit()

    cdef bint is_mine(self) noexcept:
        # Whether this thread holds the lock or waits for it: it cannot wait for itself.
        cdef unsigned long me = PyThread_get_thread_ident()
        cdef intp_t i
        cdef Ticket ticket
        if self.learner == me:
            return True
        for i in range(self.n_readers):
            if self.readers[i].thread == me:
                return True
        for ticket in self.queue:
            if ticket.thread == me:
                return True
        return False

    cdef int _refuse(self, unsigned long me) except -1:
        if self.learner == me:
            raise RuntimeError(
                "This model is learning in this very thread: a signal handler or "
                "callback that interrupts the learning can neither read the model nor "
                "let it learn. Do so when the call that learns has returned, or in "
                "another thread, which waits for it."
            )
        raise RuntimeError(
            "This model is used, or waited for, in this very thread: a signal handler "
            "or callback that interrupts such a call cannot wait for the model. Use "
            "it when that call has returned, or in another thread."
        )

    cdef int _reserve(self, intp_t room) except -1:
        cdef void* larger
        if room > self.room:
            larger = longer_array(&self.blocks, self.readers, 2 * room, sizeof(Hold))
            if larger == NULL:
                raise MemoryError("No memory for another thread that reads.")
            self.readers = <Hold*> larger
            self.room = 2 * room
        return 0

    cdef void _add(self, unsigned long thread) noexcept:
        # There is room.
        self.readers[self.n_readers].thread = thread
        self.readers[self.n_readers].depth = 1
        self.n_readers += 1

    cdef int _wait(self, unsigned long me, bint learning) except -1:
        cdef Ticket ticket
        for ticket in self.queue:
            if ticket.thread == me:
                self._refuse(me)
        ticket = Ticket()
        ticket.thread = me
        ticket.learning = learning
        ticket.gate = allocate_lock()
        ticket.gate.acquire()
        self._reserve(self.n_readers + len(self.queue) + 1)
        self.queue.append(ticket)
        self._admit()
        try:
            ticket.gate.acquire()   # signal handlers run, and may raise
        except BaseException:
            if ticket.granted:
                self.leave()
            else:
                self.queue.remove(ticket)
                self._admit()
            raise
        return 0

    cdef void _admit(self) noexcept:
        # Whose turn it is. There is room for all who want to read.
        cdef Ticket first
        while len(self.queue) > 0 and self.learner == 0:
            first = self.queue[0]
            if not first.learning:
                self._add(first.thread)
            elif self.n_readers == 0:
                self.learner = first.thread
            else:
                return
            del self.queue[0]
            first.granted = True
            first.gate.release()

    cdef void _leave_behind(self) noexcept:
        # In a forked process there is one thread: nobody else holds or waits.
        cdef intp_t i
        cdef intp_t kept = 0
        cdef Ticket ticket
        self.n_forks = n_forks
        if self.learner != survivor:
            self.learner = 0
        for i in range(self.n_readers):
            if self.readers[i].thread == survivor:
                self.readers[kept] = self.readers[i]
                kept += 1
        self.n_readers = kept
        self.queue = [ticket for ticket in self.queue if ticket.thread == survivor]
        self._admit()


cdef class Lockable:
    """Mixin of an estimator that has a lock, outside its attributes."""

    def __cinit__(self):
        self._lock = ModelLock()


def share_lock(Lockable part not None, Lockable owner not None):
    """Give a part of a model, or what shows it, its lock, before others see it."""
    part._lock = owner._lock


def reads(method):
    """Decorate a method of a `Lockable` that reads the model.

    A call waits while another thread learns. Calls run beside each other, and one may
    be made within another.
    """
    # Many arguments cost more than the lock. Python can run a signal handler between
    # any two lines of its own, but not between taking the lock and the `try` here.
    if list(signature(method).parameters) == ["self", "X"]:
        @wraps(method)
        def reading(Lockable self not None, X=ABSENT, *more, **unknown):
            if X is ABSENT or more or unknown:
                # the error is the method's own, which has a name that users know
                if X is not ABSENT:
                    more = (X, *more)
                return method(self, *more, **unknown)
            self._lock.read()
            try:
                return method(self, X)
            finally:
                self._lock.leave()
    else:
        @wraps(method)
        def reading(Lockable self not None, *args, **kwargs):
            self._lock.read()
            try:
                return method(self, *args, **kwargs)
            finally:
                self._lock.leave()
    return reading


def learns(method):
    """Decorate a method of a `Lockable` that changes the model.

    A call waits while another thread reads or learns.
    """
    @wraps(method)
    def learning(Lockable self not None, *args, **kwargs):
        self._lock.learn()
        try:
            return method(self, *args, **kwargs)
        finally:
            self._lock.leave()
    return learning


cdef class paused:
    """While the block runs, others may read and learn beside the thread that learns.

    The model has to be whole there.
    """

    cdef ModelLock lock

    def __cinit__(self, Lockable learner not None):
        self.lock = learner._lock

    def __enter__(self):
        self.lock.leave()

    def __exit__(self, kind, error, traceback):
        self.lock.learn()


# -- forks ------------------------------------------------------------------------

cdef intp_t n_forks = 0             # between the first process and this one
cdef unsigned long survivor = 0     # the thread that the last of them left
cdef intp_t n_forking = 0           # threads that are about to fork
cdef intp_t n_running = 0           # threads within a row
cdef double PATIENCE = 1e-3         # seconds between two looks


cdef int begin_rows() except -1:
    # From here to `end_rows` the model may be in the middle of a row.
    global n_running
    while n_forking > 0:
        time.sleep(PATIENCE)
    n_running += 1
    return 0


cdef int between_rows() except -1:
    # Where the model is whole: signal handlers and forks may come.
    global n_running
    n_running -= 1
    try:
        PyErr_CheckSignals()
        while n_forking > 0:
            time.sleep(PATIENCE)
    finally:
        n_running += 1
    return 0


cdef void end_rows() noexcept:
    global n_running
    n_running -= 1


def _before_fork():
    global n_forking
    n_forking += 1
    while n_running > 0:
        time.sleep(PATIENCE)


def _after_fork_in_parent():
    global n_forking
    n_forking -= 1


def _after_fork_in_child():
    global n_forks, n_forking, n_running, survivor
    n_forks += 1
    n_forking = 0
    n_running = 0
    survivor = PyThread_get_thread_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
