"""Thread pools that share the parts of a task."""

import os
from _thread import allocate_lock, start_new_thread
from collections import deque

from joblib.parallel import get_active_backend

cimport cython

from skconftree.utils._typedefs cimport intp_t

cdef double FORK_CHECK_SECONDS = 1.0    # interval of checks for a fork while waiting


def number_of_threads(n_jobs):
    """Return the number of threads that `n_jobs` requests, with joblib's meaning.

    The work shares memory and therefore cannot use processes or a cluster: if joblib's
    context has such workers, None means one thread.
    """
    backend, default = get_active_backend(require="sharedmem")
    return backend.effective_n_jobs(default if n_jobs is None else n_jobs)


@cython.final
cdef class Threads:
    """The additional threads of a `ThreadTeam`. All objects they need exist in advance."""

    cdef object do              # function that processes a part, or None
    cdef object parts           # indices of the parts that have not been started
    cdef object process         # id of the process
    cdef list errors            # first error of each thread, or None
    cdef list starts            # locks; released when the thread may take parts
    cdef list ends              # locks; released when the thread has finished its parts
    cdef bint is_over           # whether the threads have to end

    def __init__(self, intp_t n_threads):
        self.process = os.getpid()
        self.parts = deque()
        self.errors = [None] * max(n_threads, 1)
        self.starts = [allocate_lock() for _ in range(1, n_threads)]
        self.ends = [allocate_lock() for _ in range(1, n_threads)]
        for lock in self.starts + self.ends:
            lock.acquire()

    cdef int start(self) except -1:
        # If some threads cannot be started, the others do all parts.
        cdef intp_t n_started = 0
        try:
            for start, end in zip(self.starts, self.ends):
                start_new_thread(do_parts_in_thread, (self, n_started + 1, start, end))
                n_started += 1
        except (RuntimeError, MemoryError):
            del self.starts[n_started:], self.ends[n_started:]
        return 0

    cdef object run(self, do, intp_t n_parts):
        cdef intp_t thread
        self.do = do
        for thread in range(len(self.errors)):
            self.errors[thread] = None
        self.parts.extend(range(n_parts))
        for lock in self.starts:
            lock.release()
        self.do_parts(0)
        for lock in self.ends:
            self.wait(lock)
        self.do = None
        for error in self.errors:
            if error is not None:
                raise error

    cdef void end(self) noexcept:
        self.is_over = True
        for lock in self.starts:
            lock.release()
        self.starts = []

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

    cdef int wait(self, lock) except -1:
        # Wait until another thread has finished its parts, even if signal handlers
        # raise.
        has_ended = False
        while not has_ended:
            if os.getpid() != self.process:
                raise RuntimeError(
                    "This process was forked in a signal handler while threads of its "
                    "parent worked on a model, and these threads do not exist here. "
                    "Use a model that was loaded or fitted in this process."
                )
            try:
                has_ended = lock.acquire(timeout=FORK_CHECK_SECONDS)
            except BaseException as error:
                self.stop(0, error)
        return 0


def do_parts_in_thread(Threads threads not None, intp_t thread, start, end):
    """Process parts in an additional thread until the thread pool ends."""
    while True:
        start.acquire()
        if threads.is_over:
            return
        threads.do_parts(thread)
        end.release()


cdef class ThreadTeam:
    """Thread pool: the calling thread and others, which exist only during `run`.

    In a `with` block, the additional threads exist until the end of the block, so that
    they allocate from the same heap in each `run`.

    Signal handlers run between Python instructions, but not within this compiled code,
    except within a part and while a lock is acquired; an exception of a handler then
    leaves the lock free. Locks of `threading` and `concurrent.futures` are written in
    Python: a handler that raises at the wrong moment leaves them acquired forever.
    """

    cdef readonly intp_t n_threads
    cdef Threads threads        # of the `with` block, or None

    def __init__(self, intp_t n_threads):
        self.n_threads = n_threads

    def __enter__(self):
        self.threads = Threads(self.n_threads)
        self.threads.start()
        return self

    def __exit__(self, kind, error, traceback):
        self._end()

    def __del__(self):
        self._end()

    cdef void _end(self) noexcept:
        if self.threads is not None:
            self.threads.end()
            self.threads = None

    def run(self, do, intp_t n_parts):
        """Call ``do(thread, part)`` for each part, in ascending order.

        The calling thread has number 0. Each thread takes the next part when it is
        free. After the first error, no further parts are started. The error, or the
        first exception of a signal handler, is raised after all threads have finished
        their current parts, because parts use memory of the caller.
        """
        if self.threads is not None:
            return self.threads.run(do, n_parts)
        cdef Threads threads = Threads(min(self.n_threads, n_parts))
        try:
            threads.start()
            threads.run(do, n_parts)
        finally:
            threads.end()
