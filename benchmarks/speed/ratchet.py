"""Is this commit as fast as those before it? A command, no test: run it when idle.

    python benchmarks ratchet [SCRIPT ...] [--keep] [-- OPTIONS]

Runs the scripts `fit`, `stream`, `tables` and `single_rows`, or those named, with the
options behind ``--``, and compares their ratios to peers with the median of the last
three runs of the same processor in `benchmarks/results/ratios`. Ends with 1 if one is
more than 15 % worse. With ``--keep`` a run that is not is added to the results; so is
any run with ``--keep=always``, which accepts a loss. To compare the last run kept with
those before it, without a new one: ``--last``, which ends with 2 if there is none.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from common.ratios import FOLDER, compare, runs

SCRIPTS = ("fit", "stream", "tables", "single_rows")
PARTS = {"stream": ["--only", "predict", "one-row"]}  # without peers to install


def fresh_rows(name, options, folder):
    """Run a script; return the lines it kept."""
    # its tables are not those of the documentation
    where = ["--keep", folder, "--results", Path(folder) / "tables"]
    command = [sys.executable, Path(__file__).parents[1], name, *where]
    subprocess.run([*command, *(options or PARTS.get(name, []))], check=True)
    found = runs(Path(folder) / f"{name}.csv")
    return found[-1] if found else []


def tell(name, fresh, old, options):
    """Print the comparison of one script; return whether something is too slow."""
    if not fresh:
        print(f"{name}: no ratios from this run")
        return False
    answer = compare(fresh, old, options.runs, options.slack)
    print(f"\n{name}, {fresh[0]['commit']} of {fresh[0]['date']}:")
    for work, new, before, worse, fails in sorted(answer, key=lambda row: -row[3]):
        mark = "TOO SLOW" if fails else ""
        print(f"  {worse:+7.1%}  {new:8.3g}  was {before:8.3g}  {work}  {mark}")
    if not answer:
        print(
            "  nothing to compare with: no earlier run of these works is kept for this "
            "processor"
        )
    return any(fails for *_, fails in answer)


def main(argv=None):
    """Run, compare, keep; return the exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    given = argv.index("--") if "--" in argv else len(argv)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SCRIPTS))
    parser.add_argument("--last", action="store_true", help="compare what is kept")
    parser.add_argument("--keep", nargs="?", const="good", choices=("good", "always"))
    parser.add_argument("--slack", type=float, default=0.15)
    parser.add_argument("--runs", type=int, default=3, help="earlier runs that count")
    parser.add_argument("--ratios", type=Path, default=FOLDER)
    options = parser.parse_args(argv[:given])
    unknown = set(options.names) - set(SCRIPTS)
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(SCRIPTS)}")
    failed = absent = False
    for name in options.names or SCRIPTS:
        path = options.ratios / f"{name}.csv"
        old = runs(path)
        if options.last:
            absent |= not old
            if old:
                failed |= tell(name, old[-1], old[:-1], options)
            else:
                print(
                    f"{name}: no run is kept in {path}; make one on an idle machine "
                    f"by `python benchmarks ratchet {name} --keep`"
                )
            continue
        with tempfile.TemporaryDirectory() as folder:
            fresh = fresh_rows(name, argv[given + 1 :], folder)
            slow = tell(name, fresh, old, options)
            if options.keep == "always" or (options.keep and not slow):
                lines = (Path(folder) / path.name).read_text().splitlines(True)
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("a") as file:
                    file.writelines(lines[1:] if old else lines)
        failed |= slow
    return 1 if failed else 2 * absent
