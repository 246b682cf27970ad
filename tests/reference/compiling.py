"""Compile a file outside the package, as users do who extend it."""

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
    return compiled_together(folder, {name: source})[name]


def compiled_together(folder, sources):
    """Compile files by their names, and import them.

    One run of Cython reads what they cimport once.
    """
    pytest.importorskip("Cython", reason="compiling a plug-in needs Cython")
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    if shutil.which(compiler[0]) is None:
        pytest.skip("compiling a plug-in needs a C compiler")
    paths = [folder / f"{name}.pyx" for name in sources]
    for path, source in zip(paths, sources.values(), strict=True):
        path.write_text(source, encoding="utf-8")
    package = Path(skconftree.__file__).parents[1]
    cython = [sys.executable, "-P", "-m", "cython", "-3", "-I", str(package)]
    subprocess.run([*cython, *map(str, paths)], check=True)
    return {name: _linked(compiler, folder, name) for name in sources}


def _linked(compiler, folder, name):
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
