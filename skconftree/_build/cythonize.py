"""Make C of all our Cython files, for the build alone.

``cythonize.py DEPFILE [options of cython ...] -- file.pyx ... file.c ...``

A start of Cython takes three quarters of a second, and most of our files half of
that: so one process starts it, and a worker for each core makes one file after the
other. Only files are made whose C is older than what they were made of, or was made
with other options, so that the C compiler finds the others as it left them.
"""

import multiprocessing
import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from Cython import __version__
from Cython.Compiler import Main


def noted(made):
    """Where ``cython -M`` notes what a C file was made of."""
    return Path(f"{made}.dep")


def dependencies(made):
    """Their paths as make reads them: a blank inside one has a backslash before it."""
    _, _, files = noted(made).read_text("utf-8").replace("\\\n", " ").partition(": ")
    return re.split(r"(?<!\\)\s+", files.strip())


def path_of(dependency):
    return Path(dependency.replace("\\ ", " "))


def is_stale(made):
    if not (noted(made).exists() and made.exists()):
        return True
    age = made.stat().st_mtime_ns
    paths = map(path_of, dependencies(made))
    return not all(path.exists() and path.stat().st_mtime_ns <= age for path in paths)


def make(task):
    """Run the command ``cython``; whether it succeeds."""
    options, source, made = task
    noted(made).unlink(missing_ok=True)  # until it has, the file is stale
    sys.argv = ["cython", "-M", *options, source, "-o", str(made)]
    try:
        Main.main(command_line=1)
    except SystemExit as done:
        if done.code:
            noted(made).unlink(missing_ok=True)
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

    # What was made by another Cython, or with other options, is stale as a whole.
    note = Path(f"{depfile}.options")
    now = "\n".join([__version__, *options])
    if not note.exists() or note.read_text("utf-8") != now:
        for made in targets:
            noted(made).unlink(missing_ok=True)
        note.write_text(now, "utf-8")
    todo = [
        (options, source, made)
        for source, made in zip(sources, targets, strict=True)
        if is_stale(made)
    ]

    # Where processes are forked, the workers need no start of their own.
    method = "fork" if sys.platform == "linux" else None
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(max(1, min(cores(), len(todo))), context) as workers:
        if not all(list(workers.map(make, todo))):
            return 1

    known = sorted({file for made in targets for file in dependencies(made)})
    Path(depfile).write_text(f"{targets[0]}: {' '.join(known)}\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
