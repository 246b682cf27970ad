"""Scripts and tables of `benchmarks`, for the tests of what the documentation says."""

import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
RESULTS = BENCHMARKS / "results"
FOLDERS = ("speed", "studies", "papers")
SCRIPTS = sorted(
    path for folder in FOLDERS for path in (BENCHMARKS / folder).glob("[!_]*.py")
)


@contextmanager
def benchmarks_on_path(monkeypatch):
    """Make the modules of `benchmarks` importable, and forget them afterwards."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in list(sys.modules):
        if name.split(".")[0] in ("common", *FOLDERS):
            del sys.modules[name]
