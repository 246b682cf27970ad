"""What a tree of 10 billion rows on 1,000 workers exchanges: a plan, and its check.

    python benchmarks plan

The plan is arithmetic. ``plan-passes`` and ``plan-levels`` follow from ``plan-inputs``,
which are assumptions about a table and a cluster, and from how long this machine takes
to count and code a value (``plan-speeds``). A tree is assumed to be balanced, and each
worker to add up its own parts before it sends anything. ``plan-machine`` is the same
arithmetic for smaller tables; its bytes are those that `large` gives a tree.

``plan-checked`` compares the formulas with bytes that were counted. The messages of the
passes before the tree are results of tasks of `skconftree.large.fit` on a Dask
DataFrame, pickled. Those of levels are from a simulation: the rows of a tree that was
fitted are cut into parts, each part counts classes by bins for each node of a level,
and sums meet in groups; they must be the counts of the whole table.
"""

import math
import pickle
import time
from typing import NamedTuple

import numpy as np
from common import options as command

from skconftree import ConfidenceTreeClassifier, large
from skconftree.datasets import make_random_tree_stream
from studies.large import A_CELL, A_ROW, LEAST

CELL = 16  # bytes: a count, and the least and the most bits of its values
MARK = 1 / 8  # and a bit that says whether there are any
CELLS, NEXT_CELLS = 1 << 16, 1 << 8  # of a column; behind a cell in which bins meet
COUNT = 8  # bytes of a sum: more rows than 32 bits hold
CODES = 256  # of a column: bins, and one for no value
SLACK, HEAD = 0.02, 2_000  # a share, and bytes, that pickles have beside the numbers


class Plan(NamedTuple):
    """A table and a cluster."""

    rows: float = 1e10
    columns: int = 100
    classes: int = 2
    max_bins: int = 255
    workers: int = 1000
    joined: int = 8  # results that are added up in one step
    small: float = 2e5  # rows of a node that one worker finishes
    leaf: float = 1e3  # rows of a leaf
    bandwidth: float = 1.25e9  # bytes a second into a worker: 10 gigabits
    hours: float = 1000.0  # between failures of a worker, on average
    a_task: float = 1e-3  # seconds of the scheduler

    @property
    def cells(self):
        """Bytes of the first counts of a worker, at most: if all cells have values."""
        return self.columns * CELLS * (CELL + MARK)

    @property
    def more_cells(self):
        """Bytes of further counts, at most: each edge between bins opens one cell."""
        return self.columns * (self.max_bins - 1) * NEXT_CELLS * (CELL + MARK)

    @property
    def question(self):
        """Bytes that tell a worker which cells are asked for, at most."""
        return self.columns * 4 * (CELLS + 1 + self.max_bins - 1)

    @property
    def floors(self):
        """Bytes of the bins of all columns, which go to each worker."""
        return self.columns * self.max_bins * 4

    @property
    def depth(self):
        """Steps in which the results of all workers become one."""
        return math.ceil(round(math.log(self.workers, self.joined), 9))

    @property
    def levels(self):
        """Levels whose nodes are too large for one worker."""
        return max(math.ceil(math.log2(self.rows / self.small)), 0)

    @property
    def deeper(self):
        """Levels below, in the nodes that one worker finishes."""
        return math.ceil(math.log2(min(self.small, self.rows) / self.leaf))

    def busy(self, speeds):
        """Seconds a worker counts, codes, and grows: in levels, and below."""
        each = self.rows * self.columns / self.workers * 1e-9
        grown = [n / 2 for n in (self.levels, self.deeper)]  # of siblings the smaller
        if self.levels:
            grown[0] += 0.5  # all rows of the root
        return (
            each * speeds["counted"],
            each * speeds["coded"],
            *(each * speeds["in nodes"] * n for n in grown),
        )

    @property
    def joins(self):
        """Tasks that join results in a pass."""
        found, left = 0, self.workers
        while left > 1:
            left = math.ceil(left / self.joined)
            found += left
        return found

    @property
    def n_passes(self):
        """Passes, levels among them."""
        return 5 + self.levels

    @property
    def tasks(self):
        """Tasks of all passes."""
        return self.n_passes * (self.workers + self.joins)

    def counted(self, level):
        """Nodes of a level that are counted: of two siblings the smaller."""
        return 1 if level == 0 else 2 ** (level - 1)

    def counts(self, nodes):
        """Bytes of the counts of nodes."""
        return nodes * self.columns * CODES * self.classes * COUNT

    def by_tree(self, size):
        """Seconds until messages of a size have been added up by a tree of workers."""
        return self.depth * (self.joined - 1) * size / self.bandwidth

    def by_shares(self, size):
        """Seconds if each worker adds up its share of the nodes of all messages."""
        return size * (1 - 1 / self.workers) / self.bandwidth


def measure(plan, repeats):
    """Nanoseconds of the processor that a value takes: counted, coded, in nodes."""
    from skconftree.large._coded_part import Coder

    from skconftree.large._encoding import CellQuery, ValueCounter

    rng = np.random.default_rng(0)
    n, d = 1_000_000, 4
    X = rng.normal(size=(n, d)).astype(np.float32)
    floors = np.linspace(-3.0, 3.0, plan.max_bins).astype(np.float32)
    bits = floors.view(np.uint32)
    bits = np.sort(np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)))
    bits[0] = 0
    coder, codes = Coder(bits, -1), np.empty(n, np.uint8)

    def count():
        values = ValueCounter(CellQuery.at(0, np.zeros(0, np.uint32)))
        for j in range(d):
            values.count(X, j)

    def code():
        for j in range(d):
            coder.code(X, j, codes)

    coded = rng.integers(0, CODES, (d, n)).astype(np.uint8)
    y = rng.integers(0, plan.classes, n).astype(np.uint8)

    def nodes():
        for column in coded:
            np.bincount(column.astype(np.intp) * plan.classes + y)

    found = {}
    for name, task in (("counted", count), ("coded", code), ("in nodes", nodes)):
        took = []
        for _ in range(repeats):
            start = time.process_time()
            task()
            took.append(time.process_time() - start)
        found[name] = 1e9 * np.median(took) / (n * d)
    return found


def size(n_bytes):
    """Write a number of bytes."""
    for unit, one in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= one:
            return f"{n_bytes / one:.3g} {unit}"
    return f"{n_bytes:.0f} B"


def told(n_bytes):
    """Write a number of bytes, of which there may be none."""
    return size(n_bytes) if n_bytes else "-"


def whole(time):
    """Write seconds of the processor."""
    return f"{time:.0f}" if time else "-"


def seconds(time):
    """Write seconds, of which there may be very few."""
    return f"{time:.2g}" if time < 99.5 else f"{time:.0f}"


def passes(plan, speeds):
    """Rows of the table of passes, and seconds of all."""
    counting, coding, grown, finished = plan.busy(speeds)
    found = [
        ("classes", "names of classes", 0.0, 0.0, 0.0),
        ("first 16 bits", "counts of cells", plan.question, plan.cells, counting),
        ("next 8 bits", "counts of cells", plan.question, plan.more_cells, counting),
        ("last 8 bits", "counts of cells", plan.question, plan.more_cells, counting),
        ("codes", "nothing", plan.floors, 0.0, coding),
    ]
    rows, total = [], 0.0
    for name, what, gets, sent, busy in found:
        wire = plan.by_tree(sent)
        total += busy + wire
        way = "a tree" if sent else "-"
        rows.append(
            [name, told(gets), what, told(sent), way, whole(busy), f"{wire:.1f}"]
        )
    tree, wire = 0.0, 0.0
    for level in range(plan.levels):
        sent = plan.counts(plan.counted(level))
        tree += sent
        wire += plan.by_shares(sent)
    total += grown + wire
    rows.append(
        [
            *(f"{plan.levels} levels", "-", "counts of nodes", told(tree), "shares"),
            *(whole(grown), f"{wire:.1f}"),
        ]
    )
    moved = plan.rows * (plan.columns + 1) / plan.workers
    wire = plan.by_shares(moved)
    total += finished + wire
    rows.append(
        [
            *("small nodes", "-", "codes and labels", told(moved), "shares"),
            *(whole(finished), f"{wire:.1f}"),
        ]
    )
    return rows, total


def inputs(plan):
    """Rows of the table of what is assumed."""
    return [
        ["rows", f"{plan.rows:,.0f}"],
        ["columns of numbers", plan.columns],
        ["classes", plan.classes],
        ["bins of a column, at most", plan.max_bins],
        ["workers, of one core each", f"{plan.workers:,}"],
        ["results added up in one step", plan.joined],
        ["rows of a node that one worker finishes", f"{plan.small:,.0f}"],
        ["rows of a leaf", f"{plan.leaf:,.0f}"],
        ["bytes a second into a worker", size(plan.bandwidth)],
        ["hours between two failures of a worker", f"{plan.hours:,.0f}"],
        ["milliseconds of the scheduler for a task", f"{1000 * plan.a_task:g}"],
    ]


def levels(plan):
    """Rows of the table of levels."""
    rows = []
    for level in sorted({*range(0, plan.levels, 3), plan.levels - 1}):
        sent = plan.counts(plan.counted(level))
        tree, shares = plan.by_tree(sent), plan.by_shares(sent)
        rows.append(
            [
                level,
                f"{2**level:,}",
                f"{plan.rows / 2**level:,.0f}",
                size(sent),
                size(sent * plan.workers),
                seconds(tree),
                seconds(shares),
            ]
        )
    return rows


def driver(plan, speeds):
    """Rows of the table of the driver's load and of failures."""
    total = total_seconds(plan, speeds)
    failures = plan.workers * total / 3600 / plan.hours
    again = plan.rows * plan.columns / plan.workers
    return [
        ["workers", f"{plan.workers:,}"],
        ["steps of the reduction tree", plan.depth],
        ["tasks that join results, a pass", plan.joins],
        ["passes, with levels", plan.n_passes],
        ["tasks in all", f"{plan.tasks:,}"],
        ["seconds of the scheduler", f"{plan.tasks * plan.a_task:.0f}"],
        ["to the driver in a pass over cells, by a tree", size(plan.cells)],
        ["to the driver without a tree", size(plan.cells * plan.workers)],
        ["codes on a worker", size(plan.rows * (plan.columns + 1) / plan.workers)],
        ["labels, two bytes each, if the driver has them", size(2 * plan.rows)],
        ["codes, if the driver has them", size(plan.rows * plan.columns)],
        ["seconds in all, without reading files", f"{total:.0f}"],
        ["failures of a worker in that time", f"{failures:.2f}"],
        ["values to read again after one", f"{again:,.0f}"],
    ]


def machines(plan, speeds, columns=20, few=16):
    """Rows of the table of one machine beside a few workers."""
    rows = []
    for n in (1e6, 1e7, 5e7, 1e8, 1e9):
        one = plan._replace(rows=n, columns=columns, workers=1)
        some = one._replace(workers=few)
        taken = LEAST * 2**20 + n * (columns * A_CELL["tree"] + A_ROW["tree"])
        found = [f"{n:,.0f}", size(taken), seconds(total_seconds(one, speeds))]
        rows.append([*found, seconds(total_seconds(some, speeds))])
    return rows


def total_seconds(plan, speeds):
    """Seconds of a plan, with those of the scheduler if there are several workers."""
    total = passes(plan, speeds)[1]
    return total + plan.tasks * plan.a_task if plan.workers > 1 else total


# -- the check -----------------------------------------------------------------------


def counted_messages(n_parts, n, d):
    """Sizes of what tasks give to others: of parts, and of joined results."""
    import dask
    import dask.dataframe as dd
    import pandas as pd
    from dask.callbacks import Callback

    from skconftree.large._encoding import ColumnCounts

    X, y = make_random_tree_stream(n, n_features=d, random_state=0)
    X = X.astype(np.float32)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame["y"] = y
    seen = []

    def look(key, result, graph, state, worker):
        if isinstance(result, dict) and all(
            isinstance(one, ColumnCounts) for one in result.values()
        ):
            marks = sum(len(one.marks) for one in result.values())
            cells = sum(len(one.cells.counts) for one in result.values())
            expected = marks + cells * CELL
            seen.append((marks, expected, len(pickle.dumps(result, 5))))

    with dask.config.set(scheduler="synchronous"), Callback(posttask=look):
        large.fit(
            ConfidenceTreeClassifier(max_bins=255),
            dd.from_pandas(frame, npartitions=n_parts),
            target="y",
        )
    return X.shape[1], seen


def check_cells(plan, n_parts, n, d):
    """Compare messages of the passes before the tree with the formula."""
    d, seen = counted_messages(n_parts, n, d)
    small = plan._replace(columns=d, workers=n_parts)
    stages = {}
    for marks, *sizes in seen:
        stages.setdefault(marks, []).append(sizes)
    rows = []
    names = ("first 16 bits", "next 8 bits", "last 8 bits")
    for what, (marks, sizes) in zip(names, stages.items(), strict=False):
        if 8 * marks * (CELL + MARK) > max(small.cells, small.more_cells):
            raise AssertionError("there are more cells than the plan has")
        expected, found = map(round, map(float, np.mean(sizes, axis=0)))
        rows.append([f"{what}: bytes of a message", expected, found])
        joins = len(sizes) - n_parts
        rows.append([f"{what}: tasks that join", small.joins, joins])
    return rows


def check_levels(plan, n_parts, n, d):
    """Compare counts of parts, level by level, with the formula and the whole."""
    X, y = make_random_tree_stream(n, n_features=d, random_state=1)
    X = X.astype(np.float32)
    d = X.shape[1]
    small = plan._replace(
        rows=n, columns=d, workers=n_parts, small=n / 32, classes=len(np.unique(y))
    )
    tree = ConfidenceTreeClassifier(max_bins=plan.max_bins).fit(X, y).tree_
    codes = np.empty((n, d), np.intp)
    for j in range(d):
        edges = np.unique(np.quantile(X[:, j], np.linspace(0, 1, plan.max_bins + 1)))
        codes[:, j] = np.searchsorted(edges[1:-1], X[:, j], side="right")
    parts = np.array_split(np.arange(n), n_parts)
    node, most, sent, nodes = np.zeros(n, np.intp), 0, 0, 0
    left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
    feature, threshold = np.asarray(tree.feature), np.asarray(tree.threshold)
    for level in range(small.levels):
        open_nodes = [
            one for one in np.unique(node) if (node == one).sum() > small.small
        ]
        counted = _smaller(open_nodes, node, left, right) if level else open_nodes
        messages = [
            _counts(codes[rows], y[rows], node[rows], counted, small) for rows in parts
        ]
        sent += sum(len(pickle.dumps(one, 5)) for one in messages)
        nodes += len(counted)
        while len(messages) > 1:
            messages = [
                np.sum(messages[first : first + plan.joined], axis=0)
                for first in range(0, len(messages), plan.joined)
            ]
        whole = _counts(codes, y, node, counted, small)
        if not np.array_equal(messages[0], whole):
            raise AssertionError("sums of parts are not the counts of the whole")
        most = max(most, len(counted))
        inner = left[node] >= 0
        rows = np.flatnonzero(inner)
        at = node[rows]
        goes = X[rows, feature[at]] <= threshold[at]
        node[rows] = np.where(goes, left[at], right[at])
    return [
        [
            "levels: counted nodes, at most",
            sum(map(small.counted, range(small.levels))),
            nodes,
        ],
        ["levels: bytes of all messages", round(small.counts(nodes) * n_parts), sent],
    ]


def _smaller(nodes, node, left, right):
    # Of two siblings the one with fewer rows; the other is the rest of their parent.
    sizes = {one: int((node == one).sum()) for one in nodes}
    found = []
    for parent in np.flatnonzero(left >= 0).tolist():
        pair = [one for one in (left[parent], right[parent]) if one in sizes]
        if pair:
            both = left[parent], right[parent]
            found.append(min(both, key=lambda one: (node == one).sum()))
    return found


def _counts(codes, y, node, nodes, plan):
    found = np.zeros((len(nodes), plan.columns, CODES, plan.classes), np.int64)
    for place, one in enumerate(nodes):
        rows = node == one
        for j in range(plan.columns):
            cells = codes[rows, j] * plan.classes + y[rows]
            made = np.bincount(cells, minlength=CODES * plan.classes)
            found[place, j] = made.reshape(CODES, plan.classes)
    return found


def main(argv=None):
    """Show the plan and its check."""
    parser = command.parser(__doc__, "quick", repeats=5)
    options = parser.parse_args(argv)
    plan = Plan()
    tables = command.tables("plan", options)
    speeds = measure(plan, 1 if options.quick else options.repeats)
    rows, _ = passes(plan, speeds)
    tables.show("plan-inputs", ["assumed", "number"], inputs(plan))
    header = ["pass", "a worker gets", "and sends", "bytes", "they meet by"]
    header += ["CPU s a worker", "s on the wire"]
    tables.show("plan-passes", header, rows)
    header = ["level", "nodes", "rows of a node", "bytes a worker", "of all workers"]
    tables.show("plan-levels", [*header, "s by a tree", "s by shares"], levels(plan))
    tables.show("plan-driver", ["what", "number"], driver(plan, speeds))
    header = ["rows of 20 columns", "memory of one machine", "s on one core"]
    rows = machines(plan, speeds)
    tables.show("plan-machine", [*header, "s on 16 workers"], rows)
    rows = [[name, f"{one:.2g}"] for name, one in speeds.items()]
    tables.show("plan-speeds", ["a value is", "ns of the processor"], rows)
    n = 20_000 if options.quick else 200_000
    checked = [*check_cells(plan, 64, n, 6), *check_levels(plan, 16, n, 6)]
    rows = [
        [what, f"{expected:,}", f"{found:,}", f"{found / expected:.3f}"]
        for what, expected, found in checked
    ]
    header = ["what", "by the formula", "counted", "ratio"]
    tables.show("plan-checked", header, rows)
    for what, expected, found in checked:
        if "at most" in what:
            assert found <= expected, what
        else:
            assert abs(found - expected) <= SLACK * expected + HEAD, what


if __name__ == "__main__":
    main()
