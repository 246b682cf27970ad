"""Threads that share out the parts of some work."""

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait

from joblib.parallel import get_active_backend

PATIENCE = 1.0  # seconds; then it is asked whether threads can still be there


def number_of_threads(n_jobs):
    """How many threads `n_jobs` asks for, as joblib understands it.

    Work that shares memory cannot go to processes or to a cluster: where joblib's
    context has such workers, None is one thread.
    """
    backend, default = get_active_backend(require="sharedmem")
    return backend.effective_n_jobs(default if n_jobs is None else n_jobs)


class Team:
    """The calling thread and others, which end with the context.

    Nothing is running between two calls of `run`, nor after one that has raised.
    """

    def __init__(self, n_threads):
        self.n_threads = n_threads

    def __enter__(self):
        self._process = os.getpid()
        self._pool = ThreadPoolExecutor(self.n_threads - 1)
        return self

    def __exit__(self, kind, error, traceback):
        self._pool.shutdown(wait=os.getpid() == self._process)

    def run(self, do, n_parts):
        """Do each of so many parts by ``do(thread, part)``, in ascending order.

        Threads have numbers, the calling one 0. They take a part whenever they are
        free. The first error ends it: parts that nobody has taken are left out.
        """
        self._check_process()
        parts = deque(range(n_parts))
        others = []
        try:
            for thread in range(1, min(self.n_threads, n_parts)):
                others.append(self._pool.submit(_work, do, thread, parts))
            _work(do, 0, parts)
        finally:
            parts.clear()
            for other in others:
                other.cancel()  # has not begun, and has nothing to do
            self._wait(others)
        for other in others:
            if not other.cancelled():
                other.result()

    def _wait(self, others):
        while wait(others, PATIENCE).not_done:
            self._check_process()

    def _check_process(self):
        if os.getpid() != self._process:
            raise RuntimeError(
                "This process has been forked, in a signal handler, from one whose "
                "threads were at work on a tree: it has none of them."
            )


def _work(do, thread, parts):
    while True:
        try:
            part = parts.popleft()
        except IndexError:
            return
        try:
            do(thread, part)
        except BaseException:
            parts.clear()
            raise
