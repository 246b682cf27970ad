"""Run random sequences of calls: ``PYTHONPATH=tests python -P -m fuzz --help``."""

import sys

from .run import main

if __name__ == "__main__":
    sys.exit(main())
