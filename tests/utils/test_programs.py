"""Programs of tests run in processes of their own, and their ends are seen."""

import sys

import pytest
from reference.programs import run_program

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="there is no fork on Windows"
)


def test_a_failure_says_what_it_was_and_the_next_program_runs():
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        run_program("1 / 0", timeout=60.0)
    with pytest.raises(AssertionError, match="exit code -9"):
        run_program("import os; os.kill(os.getpid(), 9)", timeout=60.0)
    run_program("x = 1", timeout=60.0)
    run_program("assert 'x' not in globals()", timeout=60.0)


@pytest.mark.slow
def test_a_program_without_an_end_is_stopped():
    with pytest.raises(TimeoutError, match="not ended"):
        run_program("while True: pass", timeout=0.5)
    run_program("", timeout=60.0)
