"""The report of ``skconftree fit``: a page to send to a colleague."""

import os

import numpy as np

from skconftree.tree import class_colors, node_table

from ..utils import escape
from . import _report_figures as figure
from ._columns import as_date
from ._figures import OWN, classes_table
from ._report_parts import (
    better,
    classes_sentence,
    columns_section,
    notes_section,
    preformatted,
    rules_section,
    settings_section,
    shape_sentence,
    splits_by_column,
    tree_section,
    write_report_page,
)


def headline(found, base, classes, nodes):
    """Say in sentences what the tree is worth, how large it is and how sure."""
    accuracy = float(np.mean(found[OWN]["accuracy"]))
    share, _, largest = base
    worth = better(100 * (accuracy - share), f"always saying {largest!r}")
    lines = [
        f"Right about {100 * accuracy:.1f} % of the rows that it had not seen: "
        f"{worth}.",
        classes_sentence(classes),
        shape_sentence(nodes),
    ]
    rivals = [name for name in found if name != OWN]
    if rivals and len(nodes) > 1:
        best = max(rivals, key=lambda name: np.mean(found[name]["accuracy"]))
        lines.append(
            f"{best}: {100 * np.mean(found[best]['accuracy']):.1f} % with "
            f"{np.mean(found[best]['leaves']):.0f} leaves."
        )
    return lines


def write_report(path, table, tree, names, told):
    """Write the page; `told` has the sentences, figures and settings of the run."""
    nodes = node_table(tree, **names)

    def sections(as_list):
        yield f'<p class="lead">{escape(" ".join(told["sentences"]))}</p>'
        yield (
            f"<p>{escape(told['about'])}. Every figure of right and wrong is of rows "
            f"that the tree had not seen ({escape(told['tested'])}).</p>"
        )
        yield "<h2>What is taken for what</h2>"
        yield _confusion(told["classes"])
        yield from _test_table(told["test"])
        yield "<h2>Which columns decide</h2>"
        yield "<p>Share of what all splits gain together.</p>"
        yield (
            figure.importances(names["feature_names"], tree.feature_importances_)
            or "<p>None: the tree is a single leaf.</p>"
        )
        yield "<h2>Can its probabilities be believed?</h2>"
        yield from _reliability(told["confidence"], told["is_right"])
        yield from tree_section(tree, nodes, names["class_names"], as_list)
        yield from rules_section(nodes)
        yield "<h2>Columns</h2>"
        yield from _columns(table, nodes, names["class_names"])
        yield "<h2>Beside other trees</h2>"
        yield _comparison(told["found"], told["base"])
        yield from (f"<p>{escape(one)}</p>" for one in told["remarks"])
        yield from notes_section(told["notes"])
        yield from settings_section(told["settings"])

    title = f"Confidence tree of {os.path.basename(table.name)}"
    write_report_page(path, title, tree, names, sections)


def _confusion(figures):
    return figure.confusion(figures) or preformatted(classes_table(figures))


def _test_table(test):
    if test is None:
        return
    loss = f", log loss {test['log_loss']:.3f}" if test["log_loss"] >= 0.0 else ""
    yield f"<h3>{escape(str(test['name']))}</h3>"
    right = f"{100 * test['accuracy']:.1f} %"
    rows = "1 row" if test["n_rows"] == 1 else f"{test['n_rows']:,} rows"
    yield f"<p>{rows}: accuracy {right}{loss}.</p>"
    yield _confusion(test)


def _reliability(confidence, is_right):
    groups = figure.calibration(confidence, is_right)
    total = sum(n for _, _, n in groups)
    off = sum(n * abs(sure - right) for sure, right, n in groups) / total
    surest = groups[-1]
    yield (
        f"<p>Of the {surest[2]:,} rows of which it is surest, it says "
        f"{100 * surest[0]:.0f} % and is right about {100 * surest[1]:.0f} %; over all "
        f"groups it is off by {100 * off:.1f} points.</p>"
    )
    yield figure.reliability(groups)


def _columns(table, nodes, class_names):
    """A section for each column that the tree asks for."""
    splits = splits_by_column(nodes)
    codes = np.unique(table.y, return_inverse=True)[1]
    colors = class_colors(len(class_names))
    keys = zip(class_names[: figure.MOST_CLASSES], colors, strict=False)
    if splits:
        yield '<p class="skconftree">' + " ".join(
            f'<span class="one"><span class="key" style="background:{color}"></span>'
            f"{escape(name)}</span>"
            for name, color in keys
        )
        yield "</p>"

    def shown(j):
        column = table.X[:, j]
        if table.readings[j] is None:
            texts = np.array(["missing" if one is None else str(one) for one in column])
            yield figure.categories(texts, codes, len(class_names))
            return
        write = "{:.4g}".format
        if table.dates is not None and table.dates[j] is not None:
            write = as_date(table.dates[j])
        values = column.astype(np.float64)
        cuts = [one.threshold for one in splits[j] if np.isfinite(one.threshold)]
        yield figure.numbers(values, codes, len(class_names), cuts, write)
        missing = int(np.isnan(values).sum())
        if missing:
            said = "1 value is" if missing == 1 else f"{missing:,} values are"
            yield f"<p class=soft>{said} missing.</p>"

    yield from columns_section(splits, table.feature_names, shown)


def _comparison(found, base):
    rows = [
        (
            name,
            f"{100 * np.mean(figures['accuracy']):.1f} %",
            f"{np.mean(figures['log_loss']):.3f}",
            f"{np.mean(figures['leaves']):.1f}",
        )
        for name, figures in found.items()
    ]
    rows.append((f"always {base[2]!r}", f"{100 * base[0]:.1f} %", f"{base[1]:.3f}", ""))
    return figure.table(("", "accuracy", "log loss", "leaves"), rows, own=OWN)
