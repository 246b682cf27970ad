"""Random sequences of all public calls keep every promise; the seeds are fixed.

Hypothesis tests one promise at a time. What broke in use were meetings: of a drift with
a late category, of an empty sparse column with `max_features`, of a signal handler with
missing values. So here everything meets everything, in child processes, because what is
found may end one.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.sequence import THEMES
from reference.effort import cases
from reference.programs import run_program

TESTS = Path(__file__).parents[1]
# Sequences of each theme, and the themes: to start a process takes longer than a
# sequence of most of them. Those that take longest have tests of their own by day.
LONGEST = {"large", "shared"}
BY_DAY = [(1, [theme for theme in THEMES if theme not in LONGEST])]
SLOW = [(8, list(THEMES)[part::4]) for part in range(4)]


def fuzz(*arguments):
    return subprocess.run(
        [sys.executable, "-P", "-m", "fuzz", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        timeout=600,
    )


PROGRAM = """
import sys
from fuzz.run import main
sys.exit(main({arguments!r}))
"""


@pytest.mark.parametrize(("n", "themes"), cases([*BY_DAY, *SLOW], BY_DAY))
def test_sequences(n, themes):
    arguments = [str(n), "--first", "1000000", "--theme", *themes]
    program = PROGRAM.format(arguments=arguments)
    run_program(program, timeout=600.0)


@pytest.mark.slow
def test_a_crash_is_detected():
    """The end of a child process is a finding, and the others go on."""
    done = fuzz(3, "--crash", 1)
    assert done.returncode == 1, done.stdout
    assert "3 sequences" in done.stdout
    assert "signal 11\n         seeds 1\n" in done.stdout


@pytest.mark.slow
def test_sequences_in_one_process():
    done = fuzz(2, "--theme", "shared", "--here")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 sequences" in done.stdout
