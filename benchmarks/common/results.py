"""Tables of measurements: files that the documentation reads.

A table is a file `NAME.csv` in `benchmarks/results`; `measured.csv` there has a row for
each: which script made it, when, of which commit, with which versions, on what kind of
machine, and which trees the default grew then (`fingerprint`).
"""

import csv
from pathlib import Path

from .fingerprint import fingerprints
from .timing import environment

FOLDER = Path(__file__).parents[1] / "results"
MEASURED = "measured.csv"
VERSIONS = ("skconftree", "scikit-learn", "numpy", "python")
HOST = ("machine", "processor")
DEFAULT = ("fitted", "grown")  # ways of growing; the fingerprint of its trees each
FACTS = ("table", "script", "date", "commit", *VERSIONS, *HOST, *DEFAULT, "note")
REQUIRED = ("table", "script", "date", "commit", "machine")
NOTHING = "\N{EN DASH}"  # a hyphen alone would be a list in the documentation


class Tables:
    """What one run of a script shows and writes.

    Parameters
    ----------
    script : str
        Its name.
    folder : Path or None
        Where the tables go; None writes nothing.
    note : str, default=""
        What else the reader of the figures has to know.
    """

    def __init__(self, script, folder, note=""):
        self.script, self.folder, self.note = script, folder, note
        self.facts = environment()

    def show(self, name, header, rows, title=""):
        """Print a table and write it to ``NAME.csv``."""
        rows = [[NOTHING if cell == "-" else str(cell) for cell in row] for row in rows]
        header = [str(cell) for cell in header]
        print(f"\n{title or name}\n")
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        for row in (header, *rows):
            cells = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
            print("  ".join(cells).rstrip())
        if self.folder is None:
            return
        folder = Path(self.folder)
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / f"{name}.csv", header, rows)
        self.record(name)

    def record(self, name):
        """Write down where the table of this name comes from."""
        facts = {key: str(self.facts[key]) for key in (*VERSIONS, *HOST)}
        record(
            Path(self.folder),
            {
                "table": name,
                "script": self.script,
                "date": self.facts["date"],
                "commit": self.facts["commit"],
                **facts,
                **fingerprints(),
                "note": self.note,
            },
        )


def write(path, header, rows):
    """Write a table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def measured(folder=FOLDER):
    """Read what is known of each table: name -> facts."""
    path = Path(folder) / MEASURED
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {row["table"]: row for row in csv.DictReader(file)}


def record(folder, facts):
    """Put down where a table comes from, in the place of what was known of it."""
    known = measured(folder)
    known[facts["table"]] = facts
    rows = [[row.get(key, "") for key in FACTS] for _, row in sorted(known.items())]
    write(Path(folder) / MEASURED, FACTS, rows)
