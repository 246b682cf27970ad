"""Pages and pictures can be read in light and in dark, by people with weak eyes too.

Contrasts are those of the Web Content Accessibility Guidelines: 4.5 for text, 3 for
lines that carry a meaning.
"""

import importlib.util
import re
from pathlib import Path

import pytest
from matplotlib.colors import to_rgb

from skconftree.inspection import _tree_svg
from skconftree.inspection._tree_plot import _mixed
from skconftree.tree import class_colors
from skconftree.tree.reading._html import OTHERS, PAGE, STYLE

TEXT, LINE = 4.5, 3.0
SCHEMES = {
    scheme: (ink, ground)
    for scheme, (ink, ground) in zip(
        ("light", "dark"),
        re.findall(r"color: (#\w+);\s+background: (#\w+)", PAGE),
        strict=True,
    )
}
STYLES = {"light": ("black", "white"), "dark": ("white", "black")}  # of matplotlib


def luminance(color):
    channels = [
        one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4
        for one in to_rgb(color)
    ]
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_guidelines():
    assert contrast("black", "white") == pytest.approx(21.0)
    assert contrast("#777777", "white") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_pages_of_trees(scheme):
    ink, ground = SCHEMES[scheme]
    assert contrast(ink, ground) > TEXT
    shares = [float(one) for one in re.findall(r"opacity: ([\d.]+)", STYLE)]
    assert len(shares) == 2
    for share in shares:
        assert contrast(_mixed(ink, ground, share), ground) > TEXT
    (outline,) = re.findall(r"outline: 2px solid (\w+|#\w+);", STYLE)
    assert contrast(ink if outline == "currentColor" else outline, ground) > LINE
    assert contrast(OTHERS, ground) > LINE


@pytest.mark.parametrize("scheme", STYLES)
def test_pictures_of_trees(scheme):
    ink, ground = STYLES[scheme]
    assert contrast(_mixed(ink, ground, 0.65), ground) > TEXT
    for color in class_colors(100):
        fill = _mixed(color, ground, 0.45)  # of a leaf that is quite sure
        assert contrast(ink, fill) > TEXT, color


@pytest.mark.parametrize("scheme", SCHEMES)
def test_pictures_of_trees_as_svg(scheme):
    ground = _tree_svg.PAPER[scheme]
    assert contrast(_tree_svg.SOFT[scheme], ground) > TEXT
    for color in class_colors(100):
        fill = _mixed(color, ground, 0.45)
        assert contrast(_tree_svg.INK[scheme], fill) > TEXT, color


def test_pictures_of_the_documentation():
    path = Path(__file__).parents[2] / "doc/drawing.py"
    spec = importlib.util.spec_from_file_location("drawing", path)
    drawn = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawn)
    for color in (drawn.INK, drawn.SOFT):
        assert contrast(color, drawn.PAPER) > TEXT
