"""What the timing scripts share: CPU seconds, interleaved runs, peak memory, tables."""

import datetime
import gc
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

SHORTEST = 0.05  # seconds; shorter calls are repeated inside one measurement
NOT_MEASURED = (":!benchmarks/results", ":!doc", ":!*.md")


def cpu_seconds(call, loops=1):
    """Measure CPU seconds of one call, averaged over `loops` calls."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        for _ in range(loops):
            call()
        return (time.process_time() - start) / loops
    finally:
        gc.enable()


def interleaved(calls, repeats):
    """Measure CPU seconds of several calls that take turns, in one thread.

    Parameters
    ----------
    calls : dict of str to callable
    repeats : int

    Returns
    -------
    dict of str to list of float
        One measurement a round. The order turns round after each round, so that a
        machine that slows down or speeds up favors nobody. The first call of each,
        which also finds how many loops it needs, is not counted.
    """
    loops, seconds = {}, {name: [] for name in calls}
    names = list(calls)
    with threadpool_limits(1):
        for name, call in calls.items():
            once = cpu_seconds(call)
            loops[name] = max(1, int(np.ceil(SHORTEST / max(once, 1e-6))))
        for i in range(repeats):
            for name in names if i % 2 == 0 else names[::-1]:
                seconds[name].append(cpu_seconds(calls[name], loops[name]))
    return seconds


def median(seconds):
    """Return the median of a list."""
    return statistics.median(seconds)


def spread(seconds):
    """Return smallest and largest of a list relative to its median."""
    middle = median(seconds)
    return f"{min(seconds) / middle - 1:+.0%} {max(seconds) / middle - 1:+.0%}"


_MEMORY = """
import json, sys
sys.path.insert(0, {folder!r})
from common import timing
import numpy as np
{setup}
X, y = timing.load_table({x!r}), np.load({y!r})
make().fit(X[:500].copy(), y[:500].copy())
with timing.Peak() as peak:
    model = make().fit(X, y)
print(json.dumps(peak.megabytes))
"""


class Peak:
    """Peak of this process's memory within a ``with``, beyond what it had, in MB.

    `megabytes` is None where the system does not tell; Linux does.
    """

    megabytes = None

    def __enter__(self):
        self.told = os.access("/proc/self/clear_refs", os.W_OK)
        if self.told:
            Path("/proc/self/clear_refs").write_text("5", "utf-8")  # forget the peak
            self.before = self._status("VmRSS")
        return self

    def __exit__(self, *error):
        if self.told:
            self.megabytes = self._status("VmHWM") - self.before

    def _status(self, field):
        text = Path("/proc/self/status").read_text("utf-8")
        return int(re.search(rf"{field}:\s+(\d+) kB", text).group(1)) / 1024


def peak_memory(setup, X, y):
    """Measure the peak resident memory of one fit beyond its input, in MB.

    A new process loads `X` and `y`, fits a few rows so that everything is imported,
    resets the kernel's record of its peak and fits. Linux only.

    Parameters
    ----------
    setup : str
        Source text that defines `make()`, which returns an estimator.
    X : ndarray or sparse matrix or array
    y : ndarray

    Returns
    -------
    float or None
        None where the system does not tell.
    """
    with tempfile.TemporaryDirectory() as folder:
        x_path, y_path = save_table(folder, X, y)
        script = _MEMORY.format(
            folder=str(Path(__file__).parents[1]), setup=setup, x=x_path, y=y_path
        )
        answer = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
    return json.loads(answer.stdout)


def save_table(folder, X, y):
    """Write a table for another process; return the two paths."""
    paths = [str(Path(folder) / name) for name in ("X.npy", "y.npy")]
    if scipy.sparse.issparse(X):
        paths[0] = str(Path(folder) / "X.npz")
        scipy.sparse.save_npz(paths[0], X, compressed=False)
    else:
        np.save(paths[0], X)
    np.save(paths[1], y)
    return paths


def load_table(path):
    """Load the rows that `save_table` wrote."""
    return scipy.sparse.load_npz(path) if path.endswith(".npz") else np.load(path)


def without_lock():
    """Whether this Python runs without its global lock."""
    return not getattr(sys, "_is_gil_enabled", lambda: True)()


def environment():
    """Return what a figure depends on: versions, processor, load at the start, date."""
    import scipy
    import sklearn

    import skconftree

    processor = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    processor = line.split(":", 1)[1].strip()
                    break
    return {
        "skconftree": skconftree.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version() + "t" * without_lock(),
        "processor": processor,
        "cores": os.cpu_count(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "commit": commit(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "date": datetime.date.today().isoformat(),
    }


def commit(folder=Path(__file__).parents[2]):
    """Return the commit of a folder, with a plus if files are not as it has them.

    Tables of results and the pages that show them do not count, as they change nothing
    that is measured.
    """

    def git(*words):
        return subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        others = git("status", "--porcelain", "--", ".", *NOT_MEASURED)
        return git("describe", "--always", "--exclude=*") + ("+" if others else "")
    except (OSError, subprocess.CalledProcessError):
        return "?"


def print_environment(answer):
    """Print what `environment` says, with a warning on a busy machine."""
    print(", ".join(f"{key} {value}" for key, value in answer.items()))
    if answer["load"] is not None and answer["load"] > 0.6 * answer["cores"]:
        print(f"WARNING: the load is {answer['load']}: these are no figures to quote.")


def write_json(path, answer):
    """Write an answer to a file, unless `path` is None."""
    if path is not None:
        Path(path).write_text(
            json.dumps(answer, indent=1, default=np.generic.item) + "\n"
        )
