"""Programs in processes of their own, without importing everything again.

The imports of a new interpreter take longer than what most tests run in it. So one
server imports them once, and each program runs in a fork of it, up to the regular end
of the interpreter. For POSIX only.
"""

import atexit
import os
import pickle
import select
import signal
import subprocess
import sys
import textwrap
from functools import cache

SERVER = """
import os, pickle, sys, tempfile
from sklearn.base import clone
from skconftree import *

code = ""
for code in iter(lambda: pickle.load(sys.stdin.buffer), None):
    errors = tempfile.TemporaryFile()
    if not (child := os.fork()):
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(errors.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        break
    _, status = os.waitpid(child, 0)
    errors.seek(0)
    answer = os.waitstatus_to_exitcode(status), errors.read().decode()
    errors.close()
    pickle.dump(answer, sys.stdout.buffer)
    sys.stdout.flush()
else:
    code = ""
exec(compile(code, "<program>", "exec"), {"__name__": "__main__"})
"""


def run_program(code, timeout):
    """Run a program in a process of its own, which must end without an error."""
    server = _server()
    pickle.dump(textwrap.dedent(code), server.stdin)
    server.stdin.flush()
    if not select.select([server.stdout], [], [], timeout)[0]:
        os.killpg(server.pid, signal.SIGKILL)
        _close(server)
        _server.cache_clear()
        raise TimeoutError(f"The program has not ended after {timeout} seconds.")
    status, said = pickle.load(server.stdout)
    assert status == 0, said or f"exit code {status}"


@cache
def _server():
    server = subprocess.Popen(
        [sys.executable, "-P", "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # a group of its own, to be killed as one
    )
    atexit.register(_close, server)
    return server


def _close(server):
    """End the server; a second call does nothing."""
    if server.poll() is None and not server.stdin.closed:
        pickle.dump(None, server.stdin)
    server.stdin.close()
    server.stdout.close()
    server.wait()
