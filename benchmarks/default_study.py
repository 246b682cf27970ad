"""Which untuned rule should be the default? Ten-fold cross-validation on real tables.

    python benchmarks/default_study.py --data FOLDER --cache SCRATCH [--seeds 2]

Every rule has fixed parameters and is compared with CART pruned by 5-fold
cross-validation over its cost-complexity path. The tables are split in two halves
beforehand, every other one in alphabetical order: choose on the first half, then look
at the second. A table has at most 8,000 rows, a seeded sample in proportion to the
classes. Nominal columns are ordinal codes and holes are filled with the training rows'
median or mode, for every rule alike, until trees handle both themselves.

A tree is grown once per table, fold and way of growing; stopping rules that are stored
with every split (posterior odds, expected false cuts) and prunings are then applied to
its arrays, which gives the same trees as growing them one by one. Times are those of
growing; only the default is timed as a user has it, pruning included.

Results are kept per table in the cache folder; a second run only adds what is missing.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from _data import data_folder, encoded, impute, manifest
from _prunings import (
    Arrays,
    averaged_leaves,
    bottom_up,
    c45_cost,
    collapse_alphas,
    log_marginal,
    n_leaves,
    pessimistic_cost,
    pruned_at,
    representatives,
    thinned,
)
from _timing import rst_table
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import (
    BayesFactorBound,
    CredibleBound,
    DeRosaBound,
    GTestBound,
    HoeffdingBound,
)

MAX_ROWS = 8_000
# The same people or flights as another table, which may be in the other half.
LEFT_OUT = {"a9a": "adult in another form", "airlines2007-ordered": "as airlines"}
CONFIDENCES = (0.25, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
TIE = 0.5  # points of accuracy
CLIP = 1e-6
LAX = 1.0 - 1e-9  # a tolerated probability of no split that stops nothing
BASELINE = "CART, pruned by CV"


def ours(bound, criterion=None, **parameters):
    """Make our tree, unpruned unless told."""
    parameters = {"pruning": None, **parameters}
    return ConfidenceTreeClassifier(bound, criterion=criterion, **parameters)


# Ways of growing. A stop is a list of (name, largest stored confidence that splits).
ODDS = [("odds > 1", 0.5), ("odds > 1/4", 0.8), ("odds > 1/20", 20 / 21)]
CUTS = [("t = 1/2", 0.5), ("t = 1", 1.0), ("t = 2", 2.0), ("t = 4", 4.0)]
PLAIN = {
    "CART, Gini": (None, "gini"),
    "CART, entropy": (None, "entropy"),
    "credible": ("credible", None),
    "credible, Perks": (CredibleBound(prior="perks"), None),
    "credible .3, Perks": (CredibleBound(0.3, prior="perks"), None),
    "possibilistic": ("possibilistic", None),
    "hoeffding": ("hoeffding", None),
    "hoeffding, no split": (HoeffdingBound(0.2, against="no_split"), None),
    "mcdiarmid": ("mcdiarmid", None),
    "derosa": ("derosa", None),
    "derosa, no split": (DeRosaBound(against="no_split"), None),
    "derosa, no split, c = .05": (DeRosaBound(c=0.05, against="no_split"), None),
    "chi2": ("chi2", None),
    "ec2": ("ec2", None),
    "evalue": ("evalue", None),
}
GROWN = {
    **{name: (*made, {}, None) for name, made in PLAIN.items()},
    "C4.5-like": (None, "gain_ratio", {"min_samples_leaf": 2}, None),
    "default": (
        GTestBound(1.0),
        "entropy",
        {"pruning": "pessimistic", "pruning_confidence": 0.1},
        None,
    ),
    "gtest, Gini": (GTestBound(1e9), "gini", {}, CUTS),
    "gtest, entropy": (GTestBound(1e9), "entropy", {}, CUTS),
    "gtest, Kearns-Mansour": (GTestBound(1e9), "kearns_mansour", {}, CUTS),
    "odds, Gini": (BayesFactorBound(LAX, choose="criterion"), "gini", {}, ODDS),
    "odds, entropy": (BayesFactorBound(LAX, choose="criterion"), "entropy", {}, ODDS),
    "odds, evidence": (BayesFactorBound(LAX), "gini", {}, ODDS),
    "odds, evidence, a = 1/2": (BayesFactorBound(LAX, a=0.5), "gini", {}, ODDS),
    "odds, evidence, a = 1": (BayesFactorBound(LAX, a=1.0), "gini", {}, ODDS),
}
SHOWN = [  # in the table of the documentation
    "default",
    "gtest, entropy, t = 1",
    "gtest, entropy, t = 2 > PEP 0.1",
    "gtest, Gini, t = 2 > PEP 0.05",
    "gtest, Kearns-Mansour, t = 1 > PEP 0.1",
    "odds, evidence > PEP 0.01",
    "odds, evidence > averaged, prior 1",
    "odds, evidence > most probable, prior 0.5",
    "odds, evidence, odds > 1",
    "odds, Gini, odds > 1 > PEP 0.01",
    "C4.5-like > c45",
    "CART",
    "chi2",
    "credible .3, Perks",
    "derosa, no split",
    "possibilistic",
    "ec2",
    "evalue",
    "credible",
    "derosa",
    "hoeffding",
    "mcdiarmid",
]
PRIOR_ODDS = (2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02)


def prunings(name, model):
    """Every stop and pruning of a grown tree.

    Returns
    -------
    rules : list of str
    leaf : ndarray of bool, shape (nodes, rules)
    arrays : Arrays
    """
    tree = model.tree_
    arrays = Arrays(tree, tree.counts, np.asarray(tree.depth))
    stops = [("", np.zeros(len(arrays.n), dtype=bool))]
    confidence = np.asarray(tree.evidence["confidence"])
    for label, limit in GROWN[name][3] or []:
        stops.append((f", {label}", arrays.internal & ~(confidence < limit)))
    bare = ~arrays.internal[:, None]
    costs = pessimistic_cost(arrays, CONFIDENCES)
    rules, leaves = [], []
    if "pruning" in GROWN[name][2]:
        return [name], bare, arrays
    for label, stopped in stops:
        rules.append(name + label)
        leaves.append(bare | stopped[:, None])
        rules += [f"{name}{label} > PEP {c:g}" for c in CONFIDENCES]
        repeated = np.repeat(stopped[:, None], len(CONFIDENCES), axis=1)
        leaves.append(bottom_up(arrays, costs, stopped=repeated))
    if name == "C4.5-like":
        rules.append(f"{name} > c45")
        leaves.append(bottom_up(arrays, c45_cost(arrays)))
    if name.startswith("odds"):
        with np.errstate(divide="ignore", invalid="ignore"):
            log_odds = np.log1p(-confidence) - np.log(confidence)
        log_odds = np.where(arrays.internal, np.clip(log_odds, -700, 700), 0.0)
        shifted = log_odds[:, None] + np.log(PRIOR_ODDS)[None, :]
        zero = np.zeros(shifted.shape)
        rules += [f"{name} > most probable, prior {p:g}" for p in PRIOR_ODDS]
        leaves.append(bottom_up(arrays, zero, -shifted))
        rules += [f"{name} > averaged, prior {p:g}" for p in PRIOR_ODDS]
        leaves.append(averaged_leaves(arrays, shifted))
        # The test installed counts alone, its prior one over the number of tests.
        a = GROWN[name][0].a or 1.0 / arrays.counts.shape[1]
        own = log_marginal(arrays.counts, a)
        tests = np.where(arrays.internal, tree.evidence["n_tests"], 1.0)
        cost = -np.repeat(own[:, None], len(PRIOR_ODDS), axis=1)
        penalty = np.log(tests)[:, None] - np.log(PRIOR_ODDS)[None, :]
        rules += [
            f"{name} > most probable, single test, prior {p:g}" for p in PRIOR_ODDS
        ]
        leaves.append(bottom_up(arrays, cost, penalty))
    return rules, np.concatenate(leaves, axis=1), arrays


def judge(arrays, leaf, reached, y):
    """Accuracy, log losses and size of each pruned tree on rows that reached a leaf."""
    at = representatives(arrays, leaf)
    ends = at[reached]
    k = arrays.counts.shape[1]
    predicted = arrays.counts.argmax(axis=1)
    share = arrays.counts / arrays.n[:, None]
    smooth = (arrays.counts + 1.0 / k) / (arrays.n[:, None] + 1.0)
    true = y[:, None]
    return {
        "accuracy": (predicted[ends] == true).mean(axis=0),
        "log_loss": -np.log(np.clip(share[ends, true], CLIP, 1.0)).mean(axis=0),
        "log_loss_smooth": -np.log(smooth[ends, true]).mean(axis=0),
        "leaves": n_leaves(leaf, at).astype(float),
    }


def cart(X, y, X_test, y_test, n_classes, seed):
    """Scikit-learn's CART, plain and pruned by cross-validation.

    One tree a fold is grown and all its prunings judged on the fold's held-out rows:
    the same as fitting every alpha, which is what a grid search does and what
    `grid_seconds` estimates from the time of these fits.
    """

    def grow(X, y):
        start = time.process_time()
        tree = DecisionTreeClassifier(random_state=seed).fit(X, y)
        seconds = time.process_time() - start
        counts = np.zeros((tree.tree_.node_count, n_classes))
        value = tree.tree_.value[:, 0] * tree.tree_.weighted_n_node_samples[:, None]
        counts[:, tree.classes_] = np.rint(value)
        return tree, Arrays(tree.tree_, counts), seconds

    start = time.process_time()
    tree, arrays, seconds = grow(X, y)
    alphas = collapse_alphas(arrays)
    values = thinned(alphas)
    right, grid_seconds = np.zeros(len(values)), seconds
    inner = StratifiedKFold(5, shuffle=True, random_state=seed)
    for train, held in inner.split(X, y):
        part, part_arrays, part_seconds = grow(X[train], y[train])
        grid_seconds += part_seconds * len(values)
        leaf = pruned_at(collapse_alphas(part_arrays), values)
        ends = representatives(part_arrays, leaf)[part.apply(X[held])]
        right += (part_arrays.counts.argmax(axis=1)[ends] == y[held][:, None]).sum(0)
    best = values[len(values) - 1 - right[::-1].argmax()]
    grid_seconds += seconds
    spent = time.process_time() - start
    leaf = np.concatenate(
        [~arrays.internal[:, None], pruned_at(alphas, [best])], axis=1
    )
    scores = judge(arrays, leaf, tree.apply(X_test), y_test)
    scores["seconds"] = np.array([seconds, grid_seconds])
    scores["nested_seconds"] = np.array([seconds, spent])
    return ["CART", BASELINE], scores


def grown(name, X, y, X_test, y_test, n_classes):
    """Every rule on one way of growing."""
    bound, criterion, parameters, _ = GROWN[name]
    start = time.process_time()
    model = ours(bound, criterion, **parameters).fit(X, y)
    seconds = time.process_time() - start
    rules, leaf, arrays = prunings(name, model)
    if len(model.classes_) < n_classes:  # a fold without a rare class
        counts = np.zeros((len(arrays.n), n_classes))
        counts[:, model.classes_] = arrays.counts
        arrays.counts = counts
    scores = judge(arrays, leaf, model.apply(X_test), y_test)
    scores["seconds"] = np.full(len(rules), seconds)
    return rules, scores


def study(name, folder, seed, families, cache, folds):
    """Cross-validate the families on one table; fold means, kept in the cache."""
    path = cache / f"{name}-{seed}-{folds}.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    missing = [family for family in families if family not in known]
    if not missing:
        return known
    X, y, is_nominal = encoded(name, folder, MAX_ROWS)
    n_classes = int(y.max()) + 1
    total = {}
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, y)
    for train, test in splits:
        a, b = impute(X[train], X[test], is_nominal)
        a, b = a.astype(np.float32), b.astype(np.float32)
        for family in missing:
            if family == BASELINE:
                rules, scores = cart(a, y[train], b, y[test], n_classes, seed)
            else:
                rules, scores = grown(family, a, y[train], b, y[test], n_classes)
            answer = total.setdefault(family, {})
            for i, rule in enumerate(rules):
                into = answer.setdefault(rule, {})
                for key, values in scores.items():
                    into[key] = into.get(key, 0.0) + float(values[i]) / folds
    known.update(total)
    path.write_text(json.dumps(known))
    return known


def collect(names, folder, options, families, cache):
    """Mean over seeds: rule -> measure -> array over tables."""
    tables = []
    for name in names:
        rules = {}
        start = time.process_time()
        for seed in range(options.seeds):
            for answer in study(
                name, folder, seed, families, cache, options.folds
            ).values():
                for rule, scores in answer.items():
                    into = rules.setdefault(rule, {})
                    for key, value in scores.items():
                        into[key] = into.get(key, 0.0) + value / options.seeds
        spent = time.process_time() - start
        if spent > 0.1:
            print(f"  {name}: {spent:.1f} CPU s", flush=True)
        tables.append(rules)
    return {
        rule: {
            key: np.array([table[rule][key] for table in tables])
            for key in tables[0][rule]
        }
        for rule in tables[0]
    }


def summary(scores, base, names, kept):
    """Summarise one rule beside the baseline over the tables kept."""
    difference = 100.0 * (scores["accuracy"] - base["accuracy"])[kept]
    worst = difference.argmin()

    def ratio(key):
        return float(np.exp(np.mean(np.log(scores[key][kept] / base[key][kept]))))

    return {
        "dacc": float(difference.mean()),
        "error": float(difference.std(ddof=1) / np.sqrt(len(difference))),
        "wtl": "/".join(
            str(int(count.sum()))
            for count in (difference > TIE, abs(difference) <= TIE, difference < -TIE)
        ),
        "leaves": ratio("leaves"),
        "time": ratio("seconds"),
        "time_nested": float(
            np.exp(np.mean(np.log(scores["seconds"] / base["nested_seconds"])[kept]))
        ),
        "log_loss": float((scores["log_loss"] - base["log_loss"])[kept].mean()),
        "log_loss_smooth": float(
            (scores["log_loss_smooth"] - base["log_loss_smooth"])[kept].mean()
        ),
        "worst": f"{difference[worst]:+.1f} {np.array(names)[kept][worst]}",
    }


def line(rule, row):
    """Format a line of the table."""
    losses = f"{row['log_loss']:+6.2f} {row['log_loss_smooth']:+6.3f}"
    return (
        f"{rule:46s} {row['dacc']:+6.2f} ({row['error']:.2f}) {row['wtl']:>8s} "
        f"{row['leaves']:6.2f} {row['time']:8.5f} {row['time_nested']:7.4f} "
        f"{losses}  {row['worst']}"
    )


def rst(rules, table):
    """Format the rules on both halves as a table for the documentation."""
    header = ["rule"]
    for half in table:
        header += [f"accuracy, {half}", "W/T/L", "leaves", "log loss"]
    rows = []
    for rule in rules:
        cells = [rule]
        for row in (answer[rule] for answer in table.values()):
            cells += [
                f"{row['dacc']:+.2f} ({row['error']:.2f})",
                row["wtl"],
                f"{row['leaves']:.2f}",
                f"{row['log_loss_smooth']:+.3f}",
            ]
        worst = min((answer[rule]["worst"] for answer in table.values()), key=drop)
        rows.append([*cells, worst])
    return rst_table([*header, "worst table"], rows)


def drop(worst):
    """Read the difference at the start of a cell."""
    return float(worst.split()[0])


def main(argv=None):
    """Run the study and print both halves."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder of tables, or SKCONFTREE_DATA")
    parser.add_argument("--cache", required=True, help="folder for results, kept")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--sets", nargs="+", help="these tables only")
    parser.add_argument("--only", nargs="+", help="families; the baseline is added")
    parser.add_argument("--half", choices=["choice", "report", "both"], default="both")
    parser.add_argument("--top", type=int, default=40, help="rules shown")
    parser.add_argument("--rules", nargs="+", help="these rules only")
    parser.add_argument("--per-set", action="store_true", help="accuracies per table")
    parser.add_argument("--rst", action="store_true", help="a table in rst as well")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args(argv)
    folder, cache = data_folder(options.data), Path(options.cache)
    cache.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)

    suitable = sorted(set(manifest(folder)) - set(LEFT_OUT))
    first = {name: i % 2 == 0 for i, name in enumerate(suitable)}
    names = [name for name in suitable if not options.sets or name in options.sets]
    if options.half != "both":
        names = [name for name in names if first[name] == (options.half == "choice")]
    families = [BASELINE, *(options.only or GROWN)]
    results = collect(names, folder, options, families, cache)

    base = results[BASELINE]
    chosen = np.array([first[name] for name in names])
    halves = {"choice": chosen, "report": ~chosen}
    rules = options.rules or list(results)
    table = {
        half: {rule: summary(results[rule], base, names, kept) for rule in rules}
        for half, kept in halves.items()
        if kept.sum() > 1
    }
    order = sorted(rules, key=lambda r: -table[next(iter(table))][r]["dacc"])
    for half, answer in table.items():
        print(
            f"\n{half}: {halves[half].sum()} tables; accuracy in points against "
            f"{BASELINE!r} (standard error), wins/ties/losses at {TIE} points, "
            f"geometric mean of leaves, of time against a grid search and against "
            f"judging all prunings of six trees, log loss (clipped; smoothed), worst"
        )
        for rule in order[: options.top]:
            print(line(rule, answer[rule]))
    if options.rst:
        print("\n" + rst(options.rules or SHOWN, table))
    if options.per_set:
        for rule in order[: options.top]:
            print(f"\n{rule}")
            for i, name in enumerate(names):
                print(
                    f"  {name:18s} {100 * results[rule]['accuracy'][i]:6.2f} "
                    f"{results[rule]['leaves'][i]:7.1f} | "
                    f"{100 * base['accuracy'][i]:6.2f} {base['leaves'][i]:7.1f}"
                )
    if options.json:
        record = {"tables": names, "choice": chosen.tolist(), "summary": table}
        Path(options.json).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
