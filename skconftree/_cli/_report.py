"""HTML reports of ``fit`` and ``stream``.

`nodes` are records of `tree.node_table`: split, branches, class counts and *evidence*,
the number of candidate splits that would look as good by chance. A confidence tree only
makes splits for which this number is small. The *level of evidence* of a split is a
category of its adjusted p-value. A partially linear tree adds a linear *score* of the
columns to the values of its leaves. Of a stream, `record` has the metrics of the
evaluation, and `accuracy_curve` is the accuracy over time: number of rows, accuracy of
the tree and of repeating the previous label.
"""

import os
import platform
import re
from importlib import resources
from typing import NamedTuple

import numpy as np
import scipy
import sklearn

import skconftree

from ..inspection import ConfidenceTreeDisplay
from ..tree import class_colors, export_html, node_table
from ..utils import escape
from . import _report_figures as figure
from ._columns import as_date
from ._common import count_levels, has_score, table_lines, with_feature_names
from ._cross_validation import (
    OUR_MODEL,
    Validated,
    classes_table,
    results_rows,
    share,
    standard_error,
    tested_sentence,
)
from ._files import write_text
from ._text import counted

MAX_LEAVES = 200  # of a tree that is drawn completely
MAX_RULES = 60
MAX_HARD_CLASSES = 2  # classes named in a summary
MAX_COLUMNS = 20
MAX_NAMES = 60
MAX_SCALED_WIDTH = 1000  # wider figures scroll, others are scaled to the page
MISSING = " or missing"
DATE = re.compile(r"\b\d{4}-\d\d-\d\d(?: \d\d:\d\d)?\b", re.ASCII)
# Styles of the classes of HTML elements, such as "fits", "boxes" and "aside".
STYLE = resources.files(__package__).joinpath("_report.css").read_text("utf-8")


def write_report_page(path, title, tree, names, sections):
    """Write a page; `sections(nested_list)` yields its parts.

    `nested_list` is the tree as a nested HTML list, from `export_html`.
    """
    page = export_html(tree, **names, title=title)
    head, _, rest = page.partition("</h1>\n")
    nested_list, _, tail = rest.rpartition("\n</main>")
    head = head.replace("</style>", f"{STYLE}</style>", 1)
    body = "\n".join(sections(nested_list))
    write_text(path, f"{head}</h1>\n{body}\n</main>{tail}")


def tree_section(tree, nodes, class_names, nested_list):
    """Yield figures of the tree, which narrow screens hide, and the nested list."""
    shape = ConfidenceTreeDisplay(nodes, class_names=class_names)
    whole = shape.to_svg(max_depth=None)
    upper = shape.to_svg()
    yield "<h2>The tree</h2>"
    yield '<p class="aside">The tree is drawn on wider screens.</p>'
    yield '<div class="boxes">'
    yield "<p>Point at a node, or tap it, to see the path to it.</p>"
    fits = (
        " fits"
        if float(re.search(r' width="([\d.]+)"', upper)[1]) <= MAX_SCALED_WIDTH
        else ""
    )
    yield f'<div class="wide{fits}" tabindex="0">{upper}</div>'
    if upper != whole and tree.get_n_leaves() <= MAX_LEAVES:
        yield "<h3>The whole tree</h3>"
        yield (
            "<p>Leaves have the colors of their classes. Point at a leaf, or tap it, "
            "for details.</p>"
        )
        yield f'<div class="wide" tabindex="0">{shape.to_svg(compact=True)}</div>'
    yield "<h3>Level by level</h3></div>"
    yield nested_list


def _importances(tree, names):
    yield "<h2>Feature importance</h2>"
    yield "<p>Share of the total impurity decrease of all splits.</p>"
    yield (
        figure.importances(names["feature_names"], tree.feature_importances_)
        or "<p>None: the tree is a single leaf.</p>"
    )


def rules_section(nodes):
    """Yield the leaves as rules, largest first."""
    rules = leaf_rules(nodes)
    leaves = sorted(
        (row for row in nodes if not row.branches), key=lambda row: -row.weight
    )
    items = []
    for row in leaves[:MAX_RULES]:
        # `outcome`: number of rows of the class, and its probability, as text
        items.append(
            f"<li><b>{escape(str(row.label))}</b> ({escape(row.outcome)}): "
            f"{_whole_dates(escape(rules[row.node]))}</li>"
        )
    yield "<h2>Rules</h2>"
    yield f'<ul class="rules">{"".join(items)}</ul>'
    if len(leaves) > MAX_RULES:
        yield f"<p class=soft>and {len(leaves) - MAX_RULES} smaller leaves</p>"


def leaf_rules(nodes):
    """Return the conditions of each node as text, by node."""
    paths = {0: ()}
    for row in nodes:
        for branch in row.branches:
            paths[branch.node] = (*paths[row.node], (row, branch))
    return {
        node: " and ".join(conditions(path)) or "all rows"
        for node, path in paths.items()
    }


def conditions(path):
    """Return the conditions of a path without redundant ones.

    `path` has the nodes from the root, and the branch that is taken at each. For each
    column and direction, the last limit is the narrowest, and the last set of
    categories the smallest. A missing value must be accepted by every split on the
    column.
    """
    last, missing = {}, {}
    for row, branch in path:
        side = ""
        if branch.categories is None:
            side = branch.condition[len(row.name) + 1 :][:2]  # "<=", "> " or "is"
        last.setdefault(row.feature, {})[side] = branch.condition
        missing[row.feature] = missing.get(row.feature, True) and branch.takes_missing
    texts = []
    for feature, sides in last.items():
        for text in sides.values():
            without_missing = text.removesuffix(MISSING)
            if without_missing == text or not missing[feature]:
                texts.append(without_missing)
            else:
                texts.append(f"({text})" if len(path) > 1 else text)
    return texts


def splits_by_column(nodes):
    """Return the splits of each column, ordered by the depth of the first split."""
    splits = {}
    for row in nodes:
        if row.branches:
            splits.setdefault(row.feature, []).append(row)
    order = sorted(splits, key=lambda j: splits[j][0].depth)
    return {j: splits[j] for j in order}


def columns_section(splits, names, shown=lambda j: ()):
    """Yield a section per column with splits; `shown` yields further content."""
    for j in list(splits)[:MAX_COLUMNS]:
        yield f"<h3>{escape(names[j])}</h3>"
        yield from shown(j)
        yield _column_splits(splits[j])
    if len(splits) > MAX_COLUMNS:
        yield f"<p class=soft>and {len(splits) - MAX_COLUMNS} more columns</p>"
    unused = [name for j, name in enumerate(names) if j not in splits]
    if unused:
        listed = ", ".join(unused[:MAX_NAMES])
        more = ", ..." if len(unused) > MAX_NAMES else ""
        yield f"<p>Not used: {escape(listed)}{more}.</p>"


def _column_splits(splits):
    # Lists the splits on a column, with their rows and evidence.
    items = [
        f"{row.test[len(row.name) + 1 :]} ({row.rows}): {row.evidence.short}"
        for row in splits[:MAX_COLUMNS]
    ]
    if len(splits) > MAX_COLUMNS:
        items.append(f"and {len(splits) - MAX_COLUMNS} more splits")
    return bullets(items)


def shape_sentence(nodes):
    """Report the number of leaves, and of splits per level of evidence."""
    splits = [row for row in nodes if row.branches]
    if not splits:
        return "Tree: a single leaf without any split."
    leaves = counted(len(nodes) - len(splits), "leaf", "leaves")
    return f"Tree: {leaves}, {counted(len(splits), 'split')} ({count_levels(nodes)})."


def class_sentence(classes, index):
    """Report recall and precision of a class."""
    name, recall = classes["classes"][index], classes["recall"][index]
    precision = classes["precision"][index]
    text = f"{100 * recall:.0f}% of {name} rows are predicted {name} (recall)"
    if np.isnan(precision):
        return f"{text}; no row is predicted {name}."
    return (
        f"{text}; {100 * precision:.0f}% of rows predicted {name} are {name} "
        "(precision)."
    )


def classes_sentence(classes):
    """Report recall and precision of the classes of lowest recall."""
    recall = np.nan_to_num(classes["recall"], nan=2.0)
    hardest = np.argsort(recall, kind="stable")
    n_shown = max(min(MAX_HARD_CLASSES, len(hardest) - 1), 1)
    shown = " ".join(class_sentence(classes, int(index)) for index in hardest[:n_shown])
    return f"Hardest {'class' if n_shown == 1 else 'classes'}: {shown}"


def difference(points, than):
    """Report a difference of accuracies in points, with its sign."""
    return f"{points:+.1f} points over {than}"


def bullets(items):
    """Format texts as an HTML list."""
    lines = (f"<li>{_whole_dates(escape(item))}</li>" for item in items)
    return f"<ul>{''.join(lines)}</ul>"


def _whole_dates(text):
    # Keep dates on one line: browsers break lines at hyphens.
    return DATE.sub(r'<span class="date">\g<0></span>', text)


def preformatted(text):
    """Format a text with its line breaks."""
    return f"<pre>{escape(text)}</pre>"


def notes_section(notes):
    """Yield the notes on the data."""
    yield "<h2>Notes on the data</h2>"
    yield bullets(notes) if notes else "<p>None.</p>"


def settings_section(settings):
    """Yield the parameters of the tree and the versions of packages."""
    versions = {
        "skconftree": skconftree.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "Python": platform.python_version(),
    }
    yield "<h2>Settings and versions</h2>"
    yield preformatted(settings)
    yield preformatted(
        "\n".join(f"{name} {version}" for name, version in versions.items())
    )


def headline(results, baseline, classes, nodes):
    """Summarize accuracy, size and evidence of a tree, and its hardest classes."""
    accuracy = results[OUR_MODEL]["accuracy"]
    frequency, _, largest = baseline  # frequency and name of the largest class
    gain = difference(
        100 * (np.mean(accuracy) - frequency), f"always predicting {largest}"
    )
    return [
        f"Accuracy: {share(np.mean(accuracy))} of held-out rows (standard error "
        f"{100 * standard_error(accuracy):.1f}), {gain}.",
        shape_sentence(nodes),
        classes_sentence(classes),
    ]


def baselines_lines(results):
    """Compare the accuracy with that of each baseline."""
    lines = []
    ours = np.array(results[OUR_MODEL]["accuracy"])
    for name, metrics in results.items():
        if name == OUR_MODEL:
            continue
        differences = 100 * (ours - metrics["accuracy"])
        lines.append(
            f"{difference(differences.mean(), name)} (standard error "
            f"{standard_error(differences):.1f}), which has "
            f"an accuracy of {share(np.mean(metrics['accuracy']))} and "
            f"{np.mean(metrics['leaves']):.1f} leaves."
        )
    return lines


class Fitted(NamedTuple):
    """A fitted tree, and what the outputs of ``fit`` report about it."""

    name: str  # of the table
    n_rows: int
    tree: object
    names: dict  # of features and classes, as options of `node_table`
    n_nominal: int
    notes: list[str]
    test: dict | None = None  # metrics on a test table, see `_fit._tested`
    validated: Validated | None = None
    model: object = None  # with a linear score, or the tree

    def lines(self):
        """Describe the table."""
        n_columns, n_classes = map(len, self.names.values())
        return table_lines(self.name, self.n_rows, n_columns, n_classes, self.n_nominal)


class ShownRows(NamedTuple):
    """Values of columns, which are drawn by class."""

    columns: object  # maps the index of a column to its values
    codes: np.ndarray  # class indices
    parsers: list  # how each column is parsed, see `_columns.ColumnParser`
    dates: list | None  # see `_columns.date_types`
    is_sample: bool = False


def base_name(path):
    """Return the name of a file or folder without its path, which may be private."""
    return os.path.basename(path.rstrip("/\\")) or path


def write_report(path, fitted, rows):
    """Write the page of a fitted tree; `rows` are its `ShownRows`."""
    fitted = fitted._replace(name=base_name(fitted.name))
    tree, names, validated = fitted.tree, fitted.names, fitted.validated
    nodes, test = node_table(tree, **names), fitted.test
    lead, tested = [shape_sentence(nodes)], "The tree was not cross-validated."
    if validated is not None:
        results, baseline, classes, *_ = validated
        lead = headline(results, baseline, classes, nodes) + baselines_lines(results)
        n_folds = len(results[OUR_MODEL]["accuracy"])
        tested = f"All figures are of held-out rows ({n_folds}-fold cross-validation)."

    def sections(nested_list):
        yield f'<p class="lead">{escape(" ".join(lead))}</p>'
        yield f"<p>{escape('; '.join(fitted.lines()))}. {tested}</p>"
        if validated is not None or test is not None:
            yield "<h2>Confusion matrix</h2>"
        if validated is not None:
            yield _confusion(validated.classes)
        if test is not None:
            yield f"<h3>{escape(test['name'])}</h3>"
            yield f"<p>{tested_sentence(test)}.</p>"
            yield _confusion(test)
        if has_score(fitted.model):
            # the list begins with its style and the score
            score, _, nested_list = nested_list.partition("</pre>")
            style, _, score = score.partition("<pre>")
            yield f"<h2>Linear score</h2>\n<pre>{score}</pre>"
            yield "<p>Intervals and p-values take the tree as fixed.</p>"
            nested_list = style + nested_list
        yield from _importances(tree, names)
        if validated is not None:
            yield "<h2>Calibration</h2>"
            yield f"<p>{calibration_sentence(validated.calibration)}</p>"
            yield figure.reliability(validated.calibration)
        yield from tree_section(tree, nodes, names["class_names"], nested_list)
        if not has_score(fitted.model):
            yield from rules_section(nodes)
        yield "<h2>Columns</h2>"
        yield from _columns(rows, nodes, **names)
        if validated is not None:
            yield "<h2>Cross-validation</h2>"
            cells = results_rows(validated.results, validated.baseline)
            head, *cells = (row[:-1] for row in cells)  # without times
            yield figure.table(head, cells, own=OUR_MODEL)
            yield from (f"<p>{escape(line)}</p>" for line in validated.remarks)
        yield from notes_section(fitted.notes)
        yield from settings_section(
            with_feature_names(fitted.model, names["feature_names"])
        )

    kind = "Partially linear tree" if has_score(fitted.model) else "Confidence tree"
    title = f"{kind} of {fitted.name}"
    write_report_page(path, title, fitted.model, names, sections)


def _confusion(metrics):
    return figure.confusion(metrics) or preformatted(classes_table(metrics))


def calibration_sentence(groups):
    """Report the expected calibration error, and the group of highest probability."""
    total = sum(n for _, _, n in groups)
    error = sum(n * abs(proba - right) for proba, right, n in groups) / total
    probability, accuracy, n = groups[-1]
    return (
        f"Expected calibration error: {100 * error:.1f} points. In the group of the "
        f"highest predicted probability ({counted(n, 'row')}), the mean probability is "
        f"{100 * probability:.0f}% and the accuracy {100 * accuracy:.0f}%."
    )


def _columns(rows, nodes, feature_names, class_names):
    """Yield a section per column with splits."""
    splits = splits_by_column(nodes)
    colors = class_colors(len(class_names))
    keys = zip(class_names[: figure.MAX_CLASSES], colors, strict=False)
    if splits:
        yield '<p class="skconftree">' + " ".join(
            f'<span class="one"><span class="key" style="background:{color}"></span>'
            f"{escape(name)}</span>"
            for name, color in keys
        )
        yield "</p>"
        if rows.is_sample:
            yield f"<p>Values are those of {len(rows.codes):,} random rows.</p>"

    def shown(j):
        column = rows.columns[j]
        if rows.parsers[j] is None:  # categories
            texts = np.array(
                ["missing" if value is None else str(value) for value in column]
            )
            yield figure.categories(texts, rows.codes, len(class_names))
            return
        write = "{:.4g}".format
        if rows.dates is not None and rows.dates[j] is not None:
            write = as_date(rows.dates[j])
        values = column.astype(np.float64)
        thresholds = [s.threshold for s in splits[j] if np.isfinite(s.threshold)]
        yield figure.numbers(values, rows.codes, len(class_names), thresholds, write)
        missing = int(np.isnan(values).sum())
        if missing:
            subject = "1 value is" if missing == 1 else f"{missing:,} values are"
            yield f"<p class=soft>{subject} missing.</p>"

    yield from columns_section(splits, feature_names, shown)


MAX_CLASSES = 60
MAX_DRIFTS = 100


def stream_headline(record, classes, drifts, nodes):
    """Summarize accuracy, drifts (None: not monitored) and the evidence of the tree."""
    lines = []
    if record.n_tested:
        than = "repeating the previous label"
        over_no_change = difference(
            100 * (record.accuracy - record.no_change_accuracy), than
        )
        over_majority = difference(
            100 * (record.accuracy - record.majority_accuracy),
            "always predicting the most frequent label so far",
        )
        lines.append(
            f"Accuracy: {share(record.accuracy)} of the rows, each predicted before "
            f"the tree was trained on it: {over_no_change}, {over_majority}."
        )
        lines.append(classes_sentence(classes))
    if drifts is not None:
        subject = (
            "1 drift was" if len(drifts) == 1 else f"{len(drifts) or 'No'} drifts were"
        )
        last_row = f", the last after row {drifts[-1][0]:,}" if len(drifts) > 1 else ""
        last_row = last_row or (f", after row {drifts[0][0]:,}" if drifts else "")
        lines.append(f"{subject} detected{last_row}.")
    lines.append(shape_sentence(nodes))
    return lines


def write_stream_report(path, tree, names, content):
    """Write the page; `content` has the figures and settings of the run."""
    nodes = node_table(tree, **names)
    record, classes, drifts = content["record"], content["classes"], content["drifts"]

    def sections(nested_list):
        lead = " ".join(stream_headline(record, classes, drifts, nodes))
        yield f'<p class="lead">{escape(lead)}</p>'
        yield f"<p>{escape(content['about'])}.</p>"
        yield "<h2>Along the stream</h2>"
        if record.n_tested:
            accuracy_curve = [
                line
                for line in content["accuracy_curve"]
                if np.isfinite(line[1:]).all()
            ]
            if accuracy_curve:
                rows = [row for row, _ in drifts or ()]
                yield figure.accuracy(accuracy_curve, rows)
            head = ("", "accuracy", "kappa")
            yield figure.table(head, accuracies(record), own="tree")
        yield from (f"<p>{escape(line)}</p>" for line in content["remarks"])
        if drifts:
            yield "<h3>Drifts</h3>"
            yield from _drifts(drifts)
        if record.n_tested:
            yield "<h2>Classes</h2>"
            yield _classes(classes)
        yield from _importances(tree, names)
        yield from tree_section(tree, nodes, names["class_names"], nested_list)
        yield from rules_section(nodes)
        yield "<h2>Columns</h2>"
        yield from columns_section(splits_by_column(nodes), names["feature_names"])
        yield from notes_section(content["notes"])
        yield from settings_section(content["settings"])

    title = f"Confidence tree of {content['name']}"
    write_report_page(path, title, tree, names, sections)


def accuracies(record):
    """Return names, accuracies and kappa of the tree and its baselines."""
    shares = {
        "tree": (record.accuracy, record.kappa),
        "previous label": (record.no_change_accuracy, None),
        "most frequent label": (record.majority_accuracy, None),
    }
    return [
        (name, f"{100 * accuracy:.2f}%", "" if kappa is None else f"{kappa:.3f}")
        for name, (accuracy, kappa) in shares.items()
    ]


def _drifts(drifts):
    rows = [
        (f"{row:,}", f"below node {node}" if node else "the whole tree")
        for row, node in drifts[:MAX_DRIFTS]
    ]
    yield figure.table(("after row", "replaced"), rows)
    if len(drifts) > MAX_DRIFTS:
        yield f"<p class=soft>and {len(drifts) - MAX_DRIFTS} more</p>"


def _classes(classes):
    metrics = zip(
        *(classes[key] for key in ("rows", "recall", "precision")), strict=True
    )
    rows = [
        (name, f"{n:,.0f}", share(recall), share(precision))
        for name, (n, recall, precision) in zip(
            classes["classes"], metrics, strict=True
        )
    ]
    order = np.argsort(-np.array(classes["rows"]), kind="stable")[:MAX_CLASSES]
    shown = [rows[index] for index in sorted(order.tolist())]
    return figure.table(("class", "rows", "recall", "precision"), shown)
