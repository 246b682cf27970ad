"""Builds of the package beside each other, each in a process of its own interpreter.

The processes take turns call by call, so that a machine that slows down or speeds up
favors nobody.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from .timing import SHORTEST, commit, cpu_seconds, load_table

FOLDER = Path(__file__).parents[1]
START = "import sys; sys.path.insert(0, {!r}); from common.builds import serve; serve()"
SINGLE = 500  # rows that a call of the works of one row learns or predicts
CHUNK = 1000


class Build:
    """A process that times the calls of one build.

    Parameters
    ----------
    python : str
        Interpreter of the environment in which the build is installed.
    """

    def __init__(self, python):
        self.process = subprocess.Popen(
            [python, "-P", "-c", START.format(str(FOLDER))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.name = self.ask("name")

    def ask(self, request):
        """Send a request, as `serve` knows them; return the answer."""
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("The process of a build has ended.")
        return json.loads(answer)

    def close(self):
        """End the process."""
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def compare(builds, work, repeats):
    """Time one work with two builds, of which the first is there twice.

    Parameters
    ----------
    builds : list of Build
        This one, the other one, this one again.
    work : dict
        ``table``, ``model`` and ``call``, as `prepared` takes them.
    repeats : int

    Returns
    -------
    dict
        ``ratio``: median over the rounds of the CPU seconds of this build, the mean of
        both processes, over those of the other one; ``twice``: of the second process
        of this build over the first; ``seconds`` of this and of the other build, and
        ``leaves`` of both.
    """
    leaves = [one.ask(work) for one in builds]
    rounds = []
    for i in range(repeats):
        order = builds if i % 2 == 0 else builds[::-1]
        rounds.append({one: one.ask("seconds") for one in order})
    first, other, again = zip(
        *([one[b] for b in builds] for one in rounds), strict=True
    )
    both = [(a + b) / 2 for a, b in zip(first, again, strict=True)]
    return {
        "ratio": statistics.median(a / b for a, b in zip(both, other, strict=True)),
        "twice": statistics.median(a / b for a, b in zip(again, first, strict=True)),
        "seconds": (statistics.median(both), statistics.median(other)),
        "leaves": (leaves[0], leaves[1]),
    }


def serve():
    """Answer requests line by line, in the process of a build.

    ``"name"`` asks for the name of the build, a work for the leaves of its tree after a
    first call, and ``"seconds"`` for those of a further call of the last work.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nobody else writes answers
    call, loops = None, 1
    with threadpool_limits(1):
        for line in sys.stdin:
            request = json.loads(line)
            if request == "name":
                answer = name_of_build()
            elif request == "seconds":
                answer = cpu_seconds(call, loops)
            else:
                call, leaves = prepared(**request)
                once = cpu_seconds(call)
                loops = max(1, int(np.ceil(SHORTEST / max(once, 1e-6))))
                answer = leaves()
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


def name_of_build():
    """Version, and the commit if the package is used from the folder of its sources."""
    import skconftree

    folder = Path(skconftree.__file__).parent
    tracked = subprocess.run(
        ["git", "ls-files", "--error-unmatch", "__init__.py"],
        cwd=folder,
        capture_output=True,
    )
    name = commit(folder) if tracked.returncode == 0 else "?"
    return skconftree.__version__ if name == "?" else f"{skconftree.__version__} {name}"


def prepared(table, model, call):
    """Make the call of a work, ready to be timed.

    Parameters
    ----------
    table : list of str
        Paths of `save_table`.
    model : str
        An expression that makes the estimator, of its name and `bounds`.
    call : {"fit", "predict_proba", "chunks", "learn one row", "predict one row"}

    Returns
    -------
    call : callable
    leaves : callable
        Returns the leaves of the tree of the last call.
    """
    from skconftree import ConfidenceTreeClassifier, bounds

    X, y = load_table(table[0]), np.load(table[1])
    names = {"ConfidenceTreeClassifier": ConfidenceTreeClassifier, "bounds": bounds}
    classes = np.arange(y.max() + 1)
    tree = eval(model, names)

    def fit():
        tree.fit(X, y)

    def predict():
        tree.predict_proba(X)

    def learn_chunks():
        nonlocal tree
        tree = eval(model, names)
        for start in range(0, len(y), CHUNK):
            part = slice(start, start + CHUNK)
            tree.partial_fit_predict(X[part], y[part], classes)

    def learn_rows():
        for row, label in rows:
            tree.partial_fit(row, label)

    def predict_rows():
        for row, _ in rows:
            tree.predict(row)

    half = len(y) // 2
    if call == "predict_proba":
        tree.fit(X, y)
    elif call.endswith("one row"):
        tree.partial_fit(X[:half], y[:half], classes)
        rows = [(X[i : i + 1], y[i : i + 1]) for i in range(half, half + SINGLE)]
    calls = {
        "fit": fit,
        "predict_proba": predict,
        "chunks": learn_chunks,
        "learn one row": learn_rows,
        "predict one row": predict_rows,
    }
    return calls[call], lambda: int(tree.get_n_leaves())
