"""What each bound promises, and how many rows it asks for.

Simulated leaves with 10 attributes of 10 fixed cuts each; class counts only, no tree.

- Pure noise: the share of leaves that split although the label is independent of
  everything, examined once with all rows, and after every row. Beside it what the
  bound promises; a rate that breaks a promise beyond chance ends the script with an
  error.
- Mixed columns: nodes of pure noise with three columns of numbers and six of 2 to 1,000
  categories, grown by the tree. A bound that corrects for the tests gives each column
  its share of `delta`: how many columns alone pass theirs, and how many nodes split.
- Planted splits: one cut separates class probabilities p and 1 - p. Median rows until
  the first split, and from which on the planted attribute is chosen at every look: a
  rule that splits noise is quick to split anything. "never" means more than the largest
  leaf tried.

Run ``python benchmarks bound_promises`` (some minutes), or with ``--quick``.
"""

import sys
import warnings

import numpy as np
from common import options as command
from scipy.stats import beta

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import (
    BayesFactorBound,
    Chi2Bound,
    CredibleBound,
    DeRosaBound,
    EValueBound,
    GTestBound,
    HoeffdingBound,
    McDiarmidBound,
    PossibilisticBound,
    log_bayes_factor,
    log_evalue,
)

ATTRIBUTES, CUTS = 10, 10
GRACE = 100  # rows between two examinations of a leaf with a planted split
PLANTED = (1.0, 0.9, 0.8, 0.7, 0.6)
MIXED = (0, 0, 0, 2, 5, 20, 100, 400, 1000)  # categories of columns; 0 = numbers
MIXED_ROWS = (50, 250, 2000)
NOISE = {"balanced": [0.5, 0.5], "10/90": [0.1, 0.9], "5 classes": [0.2] * 5}

# Bound, criterion, and what is promised: "always" holds at all times together,
# "once" for one examination.
BOUNDS = {
    "evalue": (EValueBound(per_path=False), "gini", "always"),
    "bayes_factor": (BayesFactorBound(), "gini", None),
    "gtest, t = 1": (GTestBound(), "entropy", None),
    "gtest, t = .05": (GTestBound(0.05), "entropy", None),
    "chi2": (Chi2Bound(), "entropy", None),
    "chi2, tests": (Chi2Bound(correction="tests"), "entropy", None),
    "credible": (CredibleBound(), "gini", None),
    "possibilistic, branches": (PossibilisticBound(), "entropy", None),
    "possibilistic, all_tests": (
        PossibilisticBound(correction="all_tests"),
        "entropy",
        None,
    ),
    "hoeffding": (HoeffdingBound(), "gini", None),
    "corrh": (HoeffdingBound(factor=2.0), "error", None),
    "mcdiarmid, gini": (McDiarmidBound(), "gini", None),
    "mcdiarmid, entropy": (McDiarmidBound(), "entropy", None),
    "derosa, practical": (DeRosaBound(), "gini", None),
    "derosa, practical, no_split": (DeRosaBound(against="no_split"), "gini", None),
    "derosa, paper": (DeRosaBound(form="paper"), "gini", "once"),
    "derosa, tight": (DeRosaBound(form="tight"), "gini", "once"),
    "derosa, anytime": (DeRosaBound(form="anytime"), "gini", "always"),
    "derosa, anytime, entropy": (DeRosaBound(form="anytime"), "entropy", "always"),
    "derosa, anytime, km": (DeRosaBound(form="anytime"), "kearns_mansour", "always"),
}
# Each attribute with its own tests; `delta` false cuts a node, or nodes.
MIXED_BOUNDS = {
    "gtest, t = 1": GTestBound(),
    "gtest, t = .2": GTestBound(0.2),
    "gtest, t = .05": GTestBound(0.05),
    "chi2, tests": Chi2Bound(correction="tests"),
}


def leaf(rng, looks, classes=None, planted=None):
    """Tables of all tests at each look; chunks between looks are drawn as counts.

    Returns an array of shape (looks, attributes, cuts, 2, classes).
    """
    k = 2 if planted is not None else len(classes)
    bins = np.full((ATTRIBUTES, k, CUTS + 1), 1.0 / (CUTS + 1))
    if planted is not None:
        # Class given bin is p left of the middle cut; by Bayes, bin given class.
        left = np.arange(CUTS + 1) <= (CUTS - 1) // 2
        joint = np.where([left, ~left], planted, 1.0 - planted) / (CUTS + 1)
        classes = joint.sum(axis=1)
        bins[0] = joint / np.maximum(classes[:, None], 1e-300)
    chunks = np.diff(looks, prepend=0)
    new = rng.multinomial(chunks, classes)
    counts = rng.multinomial(
        new[:, None, :], np.broadcast_to(bins, (len(looks), ATTRIBUTES, k, CUTS + 1))
    )
    left = np.cumsum(np.cumsum(counts, axis=0), axis=-1)
    left = np.moveaxis(left, -1, 2)
    node = left[:, :, -1:, :]
    left = left[:, :, :-1, :]
    return np.stack([left, node - left], axis=3).astype(float)


def impurity(counts, criterion):
    """Impurity of class counts; two balanced classes have 1/2."""
    n = counts.sum(axis=-1, keepdims=True)
    p = counts / np.maximum(n, 1.0)
    if criterion == "gini":
        return 1.0 - np.sum(p * p, axis=-1)
    if criterion == "entropy":
        return -0.5 * np.sum(p * np.log2(np.where(p > 0, p, 1.0)), axis=-1)
    if criterion == "kearns_mansour":
        return 0.5 * np.sum(np.sqrt(p * (1.0 - p)), axis=-1)
    return 1.0 - p.max(axis=-1)


def scores_of(tables, criterion):
    """Score per row of every test, infinite if one side is empty."""
    rows = tables.sum(axis=-1)
    share = rows / np.maximum(rows.sum(axis=-1, keepdims=True), 1.0)
    score = np.sum(share * impurity(tables, criterion), axis=-1)
    return np.where(rows.min(axis=-1) > 0, score, np.inf)


def choices(bound, criterion, looks, tables, grace, *, first_only=False):
    """Attribute that the bound splits on at each look, -1 where it waits.

    The leaf is examined every `grace` rows, which De Rosa's anytime form counts.
    """
    out = np.full(len(looks), -1)
    flat = tables.reshape(len(looks), -1, 2, tables.shape[-1])
    if isinstance(bound, EValueBound | BayesFactorBound):
        if isinstance(bound, EValueBound):
            log_e, needed = log_evalue(flat, a=bound.a), -np.log(bound.delta)
        else:
            log_e = log_bayes_factor(flat, a=bound.a)
            needed = np.log((1 - bound.delta) / bound.delta)
        mean = np.logaddexp.reduce(log_e, axis=1) - np.log(log_e.shape[1])
        return np.where(mean >= needed, np.argmax(log_e, axis=1) // CUTS, out)

    kernel = bound.kernel(criterion, tables.shape[-1])
    interval = hasattr(kernel, "child_costs")
    scores = scores_of(tables, criterion)
    candidates = np.isfinite(scores).reshape(len(looks), -1)
    best = scores.reshape(len(looks), -1).argmin(axis=1)
    others = scores.copy()
    others[np.arange(len(looks)), best // CUTS] = np.inf
    runner_up = others.min(axis=(1, 2))
    mixed = np.count_nonzero(flat[:, 0].sum(axis=1), axis=1) > 1
    for i in np.flatnonzero(mixed & candidates.any(axis=1)):
        facts = {
            "criterion": criterion,
            "n_tests": int(candidates[i].sum()),
            "attribute_tests": int(
                candidates[i].reshape(-1, CUTS)[best[i] // CUTS].sum()
            ),
            "attributes": ATTRIBUTES,
            "attempt": max(1, int(looks[i]) // grace),
            "runner_up": runner_up[i] if np.isfinite(runner_up[i]) else None,
        }
        test = best[i]
        if interval:
            # The bound chooses by its own limit of the children.
            kernel.evaluate(flat[i, test], **facts)
            children = flat[i, candidates[i]].reshape(-1, tables.shape[-1])
            costs = kernel.child_costs(children)[0].reshape(-1, 2).sum(axis=1)
            test = np.flatnonzero(candidates[i])[np.argmin(costs)]
        if kernel.evaluate(flat[i, test], **facts).split:
            out[i] = test // CUTS
            if first_only:
                break
    return out


def looks_of_a_long_leaf(largest):
    """Every row at first, then steps of 2 %."""
    out = list(range(1, 301))
    while out[-1] < largest:
        out.append(int(out[-1] * 1.02) + 1)
    return np.array(out)


def false_splits(options):
    """Count leaves of pure noise that split, by bound, kind and way of looking."""
    looks = np.arange(1, options.noise_rows + 1)
    out = {name: {"once": {}, "always": {}} for name in BOUNDS}
    for kind, classes in NOISE.items():
        rng = np.random.default_rng([options.seed, len(classes)])
        leaves = [leaf(rng, looks, classes) for _ in range(options.noise_leaves)]
        for name, (bound, criterion, _) in BOUNDS.items():
            out[name]["once"][kind] = sum(
                choices(bound, criterion, looks[-1:], tables[-1:], looks[-1])[0] >= 0
                for tables in leaves
            )
            out[name]["always"][kind] = sum(
                (
                    choices(bound, criterion, looks, tables, 1, first_only=True) >= 0
                ).any()
                for tables in leaves
            )
    return out


def rows_needed(options):
    """Median rows until the first split, and from which on the right one is made."""
    looks = looks_of_a_long_leaf(options.largest)
    after = np.append(looks, np.inf)
    out = {name: {} for name in BOUNDS}
    for p in PLANTED:
        rng = np.random.default_rng([options.seed, int(100 * p)])
        first = {name: [] for name in BOUNDS}
        settled = {name: [] for name in BOUNDS}
        for _ in range(options.planted_leaves):
            tables = leaf(rng, looks, planted=p)
            for name, (bound, criterion, _) in BOUNDS.items():
                chosen = choices(bound, criterion, looks, tables, GRACE)
                splits = np.flatnonzero(chosen >= 0)
                wrong = np.flatnonzero(chosen != 0)
                first[name].append(looks[splits[0]] if len(splits) else np.inf)
                settled[name].append(after[wrong[-1] + 1] if len(wrong) else looks[0])
        for name in BOUNDS:
            out[name][p] = np.median(first[name]), np.median(settled[name])
    return out


def mixed_noise(rng, n, classes):
    """Columns of numbers and of categories, and a label that depends on none."""
    X = [rng.integers(0, m, n) if m else rng.random(n) for m in MIXED]
    return np.column_stack(X), rng.choice(len(classes), n, p=classes)


def mixed_columns(options):
    """Count columns that pass with their share of delta, and nodes that split.

    Returns
    -------
    dict
        name -> rows -> (columns, nodes), over all kinds of noise.
    """
    nominal = np.array(MIXED) > 0
    out = {name: {n: [0, 0] for n in MIXED_ROWS} for name in MIXED_BOUNDS}

    def splits(bound, delta, X, y, nominal):
        stump = ConfidenceTreeClassifier(
            bound, delta=delta, pruning=None, max_depth=1, categorical_features=nominal
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "No split uses column")
            return stump.fit(X, y).get_n_leaves() > 1

    for n in MIXED_ROWS:
        rng = np.random.default_rng([options.seed, n])
        for i in range(options.mixed_nodes):
            X, y = mixed_noise(rng, n, list(NOISE.values())[i % len(NOISE)])
            for name, bound in MIXED_BOUNDS.items():
                found = out[name][n]
                share = bound.delta / len(MIXED)
                found[0] += sum(
                    splits(bound, share, X[:, [j]], y, nominal[[j]])
                    for j in range(len(MIXED))
                )
                found[1] += splits(bound, None, X, y, nominal)
    return out


def broken_promises(false, mixed, options):
    """Rates above the promise by more than chance allows."""
    leaves, nodes = options.noise_leaves, options.mixed_nodes
    out = []
    for name, found in mixed.items():
        expected = MIXED_BOUNDS[name].delta * nodes
        for n, counts in found.items():
            if max(counts) > expected + 3.1 * np.sqrt(expected):
                out.append(f"{name} (mixed columns, {n} rows): {counts} of {nodes}")
    for name, (bound, _, promise) in BOUNDS.items():
        for when in {"always": ("once", "always"), "once": ("once",)}.get(promise, ()):
            for kind, count in false[name][when].items():
                lowest = beta.ppf(0.001, count, leaves - count + 1) if count else 0.0
                if lowest > bound.delta:
                    out.append(f"{name} ({kind}, {when}): {count} of {leaves}")
    return out


def main(argv=None):
    """Print the table; exit with an error if a promise is broken."""
    parser = command.parser(__doc__, "quick", seed=0)
    parser.add_argument("--noise-leaves", type=int, default=100)
    parser.add_argument("--noise-rows", type=int, default=1000)
    parser.add_argument("--mixed-nodes", type=int, default=120)
    parser.add_argument("--planted-leaves", type=int, default=30)
    parser.add_argument("--largest", type=float, default=1e9)
    options = parser.parse_args(argv)
    if options.quick:
        options.noise_leaves, options.noise_rows = 20, 300
        options.mixed_nodes = 30
        options.planted_leaves, options.largest = 5, 1e6

    told = (
        f"{options.noise_leaves} leaves of {options.noise_rows} rows for each kind of "
        f"noise ({', '.join(NOISE)}); {options.planted_leaves} leaves for each planted "
        f"split, up to {options.largest:,.0f} rows; seed {options.seed}."
    )
    tables = command.tables("bound_promises", options, told)
    false, rows = false_splits(options), rows_needed(options)
    rows_of_table = []
    header = ["bound", "promise", "false, once", "false, every row"]
    header += [f"{p:g}/{1 - p:.1g}" for p in PLANTED]
    for name, (bound, _, promise) in BOUNDS.items():
        cells = [name, f"{bound.delta:g} {promise}" if promise else "-"]
        for when in ("once", "always"):
            rates = [
                count / options.noise_leaves for count in false[name][when].values()
            ]
            cells.append(" ".join(f"{rate:.2g}" for rate in rates))
        for p in PLANTED:
            medians = [
                f"{m:,.0f}" if np.isfinite(m) else "never" for m in rows[name][p]
            ]
            cells.append(" / ".join(dict.fromkeys(medians)))
        rows_of_table.append(cells)
    tables.show("promises", header, rows_of_table)
    mixed = mixed_columns(options)
    tables.note = f"{options.mixed_nodes} nodes of noise, columns of {MIXED} categories"
    header = ["bound", "promise", *(f"{n:,} rows" for n in MIXED_ROWS)]
    rows_of_table = []
    for name, found in mixed.items():
        cells = [name, f"{MIXED_BOUNDS[name].delta:g}"]
        for counts in found.values():
            rates = [f"{count / options.mixed_nodes:.2g}" for count in counts]
            cells.append(" / ".join(rates))
        rows_of_table.append(cells)
    tables.show("promises-mixed", header, rows_of_table)
    broken = broken_promises(false, mixed, options)
    if broken:
        sys.exit("Broken promises: " + "; ".join(broken))
