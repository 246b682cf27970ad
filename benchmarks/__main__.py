"""Run a benchmark: ``python benchmarks NAME [OPTIONS]``; without a name, list them.

This folder is the first of the path then, so that scripts find what they share in
`common`. Tables go to `results`, where the documentation reads them.
"""

import ast
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOMS = ("speed", "studies", "papers")


def scripts():
    """Name of every script -> its file."""
    return {
        path.stem: path
        for room in ROOMS
        for path in sorted((HERE / room).glob("[!_]*.py"))
    }


def main(argv):
    """Run the script that is named first; return its exit code."""
    found = scripts()
    name = argv[0].replace("-", "_") if argv else ""
    if name not in found:
        if name and not name.startswith("_"):
            print(f"There is no benchmark {argv[0]!r}.\n", file=sys.stderr)
        print(__doc__.splitlines()[0])
        for known, path in found.items():
            told = ast.get_docstring(ast.parse(path.read_text("utf-8")))
            print(f"  {known:16} {told.splitlines()[0]}")
        return int(bool(argv) and argv[0] not in ("-h", "--help"))
    sys.argv[0] = f"benchmarks {name}"
    path = found[name]
    return importlib.import_module(f"{path.parent.name}.{name}").main(argv[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
