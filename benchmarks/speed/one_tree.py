"""One tree by two threads beside the same tree by one.

    python benchmarks one_tree [--repeats 4]

A million rows of 20 numbers, each value by itself and in 255 bins; and smaller tables.
Fits with one thread and with two take turns. What is shown of them are the smallest
figures:

- seconds by the clock, which say what two threads are worth only where nobody else
  wants the two cores;
- CPU seconds of one thread, of two threads together, and on the longest way through the
  work of two: those of the calling thread while it is alone, and of the busier thread
  while both are at work. That is what the clock would show on cores that are free, as
  long as the memory serves both.
"""

import time
from unittest import mock

import numpy as np
from common import options as command
from common.generators import continuous
from skconftree.utils._team import ThreadTeam
from threadpoolctl import threadpool_limits

from skconftree import ConfidenceTreeClassifier

RUN = ThreadTeam.run
TREES = {
    "default": {},
    "default, 255 bins": {"max_bins": 255},
    "no bound": {"bound": None},
    "no bound, 255 bins": {"bound": None, "max_bins": 255},
}
WORK = [
    *[(1_000_000, name, settings) for name, settings in TREES.items()],
    (100_000, "default", {}),
    (10_000, "default, which looks ahead", {}),
    (2_000, "no bound", {"bound": None}),
    (500, "default, which looks ahead", {}),
    (150, "default, which looks ahead", {}),
]
FEATURES = 20
SHORTEST = 0.3  # seconds of what is measured; shorter fits are repeated in it


class Way:
    """CPU seconds of two threads: of all work, on the longest way, and in parts."""

    def __init__(self):
        self.shared = self.busier = self.mine = 0.0

    def method(self):
        """Make a replacement of `ThreadTeam.run` that sums the time of each thread."""

        def run(team, do, n_parts):
            seconds = {}

            def timed(thread, part):
                start = time.thread_time()
                do(thread, part)
                taken = time.thread_time() - start
                seconds[thread] = seconds.get(thread, 0.0) + taken

            RUN(team, timed, n_parts)
            self.shared += sum(seconds.values())
            self.busier += max(seconds.values())
            self.mine += seconds.get(0, 0.0)

        return run


def measure(X, y, settings, n_jobs, loops):
    """Find clock, CPU seconds and longest way of a fit, and how much is shared."""
    way = Way()
    tree = ConfidenceTreeClassifier(n_jobs=n_jobs, **settings)
    with mock.patch.object(ThreadTeam, "run", way.method()), threadpool_limits(1):
        clock, cpu, own = time.perf_counter(), time.process_time(), time.thread_time()
        for _ in range(loops):
            tree.fit(X, y)
        own, cpu = time.thread_time() - own, time.process_time() - cpu
        clock = time.perf_counter() - clock
    longest = own - way.mine + way.busier
    return np.array([clock, cpu, longest]) / loops, way.shared / cpu, tree


def main(argv=None):
    """Measure all tables and show the figures."""
    parser = command.parser(__doc__, "quick", repeats=4)
    options = parser.parse_args(argv)
    results = command.tables(
        "one_tree", options, f"smallest of {options.repeats} runs that take turns"
    )
    rows = []
    for n_rows, name, settings in WORK:
        n_rows = min(n_rows, 20_000) if options.quick else n_rows
        X, y = continuous(n_rows, FEATURES)
        (clock, *_), _, expected = measure(X, y, settings, 1, 1)
        loops = int(np.ceil(SHORTEST / clock))
        one, two, shares = [], [], []
        for _ in range(options.repeats):
            one.append(measure(X, y, settings, 1, loops)[0])
            figures, share, tree = measure(X, y, settings, 2, loops)
            if tree.tree_.__getstate__() != expected.tree_.__getstate__():
                raise RuntimeError("Two threads have grown another tree.")
            two.append(figures)
            shares.append(share)
        one, two = np.min(one, axis=0), np.min(two, axis=0)
        rows.append(
            [
                f"{n_rows:,}",
                name,
                *(f"{x:.2g}" for x in (one[0], two[0])),
                f"{one[0] / two[0]:.2f}",
                *(f"{x:.2g}" for x in (one[1], two[1], two[2])),
                f"{one[1] / two[2]:.2f}",
                f"{np.median(shares):.0%}",
            ]
        )
        print(rows[-1], flush=True)
    header = ["rows", "tree", "one thread, clock", "two, clock", "times shorter"]
    header += ["one thread, CPU", "two, CPU", "two, longest way", "times shorter, CPU"]
    header += ["work that is shared"]
    results.show("one-tree", header, rows)
