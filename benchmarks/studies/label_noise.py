"""How near `estimate_label_noise` comes to noise that was planted.

    python benchmarks label_noise [--data FOLDER] [--runs N] [--cache SCRATCH]

The labels of exactly a share of the rows are replaced by another class, and the share
is estimated with a forest, a tree, naive Bayes and logistic regression. Shown are the
mean estimate and, in brackets, the largest distance to what was planted, over the runs.
What has run stays in the cache folder; a second run adds what is missing.
"""

from functools import partial

import numpy as np
from common import options as command
from common.data import data_folder, encoded, impute, manifest
from common.runs import Runs
from common.timing import print_environment, write_json
from papers.paper_d_oasis import TITLES, numbers
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.evaluation import estimate_label_noise

ALPHAS = (0.0, 0.1, 0.2, 0.3)
EASY = ("letter", "pendigits", "wdbc", "banknote")
HARD = ("segment", "vowel", "diabetes", "yeast")
MOST = 1500


def makers(seed):
    """Classifiers by name."""
    return {
        "forest": ConfidenceForestClassifier(30, random_state=seed),
        "tree": ConfidenceTreeClassifier(),
        "naive Bayes": GaussianNB(),
        "logistic regression": make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=1000)
        ),
    }


def table(name, folder):
    """Numbers and classes of a table."""
    if name in TITLES:
        X, y = numbers(name, folder)
    else:
        X, y, is_nominal = encoded(name, folder, MOST)
        X = impute(X, X, is_nominal)[0]
    return X, np.unique(y, return_inverse=True)[1]


def plant(y, alpha, rng):
    """Replace the labels of a share of the rows by another class."""
    y, n_classes = y.copy(), y.max() + 1
    wrong = rng.choice(len(y), round(alpha * len(y)), replace=False)
    y[wrong] = (y[wrong] + rng.integers(1, n_classes, len(wrong))) % n_classes
    return y


def summary(estimates, alpha):
    """Mean, and the largest distance to what was planted."""
    estimates = np.array(estimates)
    return f"{estimates.mean():.3f} ({np.abs(estimates - alpha).max():.3f})"


def estimates(X, y, alpha, seed):
    """Estimate of every classifier of one planting."""
    given = plant(y, alpha, np.random.default_rng(seed))
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return {
        maker: float(estimate_label_noise(model, X, given, folds))
        for maker, model in makers(seed).items()
    }


def main(argv=None):
    """Print the table."""
    parser = command.parser(__doc__, "data", "cache", "quick", "json")
    parser.add_argument("--runs", type=int, default=50)
    options = parser.parse_args(argv)
    folder = data_folder(options.data)
    names = [name for name in EASY + HARD if name in manifest(folder)]
    if options.quick:
        options.runs, names = 2, names[:1]
    tables = command.tables("label_noise", options, f"{options.runs} runs")
    print_environment(tables.facts)
    kept, rows, records = Runs("label_noise", options), [], []
    for name in names:
        X, y = table(name, folder)
        found = {}
        for alpha in ALPHAS:
            runs = kept.each(partial(estimates, X, y, alpha), table=name, alpha=alpha)
            for maker in runs[0]:
                found.setdefault(maker, {})[alpha] = [run[maker] for run in runs]
        for maker, by_alpha in found.items():
            cells = [summary(by_alpha[alpha], alpha) for alpha in ALPHAS]
            shape = f"{TITLES.get(name, name)}, {len(X):,} x {X.shape[1]}"
            rows.append([f"{shape}, {y.max() + 1} classes", maker, *cells])
            print(*rows[-1], sep=" | ", flush=True)
        records.append([name, found])
    header = ["table", "classifier", *(f"{alpha:.0%} planted" for alpha in ALPHAS)]
    tables.show("label-noise", header, rows)
    write_json(options.json, {"environment": tables.facts, "records": records})
