"""Colours of classes, the same wherever a tree is shown."""

from __future__ import annotations

import colorsys

# Told apart by people with any colour vision (Okabe and Ito).
COLORS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#999999",
)
GOLDEN = 0.6180339887498949


def class_colors(n_classes: int) -> list[str]:
    """Make a colour for each class, the same in all pictures and pages.

    Parameters
    ----------
    n_classes : int

    Returns
    -------
    list of str
        Like ``"#0072B2"``. The first eight can be told apart by people with any colour
        vision; then steps of the golden section go around the circle of hues.

    See Also
    --------
    skconftree.inspection.ConfidenceTreeDisplay : Uses them, as all pictures do.

    Examples
    --------
    >>> from skconftree.tree import class_colors
    >>> class_colors(2)
    ['#0072B2', '#E69F00']
    """
    colors = list(COLORS[:n_classes])
    for place in range(len(colors), n_classes):
        hue = place * GOLDEN % 1.0
        lightness = (0.45, 0.62, 0.35)[place % 3]
        channels = colorsys.hls_to_rgb(hue, lightness, 0.6)
        colors.append("#" + "".join(f"{round(255 * one):02X}" for one in channels))
    return colors
