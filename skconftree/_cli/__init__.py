"""The console script."""

import os
import sys

from skconftree import __version__

from ._options import make_parser, meant
from ._text import UserError, make_progress, printable

COMMANDS = ("fit", "predict", "stream", "completion")
TABLES = (".csv", ".tsv", ".txt", ".gz", ".bz2", ".xz", ".parquet", ".pq")


def main(argv=None):
    """Run the console script and return its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    argv = _with_command(argv)
    parser = make_parser(__version__)
    if argv[0] not in COMMANDS and not argv[0].startswith("-"):
        parser.error(
            f"{argv[0]!r} is neither a command ({', '.join(COMMANDS)}) nor a table."
            f"{meant(argv[0], COMMANDS)}"
        )
    options = parser.parse_args(argv)
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


def _with_command(argv):
    # A table in the place of a command is fitted, and so is one that is not named.
    first = argv[0] if argv else "--"
    if first in COMMANDS or first in ("-h", "--help", "--version"):
        return argv
    is_table = first.lower().endswith(TABLES) or os.path.isfile(first)
    return ["fit", *argv] if is_table or first.startswith("-") else argv
