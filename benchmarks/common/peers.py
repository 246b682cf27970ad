"""Other stream learners, run test-then-train on arrays.

Every function takes `(X, y)`, class indices in `y`, and returns a `Run`. What is no
work of the learner is not timed: rows become dicts or Java objects beforehand. None of
the peers is needed but by these scripts: ``pip install river capymoa``, and a Java
development kit (17 or later) on the path or under JAVA_HOME.
"""

import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

# What river and MOA agree on, and the loosened setting.
DEFAULTS = {"delta": 1e-7, "grace": 200, "tie": 0.05, "leaf": "nba"}
LOOSENED = {"delta": 0.05, "grace": 25, "tie": 0.15, "leaf": "nba"}

MOA_LEAVES = {"majority": "MC", "nb": "NB", "nba": "NBAdaptive"}
RIVER_LEAVES = {"majority": "mc", "nb": "nb", "nba": "nba"}


class Run(NamedTuple):
    """What a prequential run gave.

    Attributes
    ----------
    accuracy : float
        Share of rows predicted right before they were learned.
    leaves : int or None
        Leaves at the end; None if the learner has none.
    seconds : list of float
        CPU seconds of each repetition.
    """

    accuracy: float
    leaves: int | None
    seconds: list


def timed(rounds, repeats):
    """Repeat a run; `rounds()` returns accuracy, leaves and seconds."""
    found = [rounds() for _ in range(repeats)]
    return Run(found[0][0], found[0][1], [seconds for _, _, seconds in found])


def river_tree(
    X, y, *, delta=1e-7, grace=200, tie=0.05, leaf="nba", nominal=(), repeats=1
):
    """Run river's HoeffdingTreeClassifier.

    Parameters
    ----------
    X, y : ndarray of shape (n_samples, n_features) and (n_samples,)
    delta, grace, tie : float
        Error probability of a comparison, rows between attempts, tie threshold.
    leaf : {"majority", "nb", "nba"}
    nominal : sequence of int
        Columns that hold codes.
    repeats : int

    Returns
    -------
    Run
    """
    from river.tree import HoeffdingTreeClassifier

    names = [f"x{j}" for j in range(X.shape[1])]

    def one():
        model = HoeffdingTreeClassifier(
            grace_period=grace,
            delta=delta,
            tau=tie,
            leaf_prediction=RIVER_LEAVES[leaf],
            nominal_attributes=[names[j] for j in nominal] or None,
        )
        correct, seconds = 0, 0.0
        for start in range(0, len(X), 1000):
            # Python floats: river is slower still on NumPy's.
            rows = [
                dict(zip(names, row, strict=True))
                for row in X[start : start + 1000].tolist()
            ]
            labels = y[start : start + 1000].tolist()
            begin = time.process_time()
            for row, label in zip(rows, labels, strict=True):
                correct += model.predict_one(row) == label
                model.learn_one(row, label)
            seconds += time.process_time() - begin
        return correct / len(X), model.n_leaves, seconds

    return timed(one, repeats)


def moa_jar():
    """Return MOA's jar, which CapyMOA brings along."""
    found = importlib.util.find_spec("capymoa")
    jar = (
        Path(found.submodule_search_locations[0]) / "jar" / "moa.jar" if found else None
    )
    if jar is None or not jar.is_file():
        raise ModuleNotFoundError("MOA's jar is not there: pip install capymoa.")
    return jar


def java():
    """Return the java command of a development kit, which compiles the driver."""
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if command is None:
        raise FileNotFoundError("There is no java: install a JDK or set JAVA_HOME.")
    return command


def moa_learner(
    X, y, name, options, *, nominal=(), n_classes=None, warm_up=5.0, repeats=3
):
    """Run a MOA classifier inside one Java process.

    Parameters
    ----------
    X, y : ndarray of shape (n_samples, n_features) and (n_samples,)
    name : str
        Java class, such as ``moa.classifiers.trees.EFDT``.
    options : str
        Its options as MOA's command line takes them.
    nominal : sequence of int
        Columns that hold codes.
    n_classes : int or None
        The largest label plus one if None.
    warm_up : float
        Seconds, and two runs at least, before those that count, so that Java has
        compiled what is hot.
    repeats : int

    Returns
    -------
    Run
        Seconds are those of Java's main thread: its compiler and its garbage
        collector run in others and are not counted.
    """
    n, d = X.shape
    values = np.zeros(d, dtype=">i4")
    for j in nominal:
        values[j] = int(X[:, j].max()) + 1
    k = int(y.max()) + 1 if n_classes is None else n_classes
    driver = Path(__file__).with_name("MoaPrequential.java")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream"
        with open(path, "wb") as out:
            out.write(np.array([n, d, k], dtype=">i4").tobytes())
            out.write(values.tobytes())
            for start in range(0, n, 100_000):
                out.write(X[start : start + 100_000].astype(">f8").tobytes())
            out.write(y.astype(">i4").tobytes())
        command = [java(), "-Xmx6g", "-cp", moa_jar(), driver, path, name, options]
        answer = subprocess.run(
            [str(part) for part in [*command, warm_up, repeats]],
            capture_output=True,
            text=True,
        )
    if answer.returncode:
        raise RuntimeError(f"MOA failed:\n{answer.stderr}")
    found = np.array([line.split() for line in answer.stdout.splitlines()], dtype=float)
    accuracy, leaves = found[0, :2]
    return Run(
        float(accuracy), int(leaves) if leaves >= 0 else None, found[:, 2].tolist()
    )


def moa_tree(X, y, *, delta=1e-7, grace=200, tie=0.05, leaf="nba", nominal=(), **how):
    """Run MOA's HoeffdingTree; parameters as in `river_tree` and `moa_learner`."""
    options = f"-g {grace} -c {delta} -t {tie} -l {MOA_LEAVES[leaf]}"
    name = "moa.classifiers.trees.HoeffdingTree"
    return moa_learner(X, y, name, options, nominal=nominal, **how)


def river_forest(X, y, *, n_trees=10, seed=0, nominal=(), repeats=1):
    """Run river's adaptive random forest with the settings of the paper.

    Parameters
    ----------
    X, y : ndarray of shape (n_samples, n_features) and (n_samples,)
    n_trees, seed, repeats : int
    nominal : sequence of int
        Columns that hold codes.

    Returns
    -------
    Run
    """
    from river.forest import ARFClassifier

    names = [f"x{j}" for j in range(X.shape[1])]

    def one():
        model = ARFClassifier(
            n_models=n_trees,
            max_features=0.6,
            lambda_value=6,
            grace_period=50,
            delta=0.01,
            tau=0.05,
            leaf_prediction="nba",
            nominal_attributes=[names[j] for j in nominal] or None,
            seed=seed,
        )
        rows = [dict(zip(names, row, strict=True)) for row in X.tolist()]
        labels, correct = y.tolist(), 0
        begin = time.process_time()
        for row, label in zip(rows, labels, strict=True):
            correct += model.predict_one(row) == label
            model.learn_one(row, label)
        return correct / len(X), None, time.process_time() - begin

    return timed(one, repeats)


MOA_FORESTS = {
    "ARF": "AdaptiveRandomForest",
    "random patches": "StreamingRandomPatches",
    "leveraging bagging": "LeveragingBag",
}


def moa_forest(X, y, *, kind="ARF", n_trees=10, **how):
    """Run one of MOA's forests, its defaults; `how` as of `moa_learner`."""
    name = f"moa.classifiers.meta.{MOA_FORESTS[kind]}"
    return moa_learner(X, y, name, f"-s {n_trees}", **how)
