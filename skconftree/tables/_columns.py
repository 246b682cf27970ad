"""Dates, and values that are not numbers."""

import datetime
import re

import numpy as np

from ..utils._warnings import warn

DATES = (
    "Make numbers of what matters about dates: days since the first one, the month, "
    "the day of the week."
)
LOOKED_AT = 100  # values of a column of strings
DAY, TIME = "day", "time"  # what a column of days since 1970-01-01 holds
_FIRST = datetime.datetime(1970, 1, 1)
_TYPES = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    np.datetime64,
    np.timedelta64,
)
_WRITTEN = re.compile(r"\d{4}([-/.])\d\d?\1\d\d?\b|\d\d?([-/.])\d\d?\2\d{4}\b")


def is_date(value):
    """Whether a Python object is a date, a time or what lies between two."""
    return isinstance(value, _TYPES) or type(value).__name__ == "Period"


def look_like_dates(values):
    """Whether the first strings, but for missing values, begin as 2024-01-31 does."""
    n = 0
    for value in values:
        if isinstance(value, str):
            if _WRITTEN.match(value) is None:
                return False
            n += 1
            if n == LOOKED_AT:
                break
    return n > 0


def write_date(days, kind):
    """Write days since 1970-01-01 as a date, rounded down, or None if out of range."""
    try:
        when = _FIRST + datetime.timedelta(days=days)
    except (OverflowError, ValueError):
        return None
    if kind == DAY:
        return when.date().isoformat()
    return when.isoformat(" ", timespec="minutes")


MAX_UNPARSEABLE = 0.1  # share of the values of such a column that are no numbers


def is_number(text):
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def warn_of_unparseable(table, counts_of, features, most):
    """Warn of columns, of at most `most` categories, that a stray word made nominal."""
    dtypes = list(table.dtypes(table.X))
    for j, categories in enumerate(features.categories):
        if categories is None or features.kind(j) != "text" or len(categories) > most:
            continue
        of_number = np.array([one is not None and is_number(one) for one in categories])
        if not of_number.any() or table.is_category(dtypes[j]):
            continue
        counts = counts_of(j)
        missing = np.array([one is None for one in categories])
        n_unparseable = counts[~of_number & ~missing].sum()
        n_known = counts[~missing].sum()
        if not 0 < n_unparseable <= MAX_UNPARSEABLE * n_known:
            continue
        strays = [categories[code] for code in np.flatnonzero(~of_number & ~missing)]
        shown = ", ".join(map(repr, strays[:3])) + (", ..." if len(strays) > 3 else "")
        name = table.name(j)
        warn(
            f"Column {name} holds strings, so it is nominal with {len(categories)} "
            f"categories; but only {n_unparseable} of its {n_known} values are not "
            f"numbers ({shown}). If they are missing values, {table.to_numbers(name)} "
            f"makes a column of numbers of it; if not, {table.declaring} says so."
        )
