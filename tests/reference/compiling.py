"""Compile a file that is no part of the package, as users do who extend it."""

import importlib.util
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import skconftree


def compiled(folder, source, name):
    """Compile a file and import it."""
    pytest.importorskip("Cython", reason="compiling a plug-in needs Cython")
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    if shutil.which(compiler[0]) is None:
        pytest.skip("compiling a plug-in needs a C compiler")
    path = folder / f"{name}.pyx"
    path.write_text(source, encoding="utf-8")
    package = Path(skconftree.__file__).parents[1]
    subprocess.run(
        [sys.executable, "-P", "-m", "cython", "-3", "-I", str(package), str(path)],
        check=True,
    )
    module = folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run(
        [
            *compiler,
            "-shared",
            "-fPIC",
            f"-I{sysconfig.get_path('include')}",
            f"-I{np.get_include()}",
            "-o",
            str(module),
            str(folder / f"{name}.c"),
        ],
        check=True,
    )
    spec = importlib.util.spec_from_file_location(name, module)
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found  # pickles look there
    spec.loader.exec_module(found)
    return found
