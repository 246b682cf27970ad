"""The report of ``skconftree fit``: a page to send to a colleague."""

import os
import platform
from html import escape

import numpy as np
import scipy
import sklearn

import skconftree
from skconftree.inspection import ConfidenceTreeDisplay
from skconftree.tree import class_colors, export_html, node_table

from . import _report_figures as figure
from ._common import write_text
from ._figures import OWN, classes_table

MOST_LEAVES = 24  # of a tree that is drawn whole
MOST_RULES = 60
MOST_COLUMNS = 20
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def headline(found, base, classes, tree, nodes):
    """Say in sentences what the tree is worth, how large it is and how sure."""
    accuracy = float(np.mean(found[OWN]["accuracy"]))
    share, _, largest = base
    points = 100 * (accuracy - share)
    worth = "no better than" if abs(points) < 0.05 else f"{abs(points):.1f} points "
    if abs(points) >= 0.05:
        worth += "better than" if points > 0 else "worse than"
    lines = [
        f"Right about {100 * accuracy:.1f} % of the rows that it had not seen: {worth} "
        f"always saying {largest!r}."
    ]
    names, rows = classes["classes"], classes["rows"]
    if len(names) == 2:
        rare = int(np.argmin(rows))
        lines.append(_found(classes, rare))
    else:
        recall = np.nan_to_num(classes["recall"], nan=2.0)
        lines.append(f"Hardest: {_found(classes, int(np.argmin(recall)), small=True)}")
    splits = [row for row in nodes if row.branches]
    leaves = len(nodes) - len(splits)
    if not splits:
        lines.append("The tree is a single leaf: no split was made.")
        return lines
    words = [row.strength.word for row in splits]
    told = [
        f"{_word(words.count(word))} {word}"
        for word in ("overwhelming", "strong", "weak")
        if word in words
    ]
    if len(splits) == 1:
        lines.append(f"{leaves} leaves; the split is {words[0]}.")
    else:
        verb = " is " if told[0].startswith("one ") else " are "
        told[0] = told[0].replace(" ", verb, 1)
        lines.append(f"{leaves} leaves; of {_word(len(splits))} splits, {_and(told)}.")
    rivals = [name for name in found if name != OWN]
    if rivals:
        best = max(rivals, key=lambda name: np.mean(found[name]["accuracy"]))
        lines.append(
            f"{best}: {100 * np.mean(found[best]['accuracy']):.1f} % with "
            f"{np.mean(found[best]['leaves']):.0f} leaves."
        )
    return lines


def _found(classes, place, *, small=False):
    name, found = classes["classes"][place], classes["recall"][place]
    right = classes["precision"][place]
    text = f"{'finds' if small else 'Finds'} {100 * found:.0f} % of the {name!r}"
    if np.isnan(right):
        return f"{text}, as it never says so."
    return f"{text}; {100 * right:.0f} % of what it calls {name!r} are."


def _word(n):
    return WORDS[n] if n < len(WORDS) else str(n)


def _and(parts):
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def write_report(path, table, tree, names, told):
    """Write the page; `told` has the sentences, figures and settings of the run."""
    nodes = node_table(tree, **names)
    title = f"Confidence tree of {os.path.basename(table.name)}"
    page = export_html(tree, **names, title=title)
    head, _, rest = page.partition("</h1>\n")
    as_list, _, tail = rest.rpartition("\n</main>")
    head = head.replace("</style>", f"{figure.STYLE}</style>", 1)
    shape = ConfidenceTreeDisplay(nodes, class_names=names["class_names"])
    depth = None if tree.get_n_leaves() <= MOST_LEAVES else "auto"
    sections = [
        f'<p class="lead">{escape(" ".join(told["sentences"]))}</p>',
        f"<p>{escape(told['about'])}. Every figure of right and wrong is of rows that "
        f"the tree had not seen ({escape(told['tested'])}).</p>",
        "<h2>What is taken for what</h2>",
        figure.confusion(told["classes"]) or _pre(classes_table(told["classes"])),
        *_test_table(told["test"]),
        "<h2>Which columns decide</h2>",
        "<p>Share of what all splits gain together.</p>",
        figure.importances(names["feature_names"], tree.feature_importances_)
        or "<p>None: the tree is a single leaf.</p>",
        "<h2>Can its probabilities be believed?</h2>",
        *_reliability(told["confidence"], told["is_right"]),
        "<h2>The tree</h2>",
        "<p>Point at a box, or tap it, to be told how one gets there.</p>",
        f'<div class="wide">{shape.to_svg(max_depth=depth)}</div>',
        "<h3>Level by level</h3>",
        as_list,
        "<h2>Rules</h2>",
        *_rules(nodes),
        "<h2>Columns</h2>",
        *_columns(table, nodes, names["class_names"]),
        "<h2>Beside other trees</h2>",
        f'<div class="wide">{_comparison(told["found"], told["base"])}</div>',
        *(f"<p>{escape(one)}</p>" for one in told["remarks"]),
        "<h2>Notes on the data</h2>",
        _list(told["notes"]) if told["notes"] else "<p>None.</p>",
        "<h2>Settings and versions</h2>",
        _pre(told["settings"]),
        _pre(_versions()),
    ]
    write_text(path, f"{head}</h1>\n{chr(10).join(sections)}\n</main>{tail}")


def _test_table(test):
    if test is None:
        return
    loss = f", log loss {test['log_loss']:.3f}" if test["log_loss"] >= 0.0 else ""
    yield f"<h3>{escape(str(test['name']))}</h3>"
    right = f"{100 * test['accuracy']:.1f} %"
    yield f"<p>{test['n_rows']:,} rows: accuracy {right}{loss}.</p>"
    yield figure.confusion(test) or _pre(classes_table(test))


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


def _rules(nodes):
    """Each leaf as the conditions that lead to it, the largest first."""
    paths = {0: []}
    for row in nodes:
        for branch in row.branches:
            paths[branch.node] = [*paths[row.node], branch.words]
    leaves = sorted(
        (row for row in nodes if not row.branches), key=lambda row: -row.weight
    )
    items = [
        f"{' and '.join(paths[row.node]) or 'all rows'}: {row.label} ({row.outcome})"
        for row in leaves[:MOST_RULES]
    ]
    yield _list(items)
    if len(leaves) > MOST_RULES:
        yield f"<p class=soft>and {len(leaves) - MOST_RULES} smaller leaves</p>"


def _columns(table, nodes, class_names):
    """A section for each column that the tree asks for."""
    splits = {}
    for row in nodes:
        if row.branches:
            splits.setdefault(row.feature, []).append(row)
    codes = np.unique(table.y, return_inverse=True)[1]
    colors = class_colors(len(class_names))
    keys = zip(class_names[: figure.MOST_CLASSES], colors, strict=False)
    yield '<p class="skconftree">' + "".join(
        f'<span class="key" style="background:{color}"></span>{escape(name)} '
        for name, color in keys
    )
    yield "</p>"
    order = sorted(splits, key=lambda j: splits[j][0].depth)
    for j in order[:MOST_COLUMNS]:
        column = table.X[:, j]
        yield f"<h3>{escape(table.feature_names[j])}</h3>"
        if table.readings[j] is None:
            texts = np.array(["missing" if one is None else str(one) for one in column])
            yield figure.categories(texts, codes, len(class_names))
        else:
            values = column.astype(np.float64)
            cuts = [one.threshold for one in splits[j] if np.isfinite(one.threshold)]
            yield figure.numbers(values, codes, len(class_names), cuts)
            missing = int(np.isnan(values).sum())
            if missing:
                yield f"<p class=soft>{missing:,} values are missing.</p>"
        asked = [f"{row.test} ({row.rows}): {row.strength.long}" for row in splits[j]]
        yield _list(asked[:MOST_COLUMNS])
    if len(order) > MOST_COLUMNS:
        yield f"<p class=soft>and {len(order) - MOST_COLUMNS} columns more</p>"
    unused = [name for j, name in enumerate(table.feature_names) if j not in splits]
    if unused:
        shown = ", ".join(unused[:MOST_RULES])
        more = ", ..." if len(unused) > MOST_RULES else ""
        yield f"<p>Not asked for: {escape(shown)}{more}.</p>"


def _comparison(found, base):
    rows = ["<tr><th></th><th>accuracy</th><th>log loss</th><th>leaves</th></tr>"]
    for name, figures in found.items():
        own = ' class="own"' if name == OWN else ""
        rows.append(
            f"<tr{own}><td>{escape(name)}</td>"
            f"<td>{100 * np.mean(figures['accuracy']):.1f} %</td>"
            f"<td>{np.mean(figures['log_loss']):.3f}</td>"
            f"<td>{np.mean(figures['leaves']):.1f}</td></tr>"
        )
    rows.append(
        f"<tr><td>always {escape(repr(base[2]))}</td><td>{100 * base[0]:.1f} %</td>"
        f"<td>{base[1]:.3f}</td><td></td></tr>"
    )
    return f"<table>{''.join(rows)}</table>"


def _list(items):
    return f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in items)}</ul>"


def _pre(text):
    return f"<pre>{escape(text)}</pre>"


def _versions():
    versions = {
        "skconftree": skconftree.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "Python": platform.python_version(),
    }
    return "\n".join(f"{name} {version}" for name, version in versions.items())
