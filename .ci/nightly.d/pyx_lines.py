"""Print which lines of .pyx files gcov counted: `python pyx_lines.py BUILD_FOLDER`."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

BATCH = 20  # files for one start of gcov


def counted_lines(build):
    """Return {file: {line: whether a test has reached it}}."""
    lines = defaultdict(lambda: defaultdict(bool))
    notes = sorted(build.rglob("*.gcno"))
    for first in range(0, len(notes), BATCH):
        command = ["gcov", "--json-format", "--stdout", *notes[first : first + BATCH]]
        run = subprocess.run(command, cwd=build, capture_output=True, check=True)
        for report in run.stdout.splitlines():
            for file in json.loads(report)["files"] if report.startswith(b"{") else ():
                if file["file"].endswith((".pyx", ".pxd")):
                    name = file["file"][file["file"].rindex("skconftree/") :]
                    for line in file["lines"]:
                        lines[name][line["line_number"]] |= line["count"] > 0
    return lines


def ranges(numbers):
    """Write ascending line numbers as ranges: 3-5, 8."""
    parts = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def main(build):
    """Print the share of each file, worst first, and of all."""
    counted = counted_lines(build)
    if not counted:
        sys.exit(f"{build} has no counters of .pyx files.")
    shares = {name: sum(hit.values()) / len(hit) for name, hit in counted.items()}
    for name in sorted(shares, key=shares.get):
        missed = sorted(line for line, hit in counted[name].items() if not hit)
        print(f"{shares[name]:7.1%}  {name}  {ranges(missed)}")
    n_lines = sum(map(len, counted.values()))
    n_hit = sum(sum(hit.values()) for hit in counted.values())
    print(f"{n_hit / n_lines:7.1%}  of {n_lines} lines of {len(counted)} files")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
