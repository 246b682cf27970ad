"""The console script."""

import argparse
import os
import sys

from skconftree import __version__

from . import _fit, _stream
from ._common import UserError, make_progress, printable


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"skconftree: error: {message}\n")


def make_parser():
    """Describe the command line."""
    parser = _Parser(
        prog="skconftree",
        description="Decision trees that know how sure they are. Without arguments: "
        "`skconftree fit` on a real set that comes with scikit-learn.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _fit.add_command(commands)
    _stream.add_command(commands)
    return parser


def main(argv=None):
    """Run the console script and return its exit code."""
    argv = sys.argv[1:] if argv is None else argv
    options = make_parser().parse_args(argv or ["fit"])
    try:
        code = options.run(options)
        sys.stdout.flush()
    except (UserError, ValueError) as error:
        make_progress()("", last=True)
        message = printable(" ".join(str(error).split()))
        print(f"skconftree: error: {message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has gone; keep the interpreter from flushing into the void.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code
