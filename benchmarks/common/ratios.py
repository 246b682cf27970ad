"""Ratios that the timing scripts keep, and whether a new run is as good as the last.

A file a script, a line a ratio: `benchmarks/results/ratios/NAME.csv`. A ratio compares
two programs on one machine in one run, so that lines of different machines can stand
beside each other; only those of the same processor are compared.
"""

import csv
import statistics
from pathlib import Path

from .timing import commit

FOLDER = Path(__file__).parents[1] / "results" / "ratios"
FACTS = ("date", "commit", "load", "processor", "python")
VERSIONS = ("skconftree", "scikit-learn", "numpy")
COLUMNS = (*FACTS, *VERSIONS, "work", "better", "ratio")
RUN = ("date", "commit", "processor")  # what the lines of one run share


class Results:
    """Ratios of one run of a script.

    Parameters
    ----------
    name : str
        Of the script.
    quick : bool, default=False
        Whether the tables were shrunk: such ratios compare with their like only.
    """

    def __init__(self, name, quick=False):
        self.name, self.quick, self.figures = name, quick, []

    def add(self, work, ratio, better="larger"):
        """Record a ratio, of which a "larger" or a "smaller" one is better."""
        work = f"quick: {work}" if self.quick else work
        self.figures.append((work, better, float(ratio)))

    def keep(self, folder, facts):
        """Append the ratios to the file of the script, unless the folder is None."""
        if folder is None:
            return
        path = Path(folder) / f"{self.name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        start = not path.exists()
        facts = {"commit": commit(), **facts}
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if start:
                writer.writeheader()
            for work, better, ratio in self.figures:
                line = {key: facts.get(key) for key in (*FACTS, *VERSIONS)}
                line |= {"work": work, "better": better, "ratio": f"{ratio:.4g}"}
                writer.writerow(line)


def runs(path):
    """Read the runs of a file, oldest first, each a list of lines."""
    if not Path(path).exists():
        return []
    kept = {}
    with Path(path).open(newline="") as file:
        for line in csv.DictReader(file):
            kept.setdefault(tuple(line[key] for key in RUN), []).append(line)
    return list(kept.values())


def compare(fresh, kept, last=3, slack=0.15):
    """Compare a run with those kept before.

    Parameters
    ----------
    fresh : list of dict
        Lines of the new run.
    kept : list of list of dict
        Earlier runs, oldest first.
    last : int, default=3
        How many of them count, of the same processor: their median is the measure.
    slack : float, default=0.15
        By which share a ratio may be worse.

    Returns
    -------
    list of tuple
        For each ratio that both have: work, new ratio, median of the old ones, by how
        much the new one is worse (negative: better), whether that is too much.
    """
    kept = [run for run in kept if run[0]["processor"] == fresh[0]["processor"]]
    old = {}
    for run in kept:
        for line in run:
            old.setdefault(line["work"], []).append(float(line["ratio"]))
    answer = []
    for line in fresh:
        if line["work"] not in old:
            continue
        new = float(line["ratio"])
        before = statistics.median(old[line["work"]][-last:])
        worse = (
            new / before - 1.0 if line["better"] == "smaller" else before / new - 1.0
        )
        answer.append((line["work"], new, before, worse, worse > slack))
    return answer
