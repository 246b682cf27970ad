"""``python -m skconftree.testing``: self test of the installed package."""

import sys
import warnings

from ._self_test import run

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # the checks cause warnings on purpose
    sys.exit(run() > 0)
