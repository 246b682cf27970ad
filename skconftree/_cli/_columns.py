"""What the texts of a column mean: numbers, in one way of writing them, or categories.

Nearly all values of a column of numbers can be read in the same way; the few that
cannot are its strays, and are missing values.
"""

import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from ._common import MISSING

HEAD = 1000  # rows that settle what the columns are
# Share of the values of a column of numbers that may be strays ...
MOST_STRAYS = 0.1
# ... and how many may be in any case, where the share is that of a stream so far.
STRAYS_ALLOWED = 100
FEW_CATEGORIES = 10  # may be of one row each
FEWEST_IDS = 50  # rows that tell an id from a column whose values happen to differ

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:.*)?", re.ASCII)
_PARTS = re.compile(
    r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})"
    r"(?:,? +(\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([ap])m)?)?",
    re.ASCII | re.IGNORECASE,
)
_CENTURY = 69  # of two digits: the first year that is one of the last century


def _written(group, decimal):
    """Pattern of numbers with groups of three digits and the sign of a currency."""
    space = r"[ \u00a0\u202f]?"
    digits = rf"\d{{1,3}}(?:[{group} \u00a0\u202f'\u2019]\d{{3}})+|\d+"
    return re.compile(
        rf"(?P<sign>[-+]?){space}[$€£¥]?{space}"
        rf"(?P<whole>{digits})?(?:{decimal}(?P<part>\d*))?(?P<power>e[-+]?\d+)?"
        rf"{space}[$€£¥%]?",
        re.ASCII | re.IGNORECASE,
    )


_BY_POINT = _written(",", r"\.")
_BY_COMMA = _written(".", ",")


def _number(pattern, text):
    found = pattern.fullmatch(text.strip())
    if found is None or not (found["whole"] or found["part"]):
        raise ValueError(text)
    whole = re.sub(r"\D", "", found["whole"] or "0")
    return float(f"{found['sign']}{whole}.{found['part'] or '0'}{found['power'] or ''}")


def _from_point(text):
    try:
        return float(text)
    except ValueError:
        return _number(_BY_POINT, text)


def _from_comma(text):
    return _number(_BY_COMMA, text)


def _from_date(text):
    text = text.strip()
    if _DATE.fullmatch(text) is None:
        raise ValueError(text)
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return (when - _EPOCH) / _DAY


def _day_first(text):
    return _from_parts(text, "dmy")


def _month_first(text):
    return _from_parts(text, "mdy")


def _from_parts(text, order):
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
    "dmy": Reading("days since 1970-01-01, day first", _day_first),
    "mdy": Reading("days since 1970-01-01, month first", _month_first),
}
DATE_READINGS = (DATE, *DATES.values())
READINGS = {one.name: one for one in (POINT, COMMA, DATE, *DATES.values())}


def is_missing(text):
    """Whether a text says that there is no value."""
    return text.strip().lower() in MISSING


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


def read_numbers(texts, reading):
    """Read a column, NaN where a value is missing or stray, and find the strays."""
    strays = []
    try:
        if reading is not POINT:
            raise ValueError
        values = np.array(texts, dtype=np.float64)
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


def guess(texts, comma_first=False, dates=None, name=None):
    """Tell what a column is, by its first values.

    `name`: what stands above them.
    `comma_first`: 1,234 is rather a bit more than one than a thousand and more.
    `dates`: a key of DATES, in which order dates such as 31.12.2024 are written.
    """
    found = _guess(texts, comma_first, dates)
    return found._replace(holds_name=name is not None and _holds(texts, name, found))


def _holds(texts, name, found):
    if found.reading is None:
        return name in texts
    try:
        found.reading.parse(name)
    except (ValueError, OverflowError):
        return False
    return True


def _guess(texts, comma_first, dates):
    known = [text for text in texts if not is_missing(text)]
    try:
        values = np.array(known, dtype=np.float64)
        return Guess(POINT, _looks_like_ids(values, len(texts)))
    except ValueError:
        pass
    order = (COMMA, POINT, DATE) if comma_first else (POINT, COMMA, DATE)
    if dates is not None:
        order += (DATES[dates],)
    parsed = [(*_parsed(known, reading), reading) for reading in order]
    n_strays, example, reading = min(parsed, key=lambda one: one[0])
    if n_strays > MOST_STRAYS * len(known):
        names = [text.strip() for text in known]
        told = _looks_like_dates(names)
        return Guess(None, told, len(texts) >= FEWEST_IDS and names_rows(names))
    notes = []
    if reading in DATE_READINGS:
        notes.append(f"dates such as {example!r} are read as days since 1970-01-01")
    elif example is not None:
        notes.append(
            f"{example!r} is read as {reading.parse(example):.15g}, and so are others"
        )
    return Guess(reading, notes)


def _parsed(texts, reading):
    """How many of the texts cannot be read, and one that needs this reading."""
    n_strays, example = 0, None
    for text in texts:
        try:
            reading.parse(text)
        except (ValueError, OverflowError):
            n_strays += 1
            continue
        if example is None:
            try:
                float(text)
            except ValueError:
                example = text
    return n_strays, example


def _looks_like_dates(texts):
    """Say of a column of categories that they are dates, and how these are read."""
    fits = []
    for dates, reading in DATES.items():
        n_strays, example = _parsed(texts, reading)
        if n_strays <= MOST_STRAYS * len(texts):
            fits.append(dates)
            shown = example
    if not fits:
        return []
    return [
        f"values such as {shown!r} look like dates and are taken as categories, which "
        f"say nothing about other days; --dates {' or --dates '.join(fits)} makes "
        "numbers of them"
    ]


def _looks_like_ids(values, n_rows):
    whole = np.isfinite(values) & (values == np.rint(values))
    if len(values) < max(FEWEST_IDS, n_rows) or not whole.all():
        return []
    values = np.sort(values)
    steps = np.diff(values)
    # each number once, and nearly all between the first and the last
    if steps.min() < 1.0 or values[-1] - values[0] >= 1.1 * len(values):
        return []
    return [
        "it looks like row numbers, which say nothing about other rows; leave it out "
        "if it is that"
    ]


def names_rows(categories):
    """Whether a nominal column tells rows apart rather than describes them.

    More than half of the rows have a category of their own; a tree that is fitted
    leaves such a column out.
    """
    times = Counter(categories)
    n_alone = sum(count == 1 for count in times.values())
    return len(times) > FEW_CATEGORIES and 2 * n_alone > len(categories)


def stray_note(name, texts, n_strays, *, settled=False):
    """Say which values of a column of numbers are none, by some of them.

    `settled`: a model has fixed what the column holds.
    """
    shown = ", ".join(map(repr, texts[:3])) + (", ..." if len(texts) > 3 else "")
    values = (
        "1 value is not a number"
        if n_strays == 1
        else f"{n_strays} values are not numbers"
    )
    said = f"column {name!r}: {values} ({shown}), taken as missing"
    return said if settled else f"{said}; --nominal {name} makes categories of all"
