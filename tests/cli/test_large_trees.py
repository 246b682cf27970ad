"""What a report and a picture show of trees that are too large for all of it."""

import numpy as np

from skconftree._cli import main

FAST = ["--set", "bound=None", "--folds", "2", "--baselines", "none"]


def written(path, n, d):
    """Write a table of `d` columns that say nothing, so that a tree has many leaves."""
    rng = np.random.default_rng(0)
    rows = np.c_[rng.random((n, d)).round(3), rng.integers(0, 2, n)]
    names = [*(f"c{j}" for j in range(d)), "y"]
    np.savetxt(path, rows, "%g", delimiter=",", header=",".join(names), comments="")
    return str(path)


def test_the_page_of_a_large_tree_leaves_out_what_matters_least(tmp_path):
    table, page = written(tmp_path / "t.csv", 1000, 25), tmp_path / "t.html"
    code = main(["fit", table, "--target", "y", *FAST, "--report", str(page)])
    assert code == 0
    told = page.read_text("utf-8")
    for words in ("smaller leaves", "more columns", "more splits"):
        assert words in told


def test_a_picture_of_pixels(tmp_path):
    table, picture = written(tmp_path / "t.csv", 60, 2), tmp_path / "t.png"
    code = main(["fit", table, "--target", "y", *FAST, "--plot", str(picture)])
    assert code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
