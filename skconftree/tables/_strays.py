"""Columns of strings most of which are numbers."""

import numpy as np

from ..utils._warnings import warn

MOST_STRAYS = 0.1  # share of the values of such a column that are no numbers


def is_number(text):
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def warn_of_strays(table, counts_of, features, most):
    """Warn of columns that a stray word has made nominal.

    `counts_of` tells how many rows have each category of a column. Columns with more
    than `most` categories are not looked at: other words are said of these.
    """
    dtypes = list(table.dtypes(table.X))
    for j, categories in enumerate(features.categories):
        if categories is None or features.kind(j) != "text" or len(categories) > most:
            continue
        of_number = np.array([one is not None and is_number(one) for one in categories])
        if not of_number.any() or table.is_category(dtypes[j]):
            continue
        counts = counts_of(j)
        missing = np.array([one is None for one in categories])
        n_strays = counts[~of_number & ~missing].sum()
        n_known = counts[~missing].sum()
        if not 0 < n_strays <= MOST_STRAYS * n_known:
            continue
        strays = [categories[code] for code in np.flatnonzero(~of_number & ~missing)]
        shown = ", ".join(map(repr, strays[:3])) + (", ..." if len(strays) > 3 else "")
        name = table.name(j)
        warn(
            f"Column {name} holds strings, so it is nominal with {len(categories)} "
            f"categories; but only {n_strays} of its {n_known} values are no numbers "
            f"({shown}). If they stand for missing values, {table.to_numbers(name)} "
            f"makes a column of numbers of it; if not, {table.declaring} says so."
        )
