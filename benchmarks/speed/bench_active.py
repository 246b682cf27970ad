"""What a question and an answer cost in active learning with a large pool.

CPU seconds, medians. A pool of 1,000,000 rows and 20 features is indexed by a tree of
about 95 leaves; a learner that grows its tree asks leaf by leaf and is taught one label
at a time; a credible tree weighs its tests by the pool and learns rows of it. Memory is
that of the index, without the table.

    python benchmarks bench_active [--repeats 5] [--quick]
"""

import time

import numpy as np
from common import options as command
from common.timing import interleaved, median
from threadpoolctl import threadpool_limits

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.active import ActiveLearner
from skconftree.bounds import CredibleBound


def table(n, seed=0):
    """Rows of a concept with many small boxes, of which a tenth is labeled wrongly."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 20), dtype=np.float32)
    y = (np.floor(4 * X[:, 0]) + np.floor(3 * X[:, 1]) + np.floor(4 * X[:, 2])) % 2
    y = (y > 0) ^ (rng.random(n) < 0.1)
    return X, y.astype(int)


def each(call, n):
    """Median CPU seconds of calls that differ."""
    out = []
    for i in range(n):
        start = time.process_time()
        call(i)
        out.append(time.process_time() - start)
    return median(out)


def indexed(X, y, repeats):
    """Index a pool, ask it, follow a split."""
    tree = ConfidenceTreeClassifier(bound=None, max_leaf_nodes=95, random_state=0)
    tree.fit(X[:50_000], y[:50_000])
    seconds = interleaved(
        {"index": lambda: tree.index_rows(X), "apply": lambda: tree.apply(X)}, repeats
    )
    index = tree.index_rows(X)
    leaf = int(index.counts().argmax())
    yield "index, built", "150 ms", median(seconds["index"])
    yield "apply, for comparison", "-", median(seconds["apply"])
    yield "index, bytes a row", "9", index.n_bytes / len(X)
    yield "row of a leaf", "10 us", each(lambda i: index.draw(leaf, i), 2000)
    yield "row taken out", "-", each(index.take, 2000)
    pool = X[:100_000]
    splits = []
    for seed in range(repeats):
        tree = ConfidenceTreeClassifier("gtest", delta=0.9, grace_period=200)
        tree.partial_fit(*table(100, seed), classes=[0, 1])
        index = tree.index_rows(pool)
        index.update()
        step = 0
        while tree.tree_.node_count == 1 and step < 200:
            step += 1
            rows, _ = table(100, 1000 + 200 * seed + step)
            tree.partial_fit(rows, (rows[:, 3] > 0.5).astype(int))
        splits.append(each(lambda _, index=index: index.counts(), 1))
    yield "split of 100,000 rows", "3 ms", median(splits)


def taught(X, y, n):
    """Ask and answer, with a tree that grows."""
    tree = ConfidenceTreeClassifier(
        "gtest", delta=0.9, grace_period=20, leaf_memory="rows", random_state=0
    )
    learner = ActiveLearner(
        tree, strategy="leaf_risk", refit=False, classes=np.unique(y), random_state=0
    )
    known = np.full(len(X), None)
    known[:500] = y[:500]
    learner.fit(X, known)
    learner.query()
    asking, teaching = [], []
    for _ in range(n):
        start = time.process_time()
        rows = learner.query()
        middle = time.process_time()
        learner.teach(rows, y[rows])
        asking.append(middle - start)
        teaching.append(time.process_time() - middle)
    undoing = each(lambda _: learner.undo(), 1)
    return median(asking), median(teaching), undoing


def by_leaves(X, y, n):
    """Ask leaf by leaf, two classes and three."""
    asking, teaching, undoing = taught(X, y, n)
    yield "query by leaves, a row", "100 us", asking
    yield "teach, a label", "100 us", teaching
    yield f"undo: replay of {n:,} answers", "1 s", undoing
    asking, _, _ = taught(X, np.where(X[:, 3] > 0.7, 2, y), n)
    yield "query by leaves of three classes, a row", "100 us", asking


def credible(X, y, n):
    """Learn rows of the pool one by one, each of which may split its leaf."""
    for n_pool in (10_000, len(X)):
        tree = ConfidenceTreeClassifier(
            CredibleBound(), grace_period=1, leaf_memory="rows", random_state=0
        )
        pool = X[:n_pool]
        tree.partial_fit(pool[:2], y[:2], classes=[0, 1], X_pool=pool)
        rows = np.random.default_rng(0).permutation(np.arange(2, n_pool))[:n]

        def learn(i, tree=tree, rows=rows):
            tree.partial_fit(None, y[rows[i : i + 1]], from_pool=rows[i : i + 1])

        yield f"credible, pool of {n_pool:,}, a row", "1 ms", each(learn, n)


def scored(X, y, repeats):
    """Ask by margins."""
    tree = ConfidenceTreeClassifier(random_state=0)
    known = np.full(len(X), None)
    known[:1000] = y[:1000]
    learner = ActiveLearner(tree, strategy="margin", tie_break="random")
    learner.fit(X, known)
    model = learner.estimator_
    seconds = interleaved(
        {"margin": learner.query, "proba": lambda: model.predict_proba(X)}, repeats
    )
    name = f"margin, {len(X):,} rows"
    yield name, "-", median(seconds["margin"])
    yield "predict_proba of them", "-", median(seconds["proba"])


def forests(X, y, n_trees):
    """Follow a forest that grows, and ask by its margins."""
    forest = ConfidenceForestClassifier(
        n_trees, grace_period=50, leaf_prediction="majority", random_state=0
    )
    known = np.full(len(X), None)
    known[:3000] = y[:3000]
    learner = ActiveLearner(
        forest, strategy="margin", refit=False, classes=[0, 1], random_state=0
    )
    rows = learner.fit(X, known).query()
    index = learner.estimator_.index_rows(X)
    index.update()
    following, asking = [], []
    for _ in range(20):
        learner.teach(rows, y[rows])
        following.append(each(lambda _: index.update(), 1))
        start = time.process_time()
        rows = learner.query()
        asking.append(time.process_time() - start)
    name = f"forest of {n_trees}, {len(X):,} rows"
    yield f"{name}, after a label", "-", median(following)
    yield f"{name}, next query by margins", "100 ms", median(asking)


def told(name, value):
    """Seconds, or bytes, as a cell."""
    if "bytes" in name:
        return f"{value:.1f}"
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if value * factor >= 0.5:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def main(argv=None):
    """Print the table."""
    options = command.parser(__doc__, "quick", repeats=5).parse_args(argv)
    tables = command.tables("bench_active", options)
    n = 50_000 if options.quick else 1_000_000
    X, y = table(n)
    small, some = X[: max(n // 10, 20_000)], y[: max(n // 10, 20_000)]
    rows = []
    with threadpool_limits(1):
        for part in (
            indexed(X, y, options.repeats),
            by_leaves(X, y, 50 if options.quick else 1000),
            credible(small, some, 20 if options.quick else 300),
            scored(small, some, options.repeats),
            forests(X, y, 5 if options.quick else 100),
        ):
            for name, target, value in part:
                rows.append([name, target, told(name, value)])
                print(*rows[-1], sep="  ", flush=True)
    tables.show("active-speed", ["what", "target", "CPU time"], rows)
