"""A tree in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Sequence

from ...utils._lock import reads_argument
from ...utils._types import Estimator
from ._colors import class_colors
from ._export import shortened
from ._meant import check_tree
from ._node_table import read_nodes

LONGEST = 40  # characters of a line in a box


@reads_argument
def export_graphviz(
    estimator: Estimator,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = None,
    decimals: int = 4,
    filled: bool = True,
    rotate: bool = False,
) -> str:
    r"""Write a fitted confidence tree in the DOT language of Graphviz.

    Boxes say what is asked, how strong the split is, and how many rows came; leaves
    their class, its rows and its probability. ``dot -Tsvg tree.dot`` draws it, and so
    does ``graphviz.Source(text)``.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier
        Fitted tree.
    feature_names : sequence of str or None, default=None
        One name a feature. None: the names seen by ``fit``, else ``x0``, ``x1``, ...
    class_names : sequence of str or None, default=None
        One name a class. None: the class labels.
    max_depth : int or None, default=None
        Deepest level to write; what is below becomes an ellipsis. None: no limit.
    decimals : int, default=4
        Significant digits of thresholds.
    filled : bool, default=True
        Whether leaves are coloured by class.
    rotate : bool, default=False
        Whether the tree grows from left to right.

    Returns
    -------
    str

    See Also
    --------
    export_text : The tree as text.
    skconftree.inspection.ConfidenceTreeDisplay : A picture without Graphviz.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import export_graphviz
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = ConfidenceTreeClassifier(max_depth=1).fit(X, y)
    >>> lines = export_graphviz(tree).splitlines()
    >>> print(lines[5])
    0 [label="petal width (cm) <= 0.8\noverwhelming, 3e-40 expected by ...150 rows"];
    """
    check_tree(estimator)
    if class_names is None:
        class_names = estimator.classes_
    rows = read_nodes(
        estimator,
        feature_names=feature_names,
        class_names=class_names,
        decimals=decimals,
    )
    table = {row.node: row for row in rows}
    colors = class_colors(len(class_names))
    lines = [
        "digraph tree {",
        'node [shape=box, style="rounded,filled", fillcolor="white", '
        'fontname="helvetica"];',
        'edge [fontname="helvetica"];',
    ]
    if rotate:
        lines.append("rankdir=LR;")
    if rows[0].branches:
        lines += [
            f"label={_quoted(rows[0].strength.legend)};",
            'labelloc="b"; fontname="helvetica"; fontsize=10;',
        ]
    waiting = [0]
    while waiting:
        row = table[waiting.pop()]
        if not row.branches:
            said = [f"class {shortened(str(row.label), LONGEST)}", row.outcome]
            fill = ""
            if filled:
                place = max(range(len(row.value)), key=row.value.__getitem__)
                fill = f', fillcolor="{_pale(colors[place], row.share)}"'
            lines.append(f"{row.node} [label={_quoted(said)}{fill}];")
            continue
        question = shortened(row.test if row.n_children == 2 else row.name, LONGEST)
        said = [question, row.strength.short, *filter(None, [row.tie]), row.rows]
        lines.append(f"{row.node} [label={_quoted(said)}];")
        if max_depth is not None and row.depth >= max_depth:
            lines.append(f'"below {row.node}" [label="...", style="rounded"];')
            lines.append(f'{row.node} -> "below {row.node}";')
            continue
        words = ["yes", "no"]
        if row.n_children > 2:
            words = [one.words[len(row.name) + 1 :] for one in row.branches]
        for branch, word in zip(row.branches, words, strict=True):
            label = _quoted([shortened(word, 20)])
            width = 1.0 + 4.0 * table[branch.node].weight / max(rows[0].weight, 1e-300)
            lines.append(
                f"{row.node} -> {branch.node} [label={label}, penwidth={width:.2f}];"
            )
        waiting += [branch.node for branch in row.branches[::-1]]
    return "\n".join([*lines, "}"])


def _quoted(lines):
    # newlines within names would end the line of the label
    text = "\\n".join(
        one.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        for one in lines
    )
    return f'"{text}"'


def _pale(color, share):
    # The less pure a leaf is, the whiter.
    channels = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    strength = 0.25 + 0.5 * max(min(share, 1.0), 0.0)
    mixed = (round(255 - strength * (255 - one)) for one in channels)
    return "#" + "".join(f"{one:02x}" for one in mixed)
