"""A table with all kinds of columns and unusual names, and settings of trees."""

import numpy as np
import pandas as pd

CLASSES = np.array(["ash", "birch", "elm"])


def make_table(n=600, seed=0):
    """Columns of each kind, of which all decide the class; names that need quoting."""
    rng = np.random.default_rng(seed)
    bark = rng.choice(["rough", "it's smooth", 'peels "off"', "none"], n)
    height, age = rng.normal(size=n), rng.integers(0, 9, n).astype(float)
    place = (height > 0.3) + np.isin(bark, ["rough", "none"]) * (age > 4)
    place = np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), place)
    frame = pd.DataFrame(
        {
            "bark's kind": pd.Series(bark).where(rng.random(n) > 0.1),
            'height "m"': np.where(rng.random(n) < 0.2, np.nan, height),
            "age\n*/ in years": age,
        }
    )
    return frame, CLASSES[place]


FRAME, Y = make_table()
SETTINGS = {
    "default": {},
    "none": {"bound": None, "pruning": None},
    "multiway": {"bound": None, "nominal_splits": "multiway"},
    "weighted": {"bound": "credible", "class_weight": "balanced"},
}
