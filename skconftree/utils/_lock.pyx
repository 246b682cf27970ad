"""Readers-writer lock of a model; `_lock.pxd` describes it.

The writer is called the learner. A guard (`_guard.pxd`) is a mutex that protects the fields
of a lock for a few instructions. A gate is a lock of the operating system on which a call
waits; another thread releases it when the call may continue. A hold is a thread that reads.
"""

import os
from functools import wraps
from inspect import signature

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memset

from skconftree.utils._guard cimport leave_guard, take_guard
from skconftree.utils._memory cimport (
    release_all, release, resized_array, new_array,     # of a list of allocated blocks
)


cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident() noexcept
    Gate PyThread_allocate_lock() noexcept
    void PyThread_free_lock(Gate gate) noexcept
    void PyThread_release_lock(Gate gate) noexcept
    int PyThread_acquire_lock(Gate gate, int waits) noexcept
    int PyThread_acquire_lock_timed(
        Gate gate, long long microseconds, int can_be_interrupted
    ) noexcept nogil
    int PY_LOCK_ACQUIRED


cdef object ABSENT = object()       # default of an argument that was not passed

cdef enum:          # outcomes of an attempt to acquire the lock
    ENTERED
    MUST_WAIT
    REFUSED
    NO_MEMORY


@cython.final
cdef class ModelLock:
    """Readers-writer lock: held by many threads to read, or by one to learn (write).

    A `with` statement holds it for reading. It is not part of the state of the object
    that it guards: a pickle or a copy contains a new lock that is free.
    """

    def __cinit__(self):
        self.n_forks = n_forks

    def __dealloc__(self):
        release_all(&self.blocks)

    def __reduce__(self):
        return ModelLock, ()

    def __enter__(self):
        self.read()

    def __exit__(self, kind, error, traceback):
        self.leave()

    cdef int read(self) except -1:
        # Acquire the lock, shared with other readers.
        return self._enter(False)

    cdef int learn(self) except -1:
        # Acquire the lock exclusively.
        return self._enter(True)

    cdef void leave(self) noexcept:
        # Release what this thread acquired last.
        cdef unsigned long thread = PyThread_get_thread_ident()
        if self._was_in_use_at_fork():
            return
        take_guard(&self.guard)
        self._leave(thread)
        leave_guard(&self.guard)

    cdef bint is_refused(self) noexcept:
        # Whether waiting for the lock would be an error in this thread.
        cdef unsigned long thread = PyThread_get_thread_ident()
        cdef bint is_held
        if self._was_in_use_at_fork():
            return True
        take_guard(&self.guard)
        is_held = (
            self.learner == thread
            or self._hold_of(thread) != NULL
            or self._is_waiting(thread)
        )
        leave_guard(&self.guard)
        return is_held

    cdef bint _was_in_use_at_fork(self) noexcept:
        # Whether a thread used the model when this process was forked. Its call only
        # continues in the parent: here, the fields remain as they are, and the lock
        # refuses all calls permanently.
        cdef bint in_use
        if self.n_forks == n_forks:
            return False
        take_guard(&forking)    # this process may have several threads by now
        in_use = self.learner != 0 or self.n_readers > 0 or self.first != NULL
        if self.n_forks == n_forks:
            in_use = False
        elif not in_use:
            memset(&self.guard, 0, sizeof(Guard))   # a thread may have held it
            self.n_forks = n_forks
        leave_guard(&forking)
        return in_use

    cdef int _check_process(self) except -1:
        if self._was_in_use_at_fork():
            raise RuntimeError(
                "This model cannot be used in this process: a call of it was running "
                "when the process was forked from another one. Load the model from a "
                "file, or fit a clone of it."
            )
        return 0

    cdef int _enter(self, bint learning) except -1:
        cdef unsigned long thread = PyThread_get_thread_ident()
        cdef int outcome
        cdef bint is_learner
        self._check_process()
        take_guard(&self.guard)
        outcome = self._try_enter(thread, learning)
        is_learner = self.learner == thread
        leave_guard(&self.guard)
        if outcome == ENTERED:
            return 0
        if outcome == MUST_WAIT:
            return self._wait(thread, learning)
        if outcome == NO_MEMORY:
            raise MemoryError("There is not enough memory to read from another thread.")
        if is_learner:
            raise RuntimeError(
                "This model is learning in this very thread: a signal handler or "
                "callback that interrupts the learning cannot use the model. Use it "
                "after the call that learns has returned, or in another thread, which "
                "waits for that call."
            )
        raise RuntimeError(
            "This model is used, or waited for, in this very thread: a signal handler "
            "or callback that interrupts such a call cannot wait for the model. Use it "
            "after that call has returned, or in another thread."
        )

    cdef int _wait(self, unsigned long thread, bint learning) except -1:
        # No Python code has run since `_try_enter` returned MUST_WAIT.
        cdef Gate gate = PyThread_allocate_lock()
        cdef Waiter* waiter = NULL
        if gate != NULL:
            PyThread_acquire_lock(gate, 0)
            take_guard(&self.guard)
            waiter = self._enqueue(thread, learning, gate)
            self._admit()
            leave_guard(&self.guard)
        if waiter == NULL:
            if gate != NULL:
                PyThread_free_lock(gate)
            raise MemoryError("There is not enough memory to wait for this model.")
        try:
            self._acquire_gate(gate)    # signal handlers run here and may raise
        except BaseException:
            if self._was_in_use_at_fork():   # a handler forked: leave the fields unchanged
                raise
            take_guard(&self.guard)
            if waiter.granted:
                self._leave(thread)
            else:
                self._dequeue(waiter)
                self._admit()
            leave_guard(&self.guard)
            self._end_wait(waiter)
            raise
        self._end_wait(waiter)
        return 0

    cdef int _acquire_gate(self, Gate gate) except -1:
        # Wait until another thread releases the gate.
        cdef int outcome
        while True:
            with nogil:
                outcome = PyThread_acquire_lock_timed(gate, -1, 1)
            if outcome == PY_LOCK_ACQUIRED:
                return 0
            PyErr_CheckSignals()
            self._check_process()

    cdef void _end_wait(self, Waiter* waiter) noexcept:
        # The thread that released the gate held the guard and uses neither any longer.
        cdef Gate gate = waiter.gate
        take_guard(&self.guard)
        release(&self.blocks, waiter)
        leave_guard(&self.guard)
        PyThread_free_lock(gate)

    cdef int _try_enter(self, unsigned long thread, bint learning) noexcept:
        cdef Hold* hold = self._hold_of(thread)
        if self.learner == thread or learning and hold != NULL:
            return REFUSED
        if hold != NULL:
            hold.depth += 1     # nested calls
            return ENTERED
        if (
            self.learner != 0 or self.n_waiting > 0 or learning and self.n_readers > 0
        ):
            return REFUSED if self._is_waiting(thread) else MUST_WAIT
        if learning:
            self.learner = thread
        elif self._reserve(self.n_readers + 1):
            self._add(thread)
        else:
            return NO_MEMORY
        return ENTERED

    cdef Hold* _hold_of(self, unsigned long thread) noexcept:
        cdef intp_t i
        for i in range(self.n_readers):
            if self.readers[i].thread == thread:
                return &self.readers[i]
        return NULL

    cdef bint _is_waiting(self, unsigned long thread) noexcept:
        cdef const Waiter* waiter = self.first
        while waiter != NULL:
            if waiter.thread == thread:
                return True
            waiter = waiter.next
        return False

    cdef bint _reserve(self, intp_t capacity) noexcept:
        cdef void* larger
        if capacity > self.capacity:
            larger = resized_array(
                &self.blocks, self.readers, 2 * capacity, sizeof(Hold)
            )
            if larger == NULL:
                return False
            self.readers = <Hold*> larger
            self.capacity = 2 * capacity
        return True

    cdef void _add(self, unsigned long thread) noexcept:
        # The capacity must suffice.
        self.readers[self.n_readers].thread = thread
        self.readers[self.n_readers].depth = 1
        self.n_readers += 1

    cdef void _leave(self, unsigned long thread) noexcept:
        cdef Hold* hold
        if self.learner == thread:
            self.learner = 0
        else:
            hold = self._hold_of(thread)
            if hold != NULL:
                hold.depth -= 1
                if hold.depth > 0:
                    return
                self.n_readers -= 1
                hold[0] = self.readers[self.n_readers]
        self._admit()

    cdef Waiter* _enqueue(self, unsigned long thread, bint learning, Gate gate) noexcept:
        # Reserve capacity for all waiting readers, so that admitting them cannot fail.
        cdef Waiter* waiter = NULL
        cdef Waiter** end = &self.first
        if self._reserve(self.n_readers + self.n_waiting + 1):
            # the last argument: filled with zeros
            waiter = <Waiter*> new_array(&self.blocks, 1, sizeof(Waiter), True)
        if waiter == NULL:
            return NULL
        waiter.thread = thread
        waiter.learning = learning
        waiter.gate = gate
        while end[0] != NULL:
            end = &end[0].next
        end[0] = waiter
        self.n_waiting += 1
        return waiter

    cdef void _dequeue(self, Waiter* waiter) noexcept:
        cdef Waiter** link = &self.first
        while link[0] != waiter:
            link = &link[0].next
        link[0] = waiter.next
        self.n_waiting -= 1

    cdef void _admit(self) noexcept:
        # Grant the lock to the calls at the head of the queue.
        cdef Waiter* first
        while self.first != NULL and self.learner == 0:
            first = self.first
            if not first.learning:
                self._add(first.thread)
            elif self.n_readers == 0:
                self.learner = first.thread
            else:
                return
            self._dequeue(first)
            first.granted = True
            PyThread_release_lock(first.gate)


cdef class Lockable:
    """Mixin for estimators that have a lock outside of their attributes."""

    def __cinit__(self):
        self._lock = ModelLock()


def share_lock(Lockable part not None, Lockable owner not None):
    """Let a part or view of a model use the model's lock, before others access it."""
    part._lock = owner._lock


def names_class(method):
    """Decorate an inherited method so that a TypeError names the class of the object.

    Python's error for wrong arguments names the class that defines the method, which
    may be a base class that users do not know. `reads` and `learns` do the same.
    """
    @wraps(method)
    def call(self, *args, **kwargs):
        try:
            return method(self, *args, **kwargs)
        except TypeError as error:
            raise_naming_class(error, method, self, args, kwargs)
            raise
    return call


cdef object raise_naming_class(error, method, self, args, kwargs):
    # Does not raise if the arguments fit: the error is then from within the method.
    try:
        signature(method).bind(self, *args, **kwargs)
    except TypeError:
        own = f"{type(self).__name__}.{method.__name__}"
        raise TypeError(str(error).replace(method.__qualname__, own, 1)) from None


def reads(method):
    """Decorate a method of a `Lockable` that reads the model.

    A call waits while another thread learns. Several calls can run at the same time,
    and they can be nested.
    """
    # The fast path avoids `*args`, which cost more than the lock. Python can run a
    # signal handler between any two lines of Python code, but not between acquiring the
    # lock and the `try` here.
    if list(signature(method).parameters) == ["self", "X"]:
        @wraps(method)
        def reading(Lockable self not None, X=ABSENT, *more, **unknown):
            if X is ABSENT or more or unknown:
                if X is not ABSENT:
                    more = (X, *more)
                try:
                    return method(self, *more, **unknown)
                except TypeError as error:
                    raise_naming_class(error, method, self, more, unknown)
                    raise
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
            except TypeError as error:
                raise_naming_class(error, method, self, args, kwargs)
                raise
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
        except TypeError as error:
            raise_naming_class(error, method, self, args, kwargs)
            raise
        finally:
            self._lock.leave()
    return learning


def reads_argument(function):
    """Decorate a function that reads the model of its first argument; see `reads`.

    `self` and `cls` are not counted as arguments. The argument may be an estimator or a
    pipeline that ends in one. Other objects have no lock and are passed through.
    """
    names = list(signature(function).parameters)
    cdef Py_ssize_t position = names[0] in ("self", "cls")
    name = names[position]

    @wraps(function)
    def reading(*args, **kwargs):
        cdef ModelLock lock = lock_of(
            args[position] if len(args) > position else kwargs.get(name)
        )
        if lock is None:
            return function(*args, **kwargs)
        lock.read()
        try:
            return function(*args, **kwargs)
        finally:
            lock.leave()
    return reading


cdef ModelLock lock_of(estimator):
    # The lock of an estimator or of the last step of a pipeline; None for other
    # objects.
    while not isinstance(estimator, Lockable):
        steps = getattr(estimator, "steps", None)
        if not (isinstance(steps, list) and steps):
            return None
        estimator = steps[len(steps) - 1][1]
    return (<Lockable> estimator)._lock


cdef class paused:
    """Context in which a thread that learns lets other threads use the model.

    The model must be in a consistent state when the block starts.
    """

    cdef ModelLock lock

    def __cinit__(self, Lockable learner not None):
        self.lock = learner._lock

    def __enter__(self):
        self.lock.leave()

    def __exit__(self, kind, error, traceback):
        self.lock.learn()


# -- forks ------------------------------------------------------------------------

cdef intp_t n_forks = 0     # number of forks between the first process and this one
cdef Guard forking          # protects `n_forks` of all locks


def _after_fork_in_child():
    global n_forks
    n_forks += 1
    memset(&forking, 0, sizeof(Guard))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
