"""What stands in the boxes of a tree, whoever draws them, and what a node answers."""

import re

# Widths of letters in ems, of a sans serif.
NARROW, WIDE = set("iljtfrI.,:;'|!()[]{} -"), set("mwMW%@<>=")
DOTS = "..."


def asked(row):
    """What a node asks of its column, without the name."""
    return row.test[len(row.name) + 1 :] if row.n_children == 2 else "which category?"


def branch_words(row):
    """What stands beside the ways out of a node."""
    if row.n_children == 2:
        return ["yes", "no"]
    return [one.words[len(row.name) + 1 :] for one in row.branches]


def box_head(row, broken):
    """The first lines of a box, in bold: `broken` breaks a text into so many lines."""
    if not row.branches:
        return broken(str(row.label), 2)
    return [*broken(row.name, 2), *broken(asked(row), 2)]


def box_lines(row, broken, *, is_end):
    """What stands below the strip of a box."""
    if not row.branches:
        return row.outcome.split(", ")
    sure = row.strength
    tie = broken(row.tie, 2) if row.tie else []
    rows = f"{row.rows}, split further" if is_end else row.rows
    return [sure.word, *tie, *filter(None, [sure.expected]), rows]


def node_answer(table, row):
    """What a node says when asked: how one gets there, and what is there."""
    path, one = [], row
    while one.parent >= 0:
        parent = table[one.parent]
        path.append(next(b.words for b in parent.branches if b.node == one.node))
        one = parent
    where = " and ".join(reversed(path)) or "all rows"
    if not row.branches:
        return f"{where}: class {row.label}, {row.outcome}"
    sure = "; ".join(filter(None, [row.sure, row.lookahead]))
    return f"{where}: {row.rows}, asked whether {row.test} ({sure})"


def in_one_line(text):
    """A text without ends of lines, which pictures have no glyphs for."""
    return re.sub(r"\s+", " ", text).strip()


def width_in(text, size):
    """About how wide a text is at most, in the unit of `size`."""
    return size * sum(
        0.36
        if one in NARROW
        else 0.9
        if one in WIDE
        else 0.68
        if one.isupper()
        else 0.64
        if one.isdigit()
        else 0.6
        for one in text
    )


def wrapped(text, size, most, n_lines, width=width_in):
    """Break a text at words into lines; dots stand for what these have no room for.

    `width` gives the width of a text whose letters are of such a size.
    """
    found = [""]
    words = in_one_line(text).split(" ")
    for place, word in enumerate(words):
        longer = f"{found[-1]} {word}".strip()
        if width(longer, size) <= most or not found[-1]:
            found[-1] = longer
        elif len(found) < n_lines:
            found.append(word)
        else:
            found[-1] = " ".join([found[-1], *words[place:]])
            break
    return [cut(one, size, most, width) for one in found]


def cut(text, size, most, width=width_in):
    """Leave out the last words of a text that is too wide, or part of its only one."""
    text = in_one_line(text)
    if width(text, size) <= most:
        return text
    while text and width(f"{text}{DOTS}", size) > most:
        shorter = text.rpartition(" ")[0]
        text = shorter or text[:-1]
    return f"{text}{DOTS}"
