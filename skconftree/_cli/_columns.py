"""Kinds of columns, read from their texts, and notes about them.

Nearly all values of a column of numbers can be read in the same way; the few that
cannot are its strays, and are missing values.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

import numpy as np

from ._common import is_missing
from ._text import UserError

HEAD = 1000  # rows that settle what the columns are
# Share of the values of a column of numbers that may be strays ...
MAX_UNPARSEABLE = 0.1
# ... and how many may be in any case, where the share is that of a stream so far.
N_UNPARSEABLE_ALLOWED = 100
SMALL_N_CATEGORIES = 10  # may be of one row each
FEWEST_IDS = 50  # rows that tell an id from a column whose values happen to differ
MANY_IDS = 100  # more values than these, all different and unsorted, may be IDs

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:.*)?", re.ASCII)
_PARTS = re.compile(
    r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})"
    r"(?:,? +(\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([ap])m)?)?",
    re.ASCII | re.IGNORECASE,
)
_CENTURY = 69  # of two digits: the first year that is one of the last century
_MINUS = "\u2212"
# Negative amounts of accountants: in parentheses, with a currency in or before them.
_NEGATIVE = re.compile(r"([$€£¥]?)[ \u00a0\u202f]?\((.+)\)", re.ASCII)
# Whole numbers with dots between groups of three digits, which 0.123 and 1234 are not.
_GROUPED = re.compile(
    rf"[-+{_MINUS}]?(?:\d{{1,3}}|[1-9]\d{{0,2}}(?:\.\d{{3}})+)", re.ASCII
)
_UNGROUPED = re.compile(rf"[-+{_MINUS}]?\d{{4,}}", re.ASCII)


def _number_pattern(group, decimal):
    """Pattern of numbers with groups of three digits and the sign of a currency."""
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
    written = text.strip().replace(_MINUS, "-")
    negative = _NEGATIVE.fullmatch(written)
    if negative is not None:
        written = negative[1] + negative[2].strip()
    found = pattern.fullmatch(written)
    if found is None or not (found["whole"] or found["part"]):
        raise ValueError(text)
    if negative is not None and found["sign"]:
        raise ValueError(text)
    sign = found["sign"] if negative is None else "-"
    whole = re.sub(r"\D", "", found["whole"] or "0")
    return float(f"{sign}{whole}.{found['part'] or '0'}{found['power'] or ''}")


def _from_point(text):
    try:
        return float(text)
    except ValueError:
        return _number(_BY_POINT, text)


def _from_comma(text):
    if "." not in text:  # `read_numbers` does the same with a whole column
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


def _from_parts(order, text):
    found = _PARTS.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    first, second, year = int(found[1]), int(found[3]), int(found[4])
    if len(found[4]) == 2:
        year += 1900 if year >= _CENTURY else 2000
    month, day = (second, first) if order == "dmy" else (first, second)
    hour, minute, second = (int(part or 0) for part in found.group(5, 6, 7))
    if found[8] is not None:
        if not 1 <= hour <= 12:
            raise ValueError(text)
        hour = hour % 12 + 12 * (found[8] in "pP")
    when = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    return (when - _EPOCH) / _DAY


class Reading(NamedTuple):
    """A way of reading texts as numbers; `parse` raises ValueError where it cannot."""

    name: str
    parse: Callable[[str], float]


POINT = Reading("decimal point", _from_point)
COMMA = Reading("decimal comma", _from_comma)
DATE = Reading("days since 1970-01-01", _from_date)
# Which of the two a table has is for its owner to say: 03/04/2024 may be either.
DATES = {
    order: Reading(f"days since 1970-01-01, {first} first", partial(_from_parts, order))
    for order, first in (("dmy", "day"), ("mdy", "month"))
}
DATE_READINGS = (DATE, *DATES.values())
READINGS = {one.name: one for one in (POINT, COMMA, DATE, *DATES.values())}
DECIMALS = {".": POINT, ",": COMMA}  # by the sign before the decimals


def with_times(X, readings):
    """Places of the columns of dates that also tell the time of the day."""
    found = set()
    for place, reading in enumerate(readings):
        if reading in DATE_READINGS:
            days = X[:, place].astype(np.float32)
            if (np.floor(days) < days).any():  # not of what is missing
                found.add(place)
    return found


def date_kinds(readings, timed):
    """What a tree is told of columns of dates; None if there are none."""
    kinds = tuple(
        None if reading not in DATE_READINGS else "time" if place in timed else "day"
        for place, reading in enumerate(readings)
    )
    return kinds if any(kinds) else None


def as_date(kind):
    """How numbers of a column of dates are written, which is of such a kind."""

    def write(days):
        when = _EPOCH + timedelta(days=float(days))
        if kind == "day":
            return when.date().isoformat()
        return when.replace(tzinfo=None).isoformat(" ", timespec="minutes")

    return write


def with_decimal(reading, decimal):
    """The reading of a column, with another decimal sign if it is of plain numbers."""
    if decimal is None or reading not in DECIMALS.values():
        return reading
    return DECIMALS[decimal]


def read_numbers(texts, reading):
    """Read a column, NaN where a value is missing or stray, and find the strays."""
    strays = []
    try:
        if reading is POINT:
            values = np.array(texts, dtype=np.float64)
        elif reading is COMMA and not any("." in text for text in texts):
            values = np.array([text.replace(",", ".") for text in texts], np.float64)
        else:
            raise ValueError
    except ValueError:
        values = np.full(len(texts), np.nan)
        for place, text in enumerate(texts):
            if is_missing(text):
                continue
            try:
                values[place] = reading.parse(text)
            except (ValueError, OverflowError):
                strays.append(place)
    with np.errstate(over="ignore"):
        return values.astype(np.float32), strays


class Guess(NamedTuple):
    """What the first rows of a table tell about one of its columns."""

    reading: Reading | None  # None if it is nominal
    notes: list[str]
    names_rows: bool = False
    holds_name: bool = False  # that of the column might be one of its values
    numbers: Reading | None = None  # how --numeric reads it; None if it has no numbers
    ambiguous: str | None = None  # a value that is another number with the other sign


def guess_columns(columns, names, *, semicolons=False, decimal=None, dates=None):
    """Guess what the columns of a table are, and which decimal sign it has.

    `semicolons` between fields mean that numbers which may be written either way have
    decimal commas, unless other columns need decimal points. `decimal` and `dates` are
    what the user has said of these.
    """
    comma_first = semicolons
    if semicolons and decimal is None:
        signs = {_decimal_sign(*_known(texts)) for texts in columns}
        comma_first = "," in signs or "." not in signs
    found = [
        guess(texts, comma_first, dates, name, decimal)
        for texts, name in zip(columns, names, strict=True)
    ]
    if decimal is None and semicolons and not comma_first:
        found = list(map(_explained, found, columns))
    if decimal is None and not semicolons and COMMA in {one.reading for one in found}:
        comma_first = "." not in {_decimal_sign(*_known(texts)) for texts in columns}
    return found, decimal or ("," if comma_first else ".")


def _explained(found, texts):
    """Add why a column has decimal points that might have groups of digits instead."""
    if found.reading is not POINT or found.ambiguous is None or found.notes:
        return found
    if all("." in text for text in texts if not is_missing(text)):
        return found  # which is rare where numbers below 1000 have no dots
    reason = ", as other numbers of the file have decimal points"
    return found._replace(notes=[sign_note(found.ambiguous, POINT, reason)])


def guess(texts, comma_first=False, dates=None, name=None, decimal=None):
    """Guess what a column is, by its first values.

    `name`: what stands above them.
    `comma_first`: 1,234 is rather a bit more than one than a thousand and more.
    `dates`: a key of DATES, in which order dates such as 31.12.2024 are written; by
    default the one that fits, if only one does.
    `decimal`: a key of DECIMALS, which is preferred if the column can be read with it.
    """
    known, plain = _known(texts)
    found = _guess_numbers(known, plain, comma_first, decimal, dates)
    if found is None:
        found = _guess_others(known, dates, name)
    elif plain is not None and _are_codes(known):
        example = next(text for text in known if text.strip().startswith("0"))
        override = "" if name is None else f"; --numeric {name} reads them as numbers"
        found = found._replace(
            reading=None,
            notes=[
                f"numbers of equal length, some of which begin with 0, such as "
                f"{example!r}, are taken as codes, that is as categories{override}"
            ],
        )
    elif plain is not None and not found.notes:
        found = found._replace(notes=_looks_like_ids(known, plain, len(texts)))
    if found.reading is None and len(texts) >= FEWEST_IDS:
        found = found._replace(names_rows=names_rows([one.strip() for one in known]))
    if name is None:
        return found
    if found.reading is None:
        return found._replace(holds_name=name in texts)
    return found._replace(holds_name=bool(_readable([name], found.reading)))


def _known(texts):
    """Values that are not missing, and as floats if Python reads all of them."""
    known = [text for text in texts if not is_missing(text)]
    try:
        return known, np.array(known, dtype=np.float64)
    except ValueError:
        return known, None


def _decimal_sign(known, plain):
    """Which sign the decimals of a column must have; None if either is possible."""
    if plain is not None:
        dotted = any("." in text for text in known)
        return "." if dotted and not _are_grouped(known, 0.0) else None
    n_point, n_comma = (_parsed(known, one)[0] for one in (POINT, COMMA))
    if min(n_point, n_comma) > MAX_UNPARSEABLE * len(known):
        return None
    if n_point != n_comma:
        return "." if n_point < n_comma else ","
    # who writes dots between groups of digits writes them everywhere
    dotted = any("." in text for text in known)
    ungrouped = any(_UNGROUPED.fullmatch(text.strip()) for text in known)
    return "." if dotted and ungrouped else None


def _are_grouped(texts, max_unparseable=MAX_UNPARSEABLE):
    """Whether all texts but a share can be whole numbers with dots between digits."""
    left = max_unparseable * len(texts)
    for text in texts:
        if _GROUPED.fullmatch(text.strip()) is None:
            left -= 1
            if left < 0:
                return False
    return True


def _guess_numbers(known, plain, comma_first, decimal, dates):
    """Guess how a column of numbers or dates is read; None if it is neither."""
    if decimal is None:
        sign = _decimal_sign(known, plain) if comma_first or plain is None else "."
        numbers = DECIMALS[sign or ("," if comma_first else ".")]
        return _guess_with(numbers, known, plain, dates, comma_first, True)
    numbers = DECIMALS[decimal]
    if _can_be(known, plain, numbers):
        return _guess_with(numbers, known, plain, dates)
    (other,) = (one for one in DECIMALS.values() if one is not numbers)
    found = _guess_with(other, known, plain, dates)
    if found is None or found.reading is not other:
        return found
    text = known[min(_readable(known, other) - _readable(known, numbers))]
    note = (
        f"{text!r} is read as {other.parse(text):.15g}, as --decimal {decimal} does "
        "not fit this column"
    )
    return found._replace(notes=[note])


def _guess_with(numbers, known, plain, dates, comma_first=False, override=False):
    """Guess a column, given how numbers are written; notes name the `override`."""
    dotted = any("." in text for text in known)
    if plain is not None and (numbers is POINT or not dotted):
        return _noted_if_grouped(known, numbers, comma_first)
    order = (numbers, DATE) if dates is None else (numbers, DATE, DATES[dates])
    parsed = [(*_parsed(known, reading), reading) for reading in order]
    n_unparseable, example, reading = min(parsed, key=lambda one: one[0])
    if n_unparseable > MAX_UNPARSEABLE * len(known):
        return None
    if reading in DATE_READINGS:
        note = f"dates such as {example!r} are read as days since 1970-01-01"
        return Guess(reading, [note], numbers=reading)
    if example is None:
        return _noted_if_grouped(known, reading, comma_first)
    note = f"{example!r} is read as {reading.parse(example):.15g}, and so are others"
    ambiguous = changed_by_sign(known, reading)
    if ambiguous is not None and override:
        note += f"; {_override(ambiguous, reading)}"
    return Guess(reading, [note], numbers=reading, ambiguous=ambiguous)


def _noted_if_grouped(known, reading, comma_first):
    """Guess of a column of plain numbers; note points where commas were expected."""
    if not any("." in text for text in known) or not _are_grouped(known):
        return Guess(reading, [], numbers=reading)
    ambiguous = changed_by_sign(known, reading)
    notes = [sign_note(ambiguous, reading)] if ambiguous and comma_first else []
    return Guess(reading, notes, numbers=reading, ambiguous=ambiguous)


def _can_be(known, plain, reading):
    if plain is not None and reading is POINT:
        return True
    return _parsed(known, reading)[0] <= MAX_UNPARSEABLE * len(known)


def _parsed(texts, reading):
    """How many of the texts cannot be read, and one that Python reads otherwise."""
    n_unparseable, example = 0, None
    for text in texts:
        try:
            value = reading.parse(text)
        except (ValueError, OverflowError):
            n_unparseable += 1
            continue
        if example is None:
            try:
                same = float(text) == value
            except ValueError:
                same = False
            if not same:
                example = text
    return n_unparseable, example


def changed_by_sign(texts, reading):
    """The first text that is another number with the other decimal sign, or None."""
    for text in texts:
        if ("." in text or "," in text) and _with_other_sign(text, reading) is not None:
            return text
    return None


def sign_note(text, reading, reason=""):
    """Say how a text is read that is another number with the other decimal sign."""
    value = reading.parse(text)
    return f"{text!r} is read as {value:.15g}{reason}; {_override(text, reading)}"


def _override(text, reading):
    sign, value = _with_other_sign(text, reading)
    return f"--decimal {sign} reads {text!r} as {value:.15g}"


def _with_other_sign(text, reading):
    """The other decimal sign, and the other number that a text is with it, or None."""
    for sign, other in DECIMALS.items():
        if other is reading:
            continue
        try:
            value = other.parse(text)
            if reading.parse(text) != value:
                return sign, value
        except (ValueError, OverflowError):
            pass
    return None


def _are_codes(texts):
    """Whether these are strings of digits of one length, of which some begin with 0."""
    stripped = [text.strip() for text in texts]
    length = len(stripped[0]) if stripped else 0
    return (
        length > 1
        and all(len(one) == length and one.isascii() for one in stripped)
        and all(map(str.isdigit, stripped))
        and any(one[0] == "0" for one in stripped)
    )


def _guess_others(known, dates, name):
    """Guess a column of other dates, if something tells their order, or categories."""
    orders, example = _date_orders(known)
    if not orders:
        return Guess(None, [])
    if dates is None and len(orders) == 1:
        reading = DATES[orders[0]]
        first = {"dmy": "day", "mdy": "month"}[orders[0]]
        override = "" if name is None else f"; --nominal {name} makes categories"
        note = (
            f"dates such as {example!r} are read as days since 1970-01-01, the {first} "
            f"first, as no other order fits{override}"
        )
        return Guess(reading, [note], numbers=reading)
    note = (
        f"values such as {example!r} look like dates and are taken as categories, "
        f"which say nothing about other days; --dates {' or --dates '.join(orders)} "
        "makes numbers of them"
    )
    return Guess(None, [note])


def _date_orders(texts):
    """Orders of day and month in which most texts are dates, and the best example."""
    dates = {order: _readable(texts, reading) for order, reading in DATES.items()}
    fits = [
        order
        for order, ones in dates.items()
        if len(texts) - len(ones) <= MAX_UNPARSEABLE * len(texts)
    ]
    only = {"dmy": dates["dmy"] - dates["mdy"], "mdy": dates["mdy"] - dates["dmy"]}
    if len(fits) == 2:
        needed = [order for order in fits if only[order]]
        fits = needed if len(needed) == 1 else fits
    if not fits:
        return [], None
    examples = (len(fits) == 1 and only[fits[0]]) or dates[fits[0]]
    return fits, texts[min(examples)].strip()


def _readable(texts, reading):
    """Indices of the texts that can be read."""
    rows = set()
    for row, text in enumerate(texts):
        try:
            reading.parse(text)
        except (ValueError, OverflowError):
            continue
        rows.add(row)
    return rows


def _looks_like_ids(texts, values, n_rows):
    """Notes on a column of whole numbers that may only name the rows."""
    whole = np.isfinite(values) & (values == np.rint(values))
    if len(values) < max(FEWEST_IDS, n_rows) or not whole.all():
        return []
    steps = np.diff(values)
    is_sorted = (steps > 0.0).all() or (steps < 0.0).all()
    values = np.sort(values)
    # each number once, and nearly all between the first and the last
    if np.diff(values).min() >= 1.0 and values[-1] - values[0] < 1.1 * len(values):
        return [
            "it looks like row numbers, which say nothing about other rows; leave it "
            "out if it is that"
        ]
    if len(texts) > MANY_IDS and not is_sorted and len(set(texts)) == len(texts):
        return [
            "its whole numbers are all different and in no order, as IDs are, which "
            "say nothing about other rows; leave it out if it is that"
        ]
    return []


def names_rows(categories):
    """Whether more than half of the rows have a category of their own, as ids have."""
    times = Counter(categories)
    n_alone = sum(count == 1 for count in times.values())
    return len(times) > SMALL_N_CATEGORIES and 2 * n_alone > len(categories)


def unparseable_note(name, texts, n_unparseable, reading=None, *, settled=False):
    """Describe values of a numeric column that are not numbers."""
    shown = ", ".join(map(repr, texts[:3])) + (", ..." if len(texts) > 3 else "")
    values = (
        "1 value is not a number"
        if n_unparseable == 1
        else f"{n_unparseable} values are not numbers"
    )
    note = f"column {name!r}: {values} ({shown}), taken as missing"
    sign = other_decimal(texts, reading)
    if sign is not None:
        note += f"; --decimal {sign} reads {texts[0]!r} as a number"
    return note if settled else f"{note}; --nominal {name} makes categories of all"


def other_decimal(texts, reading):
    """The decimal sign with which these strays would be numbers; None if neither."""
    for sign, other in DECIMALS.items():
        if other is not reading and reading in DECIMALS.values():
            if len(_readable(texts, other)) == len(texts):
                return sign
    return None


MANY_CATEGORIES = 100
SHOWN = 3  # categories that are named


def column_notes(X, stream):
    """Say which columns tell nothing, and which have very many categories."""
    notes = []
    for place, (name, reading) in enumerate(
        zip(stream.features, stream.readings, strict=True)
    ):
        column = X[:, place]
        if reading is None:
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
            notes.append(f"column {name!r} has one value only and says nothing")
    return notes


def label_notes(y, target):
    """Say which labels may be one class, written in several ways."""
    alike = {}
    for label in np.unique(y).tolist():
        alike.setdefault("".join(str(label).casefold().split()), []).append(label)
    return [
        f"labels {', '.join(map(repr, same))} of the target {target!r} differ by case "
        "or blanks only and are taken as different classes"
        for same in alike.values()
        if len(same) > 1
    ]


def same_notes(X, y, names, target):
    """Say which columns are others over again, or the target in other words."""
    notes, first = [], {}
    n_classes, classes = len(np.unique(y)), y.tolist()
    for name, column in zip(names, X.T, strict=True):
        if column.dtype == object:
            written = "\0".join(map(repr, column.tolist())).encode()
        else:
            written = np.ascontiguousarray(column)
        earlier = first.setdefault(hashlib.sha256(written).digest(), name)
        if earlier != name:
            notes.append(f"column {name!r} is an exact copy of column {earlier!r}")
        if renames(column.tolist(), classes, n_classes):
            notes.append(
                f"column {name!r} has one value for each class of {target!r} and gives "
                "it away; --drop it if it will not be known when rows are predicted"
            )
    return notes


def renames(values, classes, n_classes):
    """Whether there is one value for each class, which no other class has."""
    seen = {}
    for value, label in zip(values, classes, strict=True):
        value = value if value == value else None  # NaN equals no other
        if seen.setdefault(value, label) != label or len(seen) > n_classes:
            return False
    return len(seen) == len(set(seen.values())) == n_classes


def unknown_notes(X, features, categories):
    """Count rows with unseen categories; `categories` is None for numeric columns."""
    notes = []
    for name, column, known in zip(features, X.T, categories or (), strict=False):
        if known is None:
            continue
        new, known = {}, set(known)
        for value in column.tolist():
            if value not in known:
                new[value] = new.get(value, 0) + 1
        if not new:
            continue
        shown = sorted(new, key=new.get, reverse=True)[:SHOWN]
        shown = ", ".join("missing" if one is None else repr(one) for one in shown)
        more = ", ..." if len(new) > SHOWN else ""
        n = sum(new.values())
        rows = "1 row has" if n == 1 else f"{n:,} of {len(column):,} rows have"
        what = "a category" if len(new) == 1 else f"{len(new)} categories"
        notes.append(
            f"column {name!r}: {rows} {what} that the model has not seen ({shown}{more}"
            "); where it asks for that column, it stops for such a row"
        )
    return notes


def unknown_categories(X, categories):
    """Whether each row has a category that a model has not seen (None is missing)."""
    strange = np.zeros(len(X), dtype=bool)
    for column, known in zip(X.T, categories or (), strict=False):
        if known is not None:
            known = {None, *known}
            strange |= [value not in known for value in column.tolist()]
    return strange


# What a model has predicted is not a property of a row: a tree that learns from it is
# right about its own training data, and of no use for new rows.

OURS = " (skconftree)"  # behind a name that the table had already
PREDICTED = "predicted"
SHARE = "probability of "
SAID_BY, SAID_AT = "said by", "at"


def own_name(name, taken):
    """Name of a column of ours beside those of a table."""
    return f"{name}{OURS}" if name in taken else name


def own_columns(header, target=None):
    """Columns that `skconftree label` or `predict` wrote, by the order of the names.

    ``label`` writes *predicted*, *probability of A*, ..., *said by*, *at*; ``predict``
    the target, or *predicted TARGET*, and then *probability* as the last column, or
    *probability of A*, ...
    """
    found = []
    for place, name in enumerate(header):
        bare = name.removesuffix(OURS)
        end = place + 1
        while end < len(header) and header[end].startswith(SHARE):
            end += 1
        is_ours = bare == PREDICTED or (
            bare.startswith(f"{PREDICTED} ") and bare[len(PREDICTED) + 1 :] in header
        )
        shares = header[place + 1 : end]
        after = [one.removesuffix(OURS) for one in header[end : end + 2]]
        if not is_ours and name != target:
            continue
        if len(shares) >= 2 and (is_ours or end == len(header)):
            found += [name, *shares] if is_ours else shares
            if is_ours and after == [SAID_BY, SAID_AT]:
                found += header[end : end + 2]
        elif header[place + 1 :] == ["probability"]:
            found += [name, "probability"] if is_ours else ["probability"]
    return [name for name in dict.fromkeys(found) if name != target]


def left_out(stream, dropped=()):
    """Columns of a reader of tables that are ours, besides those that are dropped."""
    target = next((one for one in stream.header if one not in stream.features), None)
    ours = own_columns(stream.header, target)
    if ours and all(name in ours for name in stream.features):
        raise UserError(
            f"{stream.path} has no column to learn from: besides the target "
            f"{target!r} there is only what `skconftree label` or `predict` wrote"
        )
    return [name for name in ours if name not in dropped]


def own_notes(names):
    """Say which columns are left out because a command has written them."""
    if not names:
        return []
    columns = ", ".join(map(repr, names))
    are = "columns {} are" if len(names) > 1 else "column {} is"
    return [
        f"{are.format(columns)} left out: `skconftree label` or `predict` wrote "
        f"{'them' if len(names) > 1 else 'it'}; under another name "
        f"{'they are' if len(names) > 1 else 'it is'} learned from"
    ]
