"""EC2 trees as in chapter 5 of Rupprechter (2012): what was found, and what we find.

    python benchmarks paper_d_trees [--data FOLDER] [--part NAME ...] [--json FILE]
    python benchmarks paper_d_trees --runs 50 --cache SCRATCH

Columns are made binary (`BinaryTests`), the labels of a share alpha of the training
rows are replaced by the other class, and trees ask tests: at random (RD), the most even
one (UC), by information gain (IG) or by edges cut (EC2). The parts:

- ``noise``: wrong test rows and depth against alpha; 90 % of the rows train, as in the
  thesis (figures 5.3 to 5.10, 5.12, 5.13). EC2 knows alpha, or estimates it.
- ``pvalues``: chi-squared pruning of information gain at several p-values (5.5, 5.6).
- ``features``: test rows right, against the tests that may be made (5.2). MNIST, its
  pixels cut at 100, if `fetch_openml` finds it; else letters, all 26 of them.

LETTER A/B, PENDIGITS 0/1 and WDBC. IBN SINA, which the thesis has too, is not public
any more. The thesis has 50 random divisions; `--runs` sets them, and what has run stays
in the cache folder. ``--quick`` tries the script; its figures mean nothing.
"""

from functools import partial

import numpy as np
from common import options as command
from common.data import data_folder, load, manifest, mnist
from common.runs import Runs
from common.timing import print_environment, write_json

from papers.paper_d_oasis import TITLES, numbers
from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.bounds import Chi2Bound, EC2Bound
from skconftree.evaluation import estimate_label_noise
from skconftree.tables import BinaryTests

TABLES = ("letter", "wdbc", "pendigits")
ALPHAS = (0.0, 0.1, 0.2, 0.3, 0.4)
P_VALUES = (0.001, 0.01, 0.05, 0.1, 0.3)
N_TESTS = 16  # of a column


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
        pruning="chi2",
        pruning_confidence=p,
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
    kept = Runs("paper_d_trees", options)
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
        differences(found, records, name)


def differences(found, records, name):
    """Print, and keep, paired differences to pruned information gain at 30 %."""
    by_title = {title: by_alpha for (title, _), by_alpha in found.items()}
    base = 100 * np.array(by_title["IG, chi2"][0.3])[:, 0]
    for title, by_alpha in by_title.items():
        gain = base - 100 * np.array(by_alpha[0.3])[:, 0]
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        print(
            f"{name}, 30 %: {title} over IG, chi2 {gain.mean():+.1f} (se {error:.1f})"
        )
        records.append(["difference", name, title, gain.tolist()])


def pruned(X, y, p, alpha, seed):
    """Test error of pruned information gain on one division."""
    train, test, rng = divided(X, y, seed)
    one = chi2("entropy", p).fit(X[train], noisy(y[train], alpha, rng))
    return float(np.mean(one.predict(X[test]) != y[test]))


def part_pvalues(data, options, tables, records):
    """Errors of pruned information gain at several p-values."""
    kept, rows = Runs("paper_d_trees", options), []
    for name, (_, X, y) in data.items():
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
    parser.add_argument("--table", choices=TABLES, nargs="+", default=list(TABLES))
    parser.add_argument("--runs", type=int, default=50, help="of each setting")
    options = parser.parse_args(argv)
    options.folder = data_folder(options.data)
    if options.quick:
        options.runs = 2
    tables = command.tables("paper_d_trees", options, f"{options.runs} runs")
    print_environment(tables.facts)
    known, records, data = manifest(options.folder), [], {}
    for name in options.table:
        if name in known:
            raw, y = numbers(name, options.folder)
            y = np.unique(y, return_inverse=True)[1]
            data[name] = raw, BinaryTests(N_TESTS).fit_transform(raw), y
    for part in options.part:
        print(f"\n{part}: {options.runs} runs\n")
        PARTS[part](data, options, tables, records)
    write_json(options.json, {"environment": tables.facts, "records": records})
