"""The levels of evidence hold on new data as the stored tables state.

Why: "overwhelming" and "strong" are claims about rows that nobody has seen yet. A
change of the default or of the levels that weakens them has to be noticed.
"""

import csv

import pytest
from scripts import RESULTS, ROOT


def read(name):
    with (RESULTS / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def count(row, name):
    return int(row[name].replace(",", ""))


def share(row, name="confirmed"):
    return float(row[name].removesuffix(" %")) / 100.0


@pytest.mark.parametrize(("level", "least"), [("overwhelming", 0.99), ("strong", 0.80)])
@pytest.mark.parametrize("tree", ["default", "greedy", "CART"])
@pytest.mark.parametrize("tables", ["chosen on", "held out"])
def test_strong_levels_hold_on_other_rows(tables, tree, level, least):
    (row,) = (
        row
        for row in read("splits-hold")
        if (row["tables"], row["tree"], row["level"]) == (tables, tree, level)
    )
    assert count(row, "decidable") >= 100
    assert share(row, "confirmed of decidable") >= least


@pytest.mark.parametrize("tables", ["chosen on", "held out"])
def test_the_stronger_the_level_the_more_splits_hold(tables):
    rows = [row for row in read("splits-hold") if row["tables"] == tables]
    for tree in ("default", "greedy", "CART"):
        own = [row for row in rows if row["tree"] == tree]
        *levels, every = own
        assert sum(count(row, "splits") for row in levels) == count(every, "splits")
        shares = [share(row) for row in levels]
        assert shares == sorted(shares, reverse=True)
        assert shares[2] > 0.05  # of weak ones more than by chance
    decades = [row for row in read("splits-hold-decades") if row["tables"] == tables]
    (every,) = (
        row for row in rows if (row["tree"], row["level"]) == ("default", "all")
    )
    assert sum(count(row, "splits") for row in decades) == count(every, "splits")
    shares = [share(row) for row in decades]
    assert shares == pytest.approx(sorted(shares, reverse=True), abs=0.05)


@pytest.mark.parametrize("page", ["doc/guide/reading.rst"])  # README.md has a table
def test_pages_quote_what_held_out_rows_confirm(page):
    overwhelming, strong, weak = (
        row["confirmed of decidable"].replace(" %", "%")
        for row in read("splits-hold")
        if (row["tables"], row["tree"]) == ("held out", "default")
        and row["level"] != "all"
    )
    text = " ".join((ROOT / page).read_text("utf-8").split())
    assert (
        f"held-out rows confirm {overwhelming} of the overwhelming splits, {strong} of "
        f"the strong and {weak} of the weak ones"
    ) in text


def test_audits_keep_their_level():
    rows = read("audit-error")
    assert len(rows) >= 20
    n_trees = 1_000
    most = 0.05 + 2.0 * (0.05 * 0.95 / n_trees) ** 0.5
    for row in rows:
        for kind in ("Holm", "top-down", "looked at ten times"):
            assert float(row[kind].split()[0]) <= most, row
    # without a correction it is broken, so the study can tell
    assert max(float(row["none"].split()[0]) for row in rows) > 3 * most


def mean_and_error(cell):
    mean, error = cell.split(" (")
    return float(mean), float(error.rstrip(")"))


def test_unbiased_importances_of_useless_columns_are_0_on_average():
    rows = [row for row in read("importances-bias") if "useless" in row["column"]]
    assert len(rows) == 18
    for row in rows:
        for kind in ("unbiased", "permutation"):
            mean, error = mean_and_error(row[kind])
            assert abs(mean) <= 3.0 * error, row
    # the impurity-based importance of a column with many categories exceeds all others
    many = [row for row in rows if row["column"] == "useless nominal, 1,000 values"]
    assert all(mean_and_error(row["impurity-based"])[0] > 0.5 for row in many)


def test_importances_take_little_time():
    for row in read("importances-time"):
        assert float(row["importances / predictions"]) <= 1.3, row


def test_p_values_of_importances_keep_their_level():
    rows = read("importances-intervals")
    assert len(rows) == 8
    for row in rows:
        for kind in ("p < .05, useless", "any useless, Holm"):
            mean, error = mean_and_error(row[kind])
            assert mean <= 0.05 + 3.0 * max(error, 0.005), (row, kind)
        for kind in ("covered, useful", "covered, useless"):
            assert mean_and_error(row[kind])[0] >= 0.92, row
