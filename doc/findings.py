"""Pictures of the guide that show data, from tables of results or short runs."""

import numpy as np
from drawing import (
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PALE,
    RED,
    SOFT,
    STRONG,
    Picture,
    number,
    stroke,
    table,
)
from sklearn.datasets import load_breast_cancer

from skconftree import ConfidenceTreeClassifier, PartiallyLinearTreeClassifier


def draw_shuffled_labels():
    """The best candidate of the root with shuffled labels, and the observed one."""
    first, *rows = table("shuffled-labels")
    _, low_end, high_end, count = first
    observed = number(first[low_end])
    bins = [
        tuple(number(row[name]) for name in (low_end, high_end, count))
        for row in rows[:-1]
    ]
    n_all = int(sum(size for *_, size in bins))
    n_below = int(number(rows[-1][count]))
    left, bottom, wide, tall = 226, 232, 400, 150
    low, most = -3.0, max(size for *_, size in bins)
    picture = Picture(
        660, 300, f"The best candidate split of {n_all:,} tables with shuffled labels"
    )
    picture.say(
        14, 22, "The best of all candidate splits at the root, breast cancer", bold=True
    )

    def at(value):
        return left + wide * (value - low) / (2.5 - low)

    picture.line(20, bottom, left - 34, bottom)
    picture.line(left - 22, bottom, left + wide, bottom)
    for x in (left - 34, left - 22):  # the scale is interrupted
        picture.line(x - 4, bottom + 6, x + 4, bottom - 6, stroke=SOFT)
    for start, end, size in bins:
        height = tall * size / most
        fill = STRONG if start < 0 else PALE
        picture.box(
            at(start), bottom - height, at(end) - at(start) - 1, height, fill=fill
        )
    for power in range(-3, 3):
        told = f"{10.0**power:g}"
        picture.say(at(power), bottom + 16, told, size=11, fill=SOFT, anchor="middle")
    picture.line(at(0), bottom, at(0), bottom - tall - 14, stroke=INK)
    picture.say(at(0) - 6, bottom - tall - 4, "1: limit", size=11, anchor="end")
    x = 60
    picture.box(x - 2, bottom - 120, 4, 120, fill=RED)
    told = f"{10.0 ** (observed % 1):.0f}e{int(observed // 1)}"
    picture.say(x + 8, bottom - 108, "observed labels", size=12, bold=True)
    picture.say(x + 8, bottom - 92, told, size=11, fill=SOFT)
    picture.say(x, bottom + 16, told, size=11, fill=SOFT, anchor="middle")
    picture.say(at(-3.1), 92, f"{n_all:,} shuffles of the labels", bold=True)
    picture.say(
        at(-3.1), 108, f"{n_below} have a split below the limit", size=11, fill=SOFT
    )
    picture.say(
        *(330, bottom + 40),
        "candidate splits expected by chance to be this good (logarithmic scale)",
        size=11,
        anchor="middle",
    )
    return picture


def draw_evidence_holds():
    """Share of splits that new rows confirm, by the number expected by chance."""
    rows = [row for row in table("splits-hold-decades") if row["tables"] == "held out"]
    left, top, wide, step = 130, 64, 400, 26
    picture = Picture(
        660,
        top + step * len(rows) + 34,
        "Share of splits that new rows confirm, by the number expected by chance",
    )
    picture.say(
        *(14, 22), "Splits confirmed on new rows, 43 held-out tables", bold=True
    )
    picture.say(left - 10, 48, "expected by chance", size=11, fill=SOFT, anchor="end")
    levels = ["overwhelming"] * 2 + ["strong"] * 4 + ["weak"] * 2
    for i, (row, level) in enumerate(zip(rows, levels, strict=True)):
        y = top + step * i
        share = number(row["confirmed of decidable"])
        picture.say(
            *(left - 10, y + 13), row["expected by chance"], size=11, anchor="end"
        )
        picture.box(left, y, wide, 17, fill=FAINT)
        fill = {"overwhelming": STRONG, "strong": GREEN, "weak": ORANGE}[level]
        picture.box(left, y, wide * share / 100, 17, fill=fill)
        told = f"{share:.1f}% of {row['decidable']}"
        picture.say(left + wide + 8, y + 13, told, size=11, fill=SOFT)
        if level not in levels[:i]:
            picture.say(*(left + 28, y + 13), level, size=11, fill="#fefefe", bold=True)
    picture.line(
        left + wide * 0.05,
        top - 6,
        left + wide * 0.05,
        top + step * len(rows),
        stroke=INK,
    )
    picture.say(
        *(left, top + step * len(rows) + 16),
        "line: 5% would be confirmed by chance",
        size=11,
        fill=SOFT,
    )
    return picture


def draw_noise_trees():
    """How many tables of noise get a tree: this tree and a tuned CART."""
    rows = [
        row
        for row in table("noise-trees")
        if row["classes"] in ("2", "10") and not row["rows"].startswith("50 ")
    ]
    left, top, wide, step = 190, 62, 390, 44
    picture = Picture(
        660, top + step * len(rows) + 14, "Share of tables of noise that get a tree"
    )
    picture.say(14, 22, "Tables of pure noise on which a tree splits", bold=True)
    for x, fill, words in (
        (left, STRONG, "this tree, default settings"),
        (left + 200, ORANGE, "CART, tuned by cross-validation"),
    ):
        picture.box(x, 36, 12, 12, fill=fill)
        picture.say(x + 18, 46, words, size=11)
    for i, row in enumerate(rows):
        y = top + step * i
        told = f"{row['rows'].replace('x', 'rows,')} features"
        picture.say(left - 10, y + 14, told, size=11, anchor="end")
        told = f"{row['classes']} balanced classes"
        picture.say(left - 10, y + 29, told, size=11, fill=SOFT, anchor="end")
        for k, (name, fill) in enumerate(
            (("default: split, leaves", STRONG), ("CART, tuned: split, leaves", ORANGE))
        ):
            share, leaves = row[name].split(", ")
            value = number(share)
            picture.box(left, y + 1 + 17 * k, max(wide * value, 1), 15, fill=fill)
            told = f"{100 * value:.0f}%, {leaves} leaves"
            picture.say(
                *(left + wide * value + 6, y + 13 + 17 * k), told, size=10, fill=SOFT
            )
    return picture


def bar_list(title, rows, unit, most, *, ours, left=210, form=".3g"):
    """Horizontal bars of a name, a value and a note."""
    top, wide, step = 40, 560 - left - (30 if form == ".1f" else 0), 25
    picture = Picture(660, top + step * len(rows) + 12, title)
    picture.say(14, 22, title, bold=True)
    for i, (name, value, note) in enumerate(rows):
        y = top + step * i
        fill = STRONG if name.startswith(ours) else ORANGE
        picture.say(left - 10, y + 13, name, size=11, anchor="end")
        picture.box(left, y, wide * value / most, 17, fill=fill)
        told = f"{value:{form}}{unit}{note}"
        picture.say(left + wide * value / most + 6, y + 13, told, size=11, fill=SOFT)
    return picture


def draw_stream_peers():
    """Mean accuracy over nine streams, and the time for a row."""
    rows = [
        (
            row["per cent right"]
            .replace("ours", "skconftree")
            .replace("river", "River"),
            number(row["mean"]),
            f", {number(row['us a row (geometric mean)']):.3g} µs per row",
        )
        for row in table("stream-growing-peers")
        if any(sign.isdigit() for sign in row["mean"])
    ]
    rows = [(name.replace('"', "'"), *rest) for name, *rest in rows]
    return bar_list(
        "Mean accuracy over nine streams, default settings",
        rows,
        "%",
        100.0,
        ours="skconftree",
        form=".1f",
    )


def draw_read_forest():
    """Labels that a distilled tree needs, as a share of random labels."""
    *rows, summary = table("read-forest")
    share = "share of random's labels"
    rows = sorted(rows, key=lambda row: number(row[share]))
    rows = [(row["table"], 100 * number(row[share]), "") for row in rows]
    rows.append(("median", round(100 * number(summary[share])), ""))
    return bar_list(
        "Labels that the distilled tree needs: share of randomly chosen labels",
        rows,
        "%",
        100.0,
        ours="median",
    )


def draw_forest_speed():
    """How much faster a forest is fitted."""
    rows = []
    for row in table("forest-speed"):
        if row["forest"] == "scikit-learn":
            continue
        name = f"{row['forest']}, {row['table']}"
        rows.append((name, number(row["times faster than scikit-learn"]), ""))
    return bar_list(
        "fit: times faster than RandomForestClassifier, 100 trees",
        rows,
        " times",
        12.0,
        ours="skconftree",
        left=270,
    )


def draw_score():
    """One prediction of a partially linear tree, added up."""
    data = load_breast_cancer(as_frame=True)
    model = PartiallyLinearTreeClassifier(n_linear_features=5, random_state=0)
    model.fit(data.data, data.target_names[data.target])
    score = np.abs(model.decision_function(data.data))
    row = int(np.flatnonzero((score > 1.0) & (score < 1.5))[0])
    (record,) = model.explain(data.data.iloc[[row]])
    parts = [("base", record["base"]), *record["columns"]]
    node, constant = record["leaf"]
    parts.append((f"leaf (node {node})", constant))
    steps = np.cumsum([0.0, *(value for _, value in parts)])
    left, wide, height = 210, 340, 24
    picture = Picture(left + wide + 110, height * len(parts) + 96, "A score, added up")
    label = model.classes_[1]
    picture.say(14, 22, f"Log odds of {label} for one row, added up", bold=True)
    low, high = min(steps.min(), 0.0), max(steps.max(), 0.0)

    def at(value):
        return left + wide * (value - low) / (high - low)

    bottom = 40 + height * len(parts)
    picture.line(at(0.0), 36, at(0.0), bottom + 30, stroke=SOFT)
    for i, (name, value) in enumerate(parts):
        y, ends = 40 + height * i, sorted((at(steps[i]), at(steps[i + 1])))
        picture.say(left - 10, y + 14, name, size=11, anchor="end")
        fill = STRONG if value > 0 else ORANGE
        picture.box(ends[0], y + 3, max(ends[1] - ends[0], 1.0), 15, fill=fill)
        picture.line(at(steps[i + 1]), y + 3, at(steps[i + 1]), y + 27, stroke=SOFT)
        picture.say(left + wide + 14, y + 14, f"{value:+.2f}", size=11, fill=SOFT)
    picture.say(left - 10, bottom + 18, "sum", size=11, anchor="end", bold=True)
    picture.say(left + wide + 14, bottom + 18, f"{steps[-1]:+.2f}", size=11, bold=True)
    told = f"probability of {label}: {1 / (1 + np.exp(-steps[-1])):.2f}"
    picture.say(at(steps[-1]), bottom + 44, told, size=11, fill=SOFT, anchor="middle")
    return picture


def draw_shrinkage_path():
    """Probabilities from the root to a small leaf, with and without shrinkage."""
    data = load_breast_cancer()
    tree = ConfidenceTreeClassifier().fit(data.data, data.target_names[data.target])
    nodes = tree.tree_
    leaves = np.flatnonzero(nodes.feature < 0)
    leaf = min(leaves, key=lambda node: (nodes.counts[node].sum(), -nodes.depth[node]))
    path = [int(leaf)]
    while path[-1]:
        path.append(int(nodes.parent[path[-1]]))
    path.reverse()
    picture = Picture(660, 290, "Class probability along a path, with shrinkage")
    picture.say(14, 22, "Probability of benign along a path to a small leaf", bold=True)
    left, bottom, wide, tall = 60, 206, 560, 150
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = bottom - tall * share
        picture.line(left, y, left + wide, y)
        picture.say(left - 8, y + 4, f"{share:g}", size=11, fill=SOFT, anchor="end")
    lines = {"proportion of the rows": (ORANGE, "7 3"), "after shrinkage": (STRONG, "")}
    step = (wide - 120) / (len(path) - 1)
    for (name, style), values, up in zip(
        lines.items(),
        (
            [nodes.counts[node][0] / nodes.counts[node].sum() for node in path],
            [nodes.proba[node].ravel()[0] for node in path],
        ),
        (0, 1),
        strict=True,
    ):
        points = [
            (left + 60 + step * i, bottom - tall * value)
            for i, value in enumerate(values)
        ]
        stroke(picture, points, style)
        for x, y in points:
            picture.add("circle", cx=x, cy=y, r=5, fill=style[0])
        last = values[-1]
        picture.say(
            *(points[-1][0] + 10, points[-1][1] + 4), f"{last:.2f}", size=11, bold=True
        )
        stroke(picture, [(330 + 160 * up, 36), (356 + 160 * up, 36)], style)
        picture.say(362 + 160 * up, 40, name, size=11)
    for i, node in enumerate(path):
        x = left + 60 + step * i
        told = "root" if i == 0 else "leaf" if i + 1 == len(path) else f"depth {i}"
        picture.say(x, bottom + 20, told, size=11, anchor="middle")
        rows = int(nodes.counts[node].sum())
        picture.say(x, bottom + 36, f"{rows} rows", size=11, fill=SOFT, anchor="middle")
    picture.say(
        *(14, 276),
        "A node with few rows moves the probability less far from that of its parent.",
        size=11,
        fill=SOFT,
    )
    return picture


def drifting_region(n_rows):
    """A stream with 5% of wrong labels in which one region gets another concept."""
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, 10))
    high = X > 0.5
    others = np.where(high[:, 1], X[:, 8] > 0.3, X[:, 9] > 0.6)
    before = np.where(high[:, 2], high[:, 3], high[:, 4])
    after = np.where(high[:, 5], high[:, 6], high[:, 7])
    within = np.where(np.arange(n_rows) < n_rows // 2, before, after)
    right = np.where(X[:, 0] > 0.75, within, others)
    return X, (right ^ (rng.random(n_rows) < 0.05)).astype(int)


def draw_local_repair():
    """Accuracy of a stream in which one region changes, with and without repair."""
    n, step = 20_000, 500
    X, y = drifting_region(n)
    left, bottom, wide, tall = 60, 220, 560, 160
    picture = Picture(660, 290, "Accuracy after a local drift, with and without repair")
    picture.say(
        *(14, 22), "The concept changes for one row in four, halfway", bold=True
    )
    low = 0.7
    for share in (0.7, 0.8, 0.9, 1.0):
        height = bottom - tall * (share - low) / (1 - low)
        picture.line(left, height, left + wide, height)
        told = f"{100 * share:.0f}%"
        picture.say(left - 8, height + 4, told, size=11, fill=SOFT, anchor="end")
    for rows in range(0, n + 1, 5_000):
        x = left + wide * rows / n
        picture.say(x, bottom + 16, f"{rows:,}", size=11, fill=SOFT, anchor="middle")
    picture.line(left + wide / 2, bottom, left + wide / 2, bottom - tall, stroke=INK)
    picture.say(left + wide / 2 - 6, bottom - 8, "drift", size=11, anchor="end")
    styles = {None: (ORANGE, "7 3"), "local": (STRONG, "")}
    for i, (drift, style) in enumerate(styles.items()):
        tree = ConfidenceTreeClassifier(drift=drift)
        right = tree.partial_fit_predict(X, y, classes=[0, 1]) == y
        means = right.reshape(-1, step).mean(axis=1)
        points = [
            (
                left + wide * (k + 0.5) * step / n,
                bottom - tall * (max(value, low) - low) / (1 - low),
            )
            for k, value in enumerate(means)
        ]
        stroke(picture, points, style)
        for repair in tree.drifts_:
            x, y2 = left + wide * repair.row / n, bottom - 9
            picture.add(
                "polygon",
                points=f"{x:.0f},{y2} {x - 4:.0f},{bottom} {x + 4:.0f},{bottom}",
                fill=style[0],
            )
        told = "drift=None" if drift is None else 'drift="local"'
        stroke(picture, [(left + 200 * i, 266), (left + 26 + 200 * i, 266)], style)
        picture.say(left + 32 + 200 * i, 270, told, size=11)
    picture.say(14, 40, f"accuracy in each {step} rows", size=11, fill=SOFT)
    picture.say(left + wide, bottom + 32, "rows", size=11, fill=SOFT, anchor="end")
    told = "triangles: a subtree is replaced"
    picture.say(left + wide, 270, told, size=11, fill=SOFT, anchor="end")
    return picture


def draw_importances():
    """Importances of a useful column and of useless ones, in forests of CARTs."""
    rows = [row for row in table("importances-bias") if row["forest"] == "CART"]
    left, top, wide, step = 210, 62, 150, 24
    panels = ((left, "impurity-based", STRONG), (left + 240, "unbiased", ORANGE))
    picture = Picture(
        680, top + step * len(rows) + 30, "Importances of useful and useless columns"
    )
    picture.say(14, 22, "Importance by number of values, 200 forests", bold=True)
    for start, name, fill in panels:
        picture.say(start, 48, name, size=11, fill=SOFT)
        most = max(number(row[name]) for row in rows)
        for i, row in enumerate(rows):
            y, value = top + step * i, number(row[name])
            if name == "impurity-based":
                picture.say(left - 10, y + 13, row["column"], size=11, anchor="end")
            size = wide * value / most
            picture.box(start + min(size, 0.0), y, max(abs(size), 1.0), 17, fill=fill)
            told = f"{round(value, 3) + 0.0:.3f}"
            picture.say(start + max(size, 0.0) + 6, y + 13, told, size=11, fill=SOFT)
        picture.line(start, top - 4, start, top + step * len(rows), stroke=INK)
    picture.say(
        *(left, top + step * len(rows) + 18),
        "left: share of the impurity decrease; right: decrease of the Gini index",
        size=11,
        fill=SOFT,
    )
    return picture


FINDINGS = {
    "importances": draw_importances,
    "shuffled-labels": draw_shuffled_labels,
    "evidence-holds": draw_evidence_holds,
    "noise-trees": draw_noise_trees,
    "stream-peers": draw_stream_peers,
    "read-forest": draw_read_forest,
    "forest-speed": draw_forest_speed,
    "shrinkage-path": draw_shrinkage_path,
    "score": draw_score,
    "local-repair": draw_local_repair,
}
