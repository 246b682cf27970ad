"""Diagrams of the guide: how the parts of the package work together."""

from drawing import FAINT, GREEN, ORANGE, PALE, RED, SOFT, STRONG, Picture


def draw_one_engine():
    """One engine for tables, streams and labels."""
    picture = Picture(
        720, 330, "One engine grows trees from tables, from streams and with few labels"
    )
    inputs = (
        (40, "Table", ("fit: all rows at once",), STRONG),
        (130, "Stream", ("partial_fit: row by row",), GREEN),
        (220, "Unlabeled rows", ("query and teach:", "the most useful labels"), ORANGE),
    )
    for y, head, lines, color in inputs:
        picture.card(20, y, 172, 44 + 16 * (len(lines) - 1), head, lines)
        picture.box(20, y, 5, 44 + 16 * (len(lines) - 1), fill=color)
        picture.arrow(196, y + 24, 252, 160, stroke=color)
    picture.box(256, 56, 204, 206, fill=PALE, radius=8, stroke=STRONG)
    picture.say(358, 82, "One compiled engine", size=13, anchor="middle", bold=True)
    steps = (
        "search all candidate splits",
        "test the best one, adjusted",
        "for multiple comparisons",
        "split, or stop growing",
        "store the evidence",
    )
    for i, step in enumerate(steps):
        picture.say(358, 112 + 22 * i, step, size=12, anchor="middle")
    picture.line(290, 226, 426, 226, stroke=STRONG)
    picture.say(358, 248, "the same tree class", size=11, fill=SOFT, anchor="middle")
    outputs = (
        (30, "Predictions", ("classes and probabilities",)),
        (98, "Evidence", ("of each split, printed or drawn",)),
        (166, "Audit", ("which splits hold on new rows",)),
        (234, "Export", ("scikit-learn, ONNX, SQL",)),
    )
    for y, head, lines in outputs:
        picture.arrow(464, 160, 504, y + 24)
        picture.card(508, y, 196, 50, head, lines)
    picture.say(
        *(360, 314), "A forest is many such trees.", size=11, fill=SOFT, anchor="middle"
    )
    return picture


def steps_down(title, steps, *, width=680, notes=250):
    """Cards from the top down, each with a note beside its arrow."""
    gap, picture_height = 30, 44
    heights = [44 + 16 * (len(lines) - 1) for _, lines, *_ in steps]
    picture_height += sum(heights) + gap * (len(steps) - 1) + 14
    picture = Picture(width, picture_height, title)
    picture.say(14, 24, title, bold=True)
    y = 40
    for i, ((head, lines, note, color), height) in enumerate(
        zip(steps, heights, strict=True)
    ):
        picture.card(20, y, width - notes - 40, height, head, lines)
        picture.box(20, y, 5, height, fill=color)
        for k, line in enumerate(note):
            picture.say(width - notes, y + 18 + 16 * k, line, size=11, fill=SOFT)
        if i + 1 < len(steps):
            middle = 20 + (width - notes - 40) / 2
            picture.arrow(middle, y + height + 2, middle, y + height + gap - 2)
        y += height + gap
    return picture


def draw_node_fit():
    """What `fit` does to one node."""
    return steps_down(
        "What fit does to one node",
        (
            (
                "Count the classes of the rows",
                ("for each value or bin of each feature",),
                (),
                STRONG,
            ),
            (
                "Search all candidate splits",
                ("numeric thresholds, sets of categories, missing values",),
                ("often thousands of candidates",),
                STRONG,
            ),
            (
                "Test the best one",
                (
                    "p-value of the likelihood-ratio test,",
                    "times the number of candidates",
                ),
                ("= number expected by chance", "1 or more: the node becomes a leaf"),
                RED,
            ),
            (
                "Look ahead",
                ("grow a small tree below each of up to three", "accepted splits"),
                (
                    "the fewest pessimistic errors win;",
                    "not at the root, and only up to",
                    "10,000 rows",
                ),
                ORANGE,
            ),
            (
                "Split, and repeat for each child",
                ("the evidence is stored with the node",),
                (),
                STRONG,
            ),
            (
                "Prune, from the leaves to the root",
                (
                    "a subtree becomes a leaf if this does not raise",
                    "the pessimistic error estimate",
                ),
                ("strong splits are protected",),
                RED,
            ),
            (
                "Shrink the leaf probabilities",
                ("toward those of the nodes above",),
                (),
                GREEN,
            ),
        ),
    )


def draw_leaf_life():
    """Life of a growing leaf."""
    return steps_down(
        "Life of a leaf in partial_fit",
        (
            (
                "A new leaf",
                ("starts with the counts that its parent stored",),
                (),
                GREEN,
            ),
            (
                "Predict each row, then learn it",
                (
                    "by class counts or naive Bayes,",
                    "whichever was right more often here",
                ),
                (),
                STRONG,
            ),
            (
                "Store the row",
                ("all rows while there are few, later a histogram", "of each feature"),
                ("max_bytes limits the memory", "of the whole model"),
                STRONG,
            ),
            (
                "After each grace_period rows: examine the leaf",
                (
                    "test the best candidate split, as fit does,",
                    "adjusted for all earlier examinations",
                ),
                ("too little evidence: keep learning",),
                RED,
            ),
            (
                "Split",
                ("each child receives its part of the stored rows",),
                ("the evidence at the time of the split", "stays with the node"),
                GREEN,
            ),
            (
                'With drift="local": monitor the errors',
                (
                    "a warning starts an alternate subtree,",
                    "which replaces this one if it is better",
                ),
                (),
                ORANGE,
            ),
        ),
    )


def draw_active_loop():
    """The active-learning loop."""
    picture = Picture(680, 330, "The active-learning loop")
    picture.say(14, 24, "The active-learning loop", bold=True)
    boxes = (
        (40, 60, "Pool of unlabeled rows", ("X, which never changes",), STRONG),
        (
            400,
            60,
            "query",
            ("the strategy scores the rows and", "selects the best batch"),
            ORANGE,
        ),
        (
            400,
            226,
            "Annotator",
            ("labels, skips or corrects; each", "answer is saved at once"),
            RED,
        ),
        (
            40,
            226,
            "teach",
            ("retrain on all labels, or continue", "with partial_fit"),
            GREEN,
        ),
    )
    for x, y, head, lines, color in boxes:
        picture.card(x, y, 240, 62, head, lines)
        picture.box(x, y, 5, 62, fill=color)
    picture.arrow(284, 91, 396, 91)
    picture.arrow(520, 126, 520, 222)
    picture.arrow(396, 257, 284, 257)
    picture.arrow(160, 222, 160, 126)
    picture.say(340, 84, "candidates", size=11, fill=SOFT, anchor="middle")
    picture.say(530, 178, "rows to label", size=11, fill=SOFT)
    picture.say(340, 250, "labels", size=11, fill=SOFT, anchor="middle")
    picture.say(170, 170, "a better classifier", size=11, fill=SOFT)
    picture.say(170, 186, "for the next query", size=11, fill=SOFT)
    picture.box(314, 150, 150, 50, fill=FAINT, radius=25, stroke=SOFT)
    picture.say(389, 171, "Stop?", size=12, anchor="middle", bold=True)
    told = "budget, risk or stability"
    picture.say(389, 188, told, size=11, fill=SOFT, anchor="middle")
    return picture


def draw_two_prices():
    """A cheap annotator, an expert, and the labels that both deliver."""
    picture = Picture(680, 330, "Labels of two annotators")
    picture.say(14, 24, "Labels of two annotators", bold=True)
    boxes = (
        (40, 60, "Cheap annotator", ("suggests a label for every row",), ORANGE),
        (
            400,
            60,
            "Rows to check",
            ("drawn at random, and rows whose", "suggestions are probably wrong"),
            STRONG,
        ),
        (
            400,
            226,
            "Expert",
            ("labels these rows, without", "seeing the suggestion"),
            RED,
        ),
        (
            40,
            226,
            "Delivered labels",
            ("of the expert where there is one,", "otherwise the suggestion"),
            GREEN,
        ),
    )
    for x, y, head, lines, color in boxes:
        picture.card(x, y, 240, 62, head, lines)
        picture.box(x, y, 5, 62, fill=color)
    picture.arrow(284, 91, 396, 91)
    picture.arrow(500, 126, 500, 222)
    picture.arrow(560, 222, 560, 126)
    picture.arrow(396, 257, 284, 257)
    picture.arrow(160, 126, 160, 222)
    picture.say(340, 84, "suggestions", size=11, fill=SOFT, anchor="middle")
    picture.say(490, 170, "few", size=11, fill=SOFT, anchor="end")
    picture.say(490, 186, "rows", size=11, fill=SOFT, anchor="end")
    picture.say(570, 170, "limit above", size=11, fill=SOFT)
    picture.say(570, 186, "max_error", size=11, fill=SOFT)
    picture.say(340, 250, "limit reached", size=11, fill=SOFT, anchor="middle")
    picture.say(170, 178, "rows that are not checked", size=11, fill=SOFT)
    return picture


CONCEPTS = {
    "one-engine": draw_one_engine,
    "node-fit": draw_node_fit,
    "leaf-life": draw_leaf_life,
    "active-loop": draw_active_loop,
    "two-prices": draw_two_prices,
}
