"""Runs many sequences in child processes; a crash is reported like a failure."""

import argparse
import json
import os
import select
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from itertools import chain

from .failures import name_of, name_of_crash
from .sequence import THEMES, Sequence

BLOCK = 100  # sequences of one child
TOLD = 500  # sequences


def run_one(seed, theme=None, echo=False):
    """Run a sequence and return what is to be reported."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The sample weights sum to")
        warnings.filterwarnings("ignore", "max_bins=")
        warnings.filterwarnings("ignore", "No split uses column")
        warnings.filterwarnings("ignore", "Column .* has strings, so it is nominal")
        warnings.filterwarnings("ignore", "Column .* has only unknown categories")
        warnings.filterwarnings("ignore", "The tree is a single leaf: ")
        warnings.filterwarnings("ignore", "pruning='cost_complexity' prunes nothing")
        warnings.filterwarnings("ignore", "The number of unique classes is greater")
        warnings.filterwarnings("ignore", "Some splits send missing values to the left")
        warnings.filterwarnings("ignore", "Row .* was not queried")
        warnings.filterwarnings("ignore", r"teach\(\) got .* labels where")
        warnings.filterwarnings("ignore", ".* queried labels have not been passed")
        found = None
        sequence = None
        try:
            sequence = Sequence(seed, theme, echo)
            sequence.run()
        except Exception as error:
            found = [name_of(error), str(error)[:500]]
            if echo:
                raise
    return {
        "seed": seed,
        "calls": dict(sequence.calls) if sequence else {},
        "traits": sorted(sequence.traits) if sequence else [],
        "found": found,
    }


class _Child:
    """A process that runs some sequences and tells of each as it begins and ends."""

    def __init__(self, seeds, theme, crash):
        self.said = tempfile.TemporaryFile()
        reading, writing = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            os.dup2(self.said.fileno(), 2)
            _work(seeds, theme, crash, os.fdopen(writing, "w"))
        os.close(writing)
        self.file = reading
        self.rest = b""

    def lines(self, timeout):
        """Each line that it writes; None if it is silent for too long."""
        while True:
            ready, _, _ = select.select([self.file], [], [], timeout)
            if not ready:
                yield None
                return
            data = os.read(self.file, 1 << 16)
            if not data:
                return
            *lines, self.rest = (self.rest + data).split(b"\n")
            yield from map(json.loads, lines)

    def end(self, kill=False):
        """Exit code, or minus a signal; and what it wrote to its standard error."""
        if kill:
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.file)
        self.said.seek(0)
        said = self.said.read().decode(errors="replace")
        self.said.close()
        return os.waitstatus_to_exitcode(status), said


def _work(seeds, theme, crash, out):
    code = 1
    try:
        for seed in seeds:
            print(json.dumps({"begins": seed}), file=out, flush=True)
            if seed == crash:
                os.kill(os.getpid(), signal.SIGSEGV)
            print(json.dumps(run_one(seed, theme)), file=out, flush=True)
        code = 0
    finally:
        os._exit(code)


def run(seeds, theme=None, timeout=120.0, seconds=None, crash=None):
    """Run sequences; yield a report of each.

    Parameters
    ----------
    seeds : sequence of int
    theme : str or None
        Of all sequences; drawn if None.
    timeout : float
        Seconds that a sequence may take.
    seconds : float or None
        Of all; no further sequence is begun then.
    crash : int or None
        A seed that ends its process, to see that this is found.
    """
    end = None if seconds is None else time.monotonic() + seconds
    seeds = list(seeds)
    block = BLOCK if end is None else BLOCK // 10
    while seeds and (end is None or time.monotonic() < end):
        child = _Child(seeds[:block], theme, crash)
        current, silent = None, False
        for line in child.lines(timeout):
            if line is None:
                silent = True
                break
            if "begins" in line:
                current = line["begins"]
                continue
            seeds.remove(line["seed"])
            current = None
            yield line | {"theme": theme}
        status, said = child.end(kill=silent)
        if current is not None or (status and not silent):
            current = seeds[0] if current is None else current
            name = "no answer" if silent else name_of_crash(status, said)
            seeds.remove(current)
            yield {
                "seed": current,
                "theme": theme,
                "calls": {},
                "traits": [],
                "found": [name, said[:6000]],
            }


def run_here(seeds, theme=None):
    """Run sequences in this process, which ends with the first crash.

    For ThreadSanitizer, which ends a process that begins a thread after a fork.
    """
    for seed in seeds:
        yield run_one(seed, theme) | {"theme": theme}


def summarize(reports, stop=False, out=sys.stdout):
    """Print what was run and found, up to the first finding if that is enough.

    Returns
    -------
    int
        Number of findings.
    """
    n = 0
    calls, traits = Counter(), Counter()
    found = defaultdict(list)
    said = {}
    begin = time.monotonic()
    for report in reports:
        n += 1
        if n % TOLD == 0:
            print(f"{n} sequences", file=out, flush=True)
        calls.update(report["calls"])
        traits.update(report["traits"])
        if report["found"]:
            name, text = report["found"]
            seed = str(report["seed"])
            if report["theme"] is not None:
                seed += f" --theme {report['theme']}"
            if name not in said:
                print(f"seed {seed}: {name}", file=out, flush=True)
            found[name].append(seed)
            said.setdefault(name, text)
            if stop:
                break
    seconds = time.monotonic() - begin
    print(f"\n{n} sequences, {calls.total()} calls, {seconds:.0f} s", file=out)
    for name, times in calls.most_common():
        print(f"  {times:8d}  {name}", file=out)
    print("sequences by kind:", file=out)
    for name, times in traits.most_common():
        print(f"  {times:8d}  {times / max(n, 1):6.1%}  {name}", file=out)
    print(f"findings: {len(found)}", file=out)
    for name, seeds in sorted(found.items(), key=lambda one: -len(one[1])):
        print(f"  {len(seeds):5d}  {name}", file=out)
        print(f"         seeds {', '.join(seeds[:12])}", file=out)
        print(f"         {said[name][:300]!r}", file=out)
    return len(found)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -P -m fuzz", description="Random sequences of all public calls."
    )
    parser.add_argument("n", type=int, nargs="?", default=200, help="sequences")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seed", type=int, help="run one sequence here and show it")
    parser.add_argument(
        "--theme", nargs="+", choices=sorted(THEMES), help="so many sequences of each"
    )
    parser.add_argument("--seconds", type=float, help="begin no sequence after these")
    parser.add_argument("--timeout", type=float, default=120.0, help="of a sequence")
    parser.add_argument(
        "--here", action="store_true", help="all in this process, without a time limit"
    )
    parser.add_argument("--stop", action="store_true", help="at the first finding")
    parser.add_argument("--crash", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.seed is not None:
        print(f"seed {options.seed}", file=sys.stderr)
        print(run_one(options.seed, (options.theme or [None])[0], echo=True))
        return 0
    seeds = range(options.first, options.first + options.n)
    reports = chain.from_iterable(
        run_here(seeds, theme)
        if options.here
        else run(seeds, theme, options.timeout, options.seconds, options.crash)
        for theme in options.theme or [None]
    )
    return min(summarize(reports, options.stop), 1)
