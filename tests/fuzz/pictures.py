"""Pictures of trees, which show each node once and change nothing."""

import io

import numpy as np

from skconftree import ConfidenceTreeClassifier
from skconftree.inspection import ConfidenceTreeDisplay
from skconftree.tree import fold_weak_subtrees

from . import invariants
from .failures import require

MOST_BOXES = 150  # of a picture: more take seconds
NAMES = ("$x$ and $y", "a_b^c", "", "two\nlines", "x" * 300, "naïve", "\\frac{")


def draw_tree(sequence):
    """The model as it is, in a figure of its own or in given axes."""
    if not sequence.started:
        return
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    draw, model = sequence.draw, sequence.model
    tree = model.tree_
    depth = draw.one(["auto", None, 0, 1, 3, np.int64(2), 2**40])
    options = {
        "max_depth": depth,
        "compact": draw.chance(0.4),
        "fold_weak": draw.chance(0.5),
        "verbose": draw.chance(0.4),
    }
    if tree.node_count > MOST_BOXES and depth in ("auto", None, 2**40):
        options |= {"max_depth": "auto", "compact": False}
    if draw.chance(0.3):
        options["feature_names"] = [draw.one(NAMES) for _ in range(tree.n_features)]
    if draw.chance(0.3):
        options["class_names"] = [draw.one(NAMES) for _ in range(tree.max_n_classes)]
    before = invariants.state_of(model)
    try:
        if draw.chance(0.3):
            options["ax"] = plt.subplots(figsize=draw.one([(1, 1), (6, 4)]))[1]
        display = sequence.call(
            "ConfidenceTreeDisplay",
            *(ConfidenceTreeDisplay.from_estimator, model),
            **options,
        )
        _boxes(display, options)
        if draw.chance(0.2):
            file = io.BytesIO()
            kind = draw.one(["png", "svg"])
            sequence.call("savefig", display.figure_.savefig, file, format=kind)
            require(file.tell() > 0, "a picture without bytes")
        _wrongly(sequence, display)
    finally:
        plt.close("all")
    require(invariants.state_of(model) == before, "a picture changed the model")


def _boxes(display, options):
    """As many boxes as nodes down to the depth, without those that are folded."""
    depth = options["max_depth"]
    if depth == "auto" and not options["compact"]:
        return  # the display chooses
    most = np.inf if depth in ("auto", None) else depth
    nodes = display.nodes
    if options["fold_weak"]:
        nodes = fold_weak_subtrees(nodes)
    wanted = sum(row.depth <= most for row in nodes)
    boxes = [one for one in display.ax_.patches if hasattr(one, "get_boxstyle")]
    found = len(display.ax_.patches if options["compact"] else boxes)
    require(
        found == wanted, "boxes of a picture", lambda: f"{found} for {wanted} nodes"
    )


def _wrongly(sequence, display):
    draw, model = sequence.draw, sequence.model
    make = ConfidenceTreeDisplay.from_estimator
    wrong = {
        "feature_names": draw.one([["a"] * 40, [], 3]),
        "class_names": draw.one([["a"] * 50, [], 3]),
        "max_depth": draw.one([-1, 1.5, "deep", np.nan]),
    }
    name = draw.one(sorted(wrong))
    sequence.refused(
        f"ConfidenceTreeDisplay: {name}",
        *(make, model),
        **{name: wrong[name]},
        errors=(ValueError, TypeError),
    )
    if name == "max_depth":
        sequence.refused(
            "ConfidenceTreeDisplay.plot",
            display.plot,
            max_depth=wrong[name],
            errors=(ValueError, TypeError),
        )
    sequence.refused(
        "ConfidenceTreeDisplay: unfitted", make, ConfidenceTreeClassifier()
    )
