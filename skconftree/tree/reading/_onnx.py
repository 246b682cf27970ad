"""Trees and forests as ONNX models.

The graph has one TreeEnsembleRegressor, which adds the probabilities of the leaves in
double precision. Thresholds are doubles, too, so that no rounding changes the path of a
row. A nominal split becomes a chain of nodes, each of which tests whether the value is
one category. The categories of one branch lead to the same node. A row that passes no
test of the chain has an unknown category: it reaches a leaf with the probabilities of
the node that is split. A partially linear tree adds a linear *score* to the values of
its leaves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from ...tables._features import MISSING
from ...utils._lock import reads_argument  # locks the estimator
from ...utils._types import Estimator
from ._programs import plain
from ._records import read_votes, split_score

# Versions of the sets of operators (opsets) and of the file format that onnxruntime
# has supported since 1.13.
OPSETS = {"": 13, "ai.onnx.ml": 3}
IR_VERSION = 8
LEQ, EQ = "BRANCH_LEQ", "BRANCH_EQ"
FIELDS = (
    "nodes_modes",
    "nodes_values",
    "nodes_missing_value_tracks_true",
    "nodes_truenodeids",
    "nodes_falsenodeids",
    "nodes_nodeids",
    "nodes_featureids",
    "nodes_treeids",
)


@reads_argument
def export_onnx(estimator: Estimator) -> Any:
    """Convert a fitted tree or forest to an ONNX model.

    A service can predict with the model by onnxruntime, without Python or this package.
    Missing values and unknown categories take the same path as in `predict_proba`.
    ``skl2onnx.to_onnx`` uses the same conversion for a pipeline whose last step is a
    tree or a forest.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier or ConfidenceForestClassifier
        Fitted model whose leaves predict by their class proportions, as after `fit`.

    Returns
    -------
    onnx.ModelProto
        Model with one input and two outputs:

        - ``X`` of shape (n_samples, n_features), float32: the columns in the order of
          `fit`. NaN is a missing value. In a nominal column whose categories are
          numbers or booleans, pass these numbers. In other nominal columns, such as
          text, pass the index of the category in ``categories_``, and -1 for an unknown
          category. Pass dates as days since 1970-01-01.
        - ``label`` of shape (n_samples,): the class, a string, int64, double or bool.
        - ``probabilities`` of shape (n_samples, n_classes), float32, in the order of
          ``classes_``.

        The metadata has one entry, ``columns``, a list in JSON with the ``name`` of
        each column and, if values of the column are passed as indices, its
        ``categories``, where null is a missing value.

    Raises
    ------
    ImportError
        If onnx is not installed.
    ValueError
        If leaves predict by naive Bayes, if classes are neither strings nor numbers, or
        if two categories are the same number in float32.

    See Also
    --------
    export_rules : The model as a program in SQL or Python.
    ConfidenceTreeClassifier.to_sklearn : Conversion for other export tools.

    Notes
    -----
    Sums are in double precision; the probabilities are then rounded to float32. The
    label is the first class of the largest rounded probability.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import export_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = export_onnx(ConfidenceTreeClassifier().fit(X, y))
    >>> [output.name for output in model.graph.output]
    ['label', 'probabilities']
    """
    try:
        from onnx import TensorProto, helper
    except ImportError:
        raise ImportError(
            "export_onnx needs onnx. Install it with 'pip install onnx'."
        ) from None
    conversion = Conversion(estimator)
    nodes: list[Any] = []

    def add(kind, inputs, outputs, domain="", **attributes):
        nodes.append(
            helper.make_node(kind, inputs, outputs, domain=domain, **attributes)
        )

    conversion.write(add, "X", ("label", "probabilities"), str)
    n_features, n_classes = conversion.shape
    describe = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        type(estimator).__name__,
        [describe("X", TensorProto.FLOAT, [None, n_features])],
        [
            describe("label", conversion.classes.data_type, [None]),
            describe("probabilities", TensorProto.FLOAT, [None, n_classes]),
        ],
    )
    model = helper.make_model(
        graph,
        producer_name="skconftree",
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid(*opset) for opset in OPSETS.items()],
    )
    helper.set_model_props(model, {"columns": json.dumps(conversion.columns())})
    return model


class Conversion:
    """Conversion of an estimator to nodes of an ONNX graph."""

    def __init__(self, estimator):
        from onnx import numpy_helper

        self.tensor = numpy_helper.from_array
        score, tree = split_score(estimator)  # the linear score, or None
        if score is not None:
            raise ValueError(
                "A tree with a linear score cannot be converted to ONNX. Use "
                "export_rules, which writes it in SQL or Python."
            )
        # trees of a forest, or the tree itself; the text is for an error message
        self.trees, self.weights = read_votes(tree, "converted to ONNX")
        self.names = getattr(tree, "feature_names_in_", None)
        self.categories = tree.categories_ or [None] * tree.n_features_in_
        self.numbers = list(map(_numbers, range(len(self.categories)), self.categories))
        self.shape = tree.n_features_in_, len(tree.classes_)
        # as str, bool, int or float; "class" is for an error message
        labels = [plain(label, "class") for label in tree.classes_.tolist()]
        kind = object if isinstance(labels[0], str) else None
        self.classes = self.tensor(np.array(labels, dtype=kind))

    def columns(self):
        """Describe the columns of the input."""
        columns = []
        for j, values in enumerate(self.categories):
            column = {"name": f"x{j}" if self.names is None else str(self.names[j])}
            if values is not None and not _are_numbers(values):
                column["categories"] = [
                    None if value is MISSING else str(value) for value in values
                ]
            columns.append(column)
        return columns

    def write(
        self, add: Callable, rows: str, outputs: tuple, unique_name: Callable
    ) -> None:
        """Add nodes from `rows` of float32 to the outputs by `add`."""
        from onnx import TensorProto

        label, proba = outputs
        doubles, best, classes = map(unique_name, ("doubles", "best", "classes"))
        add("Cast", [rows], [doubles], to=TensorProto.DOUBLE)
        ensemble = _Ensemble(self.categories, self.numbers)
        total = sum(self.weights)
        for tree, weight in zip(self.trees, self.weights, strict=True):
            ensemble.add(tree.tree_, weight / total)
        add(
            "TreeEnsembleRegressor",
            [doubles],
            [proba],
            "ai.onnx.ml",
            **ensemble.attributes(self.tensor),
        )
        add("ArgMax", [proba], [best], axis=1, keepdims=0)
        add("Constant", [], [classes], value=self.classes)
        add("Gather", [classes, best], [label])


def _are_numbers(categories):
    return all(value is MISSING or isinstance(value, Real) for value in categories)


def _numbers(j, categories):
    # Returns the number of each category in the input, None for a missing value. The
    # result is None for a numeric column.
    if categories is None:
        return None
    if not _are_numbers(categories):
        return list(range(len(categories)))
    numbers = {}
    for value in categories:
        if value is MISSING:
            continue
        number = float(value) if abs(value) < 2.0**128 else math.inf
        number = float(np.float32(number))
        if number in numbers:
            raise ValueError(
                f"Categories {numbers[number]!r} and {value!r} of column {j} are the "
                "same number in float32, the type of the rows in ONNX. Convert the "
                "column to strings before fit."
            )
        numbers[number] = value
    in_order = iter(numbers)
    return [None if value is MISSING else next(in_order) for value in categories]


def set_output_types(operator: Any) -> None:
    """Set the types of the label and the probabilities for skl2onnx."""
    from skl2onnx.common import data_types

    classes = operator.raw_operator.classes_
    labels = np.array(classes.tolist())  # the array may be of objects
    kind = {"b": "Boolean", "i": "Int64", "f": "Double"}.get(
        labels.dtype.kind, "String"
    )
    label, proba = operator.outputs
    label.type = getattr(data_types, f"{kind}TensorType")([None])
    proba.type = data_types.FloatTensorType([None, len(classes)])


def convert_operator(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of an estimator to a graph of skl2onnx."""
    from onnx import TensorProto

    def add(kind, inputs, outputs, domain="", **attributes):
        name = scope.get_unique_operator_name(kind)
        version = {"op_domain": domain, "op_version": OPSETS[domain]}
        container.add_node(kind, inputs, outputs, name=name, **version, **attributes)

    parts = []
    for variable in operator.inputs:
        if type(variable.type).__name__ == "StringTensorType":
            raise ValueError(
                f"Column {variable.raw_name!r} has strings, but a tree in ONNX reads "
                "numbers. Encode the column in a pipeline by OrdinalEncoder, and "
                "pass its index as categorical_features."
            )
        parts.append(scope.get_unique_variable_name("part"))
        add("Cast", [variable.full_name], [parts[-1]], to=TensorProto.FLOAT)
    rows = scope.get_unique_variable_name("rows")
    add("Concat", parts, [rows], axis=1)
    outputs = tuple(variable.full_name for variable in operator.outputs)
    Conversion(operator.raw_operator).write(
        add, rows, outputs, scope.get_unique_variable_name
    )


class _Ensemble:
    """Attributes of a TreeEnsembleRegressor; categories have `numbers` in its input."""

    def __init__(self, categories, numbers):
        self.categories, self.numbers = categories, numbers
        self.fields = {name: [] for name in FIELDS}
        self.leaves = []  # ids and probabilities of the leaves of each tree

    def add(self, tree, weight):
        """Add a tree, whose probabilities are multiplied by its weight."""
        feature, threshold = tree.feature.tolist(), tree.threshold.tolist()
        left, right = tree.children_left.tolist(), tree.children_right.tolist()
        missing_left, is_nominal = tree.missing_go_to_left.tolist(), tree.is_nominal
        # Each test: mode, number, whether missing values pass, node of rows that pass,
        # node of other rows, node of the test, column
        tests = []
        leaves = []  # new node, and the node whose probabilities it has
        n_nodes, stack = tree.node_count, [0]
        while stack:
            node = stack.pop()
            j = feature[node]
            if j < 0:
                leaves.append((node, node))
                continue
            if is_nominal[node]:
                # `branches`: child of each category, or the node itself
                groups = self._groups(j, tree.branches(node).tolist(), node)
                chain = [(*test, child) for child in groups for test in groups[child]]
                children, n_new = list(groups), len(chain)
                leaves.append((n_nodes + n_new - 1, node))
                others = list(range(n_nodes, n_nodes + n_new))
            else:
                children, n_new = [left[node], right[node]], 0
                chain = [(LEQ, threshold[node], missing_left[node], left[node])]
                others = [right[node]]
            tested_at = [node, *others[:-1]]
            tests += [
                (*test, other, test_node, j)
                for test, other, test_node in zip(chain, others, tested_at, strict=True)
            ]
            n_nodes += n_new
            stack += children
        nodes, original = np.array(leaves).T
        ids = self._write(tests, nodes.tolist(), n_nodes)
        self.leaves.append((ids, tree.proba[original] * weight))

    def _write(self, tests, leaves, n_nodes):
        # Returns the ids of the leaves. In ONNX, the ids of nodes are 0, 1, ...
        columns = zip(*tests, strict=True) if tests else [()] * 7
        mode, number, missing, passed, other, test_node, column = map(list, columns)
        used, zeros = [*test_node, *leaves], [0] * len(leaves)
        new = np.zeros(n_nodes, dtype=np.int64)
        new[used] = np.arange(len(used))
        parts = (
            [*mode, *["LEAF"] * len(leaves)],
            [*number, *zeros],
            [*map(int, missing), *zeros],
            [*new[passed].tolist(), *zeros],
            [*new[other].tolist(), *zeros],
            list(range(len(used))),
            [*column, *zeros],
            [len(self.leaves)] * len(used),
        )
        for name, values in zip(FIELDS, parts, strict=True):
            self.fields[name] += values
        return new[leaves]

    def _groups(self, j, branches, node):
        # Returns the tests of each child: mode, number, and whether missing values
        # pass. The first test is of missing values alone. It also separates the tests
        # of two children: onnxruntime (1.32) joins successive tests of equality that
        # lead to different leaves if their first classes are equally probable.
        groups = {}
        for value, number, child in zip(
            self.categories[j], self.numbers[j], branches, strict=False
        ):
            if child == node:  # no training row of the node had this category
                continue
            tests = groups.setdefault(child, [(LEQ, -math.inf, False)])
            if value is MISSING:
                tests[0] = (LEQ, -math.inf, True)
            if number is not None:
                tests.append((EQ, number, False))
        return groups

    def attributes(self, tensor):
        """Return the attributes of the operator."""
        sizes = [len(ids) for ids, _ in self.leaves]
        trees = np.arange(len(sizes)).repeat(sizes)
        ids, proba = map(np.concatenate, zip(*self.leaves, strict=True))
        n_classes = proba.shape[1]
        fields = dict(self.fields)
        numbers = np.array(fields.pop("nodes_values"), dtype=np.float64)
        return fields | {
            "n_targets": n_classes,
            "nodes_values_as_tensor": tensor(numbers),
            "target_treeids": trees.repeat(n_classes).tolist(),
            "target_nodeids": ids.repeat(n_classes).tolist(),
            "target_ids": np.tile(np.arange(n_classes), len(proba)).tolist(),
            "target_weights_as_tensor": tensor(proba.ravel()),
        }
