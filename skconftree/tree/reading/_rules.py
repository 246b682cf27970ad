"""Trees and forests as standalone rules: a list, JSON, Python or SQL.

Rules report the *evidence* for splits: the number of candidate splits that would look
as good by chance, as one of four levels, or "distilled" for a tree that is fitted to
predictions. A partially linear tree adds a linear *score* to the values of its leaves.
If a node `keeps_unknown`, rows whose category no branch takes stay there.
"""

from __future__ import annotations

import json
import keyword
import math
from collections.abc import Sequence
from functools import partial
from numbers import Real
from typing import Literal, NamedTuple

from sklearn.utils import check_scalar

from ...utils._lock import reads_argument  # locks the estimator
from ...utils._types import Estimator
from ._evidence import DISTILLED, LEVELS, format_probability, format_rows
from ._programs import (
    DIALECTS,
    Dialect,
    PythonWriter,
    SqlWriter,
    limit,  # a threshold in double precision
    make_chain,  # nested conditions of a tree
    one_line,
    plain,  # a class or category as a Python object
)
from ._records import SplitTexts, read_nodes, read_votes, split_score

CHOICES = {
    "language": ("python", "sql", "list", "json"),
    "response_method": ("predict_proba", "predict"),
    "dialect": DIALECTS,
    "order": ("probability", "support"),
}
RESULT = "column of the result"
DOCSTRINGS = {
    "predict": "Class of a row.",
    "predict_proba": "Probability of each class, as a dict.",
}
FOREST = '''{trees}


TREES = [{names}]
WEIGHTS = {weights}
CLASSES = {classes}


def {name}(row):
    """Probability of each class, as a dict."""
    votes = zip(*(tree(row) for tree in TREES))
    sums = [sum(w * p for w, p in zip(WEIGHTS, values)) for values in votes]
    return {{label: value / {total!r} for label, value in zip(CLASSES, sums)}}
'''


@reads_argument
def export_rules(
    estimator: Estimator,
    language: Literal["python", "sql", "list", "json"] = "python",
    *,
    feature_names: Sequence[str] | None = None,
    name: str = "predict",
    response_method: Literal["predict_proba", "predict"] = "predict_proba",
    dialect: Dialect = "ansi",
    order: Literal["probability", "support"] = "probability",
    min_probability: float = 0.0,
    min_rows: float = 0.0,
) -> str:
    """Write a fitted tree or forest as rules: a list, JSON, Python or SQL.

    A program in Python or SQL gives the probabilities of `predict_proba` for every row,
    without any library. Each threshold has as many digits as are necessary for that,
    and a comment has the condition as text. A list or JSON has one rule for each leaf.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier, ConfidenceForestClassifier or \
PartiallyLinearTreeClassifier
        Fitted model whose leaves predict by their class proportions, as after `fit`.
        For a list or JSON, it must be a tree: `to_tree` approximates a forest by one.
    language : {"python", "sql", "list", "json"}, default="python"
        Language of the result:

        - ``"python"``: a function of a row, which is a dict by column name, or any
          sequence if the tree has no column names. None and NaN are missing values. It
          returns a dict with the probability of each class.
        - ``"sql"``: an expression for each class, separated by commas, to be written
          after SELECT. The columns of the result are ``proba_`` and the class. NULL is
          a missing value. Strings must be compared exactly, including case.
        - ``"list"``: a line for each leaf, with its conditions, class, probability,
          number of training rows, and the evidence for the weakest split above it. All
          conditions on one column are merged. Missing values are mentioned if training
          rows of the nodes above had some.
        - ``"json"``: the same as a list of objects, for other programs. ``text`` has
          the conditions as in the list. ``conditions`` has an object for each column: a
          number satisfies it if it is greater than ``above`` and less than or equal to
          ``at_most`` (null: no limit), unless ``known`` is false; a category if it is
          ``in`` the list, or not in ``not_in``; and a missing value if ``missing`` is
          true. Rules with ``rows`` 0 are for categories that no branch takes.
    feature_names : sequence of str or None, default=None
        One name per feature. If None, the names seen by ``fit`` are used; if there are
        none, indices in Python, and ``x0``, ``x1``, ... otherwise.
    name : str, default="predict"
        Name of the function in Python.
    response_method : {"predict_proba", "predict"}, default="predict_proba"
        Whether a program gives the probabilities of all classes, or the class alone.
        ``"predict"`` is possible for a single tree.
    dialect : {"ansi", "postgres", "sqlite", "duckdb", "mysql", "bigquery", "spark", \
"snowflake", "mssql"}, default="ansi"
        Dialect of SQL, which determines how columns and strings are quoted. In
        ``"ansi"``, ``"x"`` is a column and ``'x'`` a string. Names, classes and
        categories that another system could interpret differently raise an error.
    order : {"probability", "support"}, default="probability"
        Order of a list or of JSON: by the probability of the class, or by the number of
        training rows of the leaf, largest first.
    min_probability : float, default=0.0
        Rules with a smaller probability are left out of a list or of JSON.
    min_rows : float, default=0.0
        Rules with fewer training rows are left out of a list or of JSON.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If leaves predict by naive Bayes, or if classes or categories are neither
        strings nor numbers. In SQL, if a class, category or column cannot be quoted
        safely in the dialect: no dialect accepts a zero byte, and few a control
        character in the name of a column.

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
    >>> tree = ConfidenceTreeClassifier(max_depth=2).fit(X, y)
    >>> print(export_rules(tree, "list"))
    IF petal width (cm) <= 0.8 THEN 0 (0.96), 50 rows, overwhelming
    IF petal width (cm) > 1.75 THEN 2 (0.92), 46 rows, overwhelming
    IF 0.8 < petal width (cm) <= 1.75 THEN 1 (0.86), 54 rows, overwhelming
    >>> print(export_rules(tree, "sql", response_method="predict"))
    CASE
      WHEN "petal width (cm)" <= 0.8000000417232512e0 /* ... */ THEN 0 /* 50 rows */
    ...
    END
    >>> program = {}
    >>> exec(export_rules(tree), program)
    >>> program["predict"]({"petal width (cm)": 0.2})
    {0: 0.958..., 1: 0.0208..., 2: 0.0208...}
    """
    chosen = locals()
    for parameter, values in CHOICES.items():
        if chosen[parameter] not in values:
            raise ValueError(
                f"{parameter} must be one of {list(values)}. Got {chosen[parameter]!r}."
            )
    is_name = isinstance(name, str) and name.isidentifier()
    if not is_name or keyword.iskeyword(name):
        raise ValueError(
            f"name must be a Python identifier, not a keyword. Got {name!r}."
        )
    check_scalar(min_probability, "min_probability", Real, min_val=0, max_val=1)
    check_scalar(min_rows, "min_rows", Real, min_val=0)
    score, tree = split_score(estimator)
    # the trees whose weighted mean predicts; the text is for an error message
    trees, weights = read_votes(tree, "written as rules")
    is_single = score is None and trees[0] is tree
    columns = feature_names
    if columns is None:
        columns = getattr(tree, "feature_names_in_", None)
    is_named = columns is not None
    if columns is None:
        columns = [f"x{j}" for j in range(tree.n_features_in_)]
    tables = [read_nodes(tree, feature_names=columns) for tree in trees]
    if len(set(map(str, columns))) < len(columns):
        raise ValueError(
            "feature_names must be unique, since rules refer to columns by their "
            f"names. Got {list(map(str, columns))}."
        )
    if language in ("list", "json"):
        if not is_single:
            raise ValueError(
                f"language={language!r} is for a single tree without a linear score. "
                "Pass to_tree() of a forest, or use language='python' or 'sql'."
            )
        limits = min_probability, min_rows
        rules = _rules(tree, tables[0], columns, order, *limits, language == "list")
        if language == "json":
            return json.dumps(rules, indent=1, allow_nan=False)
        return "\n".join(map(_line, rules))
    if not (is_single or response_method == "predict_proba"):
        raise ValueError(
            "response_method='predict' is for a single tree without a linear score. "
            "Use the class of the largest probability."
        )
    labels = tree.classes_.tolist()
    if score is not None:
        tables = [[_with_constants(row, score.constants) for row in tables[0]]]
    if language == "sql":
        writer = SqlWriter(columns, dialect)
        return _sql(writer, tables, labels, weights, score, response_method)
    keys = list(map(str, columns)) if is_named else list(range(len(columns)))
    writer = PythonWriter(keys)
    classes = [plain(label, "class") for label in labels]

    def function(table, name, value, docstring=None):
        return writer.function(name, make_chain(table, writer, value), docstring)

    def values(row):
        return repr(row.value)

    if is_single:

        def values(row):
            if response_method == "predict":
                return repr(plain(row.label, "class"))
            return repr(dict(zip(classes, row.value, strict=True)))

        return function(tables[0], name, values, DOCSTRINGS[response_method])
    if score is not None:
        leaf = function(tables[0], f"{name}_leaf", values)
        return score.python_program(writer, classes, name, leaf)
    names = [f"{name}_tree_{i}" for i in range(len(tables))]
    return FOREST.format(
        trees="\n\n\n".join(
            function(table, name, values)
            for table, name in zip(tables, names, strict=True)
        ),
        names=", ".join(names),
        weights=weights,
        classes=classes,
        name=name,
        total=sum(weights),
    )


def _with_constants(row, constants):
    # The node with the constants of a linear score instead of its probabilities.
    return row._replace(value=tuple(constants[row.node].tolist()))


def _sql(writer, tables, labels, weights, score, response_method):
    # Returns the class, or an expression for each class.
    def case(table, value, comments=True):
        # "": not indented
        return writer.case(make_chain(table, writer, value), "", comments)

    if response_method == "predict":
        return case(tables[0], lambda row: writer.literal(row.label, "class"))

    def expression(k):
        comments = k == 0  # they would be the same in all expressions
        if score is not None:
            leaf = partial(case, tables[0], comments=comments)
            return score.sql_expression(writer, k, leaf)
        if len(tables) == 1:
            return case(tables[0], lambda row: writer.number(row.value[k]), comments)
        terms = []
        for table, weight in zip(tables, weights, strict=True):
            term = case(table, lambda row: writer.number(row.value[k]), False)
            terms.append(term if weight == 1.0 else f"{writer.number(weight)} * {term}")
        return f"({writer.sum(terms)}) / {writer.number(float(sum(weights)))}"

    return ",\n".join(
        f"{expression(k)} AS {writer.quoted(f'proba_{label}', RESULT)}"
        for k, label in enumerate(labels)
    )


class _Condition(NamedTuple):
    """Values of one column in a leaf: numbers in an interval, or some categories.

    The category None is a missing value.
    """

    above: float = -math.inf
    at_most: float = math.inf
    categories: tuple | None = None
    known: bool = True  # whether there are numbers
    missing: bool = True  # whether there are missing values
    seen: bool = False  # whether they occurred in training rows
    others: bool = False  # whether it is satisfied by all but these categories

    def not_in_branches(self, row):
        """Return the condition of rows that stay at a nominal node, or None."""
        taken = [value for branch in row.branches for value in branch.categories]
        if self.categories is None:
            return _Condition(
                categories=tuple(taken), missing=None not in taken, others=True
            )
        rest = tuple(value for value in self.categories if value not in taken)
        return self._replace(categories=rest, missing=None in rest) if rest else None

    def and_branch(self, row, i):
        """Return the condition of the rows that also go to branch `i` of a node."""
        branch = row.branches[i]
        if row.keeps_unknown:
            group = branch.categories
            if self.categories is not None:
                group = tuple(value for value in group if value in self.categories)
            return self._replace(categories=group, missing=None in group)
        if row.threshold == math.inf:  # known values left, missing ones right
            return self._replace(known=self.known and i == 0, missing=i == 1)
        return self._replace(
            above=self.above if i == 0 else max(self.above, row.threshold),
            at_most=min(self.at_most, row.threshold) if i == 0 else self.at_most,
            missing=self.missing and branch.takes_missing,
            seen=self.seen or row.missing_seen,
        )

    def as_json(self, column):
        """Describe the condition for programs."""
        if self.categories is not None:
            known = [plain(v, "category") for v in self.categories if v is not None]
            key = "not_in" if self.others else "in"
            return {"column": column, key: known, "missing": self.missing}
        limits = [
            limit(value) if math.isfinite(value) else None
            for value in (self.above, self.at_most)
        ]
        result = {"column": column, "above": limits[0], "at_most": limits[1]}
        return result | {"known": self.known, "missing": self.missing}


def _rules(estimator, table, columns, order, min_probability, min_rows, is_list):
    # Returns a dict for each leaf and, unless `is_list`, for rows that reach no leaf.
    texts = SplitTexts(estimator, list(map(str, columns)), decimals=4)
    strengths = [*(level for _, level in LEVELS), DISTILLED]
    paths, rules = {table[0].node: ({}, None)}, []
    for row in sorted(table, key=lambda row: row.depth):
        conditions, evidence = paths.pop(row.node)
        for i, branch in enumerate(row.branches):
            condition = conditions.get(row.feature, _Condition()).and_branch(row, i)
            levels = {evidence, row.evidence.level} - {None}
            weakest = max(levels, key=strengths.index)
            paths[branch.node] = conditions | {row.feature: condition}, weakest
        rows, probability = row.weight, max(row.value)
        if row.branches:  # rows of other categories may stay here
            condition = conditions.get(row.feature, _Condition())
            condition = condition.not_in_branches(row) if row.keeps_unknown else None
            if condition is None or is_list:
                continue
            rows, conditions = 0.0, conditions | {row.feature: condition}
        if probability < min_probability or rows < min_rows:
            continue
        parts = [texts.merged(j, *condition) for j, condition in conditions.items()]
        rules.append(
            {
                "node": row.node,
                "text": one_line(" AND ".join(filter(None, parts))),
                "conditions": [
                    condition.as_json(str(columns[j]))
                    for j, condition in conditions.items()
                ],
                "class": plain(row.label, "class"),
                "probability": probability,
                "probabilities": dict(
                    zip(map(str, estimator.classes_), row.value, strict=True)
                ),
                "rows": rows,
                "evidence": evidence,
            }
        )
    keys = (
        ["probability", "rows"] if order == "probability" else ["rows", "probability"]
    )
    return sorted(rules, key=lambda rule: [-rule[key] for key in keys])


def _line(rule):
    # Returns a rule as text.
    probability = format_probability(rule["probability"])
    rows = format_rows(rule["rows"])
    evidence = f", {rule['evidence']}" if rule["evidence"] else ""
    label = one_line(str(rule["class"]))
    condition = f"IF {rule['text']} THEN" if rule["text"] else "ALL ROWS:"
    return f"{condition} {label} ({probability}), {rows}{evidence}"
