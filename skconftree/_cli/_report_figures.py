"""Figures of a report, as HTML and SVG that need neither a script nor a network."""

from html import escape

import numpy as np

from skconftree.tree import class_colors

MOST_CLASSES = 12
MOST_BINS = 10
MOST_BARS = 12
N_BARS = 24  # of a histogram
WIDE, TALL = 640, 150

STYLE = """\
.lead { font-size: 1.15em; line-height: 1.6; max-width: 46em }
h2 { margin: 2em 0 .4em; font-size: 1.25em }
h3 { margin: 1.4em 0 .2em; font-size: 1.05em; overflow-wrap: anywhere }
h1, p, li { overflow-wrap: anywhere }
.wide { overflow-x: auto; max-width: 100% }
.wide .sct { max-width: none !important }
.chart { width: 100%; min-width: 480px; max-width: 640px; height: auto; display: block }
.chart text { fill: currentColor; font: 12px system-ui, sans-serif }
.chart .thin { stroke: currentColor; stroke-opacity: .35 }
.chart .cut { stroke: currentColor; stroke-width: 2; stroke-dasharray: 5 3 }
.chart .dot { fill: #0072B2; stroke: currentColor }
.bar { fill: #0072B2 }
.confusion td, .confusion th { text-align: center; min-width: 3.5em; padding: 6px }
.confusion th { font-weight: 400 }
.confusion .right { font-weight: 600; outline: 1px solid currentColor }
.soft { opacity: .8 }
tr.own { font-weight: 600 }
@media print { body { max-width: none; margin: 0 } h2, h3 { break-after: avoid }
  .chart, table, pre { break-inside: avoid } pre { white-space: pre-wrap }
  .wide .sct { max-width: 100% !important }
  details::details-content { content-visibility: visible; block-size: auto } }
"""


def confusion(figures):
    """The confusion as a table whose cells are the darker the more rows they have."""
    names = [_cut(one) for one in figures["classes"]]
    cells = np.array(figures["confusion"], dtype=np.float64)
    if len(names) > MOST_CLASSES:
        return ""
    shares = cells / np.maximum(cells.sum(axis=1, keepdims=True), 1.0)
    head = "".join(f"<th>{escape(one)}</th>" for one in names)
    rows = [f"<tr><th></th><th colspan={len(names)}>predicted</th></tr>"]
    rows.append(f"<tr><th>true</th>{head}<th>found</th></tr>")
    for place, name in enumerate(names):
        row = [f"<th>{escape(name)}</th>"]
        for other, share in enumerate(shares[place]):
            ink = "0,114,178" if place == other else "213,94,0"
            row.append(
                f'<td class="{"right" if place == other else "wrong"}" '
                f'style="background:rgba({ink},{0.45 * share:.2f})">'
                f"{cells[place, other]:,.0f}</td>"
            )
        found = figures["recall"][place]
        row.append(f"<td>{'' if np.isnan(found) else f'{100 * found:.0f} %'}</td>")
        rows.append(f"<tr>{''.join(row)}</tr>")
    return f'<div class="wide"><table class="confusion">{"".join(rows)}</table></div>'


def importances(names, values):
    """Bars of the share that each column has in what the splits gain."""
    order = [j for j in np.argsort(-values, kind="stable") if values[j] > 0.0]
    shown = order[:MOST_BARS]
    if not shown:
        return ""
    step, left = 24, 230
    unit = (WIDE - left - 60) / values[shown[0]]
    parts = []
    for place, j in enumerate(shown):
        y = step * place
        wide = unit * values[j]
        parts.append(
            _text(left - 8, y + 16, _cut(names[j], 30), "end")
            + f'<rect class="bar" x="{left}" y="{y + 4}" height="15" '
            f'width="{wide:.1f}"/>'
            + _text(left + wide + 6, y + 16, f"{100 * values[j]:.0f} %")
        )
    left_out = len(order) - len(shown)
    more = f"<p class=soft>and {left_out} more</p>" if left_out else ""
    return _chart(step * len(shown) + 4, "Importance of columns", parts) + more


def calibration(confidence, is_right):
    """Groups of rows by how sure the tree was: how sure, how often right, how many."""
    order = np.argsort(confidence, kind="stable")
    sure, right = confidence[order], is_right[order]
    ends = np.linspace(0, len(sure), MOST_BINS + 1).round().astype(int)
    # equal probabilities, those of a leaf, stay together
    ends = np.unique(np.searchsorted(sure, sure[ends[1:-1] - 1], side="right"))
    parts = np.split(np.arange(len(sure)), ends[(ends > 0) & (ends < len(sure))])
    return [
        (float(sure[one].mean()), float(right[one].mean()), len(one)) for one in parts
    ]


def reliability(groups):
    """How often the tree is right, by how sure it says it is."""
    size, left, bottom = 260, 60, 290
    low = min(0.5, *(min(one[:2]) for one in groups))
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
            f'<line class="thin" x1="{left}" x2="{left + size}" y1="{b:.1f}" '
            f'y2="{b:.1f}"/>'
            + _text(left - 6, b + 4, f"{100 * tick:.0f}", "end")
            + _text(a, bottom + 16, f"{100 * tick:.0f}", "middle")
        )
    most = max(n for _, _, n in groups)
    for sure, right, n in groups:
        a, b = at(sure, right)
        told = f"{n:,} rows: said {100 * sure:.1f} %, right {100 * right:.1f} %"
        parts.append(
            f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" '
            f'r="{3.0 + 6.0 * np.sqrt(n / most):.1f}"><title>{told}</title></circle>'
        )
    beside = left + size + 24
    parts += [
        _text(left + size / 2, bottom + 36, "how sure the tree is, %", "middle"),
        _text(left - 44, bottom - size - 14, "right, %"),
        _text(beside, bottom - size + 20, "dashed: right as often as it says"),
        _text(beside, bottom - size + 38, "a dot: rows of which it is as sure"),
    ]
    return _chart(bottom + 46, "Reliability of the probabilities", parts)


def numbers(values, codes, n_classes, cuts):
    """Histogram of a column of numbers by class, with the cuts of the tree."""
    known = ~np.isnan(values)
    values, codes = values[known], codes[known]
    # an outlier would leave all others in one bar
    low, high = np.quantile(values, [0.005, 0.995]) if len(values) else (0.0, 1.0)
    low, high = min([low, *cuts]), max([high, *cuts])
    if not high > low:
        low, high = low - 0.5, high + 0.5
    places = np.clip(
        (N_BARS * (values - low) / (high - low)).astype(int), 0, N_BARS - 1
    )
    counts = np.zeros((N_BARS, n_classes))
    np.add.at(counts, (places, codes), 1)
    step = (WIDE - 20) / N_BARS
    parts = _stacks(counts, [10 + step * i for i in range(N_BARS)], step - 1.5)
    for n, cut in enumerate(sorted(set(cuts))):
        x = 10 + (WIDE - 20) * (cut - low) / (high - low)
        anchor = "end" if x > WIDE - 60 else "start" if x < 60 else "middle"
        parts.append(
            f'<line class="cut" x1="{x:.1f}" y1="30" x2="{x:.1f}" y2="{TALL + 30}"/>'
            + _text(x, 12 + 14 * (n % 2), f"{cut:.4g}", anchor)
        )
    for x, value, anchor in ((10, low, "start"), (WIDE - 10, high, "end")):
        parts.append(_text(x, TALL + 48, f"{value:.4g}", anchor))
    return _chart(TALL + 54, "Values by class, and where the tree cuts", parts)


def categories(values, codes, n_classes):
    """Bars of the most frequent categories by class."""
    found, places = np.unique(values, return_inverse=True)
    counts = np.zeros((len(found), n_classes))
    np.add.at(counts, (places, codes), 1)
    order = np.argsort(-counts.sum(axis=1), kind="stable")[:MOST_BARS]
    parts, step, left = [], 24, 230
    most = counts.sum(axis=1).max()
    for row, place in enumerate(order):
        x, y = float(left), step * row
        parts.append(_text(left - 8, y + 16, _cut(str(found[place]), 30), "end"))
        for color, n in zip(class_colors(n_classes), counts[place], strict=True):
            wide = (WIDE - left - 70) * n / most
            parts.append(
                f'<rect fill="{color}" x="{x:.1f}" y="{y + 4}" width="{wide:.1f}" '
                'height="15"/>'
            )
            x += wide
        total = counts[place].sum()
        parts.append(_text(x + 6, y + 16, f"{total:,.0f}"))
    more = ""
    if len(found) > len(order):
        more = f"<p class=soft>and {len(found) - len(order)} categories more</p>"
    return _chart(step * len(order) + 4, "Categories by class", parts) + more


def _stacks(counts, lefts, wide):
    most = max(counts.sum(axis=1).max(), 1.0)
    parts = []
    for left, some in zip(lefts, counts, strict=True):
        y = TALL + 30.0
        for color, n in zip(class_colors(counts.shape[1]), some, strict=True):
            high = TALL * n / most
            y -= high
            if high > 0.0:
                parts.append(
                    f'<rect fill="{color}" x="{left:.1f}" y="{y:.1f}" '
                    f'width="{wide:.1f}" height="{high:.1f}"/>'
                )
    return parts


def _text(x, y, words, anchor="start"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
    )


def _chart(tall, title, parts):
    return (
        f'<div class="wide"><svg class="chart" viewBox="0 0 {WIDE} {tall}" role="img">'
        f"<title>{title}</title>{''.join(parts)}</svg></div>"
    )


def _cut(name, most=18):
    return name if len(name) <= most else f"{name[: most - 3]}..."
