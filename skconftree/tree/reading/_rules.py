"""Trees as standalone rules in Python or SQL."""

from __future__ import annotations

import keyword
import math
import re
import unicodedata
from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np

from ...tables._features import MISSING
from ...utils._lock import reads_argument
from ...utils._types import Estimator
from ._records import check_tree, read_nodes, split_score

INDENT = "    "
MAX_NESTED = 80  # Python supports about 100 levels of indentation
LANGUAGES = ("python", "sql")
DIALECTS = ("ansi",)


@reads_argument
def export_rules(
    estimator: Estimator,
    language: Literal["python", "sql"] = "python",
    *,
    feature_names: Sequence[str] | None = None,
    name: str = "predict",
    dialect: Literal["ansi"] = "ansi",
) -> str:
    """Write a fitted confidence tree as if-else rules, in Python or SQL.

    The program predicts the same class as `predict` for every row, without any library.
    Each threshold has as many digits as are necessary for that, and a comment with the
    condition as text. Comments also have the number of training rows of the class and
    its probability.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier or PartiallyLinearTreeClassifier
        Fitted tree whose leaves predict by their class proportions, as after `fit`. The
        rules of a partially linear tree compute probabilities: a Python function that
        returns a dict by class, and an SQL expression for the probability of
        ``classes_[1]``, of two classes.
    language : {"python", "sql"}, default="python"
        Language of the result:

        - ``"python"``: a function of a row, which is a dict by column name, or any
          sequence if the tree has no column names. None and NaN are missing values.
        - ``"sql"``: an expression for a SELECT, ``CASE WHEN ... END``, with quoted
          names of columns. NULL is a missing value. Strings must be compared exactly,
          including case. Text from the data that another system could interpret as SQL
          raises an error.
    feature_names : sequence of str or None, default=None
        One name per feature. If None, the names seen by ``fit`` are used; if there are
        none, indices in Python, and ``x0``, ``x1``, ... in SQL.
    name : str, default="predict"
        Name of the function in Python.
    dialect : {"ansi"}, default="ansi"
        Dialect of SQL: ``"x"`` is a column and ``'x'`` a string, in which a quotation
        mark is doubled. PostgreSQL, SQLite, DuckDB, Oracle, SQL Server and Snowflake
        support it. Do not use it if ``"x"`` is a string, which is the default in MySQL,
        BigQuery and Spark: every row would get the same class.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If leaves predict by naive Bayes, or if classes or categories are neither
        strings nor numbers. In SQL, if a class, category or column has a backslash or a
        control character, begins with its quotation mark (``'``; ``"`` in a column), or
        has two of them in a row.

    See Also
    --------
    export_text : The tree as text.
    ConfidenceTreeClassifier.to_sklearn : Conversion for other export tools.

    Notes
    -----
    The tree compares numbers as float32. A threshold in the rules is the largest double
    that rounds to the same side in float32, so that the rules need no rounding.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import export_rules
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = ConfidenceTreeClassifier(max_depth=1).fit(X, y)
    >>> print(export_rules(tree, "sql"))
    CASE
      WHEN "petal width (cm)" <= 0.8000000417232512 THEN 0 /* petal width (cm) <= ...
      ELSE 1 /* 50 of 100 rows, probability 0.49 */
    END
    >>> program = {}
    >>> exec(export_rules(tree), program)
    >>> program["predict"]({"petal width (cm)": 0.2})
    0
    """
    score, estimator = split_score(estimator)
    check_tree(estimator)
    if language not in LANGUAGES:
        raise ValueError(
            f"language must be one of {list(LANGUAGES)}. Got {language!r}."
        )
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {list(DIALECTS)}. Got {dialect!r}.")
    if estimator._model.predicts_by_bayes:
        raise ValueError(
            "A tree whose leaves predict by naive Bayes cannot be written as rules. "
            "Use leaf_prediction='majority'."
        )
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(
            f"name must be a Python identifier and no keyword. Got {name!r}."
        )
    named = feature_names is not None or hasattr(estimator, "feature_names_in_")
    table = read_nodes(estimator, feature_names=feature_names)
    if score is None and language == "sql":
        return _Sql().write(table)
    if score is None:
        return _Python(name, named).write(table)
    names = feature_names
    if names is None:
        names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(estimator.n_features_in_)]
    ends = set(score.nodes.tolist())
    if language == "sql":
        labels = score.constants[:, 0].tolist()
        table = [_ending(row, ends, labels[row.node]) for row in table]
        columns = [_quoted(str(name), '"', "column") for name in names]
        literal = partial(_sql_value, what="category")
        return score.sql_expression(columns, _Sql().write(table), literal)
    table = [_ending(row, ends, row.node) for row in table]
    keys = list(map(str, names)) if named else list(range(len(names)))
    leaf_function = _Python(f"{name}_leaf", named).write(table)
    return score.python_program(keys, name, leaf_function)


def _ending(row, ends, label):
    # The same node with another label, a leaf if it is one of `ends`.
    return row._replace(label=label, branches=() if row.node in ends else row.branches)


def limit(threshold):
    """Return the largest double whose float32 is at most `threshold`."""
    with np.errstate(over="ignore"):
        low = np.float32(threshold)
        if float(low) > threshold:
            low = np.nextafter(low, np.float32(-np.inf))
        high = np.nextafter(low, np.float32(np.inf))
    if not math.isfinite(low):
        return -math.inf if low < 0 else math.inf
    if not math.isfinite(high):
        return float(low)
    middle = (float(low) + float(high)) / 2.0
    if np.float32(middle) <= low:
        return middle
    return math.nextafter(middle, -math.inf)


class _Python:
    """Writer of Python functions of dicts (if `named`) or sequences.

    Subtrees that are nested too deeply become separate functions.
    """

    def __init__(self, name, named):
        self.name = name
        self.named = named

    def write(self, table):
        """Write the program."""
        parts, roots = [], [0]
        while roots:
            lines, more = self._function(table, roots.pop())
            parts.append("\n".join(lines))
            roots += more
        # a function may be defined after its caller
        return "\n\n\n".join(parts)

    def _function(self, table, root):
        lines = [f"def {self._function_name(root)}(row):"]
        if root == 0:
            lines.append(f'{INDENT}"""Class of a row."""')
        base_depth = table[root].depth - 1
        more = []
        # nodes, and texts that are written in between
        stack = [root]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                lines.append(item)
                continue
            row = table[item]
            level = row.depth - base_depth
            pad = INDENT * level
            if not row.branches:
                label = _python_value(row.label, "class")
                # `outcome` is the comment "50 of 100 rows, probability 0.49"
                lines.append(f"{pad}return {label}  # {row.outcome}")
                continue
            if level > MAX_NESTED:
                more.append(item)
                lines.append(f"{pad}return {self._function_name(item)}(row)")
                continue
            value = f"row[{row.name!r}]" if self.named else f"row[{row.feature}]"
            lines.append(f"{pad}value = {value}")
            items = []
            for i, (test, branch) in enumerate(
                zip(self._tests(row), row.branches, strict=True)
            ):
                comment = _comment(branch.condition)
                if test is None:
                    items.append(f"{pad}else:  # {comment}")
                else:
                    statement = "elif" if i else "if"
                    items.append(f"{pad}{statement} {test}:  # {comment}")
                items.append(branch.node)
            if row.keeps_unknown:  # rows of other categories stay at this node
                label = _python_value(row.label, "class")
                note = f"no branch for it: {row.outcome}"
                items.append(f"{pad}return {label}  # {note}")
            stack += items[::-1]
        return lines, more

    def _function_name(self, node):
        return self.name if node == 0 else f"{self.name}_from_node_{node}"

    def _tests(self, row):
        missing = "value is None or value != value"
        if row.keeps_unknown:
            return [
                _python_set(branch, missing if branch.takes_missing else None)
                for branch in row.branches
            ]
        if row.threshold == math.inf:
            return ["value is not None and value == value", None]
        threshold = repr(limit(row.threshold))
        if row.branches[0].takes_missing:
            return [f"{missing} or value <= {threshold}", None]
        return [f"value is not None and value <= {threshold}", None]


def _comment(text):
    # A comment must not contain line breaks.
    return "".join(c if c.isprintable() else " " for c in text)


def _python_set(branch, missing):
    known = [
        _python_value(value, "category")
        for value in branch.categories
        if value is not MISSING
    ]
    test = "False"
    if len(known) == 1:
        test = f"value == {known[0]}"
    elif known:
        test = f"value in ({', '.join(known)})"
    if missing is None:
        return test
    return f"{missing} or {test}" if known else missing


def _python_value(value, what):
    if isinstance(value, np.generic):
        value = value.item()
    for kind in (str, bool, int, float):
        if isinstance(value, kind):
            break
    else:
        raise ValueError(
            f"The {what} {value!r} is a {type(value).__name__}, but rules can only be "
            "written for strings, numbers and booleans. Convert it before fit."
        )
    # a subclass, such as an enumeration, may have another repr
    text = kind.__repr__(value)
    if kind is float and not math.isfinite(value):
        raise ValueError(
            f"The {what} {text} is not finite, so that no rule can be written for it."
        )
    return text


class _Sql:
    """Writer of an SQL expression with one case for each leaf, from left to right.

    A row that matches no case of a branch continues with the next branch. A case
    therefore only needs the conditions of branches that are not the last of their node.
    Nested expressions would exceed the limits of some systems for deep trees.
    """

    def write(self, table):
        """Write the expression."""
        lines = ["CASE"]
        # (node, whether it is a leaf here, tests, their conditions as text)
        stack = [(0, False, (), ())]
        while stack:
            node, is_leaf, tests, conditions = stack.pop()
            row = table[node]
            if is_leaf or not row.branches:
                label = _sql_value(row.label, "class")
                if not tests:
                    lines.append(f"  ELSE {label} /* {row.outcome} */")
                    break  # all other rows
                comment = _sql_comment(", ".join(conditions))
                lines.append(
                    f"  WHEN {' AND '.join(tests)} THEN {label} "
                    f"/* {comment}: {row.outcome} */"
                )
                continue
            branches = []
            for test, branch in zip(self._tests(row), row.branches, strict=True):
                if test is None:
                    branches.append((branch.node, False, tests, conditions))
                else:
                    note = (*conditions, branch.condition)
                    branches.append((branch.node, False, (*tests, test), note))
            if row.keeps_unknown:
                branches.append((node, True, tests, conditions))
            stack += branches[::-1]
        if len(lines) == 2:  # a single leaf
            return lines[1].removeprefix("  ELSE ")
        return "\n".join([*lines, "END"])

    def _tests(self, row):
        column = _quoted(row.name, '"', "column")
        if row.keeps_unknown:
            return [_sql_set(column, branch) for branch in row.branches]
        if row.threshold == math.inf:
            return [f"{column} IS NOT NULL", None]
        test = f"{column} <= {limit(row.threshold)!r}"
        if row.branches[0].takes_missing:
            test = f"({test} OR {column} IS NULL)"
        return [test, None]


def _sql_set(column, branch):
    known = [
        _sql_value(value, "category")
        for value in branch.categories
        if value is not MISSING
    ]
    tests = [f"{column} IN ({', '.join(known)})"] if known else []
    if branch.takes_missing:
        tests.append(f"{column} IS NULL")
    if len(tests) == 2:
        return f"({' OR '.join(tests)})"
    return tests[0] if tests else "1 = 0"


def _sql_comment(text):
    # Comments nest in some systems. A backslash starts a command in some clients.
    text = re.sub(r"(?<=/)(?=\*)|(?<=\*)(?=/)|(?<=-)(?=-)", " ", _comment(text))
    return text.replace("\\", " ")


def _sql_value(value, what):
    text = _python_value(value, what)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return _quoted(str.__str__(value), "'", what)
    return str(int(value)) if isinstance(value, bool) else text


def _quoted(text, quote, what):
    """Quote a text such that no system ends the quotation early."""
    reason = None
    if "\\" in text:
        reason = "has a backslash, which many systems read as an escape character"
    elif any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        reason = "has a control character or half of a surrogate pair"
    elif text.startswith(quote) or 2 * quote in text:
        # in BigQuery, three quotation marks start a string that only three can end
        reason = (
            f"begins with {quote} or has two of them in a row, which BigQuery reads as "
            "the start of a longer string"
        )
    if reason is not None:
        raise ValueError(
            f"The {what} {text!r} {reason}, so that it cannot be written safely in "
            "SQL. Rename it in the data, or export rules in Python."
        )
    return quote + text.replace(quote, 2 * quote) + quote
