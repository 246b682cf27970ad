"""Settings of third parties that every test relies on.

Labels such as A6 or C3 in the tests name sections of the project's mathematical
specification: A Collet and Pietquin (2015), B Serrurier and Prade (2015), C De Rosa
and Cesa-Bianchi (2017), D Rupprechter (2012), G rules of our own.
"""

import os

from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")

# The same examples on every run, and no clock: a busy machine is not a bug.
settings.register_profile("skconftree", derandomize=True, deadline=None)
settings.load_profile("skconftree")
