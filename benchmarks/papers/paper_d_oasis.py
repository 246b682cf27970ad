"""OASIS as in chapter 4 of Rupprechter (2012): what was found there, and what we find.

    python benchmarks paper_d_oasis [--data FOLDER] [--part NAME ...] [--json FILE]
    python benchmarks paper_d_oasis --part online --cache SCRATCH
    python benchmarks paper_d_oasis --part offline curves --cache SCRATCH

The parts, each with the thesis's protocol unless said otherwise:

- ``online``: all rows of a table once, in random order, the first two labels given;
  further ones are asked where the score is beyond its threshold. Rows predicted wrong
  before they are learned, and labels queried (figures 4.12 to 4.14).
- ``buffer``: the same, with moves that look at the last 100 rows and 50 permutations,
  as in the thesis (half an hour).
- ``offline``: 50 labels from a pool, by score or at random, weights alone; wrong rows
  of the whole table. Particles, shapes of the likelihood, priors (figures 4.15 to 4.19
  and 4.23).
- ``curves``: the first of these runs, on the way to the last label.
- ``modes``: the planes of one run on DICED after all rows without a label, and after
  some labels queried by score, by their direction (figures 4.8 to 4.11).
- ``intercept``: does `fit_intercept` pay? Half of a table to train, in random order,
  with all labels or twenty.
- ``speed``: rows a second.

LETTER A/B, PENDIGITS 0/1, WDBC and DICED, and MNIST 0/1 on ten principal components if
`fetch_openml` finds it (offline with a pool of 2,500 of its rows). IBN SINA, which the
thesis has too, is not public any more. The thesis has 50 permutations online, 100 runs
offline and 10,000 particles; `--runs` and `--particles` set these. Except in one part
moves look at the last 1,000 rows. What has run stays in the cache folder; a second run
adds what is missing. ``--quick`` tries the script; its figures mean nothing.
"""

from argparse import Namespace
from functools import partial

import numpy as np
from common import options as command
from common.data import encoded, folder_if_any, impute, load, manifest, mnist
from common.runs import Runs, mean_and_error
from common.timing import cpu_seconds, median, print_environment, write_json
from scipy.special import expit
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skconftree import OASISClassifier
from skconftree.datasets import make_diced
from skconftree.linear_model._model import decide

THRESHOLDS = {  # table 4.3; "gbs" asks as "oasis" does, at (1 - threshold) / 2
    "oasis": (0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5),
    "uc": (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25),
}
ONLINE = {  # what the thesis found
    ("oasis", 0.001): "fluctuates, as hardly a label is queried",
    ("oasis", 0.5): "the more labels, the fewer mistakes",
    ("uc", 0.001): "as the others, with a threshold that fits",
}
RUNS = {
    "online": 10,
    "buffer": 50,
    "offline": 100,
    "curves": 40,
    "modes": 1,
    "intercept": 20,
    "speed": 10,
}
PUBLISHED = {
    "online": "50 permutations, 10,000 particles, moves by 100 rows",
    "buffer": "50 permutations, 10,000 particles, moves by 100 rows",
    "offline": "100 runs, 10,000 particles",
    "curves": "100 runs, 10,000 particles",
    "modes": "1 run, 1,000 particles of length 1",
    "intercept": "nothing like it",
    "speed": "nothing like it",
}
PARTICLES = {"online": 10_000, "buffer": 10_000}
BINARY = ("letter", "pendigits", "wdbc")
MANY = ("iris", "wine", "segment", "vowel", "glass", "balance-scale", "ecoli", "zoo")
MORE = ("banknote", "diabetes", "ionosphere", "australian", "heart-statlog", "haberman")
TITLES = {
    "diced": "DICED",
    "letter": "LETTER A/B",
    "pendigits": "PENDIGITS 0/1",
    "wdbc": "WDBC",
    "mnist": "MNIST 0/1",
}
MODE_LOOKS = (0, 3, 10, 25)
LOOKS = (1, 2, *range(5, 51, 5))  # numbers of labels
POOL = 2500  # rows: the margins of 10,000 planes have to fit into memory


def standard(X):
    """Bring features to mean 0 and standard deviation 1/2, as the thesis has them."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, 2 * spread, 1)


def numbers(name, folder):
    """Read the columns of numbers; of letters and digits two classes, A, B and 0, 1."""
    if name == "diced":
        return make_diced(500, random_state=0)
    if name == "mnist":
        return digits(*mnist())
    X, y, is_nominal = encoded(name, folder, None if name in BINARY else 1500)
    if name in ("letter", "pendigits"):
        wanted = ("A", "B") if name == "letter" else ("0", "1")
        labels = load(name, folder)[1]
        kept = np.isin(labels, wanted)
        X, y = X[kept], (labels[kept] == wanted[1]).astype(int)
    X = impute(X, X, is_nominal)[0]
    return (X if is_nominal.all() else X[:, ~is_nominal]), y


def digits(X, y):
    """Ten principal components, of the first 1,000 pictures, of zeros and ones."""
    X = PCA(10, random_state=0).fit(X[:1000]).transform(X)
    kept = np.isin(y, ("0", "1"))
    return X[kept], (y[kept] == "1").astype(int)


def make(options, seed, **parameters):
    """Make the estimator for rows that are scaled already."""
    return OASISClassifier(
        **{
            "n_particles": options.particles,
            "standardize": False,
            "fit_intercept": False,
            "random_state": seed,
            **parameters,
        }
    )


def online(X, y, score, threshold, options, seed):
    """Error before learning, and labels queried, of one permutation.

    What `query_score` and `partial_fit_predict` do row by row, on the particles
    themselves: of such a call nearly all the time is validation.
    """
    order = np.random.default_rng(seed).permutation(len(X))
    first = [order[0], order[(y[order] != y[order[0]]).argmax()]]
    order = [*first, *(i for i in order if i not in first)]
    model = make(options, seed, buffer_size=options.buffer)
    model.partial_fit(X[first], y[first], classes=[0, 1])
    particles, odds = model._model.particle_filter, np.ones((1, 1, 2))
    X = np.ascontiguousarray(X, dtype=np.float64)
    wrong = asked = 0
    for i in order[2:]:
        row = X[i : i + 1]
        ask = asks(particles, row, score, threshold)
        asked += ask
        label = np.array([y[i] if ask else -1], dtype=np.intp)
        particles.learn(row, label, None, odds)
        wrong += (decide(odds)[0, 0] > 0) != y[i]
    return wrong / len(X), int(asked)


def asks(particles, row, score, threshold):
    """Say whether a label is bought (D3)."""
    if score == "uc":
        return abs(expit(decide(particles.odds(row))[0, 0]) - 0.5) < threshold
    negative, positive = particles.sides(row)[0, 0]
    if score == "oasis":
        return abs(negative - positive) < threshold
    return min(negative, positive) > threshold


def offline(X, y, score, options, seed, unlabeled=False, **parameters):
    """Errors on all rows after the numbers of labels of `LOOKS`, of one run."""
    rng = np.random.default_rng(seed)
    if len(X) > POOL:
        rows = rng.choice(len(X), POOL, replace=False)
        X, y = X[rows], y[rows]
    start = make(options, seed, resample=unlabeled, **parameters)
    # without a run the cloud is the prior: a row at the origin weighs all planes alike
    seen = X if unlabeled else np.zeros((1, X.shape[1]))
    start.partial_fit(seen, np.full(len(seen), np.nan), classes=[0, 1])
    left = np.ones(len(X), dtype=bool)
    model, errors = Cloud(start, X), []
    for n in range(1, LOOKS[-1] + 1):
        if score == "random":
            i = rng.choice(np.flatnonzero(left))
        else:
            i = np.flatnonzero(left)[model.scores(score)[left].argmin()]
        left[i] = False
        model.weigh(i, y[i])
        if n in LOOKS:
            errors.append(((model.share() > 0.5) != y).mean())
    return errors


class Cloud:
    """Planes that stay, and the rows they are asked about: algorithm 4.4.

    What the estimator does with ``resample=False``, with the margins of a pool kept.
    """

    def __init__(self, model, X):
        margins = model.particles_[0].astype(np.float32) @ X.T.astype(np.float32)
        alpha, gamma = {
            "normal": (0.5, 0.2),
            "steep": (0.1, 0.1),
            "flat": (0.7, 0.3),
        }[model.likelihood]
        low, high = np.float32(np.log(gamma * alpha)), np.float32(np.log1p(-gamma))
        middle = (low + high) / 2
        with np.errstate(divide="ignore"):
            self.log_weights = np.log(model.weights_[0])
        # float32 alone: a bool or a second type would be converted at every question
        self.above = (margins > 0).astype(np.float32)
        margins *= middle - low
        self.of_label = [
            np.exp(np.clip(middle + sign * margins, low, high)) for sign in (-1, 1)
        ]

    def weigh(self, i, label):
        """Learn the label of row i."""
        self.log_weights = self.log_weights + np.log(self.of_label[label][:, i])

    def weights(self):
        """Give the weights, which sum to 1."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        return (weights / weights.sum()).astype(np.float32)

    def share(self):
        """P(+1 | x) of every row."""
        negative, positive = (self.weights() @ of for of in self.of_label)
        return positive / (positive + negative)

    def scores(self, score):
        """Scores of every row; small is worth asking."""
        if score == "uc":
            return np.abs(self.share() - 0.5)
        return np.abs(2 * (self.weights() @ self.above) - 1)


def part_online(data, options, tables, records, buffer=1000):
    """Errors and queries of scores and thresholds."""
    options = Namespace(**vars(options), buffer=buffer)
    kept, rows = Runs("paper_d_oasis", options), []
    for score, thresholds in THRESHOLDS.items():
        for threshold in thresholds[: 1 if options.quick else None]:
            cells = []
            for name, (X, y) in data.items():
                runs = kept.each(
                    partial(online, X, y, score, threshold, options),
                    part="online",
                    table=name,
                    score=score,
                    threshold=threshold,
                    particles=options.particles,
                    buffer=buffer,
                )
                errors, asked = np.transpose(runs)
                cells.append(f"{mean_and_error(errors)} ({asked.mean():.0f})")
                records.append(["online", name, score, threshold, runs])
            thesis = ONLINE.get((score, threshold), "")
            rows.append([f'`"{score}"`, {threshold:g}', *cells, thesis])
            print(*rows[-1], sep=" | ", flush=True)
    names = [TITLES[name] for name in data]
    header = ["wrong, % (labels queried)", *names, "the thesis found"]
    name = "paper-d-online" if buffer == 1000 else f"paper-d-online-{buffer}"
    tables.show(name, header, rows)


def variants(options):
    """Name of each setting of a pool -> its score, its parameters, the thesis."""
    few = min(1000, options.particles)
    many = 2 * few if options.quick else max(10_000, options.particles)
    return {
        f"at random, {few:,} particles": ("random", {"n_particles": few}, ""),
        f'`"oasis"`, {few:,}': ("oasis", {"n_particles": few}, ""),
        f"at random, {many:,}": (
            "random",
            {"n_particles": many},
            "better than 1,000",
        ),
        f'`"oasis"`, {many:,}': (
            "oasis",
            {"n_particles": many},
            "better than random",
        ),
        f'`"uc"`, {many:,}': ("uc", {"n_particles": many}, 'as `"oasis"`'),
        f'`likelihood="steep"`, {many:,}': (
            "oasis",
            {"n_particles": many, "likelihood": "steep"},
            "worst of the shapes",
        ),
        f'`likelihood="flat"`, {many:,}': (
            "oasis",
            {"n_particles": many, "likelihood": "flat"},
            "best with normal",
        ),
        f'`prior="normal"`, {many:,}': (
            "oasis",
            {"n_particles": many, "prior": "normal"},
            "best of the priors",
        ),
        f"the cloud of an unlabeled run, {few:,}": (
            "oasis",
            {"n_particles": few, "unlabeled": True},
            "worst of the priors",
        ),
    }


def offline_runs(data, options, score, parameters):
    """Name of each table -> errors of its runs, runs by `LOOKS`."""
    kept = Runs("paper_d_oasis", options)
    return {
        name: np.array(
            kept.each(
                partial(offline, X, y, score, options, **parameters),
                part="offline",
                table=name,
                score=score,
                looks=LOOKS,
                **parameters,
            )
        )
        for name, (X, y) in data.items()
    }


def part_offline(data, options, tables, records):
    """Errors after all labels, beside what the thesis found."""
    rows = []
    for title, (score, parameters, thesis) in variants(options).items():
        found = offline_runs(data, options, score, parameters)
        last = {name: errors[:, -1] for name, errors in found.items()}
        rows.append([title, *map(mean_and_error, last.values()), thesis])
        print(*rows[-1], sep=" | ", flush=True)
        for name, errors in last.items():
            records.append(["offline", name, title, errors.tolist()])
    names = [TITLES[name] for name in data]
    header = [f"wrong after {LOOKS[-1]} labels", *names, "the thesis found"]
    tables.show("paper-d-offline", header, rows)


def part_curves(data, options, tables, records):
    """Errors on the way to the last label."""
    rows = []
    for title, (score, parameters, _) in variants(options).items():
        found = offline_runs(data, options, score, parameters)
        for name, errors in found.items():
            for n, after in zip(LOOKS, errors.T, strict=True):
                cells = mean_and_error(after).split(" ± ")
                rows.append([TITLES[name], title, n, *cells])
            records.append(["curves", name, title, errors.tolist()])
        print(title, flush=True)
    header = ["table", "query strategy", "labels", "wrong, %", "twice its error"]
    tables.show("paper-d-offline-curves", header, rows)


def part_modes(data, options, tables, records):
    """Weight of the planes by direction, without labels and after some.

    The thesis's planes have length 1 in this example; here only directions are shown.
    """
    X, y = data["diced"]
    model = make(options, 0, buffer_size=100)
    model.partial_fit(X, np.full(len(X), np.nan), classes=[0, 1])
    model.set_params(resample=False)
    left, found = np.ones(len(X), dtype=bool), {}
    for n in range(MODE_LOOKS[-1] + 1):
        if n:
            rows = np.flatnonzero(left)
            i = rows[model.query_score(X[left], "oasis").argmin()]
            left[i] = False
            model.partial_fit(X[[i]], y[[i]])
        if n in MODE_LOOKS:
            planes = model.particles_[0]
            angles = np.degrees(np.arctan2(planes[:, 1], planes[:, 0]))
            found[n] = angles, model.weights_[0], int((model.predict(X) != y).sum())
    rows = []
    for n, (angles, weights, wrong) in found.items():
        quarter = np.round(angles / 90).astype(int) % 4
        shares = np.bincount(quarter, weights=weights, minlength=4)
        rows.append([n, *(f"{share:.2f}" for share in shares), wrong])
    header = ["labels", *(f"around {90 * i} degrees" for i in range(4)), "rows wrong"]
    tables.show("paper-d-modes", header, rows)
    ends = np.linspace(-180, 180, 73)
    columns = [
        np.histogram(angles, ends, weights=weights)[0]
        for angles, weights, _ in found.values()
    ]
    rows = [
        [f"{middle:g}", *(f"{100 * share:.2f}" for share in shares)]
        for middle, *shares in zip(ends[:-1] + 2.5, *columns, strict=True)
    ]
    header = ["degrees", *(f"{n} labels, weight in %" for n in found)]
    tables.show("paper-d-modes-directions", header, rows)
    records.append(["modes", rows])


def compared(X, y, labeled, options, seed):
    """Test errors of one division; None if one class alone has labels."""
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = np.array_split(order, 2)
    given = y[train].astype(float)
    few = slice(None if labeled == "all" else labeled)
    if len(np.unique(given[few])) < 2:
        return None
    given[len(given[few]) :] = np.nan
    parameters = {"n_particles": options.particles, "random_state": seed}
    without = OASISClassifier(fit_intercept=False, **parameters)
    default = OASISClassifier(**parameters)
    models = {
        "without": without.fit(X[train], given),
        "with": clone(default).fit(X[train], given),
        "alone": default.fit(X[train][few], y[train][few]),
        "logistic": make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=1000)
        ).fit(X[train][few], y[train][few]),
    }
    return {key: 1 - model.score(X[test], y[test]) for key, model in models.items()}


def part_intercept(data, options, tables, records):
    """Test errors without and with an intercept, and beside logistic regression."""
    kept, rows, binary = Runs("paper_d_oasis", options), [], {}
    for name, (X, y) in data.items():
        for labeled in ("all", 20):
            runs = kept.each(
                partial(compared, X, y, labeled, options),
                part="intercept",
                table=name,
                labeled=labeled,
                particles=options.particles,
            )
            runs = [run for run in runs if run is not None]
            errors = {key: [run[key] for run in runs] for key in (runs or [{}])[0]}
            if not errors:
                continue
            difference = np.subtract(errors["with"], errors["without"])
            if len(np.unique(y)) == 2:
                which = ["with", "logistic"]
                if labeled != "all":
                    which.insert(1, "alone")
                binary.setdefault(name, {})[labeled] = [
                    f"{100 * np.mean(errors[key]):.1f}" for key in which
                ]
            rows.append(
                [
                    name,
                    str(labeled),
                    f"{len(np.unique(y))}",
                    *(mean_and_error(found) for found in errors.values()),
                    mean_and_error(difference),
                ]
            )
            print(*rows[-1], sep=" | ", flush=True)
            records.append(["intercept", name, labeled, errors])
    header = [
        *("table", "labels", "classes", "wrong without, %", "with"),
        *("with, labeled rows alone", "logistic regression", "with - without"),
    ]
    tables.show("paper-d-intercept", header, rows)
    header = [
        "labels",
        "OASIS, 20 and all others unlabeled",
        "OASIS, 20 alone",
        "logistic regression, 20",
        "OASIS, all",
        "logistic regression, all",
    ]
    nothing = {20: ["-"] * 3, "all": ["-"] * 2}
    shown = []
    for name, cells in binary.items():
        cells = {**nothing, **cells}
        shown.append([TITLES.get(name, name), *cells[20], *cells["all"]])
    tables.show("paper-d-few-labels", header, shown)


def part_speed(data, options, tables, records):
    """Rows a second, without and with moves; medians of five."""
    rng = np.random.default_rng(0)
    w, rows = rng.normal(size=16), []
    for particles in (1000, 10_000):
        for labeled, resample in ((1, False), (0, False), (1, True), (0.1, True)):
            n = 20_000_000 // particles // (4 if resample or not labeled else 1)
            n = 200 if options.quick else n
            X = rng.normal(0, 0.5, size=(n, 16))
            y = np.where(rng.random(n) < labeled, X @ w > 0, np.nan)
            seconds = []
            for _ in range(5):
                model = make(options, 0, n_particles=particles, resample=resample)
                model.partial_fit(X[:1], y[:1], classes=[0, 1])
                seconds.append(cpu_seconds(partial(model.partial_fit, X, y)))
            rows.append(
                [
                    f"{particles:,} x 16",
                    f"{labeled:.0%}",
                    f"{int(model.n_moves_[0])} in {n:,} rows" if resample else "off",
                    f"{n / median(seconds):,.0f}",
                ]
            )
            print(*rows[-1], sep=" | ", flush=True)
            records.append(["speed", particles, labeled, resample, n, seconds])
    header = ["particles x features", "labeled", "moves", "rows a second"]
    tables.show("paper-d-speed", header, rows)


PARTS = {
    "online": part_online,
    "buffer": partial(part_online, buffer=100),
    "offline": part_offline,
    "curves": part_curves,
    "modes": part_modes,
    "intercept": part_intercept,
    "speed": part_speed,
}


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "cache", "quick", "json")
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--table", nargs="+", help="some of the tables")
    parser.add_argument("--runs", type=int, help=f"of each setting; {RUNS}")
    parser.add_argument(
        "--particles", type=int, help=f"1,000; {PARTICLES}, if not given"
    )
    options = parser.parse_args(argv)
    if options.quick:
        options.runs, options.particles = 2, 100
    folder = folder_if_any(options.data, "DICED")
    known = [] if folder is None else manifest(folder)
    records = []
    for part in options.part:
        own = {
            "runs": options.runs or RUNS[part],
            "particles": options.particles or PARTICLES.get(part, 1000),
        }
        given = Namespace(**{**vars(options), **own})
        runs = "1 run" if given.runs == 1 else f"{given.runs} runs"
        note = f"{runs}, {given.particles:,} particles unless named"
        note += f"; published: {PUBLISHED[part]}"
        tables = command.tables("paper_d_oasis", options, note)
        print_environment(tables.facts)
        print(f"\n{part}: {note}\n")
        names = [*BINARY, *((*MORE, *MANY) if part == "intercept" else ())]
        names = ["diced", *(name for name in names if name in known)]
        if part in ("online", "buffer", "offline", "curves") and mnist() is not None:
            names.append("mnist")
        if not set(options.table or names) <= set(names):
            parser.error(f"--table of {part} must be among: {', '.join(names)}")
        data = {
            name: numbers(name, folder)
            for name in names
            if options.table is None or name in options.table
        }
        if part != "intercept":
            data = {name: (standard(X), y) for name, (X, y) in data.items()}
        PARTS[part](data, given, tables, records)
    write_json(options.json, {"environment": tables.facts, "records": records})
