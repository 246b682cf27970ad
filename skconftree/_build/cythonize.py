"""Translate all Cython files of the package to C, as a step of the build.

``cythonize.py DEPFILE [options of cython ...] -- file.pyx ... file.c ...``

Starting Cython takes longer than translating most files. Therefore, this process starts
it once, and one worker per core translates files. A file is translated only if its C
file is older than one of its dependencies, or was created with other options; otherwise
the C file does not change, and the C compiler skips it. DEPFILE lists all
dependencies for the build tool.
"""

import multiprocessing
import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from Cython import __version__
from Cython.Compiler import Main


def dependency_file(c_file):
    """File in which ``cython -M`` lists the dependencies of a C file."""
    return Path(f"{c_file}.dep")


def dependencies(c_file):
    """Dependencies in the syntax of make: a blank in a path follows a backslash."""
    _, _, files = (
        dependency_file(c_file).read_text("utf-8").replace("\\\n", " ").partition(": ")
    )
    return re.split(r"(?<!\\)\s+", files.strip())


def path_of(dependency):
    return Path(dependency.replace("\\ ", " "))


def is_stale(c_file):
    if not (dependency_file(c_file).exists() and c_file.exists()):
        return True
    age = c_file.stat().st_mtime_ns
    paths = map(path_of, dependencies(c_file))
    return not all(path.exists() and path.stat().st_mtime_ns <= age for path in paths)


def make(task):
    """Run the command ``cython``; return whether it succeeded."""
    options, source, c_file = task
    dependency_file(c_file).unlink(
        missing_ok=True
    )  # the file is stale until the command has succeeded
    sys.argv = ["cython", "-M", *options, source, "-o", str(c_file)]
    try:
        Main.main(command_line=1)
    except SystemExit as done:
        if done.code:
            dependency_file(c_file).unlink(missing_ok=True)
            return False
    return True


def cores():
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def main(depfile, *arguments):
    split = arguments.index("--")
    options, files = list(arguments[:split]), arguments[split + 1 :]
    sources = files[: len(files) // 2]
    targets = [Path(file) for file in files[len(files) // 2 :]]

    # All C files are stale after a change of the version of Cython or of the options.
    options_file = Path(f"{depfile}.options")
    now = "\n".join([__version__, *options])
    if not options_file.exists() or options_file.read_text("utf-8") != now:
        for c_file in targets:
            dependency_file(c_file).unlink(missing_ok=True)
        options_file.write_text(now, "utf-8")
    todo = [
        (options, source, c_file)
        for source, c_file in zip(sources, targets, strict=True)
        if is_stale(c_file)
    ]

    # Forked workers do not have to start Python and Cython again.
    method = "fork" if sys.platform == "linux" else None
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(max(1, min(cores(), len(todo))), context) as workers:
        if not all(list(workers.map(make, todo))):
            return 1

    known = sorted({file for c_file in targets for file in dependencies(c_file)})
    Path(depfile).write_text(f"{targets[0]}: {' '.join(known)}\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
