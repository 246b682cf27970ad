"""Trees as text, with the evidence behind every split."""

import math

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._node_table import read_nodes


def export_text(
    estimator,
    *,
    feature_names=None,
    class_names=None,
    max_depth=None,
    decimals=4,
    show_evidence=True,
):
    """Write a fitted confidence tree as text.

    Like :func:`sklearn.tree.export_text`, with one line of evidence below every
    split: what the bound compared, so that a reader sees how sure the tree was.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier
        Fitted tree.
    feature_names : sequence of str or None, default=None
        One name a feature. None: the names seen by ``fit``, else ``x0``, ``x1``, ...
    class_names : sequence of str or None, default=None
        One name a class. None: the class labels.
    max_depth : int or None, default=None
        Deeper nodes are summarised in one line. None: no limit.
    decimals : int, default=4
        Significant digits of thresholds and evidence.
    show_evidence : bool, default=True
        Whether to print the evidence lines.

    Returns
    -------
    str

    See Also
    --------
    node_table : The nodes as plain records.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import export_text
    >>> iris = load_iris()
    >>> tree = ConfidenceTreeClassifier(bound=None, max_depth=1)
    >>> tree = tree.fit(iris.data, iris.target)
    >>> print(export_text(tree, feature_names=iris.feature_names))
    |--- petal length (cm) <= 2.45
    |    evidence: score 0.3333, runner-up petal width (cm) 0.3333; 119 tests
    |   |--- class: 0 (1.000 of 50)
    |--- petal length (cm) > 2.45
    |   |--- class: 1 (0.500 of 100)
    """
    check_is_fitted(estimator)
    if class_names is None:
        class_names = estimator.classes_
    with estimator._lock:
        nodes = None
        if max_depth is not None:
            nodes = np.flatnonzero(estimator.tree_.depth <= max(max_depth, 0))
        table = {
            row.node: row
            for row in read_nodes(
                estimator,
                nodes,
                feature_names=feature_names,
                class_names=class_names,
                decimals=decimals,
            )
        }
    lines = []
    # (node, line that leads to it, line of evidence below that one)
    stack = [(0, None, None)]
    while stack:
        node, lead, said = stack.pop()
        row = table[node]
        if lead is not None:
            indent = "|   " * (row.depth - 1)
            lines.append(f"{indent}|--- {lead}")
            if said is not None:
                lines.append(f"{indent}|    evidence: {said}")
        bar = "|   " * row.depth
        if not row.branches:
            lines.append(
                f"{bar}|--- class: {row.label} ({row.share:.3f} of {row.weight:g})"
            )
        elif max_depth is not None and row.depth >= max_depth:
            lines.append(f"{bar}|--- truncated branch ({row.weight:g} rows)")
        else:
            first, *others = row.branches
            for branch in others[::-1]:
                stack.append((branch.node, branch.words, None))
            said = describe_evidence(row.evidence, decimals) if show_evidence else None
            stack.append((first.node, first.words, said))
    return "\n".join(lines)


def describe_evidence(evidence, digits=4):
    """One line that says why a split was installed.

    Parameters
    ----------
    evidence : dict
        Of a record of `node_table`.
    digits : int, default=4
        Significant digits.

    Returns
    -------
    str
    """

    def number(name):
        return f"{evidence.get(name, math.nan):.{digits}g}"

    said = []
    if "child_limit" in evidence:
        said.append(
            f"children's limit {number('child_limit')} < "
            f"node's limit {number('parent_limit')}"
        )
    else:
        said.append(f"score {number('score')}")
        if "rival" in evidence:
            runner_up = "runner-up " if evidence["rival_feature"] >= 0 else ""
            said[-1] += f", {runner_up}{evidence['rival']} {number('rival_score')}"
        if "radius" in evidence:
            said[-1] += f", radius {number('radius')}"
    if "confidence" in evidence:
        said.append(f"{evidence['statement']} {number('confidence')}")
    n_tests = evidence.get("n_tests", math.nan)
    said.append(f"{n_tests:.0f} tests" if n_tests < 1e6 else f"{n_tests:.1e} tests")
    return "; ".join(said)
