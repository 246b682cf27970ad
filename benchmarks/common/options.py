"""Command lines: what several scripts take has one name and one meaning."""

import argparse
from pathlib import Path

from . import results

SHARED = {
    "data": {
        "help": "folder of real tables (benchmarks/common/data.py lists them); or "
        "SKCONFTREE_DATA"
    },
    "held-out": {
        "type": Path,
        "metavar": "FOLDER",
        "help": "other tables, that nothing is chosen on",
    },
    "cache": {"metavar": "FOLDER", "help": "keep answers here and read them again"},
    "repeats": {"type": int, "help": "runs of which the median counts"},
    "seed": {"type": int},
    "quick": {"action": "store_true", "help": "try the script; figures mean nothing"},
    "json": {"metavar": "FILE", "help": "everything that was measured"},
    "keep": {"metavar": "FOLDER", "help": "add the ratios to a file, for the ratchet"},
}


def parser(about, *names, **defaults):
    """Make the parser of a script.

    Parameters
    ----------
    about : str
        Docstring of the script.
    *names : str
        Options of `SHARED` that it takes, without a default.
    **defaults
        Others, and their defaults.

    Returns
    -------
    ArgumentParser
        With ``--results``: the folder the tables go to, that of the documentation
        unless the run is a quick one.
    """
    made = argparse.ArgumentParser(description=about.splitlines()[0])
    for name in (*names, *defaults):
        given = {"default": defaults[name]} if name in defaults else {}
        made.add_argument(f"--{name}", **SHARED[name], **given)
    made.add_argument("--results", type=Path, help="folder the tables are written to")
    return made


def tables(script, options, note=""):
    """Make the tables of a run, which are written as its options say.

    Those of the documentation are of a commit: what is measured has to be committed
    before it is.
    """
    folder = options.results
    if folder is None and not getattr(options, "quick", False):
        folder = results.FOLDER
    made = results.Tables(script, folder, note)
    if folder == results.FOLDER and made.facts["commit"].endswith("+"):
        raise SystemExit(
            "Commit first: these tables would be of no commit. --results FOLDER writes "
            "them elsewhere."
        )
    return made
