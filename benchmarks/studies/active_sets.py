"""What active learning saves on small tables: strategies, trees that grow, forests.

    python benchmarks active_sets --data FOLDER [--part trees] [--json FILE]

Halves of each table are pool and test rows, again in each of the paired runs. All
learners begin with the same ten labels at random and buy five at a time, up to 80 or,
with forests, 150. The area is the mean accuracy over all numbers of labels.

- ``--part trees``: a default tree that is fitted again at each label, and trees that
  grow (an examination at each label, rows kept in the leaves), on eight tables and on a
  4 x 4 checkerboard of which a tenth is labeled wrongly (300 labels, ten at a time).
- ``--part forests``: a forest of 50 trees, fitted again, on sixteen tables: labels
  that a strategy needs for the accuracy that random labels reach at the end, and what
  half of the labels are worth beside it.

At most 2,000 rows a table, drawn in proportion to the classes; nominal columns are
codes, holes are filled. The tables were chosen before anything was run. Half an hour of
CPU time altogether.
"""

import time

import numpy as np
from common import options as command
from common.data import data_folder, encoded, impute
from common.judging import with_error
from common.timing import print_environment, write_json
from scipy.stats import wilcoxon

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.active import LeafRiskSampling, simulate
from skconftree.bounds import CredibleBound, EValueBound, GTestBound, PossibilisticBound

MAX_ROWS = 2000
AGAIN = 500  # times that runs are drawn again for a standard error
SMALL = (
    "banknote",
    "diabetes",
    "ionosphere",
    "page-blocks",
    "segment",
    "wdbc",
    "wine",
    "yeast",
)
OTHERS = (
    "australian",
    "balance-scale",
    "car",
    "kr-vs-kp",
    "mushroom",
    "pendigits",
    "phishing",
    "vowel",
)
CHECKERBOARD = "checkerboard"
LONGER = {CHECKERBOARD: (300, 10)}  # labels, and labels at a time
GROWING = {"grace_period": 1, "leaf_memory": "rows", "leaf_prediction": "majority"}
LEAF_STRATEGIES = (
    ("leaf risk", LeafRiskSampling(gap=False)),
    ("leaf gap", LeafRiskSampling(gap=True)),
    ("leaf entropy", "leaf_entropy"),
    ("expected error", "expected_error"),
    ("auto", "auto"),
)


def table(name, folder):
    """Rows and labels."""
    if name == CHECKERBOARD:
        rng = np.random.default_rng(0)
        X = rng.random((MAX_ROWS, 2)).astype(np.float32)
        y = np.floor(4 * X).sum(axis=1) % 2
        return X, ((y > 0) ^ (rng.random(MAX_ROWS) < 0.1)).astype(int)
    X, y, is_nominal = encoded(name, folder, MAX_ROWS)
    return impute(X, X, is_nominal)[0].astype(np.float32), y


def trees():
    """Title -> tree, whether it is fitted again, strategies but random and margin."""
    grown = {
        "credible": CredibleBound(),
        "credible, delta .3": CredibleBound(delta=0.3),
        "evalue": EValueBound(),
        "gtest": GTestBound(),
        "possibilistic": PossibilisticBound(),
    }
    out = {"default, fitted again": (ConfidenceTreeClassifier(), True, LEAF_STRATEGIES)}
    for name, bound in grown.items():
        tree = ConfidenceTreeClassifier(bound, **GROWING)
        out[f"{name}, grows"] = tree, False, LEAF_STRATEGIES[:1]
    return out


def forests():
    """Forests, as `trees`."""
    forest = ConfidenceForestClassifier(50)
    return {"forest, fitted again": (forest, True, (("auto", "auto"),))}


def told(gaps):
    """Mean gap in points with its standard error; a star where p < .05."""
    gaps = 100 * np.asarray(gaps)
    error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.nan
    sure = len(gaps) > 5 and gaps.any() and wilcoxon(gaps).pvalue < 0.05
    return f"{gaps.mean():+.1f} ± {error:.1f}{'*' if sure else ''}"


def shown(share):
    """Say what share of the labels was needed."""
    return f"{share:.2f}" if np.isfinite(share) else "not reached"


def measure(names, folder, models, runs, budget, quick):
    """Results of `simulate`: dict of (model, table)."""
    found = {}
    for name in names:
        X, y = table(name, folder)
        begin = time.process_time()
        labels, batch = (budget, 5) if quick else LONGER.get(name, (budget, 5))
        labels = min(labels, len(y) // 2)  # the smaller half is the pool
        for model, (estimator, refit, strategies) in models.items():
            found[model, name] = simulate(
                estimator,
                X,
                y,
                list(strategies),
                cv=runs,
                budget=labels,
                batch_size=batch,
                n_initial=10,
                refit=refit,
                random_state=0,
            )
        print(f"{name}: {time.process_time() - begin:.0f} CPU s", flush=True)
    return found


def strategy_rows(found, names, models):
    """Area of random labels, and what each strategy gains on it."""
    for model in models:
        results = [found[model, name] for name in names]
        base = results[0].strategies.index("random")
        areas = [result.scores.mean(axis=2) for result in results]
        told_areas = [f"{100 * area[base].mean():.1f}" for area in areas]
        yield [model, "random", *told_areas]
        for i, strategy in enumerate(results[0].strategies):
            if i != base:
                yield [model, strategy, *(told(area[i] - area[base]) for area in areas)]


def grown_rows(found, names, models):
    """What trees that grow gain on the one that is fitted again, run by run."""
    first, *others = models
    for strategy in ("random", "margin"):
        for model in others:
            gaps = []
            for name in names:
                ours, base = found[model, name], found[first, name]
                place = ours.strategies.index(strategy)
                other = base.strategies.index(strategy)
                gaps.append(
                    ours.scores[place].mean(axis=1) - base.scores[other].mean(axis=1)
                )
            yield [model, strategy, *map(told, gaps)]


def shares(scores, base, n_labels):
    """Labels for the final accuracy of random labels, as a share of them.

    `scores` are those of [strategy, run, number of labels]; infinite if not reached.
    """
    curves = scores.mean(axis=1)
    reached = curves >= curves[base, -1]
    first = n_labels[reached.argmax(axis=1)] / n_labels[-1]
    return np.where(reached.any(axis=1), first, np.inf)


def forest_rows(results):
    """Rows of the table of forests; `results` of each table, all of one forest.

    First-passage shares jump where a curve is flat. So there is also what half of the
    labels, and all of them, are worth beside random's end, with errors over the runs.
    """
    kinds = ("half", "end", "area")
    base = results[next(iter(results))].strategies.index("random")
    rows, gaps, found = [], {}, {}
    for name, one in results.items():
        scores, goal = one.scores, one.scores[base, :, -1]
        part = shares(scores, base, one.n_labels)
        half = np.searchsorted(one.n_labels, 0.5 * one.n_labels[-1])
        for i, strategy in enumerate(one.strategies):
            if i == base:
                continue
            each = {
                "half": scores[i, :, half] - goal,
                "end": scores[i, :, -1] - goal,
                "area": (scores[i] - scores[base]).mean(axis=1),
            }
            found.setdefault(strategy, []).append(part[i])
            gaps.setdefault(strategy, []).append([each[k].mean() for k in kinds])
            cells = (told(each[k]) for k in kinds)
            rows.append([name, strategy, f"{goal.mean():.3f}", shown(part[i]), *cells])
    errors = _errors_of_medians(results, base, found)
    for strategy, part in found.items():
        said = f"{np.median(part):.2f} ± {errors[strategy]:.2f}"
        means = (with_error(100 * one, 1) for one in np.array(gaps[strategy]).T)
        worst = f"(worst: {shown(max(part))})"
        rows.append(["median; means", strategy, "-", f"{said} {worst}", *means])
    return rows


def _errors_of_medians(results, base, strategies):
    # Standard errors of the median shares, by drawing the runs of each table again.
    rng = np.random.default_rng(0)
    medians = []
    for _ in range(AGAIN):
        drawn = []
        for one in results.values():
            n_runs = one.scores.shape[1]
            some = one.scores[:, rng.integers(n_runs, size=n_runs)]
            drawn.append(shares(some, base, one.n_labels))
        medians.append(np.median(drawn, axis=0))
    # a share that is not reached is large; no median may be infinite
    errors = np.minimum(medians, 2.0).std(axis=0)
    known = results[next(iter(results))].strategies
    return {strategy: errors[known.index(strategy)] for strategy in strategies}


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "quick", "json")
    parser.add_argument("--part", choices=["trees", "forests"], default="trees")
    parser.add_argument("--runs", type=int, default=30, help="paired runs")
    options = parser.parse_args(argv)
    folder = data_folder(options.data)
    trees_alone = options.part == "trees"
    names = (*SMALL, CHECKERBOARD) if trees_alone else tuple(sorted(SMALL + OTHERS))
    models = trees() if trees_alone else forests()
    budget = 80 if trees_alone else 150
    if options.quick:
        names, options.runs, budget = names[-2:], 2, 30
    tables = command.tables("active_sets", options, f"{options.runs} paired runs")
    print_environment(tables.facts)
    found = measure(names, folder, models, options.runs, budget, options.quick)
    if trees_alone:
        header = ["tree", "strategy", *names]
        rows = list(strategy_rows(found, names, models))
        tables.show("active-sets", header, rows)
        tables.show("active-sets-grown", header, list(grown_rows(found, names, models)))
    else:
        (model,) = models
        rows = forest_rows({name: found[model, name] for name in names})
        header = ["table", "strategy", "random's final accuracy", "share of its labels"]
        header += ["points over it with half of the labels", "with as many"]
        header.append("area, points over random")
        tables.show("active-sets-forests", header, rows)
    curves = {
        f"{model}: {name}": {
            strategy: result.scores[i].mean(axis=0).tolist()
            for i, strategy in enumerate(result.strategies)
        }
        for (model, name), result in found.items()
    }
    write_json(options.json, {"environment": tables.facts, "curves": curves})
