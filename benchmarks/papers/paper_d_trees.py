"""EC2 trees as in chapter 5 of Rupprechter (2012): what was found, and what we find.

    python benchmarks paper_d_trees [--data FOLDER] [--part NAME ...] [--json FILE]
    python benchmarks paper_d_trees --cache SCRATCH

Columns are made binary (`BinaryTests`), the labels of a share alpha of the training
rows are replaced by the other class, and trees ask tests: at random (RD), the most even
one (UC), by information gain (IG) or by edges cut (EC2). The parts:

- ``noise``: wrong test rows and depth against alpha; 90 % of the rows train, as in the
  thesis (figures 5.3 to 5.14). EC2 knows alpha, or estimates it. Paired differences to
  information gain with chi-squared pruning are a table of their own.
- ``pvalues``: chi-squared pruning of information gain at several p-values (5.5, 5.6).
- ``features``: test rows right, against the tests that may be made (5.2). MNIST, its
  pixels cut at 100, if `fetch_openml` finds it; else letters, all 26 of them.

LETTER A/B, PENDIGITS 0/1 and WDBC by thresholds; LETTER A/B also by values, one test
for each, as the thesis proposes for finite domains. IBN SINA, the thesis's table of
many columns, is not public any more: KR-VS-KP, 36 columns of categories, stands for it.
The thesis has 50 random divisions; `--runs` sets them, and what has run stays in the
cache folder. ``--quick`` tries the script; its figures mean nothing.
"""

from functools import partial

import numpy as np
from common import options as command
from common.data import data_folder, load, manifest, mnist
from common.runs import Runs, mean_and_error
from common.timing import print_environment, write_json

from papers import paper_d_oasis
from papers.paper_d_oasis import numbers
from skconftree import (
    BinaryTests,
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
)
from skconftree.bounds import Chi2Bound, EC2Bound
from skconftree.evaluation import estimate_label_noise
from skconftree.tree import Chi2Pruning

TITLES = {
    **{name: paper_d_oasis.TITLES[name] for name in ("letter", "wdbc", "pendigits")},
    "letter-values": "LETTER A/B, values",
    "kr-vs-kp": "KR-VS-KP",
}
BY_THRESHOLDS = ("letter", "wdbc", "pendigits")  # others: a test for each value
ALPHAS = (0.0, 0.1, 0.2, 0.3, 0.4)
P_VALUES = (0.001, 0.01, 0.05, 0.1, 0.3)
N_TESTS = 16  # thresholds of a column
LEADS = ("EC2, stop 0.50", "EC2, against chance 0.50", "default")


def tests(name, folder):
    """Rows of a table as numbers, as tests, and their labels, 0 and 1."""
    raw, y = numbers(name.removesuffix("-values"), folder)
    made = BinaryTests(N_TESTS)
    if name not in BY_THRESHOLDS:
        made = BinaryTests(None, categorical_features=range(raw.shape[1]))
    return raw, made.fit_transform(raw), np.unique(y, return_inverse=True)[1]


def tree(bound=None, **parameters):
    """Make a tree whose leaves say the class that is most frequent."""
    return ConfidenceTreeClassifier(
        bound, **{"pruning": None, "shrinkage": 0.0, **parameters}
    )


def chi2(criterion, p=0.05, fisher="freeman_halton", **parameters):
    """Make a tree that is grown to its end and then pruned by chi-squared."""
    bound = None
    if fisher == "point":
        bound = Chi2Bound(1.0, fisher=fisher)
    return tree(
        bound,
        criterion=criterion,
        pruning=Chi2Pruning(p),
        **parameters,
    )


def ec2(confidence, alpha, against="mistakes"):
    """Make a tree with the stopping rule of EC2."""
    return tree(EC2Bound(confidence, noise=alpha, against=against))


def settings(alpha, estimated, seed):
    """Every tree of the thesis, and ours: name -> what the thesis found, tree."""
    random = {"max_features": 1, "random_state": seed}
    return {
        "RD": ("all alike under noise", tree(**random)),
        "UC": ("worse than RD", tree(criterion="balance")),
        "UC, direction as printed": ("", tree(criterion="imbalance")),
        "IG": ("", tree(criterion="entropy")),
        "EC2": ("", tree(criterion="ec2")),
        "RD, chi2": ("no help", chi2(None, **random)),
        "UC, chi2": ("worse than RD", chi2("balance")),
        "EC2, chi2": ("worse than RD", chi2("ec2")),
        "IG, chi2": ("good, deep, variable", chi2("entropy")),
        "IG, chi2, point p": ("the printed one", chi2("entropy", fisher="point")),
        **{
            f"EC2, stop {confidence:.2f}": (
                "often better than IG, chi2; shallow",
                ec2(confidence, alpha),
            )
            for confidence in (0.1, 0.5, 0.99)
        },
        **{
            f"EC2, against chance {confidence:.2f}": (
                "",
                ec2(confidence, alpha, "chance"),
            )
            for confidence in (0.1, 0.5, 0.99)
        },
        "EC2, stop 0.50, alpha estimated": ("", ec2(0.5, estimated)),
        "EC2, against chance 0.50, alpha estimated": (
            "",
            ec2(0.5, estimated, "chance"),
        ),
        "default": ("", ConfidenceTreeClassifier()),
    }


def noisy(labels, alpha, rng):
    """Replace the labels of a share of the rows by the other class."""
    labels = labels.copy()
    wrong = rng.choice(len(labels), round(alpha * len(labels)), replace=False)
    labels[wrong] = 1 - labels[wrong]
    return labels


def divided(X, y, seed):
    """Rows to train and to test, nine to one, and the numbers to draw from."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    n_test = len(y) // 10
    return order[n_test:], order[:n_test], rng


def grown(raw, X, y, alpha, seed):
    """Test error, depth and leaves of every tree on one division."""
    train, test, rng = divided(X, y, seed)
    given = noisy(y[train], alpha, rng)
    forest = ConfidenceForestClassifier(20, random_state=seed)
    estimated = estimate_label_noise(forest, raw[train], given)
    found = {}
    for title, (_, one) in settings(alpha, estimated, seed).items():
        one.fit(X[train], given)
        wrong = float(np.mean(one.predict(X[test]) != y[test]))
        found[title] = wrong, int(one.get_depth()), int(one.get_n_leaves())
    return found


def part_noise(data, options, tables, records):
    """Errors and depths of every tree at every alpha."""
    kept, leads = Runs("paper_d_trees", options), []
    for name, (raw, X, y) in data.items():
        found = {}
        for alpha in ALPHAS:
            runs = kept.each(
                partial(grown, raw, X, y, alpha), part="noise", table=name, alpha=alpha
            )
            for title, (thesis, _) in settings(0.0, 0.0, 0).items():
                here = found.setdefault((title, thesis), {})
                here[alpha] = [run[title] for run in runs]
            print(name, alpha, flush=True)
        rows = {"errors": [], "depths": []}
        for (title, thesis), by_alpha in found.items():
            values = [np.array(by_alpha[alpha]) for alpha in ALPHAS]
            errors = [100 * one[:, 0] for one in values]
            rows["errors"].append(
                [title, *(f"{one.mean():.1f}" for one in errors), thesis]
            )
            rows["depths"].append(
                [title, *(f"{one[:, 1].mean():.1f}" for one in values)]
            )
            records.append(["noise", name, title, [one.tolist() for one in values]])
        shares = [f"{alpha:.0%}" for alpha in ALPHAS]
        header = [f"{TITLES[name]}, wrong, %", *shares, "the thesis found"]
        tables.show(f"paper-d-trees-{name}", header, rows["errors"])
        header = [f"{TITLES[name]}, depth", *shares]
        tables.show(f"paper-d-depths-{name}", header, rows["depths"])
        leads += differences(found, records, name)
    shares = [f"{alpha:.0%}" for alpha in ALPHAS]
    tables.show("paper-d-leads", ["fewer wrong, points", "tree", *shares], leads)


def differences(found, records, name):
    """Rows: how many points fewer are wrong than by pruned information gain."""
    by_title = {title: by_alpha for (title, _), by_alpha in found.items()}
    rows = []
    for title in LEADS:
        cells = []
        for alpha in ALPHAS:
            base, ours = (
                np.array(by_title[one][alpha])[:, 0] for one in ("IG, chi2", title)
            )
            cells.append(mean_and_error(base - ours))
            records.append(["lead", name, title, alpha, (base - ours).tolist()])
        rows.append([TITLES[name], title, *cells])
    return rows


def pruned(X, y, p, alpha, seed):
    """Test error of pruned information gain on one division."""
    train, test, rng = divided(X, y, seed)
    one = chi2("entropy", p).fit(X[train], noisy(y[train], alpha, rng))
    return float(np.mean(one.predict(X[test]) != y[test]))


def part_pvalues(data, options, tables, records):
    """Errors of pruned information gain at several p-values."""
    kept, rows = Runs("paper_d_trees", options), []
    for name in (name for name in BY_THRESHOLDS if name in data):
        _, X, y = data[name]
        for p in P_VALUES:
            cells = []
            for alpha in ALPHAS:
                errors = kept.each(
                    partial(pruned, X, y, p, alpha),
                    part="pvalues",
                    table=name,
                    p=p,
                    alpha=alpha,
                )
                cells.append(f"{100 * np.mean(errors):.1f}")
                records.append(["pvalues", name, p, alpha, errors])
            rows.append([TITLES[name], f"{p:g}", *cells])
            print(*rows[-1], sep=" | ", flush=True)
    header = ["wrong, %", "p", *(f"{alpha:.0%}" for alpha in ALPHAS)]
    tables.show("paper-d-pvalues", header, rows)


def pictures(folder, quick):
    """Rows of MNIST whose pixels are tests, or all letters; which of the two."""
    if mnist() is not None:
        X, y = mnist()
        X = (X > 100).astype(np.uint8)
        n = 2000 if quick else 60_000
        return "MNIST", X[:n], y[:n], X[-10_000:], y[-10_000:]
    X, y, _ = load("letter", folder)
    X = BinaryTests(N_TESTS).fit_transform(X)
    n = 2000 if quick else 16_000
    return "letters A to Z", X[:n], y[:n], X[-4000:], y[-4000:]


def part_features(data, options, tables, records):
    """Accuracy against the tests that may be made on the way to a leaf."""
    title, X, y, X_test, y_test = pictures(options.folder, options.quick)
    depths = (2, 4, 6, 8, 10, 12, 16)
    rows = []
    for name, criterion, parameters in (
        ("RD", "gini", {"max_features": 1, "random_state": 0}),
        ("UC", "balance", {}),
        ("IG", "entropy", {}),
        ("EC2", "ec2", {}),
    ):
        cells = []
        for depth in depths:
            one = tree(criterion=criterion, max_depth=depth, **parameters).fit(X, y)
            right = float(np.mean(one.predict(X_test) == y_test))
            made = one.decision_path(X_test).sum(axis=1).mean() - 1
            cells.append(f"{100 * right:.1f}")
            records.append(["features", title, name, depth, right, float(made)])
        rows.append([name, *cells])
        print(*rows[-1], sep=" | ", flush=True)
    header = [f"{title}, right, %, after tests", *map(str, depths)]
    tables.show("paper-d-features", header, rows)


PARTS = {"noise": part_noise, "pvalues": part_pvalues, "features": part_features}


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "cache", "quick", "json")
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--table", choices=TITLES, nargs="+", default=list(TITLES))
    parser.add_argument("--runs", type=int, default=50, help="of each setting")
    options = parser.parse_args(argv)
    options.folder = data_folder(options.data)
    if options.quick:
        options.runs = 2
    tables = command.tables(
        "paper_d_trees", options, f"{options.runs} runs; published: 50 runs"
    )
    print_environment(tables.facts)
    known, records, data = manifest(options.folder), [], {}
    for name in options.table:
        if name.removesuffix("-values") in known:
            data[name] = tests(name, options.folder)
    for part in options.part:
        print(f"\n{part}: {options.runs} runs\n")
        PARTS[part](data, options, tables, records)
    write_json(options.json, {"environment": tables.facts, "records": records})
