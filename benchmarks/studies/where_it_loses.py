"""Where a peer is better: read from the other tables, with the cause.

Nothing is measured here. Each case names a row of a table of ``benchmarks/results``,
what it has of ours and of the peer, and why; a test keeps the file that is written the
one that the tables give today.

    python benchmarks where_it_loses
"""

import csv
from typing import NamedTuple

from common import options as command
from common.results import FOLDER


class Case(NamedTuple):
    """A comparison that a peer wins.

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
NOISY = {"stream": "noisy random tree, 1,000,000 x 10"}
CASES = (
    Case(
        "the held-out table on which the default falls furthest behind, in points",
        "baselines",
        ({**HELD_OUT, "rule": "default"}, "worst table"),
        ({**HELD_OUT, "rule": "CART, tuned"}, "accuracy"),
        "16 rows a class are left to learn from: tests stop where CART goes on",
        "default",
    ),
    Case(
        "log loss, beside tuned CART with the same shrinkage",
        "baselines",
        ({**HELD_OUT, "rule": "default"}, "log loss"),
        ({**HELD_OUT, "rule": "CART, tuned, shrinkage 10"}, "log loss"),
        "shrinkage makes the probabilities, not the tree",
        "default",
    ),
    Case(
        "fit, on tables of at most 2,000 rows, beside CART as it comes",
        "three-trees",
        ({"tree": "this tree, untuned"}, "fit"),
        ({"tree": "CART, untuned"}, "fit"),
        "look-ahead grows more trees than one",
        "default",
    ),
    Case(
        '``bound="evalue"``, held-out tables, in points, beside tuned CART',
        "baselines",
        ({**HELD_OUT, "rule": "evalue"}, "accuracy"),
        ({**HELD_OUT, "rule": "CART, tuned"}, "accuracy"),
        "what holds at every look takes more rows than such tables have",
        "default",
    ),
    Case(
        "share of pairs of trees with the same first question, beside pruned CART",
        "stability",
        ({"rule": "greedy root", "tables": "chosen on"}, "same root"),
        ({"rule": "CART, pruned by CV", "tables": "chosen on"}, "same root"),
        "not found out; on the held-out tables both are level",
        "stability",
    ),
    Case(
        "50 classes, 18 rows a class, % right, beside CART",
        "many-classes",
        ({"table": "ucr-fiftywords", "rule": "default"}, "accuracy"),
        ({"table": "ucr-fiftywords", "rule": "CART, Gini"}, "accuracy"),
        "tests stop early on few rows, and Gini's index does better by chance here",
        "default_study",
    ),
    Case(
        "a branch for each category, in points, beside CART on one-hot columns",
        "default-categories",
        ({"rule": "default, native, multiway"}, "to one-hot CART"),
        ({"rule": "CART, one-hot, pruned by CV"}, "to one-hot CART"),
        "presumably children get too few rows",
        "default_study",
    ),
    Case(
        "memory of a fit beyond X, 1,000,000 x 20, beside scikit-learn",
        "fit-memory",
        (LARGE, "no bound"),
        (LARGE, "scikit-learn"),
        "the encoded table and the order of the rows are kept",
        "speed",
    ),
    Case(
        "memory of a fit of sparse texts, MB, beside scikit-learn",
        "tables-texts",
        ({"model": "default"}, "memory, MB"),
        ({"model": "scikit-learn"}, "memory, MB"),
        "places of the values are copied, once more for the trials of look-ahead",
        "tables",
    ),
    Case(
        "forest of 100,000 x 20, MB, beside scikit-learn",
        "forest-memory",
        (CONTINUOUS, "forest, MB"),
        (CONTINUOUS, "scikit-learn's, MB"),
        "the evidence for each split is kept",
        "forests",
    ),
    Case(
        'forest with ``bound="chi2"``, log loss, clipped, beside a random forest',
        "forest-bounds-all",
        (CHI2, "log loss, clipped at 0.01"),
        ({"forest": "RandomForestClassifier"}, "log loss, clipped at 0.01"),
        "trees stop where no single test is sure, although many trees vote",
        "forests",
    ),
    Case(
        "forest, five classes, % right, beside LightGBM",
        "forest-speed",
        ({**FIVE, "forest": "skconftree"}, "accuracy, %"),
        ({**FIVE, "forest": "lightgbm"}, "accuracy, %"),
        "LightGBM grows a tree for each class, five times as many",
        "forests",
    ),
    Case(
        "NCM forest, µs to predict a row, beside a random forest",
        "forest-ncm",
        ({"forest": "NCM forest"}, "prediction, µs a row"),
        ({"forest": "random forest"}, "prediction, µs a row"),
        "each node measures distances to means instead of comparing one value",
        "forests",
    ),
    Case(
        "NCM forest, half of letter's classes new, % right, beside a random forest",
        "paper-e-rest",
        ({**LETTER, "learner": "hi-RF"}, "50% known: right, %"),
        ({**LETTER, "learner": "random forest"}, "50% known: right, %"),
        "half of its trees only count the new rows in their leaves",
        "../guide/ncm",
    ),
    Case(
        "boosting, % right on digits, with a bound and without",
        "boosting",
        ({"tree": '``bound="gtest"``, relative'}, "digits, depth 3"),
        ({"tree": "``DecisionTreeClassifier``"}, "digits, depth 3"),
        "weights of boosting are no evidence",
        "probabilities",
    ),
    Case(
        "one pass over a noisy random tree, beside our own `fit`",
        "stream-gap",
        (NOISY, "one pass: accuracy, leaves"),
        (NOISY, "our fit"),
        "splits that come early stay, and are made on few rows",
        "streams",
    ),
    Case(
        "a stream with drift, % right and leaves, beside our own ``drift='ddm'``",
        "stream-settings",
        ({"setting": "default"}, "Agrawal with drift"),
        ({"setting": "``drift='ddm'``"}, "Agrawal with drift"),
        "splits stay where no detector is asked for",
        "streams",
    ),
    Case(
        "SEA with drift, 10,000 rows, forest, % right, beside MOA's adaptive forest",
        "stream-growing-peers",
        ({"per cent right": "ours, forest"}, "SEA with drift"),
        ({"per cent right": "MOA, adaptive forest"}, "SEA with drift"),
        "ours has no detector here",
        "growing",
    ),
    Case(
        "frames of one row with texts, µs for each, beside river's tree",
        "one-by-one",
        (
            {"stream": "numbers and texts", "rows as": "frame, a slice of one row"},
            "us a row",
        ),
        ({"stream": "numbers and texts", "rows as": "river's own tree"}, "us a row"),
        "what pandas takes for a frame; ``OneByOne`` takes dictionaries as river does",
        "../guide/coming_from",
    ),
    Case(
        "letter as a stream, forest as published, beside MOA's random patches",
        "stream-forests-moa",
        ({"stream": "letter, 20,000 x 16"}, "as published"),
        ({"stream": "letter, 20,000 x 16"}, "MOA's random patches"),
        "Hoeffding's radius waits long with 26 classes; our own bound does not",
        "streams",
    ),
    Case(
        'forest on diabetes, ``"auto"``, share of random\'s labels, beside margin',
        "active-sets-forests",
        ({"table": "diabetes", "strategy": "auto"}, "share of its labels"),
        ({"table": "diabetes", "strategy": "margin"}, "share of its labels"),
        "not found out",
        "active",
    ),
    Case(
        "Learning To Sample with 50 labels of adult, % right, beside random labels",
        "paper-e-adult",
        ({"labels": "50"}, "LTS, alpha 1"),
        ({"labels": "50"}, "XG"),
        "no class is rare there",
        "../guide/lts",
    ),
    Case(
        "OASIS with all labels of vowel, % wrong, beside logistic regression",
        "paper-d-intercept",
        ({"table": "vowel", "labels": "all"}, "with"),
        ({"table": "vowel", "labels": "all"}, "logistic regression"),
        "eleven classes, each learned against all others: a plane cannot part one",
        "rupprechter_2012_oasis",
    ),
    Case(
        "OASIS with 20 labels of banknote, % wrong, beside logistic regression",
        "paper-d-few-labels",
        ({"labels": "banknote"}, "OASIS, 20 and all others unlabeled"),
        ({"labels": "banknote"}, "logistic regression, 20"),
        "unlabeled rows choose a gap, and the classes meet elsewhere",
        "rupprechter_2012_oasis",
    ),
    Case(
        "OASIS, 200 rows of 60 features, % right, beside logistic regression",
        "oasis-exact",
        ({"rows": "Gaussian, d = 60"}, "right, %"),
        ({"rows": "Gaussian, d = 60"}, "logistic regression"),
        "most of it is the model's own: its exact posterior is behind as well",
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
    header = ["compared", "ours", "the peer's", "cause", "page"]
    tables.show("where-it-loses", header, rows)
