"""A table none of whose categories a model has ever seen."""

import numpy as np

from ..utils import is_missing
from ..utils._warnings import warn_once
from ._features import MISSING, UNKNOWN

FEWEST = 10  # rows that tell a mistake from rare categories
SHOWN = 3


def warn_of_unknown(table, rows, features):
    """Warn, once a model, of columns that have none of the categories of `fit`.

    Unknown categories among others are the way of the world, above all where few rows
    have been learnt; a column of nothing else is written in another way, or is another
    column.
    """
    if len(rows) < FEWEST:
        return
    for j in np.flatnonzero(features.is_categorical).tolist():
        codes = features.dictionaries[j].codes
        is_known = rows[:, j] != UNKNOWN
        if MISSING in codes:
            is_known &= rows[:, j] != codes[MISSING]
        if is_known.any():
            continue
        found, values = table.categories(j)
        new = [values[place] for place in np.unique(found) if place >= 0]
        new = [one for one in new if not is_missing(one)]
        known = [one for one in codes if one is not MISSING]
        if not known or not new:
            continue
        warn_once(
            features,
            j,
            f"Column {table.name(j)} has nothing but categories that were not there at "
            f"fit, in all {len(rows)} rows: {_some(new)}; known are {_some(known)}. "
            "What asks for the column says nothing of such rows. Write them as they "
            "were written at fit, case and blanks included.",
        )


def _some(values):
    more = ", ..." if len(values) > SHOWN else ""
    return ", ".join(map(repr, values[:SHOWN])) + more
