"""EC2 as in section 4.2 of Rupprechter (2012): its family, its cost, and when to stop.

    python benchmarks paper_d_ec2 [--data FOLDER] [--part NAME ...] [--json FILE]
    python benchmarks paper_d_ec2 --part family --runs 100 --cache SCRATCH

The parts, all from a cloud of planes that stays (algorithm 4.4):

- ``family``: wrong rows of a whole table after 50 labels, and CPU seconds of the
  queries (figures 4.17 to 4.22).
- ``done``: where the stopping rule of EC2 trees stops label queries, at planted label
  noise, and the errors there and after a hundred labels.
- ``speed``: one query of 10,000 rows with 1,000 hypotheses; medians of five.

LETTER A/B, PENDIGITS 0/1 and WDBC. The thesis has 100 runs and 10,000 particles;
`--runs` and `--particles` set these. What has run stays in the cache folder; a second
run adds what is missing. ``--quick`` tries the script; its figures mean nothing.
"""

import time
from functools import partial

import numpy as np
from common import options as command
from common.data import folder_if_any, manifest
from common.runs import Runs, mean_and_error
from common.timing import median, print_environment, write_json
from threadpoolctl import threadpool_limits

from skconftree import OASISClassifier
from skconftree.active import ActiveLearner, EC2Done, EC2Sampling

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
NOISES = (0.01, 0.05, 0.1, 0.2)


def cloud_of(options, X, seed):
    """Planes of the prior, before any row."""
    model = OASISClassifier(
        n_particles=options.particles,
        prior=options.prior,
        standardize=False,
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


def run(options, X, y, strategy, n_labels, seed):
    """Errors after some numbers of labels, and CPU seconds of all queries."""
    one = learner_of(options, X, strategy, seed)
    errors, seconds = [], 0.0
    for n in range(1, n_labels + 1):
        start = time.process_time()
        rows = one.query()
        seconds += time.process_time() - start
        one.teach(rows, y[rows])
        if n in (10, 25, n_labels):
            errors.append(wrong(one, X, y))
    return errors, seconds


def part_family(data, options, tables, records):
    """Errors and seconds of the family, one table of the documentation each."""
    n_labels = 10 if options.quick else 50
    labels = sorted({10, min(25, n_labels), n_labels})
    kept = Runs("paper_d_ec2", options)
    for name, (X, y) in data.items():
        rows, base = [], None
        for title, (strategy, thesis) in FAMILY.items():
            runs = kept.each(
                partial(run, options, X, y, strategy, n_labels),
                part="family",
                table=name,
                strategy=strategy,
                n_labels=n_labels,
                particles=options.particles,
                prior=options.prior,
            )
            errors = np.transpose([one[0] for one in runs])
            last = errors[-1]
            base = last if base is None else base
            rows.append(
                [
                    title,
                    *(mean_and_error(values) for values in errors),
                    "-" if base is last else mean_and_error(last - base),
                    f"{np.mean([one[1] for one in runs]):.2f}",
                    thesis,
                ]
            )
            print(name, *rows[-1], sep=" | ", flush=True)
            records.append(["family", name, title, runs])
        told = [f"wrong after {n} labels" for n in labels]
        header = ["asked by", *told, "against random", "seconds", "the thesis found"]
        tables.show(f"paper-d-ec2-{name}", header, rows, TITLES[name])


def stops(options, X, y, noise, settings, n_labels, seed):
    """Errors after each label, and the confidence of the rule before it."""
    one = learner_of(options, X, settings, seed)
    rng = np.random.default_rng(seed)
    told = np.where(rng.random(len(y)) < noise, 1 - y, y)
    rule, errors, confidence = EC2Done(noise), [], []
    for _ in range(n_labels):
        errors.append(wrong(one, X, y))
        confidence.append(rule.confidence_at(one))
        rows = one.query()
        one.teach(rows, told[rows])
    return errors, confidence


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
    n, repeats = (500, 1) if options.quick else (10_000, 5)
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


PARTS = {"family": part_family, "done": part_done, "speed": part_speed}


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "cache", "quick", "json")
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--table", nargs="+", help="some of the tables")
    parser.add_argument("--runs", type=int, default=20, help="of each setting")
    parser.add_argument("--particles", type=int, default=1000)
    parser.add_argument("--prior", choices=["cauchy", "normal"], default="cauchy")
    options = parser.parse_args(argv)
    if options.quick:
        options.runs, options.particles = 1, 100
    folder = folder_if_any(options.data, "rows drawn at random")
    prior = f"{options.prior} prior"
    note = f"{options.runs} runs, {options.particles:,} particles, {prior}"
    tables = command.tables("paper_d_ec2", options, note)
    print_environment(tables.facts)
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
            print(f"\n{part}: {note}\n")
            PARTS[part](data, options, tables, records)
    write_json(options.json, {"environment": tables.facts, "records": records})
