"""Print which lines of .pyx files gcov counted: `python pyx_lines.py BUILD_FOLDER`.

gcov counts lines of the C that Cython writes, where a comment names the statement that
the next lines come from. Directives of `cython --line-directives` are of no use: one
holds for one line, and what follows that counts as the lines below the statement.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

BATCH = 20  # files for one start of gcov

STATEMENT = re.compile(r'\s*/\* "([^"]*\.p(?:yx|xd))":(\d+)$')
# Functions and methods that a .pyx or .pxd file defines; all others are Cython's own.
DEFINED = re.compile(r"__pyx_(?:f|pf|fuse_\d+\w*|gb)_")
# Where branches meet belongs to no statement: the last of a branch that is not taken
# would be counted as reached.
JOIN = re.compile(r"\s*(?:__pyx_L\w*:;|goto \w+;|break;|[{}]?)\s*$")


def statements(c_file):
    """Return {line of C: (file, line)}, both counted from 1."""
    found = {}
    statement = None
    in_comment = False
    for number, text in enumerate(c_file.read_text("utf-8").splitlines(), 1):
        if match := STATEMENT.match(text):
            statement = match[1], int(match[2])
            in_comment = True
        elif in_comment:
            in_comment = "*/" not in text
        elif "/* function exit code */" in text:
            statement = None
        elif statement and not JOIN.match(text):
            found[number] = statement
    return found


def defined_lines(report):
    """Return the lines of C within functions that are not Cython's own.

    gcov does not count the first line of some, such as inline functions.
    """
    return {
        number
        for function in report["functions"]
        if DEFINED.match(function["name"])
        for number in range(function["start_line"] + 1, function["end_line"] + 1)
    }


def counted_lines(build):
    """Return {file: {line: whether a test has reached it}}."""
    lines = defaultdict(lambda: defaultdict(bool))
    notes = sorted(build.rglob("*.gcno"))
    for first in range(0, len(notes), BATCH):
        command = ["gcov", "--json-format", "--stdout", *notes[first : first + BATCH]]
        run = subprocess.run(command, cwd=build, capture_output=True, check=True)
        for text in run.stdout.splitlines():
            for report in json.loads(text)["files"] if text.startswith(b"{") else ():
                c_file = build / report["file"]
                if c_file.suffix != ".c" or not c_file.exists():
                    continue
                places = statements(c_file)
                defined = defined_lines(report)
                for line in report["lines"]:
                    number = line["line_number"]
                    if number in defined and number in places:
                        name, place = places[number]
                        lines[name][place] |= line["count"] > 0
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
