"""The console script ``skconftree``."""

import contextlib
import os
import signal
import sys
import threading

from skconftree import __version__

from ._options import COMMANDS, TABLES, did_you_mean, lazy_function, make_parser
from ._text import UserError, abandon_output, printable, standard_output, warn

BROKEN_PIPE = 128 + 13  # exit code of a program that SIGPIPE ended, as in a shell
TERMINATION_SIGNALS = ("SIGTERM", "SIGHUP")


def main(argv=None):
    """Run the console script and return its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if not argv:
        return _run_command(lazy_function("_welcome", "run_welcome"), None)
    argv = _add_command(argv)
    parser = make_parser(__version__)
    if argv[0] not in COMMANDS and not argv[0].startswith("-"):
        parser.error(
            f"{argv[0]!r} is neither a command ({', '.join(COMMANDS)}) nor a table."
            f"{did_you_mean(argv[0], COMMANDS)}"
        )

    def command(argv):
        with standard_output():  # flushes what --help prints
            options = parser.parse_args(argv)
        return options.run(options)

    return _run_command(command, argv)


def _run_command(command, argument):
    """Run a command and return its exit code, or report an error."""
    try:
        with _handled_termination():
            return command(argument)
    except BrokenPipeError:
        abandon_output()  # the reader has closed the pipe
        return BROKEN_PIPE
    except (UserError, ValueError, OSError) as error:
        return _failed(str(error))
    except MemoryError as error:
        return _failed(f"out of memory: {error}" if str(error) else "out of memory")
    except KeyboardInterrupt:
        return 130


@contextlib.contextmanager
def _handled_termination():
    """Let signals that end the program raise SystemExit, so that it cleans up."""
    old_handlers = {}
    if threading.current_thread() is threading.main_thread():
        for name in TERMINATION_SIGNALS:
            number = getattr(signal, name, None)
            # signals that are handled, or ignored as by nohup, do not change
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                old_handlers[number] = signal.signal(number, _exit_on_signal)
    try:
        yield
    finally:
        for number, handler in old_handlers.items():
            signal.signal(number, handler)


def _exit_on_signal(number, frame):
    raise SystemExit(128 + number)


def _failed(message):
    warn(f"skconftree: error: {printable(' '.join(message.split()))}")
    return 1


def _add_command(argv):
    # `skconftree TABLE ...` and `skconftree --option ...` mean `skconftree fit ...`.
    first = argv[0]
    if first in COMMANDS or first in ("-h", "--help", "--version"):
        return argv
    is_table = first.lower().endswith(TABLES) or os.path.isfile(first)
    return ["fit", *argv] if is_table or first.startswith("-") else argv
