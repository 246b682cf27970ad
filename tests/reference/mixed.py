"""A frame of numbers, texts, categories and booleans, with missing values."""

import numpy as np
import pandas as pd

COLORS = ["red", "green", "blue", "grey", "pink"]


def make_frame(n=400, seed=0, holes=0.1):
    """Color and size decide the class, with noise; some values are missing."""
    rng = np.random.default_rng(seed)
    color = rng.integers(0, len(COLORS), n)
    size = rng.normal(size=n)
    shape = rng.integers(0, 12, n)
    y = np.where(np.isin(shape, [2, 5, 11]), 2, np.isin(color, [0, 3]) ^ (size > 1))
    y = np.where(rng.random(n) < 0.05, rng.integers(0, 3, n), y)
    frame = pd.DataFrame(
        {
            "color": pd.Series(np.array(COLORS)[color]).where(rng.random(n) > holes),
            "size": np.where(rng.random(n) < holes, np.nan, size),
            "shape": pd.Categorical(shape),
            "useless": rng.integers(0, 2, n).astype(bool),
        }
    )
    return frame, y


FRAME, Y = make_frame()
