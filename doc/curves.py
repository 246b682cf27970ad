"""Figures of publications as curves, from the tables of ``benchmarks/results``."""

from drawing import curves, number, plain, table

TABLES = {
    "letter": "LETTER A/B",
    "letter-values": "LETTER A/B, a test for each value",
    "wdbc": "WDBC",
    "pendigits": "PENDIGITS 0/1",
    "kr-vs-kp": "KR-VS-KP",
}
POOLS = tuple(TABLES[name] for name in ("letter", "pendigits", "wdbc"))
STOPPED = ("IG, chi2", "EC2, stop 0.10", "EC2, stop 0.50", "EC2, stop 0.99")


def along_shares(row):
    """Points of a row whose columns are shares in per cent."""
    return [
        (number(share), number(cell))
        for share, cell in row.items()
        if share.endswith("%") and share[0].isdigit()
    ]


def by_noise(name, trees, words):
    """A panel: lines of some trees against the share of wrong labels, in per cent."""
    rows = table(name)
    first = next(iter(rows[0]))
    return words, {row[first]: along_shares(row) for row in rows if row[first] in trees}


def draw_scores():
    """Figures 5.3 and 5.4 of Rupprechter (2012)."""
    scores = ("RD", "UC", "IG", "EC2")
    name = "paper-d-trees-letter"
    plain_trees = by_noise(name, scores, "grown to the end: wrong, %")
    words, pruned = by_noise(
        name, [f"{one}, chi2" for one in scores], "pruned by chi2 at 0.05: wrong, %"
    )
    pruned = {tree.removesuffix(", chi2"): line for tree, line in pruned.items()}
    return curves(
        "LETTER A/B: errors of trees by four scores, grown to the end and pruned",
        [plain_trees, (words, pruned)],
        "wrong labels, %",
    )


def draw_pvalues():
    """Figures 5.5 and 5.6."""
    panels = []
    for name in ("letter", "wdbc"):
        rows = [
            row for row in table("paper-d-pvalues") if row["wrong, %"] == TABLES[name]
        ]
        lines = {f"p {row['p']}": along_shares(row) for row in rows}
        panels.append((f"{TABLES[name]}: wrong, %", lines))
    return curves(
        "Errors of information gain pruned by chi-squared at five p-values",
        panels,
        "wrong labels, %",
    )


def draw_stopped():
    """Figures 5.7 to 5.9, and what stands for 5.11."""
    return curves(
        "Errors of EC2 trees that stop, of random trees and pruned information gain",
        [
            by_noise(f"paper-d-trees-{name}", ("RD", *STOPPED), f"{words}: wrong, %")
            for name, words in TABLES.items()
        ],
        "wrong labels, %",
    )


def draw_depths():
    """Figures 5.12 and 5.13, and what stands for 5.14."""
    return curves(
        "Depths of EC2 trees that stop and of pruned information gain",
        [
            by_noise(f"paper-d-depths-{name}", STOPPED, f"{TABLES[name]}: depth")
            for name in ("letter", "letter-values", "wdbc", "kr-vs-kp")
        ],
        "wrong labels, %",
    )


def by_labels(words, what, ways):
    """A panel: lines of some query strategies against the number of labels."""
    return f"{words}: {what}", {
        plain(row["query strategy"]): [
            (number(labels), number(cell))
            for labels, cell in row.items()
            if labels.endswith(" labels") and labels != "1 labels"  # before: chance
        ]
        for row in table("paper-d-ec2-curves")
        if row["table"] == words
        and row["what"] == what
        and (ways is None or row["query strategy"] in ways)
    }


def draw_queries():
    """Figures 4.17 to 4.19."""
    ways = ("at random", '`"gbs"`', '`"margin"`, which is UC', "EC2")
    return curves(
        "Errors after each label, by four query strategies, on three tables",
        [by_labels(words, "wrong, %", ways) for words in POOLS],
        "labels",
    )


def draw_family():
    """Figures 4.20 to 4.22."""
    return curves(
        "LETTER A/B: errors and seconds of the forms of EC2",
        [by_labels("LETTER A/B", what, None) for what in ("wrong, %", "seconds")],
        "labels",
    )


def draw_random_trees():
    """Figure 3 of De Rosa and Cesa-Bianchi (2017)."""
    lines = {
        row["method"]: [
            (number(size), number(cell)) for size, cell in list(row.items())[1:] if cell
        ]
        for row in table("paper-c-random")
        if " minus " not in row["method"]
    }
    return curves(
        "Accuracy on random trees by the number of leaves, all parameters together",
        [("random trees: accuracy, %", lines)],
        "leaves, at least",
        log=True,
        from_zero=False,
    )


def draw_stability():
    """Rules of the root by the rows of a tree."""
    rows = table("stability-size")
    panels = []
    for column, words in (("same root", "same root"), ("accuracy", "right, %")):
        lines = {}
        for row in rows:
            at = number(row["rows a tree"]), number(row[column])
            lines.setdefault(row["rule"], []).append(at)
        panels.append((words, lines))
    return curves(
        "Share of pairs of trees with the same root, and accuracy, by rows of a tree",
        panels,
        "rows of a tree",
        log=True,
        from_zero=False,
    )


def by_stream(rows, mark):
    """Rows of each panel: one a stream, with a mark behind its name if it shows F1."""
    panels = {}
    for row in rows:
        stream = row["stream"].removesuffix(mark)
        what = "accuracy" if stream == row["stream"] else "F1"
        panels.setdefault(f"{stream}: {what}, %", []).append(row)
    return panels


def draw_courses():
    """Figure 4."""
    panels = by_stream(table("paper-c-courses"), "*")
    del panels["random trees: accuracy, %"]
    lines = {words: {} for words in panels}
    for words, rows in panels.items():
        for row in rows:
            point = number(row["leaves"]), number(row["value"])
            lines[words].setdefault(row["method"], []).append(point)
    return curves(
        "Running performance of the tuned trees by the number of leaves",
        list(lines.items()),
        "leaves",
        log=True,
        from_zero=False,
    )


def draw_budgets():
    """Figure 5."""
    rows = [row for row in table("paper-c-active-values") if row["tree"] == "C-Tree"]
    return curves(
        "Performance of C-Tree by the share of labels that may be requested",
        [
            (words, {plain(row["strategy"]): along_shares(row) for row in ours})
            for words, ours in by_stream(rows, ", F1").items()
        ],
        "budget, %",
        log=True,
        from_zero=False,
    )


LEAST = (
    0.21395  # risk of the toy problem of Collet and Pietquin that no tree goes below
)


def by_queries(words):
    """A panel: lines of the scores of a stream, a point for each threshold."""
    lines = {}
    for row in table("paper-d-online"):
        score, _, _ = plain(next(iter(row.values()))).partition(",")
        wrong, n_queried = map(number, row[words].split("("))
        lines.setdefault(score, []).append((2 + n_queried, wrong))  # two are given
    return f"{words}: wrong, %", lines


def draw_online():
    """Figure 4.14 of Rupprechter (2012)."""
    return curves(
        "Errors on a stream by the number of labels, by two scores",
        [by_queries(words) for words in POOLS],
        "labels",
        log=True,
    )


def draw_modes():
    """Figures 4.8 and 4.10: planes of one run by direction."""
    lines = {}
    for row in table("paper-d-modes-directions"):
        for name in ("0 labels", "3 labels", "10 labels"):
            cell = row[f"{name}, weight in %"]
            lines.setdefault(name, []).append((number(row["degrees"]), number(cell)))
    return curves(
        "Weight of the planes on DICED by their direction, without labels and with",
        [("share of the weight, %", lines)],
        "direction of the plane's normal vector, degrees",
    )


def of_pool(words, told, ways):
    """A panel: lines of some settings, which get short names, against labels."""
    lines = {name: [] for name in ways.values()}
    for row in table("paper-d-offline-curves"):
        name = ways.get(plain(row["query strategy"]))
        if row["table"] == words and name and row["labels"] not in ("1", "2"):  # chance
            lines[name].append((number(row["labels"]), number(row["wrong, %"])))
    return f"{words}: {told}", lines


def draw_particles():
    """Figure 4.15."""
    ways = {
        "at random, 1,000 particles": "random, 1,000 particles",
        '"oasis", 1,000': '"oasis", 1,000 particles',
        "at random, 10,000": "random, 10,000 particles",
        '"oasis", 10,000': '"oasis", 10,000 particles',
        '"uc", 10,000': '"uc", 10,000 particles',
    }
    return curves(
        "Errors by the labels of a pool, from 1,000 and from 10,000 particles",
        [of_pool(words, "wrong, %", ways) for words in POOLS],
        "labels",
    )


def draw_oasis_settings():
    """Figures 4.16 and 4.23."""
    panels = {
        "likelihoods, wrong, %": {
            '"oasis", 10,000': "as published, 10,000",
            'likelihood="steep", 10,000': 'likelihood="steep"',
            'likelihood="flat", 10,000': 'likelihood="flat"',
        },
        "priors, wrong, %": {
            '"oasis", 10,000': "as published, 10,000",
            'prior="normal", 10,000': 'prior="normal"',
            '"oasis", 1,000': "as published, 1,000",
            "the cloud of an unlabeled run, 1,000": "unlabeled run, 1,000",
        },
    }
    return curves(
        "Errors by the labels of a pool, with three likelihoods and three priors",
        [of_pool(words, *panel) for words in POOLS for panel in panels.items()],
        "labels",
    )


def along_labels(rows, column, height):
    """Lines of the columns after the one that counts labels."""
    names = list(rows[0])
    return {
        name: [(number(row[column]), height(number(row[name]))) for row in rows]
        for name in names[names.index(column) + 1 :]
    }


def draw_toy():
    """Figure 5 of Collet and Pietquin (2015)."""
    lines = along_labels(
        table("paper-a-toy-curves"), "labels", lambda risk: 100 * (risk - LEAST)
    )
    fixed, tree = ("mbinomial_8", "mbinomial_64"), "BOCT"
    return curves(
        "Toy problem: risk by the number of labels, and two fixed partitions",
        [
            (f"{one}: excess risk, points", {n: lines[n] for n in (*fixed, tree, one)})
            for one in ("BOCT-AL", "BOCT-AL by excess risk")
        ],
        "labels",
    )


def draw_boct_tables():
    """Figure 6."""
    rows = table("paper-a-tables-curves")
    panels = []
    for name in dict.fromkeys(row["table"] for row in rows):
        ours = [row for row in rows if row["table"] == name]
        panels.append((f"{name}: risk, %", along_labels(ours, "labels, %", float)))
    return curves(
        "Risk on four real tables by the share of the pool that is labeled",
        panels,
        "labels, % of the pool",
    )


def draw_found():
    """Table 1 of Shao, Wang and Liu: F1 by the share of labels."""
    rows = [row for row in table("paper-e-budgets") if row["F1"] == "here"]
    ways = ("CART", "XG", "XG+RS", "XG+US", "LTS, alpha 1")
    lines = {
        way: [(number(row["labels, %"]), number(row[way])) for row in rows]
        for way in ways
    }
    return curves(
        "F1 of a rare class by the share of labels, by five ways to request them",
        [("F1 in pools of a million pairs", lines)],
        "labels, %",
        log=True,
    )


def draw_known_classes():
    """What hi-RF and its baselines know after the remaining classes came at once."""
    ways = ("hi-RF", "all RLP", "growing leaves (IGT)", "retrained")
    ways += ("random forest",)
    panels = {}
    for row in table("paper-e-rest"):
        if row["learner"] in ways:
            lines = panels.setdefault(f"{row['table']}: right, %", {})
            lines[row["learner"]] = [
                (number(known), number(cell))
                for known, cell in row.items()
                if known.endswith("right, %")
            ]
    return curves(
        "Accuracy after the remaining classes were learned, by how many were known",
        list(panels.items()),
        "classes known before, %",
    )


def draw_steps():
    """Figures 3 and 4 of Xie, Peng and Wang."""
    panels = {}
    for row in table("paper-e-steps"):
        lines = panels.setdefault(f"{row['table']}, {row['classes']}: accuracy, %", {})
        point = number(row["known"]), number(row["right, %"])
        lines.setdefault(plain(row["learner"]), []).append(point)
    return curves(
        "Accuracy while classes are added step by step",
        list(panels.items()),
        "classes known",
        from_zero=False,
    )


def draw_early_rows():
    """Accuracy over the first rows of a stream, of the trees there are meanwhile."""
    names = {
        "incremental": "incremental",
        "refitted": "refitted",
        "default": "default: the one that is ahead",
    }
    lines = {
        name: [
            (number(row["rows"]), number(row[column]))
            for row in table("early-rows-curve")
        ]
        for column, name in names.items()
    }
    return curves(
        "Accuracy over the first 3,000 rows: incremental, refitted and default tree",
        [("accuracy, % of 150 rows", lines)],
        "rows",
        from_zero=False,
    )


def draw_recall_example():
    """Recall of a rare class in a session, with its estimate and lower limit."""
    names = {"recall": "true recall", "estimate": "estimate", "lower limit": "limit"}
    lines = {
        name: [
            (number(row["labels"]), number(row[column]))
            for row in table("recall-example")
            if row[column]
        ]
        for column, name in names.items()
    }
    return curves(
        "Recall in a session that finds a rare class and then certifies 80%",
        [("recall, %", lines)],
        "labels",
    )


CURVES = {
    "recall-example": draw_recall_example,
    "early-rows": draw_early_rows,
    "paper-c-random": draw_random_trees,
    "paper-c-courses": draw_courses,
    "paper-c-budgets": draw_budgets,
    "stability": draw_stability,
    "boct-toy": draw_toy,
    "boct-tables": draw_boct_tables,
    "oasis-online": draw_online,
    "oasis-modes": draw_modes,
    "oasis-particles": draw_particles,
    "oasis-settings": draw_oasis_settings,
    "ec2-scores": draw_scores,
    "ec2-pvalues": draw_pvalues,
    "ec2-stopped": draw_stopped,
    "ec2-depths": draw_depths,
    "ec2-queries": draw_queries,
    "ec2-family": draw_family,
    "lts-found": draw_found,
    "hirf-known": draw_known_classes,
    "hirf-steps": draw_steps,
}
