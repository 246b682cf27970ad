"""Pictures for those who change the package: its rooms, and four lives of a row."""

from drawing import PALE, SOFT, STRONG, Picture

WIDTH, MARGIN = 700, 20

# From the top: a room imports from floors below its own. What is written under one
# door, such as `active`, is shared by the rooms inside.
FLOORS = (
    ("outside, by public names", ("inspection", "testing", "_cli")),
    ("learners", ("active/session",)),
    ("", ("active/pool", "active/stream", "active/lts", "active/ec2")),
    ("", ("active", "evaluation", "linear_model")),
    ("growth from parts", ("large",)),
    ("many trees", ("ensemble/forest", "ensemble/ncm")),
    ("", ("ensemble",)),
    ("the estimator", ("tree",)),
    ("growth, reading", ("tree/batch", "tree/stream", "tree/pruning", "tree/reading")),
    ("", ("tree/split", "tree/leaves")),
    ("the grown tree", ("tree/nodes",)),
    ("counts, columns, losses", ("bounds", "tables", "drift", "datasets")),
    ("scores of counts", ("criteria",)),
    ("knows nothing of ours", ("utils", "_compat")),
)

# What is done with a row, where, and what it is then.
ROADS = {
    "row-batch": (
        "One life of a row in fit",
        (
            (
                "Take the lock; read the parameters",
                "tree/_classes.py, tree/_growth.py",
                "a row of the user's table",
            ),
            (
                "Read columns, labels, weights; refuse what is wrong",
                "tree/_growth.py, tables/_schema.py, tables/_labels.py",
                "float32 numbers and codes of categories: Rows, TrainingTable",
            ),
            (
                "Encode each column once, for all trees and threads",
                "tables/_growth_data.py, tables/_encoded_table.pyx",
                "rank codes or a place in a presorted column: EncodedTable",
            ),
            (
                "Lay out a working copy, in the order of nodes",
                "tree/batch/_grow.py, tree/batch/_node_rows.pyx",
                "an entry of NodeRows, partitioned in place",
            ),
            (
                "Node by node: walk the tests, let the bound decide",
                "tree/batch/_builder.pyx, tree/split/_scan.pyx, bounds/_contract.pxd",
                "on one side of each test, and counted in each node that it passes",
            ),
            (
                "Prune; draw leaves towards the nodes above",
                "tree/_parameters.py, tree/pruning/_registry.py",
                "one of the counts of the pruned Tree",
            ),
            (
                "Put the finished model in the place of the last one",
                "tree/_model.py",
                "",
            ),
        ),
    ),
    "row-stream": (
        "One life of a row in partial_fit",
        (
            (
                "Take the lock; read and check the whole call first",
                "tree/_classes.py, tables/_partial_fit.py",
                "a row of the user's chunk",
            ),
            (
                "Read it by the columns that the first call settled",
                "tables/_schema.py, tables/_labels.py",
                "float32 numbers and codes: Rows, in a Call",
            ),
            (
                "Start a growing model if there is none; set memory aside",
                "tree/_growth.py, tree/_model.py, tree/stream/_state.py",
                "the next row of Grower.learn, without the GIL",
            ),
            (
                "Send it to its leaf; predict it, if that is asked for",
                "tree/nodes/_routing.pyx, tree/leaves/_predictor.pyx",
                "a row at a leaf",
            ),
            (
                "Count it in the tree, remember it in the leaf",
                "tree/stream/_grower.pyx, tree/leaves/_leaf_store.pyx",
                "rows, bins or moments of a leaf",
            ),
            (
                "After grace_period rows: walk the tests, let the bound decide",
                "tree/stream/_leaf_source.pyx, tree/split/_splitter.pyx",
                "evidence for a test, or against all",
            ),
            (
                "Split the leaf; hand its memory to the children",
                "tree/stream/_grower.pyx, tree/leaves/_leaf.pyx",
                "in the memory of a child",
            ),
            (
                "Every 1,024 rows: limit the memory, run signal handlers",
                "tree/stream/_grower.pyx",
                "",
            ),
        ),
    ),
    "row-forest": (
        "One life of a row in a forest",
        (
            (
                "fit: read and encode the table once for all trees",
                "ensemble/forest/_growth.py, tree/_growth.py",
                "one row of one EncodedTable",
            ),
            (
                "Draw how often it is in each tree's sample",
                "ensemble/forest/_model.py, ensemble/forest/_voting.pyx",
                "a whole count beside the row; rows are never copied",
            ),
            (
                "Grow trees side by side, as a single tree grows",
                "ensemble/forest/_growth.py, tree/_parameters.py",
                "counted in a TreeModel for each tree",
            ),
            (
                "partial_fit: the same protocol as a tree's",
                "tables/_partial_fit.py, ensemble/forest/_model.py",
                "a row of a step of at most 1,024 rows",
            ),
            (
                "Each tree learns it as often as a Poisson number says",
                "ensemble/forest/_stepping.py, ensemble/forest/_streaming.pyx",
                "learnt by all trees before the next step begins",
            ),
            (
                "predict: add up what the trees say, block by block",
                "ensemble/forest/_prediction.py, ensemble/forest/_voting.pyx",
                "",
            ),
        ),
    ),
    "row-query": (
        "One life of a row in an active learner",
        (
            (
                "Keep the pool as it was given",
                "active/pool/_learner.py, active/pool/_teach.py",
                "a place in the pool, without a label",
            ),
            (
                "query: show the strategy what may be asked about",
                "active/pool/_query.py, active/pool/_context.py",
                "a candidate of a QueryContext",
            ),
            (
                "Score the candidates; take the largest, ties by chance",
                "active/_strategy.py, active/_registry.py",
                "a place that query gives to the user",
            ),
            (
                "teach: check the answer and note it in the journal",
                "active/pool/_learner.py, active/_labels.py",
                "a row of a Batch with its label",
            ),
            (
                "Fit anew, or go on with partial_fit; an index follows",
                "active/pool/_teach.py, tree/_row_index.py",
                "a training row of the classifier",
            ),
            (
                "Before the next question: ask the stopping rules",
                "active/_stopping.py, active/pool/_stopping.py",
                "",
            ),
        ),
    ),
}


def draw_rooms():
    """Floors of rooms, each standing on what it may import."""
    height, gap = 34, 10
    picture = Picture(
        WIDTH,
        2 * MARGIN + len(FLOORS) * (height + gap) - gap,
        "The rooms of the package: each imports from floors below its own only",
    )
    left, y = 190, MARGIN
    for name, rooms in FLOORS:
        if name:
            picture.say(MARGIN, y + 21, name, fill=SOFT)
        width = (WIDTH - MARGIN - left - gap * (len(rooms) - 1)) / len(rooms)
        for i, room in enumerate(rooms):
            x = left + i * (width + gap)
            picture.box(x, y, width, height, fill=PALE, radius=4)
            picture.say(x + width / 2, y + 21, room, anchor="middle")
        y += height + gap
    return picture


def draw_road(name):
    """Steps from the top down; beside the arrows, what the row has become."""
    title, steps = ROADS[name]
    height, gap = 46, 32
    rows = len(steps) * (height + gap) - gap
    picture = Picture(WIDTH, 2 * MARGIN + rows, title)
    y = MARGIN
    for i, (does, where, becomes) in enumerate(steps):
        picture.box(MARGIN, y, WIDTH - 2 * MARGIN, height, fill=PALE, radius=4)
        picture.say(MARGIN + 12, y + 19, does, bold=True)
        picture.say(MARGIN + 12, y + 37, where, size=11)
        y += height
        if becomes and i + 1 < len(steps):
            x = MARGIN + 24
            picture.line(x, y, x, y + gap, stroke=STRONG, width=2.0)
            for side in (-5, 5):
                picture.line(
                    x + side, y + gap - 6, x, y + gap, stroke=STRONG, width=2.0
                )
            picture.say(x + 18, y + gap / 2 + 4, becomes, fill=SOFT)
        y += gap
    return picture


MAPS = {"rooms": draw_rooms} | {
    name: (lambda name=name: draw_road(name)) for name in ROADS
}
