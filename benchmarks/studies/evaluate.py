"""Evaluation of a classifier by few labels: labels needed, and limits that fail.

A forest, and naive Bayes with its poor probabilities, are trained on 500 rows of each
table that is left with at least 1,000 other rows. Their accuracy on up to 3,500 of
these is estimated by `skconftree.active.evaluate`, until the limits are as narrow as
those of 300 rows drawn uniformly. Uniform draws are judged by two confidence sequences
without replacement: betting as `evaluate` does, and the beta-binomial one (a
prior-posterior ratio, Waudby-Smith and Ramdas 2020); the ratio of labels is that to
the better one. The second table has other metrics; the third one counts runs whose
limits ever exclude the true value.

    python benchmarks evaluate --data FOLDER --cache SCRATCH [--misses 1000]

Runs are kept in the cache folder; a second call only adds what is missing.

Naive Bayes, other metrics, and betting on uniform draws have a quarter of the runs.
"""

from argparse import Namespace

import numpy as np
from common import data
from common import options as command
from common.runs import Runs
from common.timing import print_environment
from scipy.special import betaln, gammaln
from sklearn.naive_bayes import GaussianNB

from skconftree import ConfidenceForestClassifier
from skconftree.active import ModelEvaluator
from skconftree.active.pool._metric_limits import GRID, MetricLimits

MAX_ROWS, N_TRAIN, MIN_POOL, ALPHA, N_UNIFORM, STEP = 4_000, 500, 1_000, 0.05, 300, 5
N_LOOKS = 100  # labels in a run of the third table
MODELS = {
    "forest": lambda: ConfidenceForestClassifier(random_state=0),
    "naive Bayes": GaussianNB,
}
OTHERS = ("precision", "recall", "f1", "log_loss")
SOME_TABLES = ("adult", "nursery", "phishing")
MISSES = {
    ("adult", "forest"): ("accuracy", *OTHERS),
    ("kr-vs-kp", "naive Bayes"): ("accuracy", "log_loss"),
}


def fitted(name, folder):
    """Yield the name of each model, the model, and the pool with its labels."""
    X, y, _ = data.encoded(name, folder, max_rows=MAX_ROWS)
    if len(y) < N_TRAIN + MIN_POOL:
        return
    X = np.nan_to_num(X)
    rows = np.random.default_rng(0).permutation(len(y))
    train, pool = rows[:N_TRAIN], rows[N_TRAIN:]
    pool = pool[np.isin(y[pool], y[train])]
    for model, make in MODELS.items():
        yield model, make().fit(X[train], y[train]), X[pool], y[pool]


def cells_of(model, X, y, metric, label, n_cells=None):
    """Cells of a metric, and the outcome and numerator of each of their rows."""
    evaluator = ModelEvaluator(model, metric=metric, pos_label=label, random_state=0)
    evaluator.fit(X)
    strategy = evaluator._strategy
    if n_cells is not None:
        strategy.n_cells = n_cells
    state = evaluator._call_with_context([], strategy._state)
    return state.limits.cells, [state._outcome(row, y[row]) for row in state.rows]


def truth(cells, outcomes):
    """The ratio of all rows."""
    limits = MetricLimits(cells, ALPHA, 0)
    numerator, denominator = np.sum(
        [limits._value(row, *outcome) for row, outcome in enumerate(outcomes)], axis=0
    )
    return numerator / denominator


def observed(cells, outcomes, seed, uniform=False, grid=GRID):
    """Yield the limits after each label."""
    n_uniform = {"n_uniform": np.inf} if uniform else {}
    limits = MetricLimits(cells, ALPHA, seed, grid, **n_uniform)
    while limits.n_left:
        limits.plan()
        row = limits.draw()
        limits.observe(row, *outcomes[row])
        yield limits


def n_until(cells, outcomes, width, seed, correct, uniform=False):
    """Labels until half of the width of the limits, and whether these failed."""
    grid = np.clip(correct + 4.0 * width * np.linspace(-1.0, 1.0, 121), 0.0, 1.0)
    failed, n = False, 0
    for n, limits in enumerate(
        observed(cells, outcomes, seed, grid=np.unique(grid)), 1
    ):
        if n % STEP == 0:
            low, high = limits.limits()
            failed |= not low <= correct <= high
            if (high - low) / 2.0 <= width:
                break
    return n, bool(failed)


def width_at(cells, outcomes, n_labels, seed):
    """Half of the width of the limits after uniform draws."""
    for n, limits in enumerate(observed(cells, outcomes, seed, True), 1):
        if n == n_labels:
            low, high = limits.limits()
            return (high - low) / 2.0
    return np.nan


def prior_posterior(outcomes, width, seed, prior=0.5):
    """Labels of uniform draws until half of the width of the beta-binomial limits."""
    n_rows = len(outcomes)
    ones = np.cumsum(np.random.default_rng(seed).permutation(outcomes))
    total = np.arange(n_rows + 1)

    def log_prior(n, k, a, b):
        choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        return choose + betaln(k + a, n - k + b) - betaln(a, b)

    before = log_prior(n_rows, total, prior, prior)

    def is_narrow(n):
        s = int(ones[n - 1])
        k = total[s : n_rows - n + s + 1]
        after = log_prior(n_rows - n, k - s, prior + s, prior + n - s)
        possible = k[before[k] - after < -np.log(ALPHA)]
        return (possible[-1] - possible[0]) / n_rows / 2.0 <= width

    few, many = 0, n_rows // STEP  # the width is taken to decrease
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if is_narrow(STEP * middle) else (middle, many)
    return STEP * many


def compared(name, model_name, metric, parts, n_runs, cache):
    """Row of the tables of labels."""
    model, X, y = parts
    label = int(np.bincount(y).argsort()[-2])
    cells, outcomes = cells_of(model, X, y, metric, label)
    plain, _ = cells_of(model, X, y, metric, label, n_cells=1)
    correct = truth(cells, outcomes)
    n_first = min(N_UNIFORM, len(outcomes) // 4)
    few = max(3, n_runs // 4)

    def repeated(n, draws, one):
        of = {"table": name, "model": model_name, "metric": metric, "draws": draws}
        return kept(cache, n, one, **of)

    width = np.median(
        repeated(few // 2, "width", lambda s: width_at(plain, outcomes, n_first, s))
    )
    ours = repeated(
        n_runs, "ours", lambda s: n_until(cells, outcomes, width, s, correct)
    )
    betting = repeated(
        few, "betting", lambda s: n_until(plain, outcomes, width, s, correct, True)
    )
    uniform = [np.median([n for n, _ in betting])]
    if metric == "accuracy":
        errors = np.array([outcome for outcome, _ in outcomes])
        known = repeated(n_runs, "prior", lambda s: prior_posterior(errors, width, s))
        uniform.append(np.median(known))
    failed, ours = sum(fails for _, fails in ours), np.median([n for n, _ in ours])
    share = 1.0 - correct if metric in ("accuracy", "precision") else correct
    row = [
        *(name, model_name, metric, f"{len(outcomes):,}", f"{share:.3f}"),
        *(f"{width:.3f}", f"{ours:.0f}", " / ".join(f"{n:.0f}" for n in uniform)),
        *(f"{ours / min(uniform):.2f}", f"{failed} of {n_runs}"),
    ]
    print(*row, sep=" | ", flush=True)
    return row


def kept(cache, n_runs, one, **setting):
    """Answers of one(seed), kept in a folder."""
    return Runs("evaluate", Namespace(runs=n_runs, cache=cache)).each(one, **setting)


def n_failed(name, model_name, parts, metric, n_runs, cache):
    """Runs in which the true value is ever rejected, looking after each label."""
    model, X, y = parts
    label = int(np.bincount(y).argsort()[-2])
    cells, outcomes = cells_of(model, X, y, metric, label)
    grid = np.array([truth(cells, outcomes)])

    def fails(seed):
        for n, limits in enumerate(observed(cells, outcomes, seed, grid=grid), 1):
            if limits.total_evidence()[0] >= 1.0 / ALPHA:
                return True
            if n == N_LOOKS:
                return False
        return False

    of = {"table": name, "model": model_name, "metric": metric, "draws": "misses"}
    return sum(kept(cache, n_runs, fails, **of))


def main(argv=None):
    """Run the study and show its tables."""
    parser = command.parser(__doc__, "data", "quick", "cache")
    parser.add_argument("--part", choices=("labels", "misses"), action="append")
    parser.add_argument("--table", action="append", help="only these")
    parser.add_argument("--metric", action="append", help="only these")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--misses", type=int, default=1_000)
    options = parser.parse_args(argv)
    n_runs = 3 if options.quick else options.runs
    n_misses = 5 if options.quick else options.misses
    parts_to_run = options.part or ["labels", "misses"]
    folder = data.data_folder(options.data)
    tables = command.tables("evaluate", options, f"{n_runs} runs per table")
    print_environment(tables.facts)
    names = options.table or data.table_names(folder)
    metrics = options.metric or ("accuracy", *OTHERS)
    if options.quick:
        names = [name for name in names if name in ("adult", "kr-vs-kp")]
    rows, others, failures = [], [], []
    for name in names:
        for model, *parts in fitted(name, folder):
            few = max(3, n_runs // 4)
            if "labels" in parts_to_run:
                wanted = [("accuracy", n_runs if model == "forest" else few, rows)]
                if model == "forest" and name in SOME_TABLES:
                    wanted += [(metric, few, others) for metric in OTHERS]
                for metric, n, table in wanted:
                    if metric in metrics:
                        of = (name, model, metric, parts, n, options.cache)
                        table.append(compared(*of))
            if "misses" in parts_to_run:
                for metric in MISSES.get((name, model), ()):
                    if metric not in metrics:
                        continue
                    of = (name, model, parts, metric, n_misses, options.cache)
                    failed = n_failed(*of)
                    failures.append([name, model, metric, f"{failed} of {n_misses:,}"])
                    print(*failures[-1], sep=" | ", flush=True)
    if rows:
        for model in MODELS:
            ratios = [float(row[8]) for row in rows if row[1] == model]
            rows.append(
                [
                    *("median", model, "accuracy", "", "", "", "", ""),
                    *(f"{np.median(ratios):.2f}", f"largest ratio {max(ratios):.2f}"),
                ]
            )
        header = [
            *("table", "model", "metric", "rows", "true value"),
            *("half width", "labels", "uniform: betting / beta-binomial", "ratio"),
            "limits fail",
        ]
        tables.show("evaluate", header, rows)
        tables.show("evaluate-metrics", header, others)
    if failures:
        header = ["table", "model", "metric", "limits ever fail"]
        tables.show("evaluate-misses", header, failures)
