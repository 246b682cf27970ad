"""The picture of the passes of a fit to a table in parts."""

from drawing import INK, LINE, PALE, SOFT, STRONG, Picture

# What a pass reads, what each part gives, and what the sum of all parts tells.
PASSES = (
    ("labels", "classes of its rows", "the classes of the table"),
    ("columns of categories", "how often each occurs", "the categories, sorted"),
    ("numbers, first 16 bits", "65,536 counts a column", "cells in which bins meet"),
    ("numbers, next 8 bits", "256 counts a cell", "smaller cells, if any"),
    ("numbers, last 8 bits", "256 counts a cell", "the exact bins"),
    ("all columns", "one byte a number: its bin", "the table, as codes"),
    ("codes, node by node", "classes by bins of each node", "the tree"),
)
WIDTH, LEFT, STEP, TOP = 700, 210, 62, 62
N_PARTS, PART, GAP = 4, 34, 6


def draw_passes():
    """Rows of parts that are counted one by one, and added up."""
    picture = Picture(
        WIDTH,
        TOP + STEP * len(PASSES) + 8,
        "A fit to a table in parts: counts of its parts are added up, pass by pass",
    )
    parts = N_PARTS * PART + (N_PARTS - 1) * GAP
    sums = LEFT + parts + 46
    for x, head in (
        (20, "a pass over"),
        (LEFT, "each part gives"),
        (sums, "the sum gives"),
    ):
        picture.say(x, 28, head, size=13, bold=True)
    picture.line(20, 40, WIDTH - 20, 40, stroke=LINE)
    for i, (what, gives, tells) in enumerate(PASSES):
        y = TOP + STEP * i
        picture.say(20, y + 13, what, size=13)
        for k in range(N_PARTS):
            x = LEFT + k * (PART + GAP)
            picture.box(x, y, PART, 15, fill=PALE, radius=3)
        picture.say(LEFT, y + 34, gives, size=12, fill=SOFT)
        end = LEFT + parts
        picture.line(end + 6, y + 8, sums - 14, y + 8, stroke=INK, width=1.5)
        picture.add(
            "path",
            d=f"M{sums - 14} {y + 3} l9 5 l-9 5 z",
            fill=INK,
        )
        picture.box(sums, y, 15, 15, fill=STRONG, radius=3)
        picture.say(sums + 24, y + 13, tells, size=13)
        if i + 1 < len(PASSES):
            picture.line(sums + 7.5, y + 19, sums + 7.5, y + STEP - 4, stroke=STRONG)
    return picture
