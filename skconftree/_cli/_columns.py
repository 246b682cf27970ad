"""Inference of column types from texts, and notes about columns.

In a numeric column, nearly all texts can be parsed in the same way. The few that cannot
are called unparseable and become missing values. A `stream` is the reader of a table,
with its columns without the target (`features`). Options such as --nominal, --numeric
and --drop name columns; `_options` explains them.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from ._common import is_missing
from ._text import UserError

N_INFERENCE_ROWS = 1000  # rows from which column types are inferred
# Maximal share of unparseable values in a numeric column ...
MAX_UNPARSEABLE = 0.1
# ... and in a stream, the number of them that is always allowed.
N_UNPARSEABLE_ALLOWED = 100
SMALL_N_CATEGORIES = 10  # with at most so many categories, each may have a single row
MIN_IDS = 50  # number of rows from which distinct values suggest IDs
MANY_IDS = 100  # more values than this, all different and unsorted, may be IDs

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:.*)?", re.ASCII)
_DATE_PARTS = re.compile(
    r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})"
    r"(?:,? +(\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([ap])m)?)?",
    re.ASCII | re.IGNORECASE,
)
_CENTURY = 69  # two-digit years from here on belong to the 20th century
_MINUS = "\u2212"
# Negative amounts as accountants write them: in parentheses, with an optional currency
# sign inside or before them.
_NEGATIVE = re.compile(r"([$€£¥]?)[ \u00a0\u202f]?\((.+)\)", re.ASCII)
# Integers with dots between groups of three digits, unlike 0.123 and 1234.
_GROUPED = re.compile(
    rf"[-+{_MINUS}]?(?:\d{{1,3}}|[1-9]\d{{0,2}}(?:\.\d{{3}})+)", re.ASCII
)
_UNGROUPED = re.compile(rf"[-+{_MINUS}]?\d{{4,}}", re.ASCII)


def _number_pattern(group, decimal):
    """Return a pattern of numbers with digit groups and a currency sign."""
    space = r"[ \u00a0\u202f]?"
    digits = rf"[1-9]\d{{0,2}}(?:[{group} \u00a0\u202f'\u2019]\d{{3}})+|\d+"
    return re.compile(
        rf"(?P<sign>[-+]?){space}[$€£¥]?{space}"
        rf"(?P<whole>{digits})?(?:{decimal}(?P<part>\d*))?(?P<power>e[-+]?\d+)?"
        rf"{space}[$€£¥%]?",
        re.ASCII | re.IGNORECASE,
    )


_BY_POINT = _number_pattern(",", r"\.")
_BY_COMMA = _number_pattern(".", ",")


def _number(pattern, text):
    normalized = text.strip().replace(_MINUS, "-")
    negative = _NEGATIVE.fullmatch(normalized)
    if negative is not None:
        normalized = negative[1] + negative[2].strip()
    match = pattern.fullmatch(normalized)
    if match is None or not (match["whole"] or match["part"]):
        raise ValueError(text)
    if negative is not None and match["sign"]:
        raise ValueError(text)
    sign = match["sign"] if negative is None else "-"
    whole = re.sub(r"\D", "", match["whole"] or "0")
    return float(f"{sign}{whole}.{match['part'] or '0'}{match['power'] or ''}")


def _from_point(text):
    try:
        return float(text)
    except ValueError:
        return _number(_BY_POINT, text)


def _from_comma(text):
    if "." not in text:  # `read_numbers` does the same for a complete column
        try:
            return float(text.replace(",", "."))
        except ValueError:
            pass
    return _number(_BY_COMMA, text)


def _from_date(text):
    text = text.strip()
    if _DATE.fullmatch(text) is None:
        raise ValueError(text)
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return (when - _EPOCH) / _DAY


def _from_date_parts(order, text):
    match = _DATE_PARTS.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    first, second, year = int(match[1]), int(match[3]), int(match[4])
    if len(match[4]) == 2:
        year += 1900 if year >= _CENTURY else 2000
    month, day = (second, first) if order == "dmy" else (first, second)
    hour, minute, second = (int(part or 0) for part in match.group(5, 6, 7))
    if match[8] is not None:
        if not 1 <= hour <= 12:
            raise ValueError(text)
        hour = hour % 12 + 12 * (match[8] in "pP")
    when = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    return (when - _EPOCH) / _DAY


class ColumnParser(NamedTuple):
    """Parser of texts to numbers; `parse` raises ValueError for other texts."""

    name: str
    parse: Callable[[str], float]

    def value(self, text):
        """Parse a text; return None if that is not possible."""
        try:
            return self.parse(text)
        except (ValueError, OverflowError):
            return None


_FLOAT = ColumnParser("Python", float)
POINT = ColumnParser("decimal point", _from_point)
COMMA = ColumnParser("decimal comma", _from_comma)
DATE = ColumnParser("days since 1970-01-01", _from_date)
# The user must specify the order if it is ambiguous, as in 03/04/2024.
DATES = {
    order: ColumnParser(
        f"days since 1970-01-01, {first} first", partial(_from_date_parts, order)
    )
    for order, first in (("dmy", "day"), ("mdy", "month"))
}
DATE_PARSERS = (DATE, *DATES.values())
PARSERS = {parser.name: parser for parser in (POINT, COMMA, *DATE_PARSERS)}
DECIMALS = {".": POINT, ",": COMMA}  # by decimal sign


def with_times(X, parsers):
    """Return the indices of the columns of dates that include a time of day."""
    indices = set()
    for index, parser in enumerate(parsers):
        if parser in DATE_PARSERS:
            days = X[:, index].astype(np.float32)
            if (np.floor(days) < days).any():  # False for missing values
                indices.add(index)
    return indices


def date_types(parsers, timed):
    """Return "day", "time" or None for each column; None if no column has dates.

    `timed` is the result of `with_times`.
    """
    kinds = tuple(
        None if parser not in DATE_PARSERS else "time" if index in timed else "day"
        for index, parser in enumerate(parsers)
    )
    return kinds if any(kinds) else None


def as_date(kind):
    """Return a function that formats days since 1970-01-01 as dates."""

    def write(days):
        when = _EPOCH + timedelta(days=float(days))
        if kind == "day":
            return when.date().isoformat()
        return when.replace(tzinfo=None).isoformat(" ", timespec="minutes")

    return write


def with_decimal(parser, decimal):
    """Return a parser of numbers with another decimal sign; others do not change."""
    if decimal is None or parser not in DECIMALS.values():
        return parser
    return DECIMALS[decimal]


def read_numbers(texts, parser):
    """Parse a column. Return the values, NaN if not parsed, and unparseable rows."""
    unparseable = []
    try:
        if parser is POINT:
            values = np.array(texts, dtype=np.float64)
        elif parser is COMMA and not any("." in text for text in texts):
            values = np.array([text.replace(",", ".") for text in texts], np.float64)
        else:
            raise ValueError
    except ValueError:
        values = np.full(len(texts), np.nan)
        for index, text in enumerate(texts):
            if is_missing(text):
                continue
            if (value := parser.value(text)) is None:
                unparseable.append(index)
            else:
                values[index] = value
    with np.errstate(over="ignore"):
        return values.astype(np.float32), unparseable


class ColumnType(NamedTuple):
    """Type of a column that was inferred from the first rows of a table."""

    parser: ColumnParser | None  # None if it is nominal
    notes: list[str]
    identifies_rows: bool = False
    name_is_value: bool = False  # whether the column name could be a value
    # parser if the option --numeric names the column; None if it has no numbers
    numbers: ColumnParser | None = None
    ambiguous: str | None = None  # a text whose value depends on the decimal sign


def infer_columns(columns, names, *, semicolons=False, decimal=None, dates=None):
    """Infer the types of the columns of a table, and its decimal sign.

    If `semicolons` separate the fields, ambiguous numbers have decimal commas
    (`comma_first`), unless other columns require decimal points. `decimal` and `dates`
    are options of the user.
    """
    comma_first = semicolons
    if semicolons and decimal is None:
        signs = {_decimal_sign(*_known(texts)) for texts in columns}
        comma_first = "," in signs or "." not in signs
    types = [
        infer_column(texts, comma_first, dates, name, decimal)
        for texts, name in zip(columns, names, strict=True)
    ]
    if decimal is None and semicolons and not comma_first:
        types = list(map(_with_sign_note, types, columns))
    if (
        decimal is None
        and not semicolons
        and COMMA in {column.parser for column in types}
    ):
        comma_first = "." not in {_decimal_sign(*_known(texts)) for texts in columns}
    return types, decimal or ("," if comma_first else ".")


def _with_sign_note(column, texts):
    """Add a note to a column whose decimal points could be digit separators."""
    if column.parser is not POINT or column.ambiguous is None or column.notes:
        return column
    if all("." in text for text in texts if not is_missing(text)):
        return column  # with digit groups, numbers below 1000 have no dots
    reason = ", as other numbers of the file have decimal points"
    return column._replace(notes=[sign_note(column.ambiguous, POINT, reason)])


def infer_column(texts, comma_first=False, dates=None, name=None, decimal=None):
    """Infer the type of a column from its first values.

    `name`: name of the column. `comma_first`: whether an ambiguous 1,234 has a decimal
    comma. `dates`: a key of DATES, the order of dates such as 31.12.2024. By default,
    the order that fits is used if only one does. `decimal`: a key of DECIMALS, which is
    preferred if the column can be parsed with it.
    """
    known, floats = _known(texts)
    column = _infer_numbers(known, floats, comma_first, decimal, dates)
    if column is None:
        column = _infer_others(known, dates, name)
    elif floats is not None and _are_codes(known):
        example = next(text for text in known if text.strip().startswith("0"))
        override = "" if name is None else f"; --numeric {name} reads them as numbers"
        column = column._replace(
            parser=None,
            notes=[
                f"numbers of equal length, some of which begin with 0, such as "
                f"{example!r}, are read as codes, that is, as categories{override}"
            ],
        )
    elif floats is not None and not column.notes:
        column = column._replace(notes=_id_notes(known, floats, len(texts)))
    if column.parser is None and len(texts) >= MIN_IDS:
        column = column._replace(
            identifies_rows=identifies_rows([text.strip() for text in known])
        )
    if name is None:
        return column
    if column.parser is None:
        return column._replace(name_is_value=name in texts)
    return column._replace(name_is_value=bool(_readable([name], column.parser)))


def _known(texts):
    """Return the texts that are not missing, and their floats if all have one."""
    known = [text for text in texts if not is_missing(text)]
    try:
        return known, np.array(known, dtype=np.float64)
    except ValueError:
        return known, None


def _decimal_sign(known, floats):
    """Return the decimal sign that a column requires; None if both are possible."""
    if floats is not None:
        dotted = any("." in text for text in known)
        return "." if dotted and not _are_grouped(known, 0.0) else None
    n_point, n_comma = (_parsed(known, parser)[0] for parser in (POINT, COMMA))
    if min(n_point, n_comma) > MAX_UNPARSEABLE * len(known):
        return None
    if n_point != n_comma:
        return "." if n_point < n_comma else ","
    # digit separators are used in all numbers of a column or in none
    dotted = any("." in text for text in known)
    ungrouped = any(_UNGROUPED.fullmatch(text.strip()) for text in known)
    return "." if dotted and ungrouped else None


def _are_grouped(texts, max_unparseable=MAX_UNPARSEABLE):
    """Whether nearly all texts can be integers with dots between digit groups."""
    n_left = max_unparseable * len(texts)
    for text in texts:
        if _GROUPED.fullmatch(text.strip()) is None:
            n_left -= 1
            if n_left < 0:
                return False
    return True


def _infer_numbers(known, floats, comma_first, decimal, dates):
    """Infer the type of a column of numbers or dates; None if it is neither."""
    if decimal is None:
        sign = _decimal_sign(known, floats) if comma_first or floats is None else "."
        numbers = DECIMALS[sign or ("," if comma_first else ".")]
        return _infer_with(numbers, known, floats, dates, comma_first, override=True)
    numbers = DECIMALS[decimal]
    if _can_be(known, floats, numbers):
        return _infer_with(numbers, known, floats, dates)
    (other,) = (parser for parser in DECIMALS.values() if parser is not numbers)
    column = _infer_with(other, known, floats, dates)
    if column is None or column.parser is not other:
        return column
    text = known[min(_readable(known, other) - _readable(known, numbers))]
    note = (
        f"{text!r} is read as {other.parse(text):.15g}, as --decimal {decimal} does "
        "not fit this column"
    )
    return column._replace(notes=[note])


def _infer_with(numbers, known, floats, dates, comma_first=False, override=False):
    """Infer the type of a column whose numbers are parsed by the parser `numbers`.

    `override` adds the option that changes the result to the note.
    """
    dotted = any("." in text for text in known)
    if floats is not None and (numbers is POINT or not dotted):
        return _infer_plain_numbers(known, numbers, comma_first)
    order = (numbers, DATE) if dates is None else (numbers, DATE, DATES[dates])
    parsed = [(*_parsed(known, parser), parser) for parser in order]
    n_unparseable, example, parser = min(parsed, key=lambda result: result[0])
    if n_unparseable > MAX_UNPARSEABLE * len(known):
        return None
    if parser in DATE_PARSERS:
        note = f"dates such as {example!r} are read as days since 1970-01-01"
        return ColumnType(parser, [note], numbers=parser)
    if example is None:
        return _infer_plain_numbers(known, parser, comma_first)
    note = f"{example!r} is read as {parser.parse(example):.15g}, and so are others"
    ambiguous = changed_by_sign(known, parser)
    if ambiguous is not None and override:
        note += f"; {_override(ambiguous, parser)}"
    return ColumnType(parser, [note], numbers=parser, ambiguous=ambiguous)


def _infer_plain_numbers(known, parser, comma_first):
    """Return the type of a column of simple numbers; note unexpected points."""
    if not any("." in text for text in known) or not _are_grouped(known):
        return ColumnType(parser, [], numbers=parser)
    ambiguous = changed_by_sign(known, parser)
    notes = [sign_note(ambiguous, parser)] if ambiguous and comma_first else []
    return ColumnType(parser, notes, numbers=parser, ambiguous=ambiguous)


def _can_be(known, floats, parser):
    if floats is not None and parser is POINT:
        return True
    return _parsed(known, parser)[0] <= MAX_UNPARSEABLE * len(known)


def _parsed(texts, parser):
    """Count unparseable texts; also return a text that `float` parses differently."""
    n_unparseable, example = 0, None
    for text in texts:
        value = parser.value(text)
        if value is None:
            n_unparseable += 1
        elif example is None and _FLOAT.value(text) != value:
            example = text
    return n_unparseable, example


def changed_by_sign(texts, parser):
    """Return the first text whose value depends on the decimal sign, or None."""
    for text in texts:
        if ("." in text or "," in text) and _with_other_sign(text, parser) is not None:
            return text
    return None


def sign_note(text, parser, reason=""):
    """Report the value of a text whose value depends on the decimal sign."""
    value = parser.parse(text)
    return f"{text!r} is read as {value:.15g}{reason}; {_override(text, parser)}"


def _override(text, parser):
    sign, value = _with_other_sign(text, parser)
    return f"--decimal {sign} reads {text!r} as {value:.15g}"


def _with_other_sign(text, parser):
    """Return the other decimal sign and the value with it; None if it is the same."""
    for sign, other in DECIMALS.items():
        value, own = other.value(text), parser.value(text)
        if other is not parser and None not in (value, own) and value != own:
            return sign, value
    return None


def _are_codes(texts):
    """Whether all texts are digit strings of one length and some begin with 0."""
    stripped = [text.strip() for text in texts]
    length = len(stripped[0]) if stripped else 0
    return (
        length > 1
        and all(len(text) == length and text.isascii() for text in stripped)
        and all(map(str.isdigit, stripped))
        and any(text[0] == "0" for text in stripped)
    )


def _infer_others(known, dates, name):
    """Infer a column of dates in other formats, or a nominal column."""
    orders, example = _date_orders(known)
    if not orders:
        return ColumnType(None, [])
    if dates is None and len(orders) == 1:  # the user has not chosen an order
        parser = DATES[orders[0]]
        first = {"dmy": "day", "mdy": "month"}[orders[0]]
        override = "" if name is None else f"; --nominal {name} makes categories"
        note = (
            f"dates such as {example!r} are read as days since 1970-01-01, the {first} "
            f"first, as no other order fits{override}"
        )
        return ColumnType(parser, [note], numbers=parser)
    note = (
        f"values such as {example!r} look like dates and are read as categories, "
        f"which say nothing about other days; --dates {' or --dates '.join(orders)} "
        "reads them as numbers"
    )
    return ColumnType(None, [note])


def _date_orders(texts):
    """Return the orders of day and month that fit most texts, and an example."""
    dates = {order: _readable(texts, parser) for order, parser in DATES.items()}
    fits = [
        order
        for order, rows in dates.items()
        if len(texts) - len(rows) <= MAX_UNPARSEABLE * len(texts)
    ]
    # rows that only one order can parse
    unique = {"dmy": dates["dmy"] - dates["mdy"], "mdy": dates["mdy"] - dates["dmy"]}
    if len(fits) == 2:
        required = [order for order in fits if unique[order]]
        fits = required if len(required) == 1 else fits
    if not fits:
        return [], None
    examples = (len(fits) == 1 and unique[fits[0]]) or dates[fits[0]]
    return fits, texts[min(examples)].strip()


def _readable(texts, parser):
    """Return the indices of the texts that can be parsed."""
    return {row for row, text in enumerate(texts) if parser.value(text) is not None}


def _id_notes(texts, values, n_rows):
    """Return notes on a column of integers that may be row numbers or IDs."""
    whole = np.isfinite(values) & (values == np.rint(values))
    if len(values) < max(MIN_IDS, n_rows) or not whole.all():
        return []
    steps = np.diff(values)
    is_sorted = (steps > 0.0).all() or (steps < 0.0).all()
    values = np.sort(values)
    # distinct numbers that cover nearly all of their range
    if np.diff(values).min() >= 1.0 and values[-1] - values[0] < 1.1 * len(values):
        return [
            "it looks like row numbers, which say nothing about other rows; --drop it "
            "if so"
        ]
    if len(texts) > MANY_IDS and not is_sorted and len(set(texts)) == len(texts):
        return [
            "its integers are all different and unsorted, as IDs are, which say "
            "nothing about other rows; --drop it if so"
        ]
    return []


def identifies_rows(categories):
    """Whether more than half of the rows have a unique category, as with IDs."""
    counts = Counter(categories)
    n_singletons = sum(count == 1 for count in counts.values())
    return len(counts) > SMALL_N_CATEGORIES and 2 * n_singletons > len(categories)


def unparseable_note(name, texts, n_unparseable, parser=None, *, types_are_fixed=False):
    """Describe values of a numeric column that are not numbers.

    `types_are_fixed`: by a model.
    """
    examples = ", ".join(map(repr, texts[:3])) + (", ..." if len(texts) > 3 else "")
    values = (
        "1 value is not a number"
        if n_unparseable == 1
        else f"{n_unparseable} values are not numbers"
    )
    note = f"column {name!r}: {values} ({examples}), taken as missing"
    sign = other_decimal(texts, parser)
    if sign is not None:
        note += f"; --decimal {sign} reads {texts[0]!r} as a number"
    return (
        note if types_are_fixed else f"{note}; --nominal {name} makes categories of all"
    )


def other_decimal(texts, parser):
    """Return the decimal sign that would make these texts numbers, or None."""
    for sign, other in DECIMALS.items():
        if other is not parser and parser in DECIMALS.values():
            if len(_readable(texts, other)) == len(texts):
                return sign
    return None


MANY_CATEGORIES = 100
MAX_SHOWN_CATEGORIES = 3  # categories that are named


def column_notes(X, stream):
    """Return notes on constant columns and on columns with many categories."""
    notes = []
    for index, (name, parser) in enumerate(
        zip(stream.features, stream.parsers, strict=True)
    ):
        column = X[:, index]
        if parser is None:
            n = len(set(column.tolist()))
            if n > MANY_CATEGORIES:
                notes.append(
                    f"column {name!r} has {n} categories; group them if some mean the "
                    "same, or --drop it if it says nothing about new rows"
                )
        else:
            values = column.astype(np.float32)
            known = values[~np.isnan(values)]
            n = int(len(known) < len(values)) + (
                0 if not len(known) else 1 + int((known != known[0]).any())
            )
        if n <= 1:
            notes.append(
                f"column {name!r} has only one value and carries no information"
            )
    return notes


def label_notes(y, target):
    """Return notes on labels that differ only in case or blanks."""
    alike = {}
    for label in np.unique(y).tolist():
        alike.setdefault("".join(str(label).casefold().split()), []).append(label)
    return [
        f"labels {', '.join(map(repr, labels))} of the target {target!r} differ "
        "only by case or blanks and are different classes"
        for labels in alike.values()
        if len(labels) > 1
    ]


def redundancy_notes(X, y, names, target):
    """Return notes on columns that copy another column or the target."""
    notes, first = [], {}
    n_classes, classes = len(np.unique(y)), y.tolist()
    for name, column in zip(names, X.T, strict=True):
        if column.dtype == object:
            content = "\0".join(map(repr, column.tolist())).encode()
        else:
            content = np.ascontiguousarray(column)
        earlier = first.setdefault(hashlib.sha256(content).digest(), name)
        if earlier != name:
            notes.append(f"column {name!r} is an exact copy of column {earlier!r}")
        if determines_class(column.tolist(), classes, n_classes):
            notes.append(
                f"column {name!r} has one value for each class of {target!r} and gives "
                "it away; --drop it if it will not be known when rows are predicted"
            )
    return notes


def determines_class(values, classes, n_classes):
    """Whether each class has exactly one value, which no other class has."""
    seen = {}
    for value, label in zip(values, classes, strict=True):
        value = value if value == value else None  # NaN equals no other
        if seen.setdefault(value, label) != label or len(seen) > n_classes:
            return False
    return len(seen) == len(set(seen.values())) == n_classes


class UnparseableValues:
    """Counts and examples of the values of numeric columns that are not numbers."""

    MAX_EXAMPLES = 4

    def __init__(self, counts=()):
        self._counts = {index: [n, list(texts)] for index, n, texts in counts}

    def as_list(self):
        """Return the arguments for an equal object."""
        return [[index, n, texts] for index, (n, texts) in self._counts.items()]

    def __iter__(self):
        """Iterate over the indices of the columns that have any."""
        return iter(self._counts)

    def count(self, index):
        """Return the number of unparseable values of a column."""
        return self._counts[index][0] if index in self._counts else 0

    def add(self, index, text):
        """Add an unparseable value of a column."""
        entry = self._counts.setdefault(index, [0, []])
        entry[0] += 1
        if len(entry[1]) < self.MAX_EXAMPLES and text not in entry[1]:
            entry[1].append(text)

    def check(self, unparseable, first_row, n_rows, stream):
        """Count unparseable values, up to a row in which a column has too many.

        `unparseable` are triples: row of the chunk, index of the column, and text.
        Returns the number of rows of the chunk before that row, and a UserError or
        None.
        """
        for row, row_values in groupby(unparseable, key=itemgetter(0)):
            if row >= n_rows:
                break
            row_values = list(row_values)
            limit = max(N_UNPARSEABLE_ALLOWED, MAX_UNPARSEABLE * (first_row + row))
            for _, index, text in row_values:
                if self.count(index) + 1 > limit:
                    return row, self._too_many(stream, first_row + row, index, text)
            for _, index, text in row_values:
                self.add(index, text)
        return n_rows, None

    def _too_many(self, stream, row, index, text):
        name = stream.features[index]
        sign = other_decimal([text], stream.parsers[index])
        remedy = f"--nominal {name}" if sign is None else f"--decimal {sign}"
        return UserError(
            f"{stream.path}, row {row}, column {name!r}: {text!r} is not a number, nor "
            f"are {self._counts[index][0]} values before, although the first rows of "
            f"this column are numbers; start again with {remedy}"
        )

    def notes(self, stream, *, types_are_fixed=False):
        """Return notes on unparseable values.

        They name an option that helps, unless `types_are_fixed` by a model.
        """
        return [
            unparseable_note(
                stream.features[index],
                texts,
                n,
                stream.parsers[index],
                types_are_fixed=types_are_fixed,
            )
            for index, (n, texts) in sorted(self._counts.items())
        ]


class UnknownCategories:
    """Counter, chunk by chunk, of the rows with categories that a model has not seen.

    `categories` has the categories of each column, None for a numeric column.
    """

    MAX_COUNTED = 1000  # categories of a column that are counted separately

    def __init__(self, features, categories):
        self._known = [known and {*known} for known in categories or ()]
        self._features = features
        self._new = [{} for _ in self._known]
        self._n_others = [0] * len(self._known)
        self._n_rows = 0

    def add(self, X):
        """Count the rows of a chunk."""
        self._n_rows += len(X)
        for j, known in enumerate(self._known):
            if known is None:
                continue
            new = self._new[j]
            for value in X[:, j].tolist():
                if value in known:
                    continue
                if value in new or len(new) < self.MAX_COUNTED:
                    new[value] = new.get(value, 0) + 1
                else:
                    self._n_others[j] += 1

    def notes(self):
        """Return a note on each column with such categories."""
        return [
            self._note(name, new, n_others)
            for name, new, n_others in zip(
                self._features, self._new, self._n_others, strict=False
            )
            if new
        ]

    def _note(self, name, new, n_others):
        shown = sorted(new, key=new.get, reverse=True)[:MAX_SHOWN_CATEGORIES]
        shown = ", ".join(
            "missing" if value is None else repr(value) for value in shown
        )
        more = ", ..." if len(new) > MAX_SHOWN_CATEGORIES else ""
        n = sum(new.values()) + n_others
        rows = "1 row has" if n == 1 else f"{n:,} of {self._n_rows:,} rows have"
        what = "a category" if len(new) == 1 else f"{len(new)} categories"
        what = f"more than {what}" if n_others else what
        return (
            f"column {name!r}: {rows} {what} that the model has not seen ({shown}{more}"
            "); a split on that column predicts such a row without going further"
        )


def unknown_categories(X, categories):
    """Return a mask of the rows with unseen categories (None is missing)."""
    is_unknown = np.zeros(len(X), dtype=bool)
    for column, known in zip(X.T, categories or (), strict=False):
        if known is not None:
            known = {None, *known}
            is_unknown |= [value not in known for value in column.tolist()]
    return is_unknown


# Predictions of a model must not become features: they leak the target of the training
# rows, and a tree that uses them is useless for new rows.

OWN_SUFFIX = " (skconftree)"  # appended to a name that the table already has
PREDICTED, EXPLANATION = "predicted", "explanation"
SHARE = "probability of "  # followed by a class
LABELED_BY, LABELED_AT = "labeled by", "labeled at"


def added_name(name, taken):
    """Return the name of an added column that differs from those of the table."""
    return f"{name}{OWN_SUFFIX}" if name in taken else name


def written_columns(header, target=None):
    """Recognize columns that `skconftree label` or `predict` wrote, by their names.

    ``label`` writes *predicted*, *probability of A*, ..., *labeled by*, *labeled at*;
    ``predict`` the target, or *predicted TARGET*, and then *probability* as the last
    column, or *probability of A*, ..., and perhaps *explanation*.
    """
    columns, last = [], len(header)
    if header and header[-1].removesuffix(OWN_SUFFIX) == EXPLANATION:
        last -= 1
    for index, name in enumerate(header):
        base = name.removesuffix(OWN_SUFFIX)
        end = index + 1
        while end < len(header) and header[end].startswith(SHARE):
            end += 1
        is_added = base == PREDICTED or (
            base.startswith(f"{PREDICTED} ") and base[len(PREDICTED) + 1 :] in header
        )
        shares = header[index + 1 : end]
        next_names = [n.removesuffix(OWN_SUFFIX) for n in header[end : end + 2]]
        if not is_added and name != target:
            continue
        if len(shares) >= 2 and (is_added or end == last):
            columns += [name, *shares] if is_added else shares
            if is_added and next_names == [LABELED_BY, LABELED_AT]:
                columns += header[end : end + 2]
            elif end == last:
                columns += header[last:]
        elif header[index + 1 : last] == ["probability"]:
            columns += [name] * is_added + ["probability", *header[last:]]
    return [name for name in dict.fromkeys(columns) if name != target]


def excluded_columns(stream, dropped=()):
    """Return the columns that skconftree wrote, except those that are dropped."""
    target = next((name for name in stream.header if name not in stream.features), None)
    written = written_columns(stream.header, target)
    if written and all(name in written for name in stream.features):
        raise UserError(
            f"{stream.path} has no features: all columns except the target {target!r} "
            "were written by `skconftree label` or `predict`"
        )
    return [name for name in written if name not in dropped]


def excluded_notes(names):
    """Return a note on columns that are ignored because a command wrote them."""
    if not names:
        return []
    return [
        "ignored the columns that `skconftree label` or `predict` wrote: "
        f"{', '.join(map(repr, names))}; rename a column to use it as a feature"
    ]
