"""Labels of a cheap annotator and an expert: wrong delivered labels, and their price.

A cheap annotator labels a pool of 2,000 rows of three classes, 200 of them wrong. The
expert checks rows until at most 3% of the delivered labels are wrong, with 95%
confidence (`SuggestedErrorBelow`). Errors are

- by region: 200 of 220 rows in a box of two features,
- by class: 200 rows of one class get the label of another one,
- at random, where the features determine the classes,
- at random, where the classes are independent of the features: nothing can be saved.

The statement fails if, at any time of a run, more delivered labels are wrong than the
limit. Uniform: labels of the expert if all rows that are checked are drawn at random.

    python benchmarks two_prices [--runs 1000] [--cache SCRATCH] [--part KIND]

The classifier that is trained with the cheap labels is a tree.
"""

from copy import copy
from functools import partial
from types import SimpleNamespace

import numpy as np
from common import options as command
from common.runs import Runs
from common.timing import print_environment

from skconftree import ConfidenceTreeClassifier
from skconftree.active.pool._check import Check, Suggestions, largest_number

N_ROWS, N_WRONG, MAX_ERROR, CONFIDENCE = 2000, 200, 0.03, 0.95
KINDS = ("by region", "by class", "at random", "at random, random classes")
N_UNIFORM = 200  # runs of the uniform check


def pool(kind, rng):
    """Features, labels and cheap labels."""
    X = rng.normal(size=(N_ROWS, 5)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    if kind == "at random, random classes":
        y = rng.integers(0, 3, N_ROWS)
    rows = np.arange(N_ROWS)
    if kind == "by region":
        distance = np.maximum(np.abs(X[:, 3] - 0.3), np.abs(X[:, 4] + 0.2))
        rows = np.argsort(distance)[:220]
    elif kind == "by class":
        rows = np.flatnonzero(y == 2 if (y == 2).sum() >= N_WRONG else y == 1)
    wrong = rng.choice(rows, N_WRONG, replace=False)
    cheap = y.copy()
    step = rng.integers(1, 3, N_WRONG) if kind.startswith("at random") else 1
    cheap[wrong] = (y[wrong] + step) % 3
    return X, y, cheap


def check(kind, seed):
    """Whether the statement fails, labels of the expert, and wrong delivered labels."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X, y, cheap = pool(kind, rng)
    suggestions = Suggestions(dict(enumerate(cheap.tolist())), N_ROWS, kind)
    context = SimpleNamespace(X=X, points=X, seed=seed)
    context.new_estimator = partial(ConfidenceTreeClassifier, random_state=0)
    features = suggestions.features(context)
    state = Check(suggestions.is_known, 1.0 - CONFIDENCE)
    max_wrong = largest_number(MAX_ERROR, N_ROWS)
    n_wrong, fails = N_WRONG, False
    while state.max_remaining > max_wrong:
        (row,), is_random = state.next_rows(1, rng)
        is_wrong = bool(cheap[row] != y[row])
        state.add(row, is_wrong, is_random)
        n_wrong -= is_wrong
        fails |= state.max_remaining < n_wrong
        if state.needs_plan:
            state.plan(features, max_wrong, (seed,))
    return bool(fails), len(state.rows), n_wrong


def uniform(seed):
    """Labels of the expert by a uniform check."""
    rng = np.random.default_rng(seed)
    state = Check(np.ones(N_ROWS, dtype=bool), 1.0 - CONFIDENCE)
    max_wrong = largest_number(MAX_ERROR, N_ROWS)
    wrong = np.sort(rng.choice(N_ROWS, N_WRONG, replace=False))
    n = 0
    for row in [*wrong.tolist(), N_ROWS]:
        limit, gap = copy(state.limit), row - n
        limit.draw(N_ROWS - n, gap)
        if limit.limit - limit.n_found <= max_wrong:
            low, high = 0, gap
            while high - low > 1:
                middle = (low + high) // 2
                limit = copy(state.limit)
                limit.draw(N_ROWS - n, middle)
                enough = limit.limit - limit.n_found <= max_wrong
                low, high = (low, middle) if enough else (middle, high)
            return n + high
        state.limit = limit
        limit.draw(N_ROWS - row, 0, True)
        n = row + 1
        if limit.limit - limit.n_found <= max_wrong:
            break
    return n


def main(argv=None):
    """Print the table."""
    parser = command.parser(__doc__, "cache", "quick")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--part", type=int, help="only this kind of errors, from 0")
    options = parser.parse_args(argv)
    if options.quick:
        options.runs = 2
    note = f"{options.runs} runs, confidence {CONFIDENCE}, error {MAX_ERROR}"
    tables = command.tables("two_prices", options, note)
    print_environment(tables.facts)
    kept, rows = Runs("two_prices", options), []
    settings = SimpleNamespace(runs=min(options.runs, N_UNIFORM), cache=options.cache)
    alone = np.median(Runs("two_prices", settings).each(uniform, kind="uniform"))
    for kind in KINDS if options.part is None else [KINDS[options.part]]:
        runs = np.array(kept.each(partial(check, kind), kind=kind), dtype=float)
        n_labels = runs[:, 1]
        low, middle, high = np.quantile(n_labels, [0.05, 0.5, 0.95])
        left = runs[:, 2] / N_ROWS
        rows.append(
            [
                *(kind, f"{int(runs[:, 0].sum())} of {len(runs):,}"),
                f"{middle:,.0f} ({low:,.0f} to {high:,.0f})",
                f"{100 * middle / N_ROWS:.0f}%",
                *(f"{alone:,.0f}", f"{middle / alone:.2f}"),
                f"{100 * np.median(left):.1f}% ({100 * np.quantile(left, 0.95):.1f}%)",
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
    header = [
        *("errors", "statement fails", "labels of the expert (5% to 95%)"),
        *("share of the rows", "uniform", "ratio"),
        "wrong delivered labels (95% quantile)",
    ]
    tables.show("two-prices", header, rows)
