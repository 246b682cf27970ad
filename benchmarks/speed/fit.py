"""Speed and memory of fit and predict_proba beside scikit-learn's tree.

Run on an idle machine:

    python benchmarks fit [--json FILE]

Everything is timed through the estimators' public methods, validation and encoding
included, on float32 rows, in one thread: CPU seconds, medians, runs taking turns.
``--quick`` shrinks the tables to try the script; its figures mean nothing.
"""

import numpy as np
from common import options as command
from common.generators import cascade, continuous, integers
from common.ratios import Results
from common.timing import (
    interleaved,
    median,
    peak_memory,
    print_environment,
    spread,
    write_json,
)
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound, DeRosaBound, HoeffdingBound

PARTS = ["fit", "default", "bounds", "predict", "memory"]
DEFAULT = "fit, default, "
HEADER = ["work", "leaves", "seconds", "other", "its seconds", "ratio", "target", ""]


class CountingCredibleBound(CredibleBound):
    """The credible bound; keeps its kernels, which count their quantile solves."""

    kernels = []

    def kernel(self, criterion, n_classes, **options):
        """Make the kernel and keep it."""
        made = super().kernel(criterion, n_classes, **options)
        self.kernels.append(made)
        return made


def ours(bound=None, **parameters):
    """Make our tree."""
    return ConfidenceTreeClassifier(bound, **parameters)


def peer(**parameters):
    """Make scikit-learn's tree."""
    return DecisionTreeClassifier(random_state=0, **parameters)


def same_size(X, y, criterion, leaves):
    """`min_samples_split` with which the unbounded tree has nearly so many leaves."""
    low, high = 2, len(y)
    while high - low > 1:
        middle = (low + high) // 2
        tree = ours(criterion=criterion, min_samples_split=middle).fit(X, y)
        if tree.get_n_leaves() > leaves:
            low = middle
        else:
            high = middle
    trees = [
        (m, ours(criterion=criterion, min_samples_split=m).fit(X, y).get_n_leaves())
        for m in (low, high)
    ]
    return min(trees, key=lambda pair: abs(pair[1] - leaves))


class Report:
    """Rows of the table and what goes into the JSON."""

    def __init__(self, quick):
        self.rows, self.records = [], []
        self.results = Results("fit", quick)

    def compare(self, work, seconds, name, other, target, *, leaves="", upper=False):
        """Record the ratio of two medians.

        The ratio is `other` over `name`, how many times faster; with `upper` it is
        the cost `name` over `other`, which must stay below the target.
        """
        mine, theirs = median(seconds[name]), median(seconds[other])
        ratio = mine / theirs if upper else theirs / mine
        peer = other.split(" (")[0]  # a number of leaves may change
        better = "smaller" if upper else "larger"
        self.results.add(f"{work}, beside {peer}", ratio, better)
        if target is None:
            verdict, shown = "", "reported"
        else:
            met = ratio <= target if upper else ratio >= target
            verdict = "met" if met else "missed"
            shown = f"at {'most' if upper else 'least'} {target:g}"
        self.rows.append(
            [
                work,
                leaves,
                f"{mine:.4f}",
                other,
                f"{theirs:.4f}",
                f"{ratio:.2f}",
                shown,
                verdict,
            ]
        )
        self.records.append(
            {
                "work": work,
                "leaves": leaves,
                "seconds": seconds[name],
                "other": other,
                "other_seconds": seconds[other],
                "ratio": ratio,
                "target": target,
                "target_is": "upper" if upper else "lower",
                "verdict": verdict,
            }
        )
        print(
            f"{work}: {mine:.4f} s against {theirs:.4f} s ({other}), {ratio:.2f} "
            f"[{spread(seconds[name])} | {spread(seconds[other])}] "
            f"{shown} {verdict}",
            flush=True,
        )

    def for_readers(self):
        """Yield the tables of the documentation: name, header, rows."""
        timed, agreed, peaks = {}, {}, {}
        for one in self.records:
            if "ratio" in one:
                other = one["other"].split(" (")[0]
                timed.setdefault(one["work"], {})[other] = one
            elif "data" in one:
                peaks.setdefault(one["data"], {})[one["model"]] = one
            else:
                agreed[one["work"]] = one
        rows = []
        for work, by in timed.items():
            if not work.startswith("fit, no bound"):
                continue
            one = by["scikit-learn"]
            nodes = agreed[f"{work}: agreement"]
            _, data = work.split("no bound, ")
            data, depth = data.rsplit(", ", 1)
            mine, theirs = median(one["seconds"]), median(one["other_seconds"])
            counts = f"{nodes['nodes']:,}, {nodes['nodes_sklearn']:,}"
            shown = [data, depth.replace("depth ", "").replace(" depth", "")]
            shown += [f"{mine:.2g}", f"{theirs:.2g}", f"{one['ratio']:.1f}", counts]
            rows.append(shown)
        header = ["data", "depth", "seconds", "scikit-learn", "times faster"]
        yield "fit-plain", [*header, "nodes, scikit-learn's nodes"], rows
        rows = [
            [
                work.removeprefix(DEFAULT),
                f"{by['scikit-learn']['leaves']:,}",
                f"{agreed[f'{work}: size']['leaves_sklearn']:,}",
                f"{median(by['scikit-learn']['seconds']):.2g}",
                f"{median(by['scikit-learn']['other_seconds']):.2g}",
                f"{by['scikit-learn']['ratio']:.1f}",
            ]
            for work, by in timed.items()
            if work.startswith(DEFAULT)
        ]
        header = ["data", "leaves", "scikit-learn's leaves", "seconds", "scikit-learn"]
        yield "fit-default", [*header, "times faster"], rows
        rows = []
        for work, by in timed.items():
            if work.startswith(("fit, no bound", DEFAULT, "predict")):
                continue
            _, bound, data = work.split(", ", 2)
            full, best = by["scikit-learn, full"], by.get("no bound, best-first")
            depth = by.get("no bound, depth-first")
            sizes = agreed[f"{work}: size and solves"]
            solves = sizes.get("quantile_solves", "-")
            rows.append(
                [
                    *(data, bound, f"{full['leaves']:,}"),
                    f"{sizes['leaves_sklearn']:,}",
                    f"{median(full['seconds']):.2g}",
                    f"{best['ratio']:.2f}" if best else "-",
                    f"{depth['ratio']:.2f}" if depth else "-",
                    *(f"{full['ratio']:.1f}", solves),
                ]
            )
        header = ["data", "bound", "leaves", "scikit-learn's full leaves", "seconds"]
        header += ["times the best-first fit", "times the depth-first fit"]
        header += ["times faster than scikit-learn's full tree"]
        yield "fit-bounds", [*header, "quantile solves"], rows
        rows = [
            [work.removeprefix("predict_proba, "), f"{by['scikit-learn']['ratio']:.1f}"]
            for work, by in timed.items()
            if work.startswith("predict")
        ]
        yield "fit-predict", ["rows and tree", "times faster than scikit-learn"], rows
        models = ("no bound", "credible", "scikit-learn")
        rows = [
            [data, f"{by['no bound']['x_mb']:.0f} MB"]
            + [f"{by[model]['peak_mb']:.0f} MB" for model in models]
            for data, by in peaks.items()
        ]
        yield "fit-memory", ["data", "size of X", *models], rows

    def note(self, work, **figures):
        """Record figures that are no timing."""
        self.records.append({"work": work, **figures})
        told = ", ".join(f"{key} {value}" for key, value in figures.items())
        print(f"{work}: {told}", flush=True)


def plain_fits(report, tables, repeats):
    """`bound=None` against scikit-learn, and whether the trees agree."""
    targets = {
        ("continuous", None): 4.0,
        ("continuous", 8): 6.0,
        ("256 levels", None): 6.0,
        ("256 levels", 8): 10.0,
        ("2,000 x 20", None): 3.0,
        ("iris", None): 1.0,
    }
    for (name, depth), target in targets.items():
        X, y = tables[name]
        mine, theirs = ours(max_depth=depth), peer(max_depth=depth)
        seconds = interleaved(
            {
                "ours": lambda m=mine, X=X, y=y: m.fit(X, y),
                "scikit-learn": lambda m=theirs, X=X, y=y: m.fit(X, y),
            },
            repeats,
        )
        shape = " x ".join(f"{side:,}" for side in X.shape)
        label = f"fit, no bound, {shape}"
        label += " of 256 levels" if name == "256 levels" else ""
        label += f", depth {depth}" if depth else ", full depth"
        report.compare(
            label, seconds, "ours", "scikit-learn", target, leaves=mine.get_n_leaves()
        )
        nodes = mine.tree_.node_count, theirs.tree_.node_count
        accuracy = mine.score(X, y), theirs.score(X, y)
        report.note(
            label + ": agreement",
            nodes=nodes[0],
            nodes_sklearn=nodes[1],
            node_difference=f"{nodes[0] / nodes[1] - 1:+.3%}",
            nodes_agree=bool(abs(nodes[0] / nodes[1] - 1) <= 0.005),
            accuracy=accuracy[0],
            accuracy_sklearn=accuracy[1],
        )


def default_fits(report, repeats, shrink):
    """Our tree as it comes beside scikit-learn's as it comes."""
    for n_rows in (300, 1_000, 10_000, 100_000):
        X, y = continuous(max(n_rows // shrink, 100), 20, seed=3)
        mine, theirs = ConfidenceTreeClassifier(), peer()
        seconds = interleaved(
            {
                "ours": lambda m=mine, X=X, y=y: m.fit(X, y),
                "scikit-learn": lambda m=theirs, X=X, y=y: m.fit(X, y),
            },
            repeats,
        )
        label = DEFAULT + " x ".join(f"{side:,}" for side in X.shape)
        report.compare(
            label, seconds, "ours", "scikit-learn", None, leaves=mine.get_n_leaves()
        )
        report.note(label + ": size", leaves_sklearn=int(theirs.get_n_leaves()))


def bound_fits(report, tables, repeats):
    """Bounds against trees of the same size: intervals, then tests and races."""
    lax = {"against": "no_split", "delta": 0.05}
    bounds = {
        "credible": (CountingCredibleBound(), "entropy", 1.5),
        "possibilistic": ("possibilistic", "entropy", 1.5),
        "gtest": ("gtest", "entropy", 1.05),
        "chi2": ("chi2", "entropy", 1.05),
        "hoeffding": (HoeffdingBound(**lax), "entropy", 1.05),
        "derosa": (DeRosaBound(c=0.05, against="no_split"), "gini", 1.05),
    }
    for name, (X, y) in tables.items():
        for bound_name, (bound, criterion, target) in bounds.items():
            tree = ours(bound, pruning=None).fit(X, y)
            leaves = tree.get_n_leaves()
            full = peer(criterion=criterion)
            calls = {
                "bounded": lambda m=tree, X=X, y=y: m.fit(X, y),
                "scikit-learn, full": lambda m=full, X=X, y=y: m.fit(X, y),
            }
            if leaves > 1:
                best = ours(criterion=criterion, max_leaf_nodes=leaves)
                split, near = same_size(X, y, criterion, leaves)
                depth = ours(criterion=criterion, min_samples_split=split)
                calls["no bound, best-first"] = lambda m=best, X=X, y=y: m.fit(X, y)
                depth_name = f"no bound, depth-first ({near:,} leaves)"
                calls[depth_name] = lambda m=depth, X=X, y=y: m.fit(X, y)
            seconds = interleaved(calls, repeats)
            label = f"fit, {bound_name}, {name}"
            report.compare(
                label, seconds, "bounded", "scikit-learn, full", 1.0, leaves=leaves
            )
            if leaves > 1:
                for other in ("no bound, best-first", depth_name):
                    report.compare(
                        label,
                        seconds,
                        "bounded",
                        other,
                        target,
                        leaves=leaves,
                        upper=True,
                    )
            extra = {"leaves": leaves, "leaves_sklearn": full.get_n_leaves()}
            if bound_name == "credible":
                CountingCredibleBound.kernels.clear()
                tree.fit(X, y)
                extra["quantile_solves"] = CountingCredibleBound.kernels[-1].n_solves
                extra["solves_per_node"] = round(
                    extra["quantile_solves"] / tree.tree_.node_count, 2
                )
            report.note(label + ": size and solves", **extra)


def predictions(report, n_rows, repeats, train):
    """`predict_proba` of one tree, ours and the copy that scikit-learn runs."""
    X, y = train
    rows, _ = continuous(n_rows, X.shape[1], seed=7)
    for depth in (8, None):
        tree = ours(max_depth=depth).fit(X, y)
        copy = tree.to_sklearn()
        seconds = interleaved(
            {
                "ours": lambda t=tree: t.predict_proba(rows),
                "scikit-learn": lambda t=copy: t.predict_proba(rows),
            },
            repeats,
        )
        shape = " x ".join(f"{side:,}" for side in rows.shape)
        label = f"predict_proba, {shape}, same tree, "
        label += f"depth {depth}" if depth else "full depth"
        report.compare(
            label, seconds, "ours", "scikit-learn", 1.5, leaves=tree.get_n_leaves()
        )
        same = (tree.predict_proba(rows) == copy.predict_proba(rows)).all()
        report.note(label + ": bit-equal", equal=bool(same))


def memory(report, tables):
    """Peak memory of a fit beyond X."""
    setups = {
        "no bound": "from skconftree import ConfidenceTreeClassifier\n"
        "make = lambda: ConfidenceTreeClassifier(None)",
        "credible": "from skconftree import ConfidenceTreeClassifier\n"
        "make = lambda: ConfidenceTreeClassifier('credible')",
        "scikit-learn": "from sklearn.tree import DecisionTreeClassifier\n"
        "make = lambda: DecisionTreeClassifier()",
    }
    for name, (X, y) in tables.items():
        limit = 1.5 * X.nbytes / 2**20 + 64
        for setup_name, setup in setups.items():
            peak = peak_memory(setup, X, y)
            label = f"peak memory beyond X, {name}, {setup_name}"
            if peak is None:
                report.note(label, measured="not on this system")
                continue
            judged = setup_name != "scikit-learn"
            verdict = ("met" if peak <= limit else "missed") if judged else ""
            shown = f"at most {limit:.0f} MB" if judged else ""
            report.records.append(
                {
                    "work": label,
                    "data": name,
                    "model": setup_name,
                    "peak_mb": peak,
                    "x_mb": X.nbytes / 2**20,
                    "target_mb": limit,
                    "verdict": verdict,
                }
            )
            print(f"{label}: {peak:.1f} MB {shown} {verdict}", flush=True)


def main(argv=None):
    """Run the parts asked for and print the table."""
    parser = command.parser(__doc__, "quick", "json", "keep", repeats=5)
    parser.add_argument("--only", nargs="+", default=PARTS, choices=PARTS)
    options = parser.parse_args(argv)
    shrink, repeats = (40, 1) if options.quick else (1, options.repeats)

    X, y = load_iris(return_X_y=True)
    tables = {
        "continuous": continuous(100_000 // shrink, 20),
        "256 levels": integers(200_000 // shrink, 30),
        "2,000 x 20": continuous(2_000, 20, seed=3),
        "iris": (X.astype(np.float32), y),
    }
    tables_out = command.tables("fit", options, "medians of runs that take turns")
    facts = tables_out.facts
    print_environment(facts)
    report = Report(options.quick)
    if "fit" in options.only:
        plain_fits(report, tables, repeats)
    if "default" in options.only:
        default_fits(report, repeats, shrink)
    if "bounds" in options.only:
        large = cascade(400_000 // shrink, 10, 12)
        names = {
            "{:,} x {}, continuous": tables["continuous"],
            "{:,} x {}, 256 levels": tables["256 levels"],
            "{:,} x {}, cascade": large,
        }
        named = {key.format(*table[0].shape): table for key, table in names.items()}
        bound_fits(report, named, repeats)
    if "predict" in options.only:
        predictions(report, 1_000_000 // shrink, repeats, tables["continuous"])
    if "memory" in options.only:
        memory(
            report,
            {
                f"{len(tables[name][0]):,} rows, {name}": tables[name]
                for name in ("continuous", "256 levels")
            }
            if shrink > 1
            else {
                "100,000 x 20 continuous": tables["continuous"],
                "200,000 x 30 of 256 levels": tables["256 levels"],
                "1,000,000 x 20 continuous": continuous(1_000_000, 20, seed=5),
            },
        )
    if set(options.only) == set(PARTS):
        tables_out.show("fit-all", HEADER, report.rows)
    for name, header, rows in report.for_readers():
        if rows:
            tables_out.show(name, header, rows)
    report.results.keep(options.keep, facts)
    write_json(
        options.json,
        {"environment": facts, "repeats": repeats, "records": report.records},
    )
