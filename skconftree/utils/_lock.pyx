"""The lock of a model: many threads read it, or one thread changes it."""

import os
from functools import wraps
from inspect import signature

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memset

from skconftree.utils._guard cimport leave_guard, take_guard
from skconftree.utils._memory cimport (
    release_all, release, longer_array, new_array,
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


cdef object ABSENT = object()       # what no caller gives

cdef enum:          # what is said to a call that wants to hold a lock
    ENTERED
    MUST_WAIT
    REFUSED
    NO_MEMORY


@cython.final
cdef class ModelLock:
    """A lock that many threads hold to read, or one to learn.

    In a `with` statement it is held to read.

    It is no part of the state of what it guards: pickled or copied it is another
    lock, which is free.
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
        # Hold the lock beside others that read.
        return self._enter(False)

    cdef int learn(self) except -1:
        # Hold the lock alone.
        return self._enter(True)

    cdef void leave(self) noexcept:
        # Give up what this thread took last.
        cdef unsigned long me = PyThread_get_thread_ident()
        if self._was_abandoned():
            return
        take_guard(&self.guard)
        self._leave(me)
        leave_guard(&self.guard)

    cdef bint is_refused(self) noexcept:
        # Whether this thread would get an error however long it waited.
        cdef unsigned long me = PyThread_get_thread_ident()
        cdef bint mine
        if self._was_abandoned():
            return True
        take_guard(&self.guard)
        mine = (
            self.learner == me or self._hold_of(me) != NULL or self._is_waiting(me)
        )
        leave_guard(&self.guard)
        return mine

    cdef bint _was_abandoned(self) noexcept:
        # Whether a thread used the model when this process was forked. Nothing here
        # ends its call, which only the parent goes on with: the fields remain as they
        # are, and the model is refused for ever.
        cdef bint in_use
        if self.n_forks == n_forks:
            return False
        take_guard(&forking)    # of threads that this process has started since
        in_use = self.learner != 0 or self.n_readers > 0 or self.first != NULL
        if self.n_forks == n_forks:
            in_use = False
        elif not in_use:
            memset(&self.guard, 0, sizeof(Guard))   # a thread may have held it
            self.n_forks = n_forks
        leave_guard(&forking)
        return in_use

    cdef int _check_process(self) except -1:
        if self._was_abandoned():
            raise RuntimeError(
                "This model cannot be used in this process: a call of it was running "
                "when the process was forked from another one. Load the model from a "
                "file, or fit a clone of it."
            )
        return 0

    cdef int _enter(self, bint learning) except -1:
        cdef unsigned long me = PyThread_get_thread_ident()
        cdef int said
        cdef bint is_learner
        self._check_process()
        take_guard(&self.guard)
        said = self._ask(me, learning)
        is_learner = self.learner == me
        leave_guard(&self.guard)
        if said == ENTERED:
            return 0
        if said == MUST_WAIT:
            return self._wait(me, learning)
        if said == NO_MEMORY:
            raise MemoryError("No memory for another thread that reads.")
        if is_learner:
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

    cdef int _wait(self, unsigned long me, bint learning) except -1:
        # No line of Python has run since this thread was told to wait.
        cdef Gate gate = PyThread_allocate_lock()
        cdef Waiter* waiter = NULL
        if gate != NULL:
            PyThread_acquire_lock(gate, 0)
            take_guard(&self.guard)
            waiter = self._line_up(me, learning, gate)
            self._admit()
            leave_guard(&self.guard)
        if waiter == NULL:
            if gate != NULL:
                PyThread_free_lock(gate)
            raise MemoryError("No memory for another thread that waits.")
        try:
            self._pass_through(gate)    # signal handlers run, and may raise
        except BaseException:
            if self._was_abandoned():   # by a handler: the fields remain as they are
                raise
            take_guard(&self.guard)
            if waiter.granted:
                self._leave(me)
            else:
                self._step_out(waiter)
                self._admit()
            leave_guard(&self.guard)
            self._end_wait(waiter)
            raise
        self._end_wait(waiter)
        return 0

    cdef int _pass_through(self, Gate gate) except -1:
        # Wait until another thread opens it.
        cdef int outcome
        while True:
            with nogil:
                outcome = PyThread_acquire_lock_timed(gate, -1, 1)
            if outcome == PY_LOCK_ACQUIRED:
                return 0
            PyErr_CheckSignals()
            self._check_process()

    cdef void _end_wait(self, Waiter* waiter) noexcept:
        # Whoever opened the gate had taken the guard, and is through with both.
        cdef Gate gate = waiter.gate
        take_guard(&self.guard)
        release(&self.blocks, waiter)
        leave_guard(&self.guard)
        PyThread_free_lock(gate)

    cdef int _ask(self, unsigned long me, bint learning) noexcept:
        cdef Hold* mine = self._hold_of(me)
        if self.learner == me or learning and mine != NULL:
            return REFUSED
        if mine != NULL:
            mine.depth += 1
            return ENTERED
        if (
            self.learner != 0 or self.n_waiting > 0 or learning and self.n_readers > 0
        ):
            return REFUSED if self._is_waiting(me) else MUST_WAIT
        if learning:
            self.learner = me
        elif self._reserve(self.n_readers + 1):
            self._add(me)
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
            waiter = waiter.behind
        return False

    cdef bint _reserve(self, intp_t room) noexcept:
        cdef void* larger
        if room > self.room:
            larger = longer_array(&self.blocks, self.readers, 2 * room, sizeof(Hold))
            if larger == NULL:
                return False
            self.readers = <Hold*> larger
            self.room = 2 * room
        return True

    cdef void _add(self, unsigned long thread) noexcept:
        # There is room.
        self.readers[self.n_readers].thread = thread
        self.readers[self.n_readers].depth = 1
        self.n_readers += 1

    cdef void _leave(self, unsigned long me) noexcept:
        cdef Hold* mine
        if self.learner == me:
            self.learner = 0
        else:
            mine = self._hold_of(me)
            if mine != NULL:
                mine.depth -= 1
                if mine.depth > 0:
                    return
                self.n_readers -= 1
                mine[0] = self.readers[self.n_readers]
        self._admit()

    cdef Waiter* _line_up(self, unsigned long me, bint learning, Gate gate) noexcept:
        # With room for all who want to read, so that admitting them cannot fail.
        cdef Waiter* waiter = NULL
        cdef Waiter** end = &self.first
        if self._reserve(self.n_readers + self.n_waiting + 1):
            waiter = <Waiter*> new_array(&self.blocks, 1, sizeof(Waiter), True)
        if waiter == NULL:
            return NULL
        waiter.thread = me
        waiter.learning = learning
        waiter.gate = gate
        while end[0] != NULL:
            end = &end[0].behind
        end[0] = waiter
        self.n_waiting += 1
        return waiter

    cdef void _step_out(self, Waiter* waiter) noexcept:
        cdef Waiter** place = &self.first
        while place[0] != waiter:
            place = &place[0].behind
        place[0] = waiter.behind
        self.n_waiting -= 1

    cdef void _admit(self) noexcept:
        # Whose turn it is.
        cdef Waiter* first
        while self.first != NULL and self.learner == 0:
            first = self.first
            if not first.learning:
                self._add(first.thread)
            elif self.n_readers == 0:
                self.learner = first.thread
            else:
                return
            self._step_out(first)
            first.granted = True
            PyThread_release_lock(first.gate)


cdef class Lockable:
    """Mixin of an estimator that has a lock, outside its attributes."""

    def __cinit__(self):
        self._lock = ModelLock()


def share_lock(Lockable part not None, Lockable owner not None):
    """Give a part of a model, or what shows it, its lock, before others see it."""
    part._lock = owner._lock


def names_class(method):
    """Decorate an inherited method so that a wrong call names the class of the object.

    Python's error names the class that defines the method, which may be a base class
    that users do not know. `reads` and `learns` do the same.
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
    # Nothing is raised if the arguments fit: then the error is from within the method.
    try:
        signature(method).bind(self, *args, **kwargs)
    except TypeError:
        own = f"{type(self).__name__}.{method.__name__}"
        raise TypeError(str(error).replace(method.__qualname__, own, 1)) from None


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
    """Decorate a function that reads the model of its first argument, as `reads` does.

    `self` and `cls` do not count. The argument may be an estimator, a pipeline that
    ends in one, or whatever else the function takes.
    """
    names = list(signature(function).parameters)
    cdef Py_ssize_t place = names[0] in ("self", "cls")
    name = names[place]

    @wraps(function)
    def reading(*args, **kwargs):
        cdef ModelLock lock = lock_of(
            args[place] if len(args) > place else kwargs.get(name)
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
    # None if it has none.
    while not isinstance(estimator, Lockable):
        steps = getattr(estimator, "steps", None)   # of a pipeline
        if not (isinstance(steps, list) and steps):
            return None
        estimator = steps[len(steps) - 1][1]
    return (<Lockable> estimator)._lock


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

cdef intp_t n_forks = 0     # between the first process and this one
cdef Guard forking          # of `n_forks` of all locks


def _after_fork_in_child():
    global n_forks
    n_forks += 1
    memset(&forking, 0, sizeof(Guard))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
