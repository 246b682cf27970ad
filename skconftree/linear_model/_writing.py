"""The linear score of a partially linear tree as text, and as Python or SQL.

The score is the sum of an intercept (printed as "base"), of terms (columns or
categories times coefficients) and of a constant of the leaf.
"""

import numpy as np

PYTHON = '''import math

# (column, mean, scale, value if missing, coefficients), one coefficient for each score
NUMBERS = [
{numbers}]
# (column, mean, scale, coefficients) of the indicators of missing values
MISSING = [
{missing}]
# column: coefficients of its categories, and of all others
CATEGORIES = {{
{categories}}}
INTERCEPT = {intercept}
CLASSES = {classes}


{leaf_function}


def {name}(row):
    """Probability of each class, as a dict."""
    scores = [a + b for a, b in zip(INTERCEPT, {name}_leaf(row))]

    def add(coefs, value):
        for k, coef in enumerate(coefs):
            scores[k] += coef * value

    for column, mean, scale, fill, coefs in NUMBERS:
        value = row[column]
        value = fill if value is None or value != value else float(value)
        add(coefs, (value - mean) / scale)
    for column, mean, scale, coefs in MISSING:
        value = row[column]
        add(coefs, ((value is None or value != value) - mean) / scale)
    for column, (coefs, others) in CATEGORIES.items():
        value = row[column]
        value = None if value is None or value != value else value
        add(coefs.get(value, others), 1.0)
    scores = [0.0, *scores] if len(CLASSES) == 2 else scores
    largest = max(scores)
    odds = [math.exp(score - largest) for score in scores]
    return {{label: value / sum(odds) for label, value in zip(CLASSES, odds)}}
'''


def score_lines(model, terms, class_names, decimals, width):
    """Describe the linear score in lines: its terms, coefficients and odds ratios."""
    labels = list(map(str, class_names))
    losses = "cross-validated log loss {:.3f}, of the tree alone {:.3f}".format(
        *model.cv_log_loss[::-1]
    )
    if len(labels) == 2:
        what = f"log odds of class {labels[1]}"
        base = f"{float(model.score.intercept[0]):+.{decimals}g}"
    else:
        what = "score of a class, relative to the mean of the classes"
        base = ", ".join(f"{value:+.{decimals}g}" for value in model.score.intercept)
    lines = [f"{what} = base {base} + terms + constant of the leaf", losses, ""]
    table = [_titles(labels)]
    table += [[term_name(term), *_cells(term, decimals)] for term in terms]
    lines += _align(table, width)
    return [*lines, ""]


def _titles(labels):
    if len(labels) == 2:
        return ["term", "per unit", "per SD", "95% interval", "odds ratio", "p-value"]
    return ["term", *(f"{label}, per SD" for label in labels), "p-value"]


def _cells(term, decimals):
    p_value = "-" if np.isnan(term.p_value) else f"{term.p_value:.2g}"
    if not isinstance(term.coef, float):
        return [*(f"{coef:+.{decimals}g}" for coef in term.coef), p_value]
    low, high = term.interval
    return [
        f"{term.coef / term.scale:+.{decimals}g}",
        f"{term.coef:+.{decimals}g}",
        f"{low:+.2f} to {high:+.2f}",
        f"{term.odds_ratio_sd:.{decimals}g}",
        p_value,
    ]


def _align(table, width):
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    available = width - sum(widths[1:]) - 2 * len(widths[1:])
    widths[0] = max(min(widths[0], available), 12)
    lines = []
    for name, *cells in table:
        if len(name) > widths[0]:
            name = f"{name[: widths[0] - 3]}..."
        padded = (cell.rjust(w) for cell, w in zip(cells, widths[1:], strict=True))
        lines.append("  ".join([name.ljust(widths[0]), *padded]).rstrip())
    return lines


def term_name(term):
    """Name of a term: of its column, and of its category if it has one."""
    if term.category is None:
        return str(term.column)
    if term.category == "missing":
        return f"{term.column} is missing"
    if term.category == "infrequent":
        return f"{term.column}: infrequent"
    return f"{term.column} = {term.category}"


def leaf_note(leaf, decimals):
    """Describe the constant of a leaf."""
    coefs = np.atleast_1d(leaf.coef)
    constant = ", ".join(f"{coef:+.{decimals}g}" for coef in coefs)
    p_value = "" if np.isnan(leaf.p_value) else f", p-value {leaf.p_value:.2g}"
    return f"constant {constant}{p_value}, {leaf.weight:,.6g} rows"


class ScoreParts:
    """The terms of a score grouped by kind, for programs in other languages.

    `keys` are the names or indices of the columns in the program.
    """

    def __init__(self, model, keys):
        columns, coefs = model.columns, model.score.coef.T.tolist()
        fill = dict(zip(columns.numeric.tolist(), columns.fill.tolist(), strict=False))
        self.numbers, self.missing, self.categories = [], [], {}
        for term, coef in zip(columns.terms, coefs, strict=True):
            key = keys[term.column]
            if term.column in columns.nominal:
                known, others = self.categories.setdefault(key, ({}, [0.0] * len(coef)))
                if term.category == "infrequent":
                    others[:] = coef
                else:
                    known[model.category(term)] = coef
            elif term.category is None:
                number = (key, term.mean, term.scale, fill[term.column], coef)
                self.numbers.append(number)
            else:
                self.missing.append((key, term.mean, term.scale, coef))


def python_program(model, python, classes, name, leaf_function):
    """Write the score and its leaves as a Python function of a row.

    `python` writes the categories, `classes` are the labels as plain values, and
    `leaf_function` is the source of a function of a row that returns the constants of
    its leaf.
    """
    parts = ScoreParts(model, python.keys)

    def literal(category):
        # "category": what the value is, for error messages
        return "None" if category is None else python.literal(category, "category")

    categories = ""
    for key, (known, others) in parts.categories.items():
        coefs = ", ".join(f"{literal(value)}: {row}" for value, row in known.items())
        categories += f"    {key!r}: ({{{coefs}}}, {others}),\n"
    return PYTHON.format(
        numbers="".join(f"    {item!r},\n" for item in parts.numbers),
        missing="".join(f"    {item!r},\n" for item in parts.missing),
        categories=categories,
        intercept=model.score.intercept.tolist(),
        classes=classes,
        name=name,
        leaf_function=leaf_function,
    )


def sql_expression(model, sql, k, leaf_expression):
    """Write the probability of class `k` as an SQL expression.

    `sql` writes names, categories and numbers; `sql.missing(column, True)` is the test
    whether a value is missing. `leaf_expression(function)` returns an
    expression whose value in each leaf is that of the function, which receives the leaf
    with its constants, `value`.
    """
    number, n_classes = sql.number, len(model.classes)
    parts = ScoreParts(model, range(model.schema.n_features))

    def difference(values, j):
        # The score of class j minus that of class k. With two classes, that of the
        # first is 0.
        values = (0.0, *values) if n_classes == 2 else values
        return number(float(values[j] - values[k]))

    def odds(j):
        terms = [difference(model.score.intercept, j)]
        for feature, mean, scale, fill, coefs in parts.numbers:
            value = f"COALESCE({sql.column(feature)}, {number(fill)})"
            weight = difference(coefs, j)
            terms.append(f"{weight} * ({value} - {number(mean)}) / {number(scale)}")
        for feature, mean, scale, coefs in parts.missing:
            test = sql.missing(sql.column(feature), True)
            value = f"CASE WHEN {test} THEN 1.0e0 ELSE 0.0e0 END"
            weight = difference(coefs, j)
            terms.append(f"{weight} * ({value} - {number(mean)}) / {number(scale)}")
        for feature, (known, others) in parts.categories.items():
            cases = []
            for category, coefs in known.items():
                column = sql.column(feature)
                test = sql.missing(column, True)
                if category is not None:
                    test = f"{column} = {sql.literal(category, 'category')}"
                cases.append(f"WHEN {test} THEN {difference(coefs, j)}")
            terms.append(f"CASE {' '.join(cases)} ELSE {difference(others, j)} END")
        terms.append(f"({leaf_expression(lambda row: difference(row.value, j))})")
        return f"EXP({sql.sum(terms)})"

    others = " + ".join(odds(j) for j in range(n_classes) if j != k)
    return f"1.0e0 / (1.0e0 + {others})"
