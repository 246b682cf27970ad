"""``python -m skconftree``, for use if the console script is not on the path."""

import sys

from ._cli import main

if __name__ == "__main__":
    sys.exit(main())
