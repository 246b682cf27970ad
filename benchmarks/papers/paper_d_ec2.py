"""EC2 as in section 4.2 of Rupprechter (2012): its family, its cost, and when to stop.

    python benchmarks paper_d_ec2 [--data FOLDER] [--part NAME ...] [--json FILE]
    python benchmarks paper_d_ec2 --part family --cache SCRATCH

The parts, all from a cloud of planes that stays (algorithm 4.4):

- ``family``: wrong rows of a whole table after 50 labels, and CPU seconds of the
  queries.
- ``particles``: errors with 10,000 particles, as in the thesis, and with 1,000, of the
  members without clusters (figures 4.17 to 4.20). Margins of the planes are kept.
- ``curves``: the family on the way there, of fewer runs (figures 4.17 to 4.22).
- ``done``: where the stopping rule of EC2 trees stops label queries, at planted label
  noise, and the errors there and after a hundred labels.
- ``speed``: one query of 10,000 rows with 1,000 hypotheses; medians of five.

LETTER A/B, PENDIGITS 0/1 and WDBC. The thesis has 100 runs and 10,000 particles;
`--runs`, for all parts, and `--particles`, for all others, set these. What has run
stays in the cache folder; a second run adds what is missing. ``--quick`` tries the
script; its figures mean nothing.
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
PUBLISHED = "published: 100 runs, 10,000 particles"
WAYS = {  # of `Pool`
    "random": "at random",
    "ec2": "EC2",
    "ec2 f": "EC2 f",
    "ec2 p": "EC2 p, also f, p",
    "ec2 p, again": "EC2 p, drawn again",
    "ec2 f, 1": "EC2 f, stale scores as they are",
    "ec2 f, 0": "EC2 f, factor 0",
}
FACTORS = {"ec2 f": None, "ec2 f, 1": 1.0, "ec2 f, 0": 0.0}  # None: as published
RUNS = {"family": 100, "particles": 100, "curves": 20, "done": 20, "speed": 5}
SCORES = ("at random", '`"gbs"`', '`"margin"`, which is UC', "EC2")
FASTER = ("EC2 f", "EC2 c", "EC2 f, c", "EC2 f, p", "EC2 f, c, p")
LOG_ENDS = np.log(np.float32([0.1, 0.8]))  # of the likelihood
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
        header = [
            "query strategy",
            *told,
            "against random",
            "seconds",
            "the thesis found",
        ]
        tables.show(f"paper-d-ec2-{name}", header, rows, TITLES[name])


class Pool:
    """EC2 on planes whose margins are kept: what `EC2Sampling` does, without clusters.

    It is quicker, as most planes have lost their weight after some labels.

    Parameters
    ----------
    model : OASISClassifier
        With planes of the prior, the normal likelihood and without moves.
    X : ndarray
        The pool.
    rng : Generator
    """

    def __init__(self, model, X, rng):
        self.margins = model.particles_[0].astype(np.float32) @ X.T.astype(np.float32)
        self.above = (self.margins > 0).astype(np.float32)
        self.log_weights = np.log(model.weights_[0])
        self.rng = rng
        self.drawn = self.draw()
        self.scores = np.full(len(X), np.inf)  # of earlier labels, for lazy evaluation

    def log_likelihood(self, margins):
        """Logarithm of the likelihood of the label 1; takes the place of margins."""
        low, high = LOG_ENDS
        margins *= (high - low) / 2
        margins += (low + high) / 2
        return np.clip(margins, low, high, out=margins)

    def weigh(self, i, label):
        """Learn the label of row i; planes drawn before that are wrong are removed."""
        likelihood = self.log_likelihood(self.margins[:, i].copy())
        # the product of the likelihoods of both labels is the same everywhere
        self.log_weights += likelihood if label else sum(LOG_ENDS) - likelihood
        self.drawn = np.where(self.above[:, i] == label, self.drawn, 0.0)

    def weights(self):
        """Give the weights, which sum to 1."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        return weights / weights.sum()

    def predict(self):
        """Predict all rows, by the planes that have a weight."""
        weights = self.weights()
        kept = weights > 1e-5 / len(weights)
        weights = weights[kept].astype(np.float32)
        likelihood = np.exp(self.log_likelihood(self.margins[kept]))
        positive = weights @ likelihood
        negative = weights @ np.divide(np.exp(sum(LOG_ENDS)), likelihood)
        return (positive > negative).astype(int)

    def draw(self):
        """Draw planes by weight; share of each among those that are drawn."""
        weights = np.cumsum(self.weights())
        n = len(weights)
        places = (self.rng.random() + np.arange(n)) / n * weights[-1]
        drawn = np.searchsorted(weights, places, side="right")
        return np.bincount(drawn, minlength=n) / n

    def edges_cut(self, drawn, rows=None):
        """Weight of edges that the label of each row is expected to cut."""
        kept = np.flatnonzero(drawn)
        share = drawn[kept]
        if rows is not None:
            above = self.above[np.ix_(kept, rows)]
        elif 2 * len(kept) > len(drawn):
            above, share = self.above, drawn
        else:
            above = self.above[kept]
        squares, total = share**2, share.sum()
        one = share.astype(np.float32) @ above
        within = squares.astype(np.float32) @ above
        edges = total**2 - squares.sum()
        of_one, of_zero = one**2 - within, (total - one) ** 2 - squares.sum() + within
        return (one * (edges - of_one) + (total - one) * (edges - of_zero)) / 2

    def best(self, way, left):
        """Next row, among those that are left."""
        left = np.flatnonzero(left)
        if way in FACTORS:
            return self.likely(left, FACTORS[way])
        exhausted = np.count_nonzero(self.drawn) < 2
        if way == "ec2" or (exhausted and way == "ec2 p, again"):
            self.drawn = self.draw()
            exhausted = np.count_nonzero(self.drawn) < 2
        if way == "random" or exhausted:
            return self.rng.choice(left)
        return left[self.edges_cut(self.drawn)[left].argmax()]

    def likely(self, left, factor):
        """Next row by lazy evaluation.

        Rows are scored in the order of their old scores times a factor, until none left
        had more than the best has now. Without a factor it is the share of the planes
        drawn for the last label that agree with it.
        """
        stale = self.scores[left]
        known = np.isfinite(stale)
        stale[known] *= self.drawn.sum() if factor is None else factor
        self.scores[left] = stale
        self.drawn = self.draw()
        order = np.lexsort((self.rng.random(len(left)), -stale))
        best, n, size = -1.0, 0, max(16, np.count_nonzero(~known))
        while n < len(left) and best < stale[order[n]]:
            rows = left[order[n : n + size]]
            self.scores[rows] = self.edges_cut(self.drawn, rows)
            best = max(best, self.scores[rows].max())
            n, size = n + size, 2 * size
        scored = left[order[:n]]
        if best <= 0.0:
            return self.rng.choice(left)
        return scored[self.scores[scored].argmax()]


def pool_errors(options, X, y, way, looks, seed):
    """Errors after some numbers of labels."""
    rng = np.random.default_rng(seed)
    pool = Pool(cloud_of(options, X, seed), X, rng)
    left, errors = np.ones(len(X), dtype=bool), []
    for n in range(1, looks[-1] + 1):
        i = pool.best(way, left)
        left[i] = False
        pool.weigh(i, y[i])
        if n in looks:
            errors.append(float((pool.predict() != y).mean()))
    return errors


def part_particles(data, options, tables, records):
    """Errors with few and with many particles."""
    looks = (5, 10) if options.quick else (10, 25, 50)
    few, many = (100, 200) if options.quick else (1000, 10_000)
    kept, rows = Runs("paper_d_ec2", options), []
    for name, (X, y) in data.items():
        base = None
        for way, title in WAYS.items():
            found = {}
            for particles in (few, many):
                given = Namespace(particles=particles, prior=options.prior)
                answers = kept.each(
                    partial(pool_errors, given, X, y, way, looks),
                    part="particles",
                    table=name,
                    way=way,
                    looks=looks,
                    particles=particles,
                    prior=options.prior,
                )
                found[particles] = np.transpose(answers)
                records.append(["particles", name, title, particles, answers])
            last = found[many][-1]
            base = last if base is None else base
            rows.append(
                [
                    TITLES[name],
                    title,
                    mean_and_error(found[few][-1]),
                    *map(mean_and_error, found[many]),
                    "-" if base is last else mean_and_error(last - base),
                ]
            )
            print(*rows[-1], sep=" | ", flush=True)
    header = [
        "table",
        "query strategy",
        f"{few:,} particles: wrong after {looks[-1]} labels",
    ]
    header += [f"{many:,}: after {n}" for n in looks]
    tables.show("paper-d-ec2-particles", [*header, "against random"], rows)


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
    header = ["table", "what", "query strategy", *(f"{n} labels" for n in looks)]
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
    header = ["table", "noise", "query strategy", "stops after", "wrong then, %"]
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
    header = ["query strategy", "first query, ms", "second", "third to tenth"]
    tables.show("paper-d-ec2-speed", [*header, "rows scored from the sixth on"], rows)


PARTS = {
    "family": part_family,
    "particles": part_particles,
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
            of = "" if part == "particles" else f", {options.particles:,} particles"
            note = f"{given.runs} runs{of}, {options.prior} prior; {PUBLISHED}"
            tables = command.tables("paper_d_ec2", options, note)
            print_environment(tables.facts)
            print(f"\n{part}: {note}\n")
            PARTS[part](data, given, tables, records)
    write_json(options.json, {"environment": tables.facts, "records": records})
