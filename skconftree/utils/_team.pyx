"""Threads that share the parts of some work."""

import os
from _thread import allocate_lock, start_new_thread
from collections import deque

from joblib.parallel import get_active_backend

cimport cython

from skconftree.utils._typedefs cimport intp_t

cdef double PATIENCE = 1.0      # seconds between two checks that threads can still exist


def number_of_threads(n_jobs):
    """How many threads `n_jobs` asks for, as joblib understands it.

    Work that shares memory cannot go to processes or to a cluster: where joblib's
    context has such workers, None is one thread.
    """
    backend, default = get_active_backend(require="sharedmem")
    return backend.effective_n_jobs(default if n_jobs is None else n_jobs)


cdef class Team:
    """The calling thread and others, which exist only while `run` does.

    Python can run a signal handler between any two instructions of its own, but not
    here, except within a part and while a lock is acquired, which the exception then
    leaves free. Locks of `threading` and `concurrent.futures` are written in Python:
    a handler that raises at the wrong moment leaves them acquired for ever.
    """

    cdef readonly intp_t n_threads

    def __init__(self, intp_t n_threads):
        self.n_threads = n_threads

    def run(self, do, intp_t n_parts):
        """Do each of so many parts by ``do(thread, part)``, in ascending order.

        Threads have numbers, the calling one 0. They take a part whenever they are
        free. The first error ends it: parts that nobody has taken are left out. It is
        raised when all threads have ended, as is the first exception of a signal
        handler: parts work in memory of the caller.
        """
        cdef Work work = Work(do, n_parts, min(self.n_threads, n_parts))
        cdef intp_t n_started = work.start()
        cdef intp_t thread
        process = os.getpid()
        work.do_parts(0)
        for thread in range(1, n_started + 1):
            work.wait(thread, process)
        for error in work.errors:
            if error is not None:
                raise error


@cython.final
cdef class Work:
    """What the threads of one call of `run` share. All objects are made beforehand."""

    cdef object do, parts
    cdef list errors            # of each thread, or None
    cdef list ends              # a lock of each thread but the first, until it has ended

    def __cinit__(self, do, intp_t n_parts, intp_t n_threads):
        self.do = do
        self.parts = deque(range(n_parts))
        self.errors = [None] * max(n_threads, 1)
        self.ends = [allocate_lock() for _ in range(1, n_threads)]
        for end in self.ends:
            end.acquire()

    cdef intp_t start(self):
        # Number of threads that were started. The others' parts are left to these.
        cdef intp_t thread
        for thread in range(1, len(self.ends) + 1):
            try:
                start_new_thread(do_parts_in_thread, (self, thread))
            except (RuntimeError, MemoryError):
                return thread - 1
            except BaseException as error:      # of an audit hook
                self.stop(0, error)
                return thread - 1
        return len(self.ends)

    cdef int do_parts(self, intp_t thread) noexcept:
        while True:
            try:
                part = self.parts.popleft()
            except IndexError:
                return 0
            try:
                self.do(thread, part)
            except BaseException as error:
                self.stop(thread, error)

    cdef void stop(self, intp_t thread, error) noexcept:
        self.parts.clear()
        if self.errors[thread] is None:
            self.errors[thread] = error

    cdef int wait(self, intp_t thread, process) except -1:
        # Until another thread has ended, whatever signal handlers raise meanwhile.
        has_ended = False
        while not has_ended:
            if os.getpid() != process:
                raise RuntimeError(
                    "This process was forked, in a signal handler, while threads of "
                    "its parent were at work on a model. They do not exist here: use "
                    "a model that was loaded or fitted in this process."
                )
            try:
                has_ended = self.ends[thread - 1].acquire(timeout=PATIENCE)
            except BaseException as error:
                self.stop(0, error)
        return 0


def do_parts_in_thread(Work work not None, intp_t thread):
    """Do parts in a thread of its own."""
    work.do_parts(thread)
    work.ends[thread - 1].release()
