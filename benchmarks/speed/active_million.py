"""What a question costs when the pool has a million rows, by every strategy.

    python benchmarks active_million [--rows 1000000] [--only NAME ...] [--quick]

Three hundred rows have a label; ten are asked, answered, and ten asked again, of a
refitted tree, or of a refitted forest of 100 trees where a strategy needs votes or
hypotheses. A process of its own for each; CPU seconds of one thread, and the peak of
memory beyond the table. The limits: a minute and a gigabyte.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from common import options as command
from common.timing import Peak
from threadpoolctl import threadpool_limits

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.active import ActiveLearner
from skconftree.active._registry import STRATEGIES

VOTES = ("vote_entropy", "ec2", "gbs")  # asked of a forest
SCRIPT = [sys.executable, Path(__file__).parents[1], "active_million"]


def concept(n):
    """Rows of 20 features, and two classes on both sides of some planes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20), dtype=np.float32)
    return X, ((X[:, 0] + X[:, 1] > 0) ^ (X[:, 2] > 1)).astype(int)


def asked(strategy, n, n_trees):
    """CPU seconds of two questions, and the peak of memory beyond the table in MB."""
    X, y = concept(n)
    known = np.full(n, None)
    rows = np.random.default_rng(1).choice(n, 300, replace=False)
    known[rows] = y[rows]
    estimator = ConfidenceTreeClassifier(random_state=0)
    if strategy in VOTES:
        estimator = ConfidenceForestClassifier(n_trees, random_state=0)
    learner = ActiveLearner(estimator, strategy=strategy, random_state=0)
    seconds = []
    with Peak() as peak:
        learner.fit(X, known)
        for _ in range(2):
            start = time.process_time()
            rows = learner.query(10)
            seconds.append(time.process_time() - start)
            learner.teach(rows, y[rows])
    return *seconds, peak.megabytes


def main(argv=None):
    """Print the table, or the figures of one strategy."""
    parser = command.parser(__doc__, "quick")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="+", choices=STRATEGIES, metavar="NAME")
    parser.add_argument("--one", choices=STRATEGIES, help="in this process")
    options = parser.parse_args(argv)
    n, n_trees = (2_000, 3) if options.quick else (options.rows, 100)
    if options.one:
        with threadpool_limits(1):
            print(json.dumps(asked(options.one, n, n_trees)))
        return
    quick = ["--quick"] if options.quick else ["--rows", str(n)]
    tables = command.tables("active_million", options, f"{n:,} rows")
    rows = []
    for name in options.only or STRATEGIES:
        answer = subprocess.run(
            [*SCRIPT, "--one", name, *quick], capture_output=True, text=True, check=True
        )
        first, second, peak = json.loads(answer.stdout)
        model = "forest" if name in VOTES else "tree"
        cells = [model, f"{first:.2f}", f"{second:.2f}"]
        rows.append([f'`"{name}"`', *cells, "-" if peak is None else f"{peak:.0f}"])
        print(*rows[-1], sep="  ", flush=True)
    header = ["strategy", "of a", "first question, s", "second", "memory, MB"]
    tables.show("active-million", header, rows)
