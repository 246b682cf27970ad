"""Trees as text, with the evidence behind every split."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._explain import branch_label, feature_labels


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
    with estimator._lock:
        lines = _lines(
            estimator, feature_names, class_names, max_depth, decimals, show_evidence
        )
    return "\n".join(lines)


def _lines(estimator, feature_names, class_names, max_depth, decimals, show_evidence):
    tree = estimator.tree_
    features = feature_labels(estimator, feature_names)
    classes = (
        [str(c) for c in estimator.classes_]
        if class_names is None
        else ([str(c) for c in class_names])
    )
    if len(classes) != tree.n_classes:
        raise ValueError(
            f"class_names must contain {tree.n_classes} elements, got {len(classes)}"
        )
    feature, value, parent = tree.feature, tree.value, tree.parent
    weight = tree.counts.sum(axis=1)
    evidence, categories = tree.evidence, estimator.categories_
    bound = estimator.bound_
    statement = "confidence" if bound is None else bound.statement
    lines = []
    # (node, depth, line that leads to it)
    stack = [(0, 0, None)]
    while stack:
        node, depth, lead = stack.pop()
        indent = "|   " * (depth - 1) if depth else ""
        if lead is not None:
            lines.append(f"{indent}|--- {lead}")
            if show_evidence and node == tree.children(parent[node])[0]:
                said = describe_evidence(
                    evidence[parent[node]], features, decimals, statement
                )
                lines.append(f"{indent}|    evidence: {said}")
        bar = "|   " * depth
        if feature[node] < 0:
            best = int(np.argmax(value[node]))
            lines.append(
                f"{bar}|--- class: {classes[best]} "
                f"({value[node, best]:.3f} of {weight[node]:g})"
            )
        elif max_depth is not None and depth >= max_depth:
            lines.append(f"{bar}|--- truncated branch ({weight[node]:g} rows)")
        else:
            name = features[feature[node]]
            for child in tree.children(node)[::-1]:
                lead = branch_label(tree, categories, node, child, name, decimals)
                stack.append((child, depth + 1, lead))
    return lines


def describe_evidence(evidence, features, digits=4, statement="confidence"):
    """One line that says why a split was installed.

    Parameters
    ----------
    evidence : void of the dtype of ``tree_.evidence``
    features : list of str
        Name of every feature.
    digits : int, default=4
        Significant digits.
    statement : str, default="confidence"
        What the bound's confidence is called.

    Returns
    -------
    str
    """

    def number(name):
        return f"{evidence[name]:.{digits}g}"

    said = []
    if not np.isnan(evidence["child_limit"]):
        said.append(
            f"children's limit {number('child_limit')} < "
            f"node's limit {number('parent_limit')}"
        )
    else:
        said.append(f"score {number('score')}")
        if evidence["rival_feature"] >= 0:
            rival = f"runner-up {features[evidence['rival_feature']]}"
        else:
            rival = "no split"
        if np.isfinite(evidence["rival_score"]):
            said[-1] += f", {rival} {number('rival_score')}"
        if not np.isnan(evidence["radius"]):
            said[-1] += f", radius {number('radius')}"
    if not np.isnan(evidence["confidence"]):
        said.append(f"{statement} {number('confidence')}")
    n_tests = evidence["n_tests"]
    said.append(f"{n_tests:.0f} tests" if n_tests < 1e6 else f"{n_tests:.1e} tests")
    return "; ".join(said)
