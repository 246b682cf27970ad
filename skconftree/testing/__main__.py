"""``python -m skconftree.testing``: a self test of an installed package."""

import sys
import warnings

from ._self_test import run

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of those that the checks provoke
    sys.exit(run() > 0)
