"""Proof that a checked build can fail.

An error inside a ``noexcept nogil`` function prints "Exception ignored" and
returns 0, so a bounds-checked build proves nothing unless that message fails the
test. The functions called here have no guard and exist in that build only.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def checks():
    return pytest.importorskip(
        "skconftree.utils._checks", reason="needs a build with -Dchecked=true"
    )


@pytest.fixture
def ignored(monkeypatch):
    """Exceptions that Python could not raise."""
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    return seen


def test_bounds_are_checked(checks, ignored):
    values = np.arange(3.0)
    assert checks.read_at(values, 2) == 2.0
    assert ignored == []
    checks.read_at(values, 3)
    assert [found.exc_type for found in ignored] == [IndexError]


def test_division_is_checked(checks, ignored):
    assert checks.divide(7, 2) == 3
    checks.divide(7, 0)
    assert [found.exc_type for found in ignored] == [ZeroDivisionError]


def test_overflow_is_checked(checks, ignored):
    assert checks.add(2**62, 2**62 - 1) == 2**63 - 1
    assert ignored == []
    checks.add(2**62, 2**62)
    assert [found.exc_type for found in ignored] == [OverflowError]


@pytest.mark.usefixtures("checks")
def test_an_ignored_exception_fails_a_test(tmp_path):
    (tmp_path / "test_bug.py").write_text(
        "import numpy as np\n"
        "from skconftree.utils._checks import read_at\n"
        "def test_bug():\n"
        "    read_at(np.zeros(3), 3)\n"
    )
    config = ROOT / "pyproject.toml"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", config, "--rootdir", tmp_path, tmp_path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert "PytestUnraisableExceptionWarning" in run.stdout
