"""hi-RF as in Xie, Peng and Wang (2016): forests that learn new classes.

    python benchmarks paper_e_hirf [--data FOLDER] [--part NAME ...] [--json FILE]

The parts, on the tables leaves100-margin, letter and ucr-fiftywords:

- ``tune``: `alpha` on other tables: half of the classes, then the others one by one.
- ``rest``: a forest knows 10 to 90 % of the classes and learns the rest in one call
  (figure 2 of the paper). Accuracy on all classes, seconds of that call and of the
  test.
- ``grow``: 10 classes, to which others come one by one until there are 20, or by fives
  until there are 50 (figures 3 and 4). Accuracy and seconds over all steps.
- ``igt``: growing leaves, without and with a fifth of the trees regrown in each step,
  compared with the retrained forest, and with the time of hi-RF: the least of three
  runs of each division, in turns. In these steps, and with 90 % of the classes known.
- ``speed``: fit and prediction compared with a random forest, all of leaves100-margin.

hi-RF without boosting, with negative and positive boosting of the decision, and with
boosting that persists. Compared with the same forest with all trees recounted (RLP),
all regrown (RRN), or retrained on all rows; with trees that grow on at their leaves
(IGT) and trees that only add rows to their leaves (ULS), both of Ristin et al.; with
growing leaves of which a fifth of the trees is regrown in each step; with a CART tree,
gradient boosting (xgboost if it is installed) and a random forest, retrained on all
rows at each step. Differences from the retrained forest are means of the divisions of a
table, which have the seeds 0, 1, ..., with their standard errors. The paper names
neither its data nor its sizes: a third of the rows of each class is the test. Seconds
are CPU seconds of one thread. ``--quick`` tries the script; its figures mean nothing.
"""

import gc
import importlib.util
import warnings
from functools import partial

import numpy as np
from common import options as command
from common.data import data_folder, encoded, manifest
from common.judging import with_error
from common.timing import cpu_seconds, median, print_environment, write_json
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from skconftree import NCMForestClassifier

TABLES = ("leaves100-margin", "letter", "ucr-fiftywords")
OTHERS = ("pendigits", "vowel", "segment", "yeast")  # to tune on
MAX_ROWS = 2000
ALPHAS = (0.1, 0.0, -0.025, -0.05, -0.1, -0.15, -0.2, -0.3)
ALPHA = -0.025  # of `tune`: the fastest that loses less than a point on average
POSITIVE = 0.1
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
PUBLISHED = (
    "published: 100 classes of data that are not named, of which 10 to 90 are known, "
    "or 10 to 20 by 1 and 10 to 50 by 5"
)
STEPS = {"10 to 20 by 1": (10, 20, 1), "10 to 50 by 5": (10, 50, 5)}
RETRAINED = "retrained"
PERSISTENT = f"hi-RF, `alpha={POSITIVE}`, persistent"
NCM = {
    "hi-RF": {},
    f"hi-RF, `alpha={ALPHA}`": {"alpha": ALPHA},
    f"hi-RF, `alpha={POSITIVE}`": {"alpha": POSITIVE},
    PERSISTENT: {"alpha": POSITIVE, "boost": "persistent"},
    "growing leaves (IGT)": {"update": "igt"},
    "growing leaves, a fifth regrown": {"update": "igt+rrn"},
    "leaf counts (ULS)": {"update": "leaves"},
    "all RLP": {"update": "rlp"},
    "all RRN": {"update": "rrn"},
    RETRAINED: {"update": "retrain"},
}
# Lines of figures 3 and 4.
LINES = ("hi-RF", f"hi-RF, `alpha={POSITIVE}`", PERSISTENT, RETRAINED)
LINES += ("growing leaves (IGT)", "growing leaves, a fifth regrown")


class Boosting:
    """xgboost, or scikit-learn's, with few rounds: a tree a class in each."""

    def __init__(self, rounds):
        self.rounds = rounds

    def fit(self, X, y):
        """Fit on labels that are numbered as xgboost wants them."""
        self.coder = LabelEncoder().fit(y)
        if importlib.util.find_spec("xgboost"):
            from xgboost import XGBClassifier

            self.model = XGBClassifier(n_estimators=self.rounds, n_jobs=1)
        else:
            self.model = HistGradientBoostingClassifier(
                max_iter=self.rounds, early_stopping=False, max_bins=64
            )
        self.model.fit(X, self.coder.transform(y))
        return self

    def score(self, X, y):
        """Give the accuracy."""
        return float((self.coder.inverse_transform(self.model.predict(X)) == y).mean())


def peers(options, seed):
    """Learners that are retrained at each step."""
    return {
        "CART": partial(DecisionTreeClassifier, random_state=seed),
        f"gradient boosting, {options.rounds} rounds": partial(
            Boosting, options.rounds
        ),
        "random forest": partial(
            RandomForestClassifier, options.trees, random_state=seed
        ),
    }


def numbers(name, options):
    """Read a table of numbers, on one scale: NCM trees compare distances."""
    X, y, _ = encoded(name, data_folder(options.data), options.rows)
    return StandardScaler().fit_transform(X).astype(np.float32), y


def divided(X, y, seed):
    """Train and test rows, and the classes in random order, rare ones last."""
    classes, counts = np.unique(y, return_counts=True)
    common = np.isin(y, classes[counts >= 3])
    X, y = X[common], y[common]
    parts = train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=y)
    order = np.random.default_rng(seed).permutation(np.unique(y))
    return *parts, order


def timed(work):
    """CPU seconds of a call, and what it returns."""
    kept = []
    seconds = cpu_seconds(lambda: kept.append(work()))
    return seconds, kept[0]


def steps_of(train, test, classes, ends):
    """Rows that come in each step, and the test rows of all classes so far."""
    (X, y), (X_test, y_test) = train, test
    start = 0
    for end in ends:
        new, known = np.isin(y, classes[start:end]), np.isin(y_test, classes[:end])
        yield (X[new], y[new]), (X_test[known], y_test[known])
        start = end


def run_ncm(steps, options, seed, **parameters):
    """Accuracy, seconds of learning and of the test at each step but the first."""
    forest = NCMForestClassifier(options.trees, random_state=seed, **parameters)
    found = []
    for i, (new, test) in enumerate(steps):
        learning, _ = timed(partial(forest.partial_fit, *new))
        testing, score = timed(partial(forest.score, *test))
        if i:
            found.append((score, learning, testing, forest.regrown_.mean()))
    return np.array(found)


def run_peer(steps, make):
    """Run a learner that is retrained on all rows so far."""
    found, rows = [], []
    for i, (new, test) in enumerate(steps):
        rows.append(new)
        if not i:
            continue
        X, y = (np.concatenate(part) for part in zip(*rows, strict=True))
        model = make()
        learning, _ = timed(partial(model.fit, X, y))
        testing, score = timed(partial(model.score, *test))
        found.append((score, learning, testing, np.nan))
    return np.array(found)


def part_tune(options, tables, records):
    """Accuracy and time of values of alpha, compared with a retrained forest."""
    runs = {}
    for name in OTHERS:
        X, y = numbers(name, options)
        for seed in range(options.runs):
            X_train, X_test, y_train, y_test, order = divided(X, y, seed)
            ends = range(len(order) // 2, len(order) + 1)
            for alpha in (None, *ALPHAS):
                parameters = (
                    {"update": "retrain"} if alpha is None else {"alpha": alpha}
                )
                steps = steps_of((X_train, y_train), (X_test, y_test), order, ends)
                found = run_ncm(steps, options, seed, **parameters).mean(axis=0)
                runs.setdefault(alpha, {}).setdefault(name, []).append(found)
    base = {name: np.mean(found, axis=0) for name, found in runs[None].items()}
    rows = []
    for alpha, of_tables in runs.items():
        means = {name: np.mean(found, axis=0) for name, found in of_tables.items()}
        lost = [100 * (base[name][0] - means[name][0]) for name in base]
        factor = np.exp(np.mean([np.log(base[n][1] / means[n][1]) for n in base]))
        rows.append(
            [
                RETRAINED if alpha is None else f"{alpha:g}",
                f"{100 * np.mean([one[0] for one in means.values()]):.1f}",
                f"{max(lost):.1f}",
                f"{100 * np.mean([one[3] for one in means.values()]):.0f}",
                f"{factor:.1f}",
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
        records.append(["tune", alpha, {n: list(one) for n, one in means.items()}])
    header = ["`alpha`", "right, %", "lost at most", "regrown, %", "times as fast"]
    tables.show("paper-e-alpha", header, rows)


def difference(found, base):
    """Mean difference in points and its standard error, of runs over divisions."""
    points = 100 * (np.mean(found, axis=1) - np.mean(base, axis=1))
    return with_error(points, 1) if len(points) > 1 else f"{points[0]:+.1f}"


def part_rest(options, tables, records):
    """Learn the rest of the classes in one call."""
    rows = []
    for name in options.table:
        X, y = numbers(name, options)
        runs = {}
        for seed in range(options.runs):
            X_train, X_test, y_train, y_test, order = divided(X, y, seed)
            for share in SHARES:
                ends = (max(2, round(share * len(order))), len(order))
                data = (X_train, y_train), (X_test, y_test), order, ends
                for title, parameters in NCM.items():
                    found = run_ncm(steps_of(*data), options, seed, **parameters)
                    runs.setdefault(title, {}).setdefault(share, []).append(found[-1])
            for title, make in peers(options, seed).items():
                found = run_peer(steps_of(*data), make)[-1]
                for share in SHARES:  # they see all rows, whatever was known before
                    runs.setdefault(title, {}).setdefault(share, []).append(found)
        # shape (divisions, shares, figures)
        found = {
            title: np.swapaxes([of_shares[share] for share in SHARES], 0, 1)
            for title, of_shares in runs.items()
        }
        for title, one in found.items():
            means = one.mean(axis=0)
            rows.append(
                [
                    name,
                    title,
                    *(f"{100 * share:.1f}" for share in means[:, 0]),
                    difference(one[..., 0], found[RETRAINED][..., 0]),
                    f"{means[:, 1].mean():.2f}",
                    f"{means[:, 2].mean():.3f}",
                ]
            )
            print(*rows[-1], sep=" | ", flush=True)
            records.append(["rest", name, title, means.tolist()])
    shares = [f"{share:.0%} known: right, %" for share in SHARES]
    header = ["table", "learner", *shares, "minus retrained, points"]
    header += ["seconds to learn", "to test"]
    tables.show("paper-e-rest", header, rows)


def part_grow(options, tables, records):
    """Learn classes step by step."""
    rows, lines = [], []
    for title_of_steps, (start, end, step) in STEPS.items():
        for name in options.table:
            X, y = numbers(name, options)
            runs = {}
            for seed in range(options.runs):
                X_train, X_test, y_train, y_test, order = divided(X, y, seed)
                if len(order) < 0.9 * end:
                    continue  # letter has 26 classes
                ends = sorted({min(n, len(order)) for n in range(start, end + 1, step)})
                data = (X_train, y_train), (X_test, y_test), order, ends
                for title, parameters in NCM.items():
                    runs.setdefault(title, []).append(
                        run_ncm(steps_of(*data), options, seed, **parameters)
                    )
                for title, make in peers(options, seed).items():
                    runs.setdefault(title, []).append(run_peer(steps_of(*data), make))
            if not runs:
                continue
            base = np.array(runs[RETRAINED])
            again = base[..., 1].sum(axis=1).mean()
            for title, found in runs.items():
                found = np.array(found)
                means = found.mean(axis=0)
                rows.append(
                    [
                        title_of_steps,
                        name,
                        title,
                        f"{100 * means[0, 0]:.1f}",
                        f"{100 * means[-1, 0]:.1f}",
                        f"{100 * means[:, 0].mean():.1f}",
                        difference(found[..., 0], base[..., 0]),
                        f"{means[:, 1].sum():.2f}",
                        f"{again / means[:, 1].sum():.1f}",
                        f"{means[:, 2].sum():.2f}",
                    ]
                )
                if title in LINES:
                    lines += [
                        [title_of_steps, name, title, n, f"{100 * share:.1f}"]
                        for n, share in zip(ends[1:], means[:, 0], strict=True)
                    ]
                print(*rows[-1], sep=" | ", flush=True)
                records.append(["grow", title_of_steps, name, title, means.tolist()])
    header = ["classes", "table", "learner"]
    header += ["first step: right, %", "last", "mean of steps"]
    header += ["minus retrained, points", "seconds to learn"]
    header += ["times as fast as retrained", "to test"]
    tables.show("paper-e-grow", header, rows)
    header = ["classes", "table", "learner", "known", "right, %"]
    tables.show("paper-e-steps", header, lines)


def part_igt(options, tables, records):
    """Accuracy compared with retraining, and time compared with hi-RF."""
    titles = ("hi-RF", "growing leaves (IGT)", "growing leaves, a fifth regrown")
    rows = []
    for steps in (*STEPS, "90% known, the rest in one call"):
        for name in options.table:
            X, y = numbers(name, options)
            right, seconds = {}, {}
            for seed in range(options.runs):
                X_train, X_test, y_train, y_test, order = divided(X, y, seed)
                start, end, step = STEPS.get(steps, (0, 0, 1))
                if len(order) < 0.9 * end:
                    continue
                ends = sorted({min(n, len(order)) for n in range(start, end + 1, step)})
                if steps not in STEPS:
                    ends = round(0.9 * len(order)), len(order)
                data = (X_train, y_train), (X_test, y_test), order, ends
                for i in range(1 if options.quick else 3):
                    for title in (RETRAINED, *titles):
                        if i and title == RETRAINED:
                            continue
                        found = run_ncm(steps_of(*data), options, seed, **NCM[title])
                        if not i:
                            right.setdefault(title, []).append(found[:, 0])
                        learned = seconds.setdefault(title, {}).setdefault(seed, [])
                        learned.append(found[:, 1].sum())
            for title in titles if right else ():
                factors = [
                    min(spent) / min(seconds["hi-RF"][seed])
                    for seed, spent in seconds[title].items()
                ]
                missed = difference(right[title], right[RETRAINED])
                rows.append([steps, name, title, missed, f"{median(factors):.2f}"])
                print(*rows[-1], sep=" | ", flush=True)
                records.append(["igt", steps, name, title, missed, factors])
    header = ["classes", "table", "learner", "minus retrained, points"]
    tables.show("paper-e-igt", [*header, "time compared with hi-RF"], rows)


def part_speed(options, tables, records):
    """Fit and prediction, compared with a random forest, in turns; medians."""
    X, y = numbers("leaves100-margin", options)
    X_train, X_test, y_train, y_test, _ = divided(X, y, 0)
    makes = {
        "NCM forest": partial(NCMForestClassifier, options.trees, random_state=0),
        "random forest": partial(RandomForestClassifier, options.trees, random_state=0),
    }
    seconds = {title: [] for title in makes}
    many = np.tile(X, (5, 1))
    for _ in range(1 if options.quick else 5):
        for title, make in makes.items():
            model = make()
            fit, _ = timed(partial(model.fit, X, y))
            predict, _ = timed(partial(model.predict_proba, many))
            seconds[title].append((fit, predict))
    rows = []
    base = [median(one) for one in zip(*seconds["random forest"], strict=True)]
    for title, make in makes.items():
        fit, predict = (median(one) for one in zip(*seconds[title], strict=True))
        rows.append(
            [
                title,
                f"{fit:.2f}",
                f"{base[0] / fit:.1f}",
                f"{1e6 * predict / len(many):.0f}",
                f"{base[1] / predict:.1f}",
                f"{100 * make().fit(X_train, y_train).score(X_test, y_test):.1f}",
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
        records.append(["speed", title, seconds[title]])
    header = ["forest", "fit, s", "times as fast", "prediction, µs a row"]
    tables.show("paper-e-speed", [*header, "times as fast", "right, %"], rows)


PARTS = {
    "tune": part_tune,
    "rest": part_rest,
    "grow": part_grow,
    "igt": part_igt,
    "speed": part_speed,
}


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "quick", "json")
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--table", choices=TABLES, nargs="+", default=list(TABLES))
    parser.add_argument("--runs", type=int, default=5, help="divisions of each table")
    parser.add_argument("--trees", type=int, default=50, help="of each forest")
    parser.add_argument("--rounds", type=int, default=5, help="of gradient boosting")
    parser.add_argument("--rows", type=int, default=MAX_ROWS, help="most of a table")
    options = parser.parse_args(argv)
    if options.quick:
        options.runs, options.trees, options.rounds, options.rows = 1, 5, 1, 600
    note = (
        f"{options.runs} divisions, {options.trees} trees, {options.rounds} rounds of "
        f"boosting, {options.rows:,} rows at most; {PUBLISHED}"
    )
    tables = command.tables("paper_e_hirf", options, note)
    print_environment(tables.facts)
    known = manifest(data_folder(options.data))
    options.table = [name for name in options.table if name in known]
    warnings.filterwarnings("ignore", message="The number of unique classes")
    records = []
    gc.collect()
    gc.freeze()  # or each measurement would look through all modules
    with threadpool_limits(1):
        for part in options.part:
            print(f"\n{part}: {note}\n")
            PARTS[part](options, tables, records)
    write_json(options.json, {"environment": tables.facts, "records": records})
