"""Mutation score of the code that decides about splits: a command, not a test.

    python -P tests/mutation.py run --sample 200 --seed SEED --output mutants.csv
    python -P tests/mutation.py score mutants.csv

A mutant is the package with one operator or constant of one file changed. `run` draws
mutants from the packages that decide about splits, builds each one, and runs the tests
of its package until one fails: the mutant is "killed" then, or when a test does not
end, and "survived" otherwise. Those that do not compile are not counted. It needs an
editable install of this checkout, without uncommitted changes, as it changes files in
place (and restores them). `--part 1/2` runs every second mutant, so that two checkouts
can share the work.

A mutant whose behavior cannot differ is equivalent: whoever reviews the survivors
writes "equivalent" into the column `result` and why into `reason`. `score` prints
killed / (sampled - equivalent).
"""

import argparse
import csv
import io
import os
import random
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
FIELDS = ("file", "line", "column", "original", "mutant", "result", "reason")
# Which tests may kill the mutants of a package; quick ones that see much come first.
GOLDEN = "tests/tree/test_golden.py"
TESTS = {
    "bounds": ("tests/bounds", GOLDEN, "tests/tree/test_reference.py"),
    "criteria": (GOLDEN, "tests/tree/test_reference.py", "tests/bounds", "tests/tree"),
    "tree/split": (GOLDEN, "tests/tree/test_reference.py", "tests/tree"),
    "tree/pruning": ("tests/tree/test_pruning.py", GOLDEN, "tests/tree"),
    "tree/leaves": (
        *("tests/tree/test_online_reference.py", "tests/tree/test_leaf_memory.py"),
        *(GOLDEN, "tests/tree", "tests/contracts"),
    ),
    "tree/batch": (GOLDEN, "tests/tree/test_reference.py", "tests/tree"),
    "tree/stream": ("tests/tree/test_online_reference.py", GOLDEN, "tests/contracts"),
    "ensemble/forest": ("tests/ensemble/forest", "tests/contracts"),
    "ensemble/ncm": ("tests/ensemble/ncm",),
    "linear_model": ("tests/linear_model",),
    "active/pool": ("tests/active/pool", "tests/active"),
}
# The packages whose score counts: they decide which splits a tree has.
DECIDING = ("bounds", "criteria", "tree/split", "tree/pruning", "tree/leaves")
REPLACEMENTS = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    "+=": ("-=",),
    "-=": ("+=",),
    "and": ("or",),
    "or": ("and",),
    "True": ("False",),
    "False": ("True",),
    "min": ("max",),
    "max": ("min",),
    "fmin": ("fmax",),
    "fmax": ("fmin",),
    "break": ("continue",),
    "continue": ("break",),
}
# Statements that decide nothing: declarations, imports and messages of errors.
SKIPPED = {
    *("class", "import", "from", "cimport", "ctypedef", "include", "global", "raise"),
    *("warn", "warnings", "__slots__", "@", "extern", "struct", "assert", "def"),
}
CAST = re.compile(
    r"<\s*(const\s+)?[A-Za-z_][\w.]*(\s+[a-z]+)*\s*\**\s*>\s*(?=[\w(&*-])"
)
DECLARATIONS = {"cdef", "cpdef"}


def mutants_of_number(text):
    """Return the constants that may stand for a number."""
    if re.fullmatch(r"\d+", text):
        return (str(int(text) + 1),)
    if re.fullmatch(r"\d*\.\d*(e[+-]?\d+)?", text) and text != ".":
        return (str(float(text) * 2.0) if float(text) else "1.0",)
    return ()


def logical_lines(source):
    """Yield the tokens of each logical line, without comments."""
    line = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            if line:
                yield line
            line = []
        elif token.type not in (
            *(tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT),
        ):
            line.append(token)


def expressions(line):
    """Return the tokens of a logical line that compute something."""
    words = [token.string for token in line]
    if words[0] in SKIPPED or all(token.type == tokenize.STRING for token in line):
        return []
    if words[0] not in DECLARATIONS:
        return line
    depth = 0
    for index, word in enumerate(words):
        depth += (word in "([{") - (word in ")]}")
        if word == "=" and depth == 0:
            return line[index + 1 :]
    return []


def mutants(path):
    """Yield (line, column, original, mutant) of each change of a file."""
    source = path.read_text("utf-8")
    lines = source.splitlines()
    casts = [[match.span() for match in CAST.finditer(line)] for line in lines]
    for line in logical_lines(source):
        tokens = expressions(line)
        for index, token in enumerate(tokens):
            row, column = token.start
            if any(start <= column < end for start, end in casts[row - 1]):
                continue
            before = tokens[index - 1] if index else None
            text = token.string
            if token.type == tokenize.NUMBER:
                options = mutants_of_number(text)
            elif text in ("+", "-", "*", "/") and (
                before is None
                or not (
                    before.type in (tokenize.NAME, tokenize.NUMBER, tokenize.STRING)
                    or before.string in ")]"
                )
                or before.string in ("return", "in", "and", "or", "not", "if", "else")
            ):
                options = ()  # a sign, or the stars of a call
            elif text == "not" and (before is None or before.string != "is"):
                options = ("",) if tokens[index + 1].string != "in" else ()
            else:
                options = REPLACEMENTS.get(text, ())
            for option in options:
                yield row, column, text, option


def population(packages):
    """Return all mutants of some packages, in a fixed order."""
    found = []
    for package in packages:
        folder = ROOT / "skconftree" / package
        for path in sorted([*folder.glob("*.py"), *folder.glob("*.pyx")]):
            name = path.relative_to(ROOT).as_posix()
            found += [(name, *mutant) for mutant in mutants(path)]
    return found


def mutate(source, row, column, original, mutant):
    """Return the source with one token replaced."""
    lines = source.splitlines(keepends=True)
    line = lines[row - 1]
    assert line[column:].startswith(original)
    lines[row - 1] = line[:column] + mutant + line[column + len(original) :]
    return "".join(lines)


def run_python(*arguments, timeout=None):
    """Run Python on this checkout; the exit code, None if it does not end."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", *arguments],
            cwd=ROOT,
            capture_output=True,
            timeout=timeout,
            check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def judge(package, timeout):
    """Build the package as it is and run the tests of one of its folders."""
    if run_python("-c", "import skconftree.utils._memory") != 0:
        return "invalid"
    options = ("-x", "-q", "-p", "no:cacheprovider", "-m", "not slow")
    code = run_python("-m", "pytest", *options, *TESTS[package], timeout=timeout)
    return "survived" if code == 0 else "killed"


def run(packages, sample, seed, part, output, timeout):
    """Draw mutants, judge each of them and write the table."""
    everything = population(packages)
    drawn = random.Random(seed).sample(everything, len(everything))
    number, n_parts = map(int, part.split("/"))
    print(f"{len(everything)} mutants; seed {seed}, part {part}", flush=True)
    for mine in drawn[:sample][number - 1 :: n_parts]:
        name, *change = mine
        path = ROOT / name
        source = path.read_text("utf-8")
        package = str(Path(name).parent.relative_to("skconftree").as_posix())
        try:
            path.write_text(mutate(source, *change), encoding="utf-8")
            result = judge(package, timeout)
        finally:
            path.write_text(source, encoding="utf-8")
        new = not output.exists()
        with output.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            if new:
                writer.writerow(FIELDS)
            writer.writerow([*mine, result, ""])
        print(*mine, result, flush=True)


def score(paths):
    """Print the score of the mutants of some tables, by package and in all."""
    rows = []
    for path in paths:
        with path.open(newline="", encoding="utf-8") as file:
            rows += list(csv.DictReader(file))
    packages = {package: f"skconftree/{package}/" for package in TESTS} | {"all": ""}
    for package, prefix in packages.items():
        results = [row["result"] for row in rows if row["file"].startswith(prefix)]
        killed, equivalent = results.count("killed"), results.count("equivalent")
        judged = killed + results.count("survived")
        share = f"{killed / judged:.1%}" if judged else "-"
        print(
            f"{package}: {killed} of {judged} killed ({share}), {equivalent} equivalent"
        )


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run")
    command.add_argument("--packages", nargs="+", choices=TESTS, default=DECIDING)
    command.add_argument("--sample", type=int, default=200)
    command.add_argument("--seed", type=int, required=True)
    command.add_argument("--part", default="1/1")
    command.add_argument("--output", type=Path, required=True)
    command.add_argument("--timeout", type=float, default=900.0, help="seconds")
    command = commands.add_parser("score")
    command.add_argument("tables", nargs="+", type=Path)
    options = vars(parser.parse_args())
    if options.pop("command") == "run":
        run(**options)
    else:
        score(options["tables"])


if __name__ == "__main__":
    main()
