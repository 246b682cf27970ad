"""``python -m skconftree.testing``: check a package where it is installed."""

import sys
import warnings

from ._self_test import run

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of those that the checks provoke
    sys.exit(run() > 0)
