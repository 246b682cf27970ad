"""The build regenerates C code after changes, with the required options."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # Cython begins again in each of many processes
ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "skconftree" / "_build" / "cythonize.py"

pytest.importorskip("Cython", reason="making C files needs Cython")


class Build:
    """A package of two modules, one of which has a file of declarations."""

    def __init__(self, folder):
        self.folder = folder
        self.package = folder / "a folder" / "package"
        self.package.mkdir(parents=True)
        (self.package / "__init__.py").touch()
        self.write("one.pxd", "cdef int twice(int x) noexcept nogil\n")
        self.write("one.pyx", "cdef int twice(int x) noexcept nogil:\n    return 2\n")
        self.write("two.pyx", "def f(int x):\n    return x + 1\n")
        self.made = {name: folder / f"{name}.c" for name in ("one", "two")}
        self.depfile = folder / "made.dep"

    def write(self, name, text):
        (self.package / name).write_text(text, "utf-8")

    def run(self, *options):
        """Which files were made, whether all could be, and what was said."""
        before = {name: self.age(name) for name in self.made}
        done = subprocess.run(
            [
                *(sys.executable, "-P", SCRIPT, self.depfile, "-3", *options, "--"),
                *(self.package / f"{name}.pyx" for name in self.made),
                *self.made.values(),
            ],
            cwd=self.folder,  # as ninja does
            capture_output=True,
            text=True,
            timeout=120,
        )
        changed = [name for name in self.made if self.age(name) != before[name]]
        return changed, done.returncode == 0, done.stderr

    def age(self, name):
        return self.made[name].stat().st_mtime_ns if self.made[name].exists() else None


def test_what_has_changed(tmp_path):
    build = Build(tmp_path)
    assert build.run() == (["one", "two"], True, "")
    assert build.run() == ([], True, "")
    build.write("two.pyx", "def f(int x):\n    return x + 2\n")
    assert build.run() == (["two"], True, "")
    assert "one.pxd" in build.depfile.read_text("utf-8")
    build.write("one.pxd", "cdef int twice(int x) noexcept nogil\n\n")
    assert build.run() == (["one"], True, "")
    assert build.run("-Xwraparound=False") == (["one", "two"], True, "")


def test_what_does_not_compile(tmp_path):
    build = Build(tmp_path)
    build.write("two.pyx", "def f(:\n")
    for _ in range(2):  # it is not taken for made by the next run
        _, made, said = build.run()
        assert not made
        assert "two.pyx:1:" in said
    build.write("two.pyx", "def f(int x):\n    return x\n")
    assert build.run() == (["two"], True, "")


@pytest.mark.skipif(sys.platform == "win32", reason="its compiler has no such option")
def test_products_and_sums_are_rounded_each(tmp_path):
    """On every processor, also where one instruction does both and rounds once."""
    for tool in ("mesonbuild", "ninja"):
        pytest.importorskip(tool, reason="setting up a build needs meson and ninja")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(
        [sys.executable, "-P", "-m", "mesonbuild.mesonmain", "setup", tmp_path, ROOT],
        check=True,
        capture_output=True,
        env={**os.environ, "PATH": path},
        timeout=120,
    )
    units = json.loads((tmp_path / "compile_commands.json").read_text("utf-8"))
    assert len(units) > 50
    assert all("-ffp-contract=off" in unit["command"].split() for unit in units)
