"""The bound that CONTRIBUTING.md shows compiles outside the package, and grows trees.

Who adds a bound starts from that text; one that does not compile, or whose parameter
never arrives, costs them an evening.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import numpy as np
import pytest

import skconftree
from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import BaseBound

TEXT = Path(__file__).parents[1] / "CONTRIBUTING.md"


def compiled(folder):
    """Compile the printed file and import it."""
    pytest.importorskip("Cython", reason="compiling a bound needs Cython")
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    if shutil.which(compiler[0]) is None:
        pytest.skip("compiling a bound needs a C compiler")
    printed = re.search(r"```cython\n(.*?)```", TEXT.read_text("utf-8"), re.DOTALL)
    source = folder / "mybound.pyx"
    source.write_text(textwrap.dedent(printed[1]), encoding="utf-8")
    package = Path(skconftree.__file__).parents[1]
    subprocess.run(
        [sys.executable, "-P", "-m", "cython", "-3", "-I", str(package), str(source)],
        check=True,
    )
    module = folder / f"mybound{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run(
        [
            *compiler,
            "-shared",
            "-fPIC",
            f"-I{sysconfig.get_path('include')}",
            f"-I{np.get_include()}",
            "-o",
            str(module),
            str(folder / "mybound.c"),
        ],
        check=True,
    )
    spec = importlib.util.spec_from_file_location("mybound", module)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_printed_bound_compiles_and_its_parameter_matters(tmp_path):
    MyBound = compiled(tmp_path).MyBound
    assert issubclass(MyBound, BaseBound)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(int)
    leaves = [
        ConfidenceTreeClassifier(MyBound(delta=delta)).fit(X, y).get_n_leaves()
        for delta in (0.02, 0.3, 0.95)
    ]
    assert leaves[0] > leaves[1] > leaves[2] == 1
    with pytest.raises(ValueError, match="'delta' parameter of MyBound"):
        ConfidenceTreeClassifier(MyBound(delta=2.0)).fit(X, y)
