"""What a person types to choose a label."""

MOST_LISTED = 20  # keys in a sentence


def choices(labels, commands=()):
    """Key of each label, and the place of the label that each text means.

    Keys are positions from 1 on, and a label can be typed as itself too. If a label is
    the number of another one's position, as 1 is among 0, 1 and 2, then keys are the
    labels: whoever reads 1 and types 1 means that label. `commands` are texts that mean
    something else.
    """
    own = {}
    for place, label in enumerate(labels):
        own.setdefault(str(label).strip(), place)
        if isinstance(label, float) and label.is_integer():
            own.setdefault(str(int(label)), place)
    positions = {str(place + 1): place for place in range(len(labels))}
    differ = any(own.get(text, place) != place for text, place in positions.items())
    if not differ or not own.keys().isdisjoint(commands):
        return list(positions), own | positions
    return [str(label).strip() for label in labels], own


def menu_entries(keys, labels):
    """What a menu has for each label: its key, and the label if that differs."""
    for key, label in zip(keys, labels, strict=True):
        yield f"[{key}]" if key == str(label) else f"[{key}] {label}"


def keys_text(keys, noun="number"):
    """Say in a few words what may be typed: a `noun`, or the label itself."""
    if keys == [str(place + 1) for place in range(len(keys))]:
        itself = ", the label itself" if noun == "number" else ""
        return f"a {noun} from 1 to {len(keys)}{itself}"
    more = ", ..." if len(keys) > MOST_LISTED else ""
    return f"one of {', '.join(keys[:MOST_LISTED])}{more}"
