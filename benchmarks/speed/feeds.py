"""Feeds: rows per second and peak memory of live streams and of files in parts.

Run on an idle machine, with river (``pip install river``):

    python benchmarks feeds [--part live|parts|wide] [--repeats 3]

Each way runs in a process of its own, which reads a file of Agrawal's generator with
nine numbers. Seconds are CPU seconds after the imports, including the time to read the
file; memory is the peak minus that after the imports. In part `live`, each row is
predicted, then learned; `fit` reads all rows into memory and does not predict. Part
`parts` reads Parquet: fits with 255 bins, and predictions that are written as Parquet.
Part `wide` fits 20,000 rows of 2,000 random numbers.
"""

import contextlib
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from common import options as command
from common.agrawal import make_agrawal
from common.timing import median, print_environment

from skconftree import ConfidenceTreeClassifier, large
from skconftree.evaluation import OneByOne, RiverClassifier

COLUMNS = ["salary", "commission", "age", "elevel", "car", "zipcode"]
COLUMNS += ["hvalue", "hyears", "loan"]
TARGET = "label"
CHUNK = 1000


def write_rows(folder, n):
    """Write the rows as CSV and as JSON lines."""
    X, y = make_agrawal(n, concept=4, perturbation=0.05, random_state=1)
    frame = pd.DataFrame(X.astype(float), columns=COLUMNS).assign(**{TARGET: y})
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_json(folder / "rows.jsonl", orient="records", lines=True)


def in_a_loop(model, folder):
    """Predict and learn each row of JSON lines; return the accuracy."""
    right = n = 0
    with open(folder / "rows.jsonl") as file:
        for line in file:
            x = json.loads(line)
            y = x.pop(TARGET)
            right += model.predict_one(x) == y
            model.learn_one(x, y)
            n += 1
    return right / n


def with_one_by_one(folder):
    """Train with dictionaries."""
    return in_a_loop(OneByOne(ConfidenceTreeClassifier(), classes=[0, 1]), folder)


def with_river_classifier(folder):
    """Train with dictionaries, as river does."""
    return in_a_loop(RiverClassifier(ConfidenceTreeClassifier()), folder)


def with_river(folder):
    """Train river's own tree."""
    from river.tree import HoeffdingTreeClassifier

    return in_a_loop(HoeffdingTreeClassifier(), folder)


def by_command(name):
    """Return a function that pipes a file to ``skconftree stream``."""

    def run(folder):
        from skconftree._cli import main

        report = folder / "report.json"
        argv = ["stream", "-", "--target", TARGET, "--classes", "0,1"]
        argv += [
            "--output",
            f"{folder / name}.model",
            "--resume",
            "--json",
            str(report),
        ]
        with (
            open(folder / name) as sys.stdin,
            contextlib.redirect_stdout(io.StringIO()),
        ):
            assert main(argv) == 0
        return json.loads(report.read_text())["figures"]["accuracy"]

    return run


def in_chunks(folder):
    """Predict and train with frames of `CHUNK` rows."""
    model, right, n = ConfidenceTreeClassifier(), 0, 0
    for frame in pd.read_csv(folder / "rows.csv", chunksize=CHUNK):
        y = frame.pop(TARGET)
        right += (model.partial_fit_predict(frame, y, classes=[0, 1]) == y).sum()
        n += len(y)
    return right / n


def in_memory(folder):
    """Fit all rows at once."""
    frame = pd.read_csv(folder / "rows.csv")
    ConfidenceTreeClassifier().fit(frame, frame.pop(TARGET))
    return None


LIVE = {
    "`skconftree stream -`, CSV": by_command("rows.csv"),
    "`skconftree stream -`, JSON lines": by_command("rows.jsonl"),
    "`OneByOne`": with_one_by_one,
    "`RiverClassifier`": with_river_classifier,
    "river's `HoeffdingTreeClassifier`": with_river,
    "`partial_fit_predict`, 1,000 rows per call": in_chunks,
    "`fit`, all rows in memory": in_memory,
}


def write_parquet(folder, n):
    """Write the rows as Parquet, and a model of some of them."""
    X, y = make_agrawal(n, concept=4, perturbation=0.05, random_state=1)
    frame = pd.DataFrame(X.astype(float), columns=COLUMNS).assign(**{TARGET: y})
    frame.to_parquet(folder / "rows.parquet", row_group_size=100_000)
    frame[:20_000].to_parquet(folder / "some.parquet")
    argv = [folder / "some.parquet", "--in-parts", "--output", folder / "model"]
    run_command("fit", *argv, "--target", TARGET)


def run_command(*argv):
    """Run ``skconftree`` without its output."""
    from skconftree._cli import main

    with contextlib.redirect_stdout(io.StringIO()):
        assert main(list(map(str, argv))) == 0


def fit_in_parts(folder):
    """Fit the file without loading it."""
    tree = ConfidenceTreeClassifier(max_bins=255)
    large.fit(tree, folder / "rows.parquet", target=TARGET)


def fit_in_memory(folder):
    """Fit all rows of the file at once."""
    frame = pd.read_parquet(folder / "rows.parquet")
    ConfidenceTreeClassifier(max_bins=255).fit(frame, frame.pop(TARGET))


def write_wide(folder, n):
    """Write a tenth as many columns as rows."""
    X = np.random.default_rng(1).normal(size=(n, n // 10))
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(n // 10)])
    frame.assign(**{TARGET: X[:, 0] > 0.0}).to_parquet(folder / "rows.parquet")


def predict_in_parts(folder):
    """Predict the file by the command line."""
    argv = [folder / "model", folder / "rows.parquet"]
    run_command("predict", *argv, "--output", folder / "classes.parquet")


def predict_in_memory(folder):
    """Predict all rows of the file at once."""
    frame = pd.read_parquet(folder / "rows.parquet")
    some = pd.read_parquet(folder / "some.parquet")
    tree = ConfidenceTreeClassifier(max_bins=255).fit(some, some.pop(TARGET))
    proba = tree.predict_proba(frame.drop(columns=TARGET))
    classes = tree.classes_[proba.argmax(axis=1)]
    found = pd.DataFrame({TARGET: classes, "probability": proba.max(axis=1)})
    found.to_parquet(folder / "memory.parquet")


FITS = {
    "`large.fit`": fit_in_parts,
    "`fit`, all rows in memory": fit_in_memory,
}
IN_PARTS = {
    **FITS,
    "`skconftree predict`": predict_in_parts,
    "`predict_proba`, all rows in memory": predict_in_memory,
}
# Table -> its ways, the function that writes the files, and the number of rows.
PARTS = {
    "live": (LIVE, write_rows, 50_000),
    "parts": (IN_PARTS, write_parquet, 1_000_000),
    "wide": (FITS, write_wide, 20_000),
}


def peak_bytes():
    """Return the peak memory of this process so far."""
    status = Path("/proc/self/status")
    if status.exists():  # `getrusage` includes the parent before `exec`
        peak = status.read_text().partition("VmHWM:")[2].split()[0]
        return 1024 * int(peak)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def run_way(part, name, folder):
    """Run a way in this process and print its figures."""
    way = PARTS[part][0][name]
    before, start = peak_bytes(), time.process_time()
    accuracy = way(Path(folder))
    seconds = time.process_time() - start
    print(json.dumps([seconds, peak_bytes() - before, accuracy]))


def main(argv=None):
    """Time the ways and print the tables."""
    parser = command.parser(__doc__, "quick", repeats=3)
    parser.add_argument("--part", choices=PARTS, default=None)
    parser.add_argument("--way", nargs=2, metavar=("NAME", "FOLDER"))
    options = parser.parse_args(argv)
    if options.way:
        return run_way(options.part, *options.way)
    repeats = 1 if options.quick else options.repeats
    shown = command.tables("feeds", options, f"medians of {repeats} runs")
    print_environment(shown.facts)
    script = Path(__file__).parents[1]
    for part in [options.part] if options.part else PARTS:
        ways, write, n = PARTS[part]
        n = 2000 if options.quick else n
        figures = {name: [] for name in ways}
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), n)
            for _ in range(repeats):
                for name, found in figures.items():
                    argv = [script, "feeds", "--part", part, "--way", name, folder]
                    done = subprocess.run(
                        [sys.executable, *argv], stdout=subprocess.PIPE, check=True
                    )
                    found.append(json.loads(done.stdout.splitlines()[-1]))
        lines = []
        for name, found in figures.items():
            seconds, memory, accuracy = zip(*found, strict=True)
            line = [name, f"{n / median(seconds):,.0f}", f"{median(memory) / 1e6:,.0f}"]
            if part == "live":
                line.append("-" if accuracy[0] is None else f"{accuracy[0]:.1%}")
            lines.append(line)
        header = ["way", "rows per second", "peak memory (MB)", "accuracy"]
        shown.show(f"feeds-{part}", header[: len(lines[0])], lines)
    return 0
