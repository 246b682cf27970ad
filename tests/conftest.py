"""Settings of third parties that every test relies on."""

import os

from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")

# The same examples on every run, and no clock: a busy machine is not a bug.
settings.register_profile("skconftree", derandomize=True, deadline=None)
settings.load_profile("skconftree")
