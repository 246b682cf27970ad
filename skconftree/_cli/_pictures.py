"""Pictures as files, by matplotlib."""

import os

import numpy as np

from skconftree.inspection import ConfidenceTreeDisplay
from skconftree.tree import node_table

from ._files import replacing, write_text
from ._text import UserError

ENDINGS = (".svg", ".png", ".pdf")


def check_picture(path, *, of_tree=False):
    """Find out before the work whether a picture, if a path names one, can be drawn.

    `of_tree`: as SVG it is drawn without matplotlib.
    """
    if path is None:
        return
    if not path.lower().endswith(ENDINGS):
        raise UserError(f"--plot {path} must end with one of {', '.join(ENDINGS)}")
    if of_tree and path.lower().endswith(".svg"):
        return
    try:
        import matplotlib as mpl
    except ImportError:
        raise UserError("--plot needs matplotlib: pip install matplotlib") from None
    mpl.use("agg")


def draw_tree(path, tree, names):
    """Draw a tree; of a large one the upper levels."""
    if path.lower().endswith(".svg"):
        shape = ConfidenceTreeDisplay(
            node_table(tree, **names), class_names=names["class_names"]
        )
        write_text(path, shape.to_svg())
        return
    _save(path, ConfidenceTreeDisplay.from_estimator(tree, **names).figure_)


def draw_accuracy(path, course, name, drifts=()):
    """Draw the accuracy of a stream, called `name`, over time.

    `course` has rows so far, and the shares of them that the tree and the label before
    them were right about. A line stands at each row by which a drift was seen.
    """
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for place, row in enumerate(sorted(set(drifts))):
        label = None if place else "drift found"
        ax.axvline(row, lw=1.0, color="#D55E00", ls=":", label=label)
    if course:
        rows, ours, before = map(np.array, zip(*course, strict=True))
        right = np.diff(rows * ours, prepend=0.0) / np.diff(rows, prepend=0)
        ax.plot(rows, right, lw=0.8, color="#56B4E9", label="tree, latest rows")
        ax.plot(rows, ours, color="#0072B2", label="tree, all rows so far")
        ax.plot(rows, before, color="#999999", ls="--", label="the label before")
        ax.legend(frameon=False)
    ax.set(xlabel="rows", ylabel="accuracy", title=os.path.basename(name))
    ax.title.set_parse_math(False)
    _save(path, figure)


def _save(path, figure):
    import matplotlib.pyplot as plt

    try:
        with replacing(path) as file:
            figure.savefig(file, format=os.path.splitext(path)[1][1:].lower())
    finally:
        plt.close(figure)
