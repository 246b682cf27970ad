"""OASIS beside exact answers: its cloud and the posterior, in many dimensions.

    python benchmarks oasis_exact --data FOLDER [--runs 10] [--json FILE]

The exact answer is the mean of the posterior of all rows by long Markov chains: 40 of
them, 400 sweeps over the coordinates and over the length of the plane, of which the
last half counts. It shares nothing with the classifier but the model.

- Gaussian rows that a plane parts: 200 to learn, 200 others, 20 to 60 features.
- Real tables: 1,000 rows at most, half of them to learn; a column for each nominal
  value, holes filled with the median.

Means over runs of the share of other rows that are right, beside a logistic regression;
how far probabilities are from the exact ones, in the mean; planes that are no copies;
CPU seconds of a fit. Ten minutes of CPU time.
"""

from functools import partial

import numpy as np
from common import options as command
from common.data import data_folder, load
from common.runs import Runs, mean_and_error
from common.timing import cpu_seconds, print_environment, write_json
from sklearn.linear_model import LogisticRegression

from skconftree import OASISClassifier

GAUSSIAN = (20, 40, 60)
TABLES = ("ionosphere", "wdbc", "kr-vs-kp", "a9a")
ROWS = 1000
CHAINS, SWEEPS = 40, 400
ALPHA, GAMMA = 0.5, 0.2
LOW, HIGH = np.log(GAMMA * ALPHA), np.log1p(-GAMMA)


def gaussian(d, seed):
    """Rows to learn and others, which a plane through the origin parts."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    X = rng.normal(0, 0.5, size=(400, d))
    y = (X @ w > 0).astype(int)
    return X[:200], y[:200], X[200:], y[200:]


def numbers(name, folder):
    """Read a table: a column of each nominal value, holes filled."""
    import pandas as pd

    frame, labels, nominal = load(name, folder)
    numeric = [column for column in frame if column not in set(nominal)]
    frame[numeric] = frame[numeric].fillna(frame[numeric].median())
    frame = pd.get_dummies(frame.fillna("?"), columns=nominal, dtype=float)
    return frame.to_numpy(float), np.unique(labels, return_inverse=True)[1]


def halves(X, y, seed):
    """Rows to learn and others, standardized by those to learn."""
    order = np.random.default_rng(seed).permutation(len(y))[:ROWS]
    train, test = np.array_split(order, 2)
    mean, spread = X[train].mean(axis=0), X[train].std(axis=0)
    kept = spread > 0
    X = (X[:, kept] - mean[kept]) / (2 * spread[kept])
    return X[train], y[train], X[test], y[test]


def log_likelihood(margin):
    """D1, of margins times labels."""
    middle = (LOW + HIGH) / 2
    return np.clip(middle + (HIGH - LOW) / 2 * margin, LOW, HIGH)


def exact(X, y, new, seed):
    """P(1 | x) of new rows by the posterior of all rows, Cauchy prior."""
    rng = np.random.default_rng(seed)
    rows = X * (2 * y - 1)[:, np.newaxis]
    d = rows.shape[1]
    w = rng.normal(size=(CHAINS, d))
    margin = w @ rows.T
    known = log_likelihood(margin).sum(axis=1)
    sums = np.zeros((2, len(new)))
    for sweep in range(SWEEPS):
        for j in rng.permutation(d):
            step = 10.0 ** rng.uniform(-2, 1, CHAINS) * rng.normal(size=CHAINS)
            moved = margin + step[:, np.newaxis] * rows[:, j]
            found = log_likelihood(moved).sum(axis=1)
            prior = np.log1p(w[:, j] ** 2) - np.log1p((w[:, j] + step) ** 2)
            taken = np.log(1 - rng.random(CHAINS)) < found - known + prior
            w[taken, j] += step[taken]
            margin[taken], known[taken] = moved[taken], found[taken]
        for width in (0.1, 0.3, 1.0):
            growth = width * rng.normal(size=CHAINS)
            times = np.exp(growth)[:, np.newaxis]
            found = log_likelihood(times * margin).sum(axis=1)
            prior = (np.log1p(w**2) - np.log1p((times * w) ** 2)).sum(axis=1)
            gain = found - known + prior + d * growth
            taken = np.log(1 - rng.random(CHAINS)) < gain
            w[taken] *= times[taken]
            known[taken] = found[taken]
            margin[taken] *= times[taken]
        if sweep >= SWEEPS // 2 and sweep % 5 == 0:
            new_margin = w @ new.T
            for place, sign in enumerate((-1, 1)):
                sums[place] += np.exp(log_likelihood(sign * new_margin)).sum(axis=0)
    return sums[1] / sums.sum(axis=0)


def one_run(prepare, seed):
    """What one division of the rows gives."""
    X, y, new, truth = prepare(seed)
    model = OASISClassifier(standardize=False, fit_intercept=False, random_state=seed)
    seconds = cpu_seconds(partial(model.fit, X, y))
    found, sure = model.predict_proba(new)[:, 1], exact(X, y, new, seed)
    logistic = LogisticRegression(max_iter=1000).fit(X, y)
    return {
        "features": X.shape[1],
        "oasis": float(((found > 0.5) == truth).mean()),
        "exact": float(((sure > 0.5) == truth).mean()),
        "logistic": logistic.score(new, truth),
        "apart": float(np.abs(found - sure).mean()),
        "distinct": int(model.n_distinct_[0]),
        "seconds": seconds,
    }


def main(argv=None):
    """Print the table."""
    parser = command.parser(__doc__, "data", "cache", "quick", "json")
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args(argv)
    options.runs = 1 if options.quick else options.runs
    folder = data_folder(options.data)
    tables = command.tables("oasis_exact", options, f"{options.runs} runs")
    works = {f"Gaussian, d = {d}": partial(gaussian, d) for d in GAUSSIAN}
    works |= {name: partial(halves, *numbers(name, folder)) for name in TABLES}
    if options.quick:
        works = dict(list(works.items())[:1])
    print_environment(tables.facts)
    kept, rows, records = Runs("oasis_exact", options), [], []
    for name, prepare in works.items():
        runs = kept.each(partial(one_run, prepare), table=name)
        of = {key: [run[key] for run in runs] for key in runs[0]}
        shares = [f"{100 * np.mean(of[key]):.1f}" for key in ("oasis", "exact")]
        rows.append(
            [
                name,
                round(np.mean(of["features"])),
                *shares,
                mean_and_error(np.subtract(of["oasis"], of["exact"])),
                f"{100 * np.mean(of['logistic']):.1f}",
                f"{np.mean(of['apart']):.3f}",
                round(np.mean(of["distinct"])),
                f"{np.mean(of['seconds']):.2f}",
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
        records.append([name, runs])
    header = [
        *("rows", "features", "right, %", "exact posterior", "OASIS - exact"),
        *("logistic regression", "probabilities apart", "planes of 1,000", "CPU s"),
    ]
    tables.show("oasis-exact", header, rows)
    write_json(options.json, {"environment": tables.facts, "records": records})
