"""Which untuned rule should be the default? Ten-fold cross-validation on real tables.

    python benchmarks default_study --data FOLDER --cache SCRATCH [--seeds 2]

Every rule has fixed parameters and is compared with CART pruned by 5-fold
cross-validation over its cost-complexity path. The tables are split in two halves
beforehand, every other one in alphabetical order: choose on the first half, then look
at the second. A table has at most 8,000 rows, a seeded sample in proportion to the
classes. Nominal columns are ordinal codes and missing values are filled with the
training rows' median or mode, for every rule alike. What was chosen is "greedy"; the
default has looked ahead since.

On the tables that have nominal columns or missing values, the default is then also
given the categories and missing values themselves ("native"), beside CART on the codes,
on one-hot columns and on the categories, and itself on codes and one-hot columns. This
is a report only: nothing was chosen by it.

A tree is grown once per table, fold and way of growing; stopping rules that are stored
with every split (posterior odds, expected false cuts) and prunings are then applied to
its arrays, which gives the same trees as growing them one by one. Times are those of
growing; only the default is timed as a user has it, pruning included.

Results are kept per table in the cache folder; a second run only adds what is missing.
"""

import json
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from common import options as command
from common.data import data_folder, manifest, table_names
from common.judging import TIE
from common.prunings import (
    Arrays,
    averaged_leaves,
    bottom_up,
    c45_cost,
    log_marginal,
    pessimistic_cost,
)
from common.study import cart, collect, for_readers, judge, line, summary

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import (
    BayesFactorBound,
    CredibleBound,
    DeRosaBound,
    GTestBound,
    HoeffdingBound,
)
from skconftree.tree import PessimisticPruning

CONFIDENCES = (0.25, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
LAX = 1.0 - 1e-9  # a tolerated probability of no split that stops nothing
BASELINE = "CART, pruned by CV"
ONE_HOT = "CART, one-hot, pruned by CV"


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
    "default": (GTestBound(1.0), "entropy", {"pruning": "auto"}, None),
    "greedy": (
        GTestBound(1.0),
        "entropy",
        {"pruning": PessimisticPruning(0.1), "lookahead": 0},
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
    "greedy",
    "gtest, entropy, t = 1",
    "gtest, entropy, t = 2, pruned 0.1",
    "gtest, Gini, t = 2, pruned 0.05",
    "gtest, Kearns-Mansour, t = 1, pruned 0.1",
    "odds, evidence, pruned 0.01",
    "odds, evidence > averaged, prior 1",
    "odds, evidence > most probable, prior 0.5",
    "odds, evidence, odds > 1",
    "odds, Gini, odds > 1, pruned 0.01",
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
    confidence = np.asarray(tree.evidence["statistic"])
    for label, limit in GROWN[name][3] or []:
        stops.append((f", {label}", arrays.internal & ~(confidence < limit)))
    bare = arrays.left[:, None] == -1
    costs = pessimistic_cost(arrays, CONFIDENCES)
    rules, leaves = [], []
    if "pruning" in GROWN[name][2]:
        return [name], bare, arrays
    for label, stopped in stops:
        rules.append(name + label)
        leaves.append(bare | stopped[:, None])
        rules += [f"{name}{label}, pruned {c:g}" for c in CONFIDENCES]
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
        tests = np.where(arrays.internal, tree.evidence["n_candidates"], 1.0)
        cost = -np.repeat(own[:, None], len(PRIOR_ODDS), axis=1)
        penalty = np.log(tests)[:, None] - np.log(PRIOR_ODDS)[None, :]
        rules += [
            f"{name} > most probable, single test, prior {p:g}" for p in PRIOR_ODDS
        ]
        leaves.append(bottom_up(arrays, cost, penalty))
    return rules, np.concatenate(leaves, axis=1), arrays


def grown(fold, name, form="codes", **parameters):
    """Every rule on one way of growing."""
    bound, criterion, own, _ = GROWN[name]
    X, X_test = fold.rows(form)
    if form == "native":
        parameters["categorical_features"] = fold.nominal
    start = time.process_time()
    model = ours(bound, criterion, **own, **parameters).fit(X, fold.y)
    seconds = time.process_time() - start
    rules, leaf, arrays = prunings(name, model)
    arrays.counts = fold.all_classes(arrays.counts, model.classes_)
    scores = judge(arrays, leaf, model.apply(X_test), fold.y_test)
    scores["seconds"] = np.full(len(rules), seconds)
    return rules, scores


def native(fold, rule, **settings):
    """Grow the default in another form, under a name of its own."""
    _, scores = grown(fold, "default", **settings)
    return [rule], scores


FAMILIES = {BASELINE: cart, **{name: partial(grown, name=name) for name in GROWN}}
# On tables with nominal columns or missing values.
MIXED = {
    **{
        rule: partial(native, rule=rule, **settings)
        for rule, settings in {
            "default, native": {"form": "native"},
            "default, native, multiway": {
                "form": "native",
                "nominal_splits": "multiway",
            },
            "default, one-hot": {"form": "one-hot"},
        }.items()
    },
    ONE_HOT: partial(cart, form="one-hot"),
    "CART, native, pruned by CV": partial(cart, form="native"),
}


def halves(names, first):
    """Which tables are in each half, unless it has fewer than two."""
    chosen = np.array([first[name] for name in names])
    parts = {"choice": chosen, "report": ~chosen}
    return {part: kept for part, kept in parts.items() if kept.sum() > 1}


def compare(results, base, names, parts, options):
    """Print and answer part of the tables -> rule -> summary, best rules first."""
    table, order = {}, None
    for part, kept in parts.items():
        answer = {
            rule: summary(results[rule], results[base], names, kept)
            for rule in options.rules or results
            if rule in results
        }
        order = order or sorted(answer, key=lambda rule: -answer[rule]["dacc"])
        table[part] = {rule: answer[rule] for rule in order}
        print(
            f"\n{part}: {kept.sum()} tables; accuracy in points against {base!r} "
            f"(standard error), wins/ties/losses at {TIE} points, geometric mean of "
            f"leaves, of time against a grid search and against judging all prunings "
            f"of six trees, log loss (clipped; smoothed), worst"
        )
        for rule in order[: options.top]:
            print(line(rule, answer[rule]))
    return table


def show_tables(results, names, rules):
    """Print accuracy and leaves of each table beside the baseline's."""
    base = results[BASELINE]
    for rule in rules:
        print(f"\n{rule}")
        for i, name in enumerate(names):
            print(
                f"  {name:18s} {100 * results[rule]['accuracy'][i]:6.2f} "
                f"{results[rule]['leaves'][i]:7.1f} | "
                f"{100 * base['accuracy'][i]:6.2f} {base['leaves'][i]:7.1f}"
            )


def study_of_all(names, wanted, first, folder, cache, options):
    """Compare the rules on codes; part of the tables -> rule -> summary."""
    families = {name: FAMILIES[name] for name in FAMILIES if name in wanted}
    results = collect(names, folder, families, cache, options.seeds, options.folds)
    table = compare(results, BASELINE, names, halves(names, first), options)
    ranked = list(next(iter(table.values())))
    shown = [rule for rule in options.rules or SHOWN if rule in ranked]
    options.tables.show("default-rules", *for_readers(shown, table))
    if options.per_set:
        show_tables(results, names, ranked[: options.top])
    return table


def study_of_mixed(names, wanted, first, folder, cache, options):
    """Compare the default in every form; baseline -> part -> rule -> summary."""
    wanted = wanted | {"default"}
    families = {
        name: family
        for name, family in {**FAMILIES, **MIXED}.items()
        if name in wanted and name in {BASELINE, "default", *MIXED}
    }
    results = collect(names, folder, families, cache, options.seeds, options.folds)
    del results["CART"], results["CART, one-hot"]
    results.pop("CART, native", None)
    parts = {**halves(names, first), "both": np.ones(len(names), dtype=bool)}
    tables = {
        base: compare(results, base, names, parts, options)
        for base in (BASELINE, ONE_HOT, "default")
    }
    options.tables.show("default-categories", *forms(tables))
    if options.per_set:
        show_tables(results, names, results)
    return tables


def forms(tables):
    """Return header and rows: the forms of the default."""
    header = ["rule", *(f"accuracy, {part}" for part in tables[BASELINE])]
    header += ["W/T/L", "leaves", "log loss", "worst table", "to one-hot CART", "W/T/L"]
    rows = []
    for rule in ["default", *MIXED, BASELINE]:
        found = [answer[rule] for answer in tables[BASELINE].values()]
        both, other = found[-1], tables[ONE_HOT]["both"][rule]
        rows.append(
            [
                rule,
                *(f"{row['dacc']:+.2f} ({row['error']:.2f})" for row in found),
                both["wtl"],
                f"{both['leaves']:.2f}",
                f"{both['log_loss_smooth']:+.3f}",
                both["worst"],
                f"{other['dacc']:+.2f} ({other['error']:.2f})",
                other["wtl"],
            ]
        )
    return header, rows


def main(argv=None):
    """Run the study and print both halves."""
    parser = command.parser(__doc__, "data", "cache", "json")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--sets", nargs="+", help="these tables only")
    parser.add_argument("--only", nargs="+", help="families; baselines are added")
    parser.add_argument("--half", choices=["choice", "report", "both"], default="both")
    parser.add_argument("--top", type=int, default=40, help="rules shown")
    parser.add_argument("--rules", nargs="+", help="these rules only")
    parser.add_argument("--per-set", action="store_true", help="accuracies per table")
    options = parser.parse_args(argv)
    if options.cache is None:
        parser.error("--cache is needed: results of five minutes are kept there")
    if options.results is None and (options.sets or options.only or options.rules):
        options.results = Path(options.cache) / "tables"  # a part is not the study
    folder, cache = data_folder(options.data), Path(options.cache)
    note = f"{options.seeds} times {options.folds} folds"
    options.tables = command.tables("default_study", options, note)
    cache.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)

    about = manifest(folder)
    suitable = table_names(folder)
    first = {name: i % 2 == 0 for i, name in enumerate(suitable)}
    names = [name for name in suitable if not options.sets or name in options.sets]
    if options.half != "both":
        names = [name for name in names if first[name] == (options.half == "choice")]
    mixed = [name for name in names if about[name]["nominal"] or about[name]["missing"]]
    wanted = {BASELINE, ONE_HOT, *(options.only or [*FAMILIES, *MIXED])}

    record = {"choice": [name for name in names if first[name]]}
    if wanted & (set(FAMILIES) - {BASELINE}):
        record["all"] = study_of_all(names, wanted, first, folder, cache, options)
    if mixed and wanted & (set(MIXED) - {ONE_HOT}):
        record["mixed"] = study_of_mixed(mixed, wanted, first, folder, cache, options)
    if options.json:
        Path(options.json).write_text(json.dumps(record, indent=1) + "\n")
