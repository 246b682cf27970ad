"""Active learning with OASIS: labels that it asks for and labels at random.

    python benchmarks oasis_active --data FOLDER [--runs 10] [--json FILE]

Halves of ten tables are pool and test rows, again in each of the paired runs; all begin
with the same ten labels at random and buy up to sixty, five at a time. OASIS is fitted
again to the labeled rows, with its defaults, and asks for the rows on which its planes
are divided most (`"oasis"` of `query_score`) or for the least certain ones; logistic
regression asks for the least certain ones. The area is the mean share of right rows
over all numbers of labels.

At most 1,000 rows a table, drawn with a fixed seed; a column for each nominal value,
holes filled with the median; of more than two classes, the most frequent one against
the others. The tables were chosen before anything was run. Twenty minutes of CPU time.
"""

import numpy as np
from common import options as command
from common.data import data_folder
from common.runs import Runs, mean_and_error
from common.timing import print_environment, write_json
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skconftree import OASISClassifier
from studies.oasis_exact import numbers

TABLES = (
    "australian",
    "banknote",
    "diabetes",
    "heart-statlog",
    "ionosphere",
    "kr-vs-kp",
    "page-blocks",
    "phishing",
    "segment",
    "wdbc",
)
ROWS, FIRST, LAST, BATCH = 1000, 10, 60, 5


def table(name, folder):
    """Rows and labels of two classes."""
    X, y = numbers(name, folder)
    if y.max() > 1:
        y = (y == np.bincount(y).argmax()).astype(int)
    kept = np.random.default_rng(0).permutation(len(y))[:ROWS]
    return X[kept], y[kept]


def division(X, y, seed):
    """Pool and test rows, and the first labels, of both classes."""
    rng = np.random.default_rng(seed)
    pool, test = np.array_split(rng.permutation(len(y)), 2)
    order = rng.permutation(pool)
    while len(np.unique(y[order[:FIRST]])) < 2:
        order = rng.permutation(pool)
    return order, test


def area(X, y, seed, learner, strategy):
    """Mean share of right rows of one run."""
    order, test = division(X, y, seed)
    asked, left = list(order[:FIRST]), list(order[FIRST:])
    right = []
    while True:
        if learner == "oasis":
            model = OASISClassifier(random_state=seed)
        else:
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        model.fit(X[asked], y[asked])
        right.append(model.score(X[test], y[test]))
        if len(asked) >= LAST:
            return float(np.mean(right))
        score = np.arange(len(left))  # the order is random
        if strategy == "oasis":
            score = model.query_score(X[left], "oasis")
        elif strategy == "uncertainty":
            score = np.abs(model.predict_proba(X[left])[:, 1] - 0.5)
        chosen = set(np.argsort(score, kind="stable")[:BATCH])
        asked += [left[i] for i in sorted(chosen)]
        left = [row for i, row in enumerate(left) if i not in chosen]


ARMS = (
    ("oasis", "random"),
    ("oasis", "oasis"),
    ("oasis", "uncertainty"),
    ("logistic", "random"),
    ("logistic", "uncertainty"),
)


def main(argv=None):
    """Print the table."""
    parser = command.parser(__doc__, "data", "cache", "quick", "json")
    parser.add_argument("--runs", type=int, default=10, help="paired runs")
    options = parser.parse_args(argv)
    folder, names = data_folder(options.data), TABLES
    if options.quick:
        options.runs, names = 2, names[:1]
    tables = command.tables("oasis_active", options, f"{options.runs} paired runs")
    print_environment(tables.facts)
    kept, rows, records = Runs("oasis_active", options), [], []
    for name in names:
        X, y = table(name, folder)
        areas = {
            arm: np.array(
                kept.each(
                    lambda seed, X=X, y=y, arm=arm: area(X, y, seed, *arm),
                    table=name,
                    learner=arm[0],
                    strategy=arm[1],
                )
            )
            for arm in ARMS
        }
        best = areas["logistic", "uncertainty"]
        rows.append(
            [
                name,
                *(f"{100 * areas[arm].mean():.1f}" for arm in ARMS),
                mean_and_error(areas["oasis", "oasis"] - areas["oasis", "random"]),
                mean_and_error(areas["oasis", "oasis"] - best),
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
        records.append([name, {" ".join(arm): list(areas[arm]) for arm in ARMS}])
    means = np.mean(
        [[np.mean(of[" ".join(arm)]) for arm in ARMS] for _, of in records], axis=0
    )
    rows.append(
        [
            "mean",
            *(f"{100 * one:.1f}" for one in means),
            f"{100 * (means[1] - means[0]):.1f}",
            f"{100 * (means[1] - means[4]):.1f}",
        ]
    )
    header = [
        *("right, % (area)", "OASIS, random", 'OASIS, `"oasis"`'),
        *('OASIS, `"uc"`', "logistic, random", "logistic, uncertainty"),
        *("gain on random labels", "less logistic, uncertainty"),
    ]
    tables.show("oasis-active", header, rows)
    write_json(options.json, {"environment": tables.facts, "records": records})
