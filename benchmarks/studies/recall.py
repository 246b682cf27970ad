"""Recall of a rare class: how often its limit fails, and what certifying costs.

Sessions are simulated: a query strategy selects the rows of a pool in the order of a
score, and finds positives until none of the last 50 labels is positive. Then all rows
are drawn at random, until the lower limit of the recall (`RecallAbove`) is 80%. With
the strategy "random rows from the start", a fifth of all rows is drawn at random. A
limit fails if it is above the true recall at any time of a session. The costs are
random rows until the limit reaches 80%, compared with an exact test of the recall at
the end of discovery that is computed once, with the number of rows that it needs. The
usual heuristic stops at the end of discovery: its true recall has no limit.

    python benchmarks recall [--sessions 1000] [--part sessions]

The largest pools have a tenth of the sessions. The part "example" is one session with a
classifier: the eights among the digits of scikit-learn.
"""

from copy import copy

import numpy as np
from common import options as command
from common.timing import print_environment
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skconftree.active import (
    ActiveLearner,
    ArrayOracle,
    MostLikelySampling,
    RecallAbove,
)
from skconftree.active.pool._recall import PositivesLimit, largest_total

POOLS = {2_000: (20, 100), 10_000: (50, 400), 50_000: (1000,)}  # 1 positive in
SCORES = {  # mean score of positive rows, in standard deviations
    "good score": 4.0,
    "fair score": 2.0,
    "score of half of them": None,
    "random": 0.0,
    "random rows from the start": 4.0,
}
MANY_ROWS = 20_000
CONFIDENCE, RECALL, PATIENCE, SHARE = 0.95, 0.8, 50, 0.2
DIGIT, EVERY = 8, 10  # of the example


def ordered(n_rows, n_positive, strategy, rng):
    """Whether each row is positive, in the order of a strategy."""
    is_positive = np.zeros(n_rows, dtype=bool)
    is_positive[:n_positive] = True
    shift = SCORES[strategy]
    if shift is None:  # the other half looks like the negatives
        shift = 4.0 * (np.arange(n_rows) < n_positive / 2)
    score = rng.normal(size=n_rows) + shift * is_positive
    return is_positive[np.argsort(-score, kind="stable")]


def discover(is_positive, share, limit, n_positive, rng):
    """Find positives until none of the last rows is positive; label the others later.

    Returns which rows are left, and whether the limit failed.
    """
    is_left, n_left = np.ones(len(is_positive), dtype=bool), len(is_positive)
    first = n_since = 0
    failed = False
    while n_left and (n_since < PATIENCE or limit.n_found == 0):
        is_random = rng.random() < share
        if is_random:
            i = int(rng.choice(np.flatnonzero(is_left)))
        else:
            while not is_left[first]:
                first += 1
            i = first
        found = bool(is_positive[i])
        if is_random:
            limit.draw(n_left, int(not found), found)
            failed |= limit.limit < n_positive
        elif found:
            limit.add_found()
        is_left[i] = False
        n_left -= 1
        n_since = 0 if found else n_since + 1
    return is_left, failed


def session(n_rows, n_positive, strategy, rng):
    """Simulate a session.

    Returns whether the limit failed, the recall after discovery, the random rows for
    certifying, those of an exact test, and the recall at the end.
    """
    is_positive = ordered(n_rows, n_positive, strategy, rng)
    share = SHARE if strategy == "random rows from the start" else 0.0
    limit = PositivesLimit(n_rows, 1.0 - CONFIDENCE)
    is_left, failed = discover(is_positive, share, limit, n_positive, rng)
    n_found, n_left = limit.n_found, int(is_left.sum())
    missing = largest_total(RECALL, n_found) + 1 - n_found
    # rows without a positive that an exact test of this number of missing ones needs
    none = np.cumsum(np.log1p(-missing / np.arange(n_left, missing, -1.0)))
    exact = 1 + int(np.searchsorted(-none, -np.log(1.0 - CONFIDENCE)))
    # the rows left in random order: the negatives before each positive
    n_missing = n_positive - n_found
    positions = np.sort(rng.choice(n_left, n_missing, replace=False))
    gaps = np.diff(np.concatenate([[-1], positions, [n_left]])) - 1
    n_random = 0
    for i, gap in enumerate(gaps):
        left, before = n_left - n_random, copy(limit)
        limit.draw(left, int(gap))
        if limit.n_found / limit.limit >= RECALL:
            n_negative = before.n_draws(RECALL, left)
            before.draw(left, n_negative)
            limit, n_random = before, n_random + n_negative
            failed |= limit.limit < n_positive
            break
        is_last = i == n_missing
        limit.draw(left - int(gap), 0, not is_last)
        failed |= limit.limit < n_positive
        n_random += int(gap) + (not is_last)
    ratio = n_random / exact if exact and limit.n_found == n_found else np.nan
    return [
        *(failed, n_found / n_positive, n_random, ratio),
        limit.n_found / n_positive,
    ]


def example():
    """Estimate, limit and true recall of one session, after every tenth label."""
    X, y = load_digits(return_X_y=True)
    y = np.where(y == DIGIT, "yes", "no")
    classifier = make_pipeline(StandardScaler(), LogisticRegression())
    learner = ActiveLearner(
        classifier, strategy=MostLikelySampling("yes"), random_state=0
    ).fit(X)
    rule = RecallAbove("yes", recall=RECALL, confidence=CONFIDENCE, certify=True)
    rows = []
    while not rows or (rows[-1][0] == learner.n_labeled_ and not learner.reached(rule)):
        learner.run(ArrayOracle(y), learner.n_labeled_ + EVERY, rule)
        report = learner.recall_report("yes", confidence=CONFIDENCE)
        shares = (
            report.n_found / (y == "yes").sum(),
            report.estimate if report.estimate is not None else np.nan,
            report.lower_limit,
        )
        cells = ["" if np.isnan(share) else f"{100 * share:.1f}" for share in shares]
        rows.append([report.n_labeled, *cells, report.n_random])
        print(*rows[-1], sep=" | ", flush=True)
    return rows


PARTS = "sessions", "example"


def main(argv=None):
    """Run the sessions and print the tables."""
    parser = command.parser(__doc__, "quick")
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    options = parser.parse_args(argv)
    n_all = 2 if options.quick else options.sessions
    note = f"confidence {CONFIDENCE}, recall {RECALL}"
    tables = command.tables("recall", options, note)
    print_environment(tables.facts)
    if "example" in options.part:
        header = ["labels", "recall", "estimate", "lower limit", "random rows"]
        tables.show("recall-example", header, example())
    if "sessions" not in options.part:
        return
    rows = []
    for n_rows, ratios in POOLS.items():
        n_sessions = n_all if n_rows < MANY_ROWS else max(2, n_all // 10)
        for one_in in ratios:
            for strategy in SCORES:
                rng = np.random.default_rng([n_rows, one_in])
                n_positive = n_rows // one_in
                runs = np.array(
                    [
                        session(n_rows, n_positive, strategy, rng)
                        for _ in range(n_sessions)
                    ]
                )
                found, end = 100 * runs[:, 1], 100 * runs[:, 4]
                ratio = runs[:, 3][~np.isnan(runs[:, 3])]
                rows.append(
                    [
                        f"{n_rows:,}",
                        f"{n_positive:,}",
                        strategy,
                        f"{int(runs[:, 0].sum())} of {n_sessions:,}",
                        f"{np.median(found):.0f}% ({np.quantile(found, 0.05):.0f}%)",
                        f"{np.median(end):.0f}% ({np.quantile(end, 0.05):.0f}%)",
                        f"{np.median(runs[:, 2]):,.0f}",
                        f"{np.median(ratio):.2f}" if len(ratio) else "",
                    ]
                )
                print(*rows[-1], sep=" | ", flush=True)
    header = [
        "rows",
        "positives",
        "query strategy",
        "limit fails",
        "recall after discovery (5% quantile)",
        "recall at the end (5% quantile)",
        "random rows, median",
        "of an exact test",
    ]
    tables.show("recall", header, rows)
