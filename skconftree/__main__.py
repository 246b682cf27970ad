"""``python -m skconftree``, the console script where it is not on the path."""

import sys

from ._cli import main

if __name__ == "__main__":
    sys.exit(main())
