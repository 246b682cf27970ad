"""The console script."""

import contextlib
import os
import signal
import sys
import threading

from skconftree import __version__

from ._options import TABLES, later, make_parser, meant
from ._text import UserError, abandon_output, printable, standard_output, warn

BROKEN_PIPE = 128 + 13  # as a shell counts a program that SIGPIPE has ended
ENDING = ("SIGTERM", "SIGHUP")
COMMANDS = ("fit", "predict", "audit", "stream", "label", "completion")


def main(argv=None):
    """Run the console script and return its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if not argv:
        return _ended(later("_welcome", "run_welcome"), None)
    argv = _with_command(argv)
    parser = make_parser(__version__)
    if argv[0] not in COMMANDS and not argv[0].startswith("-"):
        parser.error(
            f"{argv[0]!r} is neither a command ({', '.join(COMMANDS)}) nor a table."
            f"{meant(argv[0], COMMANDS)}"
        )

    def command(argv):
        with standard_output():  # where --help goes
            options = parser.parse_args(argv)
        return options.run(options)

    return _ended(command, argv)


def _ended(command, given):
    """Run a command; return its exit code, or that of what went wrong."""
    try:
        with _terminable():
            return command(given)
    except BrokenPipeError:
        abandon_output()  # whose reader has gone
        return BROKEN_PIPE
    except (UserError, ValueError, OSError) as error:
        return _failed(str(error))
    except MemoryError as error:
        return _failed(f"out of memory: {error}" if str(error) else "out of memory")
    except KeyboardInterrupt:
        return 130


@contextlib.contextmanager
def _terminable():
    """Let a signal that ends the program clean up, as Ctrl-C does."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ENDING:
            number = getattr(signal, name, None)
            # what somebody else handles, or ignores as nohup does, is left alone
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number, frame):
    raise SystemExit(128 + number)


def _failed(message):
    warn(f"skconftree: error: {printable(' '.join(message.split()))}")
    return 1


def _with_command(argv):
    # A table in the place of a command is fitted, and so is one that is not named.
    first = argv[0]
    if first in COMMANDS or first in ("-h", "--help", "--version"):
        return argv
    is_table = first.lower().endswith(TABLES) or os.path.isfile(first)
    return ["fit", *argv] if is_table or first.startswith("-") else argv
