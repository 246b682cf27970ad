"""Columns of dates, and columns of numbers with a few unparseable values."""

import datetime
import re

import numpy as np

from ..utils._warnings import warn

DATES = (
    "Convert dates to numeric features such as days since the first date, the month or "
    "the day of the week."
)
N_CHECKED = 100  # number of values of a string column to check
DAY, TIME = "day", "time"  # columns of days since 1970-01-01, without and with time
_EPOCH = datetime.datetime(1970, 1, 1)
_DATE_TYPES = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    np.datetime64,
    np.timedelta64,
)
_DATE_PATTERN = re.compile(r"\d{4}([-/.])\d\d?\1\d\d?\b|\d\d?([-/.])\d\d?\2\d{4}\b")


def is_date(value):
    """Whether a Python object is a date, a time or a duration."""
    # Period is a class of pandas, which is not imported
    return isinstance(value, _DATE_TYPES) or type(value).__name__ == "Period"


def look_like_dates(values):
    """Whether the first strings, except missing values, start with a date."""
    n = 0
    for value in values:
        if isinstance(value, str):
            if _DATE_PATTERN.match(value) is None:
                return False
            n += 1
            if n == N_CHECKED:
                break
    return n > 0


def format_date(days, kind):
    """Format days since 1970-01-01 as a date, rounded down; None if out of range."""
    try:
        when = _EPOCH + datetime.timedelta(days=days)
    except (OverflowError, ValueError):
        return None
    if kind == DAY:
        return when.date().isoformat()
    return when.isoformat(" ", timespec="minutes")


MAX_UNPARSEABLE = 0.1  # largest share of unparseable values in a column of numbers


def is_number(text):
    """Whether a string is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def warn_of_unparseable(table, counts_of, features, max_categories):
    """Warn of columns of numbers that are nominal because of unparseable values.

    `table` is a `Table` (`_frames.py`), an array or data frame, and `features` has the
    categories of its nominal columns and their type (`kind`). `counts_of(j)` returns
    the number of rows of each category of column j. `table.declaring` describes how a
    user declares a nominal column.
    """
    dtypes = list(table.dtypes(table.X))
    for j, categories in enumerate(features.categories):
        if (
            categories is None
            or features.kind(j) != "text"
            or len(categories) > max_categories
        ):
            continue
        of_number = np.array(
            [value is not None and is_number(value) for value in categories]
        )
        if not of_number.any() or table.is_category(dtypes[j]):
            continue
        counts = counts_of(j)
        missing = np.array([value is None for value in categories])
        n_unparseable = counts[~of_number & ~missing].sum()
        n_known = counts[~missing].sum()
        if not 0 < n_unparseable <= MAX_UNPARSEABLE * n_known:
            continue
        unparseable = [
            categories[code] for code in np.flatnonzero(~of_number & ~missing)
        ]
        shown = ", ".join(map(repr, unparseable[:3])) + (
            ", ..." if len(unparseable) > 3 else ""
        )
        name = table.name(j)
        warn(
            f"Column {name} has strings, so it is nominal with {len(categories)} "
            f"categories. However, only {n_unparseable} of its {n_known} values are "
            f"not numbers ({shown}). If these are missing values, convert the column "
            f"with {table.to_numbers(name)}. If not, declare it by {table.declaring}."
        )
