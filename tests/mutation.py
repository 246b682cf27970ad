"""Mutation score of the code that decides about splits: a command, not a test.

    python -P tests/mutation.py run --sample 200 --seed SEED --output mutants.csv
    python -P tests/mutation.py score mutants.csv

A mutant is the package with one operator or constant of one file changed. `run` draws
mutants from the packages that decide about splits, builds each one, and runs the tests
of its package until one fails: the mutant is "killed" then, or when a test does not
end, and "survived" otherwise. Those that do not compile are not counted. It needs an
editable install of this checkout, without uncommitted changes: a mutant takes the place
of its file, or of its extension module, while its tests run.

A run continues an output that exists, and judges the survivors there again, after tests
were added or with more of them: `--stages 1` runs the quick ones only, and `--passed 1`
those of the later stages for these survivors. `--part 1/2` runs every second mutant, so
that two checkouts can share the work.

A mutant whose behavior cannot differ is equivalent: whoever reviews the survivors
writes "equivalent" into the column `result` and why into `reason`. `score` prints
killed / (sampled - equivalent); with `--store` the table goes to `benchmarks/results`.
"""

import argparse
import contextlib
import csv
import importlib
import io
import json
import multiprocessing
import os
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRELOADED = (
    *("numpy", "scipy.stats", "pandas", "sklearn.ensemble", "sklearn.model_selection"),
    *("hypothesis.extra.numpy", "hypothesis.stateful", "pytest"),
    "Cython.Compiler.Main",
)
FIELDS = ("file", "line", "column", "original", "mutant", "result", "reason")
# Which tests may kill the mutants of a package, in stages: quick ones that see much
# come first, as most mutants need no others.
TREES = ("tests/tree/test_golden.py",)
KERNELS = ("tests/bounds/test_golden.py",)
REFERENCE = ("tests/tree/test_reference.py", "tests/tree/test_online_reference.py")
SPLITS = tuple(
    f"tests/tree/test_{topic}.py"
    for topic in (
        *(
            "reference_nominal",
            "reference_draws",
            "many_categories",
            "protected_splits",
        ),
        *(
            "runner_up",
            "competitors",
            "skipped_attempts",
            "lookahead",
            "features",
            "probability_intervals",
        ),
        *(
            "sampled_source",
            "weights",
            "evidence_on_streams",
            "skipped_validation",
            "split_attempts",
        ),
        *("ctree", "monotonic", "candidate_blocks"),
        *("expected_by_chance", "leaf_reason", "pool_rows"),
    )
) + (
    "tests/ensemble/forest/test_drawn_features.py",
    "tests/ensemble/forest/test_repeated_rows.py",
)
LEAVES = (
    "tests/tree/test_leaf_memory.py",
    *("tests/tree/test_inherited_rows.py", "tests/tree/test_bins.py"),
    *("tests/tree/test_latest_rows.py", "tests/tree/test_online_tables.py"),
    *("tests/tree/test_pool_rows.py", "tests/tree/test_weights.py"),
    *(
        "tests/tree/test_binary_features.py",
        "tests/tree/test_partial_fit_predict_proba.py",
    ),
    *("tests/tree/test_shrinkage.py", "tests/tree/test_calibration.py"),
    *("tests/tree/test_skipped_attempts.py", "tests/tree/test_split_attempts.py"),
    *("tests/tree/test_evidence_on_streams.py", "tests/tree/test_new_classes.py"),
    *("tests/contracts/test_model_state.py", "tests/tree/test_resize.py"),
    *("tests/contracts/test_chunking.py", "tests/contracts/test_skops_files.py"),
    *("tests/contracts/test_state.py", "tests/contracts/test_growth.py"),
    *("tests/contracts/test_memory_limit.py", "tests/contracts/test_drift.py"),
    "tests/ensemble/forest/test_drawn_features.py",
    "tests/ensemble/forest/test_streams.py",
)
OWN_RULES = ("tests/tree/test_ctree.py", "tests/contracts/test_python_components.py")
TESTS = {
    "bounds": (
        KERNELS,
        ("tests/bounds", *OWN_RULES),
        TREES,
        (
            *("tests/tree/test_skipped_attempts.py", "tests/tree/test_lookahead.py"),
            *(
                "tests/tree/test_expected_by_chance.py",
                "tests/tree/test_many_categories.py",
            ),
            "tests/tree/test_evidence_on_streams.py",
        ),
    ),
    "criteria": (
        ("tests/criteria", *KERNELS, *TREES),
        REFERENCE,
        (*SPLITS, "tests/bounds", *OWN_RULES),
    ),
    "tree/split": (TREES, REFERENCE, SPLITS),
    "tree/pruning": (
        TREES,
        (
            *("tests/tree/test_pruning_limits.py", "tests/tree/test_pruning.py"),
            "tests/tree/test_lookahead.py",
        ),
        (
            *("tests/tree/test_protected_splits.py", "tests/tree/test_shrinkage.py"),
            *("tests/tree/test_leaf_reason.py", "tests/tree/test_tree_defaults.py"),
            "tests/tree/test_monotonic.py",
        ),
    ),
    "tree/leaves": (TREES, REFERENCE[1:], LEAVES),
    "tree/batch": (TREES, REFERENCE, (*SPLITS, "tests/tables/test_sparse.py")),
    "tree/stream": (TREES, REFERENCE[1:], LEAVES),
    "ensemble/forest": (("tests/ensemble/forest",), ("tests/contracts",)),
    "ensemble/ncm": (("tests/ensemble/ncm",),),
    "linear_model": (("tests/linear_model",),),
    "active/pool": (("tests/active/pool",), ("tests/active",)),
}
# pytest is among what is imported before it starts, and so are plug-ins of it.
PRELOADING = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
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


def build_directory():
    """Return where the editable install has its extension modules."""
    command = "import skconftree.utils._memory as module; print(module.__file__)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Path(done.stdout.strip()).parent


def in_a_fork(function, *arguments, timeout=None):
    """Call a function in a process that has what is imported here; its exit code.

    None if it did not end in time.
    """
    process = multiprocessing.get_context("fork").Process(
        target=_with_its_group, args=(function, *arguments)
    )
    process.start()
    process.join(timeout)
    if process.exitcode is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
        return None
    if process.exitcode == -signal.SIGTERM:
        sys.exit("A process of this run was terminated by another one.")
    return process.exitcode


def _with_its_group(function, *arguments):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    code = 1
    try:
        code = int(function(*arguments) or 0)
    finally:
        os._exit(code)


def cythonize(options, source, module, target):
    """Make C of a .pyx file; the exit code.

    The first time in a process takes a second longer, so that a run does it once.
    """
    from Cython.Compiler import Main

    sys.argv = ["cython", *options, "--module-name", module, source, "-o", target]
    try:
        Main.main(command_line=1)
    except SystemExit as done:
        return done.code
    return 0


def cython_options(build):
    """Return how the build calls Cython."""
    return (build / "cython.dep.options").read_text("utf-8").split("\n")[1:]


def compile_module(build, name, source, target):
    """Make a shared library of a changed .pyx file; whether it compiles."""
    module = name.removesuffix(".pyx").replace("/", ".")
    options = cython_options(build)
    path = Path(name).relative_to("skconftree").with_suffix(".c")
    file = "_".join(path.parts)
    commands = json.loads((build / "compile_commands.json").read_text("utf-8"))
    (command,) = (one["command"] for one in commands if one["file"] == file)
    words = shlex.split(command)
    for option in ("-MD", "-c", "-o", "-MQ", "-MF"):
        index = words.index(option)
        del words[index : index + (1 if option in ("-MD", "-c") else 2)]
    words = [word for word in words if word not in (file, "-Wall", "-O3")]
    with tempfile.TemporaryDirectory() as folder:
        pyx = Path(folder, Path(name).name)
        pyx.write_text(source, encoding="utf-8")
        made = str(pyx.with_suffix(".c"))
        if in_a_fork(cythonize, options, str(pyx), module, made) != 0:
            return False
        words += ["-w", "-O1", "-shared", made, "-o", str(target), "-lm"]
        return subprocess.run(words, cwd=build, check=False).returncode == 0


@contextlib.contextmanager
def mutated(build, name, change):
    """Have a mutant in the place of a module for a while; whether it compiles."""
    path = ROOT / name
    source = mutate(path.read_text("utf-8"), *change)
    if path.suffix == ".py":
        place = path
    else:
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        place = build / (path.stem + suffix)
    original = place.with_name(place.name + ".original")
    os.replace(place, original)
    try:
        if path.suffix == ".py":
            place.write_text(source, encoding="utf-8")
            yield True
        else:
            yield compile_module(build, name, source, place)
    finally:
        os.replace(original, place)


class Record:
    """Orders the tests of a run, limits the time of each, and notes the last one.

    Tests that killed a mutant before come first, then those named after the module.
    """

    def __init__(self, first, module, note, seconds):
        self.first = first
        self.module = module
        self.note = note
        self.seconds = seconds

    def pytest_collection_modifyitems(self, items):
        items.sort(
            key=lambda item: (
                item.nodeid not in self.first,
                f"test{self.module}." not in item.nodeid,
            )
        )

    def pytest_runtest_logstart(self, nodeid):
        self.note.write_text(nodeid, encoding="utf-8")
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime + self.seconds)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))


def run_tests(paths, first, module, note, seconds):
    """Run tests until one fails; the exit code of pytest."""
    import pytest

    options = ["-x", "-q", "-p", "no:cacheprovider", "-W", PRELOADING]
    return pytest.main(
        [*options, *paths], plugins=[Record(first, module, note, seconds)]
    )


def judge(package, module, stages, known, seconds, passed=0):
    """Run the tests of a package until one fails: ("killed", the test)."""
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder, "test")
        for paths in TESTS[package][passed:stages]:
            note.write_text("collection", encoding="utf-8")
            arguments = paths, known, module, note, seconds
            if in_a_fork(run_tests, *arguments, timeout=3600) != 0:
                return "killed", note.read_text("utf-8")
    return "survived", ""


def read(path):
    """Return the rows of a table by what was changed."""
    with path.open(newline="", encoding="utf-8") as file:
        return {
            tuple(row[field] for field in FIELDS[:5]): row
            for row in csv.DictReader(file)
        }


def write(rows, path):
    """Write a table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())


def run(packages, sample, seed, part, stages, passed, output, seconds):
    """Draw mutants, judge each of them and write the table."""
    for module in PRELOADED:
        importlib.import_module(module)
    os.chdir(ROOT)
    build = build_directory()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    with tempfile.TemporaryDirectory() as folder:
        some = "skconftree/tree/split/_selection"
        module, made = some.replace("/", "."), str(Path(folder, "some.c"))
        cythonize(cython_options(build), f"{some}.pyx", module, made)
    everything = population(packages)
    drawn = random.Random(seed).sample(everything, len(everything))
    number, n_parts = map(int, part.split("/"))
    print(f"{len(everything)} mutants; seed {seed}, part {part}", flush=True)
    if (found := judge(packages[0], "", 1, [], seconds))[0] != "survived":
        sys.exit(f"{found[1]} fails without a mutant.")
    known = []  # tests that found a mutant before
    rows = read(output) if output.exists() else {}
    for name, *change in drawn[:sample][number - 1 :: n_parts]:
        mine = (name, *map(str, change))
        if mine in rows and rows[mine]["result"] != "survived":
            continue
        package = str(Path(name).parent.relative_to("skconftree").as_posix())
        start = time.monotonic()
        with mutated(build, name, change) as compiles:
            result, test = "invalid", ""
            if compiles:
                skipped = passed if mine in rows else 0
                result, test = judge(
                    package, Path(name).stem, stages, known, seconds, skipped
                )
        known.append(test)
        rows[mine] = dict(zip(FIELDS, (*mine, result, ""), strict=True))
        write(rows, output)
        print(*mine, result, test, f"{time.monotonic() - start:.0f} s", flush=True)


def figures(rows, package=None):
    """Count what became of the mutants of a package, or of all."""
    prefix = f"skconftree/{package}/" if package else ""
    results = [row["result"] for row in rows if row["file"].startswith(prefix)]
    counts = {
        name: results.count(name) for name in ("killed", "survived", "equivalent")
    }
    judged = counts["killed"] + counts["survived"]
    return counts | {"judged": judged, "score": counts["killed"] / max(judged, 1)}


def score(tables, store, note):
    """Print the score of the mutants of some tables, by package and in all."""
    rows = {}
    for path in tables:
        rows |= read(path)
    for package in (*DECIDING, None):
        found = figures(rows.values(), package)
        print(
            f"{package or 'all'}: {found['killed']} of {found['judged']} killed "
            f"({found['score']:.1%}), {found['equivalent']} equivalent"
        )
    if store:
        sys.path.insert(0, str(ROOT / "benchmarks"))
        from common.results import FOLDER, Tables

        write(rows, FOLDER / "mutation.csv")
        Tables("mutation", FOLDER, note).record("mutation")


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
    command.add_argument("--stages", type=int, help="of the tests, all if not given")
    command.add_argument("--passed", type=int, default=0, help="stages, by survivors")
    command.add_argument("--output", type=Path, required=True)
    command.add_argument("--seconds", type=int, default=60, help="CPU time of a test")
    command = commands.add_parser("score")
    command.add_argument("tables", nargs="+", type=Path)
    command.add_argument("--store", action="store_true", help="in benchmarks/results")
    command.add_argument("--note", default="", help="that is stored with the table")
    options = vars(parser.parse_args())
    if options.pop("command") == "run":
        run(**options)
    else:
        score(**options)


if __name__ == "__main__":
    main()
