"""Comparisons in which another library or setting is better, with the cause.

Nothing is measured here. Each case names a row of a table of ``benchmarks/results``,
its values for this package and for the other side, and the cause. A test compares the
stored file with the result of today's tables.

    python benchmarks where_it_loses
"""

import csv
from typing import NamedTuple

from common import options as command
from common.results import FOLDER


class Case(NamedTuple):
    """A comparison that the other side wins.

    Attributes
    ----------
    what : str
        What was compared.
    table : str
        File of results.
    ours, peer : tuple
        Values that name the row, by column; and the column of the cell.
    cause : str
    page : str
        Page of the documentation that has the whole table.
    """

    what: str
    table: str
    ours: tuple
    peer: tuple
    cause: str
    page: str


HELD_OUT = {"tables": "held out"}
CONTINUOUS = {"table": "100,000 x 20 continuous"}
CHI2 = {"forest": '"chi2"', "repeats": "True"}
LETTER = {"table": "letter"}
FIVE = {"table": "20,000 x 50, 5 classes"}
LARGE = {"data": "1,000,000 x 20 continuous"}
CHOSEN_ON = {"tables": "33 tables, chosen on"}
NOISY = {"stream": "noisy random tree, 1,000,000 x 10"}
CASES = (
    Case(
        "accuracy on the worst held-out table, points over tuned CART",
        "baselines",
        ({**HELD_OUT, "rule": "default"}, "worst table"),
        ({**HELD_OUT, "rule": "CART, tuned"}, "accuracy"),
        "only 16 training rows per class: the default stops early, CART continues",
        "default",
    ),
    Case(
        "log loss, compared with tuned CART with the same shrinkage",
        "baselines",
        ({**HELD_OUT, "rule": "default"}, "log loss"),
        ({**HELD_OUT, "rule": "CART, tuned, shrinkage 10"}, "log loss"),
        "the low log loss comes from shrinkage, which helps CART as well",
        "default",
    ),
    Case(
        "time of fit up to 2,000 rows, compared with CART with default settings",
        "three-trees",
        ({"tree": "this tree, untuned"}, "fit"),
        ({"tree": "CART, untuned"}, "fit"),
        "look-ahead grows several trees",
        "default",
    ),
    Case(
        '``bound="evalue"``, held-out tables: accuracy, points over tuned CART',
        "baselines",
        ({**HELD_OUT, "rule": "evalue"}, "accuracy"),
        ({**HELD_OUT, "rule": "CART, tuned"}, "accuracy"),
        "a guarantee at any time needs more rows than these tables have",
        "default",
    ),
    Case(
        "share of pairs of trees with the same root split, compared with pruned CART",
        "stability",
        ({"rule": "greedy root", "tables": "chosen on"}, "same root"),
        ({"rule": "CART, pruned by CV", "tables": "chosen on"}, "same root"),
        "unknown; on the held-out tables both are on par",
        "stability",
    ),
    Case(
        "accuracy with 50 classes of 18 rows each, %, compared with CART",
        "many-classes",
        ({"table": "ucr-fiftywords", "rule": "default"}, "accuracy"),
        ({"table": "ucr-fiftywords", "rule": "CART, Gini"}, "accuracy"),
        "splits stop early with few rows, and the Gini index is better here by chance",
        "default_study",
    ),
    Case(
        "multiway splits: accuracy, points over CART with one-hot encoding",
        "default-categories",
        ({"rule": "default, native, multiway"}, "to one-hot CART"),
        ({"rule": "CART, one-hot, pruned by CV"}, "to one-hot CART"),
        "presumably the children have too few rows",
        "default_study",
    ),
    Case(
        "memory of fit in addition to X, 1,000,000 x 20, compared with scikit-learn",
        "fit-memory",
        (LARGE, "no bound"),
        (LARGE, "scikit-learn"),
        "the encoded table and the order of the rows are stored",
        "speed",
    ),
    Case(
        "memory of fit with sparse texts, MB, compared with scikit-learn",
        "tables-texts",
        ({"model": "default"}, "memory, MB"),
        ({"model": "scikit-learn"}, "memory, MB"),
        "indices of the values are copied, and once more by look-ahead",
        "tables",
    ),
    Case(
        "size of a forest, 100,000 x 20, MB, compared with scikit-learn",
        "forest-memory",
        (CONTINUOUS, "forest, MB"),
        (CONTINUOUS, "scikit-learn's, MB"),
        "the evidence for each split is stored",
        "forests",
    ),
    Case(
        'forest with ``bound="chi2"``: clipped log loss, compared with a random forest',
        "forest-bounds-all",
        (CHI2, "log loss, clipped at 0.01"),
        ({"forest": "RandomForestClassifier"}, "log loss, clipped at 0.01"),
        "trees stop if no single split is significant, although many trees vote",
        "forests",
    ),
    Case(
        "accuracy of a forest with five classes, %, compared with LightGBM",
        "forest-speed",
        ({**FIVE, "forest": "skconftree"}, "accuracy, %"),
        ({**FIVE, "forest": "lightgbm"}, "accuracy, %"),
        "LightGBM grows one tree per class, five times as many",
        "forests",
    ),
    Case(
        "NCM forest: prediction of a row, µs, compared with a random forest",
        "forest-ncm",
        ({"forest": "NCM forest"}, "prediction, µs a row"),
        ({"forest": "random forest"}, "prediction, µs a row"),
        "each node computes distances to means instead of comparing one value",
        "forests",
    ),
    Case(
        "NCM forest, half of letter's classes new: accuracy, %, and a random forest",
        "paper-e-rest",
        ({**LETTER, "learner": "hi-RF"}, "50% known: right, %"),
        ({**LETTER, "learner": "random forest"}, "50% known: right, %"),
        "half of its trees only update the counts of their leaves",
        "../guide/ncm",
    ),
    Case(
        "boosting: accuracy on digits, %, with and without a split rule",
        "boosting",
        ({"tree": '``bound="gtest"``, relative'}, "digits, depth 3"),
        ({"tree": "``DecisionTreeClassifier``"}, "digits, depth 3"),
        "weights of boosting do not count as evidence",
        "probabilities",
    ),
    Case(
        "one pass over a noisy random tree: accuracy and leaves, and our own `fit`",
        "stream-gap",
        (NOISY, "one pass: accuracy, leaves"),
        (NOISY, "our fit"),
        "early splits are based on few rows and are permanent",
        "streams",
    ),
    Case(
        "first rows of a stream, worst table: points over our `fit`; without refits",
        "early-rows",
        (CHOSEN_ON, "worst default - fit"),
        (CHOSEN_ON, "worst incremental - fit"),
        "fewer rows than at the last refit; the other column is ``refit_rows=0``",
        "early_rows",
    ),
    Case(
        "stream with drift: accuracy, % and leaves, and our own ``drift='ddm'``",
        "stream-settings",
        ({"setting": "default"}, "Agrawal with drift"),
        ({"setting": "``drift='ddm'``"}, "Agrawal with drift"),
        "splits are permanent without a detector",
        "streams",
    ),
    Case(
        "SEA with drift, forest: accuracy, %, and MOA's adaptive random forest",
        "stream-growing-peers",
        ({"per cent right": "ours, forest"}, "SEA with drift"),
        ({"per cent right": "MOA, adaptive forest"}, "SEA with drift"),
        "our forest had no drift detector here",
        "growing",
    ),
    Case(
        "frames of one row with texts: µs per row, and River's tree",
        "one-by-one",
        (
            {"stream": "numbers and texts", "rows as": "frame, a slice of one row"},
            "us a row",
        ),
        ({"stream": "numbers and texts", "rows as": "river's own tree"}, "us a row"),
        "overhead of pandas; ``OneByOne`` accepts dictionaries, as River does",
        "../guide/coming_from",
    ),
    Case(
        "letter as a stream, forest as published, and MOA's random patches",
        "stream-forests-moa",
        ({"stream": "letter, 20,000 x 16"}, "as published"),
        ({"stream": "letter, 20,000 x 16"}, "MOA's random patches"),
        "the Hoeffding bound waits long with 26 classes; the default does not",
        "streams",
    ),
    Case(
        'active learning, diabetes, ``"auto"``: share of random labels, and margin',
        "active-sets-forests",
        ({"table": "diabetes", "strategy": "auto"}, "share of its labels"),
        ({"table": "diabetes", "strategy": "margin"}, "share of its labels"),
        "unknown",
        "active",
    ),
    Case(
        "Learning To Sample with 50 labels of adult: accuracy, %, and random labels",
        "paper-e-adult",
        ({"labels": "50"}, "LTS, alpha 1"),
        ({"labels": "50"}, "XG"),
        "no class of adult is rare",
        "../guide/lts",
    ),
    Case(
        "OASIS with all labels of vowel: error, %, and logistic regression",
        "paper-d-intercept",
        ({"table": "vowel", "labels": "all"}, "with"),
        ({"table": "vowel", "labels": "all"}, "logistic regression"),
        "eleven classes, one against the rest: a plane cannot separate one of them",
        "rupprechter_2012_oasis",
    ),
    Case(
        "OASIS with 20 labels of banknote: error, %, and logistic regression",
        "paper-d-few-labels",
        ({"labels": "banknote"}, "OASIS, 20 and all others unlabeled"),
        ({"labels": "banknote"}, "logistic regression, 20"),
        "unlabeled rows select a gap, but the classes meet elsewhere",
        "rupprechter_2012_oasis",
    ),
    Case(
        "OASIS with 200 rows of 60 features: accuracy, %, and logistic regression",
        "oasis-exact",
        ({"rows": "Gaussian, d = 60"}, "right, %"),
        ({"rows": "Gaussian, d = 60"}, "logistic regression"),
        "mostly due to the model: its exact posterior is worse as well",
        "rupprechter_2012_oasis",
    ),
)


def cell(table, place):
    """Look up one cell of a table."""
    row, column = place
    with (FOLDER / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        rows = [
            one
            for one in csv.DictReader(file)
            if all(one[name] == value for name, value in row.items())
        ]
    if len(rows) != 1:
        raise LookupError(f"{table} has {len(rows)} rows of {row}")
    return rows[0][column]


def main(argv=None):
    """Read the tables and show what they say."""
    options = command.parser(__doc__).parse_args(argv)
    tables = command.tables("where_it_loses", options)
    rows = [
        [
            case.what,
            cell(case.table, case.ours),
            cell(case.table, case.peer),
            case.cause,
            f":doc:`{case.page}`",
        ]
        for case in CASES
    ]
    header = ["comparison", "skconftree", "the other", "cause", "page"]
    tables.show("where-it-loses", header, rows)
