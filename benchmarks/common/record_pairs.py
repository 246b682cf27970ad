"""Pairs of records, some of which are of the same person: entity resolution."""

import numpy as np
from sklearn.utils import check_random_state

from .record_texts import (
    DIGIT,
    digits,
    draw_words,
    edit_similarity,
    make_words,
    mistype,
)

FIRST_NAMES, LAST_NAMES, STREETS, TOWNS = 400, 1500, 1200, 200
HOUSEHOLD = 4  # people of one household, at most


def make_record_pairs(
    n_entities=2000,
    n_pairs=20_000,
    *,
    imbalance=100.0,
    typos=0.3,
    return_records=False,
    random_state=None,
):
    """Make pairs of records of people; the label says whether they are of the same one.

    Each person has a record with names, an address and a date of birth. Some have
    copies with errors: each field of a copy is mistyped with probability `typos`, and
    with a quarter of it the address is another one (a removal), the last name is
    another one (a marriage), the first name is an initial, or day and month of birth
    have changed places.

    People live in neighborhoods, and pairs exist within these blocks only, never
    between all records. Families share a name and an address, twins the date of birth,
    and some children have the first name of a parent: pairs that look alike and are not
    of the same person.

    Parameters
    ----------
    n_entities : int, default=2000
        People.
    n_pairs : int, default=20000
        Pairs, matches included.
    imbalance : float, default=100
        Pairs of different people for each match. There is at least one match.
    typos : float, default=0.3
        Probability, in [0, 1], that a field of a copy is mistyped.
    return_records : bool, default=False
        Give the records, and which of them make each pair, as well.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same pairs on every call.

    Returns
    -------
    X : ndarray of shape (n_pairs, 10), float32
        Similarities, 1 for the same: first name, initial, last name, street, house
        number, town and postcode (by edit distance or shares of equal digits), date of
        birth (equal digits), year of birth, and day and month in either order.
    y : ndarray of shape (n_pairs,), intp
        1 for a match, else 0.
    records : ndarray of shape (n_records,), structured
        Fields ``first_name``, ``last_name``, ``street``, ``number``, ``town``,
        ``postcode`` and ``birth_date``; the copies come behind the people. Only if
        `return_records`.
    pairs : ndarray of shape (n_pairs, 2), intp
        Places of the two records. Only if `return_records`.

    Examples
    --------
    >>> from common.record_pairs import make_record_pairs
    >>> X, y = make_record_pairs(500, 5050, imbalance=100, random_state=0)
    >>> X.shape, int(y.sum())
    ((5050, 10), 50)
    >>> bool(X[y == 1, 0].mean() > X[y == 0, 0].mean())
    True
    """
    n_matches = min(max(1, round(n_pairs / (1.0 + imbalance))), n_pairs)
    n_others = n_pairs - n_matches
    rng = check_random_state(random_state)
    block = _block_size(n_entities, n_others)
    people = _make_people(rng, n_entities, block)
    owners = np.arange(n_matches) % n_entities
    if n_matches < n_entities:
        owners = np.sort(rng.permutation(n_entities)[:n_matches])
    copies = _copy(rng, people, owners, typos)
    records = {name: np.vstack([people[name], copies[name]]) for name in people}

    others = _pairs_in_blocks(rng, n_entities, block, n_others)
    others = _any_record(rng, others, n_entities, owners)
    matches = np.column_stack([owners, n_entities + np.arange(n_matches)])
    pairs = np.vstack([others, matches])
    y = np.repeat(np.array([0, 1], dtype=np.intp), [n_others, n_matches])
    order = rng.permutation(n_pairs)
    pairs, y = pairs[order], y[order]
    X = _similarities(records, pairs)
    return (X, y, _as_texts(records), pairs) if return_records else (X, y)


def _block_size(n_entities, n_others):
    # The smallest blocks that hold so many pairs of different people.
    low, high = 2, n_entities
    while low < high:
        middle = (low + high) // 2
        if _count_pairs(n_entities, middle) >= n_others:
            high = middle
        else:
            low = middle + 1
    return low


def _count_pairs(n_entities, block):
    full, rest = divmod(n_entities, block)
    return full * (block * (block - 1) // 2) + rest * (rest - 1) // 2


def _make_people(rng, n, block):
    places = np.arange(n)
    neighborhood = places // block
    # people side by side are a household, none of which spans two neighborhoods
    first = rng.random_sample(n) < 2.0 / (1 + HOUSEHOLD)
    first |= places % block == 0
    household = np.cumsum(first) - 1
    starts = np.flatnonzero(first)
    n_homes, n_blocks = len(starts), neighborhood[-1] + 1

    given = draw_words(rng, make_words(rng, FIRST_NAMES, 10), n)
    elder = starts[household]
    junior = rng.random_sample(n) < 0.05
    given[junior] = given[elder[junior]]
    surname = draw_words(rng, make_words(rng, LAST_NAMES, 12, 4), n_homes)
    # a neighborhood has a few streets of its own
    per_block = max(2, block // 8)
    names = make_words(rng, STREETS, 14, 5)
    own = rng.randint(STREETS, size=(n_blocks, per_block))
    home = neighborhood[starts]
    street = names[own[home, rng.randint(per_block, size=n_homes)]]
    # and lies in a few towns, whose postcodes begin alike
    towns = make_words(rng, TOWNS, 10, 4)
    own = rng.randint(TOWNS, size=(n_blocks, 3))
    town = towns[own[home, rng.randint(3, size=n_homes)]]
    area = rng.randint(100, 1000, size=n_blocks)
    postcode = digits(area[home] * 100 + rng.randint(100, size=n_homes), 5)
    born = rng.randint(1935, 2010, size=n)
    born = digits(born * 10_000 + rng.randint(1, 13, size=n) * 100, 8)
    born[:, 6:] = digits(rng.randint(1, 29, size=n), 2)
    twin = ~first & (rng.random_sample(n) < 0.01)
    born[twin] = born[np.flatnonzero(twin) - 1]
    return {
        "first_name": given,
        "last_name": surname[household],
        "street": street[household],
        "number": digits(rng.randint(1, 200, size=n_homes), 3)[household],
        "town": town[household],
        "postcode": postcode[household],
        "birth_date": born,
    }


def _copy(rng, people, owners, typos):
    copies = {name: texts[owners].copy() for name, texts in people.items()}
    n, rare = len(owners), typos / 4

    def some(share):
        return np.flatnonzero(rng.random_sample(n) < share)

    moved = some(rare)
    other = rng.randint(len(people["street"]), size=len(moved))
    for name in ("street", "number", "town", "postcode"):
        copies[name][moved] = people[name][other]
    married = some(rare)
    other = rng.randint(len(people["last_name"]), size=len(married))
    copies["last_name"][married] = people["last_name"][other]
    turned = some(rare)
    columns = [0, 1, 2, 3, 6, 7, 4, 5]
    copies["birth_date"][turned] = copies["birth_date"][turned][:, columns]
    for name, texts in copies.items():
        fixed = name in ("number", "postcode", "birth_date")
        mistype(rng, texts, rng.random_sample(n) < typos, fixed)
    short = some(rare)
    copies["first_name"][short, 1:] = 0
    return copies


def _pairs_in_blocks(rng, n, block, n_others):
    # Places of people; all pairs of a block are numbered, and some numbers drawn.
    numbers = _draw_distinct(rng, _count_pairs(n, block), n_others)
    each = block * (block - 1) // 2
    start = numbers // each * block
    within = numbers % each
    # of pairs (i, j), i < j: numbered j (j - 1) / 2 + i
    j = ((1.0 + np.sqrt(1.0 + 8.0 * within)) / 2.0).astype(np.int64)
    j -= j * (j - 1) // 2 > within
    j += j * (j + 1) // 2 <= within
    i = within - j * (j - 1) // 2
    return np.column_stack([start + i, start + j])


def _draw_distinct(rng, n, k):
    # k different numbers below n, without an array of n of them where k is small.
    if k > n // 4:
        return rng.permutation(n)[:k]
    found = np.empty(0, dtype=np.int64)
    while len(found) < k:
        more = rng.randint(n, size=k - len(found) + 16, dtype=np.int64)
        found = np.unique(np.concatenate([found, more]))
    return rng.permutation(found)[:k]


def _any_record(rng, pairs, n_entities, owners):
    # A person may be in a pair by a copy.
    n_copies = np.bincount(owners, minlength=n_entities)
    first = np.zeros(n_entities, dtype=np.intp)
    order = np.argsort(owners, kind="stable")
    first[owners[order][::-1]] = np.arange(len(owners))[::-1]
    drawn = (rng.random_sample(pairs.shape) * (1 + n_copies[pairs])).astype(np.intp)
    copy = order[np.minimum(first[pairs] + drawn - 1, len(owners) - 1)]
    return np.where(drawn == 0, pairs, n_entities + copy).astype(np.intp)


def _similarities(records, pairs):
    left, right = pairs.T
    X = np.empty((len(pairs), 10), dtype=np.float32)

    def both(name):
        return records[name][left], records[name][right]

    a, b = both("first_name")
    X[:, 0] = edit_similarity(a, b)
    X[:, 1] = a[:, 0] == b[:, 0]
    for column, name in ((2, "last_name"), (3, "street"), (5, "town")):
        X[:, column] = edit_similarity(*both(name))
    for column, name in ((4, "number"), (6, "postcode"), (7, "birth_date")):
        a, b = both(name)
        X[:, column] = (a == b).mean(axis=1)
    years = [
        (text[:, :4].astype(np.int32) - DIGIT) @ np.array([1000, 100, 10, 1])
        for text in (a, b)
    ]
    X[:, 8] = 1.0 / (1.0 + np.abs(years[0] - years[1]))
    month, day = slice(4, 6), slice(6, 8)
    same = (a[:, 4:] == b[:, 4:]).all(axis=1)
    turned = (a[:, month] == b[:, day]).all(axis=1)
    turned &= (a[:, day] == b[:, month]).all(axis=1)
    X[:, 9] = same | turned
    return X


def _as_texts(records):
    parts = {
        name: np.ascontiguousarray(texts).view(f"S{texts.shape[1]}")[:, 0].astype(str)
        for name, texts in records.items()
    }
    kinds = [(name, texts.dtype) for name, texts in parts.items()]
    out = np.empty(len(parts["town"]), dtype=kinds)
    for name, texts in parts.items():
        out[name] = texts
    return out
