"""The report of ``skconftree stream``: what was right along the way, and the tree."""

import numpy as np

from skconftree.tree import node_table

from ..utils import escape
from . import _report_figures as figure
from ._report_parts import (
    better,
    classes_sentence,
    columns_section,
    notes_section,
    rules_section,
    settings_section,
    shape_sentence,
    splits_by_column,
    tree_section,
    write_report_page,
)

MOST_CLASSES = 60
MOST_DRIFTS = 100


def headline(record, classes, drifts, nodes):
    """Say in sentences what the tree was worth, what changed and how sure it is.

    `drifts` is None where nothing looked for any.
    """
    lines = []
    if record.n_tested:
        than = "repeating the label before"
        before = better(100 * (record.accuracy - record.no_change_accuracy), than)
        most = better(
            100 * (record.accuracy - record.majority_accuracy),
            "always saying the most frequent label so far",
        )
        lines.append(
            f"Right about {100 * record.accuracy:.1f} % of the rows, each predicted "
            f"before it was learnt: {before}, {most}."
        )
        lines.append(classes_sentence(classes))
    if drifts is not None:
        found = "1 drift was" if len(drifts) == 1 else f"{len(drifts) or 'No'} drifts"
        found = found if len(drifts) == 1 else f"{found} were"
        last = f", the last after row {drifts[-1][0]:,}" if len(drifts) > 1 else ""
        last = last or (f", after row {drifts[0][0]:,}" if drifts else "")
        lines.append(f"{found} found{last}.")
    lines.append(shape_sentence(nodes))
    return lines


def write_stream_report(path, tree, names, told):
    """Write the page; `told` has the figures and settings of the run."""
    nodes = node_table(tree, **names)
    record, classes, drifts = told["record"], told["classes"], told["drifts"]

    def sections(as_list):
        lead = " ".join(headline(record, classes, drifts, nodes))
        yield f'<p class="lead">{escape(lead)}</p>'
        yield f"<p>{escape(told['about'])}.</p>"
        yield "<h2>Along the stream</h2>"
        if record.n_tested:
            course = [one for one in told["course"] if np.isfinite(one[1:]).all()]
            if course:
                rows = [row for row, _ in drifts or ()]
                yield figure.accuracy(course, rows)
            yield _guesses(record)
        yield from (f"<p>{escape(one)}</p>" for one in told["remarks"])
        if drifts:
            yield "<h3>Drifts</h3>"
            yield from _drifts(drifts)
        if record.n_tested:
            yield "<h2>Classes</h2>"
            yield _classes(classes)
        yield "<h2>Which columns decide</h2>"
        yield "<p>Share of what all splits gain together.</p>"
        yield (
            figure.importances(names["feature_names"], tree.feature_importances_)
            or "<p>None: the tree is a single leaf.</p>"
        )
        yield from tree_section(tree, nodes, names["class_names"], as_list)
        yield from rules_section(nodes)
        yield "<h2>Columns</h2>"
        yield from columns_section(splits_by_column(nodes), names["feature_names"])
        yield from notes_section(told["notes"])
        yield from settings_section(told["settings"])

    title = f"Confidence tree of {told['name']}"
    write_report_page(path, title, tree, names, sections)


def _guesses(record):
    shares = {
        "tree": (record.accuracy, record.kappa),
        "the label before": (record.no_change_accuracy, None),
        "the most frequent label": (record.majority_accuracy, None),
    }
    rows = [
        (name, f"{100 * share:.2f} %", "" if kappa is None else f"{kappa:.3f}")
        for name, (share, kappa) in shares.items()
    ]
    return figure.table(("", "accuracy", "kappa"), rows, own="tree")


def _drifts(drifts):
    rows = [
        (f"{row:,}", f"below node {node}" if node else "the whole tree")
        for row, node in drifts[:MOST_DRIFTS]
    ]
    yield figure.table(("after row", "what was replaced"), rows)
    if len(drifts) > MOST_DRIFTS:
        yield f"<p class=soft>and {len(drifts) - MOST_DRIFTS} more</p>"


def _classes(classes):
    def share(value):
        return "" if np.isnan(value) else f"{100 * value:.1f} %"

    found = zip(*(classes[one] for one in ("rows", "recall", "precision")), strict=True)
    rows = [
        (name, f"{n:,.0f}", share(recall), share(precision))
        for name, (n, recall, precision) in zip(classes["classes"], found, strict=True)
    ]
    order = np.argsort(-np.array(classes["rows"]), kind="stable")[:MOST_CLASSES]
    shown = [rows[place] for place in sorted(order.tolist())]
    return figure.table(("class", "rows", "found", "right where said"), shown)
