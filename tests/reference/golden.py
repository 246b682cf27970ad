"""Hashes of trees, evidence and predictions over the whole range of settings.

A rebuilding of the compiled code must leave every tree as it is. Each case grows one
tree and hashes its structure, its evidence and its predictions apart; two builds are
the same if all their hashes are.

Run as a script to write the hashes of a build, or to compare a build with them; `keep`
writes those of a few cases, to some digits, what leaves remember and bounds compute,
which `tests/tree/test_golden.py` and `tests/bounds/test_golden.py` expect:

    PYTHONPATH=tests python -P -m reference.golden write hashes.json
    PYTHONPATH=tests python -P -m reference.golden compare hashes.json
    PYTHONPATH=tests python -P -m reference.golden keep
"""

import copy
import hashlib
import itertools
import json
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.criteria._criterion import CRITERIA as SCORES

from .cases import CASES, CRITERIA
from .leaf_state import bytes_of_leaves, fields_of_leaves
from .registries import BOUNDS, MEMORIES, PREDICTIONS, PRUNINGS

KEPT = Path(__file__).with_name("golden.json")
KEPT_BOUNDS = Path(__file__).with_name("golden_bounds.json")
KEPT_LEAVES = Path(__file__).with_name("golden_leaves.json")
AT_ONCE = ("credible", "possibilistic")  # bounds of pools
PARTS = [slice(i, None, 6) for i in range(6)]  # for tests of a fraction of a second
EVERY, DECIMALS = 61, 6  # of the cases that are kept; a prime meets all settings

ARRAYS = (
    "children_left",
    "n_children",
    "parent",
    "depth",
    "feature",
    "threshold",
    "missing_go_to_left",
    "missing_seen",
    "counts",
    "impurity",
    "n_node_samples",
)
TYPES = {"feature": np.int32, "missing_go_to_left": bool}  # that are hashed


def table(name, n=260):
    """Rows, labels and the arguments that go with a kind of table."""
    rng = np.random.default_rng(sum(map(ord, name)))
    k = 4 if "four" in name else 2
    X = rng.normal(size=(n, 5)).astype(np.float32)
    X[:, 1] = rng.integers(0, 6, n)  # few values
    X[:, 2] = np.round(X[:, 2], 1)
    y = ((X[:, 0] + (X[:, 1] > 2) + 0.7 * rng.normal(size=n)) > 0.5).astype(int)
    if k == 4:
        y += 2 * (X[:, 2] + 0.5 * rng.normal(size=n) > 0)
    given, settings = {}, {}
    if "nominal" in name or "multiway" in name:
        X[:, 3] = rng.integers(0, 5, n)
        X[:, 4] = rng.integers(0, 11, n)
        y = np.where(X[:, 3] == 2, (y + 1) % k, y)
        settings["categorical_features"] = [3, 4]
        settings["nominal_splits"] = "multiway" if "multiway" in name else "binary"
    if "missing" in name:
        X[rng.random(n) < 0.2, 0] = np.nan
        X[rng.random(n) < 0.3, 1] = np.nan
    if "sparse" in name:
        X[rng.random(X.shape) < 0.75] = 0.0
        y = (X[:, 0] + X[:, 1] > 0.3).astype(int)
        X = sparse.csr_matrix(X)
    if "whole" in name:
        given["sample_weight"] = rng.integers(0, 4, n).astype(float)
    if "fractions" in name:
        given["sample_weight"] = rng.random(n) + 0.25
        settings["sample_weight_kind"] = "frequency"
    if "reweighted" in name:
        settings["class_weight"] = {c: 1.0 + c / 2 for c in range(k)}
    if "pool" in name:
        given["X_pool"] = rng.normal(size=(90, 5)).astype(np.float32)
        if "nominal" in name:
            given["X_pool"][:, 3:] = X[:90, 3:]
    return X, y, given, settings


TABLES = (
    "plain",
    "four",
    "four missing",
    "nominal missing",
    "four nominal",
    "four multiway missing",
    "sparse",
    "whole missing",
    "four fractions nominal",
    "four reweighted nominal",
    "pool",
    "four pool nominal",
)


def pairs():
    """Settings of every bound with every criterion that it takes."""
    for criterion in CRITERIA:
        yield "none", None, criterion
    for case, (name, parameters, _) in CASES.items():
        for criterion in BOUNDS[name].criteria:
            yield case, BOUNDS[name](**parameters), criterion


def cases():
    """Yield the name of every case and a function that grows its tree."""
    for (case, bound, criterion), name in itertools.product(pairs(), TABLES):
        shared = {"bound": bound, "criterion": criterion}
        yield f"fit {case} {criterion} / {name}", shared, name, "fit"
        for memory in MEMORIES:
            settings = shared | {"leaf_memory": memory, "grace_period": 12}
            yield f"stream {memory} {case} {criterion} / {name}", settings, name, "rows"
    for name, pruning in itertools.product(TABLES, PRUNINGS):
        settings = {"bound": None, "pruning": pruning}
        yield f"pruned {pruning} / {name}", settings, name, "fit"
    others = {
        "drawn cuts": {"splitter": "random", "random_state": 3},
        "drawn features": {"max_features": 2, "random_state": 3},
        "best first": {"max_leaf_nodes": 9},
        "limits": {"min_samples_leaf": 7, "min_impurity_decrease": 0.004},
        "shares": {"min_samples_leaf": 0.02, "min_weight_fraction_leaf": 0.03},
        "depth": {"max_depth": 3},
    }
    streams = {
        "drift": {"drift": "ddm"},
        "bytes": {"max_bytes": 65536},
        "nb": {"leaf_prediction": "nb"},
        "majority": {"leaf_prediction": "majority"},
    }
    for name, bound in itertools.product(TABLES, (None, "gtest", "credible", "evalue")):
        for what, settings in others.items():
            yield (
                f"fit {what} {bound} / {name}",
                {"bound": bound, **settings},
                name,
                "fit",
            )
        for what, settings in (others | streams).items():
            grown = {"bound": bound, "grace_period": 9, **settings}
            yield f"stream {what} {bound} / {name}", grown, name, "rows"
            yield f"go on {what} {bound} / {name}", grown, name, "fit, rows"


def grow(settings, name, how):
    """Grow the tree of a case, streams through a pickle half-way."""
    X, y, given, of_table = table(name)
    settings = {"lookahead": 0} | copy.deepcopy(settings)
    model = ConfidenceTreeClassifier(**settings, **of_table)
    if how == "fit":
        return model.fit(X, y, **given), X
    weight, pool = given.get("sample_weight"), given.get("X_pool")
    half = len(y) // 2
    first, second = slice(None, half), slice(half, None)

    def part(rows):
        return {} if weight is None else {"sample_weight": weight[rows]}

    if how == "fit, rows":
        model.fit(X[first], y[first], **part(first))
    else:
        pool = {} if pool is None else {"X_pool": pool}
        model.partial_fit(
            X[first], y[first], np.arange(y.max() + 1), **part(first), **pool
        )
    model = pickle.loads(pickle.dumps(model))
    model.partial_fit(X[second], y[second], **part(second))
    return model, X


PARTS_OF_DIGEST = ("structure", "evidence", "predictions")


def digest(model, X, *, decimals=None):
    """Hash the structure of a tree, the evidence of its splits and its predictions.

    Parameters
    ----------
    model : ConfidenceTreeClassifier
    X : array or sparse of shape (n_rows, n_features)
    decimals : int or None, default=None
        Significant digits of numbers that a mathematical library computes; None
        compares every bit.

    Returns
    -------
    str
        A hash for each of `PARTS_OF_DIGEST`, in this order, separated by spaces. A
        change of the evidence alone leaves the first and the last as they are.
    """
    tree = model.tree_
    structure, evidence, predictions = hashed = [hashlib.sha256() for _ in range(3)]

    def add(part, values):
        values = np.ascontiguousarray(values)
        part.update((values if decimals is None else _rounded(values)).tobytes())

    for name in ARRAYS:
        values = getattr(tree, name)
        add(structure, values.astype(TYPES.get(name, values.dtype), copy=False))
    for node in np.flatnonzero(tree.is_nominal):
        branches = tree.branches(node)
        structure.update(np.flatnonzero(branches != node).tobytes())
        structure.update(branches[branches != node].tobytes())
    for name in tree.evidence.dtype.names:
        values = tree.evidence[name][tree.feature >= 0]
        if decimals is not None and name in ("score", "runner_up_score"):
            values = np.where(np.abs(values) < 1e-12, 0.0, values)  # a perfect split's
        add(evidence, values)
    add(predictions, tree.proba)
    add(predictions, model.predict_proba(X))
    predictions.update(model.apply(X).tobytes())
    return " ".join(part.hexdigest()[:16] for part in hashed)


def hashes(cases, decimals=None):
    """Hash some cases."""
    result = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, settings, rows, how in cases:
            try:
                result[name] = digest(*grow(settings, rows, how), decimals=decimals)
            except ValueError as error:
                result[name] = f"ValueError: {str(error)[:60]}"
    return result


def few(part=slice(None)):
    """Hash the cases that are kept, or a part: one in some, and all that are pruned."""
    kept = [
        case
        for i, case in enumerate(cases())
        if i % EVERY == 0 or case[0].startswith("pruned")
    ]
    return hashes(kept[part], DECIMALS)


def streams():
    """Yield a name, an estimator, a table and its size, for leaves of every kind."""
    bounds = (None, "gtest", "credible", "evalue")
    settings = itertools.cycle(itertools.product(bounds, PREDICTIONS, (5, 40, 400)))
    others = itertools.cycle(
        [
            {},
            {"max_features": 3, "random_state": 3},
            {"max_bytes": 65536},
            {"drift": "ddm"},
            {"splitter": "random", "random_state": 3},
            {"shrinkage": 2.0},
            {"class_weight": {0: 1.5}},
        ]
    )
    for name, memory in itertools.product(TABLES, (*MEMORIES, *MEMORIES)):
        bound, prediction, period = next(settings)
        other = next(others)
        model = ConfidenceTreeClassifier(
            bound,
            leaf_memory=memory,
            leaf_prediction=prediction,
            grace_period=period,
            lookahead=0,
            **other,
        )
        if bound is not None:
            model.set_params(delta=0.3)
        what = f"{memory} {bound} {prediction} {period} {' '.join(other)}"
        yield f"{what} / {name}", model, name, 260
    for name, memory in itertools.product(TABLES, ("histogram", "gaussian")):
        model = ConfidenceTreeClassifier(
            "gtest", delta=0.5, leaf_memory=memory, grace_period=20, lookahead=0
        )
        yield f"{memory}, many splits / {name}", model, name, 900
    bounds = [CASES[case][:2] for case in CASES if CASES[case][0] in AT_ONCE]
    for name, (bound, parameters) in itertools.product(
        ("pool", "four pool nominal"), bounds
    ):
        model = ConfidenceTreeClassifier(
            BOUNDS[bound](**parameters), grace_period=10, lookahead=0
        )
        yield f"grown {bound} {parameters} / {name}", model, name, 260
    for name, delta in itertools.product(TABLES, (1e-20, 1e-300)):
        # Leaves of more rows than are kept without being counted.
        model = ConfidenceTreeClassifier("gtest", delta=delta, lookahead=0)
        yield f"late {delta} / {name}", model, name, 900
    for i, name in enumerate(TABLES):  # leaves draw the features that they remember
        vote = ("mean", "accuracy")[i % 2]
        model = ConfidenceForestClassifier(
            n_estimators=3, max_features=2, grace_period=20, vote=vote, random_state=3
        )
        yield f"forest {vote} / {name}", model, name, 260


def leaves(part=slice(None)):
    """Hash what the leaves of growing trees remember and predict, or of some."""
    found = {}
    for case, model, name, n in list(streams())[part]:
        X, y, given, of_table = table(name, n)
        model.set_params(**of_table)
        is_tree = isinstance(model, ConfidenceTreeClassifier)
        pool = {"X_pool": given["X_pool"]} if "X_pool" in given and is_tree else {}
        weight = given.get("sample_weight")
        hashed = hashlib.sha256()
        for rows in np.array_split(np.arange(n), 3):
            weights = {} if weight is None else {"sample_weight": weight[rows]}
            if case.startswith("grown") and rows[0] == 0:
                model.fit(X[rows], y[rows], **weights, **pool)
                continue
            model.partial_fit(
                X[rows], y[rows], np.arange(y.max() + 1), **weights, **pool
            )
            pool = {}
            if is_tree:
                _, data = bytes_of_leaves(model._model.grower.__getstate__())
                for field in fields_of_leaves(model.tree_, data):
                    values = np.frombuffer(data[field.begin : field.end], field.dtype)
                    hashed.update(field.name.encode() + _rounded(values).tobytes())
            hashed.update(_rounded(model.predict_proba(X)).tobytes())
        found[case] = hashed.hexdigest()[:16]
    return found


def _rounded(values, decimals=DECIMALS):
    values = np.ascontiguousarray(values)
    if values.dtype.kind == "f":
        values = np.array([f"{v:.{decimals}g}" for v in values.ravel().tolist()])
    return values


def nodes():
    """Yield counts of children and the other arguments of `BaseBound.evaluate`.

    Small, large, pure, balanced and fractional ones, of several classes and outcomes.
    """
    rng = np.random.default_rng(53)
    for k, r in [(2, 2), (3, 2), (7, 2), (2, 3), (4, 4)]:
        for size, scale in itertools.product((2, 9, 60, 3000, 1e6), (1.0, 0.37)):
            children = np.round(
                size * rng.dirichlet(np.ones(k), r) * rng.random((r, 1))
            )
            children[:, 0] += 1
            children[-1, -1] += size
            settings = {
                "pool": children.sum(axis=1) + rng.integers(0, 9, r),
                "n_tests": int(rng.integers(1, 90)),
                "time": 3.0 * children.sum(),
                "depth": int(rng.integers(0, 9)),
                "attributes": int(rng.integers(1, 9)),
                "attempt": int(rng.integers(1, 9)),
                "n_fresh": 0.5 * children.sum(),
                "runner_up": rng.choice([None, 0.2, 0.6]),
            }
            yield scale * children, settings
            if size > 2:
                children[0, 1:] = 0
                children[1] = size
                yield scale * children, settings
    yield from special_nodes()


def special_nodes():
    """Yield nodes at the limits of the rules: as `nodes` does."""
    tables = [
        [[5, 5], [5, 5]],  # expected counts of 5, 10, and no association
        [[10, 10], [10, 10]],
        [[6, 4], [4, 6]],
        [[13, 7], [7, 13]],
        [[1, 0], [0, 1]],
        [[9, 0], [0, 9]],
        [[7, 0], [3, 0]],  # one class only
        [[3, 3], [1, 0]],
        [[2**20, 7], [9, 2**20 + 5]],  # beyond tables of integers
        [[3e8, 2e8], [2e8, 3e8 + 7e4]],
        [[0.02, 0.01], [0.01, 0.05]],
        [[4, 0, 2], [0, 0, 5]],  # a class without rows
        [[8, 8, 8], [8, 8, 8]],
        [[30, 2, 1], [1, 25, 2]],
        [[5, 1, 0, 0], [0, 6, 2, 0], [1, 0, 0, 9]],
    ]
    for i, table in enumerate(tables):
        children = np.array(table, dtype=float)
        n = children.sum()
        settings = {
            "pool": children.sum(axis=1) * (1 + i % 3),
            "n_tests": (1, 2, 1000)[i % 3],
            "time": n,
            "depth": i % 2,
            "attributes": 1 + i % 2,
            "attempt": 1 + i % 2,
            "n_fresh": n * (1 - 0.75 * (i % 2)),
            "runner_up": (0.0, None, 0.45)[i % 3],
        }
        yield children, settings


def scanned(score, children, pool):
    """Return what a scan computes of the first of two children, by either way."""
    if score is None or len(children) != 2:
        return [np.nan, np.nan]
    score.reserve(100)
    ways = [False, True] if score.additive else [False]
    found = [
        score.evaluate(
            children[:1],
            children.sum(axis=0),
            pool_left=pool[:1],
            pool=pool.sum(),
            from_sums=from_sums,
        )[0]
        for from_sums in ways
    ]
    return (found + [np.nan])[:2]


def evaluations(part=slice(None)):
    """Sum up what bounds compute about many nodes: name -> field -> number."""
    found = {}
    for case, bound, criterion in list(pairs())[part]:
        rows = []
        for children, settings in nodes():
            k = children.shape[1]
            if bound is None:
                score = SCORES[criterion](k)
                fields, answer = ("outcomes",), [score.evaluate_outcomes(children)]
            else:
                kernel = bound.kernel(criterion, k)
                answer = kernel.evaluate(children, criterion=criterion, **settings)
                fields, score = answer._fields, kernel.score
            rows.append([*answer, *scanned(score, children, settings["pool"])])
        values = np.array(rows, dtype=float)
        values[~np.isfinite(values)] = -1e-3
        # Small numbers count beside large ones.
        means = (np.sign(values) * np.log1p(1e3 * np.abs(values))).mean(axis=0)
        found[f"{case} {criterion}"] = {
            field: float(f"{mean:.12g}")
            for field, mean in zip((*fields, "scan", "sums"), means, strict=True)
        }
    return found


def differing_parts(before, after):
    """Return the parts of two digests that differ; all of them if one is an error."""
    before, after = before.split(" "), after.split(" ")
    if len(before) != len(PARTS_OF_DIGEST) or len(after) != len(PARTS_OF_DIGEST):
        return list(PARTS_OF_DIGEST)
    return [
        part
        for part, old, new in zip(PARTS_OF_DIGEST, before, after, strict=True)
        if old != new
    ]


def main(command, path=KEPT):
    """Write hashes, or compare with those written."""
    if command in ("write", "keep"):
        found = hashes(cases()) if command == "write" else few()
        Path(path).write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
        if command == "keep":
            KEPT_BOUNDS.write_text(json.dumps(evaluations(), indent=0) + "\n", "utf-8")
            KEPT_LEAVES.write_text(json.dumps(leaves(), indent=0) + "\n", "utf-8")
        print(f"{len(found)} cases written")
        return 0
    found = hashes(cases())
    with open(path, encoding="utf-8") as file:
        expected = json.load(file)
    other = {
        name: differing_parts(expected[name], found.get(name, ""))
        for name in expected
        if found.get(name) != expected[name]
    }
    missing = found.keys() ^ expected.keys()
    print(f"{len(expected)} cases, {len(other)} differ, {len(missing)} not in both")
    for part in PARTS_OF_DIGEST:
        print(f"  {sum(part in parts for parts in other.values())} in their {part}")
    for name, parts in list(other.items())[:40]:
        print(f"  {name}: {', '.join(parts)}")
    return 1 if other or missing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
