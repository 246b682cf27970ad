"""Columns that a command of the console script has written into a table before.

What a model has predicted is not a property of a row: a tree that learns from it is
right about its own training data, and of no use for new rows.
"""

from ._text import UserError

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
