"""Programs in processes of their own, without importing everything again.

The imports of a new interpreter take longer than what most tests run in it. So one
server imports them once, and each program runs in a fork of it, up to the regular end
of the interpreter. For POSIX only.
"""

import atexit
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from functools import cache
from subprocess import DEVNULL, PIPE

SERVER = """
import gc, os, pickle, signal, socket, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
import reference.replay
from sklearn.base import clone
from skconftree import *
from skconftree._cli import _fit, _label, _stream

gc.freeze()  # otherwise each program would collect all this at its end
channel = socket.socket(fileno=int(sys.argv[1]))
for request in iter(lambda: pickle.load(sys.stdin.buffer), None):
    if isinstance(request, int):
        pid, status = os.waitpid(request, os.WNOHANG)
        answer = os.waitstatus_to_exitcode(status) if pid else None
    else:
        files = socket.recv_fds(channel, 1, 3)[1]
        if not (answer := os.fork()):
            break
        for file in files:
            os.close(file)
    pickle.dump(answer, sys.stdout.buffer)
    sys.stdout.flush()
else:
    sys.exit()
channel.close()
os.setsid()
for number, file in enumerate(files):
    os.dup2(file, number)
    os.close(file)
if os.isatty(0):
    import fcntl, termios
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.stdin = open(0, closefd=False)
sys.stdout = open(1, "w", closefd=False)
sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)
# a process that is started in the background inherits that it is ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
code, sys.argv, folder, environment = request
os.chdir(folder)
os.environ.clear()
os.environ.update(environment)
exec(compile(code, "<program>", "exec"), {"__name__": "__main__"})
"""
COMMAND = "import sys; from skconftree._cli import main; sys.exit(main())"


class Process:
    """A running program, used like `subprocess.Popen`; its pipes are of bytes.

    If its standard input is a terminal, the terminal controls it.
    """

    def __init__(self, code, *argv, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL):
        channel = _server()[1]
        theirs, ours = zip(_ends(stdin, 1), _ends(stdout), _ends(stderr), strict=True)
        self.stdin, self.stdout, self.stderr = ours
        socket.send_fds(channel, [b"."], theirs)
        argv = ["program", *map(str, argv)]
        self.pid = _ask((textwrap.dedent(code), argv, os.getcwd(), dict(os.environ)))
        self.returncode = None
        for given, file in zip((stdin, stdout, stderr), theirs, strict=True):
            if given in (PIPE, DEVNULL):
                os.close(file)

    def poll(self):
        if self.returncode is None:
            self.returncode = _ask(self.pid)
        return self.returncode

    def wait(self, timeout=60.0):
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise TimeoutError(f"The program has not ended in {timeout} seconds.")
            time.sleep(0.005)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def close(self):
        """Kill the program, if it has not ended, and close its pipes."""
        self.send_signal(signal.SIGKILL)
        self.wait()
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()


def run_program(code, timeout):
    """Run a program in a process of its own, which must end without an error."""
    with tempfile.TemporaryFile() as said:
        program = Process(code, stdout=said, stderr=said)
        try:
            status = program.wait(timeout)
        except BaseException:
            os.killpg(program.pid, signal.SIGKILL)  # with what it has started
            raise
        finally:
            program.close()
        said.seek(0)
        assert status == 0, said.read().decode() or f"exit code {status}"


def _ends(file, ours=0):
    """File descriptor of the program and, of a pipe, the file at our end."""
    if file == PIPE:
        ends = os.pipe()
        return ends[1 - ours], open(ends[ours], ("rb", "wb")[ours], buffering=0)
    if file == DEVNULL:
        return os.open(os.devnull, os.O_RDWR), None
    return (file if isinstance(file, int) else file.fileno()), None


def _ask(request):
    server = _server()[0]
    pickle.dump(request, server.stdin)
    server.stdin.flush()
    return pickle.load(server.stdout)


@cache
def _server():
    ours, theirs = socket.socketpair()
    server = subprocess.Popen(
        [sys.executable, "-P", "-c", SERVER, str(theirs.fileno())],
        stdin=PIPE,
        stdout=PIPE,
        pass_fds=[theirs.fileno()],
        start_new_session=True,  # Ctrl-C is for the tests
    )
    theirs.close()
    pickle.dump(sys.path, server.stdin)
    atexit.register(_close, server, ours)
    return server, ours


def _close(server, channel):
    pickle.dump(None, server.stdin)
    for file in (server.stdin, server.stdout, channel):
        file.close()
    server.wait()
