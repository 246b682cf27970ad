"""What is odd about a table, in sentences with the way out."""

import hashlib

import numpy as np

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
        earlier = first.setdefault(_digest(column), name)
        if earlier != name:
            notes.append(f"column {name!r} is an exact copy of column {earlier!r}")
        if renames(column.tolist(), classes, n_classes):
            notes.append(
                f"column {name!r} has one value for each class of {target!r} and gives "
                "it away; --drop it if it will not be known when rows are predicted"
            )
    return notes


def _digest(column):
    """What equal columns have in common, in a few bytes."""
    if column.dtype == object:
        written = "\0".join(map(repr, column.tolist())).encode()
    else:
        written = np.ascontiguousarray(column)
    return hashlib.sha256(written).digest()


def renames(values, classes, n_classes):
    """Whether there is one value for each class, which no other class has."""
    seen = {}
    for value, label in zip(values, classes, strict=True):
        value = value if value == value else None  # NaN equals no other
        if seen.setdefault(value, label) != label or len(seen) > n_classes:
            return False
    return len(seen) == len(set(seen.values())) == n_classes


def unknown_notes(X, features, categories):
    """Say how many rows have categories that a model has never seen, and which.

    `categories` has those of each nominal column, None for others.
    """
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
