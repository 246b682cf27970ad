"""Pictures of the development pages: the layers of packages, and the life of a row."""

from drawing import PALE, SOFT, STRONG, Picture

WIDTH, MARGIN = 700, 20

# From the top: a package imports from lower layers only. A package such as `active` has
# the common code of its nested packages.
LAYERS = (
    ("use the public API", ("inspection", "testing", "_cli")),
    ("learners", ("active/session",)),
    ("", ("active/pool", "active/stream", "active/lts", "active/ec2")),
    ("", ("active", "evaluation", "linear_model")),
    ("tables in parts", ("large",)),
    ("many trees", ("ensemble/forest", "ensemble/ncm")),
    ("", ("ensemble",)),
    ("the estimator", ("tree",)),
    ("growth, reading", ("tree/batch", "tree/stream", "tree/pruning", "tree/reading")),
    ("", ("tree/split", "tree/leaves")),
    ("the grown tree", ("tree/nodes",)),
    ("counts, columns, losses", ("bounds", "tables", "drift", "datasets")),
    ("scores of counts", ("criteria",)),
    ("basics", ("utils", "_compat")),
)

# What is done with a row, in which files, and what the row is afterwards.
PATHS = {
    "row-batch": (
        "The life of a row in fit",
        (
            (
                "Take the lock; read the parameters",
                "tree/_classes.py, tree/_growth.py",
                "a row of the user's table",
            ),
            (
                "Validate columns, labels and weights",
                "tree/_growth.py, tables/_schema.py, tables/_labels.py",
                "float32 numbers and codes of categories: Rows, TrainingTable",
            ),
            (
                "Encode each column once, for all trees and threads",
                "tables/_growth_data.py, tables/_encoded_table.pyx",
                "rank codes or a position in a presorted column: EncodedTable",
            ),
            (
                "Create a working copy, in the order of nodes",
                "tree/batch/_grow.py, tree/batch/_node_rows.pyx",
                "an entry of NodeRows, partitioned in place",
            ),
            (
                "For each node: scan the candidate splits; the bound decides",
                "tree/batch/_builder.pyx, tree/split/_scan.pyx, bounds/_contract.pxd",
                "on one side of each split, and counted in each node that it passes",
            ),
            (
                "Prune; shrink leaf probabilities toward the parents",
                "tree/_parameters.py, tree/pruning/_registry.py",
                "one of the counts of the pruned Tree",
            ),
            (
                "Replace the previous model by the complete one",
                "tree/_model.py",
                "",
            ),
        ),
    ),
    "row-stream": (
        "The life of a row in partial_fit",
        (
            (
                "Take the lock; validate the whole call first",
                "tree/_classes.py, tables/_partial_fit.py",
                "a row of the user's chunk",
            ),
            (
                "Encode it with the columns determined by the first call",
                "tables/_schema.py, tables/_labels.py",
                "float32 numbers and codes: Rows, in a Call",
            ),
            (
                "Create a growing model if there is none; reserve memory",
                "tree/_growth.py, tree/_model.py, tree/stream/_state.py",
                "the next row of Grower.learn, without the GIL",
            ),
            (
                "Route it to its leaf; predict it, if requested",
                "tree/nodes/_routing.pyx, tree/leaves/_predictor.pyx",
                "a row at a leaf",
            ),
            (
                "Count it in the tree, add it to the memory of the leaf",
                "tree/stream/_grower.pyx, tree/leaves/_leaf_store.pyx",
                "rows, bins or moments of a leaf",
            ),
            (
                "After grace_period rows: scan the candidates; the bound decides",
                "tree/stream/_leaf_source.pyx, tree/split/_splitter.pyx",
                "evidence for a split, or for none",
            ),
            (
                "Split the leaf; pass its memory to the children",
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
        "The life of a row in a forest",
        (
            (
                "fit: read and encode the table once for all trees",
                "ensemble/forest/_growth.py, tree/_growth.py",
                "one row of one EncodedTable",
            ),
            (
                "Draw how often it is in each tree's sample",
                "ensemble/forest/_model.py, ensemble/forest/_voting.pyx",
                "an integer count of the row; rows are never copied",
            ),
            (
                "Grow the trees in parallel, like single trees",
                "ensemble/forest/_growth.py, tree/_parameters.py",
                "counted in a TreeModel for each tree",
            ),
            (
                "partial_fit: the same protocol as for a tree",
                "tables/_partial_fit.py, ensemble/forest/_model.py",
                "a row of a step of at most 1,024 rows",
            ),
            (
                "Train each tree on it as often as a Poisson number",
                "ensemble/forest/_stepping.py, ensemble/forest/_streaming.pyx",
                "used by all trees before the next step begins",
            ),
            (
                "predict: add up the votes of the trees, block by block",
                "ensemble/forest/_prediction.py, ensemble/forest/_voting.pyx",
                "",
            ),
        ),
    ),
    "row-query": (
        "The life of a row in an active learner",
        (
            (
                "Store the pool unchanged",
                "active/pool/_pool_learner.py, active/pool/_teach.py",
                "an unlabeled row of the pool",
            ),
            (
                "query: pass the candidates to the strategy",
                "active/pool/_query.py, active/pool/_context.py",
                "a candidate of a QueryContext",
            ),
            (
                "Score the candidates; select the largest, ties at random",
                "active/_strategy.py, active/_registry.py",
                "a row index returned by query",
            ),
            (
                "teach: validate the label and write it to the journal",
                "active/pool/_pool_learner.py, active/_labels.py",
                "a row of a Batch with its label",
            ),
            (
                "Refit, or continue with partial_fit; update the index",
                "active/pool/_teach.py, tree/_row_index.py",
                "a training row of the classifier",
            ),
            (
                "Before the next query: check the stopping rules",
                "active/_stopping.py, active/pool/_stopping.py",
                "",
            ),
        ),
    ),
}


def draw_layers():
    """Draw the layers of packages, each above those that it may import."""
    height, gap = 34, 10
    picture = Picture(
        WIDTH,
        2 * MARGIN + len(LAYERS) * (height + gap) - gap,
        "Layers of the package: each package imports from lower layers only",
    )
    left, y = 190, MARGIN
    for name, packages in LAYERS:
        if name:
            picture.say(MARGIN, y + 21, name, fill=SOFT)
        width = (WIDTH - MARGIN - left - gap * (len(packages) - 1)) / len(packages)
        for i, package in enumerate(packages):
            x = left + i * (width + gap)
            picture.box(x, y, width, height, fill=PALE, radius=4)
            picture.say(x + width / 2, y + 21, package, anchor="middle")
        y += height + gap
    return picture


def draw_path(name):
    """Draw the steps from the top down, with the state of the row at each arrow."""
    title, steps = PATHS[name]
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


MAPS = {"layers": draw_layers} | {
    name: (lambda name=name: draw_path(name)) for name in PATHS
}
