"""Small models of every class, stored once per version of the package.

``PYTHONPATH=tests python -P -m reference.stored_models`` writes those of this version
to ``corpus/models``, with the probabilities that they predict. Later versions load them
(``corpus/test_models.py``). Files that exist are never replaced.
"""

import os
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

import skconftree
from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMForestClassifier,
    NCMTreeClassifier,
    OASISClassifier,
    PartiallyLinearTreeClassifier,
    load_model,
    save_model,
)
from skconftree._cli import main
from skconftree.active import ActiveLearner, StreamActiveLearner

FOLDER = Path(__file__).parents[1] / "corpus/models"
PROBA = "proba.npz"
CLASSES = ["no", "yes"]
N_ROWS = 40


def table(n_rows=N_ROWS):
    """Rows with a missing value and a nominal column, and their labels."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, 2)).round(3)
    k = random.choice(["u", "v", "w"], n_rows)
    is_yes = (X[:, 0] + (k == "u") > 0.3) ^ (random.random(n_rows) < 0.1)
    X[3, 1] = np.nan
    return X, k, np.where(is_yes, "yes", "no")


def frame_of(X, k):
    """The rows as a frame."""
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame["k"] = pd.Categorical(k, ["u", "v", "w"])
    return frame


def _growing(model):
    return lambda frame, y: model.partial_fit(frame, y, CLASSES)


def _of_numbers(model):
    # without the nominal column and missing values
    return lambda frame, y: model.fit(numbers(frame), y)


def numbers(frame):
    """The numeric columns without missing values, which every class can read."""
    return frame[["a", "b"]].fillna(0.0).to_numpy()


def _pool_learner(frame, y):
    known = np.where(np.arange(len(y)) % 3 == 0, y, None)
    learner = ActiveLearner(ConfidenceTreeClassifier(), random_state=0)
    learner.fit(numbers(frame), known)
    rows = learner.query(2)
    return learner.teach(rows, y[rows])


def _stream_learner(frame, y):
    learner = StreamActiveLearner(
        ConfidenceTreeClassifier(), classes=CLASSES, budget=0.5, random_state=0
    )
    X = numbers(frame)
    learner.fit(X[:20], y[:20]).run(X[20:], y[20:])
    return learner


MODELS = {  # made from the frame and the labels
    "tree": ConfidenceTreeClassifier().fit,
    "CART": ConfidenceTreeClassifier(None, max_depth=3).fit,
    "growing-tree": _growing(ConfidenceTreeClassifier(grace_period=5, drift="ddm")),
    "forest": ConfidenceForestClassifier(3, oob_score=False, random_state=0).fit,
    "growing-forest": _growing(ConfidenceForestClassifier(2, random_state=0)),
    "partially-linear-tree": PartiallyLinearTreeClassifier(random_state=0).fit,
    "NCM-tree": _of_numbers(NCMTreeClassifier(min_samples_leaf=4, random_state=0)),
    "NCM-forest": _of_numbers(NCMForestClassifier(2, random_state=0)),
    "OASIS": _of_numbers(OASISClassifier(n_particles=20, random_state=0)),
    "pool-learner": _pool_learner,
    "stream-learner": _stream_learner,
}
LEARNERS = {"pool-learner", "stream-learner"}  # which only skops and pickle can save
COMPACT = ("tree", "forest")
# Their probabilities have logarithms or powers, of which a mathematical library may
# round the last bit in another way.
ROUNDED = {
    *("growing-tree", "growing-forest", "partially-linear-tree", "OASIS"),
    *("stream-learner", "command-stream"),
}
COMMANDS = {
    "command-fit": ["fit", "--baselines", "none", "--folds", "2"],
    "command-stream": ["stream", "--settle-after", "10"],
}


def predicted(name, model, frame):
    """Probabilities of the rows by a stored model."""
    rows = numbers(frame) if model.n_features_in_ == 2 else frame
    if name in COMMANDS:
        rows = frame.astype({"k": object})
    with warnings.catch_warnings(action="ignore"):
        return model.predict_proba(rows)


def write(folder):
    """Write all models to a new folder; FileExistsError if it exists."""
    if folder.exists():
        raise FileExistsError(folder)
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        files = Path(scratch) / "files"
        files.mkdir()
        write_files(files)
        files.rename(folder)


def write_files(folder):
    """Write all models, and their probabilities, to an empty folder."""
    from skops.io import dump

    X, k, y = table()
    frame, proba = frame_of(X, k), {}
    with warnings.catch_warnings(action="ignore"):
        for name, make in MODELS.items():
            model = make(frame, y)
            proba[name] = predicted(name, model, frame)
            dump(model, folder / f"{name}.skops", compression=zipfile.ZIP_DEFLATED)
            if name not in LEARNERS:
                save_model(model, folder / f"{name}.model")
            if name in COMPACT:
                save_model(model, folder / f"{name}-compact.model", compact=True)
                proba[f"{name}-compact"] = proba[name]
        path = folder / "table.csv"
        frame.assign(label=y).to_csv(path, index=False)
        for name, (command, *options) in COMMANDS.items():
            output = folder / f"{name}.model"
            files = [
                os.fspath(path),
                "--target",
                "label",
                "--output",
                os.fspath(output),
            ]
            if main([command, *files, *options]):
                raise RuntimeError(f"{command} failed")
            proba[name] = predicted(name, load_model(output), frame)
        path.unlink()
    np.savez_compressed(folder / PROBA, X=X, k=k, **proba)


if __name__ == "__main__":
    folder = FOLDER / skconftree.__version__
    try:
        write(folder)
    except FileExistsError:
        sys.exit(
            f"{folder} exists, and stored models are never replaced. If this version "
            "is not released yet, remove the folder first."
        )
    print(f"written: {folder}")
