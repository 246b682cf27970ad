"""Proof that a checked build can fail.

An error inside a ``noexcept nogil`` function prints "Exception ignored" and
returns 0, so a bounds-checked build proves nothing unless that message fails the
test. The functions called here have no guard and exist in that build only.
"""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference.sampled_trees import grow_sample
from scipy.sparse import csr_array
from skconftree.tree._settings import GrowthSettings
from skconftree.utils._memory import fail_every

from skconftree.tables._growth_data import MemoryData

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


def computed(text):
    """Members of enums whose value is computed, in a module's text."""
    bodies = re.findall(r"^cp?def enum.*:\n((?:[ ]{4}.*\n|\n)+)", text, re.MULTILINE)
    members = (
        line.partition("#")[0].partition("=") for line in "".join(bodies).split("\n")
    )
    return [
        name.strip()
        for name, _, value in members
        if value and not re.fullmatch(r"-?(0x[0-9A-Fa-f]+|[0-9]+)", value.strip())
    ]


def test_enums_are_plain_numbers():
    # Cython cannot compile a computed one where overflow is checked.
    assert computed("cdef enum:\n    A = 2  # 1 + 1\n    B = 1 + 1\n") == ["B"]
    sources = [*ROOT.glob("skconftree/**/*.pyx"), *ROOT.glob("skconftree/**/*.pxd")]
    found = {str(path): computed(path.read_text("utf-8")) for path in sources}
    assert len(found) > 100
    assert {name: members for name, members in found.items() if members} == {}


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
@pytest.mark.parametrize("is_sparse", [False, True])
def test_every_allocation_of_growth_may_fail(is_sparse):
    """Then the caller gets a MemoryError, and a shared table is as it was."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6)).astype(np.float32)
    X[:, 3:] = np.round(X[:, 3:])
    X[rng.random(X.shape) < 0.8] = 0.0
    y = (X.sum(axis=1) + 0.3 * rng.normal(size=400) > 0).astype(int)
    settings = GrowthSettings(max_depth=3)
    counts = rng.integers(0, 3, 400).astype(np.uint8)

    def encode():
        return MemoryData(csr_array(X) if is_sparse else X, y, 2)

    data = encode()
    expected = grow_sample(data, counts, settings)
    for work in (encode, lambda: grow_sample(data, counts, settings)):
        fail_every(0)
        work()
        n_allocations = fail_every(0)
        assert n_allocations > 5
        for n in range(1, n_allocations + 1):
            fail_every(n)
            try:
                with pytest.raises(MemoryError):
                    work()
            finally:
                fail_every(0)
    assert_array_equal(grow_sample(data, counts, settings).counts, expected.counts)


def test_allocations_fail_in_that_build_only():
    if importlib.util.find_spec("skconftree.utils._checks") is None:
        with pytest.raises(RuntimeError, match="Only the checked build"):
            fail_every(1)


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
