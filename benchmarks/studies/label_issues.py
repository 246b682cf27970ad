"""Average precision of `rank_label_issues`, compared with cleanlab.

    python benchmarks label_issues [--data FOLDER] [--runs N] [--cache SCRATCH]

The labels of a share of the rows are replaced by another class, and all labels are
ranked. cleanlab ranks by probabilities of 5-fold cross-validation with the same forest:
500 trees in all, as many as `rank_label_issues` grows. The difference is that to
cleanlab's default method, self-confidence, and in brackets its standard error. Needs
`pip install cleanlab`.
"""

from functools import partial

import numpy as np
from common import options as command
from common.data import data_folder, manifest
from common.runs import Runs
from common.timing import print_environment
from papers.paper_d_oasis import TITLES
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from skconftree import ConfidenceForestClassifier
from skconftree.evaluation import rank_label_issues
from studies.label_noise import EASY, HARD, plant, table

NOISES = (0.02, 0.05, 0.1, 0.2)
METHODS = ("self_confidence", "normalized_margin")


def precisions(X, y, noise, seed):
    """Average precision of each ranking for one planting."""
    from cleanlab.rank import get_label_quality_scores

    given = plant(y, noise, np.random.default_rng(seed))
    is_wrong = given != y
    issues = rank_label_issues(X, given, random_state=seed)
    found = [average_precision_score(is_wrong[issues.row], issues.score)]
    proba = cross_val_predict(
        ConfidenceForestClassifier(100, random_state=seed),
        *(X, given),
        cv=StratifiedKFold(5, shuffle=True, random_state=seed),
        method="predict_proba",
    )
    for method in METHODS:
        quality = get_label_quality_scores(given, proba, method=method)
        found.append(average_precision_score(is_wrong, -quality))
    return [float(precision) for precision in found]


def row_of(name, noise, runs):
    """Row of the table."""
    runs = np.array(runs)
    difference = runs[:, 0] - runs[:, 1]
    error = difference.std(ddof=1) / np.sqrt(len(runs))
    means = [f"{mean:.3f}" for mean in runs.mean(axis=0)]
    return [name, noise, *means, f"{difference.mean():+.3f} ({error:.3f})"]


def main(argv=None):
    """Print the table."""
    parser = command.parser(__doc__, "data", "cache", "quick")
    parser.add_argument("--runs", type=int, default=6)
    options = parser.parse_args(argv)
    folder = data_folder(options.data)
    names = [name for name in EASY + HARD if name in manifest(folder)]
    if options.quick:
        options.runs, names = 2, names[:1]
    tables = command.tables("label_issues", options, f"{options.runs} runs")
    print_environment(tables.facts)
    kept, rows, by_noise = Runs("label_issues", options), [], {}
    for name in names:
        X, y = table(name, folder)
        for noise in NOISES:
            runs = kept.each(partial(precisions, X, y, noise), table=name, noise=noise)
            by_noise.setdefault(noise, []).append(runs)
            rows.append(row_of(TITLES.get(name, name), f"{noise:.0%}", runs))
            print(*rows[-1], sep=" | ", flush=True)
    for noise, runs in by_noise.items():
        rows.append(row_of("mean", f"{noise:.0%}", np.mean(runs, axis=0)))
        print(*rows[-1], sep=" | ", flush=True)
    header = ["table", "wrong labels", "rank_label_issues", "cleanlab"]
    header += ["cleanlab, normalized margin", "difference"]
    tables.show("label-issues", header, rows)
