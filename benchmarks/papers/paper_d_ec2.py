"""EC2 as in section 4.2 of Rupprechter (2012): its family, its cost, and when to stop.

    python benchmarks paper_d_ec2 [--data FOLDER] [--part NAME ...] [--json FILE]
    python benchmarks paper_d_ec2 --part family --cache SCRATCH

The parts, all from a cloud of planes that stays (algorithm 4.4):

- ``family``: wrong rows of a whole table after 50 labels, and CPU seconds of the
  queries.
- ``curves``: the same on the way there, of fewer runs (figures 4.17 to 4.22).
- ``done``: where the stopping rule of EC2 trees stops label queries, at planted label
  noise, and the errors there and after a hundred labels.
- ``speed``: one query of 10,000 rows with 1,000 hypotheses; medians of five.

LETTER A/B, PENDIGITS 0/1 and WDBC. The thesis has 100 runs and 10,000 particles;
`--runs`, for all parts, and `--particles` set these. What has run stays in the cache
folder; a second run adds what is missing. ``--quick`` tries the script; its figures
mean nothing.
"""

import time
from argparse import Namespace
from functools import partial

import numpy as np
from common import options as command
from common.data import folder_if_any, manifest
from common.runs import Runs, mean_and_error
from common.timing import median, print_environment, write_json
from threadpoolctl import threadpool_limits

from skconftree import OASISClassifier
from skconftree.active import ActiveLearner, EC2Sampling
from skconftree.active.pool import StoppingRule
from skconftree.bounds import ec2_confidence

from .paper_d_oasis import BINARY, TITLES, numbers, standard

FAMILY = {  # settings, and what the thesis found
    "at random": ("random", ""),
    '`"gbs"`': ("gbs", "better than random"),
    '`"margin"`, which is UC': ("margin", "better than random"),
    "EC2": ({}, "better than random, as UC"),
    "EC2 f": ({"lazy": True}, "a little worse than EC2, fastest"),
    "EC2 c": ({"clustered": True}, "no better than EC2"),
    "EC2 f, c": ({"lazy": True, "clustered": True}, "a little worse than EC2"),
    "EC2 p": ({"pure": True}, "as f, p"),
    "EC2 f, p": ({"lazy": True, "pure": True}, "worse than random"),
    "EC2 c, p": ({"clustered": True, "pure": True}, "as f, c, p"),
    "EC2 f, c, p": (
        {"lazy": True, "clustered": True, "pure": True},
        "worse than random",
    ),
    "EC2 f, p, drawn again": (
        {"lazy": True, "pure": True, "on_exhausted": "resample"},
        "proposed, not tried",
    ),
    "EC2 f, stale scores as they are": (
        {"lazy": True, "stale_factor": 1.0},
        "nearer to EC2",
    ),
    "EC2 f, factor 0": ({"lazy": True, "stale_factor": 0.0}, ""),
}
RUNS = {"family": 100, "curves": 20, "done": 20, "speed": 5}
SCORES = ("at random", '`"gbs"`', '`"margin"`, which is UC', "EC2")
FASTER = ("EC2 f", "EC2 c", "EC2 f, c", "EC2 f, p", "EC2 f, c, p")
NOISES = (0.01, 0.05, 0.1, 0.2)


def cloud_of(options, X, seed):
    """Planes of the prior, before any row."""
    model = OASISClassifier(
        n_particles=options.particles,
        prior=options.prior,
        standardize=False,
        fit_intercept=False,
        resample=False,
        random_state=seed,
    )
    return model.partial_fit(X[:1], [None], classes=[0, 1], sample_weight=[0.0])


def learner_of(options, X, strategy, seed):
    """Make a learner that asks from the first label on."""
    if isinstance(strategy, dict):
        strategy = EC2Sampling(**strategy)
    return ActiveLearner(
        cloud_of(options, X, seed),
        strategy=strategy,
        prefit=True,
        refit=False,
        classes=[0, 1],
        random_state=seed,
    ).fit(X)


def wrong(one, X, y):
    """Share of the table's rows that are predicted wrong."""
    return float((one.predict(X) != y).mean())


def run(options, X, y, strategy, looks, seed):
    """Errors after some numbers of labels, and CPU seconds of queries until then."""
    one = learner_of(options, X, strategy, seed)
    errors, seconds, spent = [], [], 0.0
    for n in range(1, looks[-1] + 1):
        start = time.process_time()
        rows = one.query()
        spent += time.process_time() - start
        one.teach(rows, y[rows])
        if n in looks:
            errors.append(wrong(one, X, y))
            seconds.append(spent)
    return errors, seconds


def runs_of(data, titles, looks, options):
    """Answers of `run` for each way to ask: errors and seconds, looks by runs."""
    name, (X, y) = data
    kept = Runs("paper_d_ec2", options)
    for title in titles:
        strategy, thesis = FAMILY[title]
        answers = kept.each(
            partial(run, options, X, y, strategy, looks),
            table=name,
            strategy=strategy,
            looks=looks,
            particles=options.particles,
            prior=options.prior,
        )
        print(name, title, flush=True)
        errors, seconds = np.transpose(answers, (1, 2, 0))
        yield title, thesis, errors, seconds


def part_family(data, options, tables, records):
    """Errors and seconds of the family, one table of the documentation each."""
    looks = (5, 10) if options.quick else (10, 25, 50)
    for name, table in data.items():
        rows, base = [], None
        found = runs_of((name, table), FAMILY, looks, options)
        for title, thesis, errors, seconds in found:
            last = errors[-1]
            base = last if base is None else base
            rows.append(
                [
                    title,
                    *(mean_and_error(values) for values in errors),
                    "-" if base is last else mean_and_error(last - base),
                    f"{seconds[-1].mean():.2f}",
                    thesis,
                ]
            )
            records.append(["family", name, title, errors.tolist(), seconds.tolist()])
        told = [f"wrong after {n} labels" for n in looks]
        header = ["asked by", *told, "against random", "seconds", "the thesis found"]
        tables.show(f"paper-d-ec2-{name}", header, rows, TITLES[name])


def part_curves(data, options, tables, records):
    """Errors and seconds on the way to the last label; the family on LETTER alone."""
    looks = (5, 10) if options.quick else (1, *range(5, 51, 5))
    rows = []
    for name, table in data.items():
        titles = (*SCORES, *FASTER) if name == "letter" else SCORES
        found = runs_of((name, table), titles, looks, options)
        for title, _, errors, seconds in found:
            means = [f"{100 * one:.1f}" for one in errors.mean(axis=1)]
            rows.append([TITLES[name], "wrong, %", title, *means])
            means = [f"{one:.3f}" for one in seconds.mean(axis=1)]
            rows.append([TITLES[name], "seconds", title, *means])
            records.append(["curves", name, title, errors.tolist(), seconds.tolist()])
    header = ["table", "what", "asked by", *(f"{n} labels" for n in looks)]
    tables.show("paper-d-ec2-curves", header, rows)


class EC2Done(StoppingRule):
    """The rule of EC2 trees for labels: it stops nothing, and records its confidence.

    Hypotheses are the rows of the tree's node, and labels its tests: what the best
    label is expected to cut is compared with what wrong labels may have cut. The rule
    would stop once the confidence is below 0.5. That it be tried on labels is an open
    question of the thesis, section 5.4.1 and chapter 6.

    Parameters
    ----------
    noise : float
        Probability, in [0, 1), that a label is wrong.
    """

    needs = ("hypotheses",)

    def __init__(self, noise=0.01):
        self.noise = noise
        self.confidences = []

    def reached(self, context):
        """Record the confidence that the next label is worth its price, and go on."""
        n_labels = sum(int(one.known.sum()) for one in context.answers)
        table = context.strategy.best_table(context)
        self.confidences.append(float(ec2_confidence(table, n_labels, self.noise)))
        return False


def stops(options, X, y, noise, settings, n_labels, seed):
    """Errors after each label, and the confidence of the rule before it."""
    one = learner_of(options, X, settings, seed)
    rng = np.random.default_rng(seed)
    told = np.where(rng.random(len(y)) < noise, 1 - y, y)
    rule, errors = EC2Done(noise), []

    def answer(_, rows):
        errors.append(wrong(one, X, y))
        return told[rows]

    one.run(answer, budget=n_labels, stop=rule)
    return errors, rule.confidences


def part_done(data, options, tables, records):
    """Where the rule stops, and what is wrong there and in the end."""
    n_labels = 15 if options.quick else 100
    kept, rows = Runs("paper_d_ec2", options), []
    for name, (X, y) in data.items():
        for noise in NOISES:
            for settings in ({}, {"pure": True, "lazy": True}):
                runs = kept.each(
                    partial(stops, options, X, y, noise, settings, n_labels),
                    part="done",
                    table=name,
                    noise=noise,
                    strategy=settings,
                    n_labels=n_labels,
                    particles=options.particles,
                    prior=options.prior,
                )
                errors = np.array([one[0] for one in runs])
                sure = np.array([one[1] for one in runs]) >= 0.5
                stop = np.where(sure.all(axis=1), n_labels, (~sure).argmax(axis=1))
                at_stop = errors[np.arange(len(runs)), np.minimum(stop, n_labels - 1)]
                final = errors[:, -10:].mean()
                rows.append(
                    [
                        TITLES[name],
                        f"{noise:g}",
                        "EC2 p" if settings else "EC2",
                        f"{np.mean(stop):.0f}"
                        + (
                            f" ({stop.min()} to {stop.max()})"
                            if options.runs > 1
                            else ""
                        ),
                        mean_and_error(at_stop),
                        f"{100 * final:.1f}",
                    ]
                )
                print(*rows[-1], sep=" | ", flush=True)
                records.append(["done", name, noise, settings, runs])
    header = ["table", "noise", "asked by", "stops after", "wrong then, %"]
    header.append(f"wrong after about {n_labels}, %")
    tables.show("paper-d-ec2-done", header, rows)


def part_speed(data, options, tables, records):
    """One query of 10,000 rows."""
    n, repeats = (500 if options.quick else 10_000), options.runs
    rng = np.random.default_rng(0)
    X = rng.normal(0, 0.5, size=(n, 16))
    y = (X @ rng.normal(size=16) > 0).astype(int)
    rows = []
    for title, (strategy, _) in FAMILY.items():
        seconds, scored = [], []
        for seed in range(repeats):
            one = learner_of(options, X, strategy, seed)
            seconds.append([])
            scored.append([])
            for _ in range(10):
                start = time.process_time()
                asked = one.query()
                seconds[-1].append(1e3 * (time.process_time() - start))
                scored[-1].append(getattr(one._strategy, "n_scored_", 0))
                one.teach(asked, y[asked])
        spent, scored = np.array(seconds), np.array(scored)
        rows.append(
            [
                title,
                *(f"{median(spent[:, i]):.1f}" for i in (0, 1)),
                f"{median(spent[:, 2:].ravel()):.1f}",
                f"{scored[:, 5:].max():,}" if scored.any() else "-",
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
        records.append(["speed", title, seconds])
    header = ["asked by", "first query, ms", "second", "third to tenth"]
    tables.show("paper-d-ec2-speed", [*header, "rows scored from the sixth on"], rows)


PARTS = {
    "family": part_family,
    "curves": part_curves,
    "done": part_done,
    "speed": part_speed,
}


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "cache", "quick", "json")
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--table", nargs="+", help="some of the tables")
    parser.add_argument("--runs", type=int, help=f"of each setting; {RUNS}")
    parser.add_argument("--particles", type=int, default=1000)
    parser.add_argument("--prior", choices=["cauchy", "normal"], default="cauchy")
    options = parser.parse_args(argv)
    if options.quick:
        options.runs, options.particles = 1, 100
    folder = folder_if_any(options.data, "rows drawn at random")
    known = [] if folder is None else manifest(folder)
    records = []
    data = {
        name: numbers(name, folder)
        for name in BINARY
        if name in known and (options.table is None or name in options.table)
    }
    data = {name: (standard(X), y) for name, (X, y) in data.items()}
    with threadpool_limits(1):
        for part in options.part:
            given = Namespace(**{**vars(options), "runs": options.runs or RUNS[part]})
            note = (
                f"{given.runs} runs, {options.particles:,} particles, "
                f"{options.prior} prior"
            )
            tables = command.tables("paper_d_ec2", options, note)
            print_environment(tables.facts)
            print(f"\n{part}: {note}\n")
            PARTS[part](data, given, tables, records)
    write_json(options.json, {"environment": tables.facts, "records": records})
