"""Draw the pictures of the documentation: ``python doc/pictures.py``.

Run it after a change of the trees, their text, or a table of results; it also puts the
text of the first tree and three tables into README.md.

One is a tree with its evidence; the others are tables of ``benchmarks/results`` where
people would rather look. They are written as plain SVG, so that the same figures make
the same bytes with any version of any library: a test draws them again and compares.
"""

import math
import re
from typing import NamedTuple

from concepts import CONCEPTS
from curves import CURVES
from drawing import (
    FAINT,
    HERE,
    INK,
    PALE,
    SOFT,
    STRONG,
    Picture,
    number,
    plain,
    table,
)
from findings import FINDINGS
from maps import MAPS
from passes import draw_passes
from sklearn.datasets import load_breast_cancer

from skconftree import ConfidenceTreeClassifier
from skconftree.inspection import ConfidenceTreeDisplay
from skconftree.tree import export_text, node_table


class Drawn(NamedTuple):
    """A picture that the package has drawn."""

    text: str


def draw_tree():
    """The default tree on the breast cancer table, as anybody draws it."""
    data = load_breast_cancer(as_frame=True)
    tree = ConfidenceTreeClassifier().fit(data.data, data.target_names[data.target])
    names = list(tree.classes_)
    nodes = node_table(tree, class_names=names)
    return Drawn(ConfidenceTreeDisplay(nodes, class_names=names).to_svg())


def bars(title, rows, unit, *, mark):
    """Horizontal bars: rows of name and value; a line where there is no difference."""
    left, wide, step = 236, 330, 24
    picture = Picture(left + wide + 90, step * len(rows) + 44, title)
    picture.say(14, 22, title, bold=True)
    most = max(value for _, value in rows)
    for i, (name, value) in enumerate(rows):
        y = 36 + step * i
        picture.say(left - 8, y + 13, name, size=11, anchor="end")
        size = wide * value / most
        picture.box(left, y + 2, size, 15, fill=STRONG)
        picture.say(left + size + 6, y + 14, f"{value:.3g}{unit}", size=11, fill=SOFT)
    x = left + wide * mark / most
    picture.line(x, 32, x, 38 + step * len(rows), stroke=INK)
    return picture


def dots(title, rows, ticks, unit):
    """One dot a row: name, value and whether it is ours."""
    left, wide, step = 236, 330, 22
    tall = step * len(rows)
    picture = Picture(left + wide + 90, tall + 66, title)
    picture.say(14, 22, title, bold=True)

    def across(value):
        return left + wide * (value - ticks[0]) / (ticks[-1] - ticks[0])

    for tick in ticks:
        picture.line(across(tick), 36, across(tick), 40 + tall)
        told = f"{tick:g}{unit}"
        picture.say(across(tick), 56 + tall, told, size=11, fill=SOFT, anchor="middle")
    for i, (name, value, ours) in enumerate(sorted(rows, key=lambda row: -row[1])):
        y = 48 + step * i
        picture.say(left - 8, y + 4, name, size=11, anchor="end", bold=ours)
        picture.line(left, y, left + wide, y, stroke=FAINT)
        fill = STRONG if ours else PALE
        picture.add("circle", cx=across(value), cy=float(y), r=5, fill=fill, stroke=INK)
        picture.say(across(value) + 9, y + 4, f"{value:g}", size=10, fill=SOFT)
    return picture


def points(title, across, up, rows, *, log, ticks, range_up):
    """A scatter: rows of name, x, y and whether it is ours."""
    left, bottom, wide, tall = 64, 330, 470, 280
    picture = Picture(left + wide + 110, bottom + 50, title)
    picture.say(14, 22, title, bold=True)
    scale = math.log10 if log else float
    low, high = scale(ticks[0]), scale(ticks[-1])
    down, over = range_up[0], range_up[-1]

    def at(x, y):
        share = (scale(x) - low) / (high - low)
        return left + wide * share, bottom - tall * (y - down) / (over - down)

    for tick in ticks:
        x, _ = at(tick, down)
        picture.line(x, bottom, x, bottom - tall)
        picture.say(x, bottom + 16, f"{tick:g}", size=11, fill=SOFT, anchor="middle")
    for tick in range_up:
        _, y = at(ticks[0], tick)
        picture.line(left, y, left + wide, y)
        picture.say(left - 8, y + 4, f"{tick:g}", size=11, fill=SOFT, anchor="end")
    picture.say(left + wide / 2, bottom + 38, across, size=11, anchor="middle")
    picture.say(14, 40, up, size=11)
    spots = [(at(x, y), name, ours) for name, x, y, ours in rows]
    taken = [(cx - 6, cy - 6, cx + 6, cy + 6) for (cx, cy), _, _ in spots]
    taken += [(left, bottom + 6, left + wide, bottom + 18), (14, 30, left, bottom)]
    for (cx, cy), name, ours in sorted(spots, key=lambda spot: not spot[2]):
        fill = STRONG if ours else PALE
        picture.add("circle", cx=cx, cy=cy, r=6 if ours else 5, fill=fill, stroke=INK)
        x, y, anchor = free_place(cx, cy, 6.2 * len(name), taken)
        fill = INK if ours else SOFT
        picture.say(x, y, name, size=10, fill=fill, anchor=anchor, bold=ours)
    return picture


def free_place(cx, cy, wide, taken):
    """Where a label of this width covers nothing; remembers it."""
    places = [
        (cx + away, cy + 4 + down, "start")
        if right
        else (cx - away, cy + 4 + down, "end")
        for down in (0, -12, 12, -24, 24, -36, 36)
        for right in (True, False)
        for away in (9,)
    ]
    for x, y, anchor in places:
        left = x if anchor == "start" else x - wide
        box = left, y - 9, left + wide, y + 2
        if not any(
            box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3]
            for b in taken
        ):
            break
    taken.append(box)
    return x, y, anchor


def front(title, rows, **ranges):
    """Accuracy against size: rows of a rule's name and two cells."""
    return points(
        title,
        "leaves, times those of tuned CART",
        "accuracy minus that of tuned CART, points",
        [
            (name, number(leaves), number(accuracy), name == "default")
            for name, leaves, accuracy in rows
        ],
        log=True,
        **ranges,
    )


def draw_default():
    """Accuracy against size of untuned rules."""
    short = {
        "gtest, entropy, t = 1": "gtest, not pruned",
        "odds, evidence, odds > 1": "bayes_factor",
        "C4.5-like > c45": "C4.5",
        "derosa, no split": "derosa, no split",
    }
    keep = {"default", "greedy", "CART", "chi2", "possibilistic", "ec2", "evalue"}
    rows = [
        (short.get(row["rule"], row["rule"]), row["leaves 2"], row["accuracy, report"])
        for row in table("default-rules")
        if row["rule"] in keep | set(short)
    ]
    return front(
        "Untuned rules compared with tuned CART, second half of the tables",
        [*rows, ("CART, tuned", "1", "0")],
        ticks=[0.2, 0.5, 1, 2, 4],
        range_up=[-12, -9, -6, -3, 0, 3],
    )


def draw_baselines():
    """Accuracy against size of the default and its baselines."""
    keep = {
        "default": "default",
        "greedy": "greedy",
        "strict": "strict",
        "tuned": "default, tuned",
        "LicketySPLIT": "LicketySPLIT",
        "C4.5-style": "C4.5-style",
        "CART": "CART",
        "CART, tuned": "CART, tuned",
    }
    shown = {
        row["rule"]: row
        for row in table("baselines")
        if row["tables"] == "held out" and row["rule"] in keep
    }
    rows = [(keep[rule], row["leaves"], row["accuracy"]) for rule, row in shown.items()]
    some, most = (shown[rule]["number"] for rule in ("LicketySPLIT", "default"))
    return front(
        f"Accuracy and size on {most} held-out tables (LicketySPLIT: {some})",
        rows,
        ticks=[0.25, 0.5, 1, 2, 4],
        range_up=[-2, -1.5, -1, -0.5, 0, 0.5, 1],
    )


def draw_fit():
    """How many times faster `fit` is than scikit-learn's."""
    rows, data = [], ""
    for row in table("fit-plain"):
        data = row["data"] or data
        name = re.sub(r", \d classes| of \d+ levels", "", data)
        deep = "" if row["depth"] == "full" else f", depth {row['depth']}"
        rows.append((name + deep, number(row["times faster"])))
    rows += [
        (f"default, {row['data']}", number(row["times faster"]))
        for row in table("fit-default")
    ]
    return bars(
        "fit: times faster than scikit-learn's tree",
        rows,
        " x",
        mark=1,
    )


def draw_evaluate():
    """Labels that the evaluation of a forest needs, relative to uniform draws."""
    rows = [
        (row["table"], number(row["ratio"]))
        for row in table("evaluate")
        if row["model"] == "forest"
    ]
    title = "Labels for limits of equal width, relative to uniform draws"
    return bars(title, rows, "", mark=1)


def draw_streams():
    """How many times faster streams are learned than by MOA."""
    rows = [
        (row["stream"].split(",")[0], number(row["times faster"]))
        for row in table("stream-moa")
    ]
    return bars("Hoeffding trees: times faster than MOA's", rows, " x", mark=1)


def draw_settings():
    """Mean prequential accuracy of the settings of a growing tree."""
    rows = [
        (plain(row["setting"]), number(row["mean"]), row["setting"] == "default")
        for row in table("stream-settings")
    ]
    title = "Mean prequential accuracy over eight streams"
    return dots(title, rows, [74, 76, 78, 80, 82, 84], " %")


def draw_growing():
    """What one pass of partial_fit gains on fit or loses, in the mean over tables."""
    rows = [
        (
            plain(one).replace("max_features=", "").replace("_period", ""),
            number(row["accuracy"]),
            "default" in one,
        )
        for row in table("stream-growing")
        for one in [row["partial_fit - fit"]]
    ]
    title = "One pass of partial_fit: accuracy minus that of fit, points"
    return dots(title, rows, [-4, -3, -2, -1, 0, 1, 2], "")


def draw_promises():
    """Rows for a real split against splits on noise."""
    shown = {
        "evalue": "evalue",
        "bayes_factor": "bayes_factor",
        "gtest, t = 1": "gtest (default)",
        "gtest, t = .05": "gtest, delta 0.05",
        "chi2": "chi2",
        "credible": "credible",
        "possibilistic, all_tests": "possibilistic, all_tests",
        "hoeffding": "hoeffding",
        "mcdiarmid, gini": "mcdiarmid",
        "derosa, practical": "derosa, practical",
        "derosa, anytime": "derosa, anytime",
    }
    rows = []
    for row in table("promises"):
        if row["bound"] not in shown:
            continue
        told = row["0.8/0.2"]
        false = [float(cell) for cell in row["false, every row"].split()]
        needed = float(told.split("/")[-1].replace(",", "").strip())
        name = shown[row["bound"]]
        rows.append((name, needed, 100 * sum(false) / len(false), "default" in name))
    return points(
        "False splits, and rows until a real split; examined after every row",
        "rows until a real split, shares 0.8 and 0.2",
        "leaves of pure noise that split, %",
        rows,
        log=True,
        ticks=[1, 10, 100, 1000, 10000],
        range_up=[0, 25, 50, 75, 100],
    )


def draw_pitree():
    """Accuracies that Serrurier and Prade print for PiTree, and ours."""
    rows = []
    for row in table("paper-b-accuracy"):
        ours, theirs = row["PiTree"].split(";")
        rows.append((row["table"], number(theirs), number(ours), False))
    return points(
        "PiTree on ten tables: the accuracy that was published, and ours",
        "published, %",
        "ours, %",
        rows,
        log=False,
        ticks=[50, 60, 70, 80, 90, 100],
        range_up=[50, 60, 70, 80, 90, 100],
    )


PICTURES = {
    "tree": draw_tree,
    "default": draw_default,
    "baselines": draw_baselines,
    "fit": draw_fit,
    "evaluate": draw_evaluate,
    "streams": draw_streams,
    "stream-settings": draw_settings,
    "growing": draw_growing,
    "promises": draw_promises,
    "pitree": draw_pitree,
    "passes": draw_passes,
    **FINDINGS,
    **CONCEPTS,
    **CURVES,
    **MAPS,
}


def first_text():
    """What the example of README.md prints."""
    data = load_breast_cancer(as_frame=True)
    tree = ConfidenceTreeClassifier().fit(data.data, data.target_names[data.target])
    return export_text(tree)


def percent(cell):
    """The share at the beginning of a cell, without a space before its sign."""
    return re.match(r"[\d.]+", cell)[0] + "%"


def levels_that_hold():
    """Shares of the default's splits that new rows confirm."""
    found = {
        (row["tables"], row["level"]): row
        for row in table("splits-hold")
        if row["tree"] == "default"
    }
    yield "evidence", "confirmed, 43 held-out tables", "34 development tables"
    for level in ("overwhelming", "strong", "weak"):
        yield (
            level,
            *(
                f"{percent(row['confirmed of decidable'])} of {row['decidable']} splits"
                for row in (
                    found[tables, level] for tables in ("held out", "chosen on")
                )
            ),
        )


def trees_compared():
    """The default and CART, with default settings and tuned."""
    names = {
        "this tree, untuned": "`ConfidenceTreeClassifier()`",
        "CART, untuned": "scikit-learn CART, default settings",
        "CART, tuned by a grid search": "scikit-learn CART, grid search of `ccp_alpha`",
    }
    yield "43 held-out tables", "accuracy", "log loss", "fit time, all 77 tables"
    for row in table("three-trees"):
        if row["tree"] in names:
            yield (
                names[row["tree"]],
                percent(row["accuracy, others"]),
                row["log loss, others"],
                row["fit"],
            )


def streams_compared():
    """Trees and forests that grow, of three libraries: accuracy and time per row."""
    rows = {row["per cent right"]: row for row in table("stream-growing-peers")}

    def cell(name):
        time = number(rows[name]["us a row (geometric mean)"])
        return f"{rows[name]['mean']}%, {time:.3g} µs"

    yield "accuracy, time per row", "skconftree", "MOA", "River"
    yield "one tree", *(cell(f"{name}, tree") for name in ("ours", "MOA", "river"))
    forests = cell("ours, forest"), cell("MOA, adaptive forest")
    yield "forest of 10 trees", *forests, "not measured"


README_TABLES = {
    "splits-hold": levels_that_hold,
    "three-trees": trees_compared,
    "stream-growing-peers": streams_compared,
}


def readme(text):
    """README.md with the output of its example and its tables as they are now."""
    head, start, rest = text.partition("```text\n")
    _, end, rest = rest.partition("```\n")
    for name, rows in README_TABLES.items():
        mark = f"<!-- {name} -->\n"
        before, _, after = rest.partition(mark)
        first, *others = rows()
        lines = [first, ["---"] * len(first), *others]
        made = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
        after = re.sub(r"^(\|.*\n)*", "", after)
        rest = f"{before}{mark}{made}\n{after}"
    return f"{head}{start}{first_text().rstrip()}\n{end}{rest}"


def main():
    """Write every picture, and README.md."""
    path = HERE.parent / "README.md"
    path.write_text(readme(path.read_text("utf-8")), encoding="utf-8", newline="\n")
    (HERE / "images").mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        path = HERE / "images" / f"{name}.svg"
        path.write_text(draw().text, encoding="utf-8", newline="\n")
        print(path.relative_to(HERE.parent), path.stat().st_size)


if __name__ == "__main__":
    main()
