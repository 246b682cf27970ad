"""Trees and their sums as programs in Python or SQL.

A tree becomes a *chain*: tests one after the other, each with the chain of the rows
that pass it, and the value of all other rows. At each split, the branch with the most
nested chain continues the chain of its parent, so that chains of numeric splits are
nested at most as often as the logarithm of the number of leaves, however deep the tree.
Several systems limit nested expressions, and Python limits its indentation. A table has
a record (`NodeRow`) per node; if `keeps_unknown`, rows whose category no branch takes
stay at the node.
"""

import math
import re
import unicodedata
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ...tables._features import MISSING

INDENT = "    "
Dialect = Literal[
    "ansi",
    "postgres",
    "sqlite",
    "duckdb",
    "mysql",
    "bigquery",
    "spark",
    "snowflake",
    "mssql",
]
DIALECTS = get_args(Dialect)
# Quotation marks of columns. SQLite reads "x" as a string if there is no such column.
BACKTICKS = dict.fromkeys(["sqlite", "mysql", "bigquery", "spark"], "``")
MARKS = dict.fromkeys(DIALECTS, '""') | BACKTICKS | {"mssql": "[]"}
ESCAPED = ("bigquery", "spark", "snowflake")  # strings in which \u0027 is a character
MULTILINE = ("postgres", "sqlite", "duckdb")  # a line break cannot end a quotation
CONTROL = "\x01-\x1f\x7f-\x9f"  # control characters, in a set of a regular expression
GROUP = 32  # terms of a sum in brackets


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


def one_line(text):
    """Replace line breaks and other characters that cannot be printed by spaces."""
    return "".join(c if c.isprintable() else " " for c in text)


def plain(value, what):
    """Return a class or category as a str, bool, int or finite float."""
    if isinstance(value, np.generic):
        value = value.item()
    for kind in (str, bool, int, float):
        if isinstance(value, kind):
            break
    else:
        raise ValueError(
            f"The {what} {value!r} is a {type(value).__name__}, but only strings, "
            "numbers and booleans can be exported. Convert it before fit."
        )
    if kind is float and not math.isfinite(value):
        raise ValueError(
            f"The {what} {value!r} is not finite, and cannot be exported. Replace it "
            "before fit."
        )
    # a subclass, such as an enumeration, may have another repr
    return kind(value) if kind is not str else str.__str__(value)


class Chain(NamedTuple):
    """Tests, last one first, and the value of rows that pass none of them."""

    depth: int  # nested chains, 0 for a value alone
    cases: list  # of (column, test, condition as text, chain)
    value: str
    rows: str


def make_chain(table, writer, value):
    """Return the chain of a tree, whose nodes have the texts `value(row)`."""
    chains: dict[int, Any] = {}
    for row in sorted(table, key=lambda row: -row.depth):
        own_chain = Chain(0, [], value(row), row.rows)
        chains[row.node] = own_chain
        if not row.branches:
            continue
        branches = [
            (chains.pop(branch.node), i) for i, branch in enumerate(row.branches)
        ]
        values = {own_chain.value} if row.keeps_unknown else set()
        if len(values.union(chain.value for chain, _ in branches)) == 1 and not any(
            chain.cases for chain, _ in branches
        ):
            chains[row.node] = own_chain._replace(value=branches[0][0].value)
            continue
        *others, (last, i) = sorted(branches, key=lambda branch: branch[0].depth)
        cases = [(row.branches[j].condition, j, chain) for chain, j in others]
        if row.keeps_unknown:  # rows of other categories stay at this node
            cases.append(("no branch for it", ~i, own_chain))
        last.cases.extend(
            (row, writer.test(row, j), condition, chain)
            for condition, j, chain in reversed(cases)
        )
        depth = max(last.depth, 1, *(1 + chain.depth for chain, _ in others))
        chains[row.node] = last._replace(depth=depth)
    return chains[0]


class Writer:
    """Writes the tests of branches; a subclass defines the syntax of a language.

    In a test of a branch, ``~i`` is any value that the branch at index i does not take.
    """

    def test(self, row, i):
        """Write the test of a branch of a node."""
        column, takes = self.column(row.feature), row.branches[i if i >= 0 else ~i]
        if row.keeps_unknown:
            values = [
                self.literal(value, "category")
                for value in takes.categories
                if value is not MISSING
            ]
            test = self.member(column, values, i < 0) if values else None
        elif row.threshold == math.inf:  # known values left, missing ones right
            return self.missing(column, i == 1)
        else:
            number = self.number(limit(row.threshold))
            test = self.compared(column, "<=" if i == 0 else ">", number)
        return self.either(column, test, takes.takes_missing, i < 0)


class PythonWriter(Writer):
    """Writer of Python functions of dicts, or of sequences if the keys are integers."""

    number = staticmethod(repr)

    def __init__(self, keys):
        self.keys = keys

    def column(self, feature):
        """Write the value of a column."""
        return "value"

    @staticmethod
    def literal(value, what):
        """Write a class or category."""
        return repr(plain(value, what))

    def missing(self, column, is_missing):
        """Write the test of missing or known values."""
        if is_missing:
            return "value is None or value != value"
        return "value is not None and value == value"

    def member(self, column, values, negated):
        """Write the test of a set of categories."""
        if len(values) == 1:
            return f"value {'!=' if negated else '=='} {values[0]}"
        return f"value {'not ' * negated}in ({', '.join(values)})"

    def compared(self, column, sign, number):
        """Write the comparison with a threshold."""
        return f"value {sign} {number}"

    def either(self, column, test, takes_missing, negated):
        """Write a test whose branch does, or does not, take missing values."""
        if test is None:
            return self.missing(column, not negated) if takes_missing else repr(negated)
        if takes_missing != negated:
            return f"{self.missing(column, True)} or {test}"
        if test.startswith(("value <", "value >")):  # NaN passes neither
            return f"value is not None and {test}"
        return test if not negated else f"{self.missing(column, False)} and {test}"

    def function(self, name, chain, docstring=None):
        """Write a function of a row."""
        lines = [f"def {name}(row):"]
        if docstring is not None:
            lines.append(f'{INDENT}"""{docstring}"""')
        self._write(lines, chain, INDENT, None)
        return "\n".join(lines)

    def _write(self, lines, chain, pad, read):
        for row, test, condition, inner in reversed(chain.cases):
            if read != row.feature:
                lines.append(f"{pad}value = row[{self.keys[row.feature]!r}]")
            read = row.feature
            lines.append(f"{pad}if {test}:  # {one_line(condition)}")
            self._write(lines, inner, pad + INDENT, read)
        lines.append(f"{pad}return {chain.value}  # {chain.rows}")


class SqlWriter(Writer):
    """Writer of SQL expressions in a dialect; ansi for names that are safe in all."""

    def __init__(self, names, dialect):
        self.names, self.dialect = names, dialect

    def column(self, feature):
        """Write the name of a column."""
        return self.quoted(str(self.names[feature]), "column")

    @staticmethod
    def number(value):
        """Write a number; an exponent keeps systems from reading a float as decimal."""
        text = repr(value)
        return text if isinstance(value, int) or "e" in text else f"{text}e0"

    def literal(self, value, what):
        """Write a class or category."""
        value = plain(value, what)
        if isinstance(value, str):
            return self.quoted(value, what)
        return self.number(int(value) if isinstance(value, bool) else value)

    def missing(self, column, is_missing):
        """Write the test of missing or known values."""
        return f"{column} IS {'' if is_missing else 'NOT '}NULL"

    def member(self, column, values, negated):
        """Write the test of a set of categories."""
        return f"{column} {'NOT ' * negated}IN ({', '.join(values)})"

    def compared(self, column, sign, number):
        """Write the comparison with a threshold."""
        return f"{column} {sign} {number}"

    def either(self, column, test, takes_missing, negated):
        """Write a test whose branch does, or does not, take missing values."""
        if test is None and takes_missing:
            return self.missing(column, not negated)
        if test is None:
            return "1 = 1" if negated else "1 = 0"
        if takes_missing == negated:
            return test
        return f"({test} OR {column} IS NULL)"

    def case(self, chain, pad="", comments=True):
        """Write a chain as an expression."""
        if not chain.cases:
            return f"{chain.value}{self.comment(chain.rows) if comments else ''}"
        lines = ["CASE"]
        for _, test, condition, inner in reversed(chain.cases):
            note = self.comment(condition) if comments else ""
            then = self.case(inner, f"{pad}    ", comments)
            nested = f"\n{pad}    " if inner.cases else " "
            lines.append(f"{pad}  WHEN {test}{note} THEN{nested}{then}")
        rest = self.case(chain._replace(cases=[]), pad, comments)
        return "\n".join([*lines, f"{pad}  ELSE {rest}", f"{pad}END"])

    def comment(self, text):
        """Write a comment of characters that cannot end it in any system."""
        text = re.sub(r"[^\w <=>.,:(){}%+-]|-(?=-)", " ", one_line(text))
        return f" /* {text} */"

    def sum(self, terms):
        """Write a sum, in groups, since some systems limit the number of operators."""
        groups = [
            "\n+ ".join(terms[i : i + GROUP]) for i in range(0, len(terms), GROUP)
        ]
        return groups[0] if len(groups) == 1 else "({})".format(")\n+ (".join(groups))

    def quoted(self, text, what):
        """Quote a text such that it cannot end its quotation; ValueError if it could.

        A text in the dialect "ansi" is safe in every system.
        """
        is_name, dialect = what.startswith("column"), self.dialect
        start, end = MARKS[dialect] if is_name else "''"
        self._check(text, what, is_name, end)
        if dialect == "bigquery" or (dialect in ESCAPED and not is_name):
            # $ begins a variable in Spark
            return f"{start}{_escaped(text, end)}{end}"
        if not is_name and re.search(rf"[\\{CONTROL}]", text):
            if dialect == "postgres":
                return f"E'{_escaped(text, end)}'"
            if dialect == "mysql":  # independent of the mode of the server
                return f"_utf8mb4 x'{text.encode().hex()}'"
        prefix = "N" if dialect == "mssql" and not is_name else ""
        return f"{prefix}{start}{text.replace(end, 2 * end)}{end}"

    def _check(self, text, what, is_name, end):
        dialect, reason = self.dialect, None
        escapes = ("bigquery",) if is_name else (*ESCAPED, "mysql")
        categories = {unicodedata.category(character) for character in text}
        if "Cs" in categories or "\0" in text:
            reason = "has a zero byte or half of a surrogate pair"
        elif "Cc" in categories and dialect not in (*MULTILINE, *escapes):
            reason = "has a control character"
        elif dialect == "spark" and is_name and "${" in text:
            reason = "has ${, which begins a variable"
        elif dialect == "ansi" and "\\" in text:
            reason = "has a backslash, which many systems read as an escape character"
        elif dialect == "ansi" and (text.startswith(end) or 2 * end in text):
            # in BigQuery, three quotation marks start a string that only three can end
            reason = (
                f"begins with {end} or has two of them in a row, which BigQuery reads "
                "as the start of a longer string"
            )
        if reason is not None:
            other = ", pass the dialect of your system" if dialect == "ansi" else ""
            raise ValueError(
                f"The {what} {text!r} {reason}, so that it cannot be written safely in "
                f"SQL. Rename it in the data{other}, or export rules in Python."
            )


def _escaped(text, end):
    # Every system that reads \u0027 in a quotation reads it as a character.
    return re.sub(
        rf"[\\${end}{CONTROL}]", lambda match: f"\\u{ord(match[0]):04x}", text
    )
