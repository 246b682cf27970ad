"""Figures of a report in HTML and SVG, and files drawn by matplotlib.

Bar charts are HTML tables, so that their text has the same size on a phone. Figures
with axes are as narrow as a phone and grow with the page by up to 50%. `accuracy_curve`
is the accuracy along a stream: number of rows, accuracy of the tree and of repeating
the previous label (no change). `codes` are the class indices of rows. The classes of
HTML and SVG elements, such as "cut" and "drift", have their styles in `_report.css`.
"""

import os

import numpy as np

from ..inspection import ConfidenceTreeDisplay
from ..tree import class_colors, node_table
from ..utils import escape
from ._files import atomic_write, write_text
from ._text import UserError, shorten

MAX_CLASSES = 12
MAX_BINS = 10
MAX_BARS = 12
MAX_DRIFTS = 60  # marked in a figure
N_BARS = 24  # of a histogram
WIDE, TALL, EDGE = 340, 110, 8  # width of a figure, height of a plot, margin
LETTER, LINE = 6.9, 13  # approximate width of a letter of 11 pixels, height of a line
MAX_LINES = 4  # of labels above a histogram


def confusion(figures):
    """Format the confusion matrix as a table whose shades show the share of rows.

    `figures` is a result of `_cross_validation.class_metrics`.
    """
    names = [shorten(name, 24) for name in figures["classes"]]
    cells = np.array(figures["confusion"], dtype=np.float64)
    if len(names) > MAX_CLASSES:
        return ""
    shares = cells / np.maximum(cells.sum(axis=1, keepdims=True), 1.0)
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = [f"<tr><th></th><th colspan={len(names)}>predicted</th></tr>"]
    rows.append(f"<tr><th>true</th>{head}<th>recall</th></tr>")
    for row_index, name in enumerate(names):
        row = [f"<th>{escape(name)}</th>"]
        for column_index, share in enumerate(shares[row_index]):
            ink = "0,114,178" if row_index == column_index else "213,94,0"
            row.append(
                f'<td class="{"right" if row_index == column_index else "wrong"}" '
                f'style="background:rgba({ink},{0.45 * share:.2f})">'
                f"{cells[row_index, column_index]:,.0f}</td>"
            )
        recall = figures["recall"][row_index]
        row.append(f"<td>{'' if np.isnan(recall) else f'{100 * recall:.0f}%'}</td>")
        rows.append(f"<tr>{''.join(row)}</tr>")
    return f'<div class="wide"><table class="confusion">{"".join(rows)}</table></div>'


def table(head, rows, *, own=None):
    """Format a table whose first column has names; the row named `own` is bold."""
    lines = [f"<tr>{''.join(f'<th>{escape(text)}</th>' for text in head)}</tr>"]
    for row in rows:
        mark = ' class="own"' if row[0] == own else ""
        cells = "".join(f"<td>{escape(text)}</td>" for text in row)
        lines.append(f"<tr{mark}>{cells}</tr>")
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def importances(names, values):
    """Draw the feature importance as bars."""
    order = [j for j in np.argsort(-values, kind="stable") if values[j] > 0.0]
    shown = order[:MAX_BARS]
    if not shown:
        return ""
    rows = [
        (names[j], [("", values[j] / values[shown[0]])], _percent(values[j]))
        for j in shown
    ]
    n_more = len(order) - len(shown)
    more = f"<p class=soft>and {n_more} more</p>" if n_more else ""
    return _bars("Importance of columns", rows) + more


def calibration(confidence, is_right):
    """Group rows by predicted probability: mean probability, accuracy and rows."""
    order = np.argsort(confidence, kind="stable")
    proba, right = confidence[order], is_right[order]
    ends = np.linspace(0, len(proba), MAX_BINS + 1).round().astype(int)
    # equal probabilities, as in a leaf, stay in one group
    ends = np.unique(np.searchsorted(proba, proba[ends[1:-1] - 1], side="right"))
    parts = np.split(np.arange(len(proba)), ends[(ends > 0) & (ends < len(proba))])
    return [
        (float(proba[group].mean()), float(right[group].mean()), len(group))
        for group in parts
    ]


def reliability(groups):
    """Draw a reliability diagram: accuracy by predicted probability."""
    size, left, bottom = 250, 44, 276
    low = min(0.5, *(min(group[:2]) for group in groups))
    low = np.floor(10 * low) / 10

    def at(x, y):
        span = 1.0 - low
        return left + size * (x - low) / span, bottom - size * (y - low) / span

    (x, y), (x2, y2) = at(low, low), at(1.0, 1.0)
    parts = [f'<line class="cut" x1="{x}" y1="{y}" x2="{x2}" y2="{y2}"/>']
    step = 0.1 if low >= 0.35 else 0.2
    for tick in np.arange(1.0, low - 0.01, -step):
        a, b = at(tick, tick)
        parts.append(
            _grid_line(left, left + size, b)
            + _text(left - 6, b + 4, f"{100 * tick:.0f}", "end")
            + _text(a, bottom + 16, f"{100 * tick:.0f}", "middle")
        )
    max_rows = max(n for _, _, n in groups)
    for probability, right, n in groups:
        a, b = at(probability, right)
        radius = 3.0 + 6.0 * np.sqrt(n / max_rows)
        parts.append(
            f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="{radius:.1f}"><title>'
            f"{n:,} rows: probability {100 * probability:.1f}%, "
            f"accuracy {100 * right:.1f}%</title></circle>"
        )
    parts += [
        _text(left + size / 2, bottom + 33, "predicted probability, %", "middle"),
        _text(4, bottom - size - 12, "accuracy, %"),
    ]
    text = (
        "<p class=soft>A dot is a group of rows with similar predicted probabilities; "
        "larger dots have more rows. On the dashed line the accuracy is equal to the "
        "predicted probability.</p>"
    )
    return _chart(bottom + 40, "Reliability of the probabilities", parts) + text


def numbers(values, codes, n_classes, thresholds, write="{:.4g}".format):
    """Draw a histogram of a numeric column by class, with thresholds of the tree.

    `write` formats a value.
    """
    known = ~np.isnan(values)
    values, codes = values[known], codes[known]
    # quantiles limit the range, because outliers would compress the other bars
    low, high = np.quantile(values, [0.005, 0.995]) if len(values) else (0.0, 1.0)
    low, high = min([low, *thresholds]), max([high, *thresholds])
    if not high > low:
        low, high = low - 0.5, high + 0.5
    bins = np.clip((N_BARS * (values - low) / (high - low)).astype(int), 0, N_BARS - 1)
    counts = np.zeros((N_BARS, n_classes))
    np.add.at(counts, (bins, codes), 1)
    at = [
        (EDGE + (WIDE - 2 * EDGE) * (value - low) / (high - low), write(value))
        for value in sorted(set(thresholds))
    ]
    labels, top = _above(at)
    step = (WIDE - 2 * EDGE) / N_BARS
    parts = _stacks(counts, top, [EDGE + step * i for i in range(N_BARS)], step - 1)
    parts += [
        f'<line class="cut" x1="{x:.1f}" y1="{top - 3}" x2="{x:.1f}" '
        f'y2="{TALL + top}"><title>{escape(text)}</title></line>'
        for x, text in at
    ]
    parts += labels
    parts += [
        _text(EDGE, TALL + top + 15, write(low)),
        _text(WIDE - EDGE, TALL + top + 15, write(high), "end"),
    ]
    return _chart(TALL + top + 20, "Values by class and thresholds of the tree", parts)


def categories(values, codes, n_classes):
    """Draw the most frequent categories by class as bars."""
    names, codes_of_rows = np.unique(values, return_inverse=True)
    counts = np.zeros((len(names), n_classes))
    np.add.at(counts, (codes_of_rows, codes), 1)
    order = np.argsort(-counts.sum(axis=1), kind="stable")[:MAX_BARS]
    max_count, colors = counts.sum(axis=1).max(), class_colors(n_classes)
    rows = [
        (
            str(names[index]),
            list(zip(colors, counts[index] / max_count, strict=True)),
            f"{counts[index].sum():,.0f}",
        )
        for index in order
    ]
    more = ""
    if len(names) > len(order):
        more = f"<p class=soft>and {len(names) - len(order)} categories more</p>"
    return _bars("Categories by class", rows) + more


def accuracy(accuracy_curve, drifts):
    """Draw the accuracy along a stream as SVG, with marks at the rows of `drifts`."""
    rows, ours, no_change = map(np.array, zip(*accuracy_curve, strict=True))
    latest = np.diff(rows * ours, prepend=0.0) / np.diff(rows, prepend=0)
    shown = [
        values for values in (latest, ours, no_change) if np.isfinite(values).any()
    ]
    low = min((float(np.nanmin(values)) for values in shown), default=0.0)
    low = min(np.floor(10 * low) / 10, 0.9)
    left, top, tall = 38, 24, 150
    wide = WIDE - EDGE - left

    def at(row, value):
        x = left + wide * row / rows[-1]
        return x, top + tall * (1.0 - (value - low) / (1.0 - low))

    parts = []
    for tick in np.arange(1.0, low - 0.01, -0.1 if low >= 0.45 else -0.2):
        y = at(0, tick)[1]
        parts.append(_grid_line(left, left + wide, y))
        parts.append(_text(left - 6, y + 4, f"{100 * tick:.0f}", "end"))
    for row in drifts[:MAX_DRIFTS]:
        x = at(row, 1.0)[0]
        parts.append(
            f'<line class="drift" x1="{x:.1f}" y1="{top - 6}" x2="{x:.1f}" '
            f'y2="{top + tall}"><title>drift detected after row {row:,}</title></line>'
        )
    # the kind is the class of the line in `_report.css`
    for kind, values in (("before", no_change), ("latest", latest), ("ours", ours)):
        points = " ".join(
            "{:.1f},{:.1f}".format(*at(row, value))
            for row, value in zip(rows, values, strict=True)
            if np.isfinite(value)
        )
        parts.append(f'<polyline class="{kind}" points="{points}"/>')
    parts += [
        _text(4, 12, "accuracy, %"),
        _text(left, top + tall + 16, "row 1"),
        _text(left + wide, top + tall + 16, f"row {rows[-1]:,}", "end"),
    ]
    keys = {
        "ours": "tree, all rows so far",
        "latest": "tree, latest rows",
        "before": "previous label, repeated",
        **({"drift": "drift detected"} if drifts else {}),
    }
    legend = "".join(
        '<span class="one"><svg class="swatch" viewBox="0 0 24 10"><line '
        f'class="{kind}" x1="1" y1="5" x2="23" y2="5"/></svg>{label}</span> '
        for kind, label in keys.items()
    )
    picture = _chart(top + tall + 22, "Accuracy along the stream", parts)
    return f"{picture}<p class=soft>{legend}</p>"


def _percent(share):
    return f"{100 * share:.0f}%" if share >= 0.005 else "&lt; 1%"


def _bars(title, rows):
    """Draw bars. A row has a name, (color, share) parts, and a text after the bar."""
    lines = [f"<caption>{title}</caption>", '<col class="name"><col><col class="n">']
    for name, parts, text in rows:
        bar = "".join(
            f'<i style="width:{100 * share:.1f}%{color and f";background:{color}"}">'
            "</i>"
            for color, share in parts
            if share > 0.0
        )
        lines.append(
            f"<tr><th>{escape(shorten(name, 60))}</th><td>{bar}</td>"
            f"<td>{text}</td></tr>"
        )
    return f'<table class="bars">{"".join(lines)}</table>'


def _above(marks):
    """Place texts above a plot without overlap; return them and their height.

    `marks` are pairs of a position and a text.
    """
    ends, placed = [0.0] * MAX_LINES, []
    for x, text in marks:
        width = LETTER * len(text)
        left = min(max(x - width / 2, 0.0), WIDE - width)
        for line in range(MAX_LINES):
            if left >= ends[line]:
                ends[line] = left + width + LETTER
                placed.append((left, line, text))
                break
    n_lines = 1 + max((line for _, line, _ in placed), default=0)
    labels = [
        _text(left, LINE * (n_lines - line), text, "start")
        for left, line, text in placed
    ]
    return labels, LINE * n_lines + 8


def _stacks(counts, top, lefts, wide):
    # Returns the bars of a histogram in which the classes are stacked.
    max_count = max(counts.sum(axis=1).max(), 1.0)
    parts = []
    for left, column_counts in zip(lefts, counts, strict=True):
        y = float(TALL + top)
        for color, n in zip(class_colors(counts.shape[1]), column_counts, strict=True):
            height = TALL * n / max_count
            y -= height
            if height > 0.0:
                parts.append(
                    f'<rect fill="{color}" x="{left:.1f}" y="{y:.1f}" '
                    f'width="{wide:.1f}" height="{height:.1f}"/>'
                )
    return parts


def _grid_line(left, right, y):
    return f'<line class="thin" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'


def _text(x, y, text, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _chart(tall, title, parts):
    return (
        f'<svg class="chart" viewBox="0 0 {WIDE} {tall}" role="img">'
        f"<title>{title}</title>{''.join(parts)}</svg>"
    )


ENDINGS = (".svg", ".png", ".pdf")


def check_picture(path, *, of_tree=False):
    """Check in advance that a figure can be drawn; an SVG tree needs no matplotlib."""
    if path is None:
        return
    if not path.lower().endswith(ENDINGS):
        raise UserError(f"--plot {path} must end with one of {', '.join(ENDINGS)}")
    if of_tree and path.lower().endswith(".svg"):
        return
    try:
        import matplotlib as mpl
    except ImportError:
        raise UserError("--plot needs matplotlib: pip install matplotlib") from None
    mpl.use("agg")


def draw_tree(path, tree, names):
    """Draw a tree to a file; of a large tree, only the upper levels."""
    if path.lower().endswith(".svg"):
        shape = ConfidenceTreeDisplay(
            node_table(tree, **names), class_names=names["class_names"]
        )
        write_text(path, shape.to_svg())
        return
    _save(path, ConfidenceTreeDisplay.from_estimator(tree, **names).figure_)


def draw_accuracy(path, accuracy_curve, name, drifts=()):
    """Draw the accuracy of a stream to a file, with a line at each drift."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for i, row in enumerate(sorted(set(drifts))):
        label = None if i else "drift detected"
        ax.axvline(row, lw=1.0, color="#D55E00", ls=":", label=label)
    if accuracy_curve:
        rows, ours, no_change = map(np.array, zip(*accuracy_curve, strict=True))
        right = np.diff(rows * ours, prepend=0.0) / np.diff(rows, prepend=0)
        ax.plot(rows, right, lw=0.8, color="#56B4E9", label="tree, latest rows")
        ax.plot(rows, ours, color="#0072B2", label="tree, all rows so far")
        ax.plot(rows, no_change, color="#999999", ls="--", label="previous label")
        ax.legend(frameon=False)
    ax.set(xlabel="rows", ylabel="accuracy", title=os.path.basename(name))
    ax.title.set_parse_math(False)
    _save(path, figure)


def _save(path, figure):
    import matplotlib.pyplot as plt

    try:
        with atomic_write(path) as file:
            figure.savefig(file, format=os.path.splitext(path)[1][1:].lower())
    finally:
        plt.close(figure)
