"""Dates: a tree has to be told what matters, and may be told where days are counted."""

import datetime
import re

import numpy as np

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
    """Write days since 1970-01-01 as a date; None where no calendar has it.

    Of days the whole ones count, as in ``<=``: half past 2024-01-31 lies between it and
    the day after.
    """
    try:
        when = _FIRST + datetime.timedelta(days=days)
    except (OverflowError, ValueError):
        return None
    if kind == DAY:
        return when.date().isoformat()
    return when.isoformat(" ", timespec="minutes")
