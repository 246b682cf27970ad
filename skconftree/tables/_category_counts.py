"""Categories of a table that is read in parts: the union, and how often each occurs."""

import numpy as np

from ._features import FEW_CATEGORIES, MISSING, Dictionary, Features, sort_categories
from ._frames import Table, mixture

MOST_COUNTED = 1_000_000  # categories of a column, all of which are in memory


class CategoryCounts:
    """How many rows have each category of the nominal columns.

    What comes of them does not depend on how the rows are divided into parts.
    """

    def __init__(self, is_nominal, names):
        self._counts = [{} if one else None for one in is_nominal]
        self._kinds = [None] * len(is_nominal)
        self._names = names

    def add(self, found):
        """Add what `count_categories` has found in a part."""
        for j, (kind, counts) in found.items():
            known = self._kinds[j]
            if kind is not None and known not in (None, kind):
                raise ValueError(mixture(self._names[j], {known, kind}))
            self._kinds[j] = known if kind is None else kind
            mine = self._counts[j]
            for value, count in counts.items():
                mine[value] = mine.get(value, 0) + count
            if len(mine) > MOST_COUNTED:
                raise ValueError(
                    f"Column {self._names[j]} has more than {MOST_COUNTED} categories. "
                    "Leave it out, or name the others in columns."
                )

    def features(self):
        """Columns with all their categories, in their order; they wait for limits."""
        dictionaries = []
        for kind, counts, name in zip(
            self._kinds, self._counts, self._names, strict=True
        ):
            if counts is None:
                dictionaries.append(None)
                continue
            order = sort_categories(set(counts), name)
            codes = {value: code for code, value in enumerate(order)}
            dictionaries.append(Dictionary(kind, codes, name=name))
        return Features(dictionaries)

    def within_limits(self, features):
        """The columns, those given up that tell rows apart; raise if that is wrong."""
        return Features(
            [
                None if one is None else one.within_limits(lambda j=j: self._apart(j))
                for j, one in enumerate(features.dictionaries)
            ]
        )

    def identifying(self, features):
        """Which columns tell rows apart rather than describe them."""
        return np.array(
            [
                one is not None
                and (
                    one.given_up or (len(one.codes) > FEW_CATEGORIES and self._apart(j))
                )
                for j, one in enumerate(features.dictionaries)
            ]
        )

    def of(self, features, j):
        """Rows of each category of a column, by code."""
        return np.array([self._counts[j][one] for one in features.categories[j]])

    def _apart(self, j):
        # Whether more than half of the rows have a category of their own.
        counts = np.fromiter(self._counts[j].values(), np.int64)
        return 2 * np.count_nonzero(counts == 1) > counts.sum()


def count_categories(frame, kept, caller):
    """Kind and counts of the categories of each column of a frame, all nominal.

    `kept`: of these rows, None: of all.
    """
    table, found = Table.of(frame, caller), []
    for j in range(table.shape[1]):
        codes, dictionary = Dictionary().encode(
            *table.categories(j), table.name(j), learn=True
        )
        codes = codes.astype(np.intp)
        codes = codes if kept is None else codes[kept]
        rows = np.bincount(codes, minlength=len(dictionary.codes)).tolist()
        counts = dict(zip(dictionary.codes, rows, strict=True))
        counts = {value: count for value, count in counts.items() if count}
        only_missing = set(counts) <= {MISSING}
        found.append((None if only_missing else dictionary.kind, counts))
    return found
