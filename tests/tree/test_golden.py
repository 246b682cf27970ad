"""Trees, evidence and predictions of a hundred settings are what they were.

Written by ``reference.golden keep``. A fix that changes some of them writes them again
and says why; a change of speed or shape leaves them as they are.
"""

import json
import math
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from reference.golden import (
    KEPT,
    KEPT_LEAVES,
    PARTS,
    PARTS_OF_DIGEST,
    differing_parts,
    digest,
    few,
    grow,
    leaves,
    table,
)

TESTS = Path(__file__).parents[1]


FEW = [(few, KEPT, part) for part in PARTS]
LEAVES = [(leaves, KEPT_LEAVES, part) for part in PARTS]


@pytest.mark.parametrize(("compute", "path", "part"), [*FEW, *LEAVES])
def test_hashes_are_what_they_were(compute, path, part):
    expected = json.loads(path.read_text(encoding="utf-8"))
    assert len(expected) > 100
    found = compute(part)
    assert found == {name: expected[name] for name in list(expected)[part]}


@pytest.mark.slow
@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="the hashes are of x86-64: elsewhere the library is another one anyhow",
)
def test_trees_do_not_hang_on_the_last_bit_of_the_mathematical_library(tmp_path):
    """Processors and systems have their own: the same trees on each of them."""
    library = tmp_path / "last_bits.so"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    if shutil.which(compiler[0]) is None:
        pytest.skip("compiling the other library needs a C compiler")
    source = TESTS / "reference/last_bits.c"
    command = ["-O1", "-fno-builtin", "-shared", "-fPIC", "-o", library, source]
    subprocess.run([*compiler, *command, "-ldl", "-lm"], check=True)
    script = (
        "import json, math, sys; from reference.golden import few, leaves;"
        "known = [math.log(x) for x in range(3, 99)];"
        "json.dump([known, few() | leaves()], sys.stdout)"
    )
    before = [one for one in [os.environ.get("LD_PRELOAD")] if one]
    known, found = json.loads(
        subprocess.run(
            [sys.executable, "-P", "-c", script],
            env=os.environ
            | {
                "LD_PRELOAD": ":".join([*before, str(library)]),
                "PYTHONPATH": str(TESTS),
            },
            check=True,
            capture_output=True,
        ).stdout
    )
    assert known != [math.log(x) for x in range(3, 99)]  # it is another library
    expected = {}
    for path in (KEPT, KEPT_LEAVES):
        expected |= json.loads(path.read_text(encoding="utf-8"))
    assert [name for name in expected if found.get(name) != expected[name]] == []


def test_hashes_distinguish_trees():
    """By their evidence, by their leaves, and by nothing that is not in them."""
    shared = {"pruning": None}
    grown = [
        grow(
            shared | {"bound": bound, "max_depth": depth, "shrinkage": rows},
            "plain",
            "fit",
        )
        for bound, depth, rows in (
            ("gtest", None, 0.0),
            ("gtest", 1, 0.0),
            ("gtest", 1, 5.0),
            ("chi2", 1, 0.0),
        )
    ]
    found = [digest(*one) for one in grown]
    assert digest(grown[0][0], table("plain")[0]) == found[0]
    assert differing_parts(found[0], found[1]) == list(PARTS_OF_DIGEST)
    assert differing_parts(found[1], found[2]) == ["predictions"]
    assert differing_parts(found[1], found[3]) == ["evidence"]
    assert differing_parts(found[1], "ValueError: none") == list(PARTS_OF_DIGEST)
