"""Check that an installed package reproduces the reference results."""

import hashlib
import inspect
import pickle
import platform
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy
import sklearn
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.utils.estimator_checks import check_estimator

import skconftree
from skconftree import (
    BinaryTests,
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMForestClassifier,  # of nearest class means
    NCMTreeClassifier,
    OASISClassifier,
    active,
    bounds,
    drift,
    tree,
)
from skconftree.active.pool import LeafSampling, SamplingStrategy
from skconftree.active.stream import StreamStrategy
from skconftree.datasets import make_random_tree_stream, make_sea

from ._plug_ins import (
    check_bound,
    check_detector,
    check_pruning,
    require,
    require_equal,
)
from ._strategies import check_stopping_rule, check_strategy

TABLES = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
}
STRATEGIES = (SamplingStrategy, LeafSampling, StreamStrategy)
# Compared fields of `tree_.evidence`, the statistics that led to each split. The
# runner-up is the best split of another feature. The multiplicity is the factor by
# which a p-value is corrected for multiple comparisons.
EVIDENCE = (
    "score",
    "runner_up_score",
    "statistic",
    "n_candidates",
    "multiplicity",
    "log10_expected_by_chance",
    "runner_up_z",
)
# Hashes of the descriptions (`described`) of the reference trees, which are the same on
# every machine.
KNOWN = {
    "iris": "b87a8dc473d526d1",
    "wine": "d157023ca7acf336",
    "breast cancer": "bd7b6277789cfb75",
    "digits": "dab7daedce95b9f4",
    "grown from a stream": "abe5bb64a44aad29",
}


def described(estimator):
    """Describe a tree: exact splits and counts, evidence to six digits."""
    nodes, text = estimator.tree_, []
    for node in range(nodes.node_count):
        split = f"{nodes.feature[node]} {float(nodes.threshold[node])!r}"
        counts = " ".join(f"{count:g}" for count in nodes.counts[node])
        evidence = " ".join(
            f"{name} {nodes.evidence[name][node]:.6g}"
            for name in EVIDENCE
            if np.isfinite(nodes.evidence[name][node])
        )
        text.append(f"{node}: {split}; {counts}; {evidence}")
    return "\n".join(text)


def known_trees():
    """Trees of known datasets equal the reference trees."""
    for name, load in TABLES.items():
        X, y = load(return_X_y=True)
        _compare(name, ConfidenceTreeClassifier(random_state=0).fit(X, y))
    X, y = make_random_tree_stream(
        3000, n_leaves=10, p_left=0.9, p_right=0.1, random_state=0
    )
    # refit_rows=0: the first rows are not stored to grow the tree again
    grown = ConfidenceTreeClassifier(refit_rows=0).partial_fit(X, y, classes=[0, 1])
    _compare("grown from a stream", grown)


def _compare(name, estimator):
    text = described(estimator)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    require(
        digest == KNOWN[name],
        f"The tree of {name} has changed ({digest}, not {KNOWN[name]}). Please "
        f"report it to the developers, with the lines above and this:\n{text}",
    )


def estimators():
    """Estimators pass the checks of scikit-learn."""
    for estimator in (
        ConfidenceTreeClassifier(),
        ConfidenceForestClassifier(5),
        NCMTreeClassifier(),
        NCMForestClassifier(5),
        OASISClassifier(),
        BinaryTests(),
    ):
        check_estimator(estimator, on_skip=None)


def streams():
    """Models of a stream do not depend on batch sizes or pickling."""
    X, y = make_sea(3000, noise=0.1, random_state=0)
    for model in (
        ConfidenceTreeClassifier(drift="ddm"),
        ConfidenceForestClassifier(5, n_jobs=2, random_state=0),
        OASISClassifier(random_state=0),
    ):
        whole = pickle.loads(pickle.dumps(model)).partial_fit(X, y, classes=[0, 1])
        for first in range(0, len(y), 700):
            model.partial_fit(X[first : first + 700], y[first : first + 700], [0, 1])
            model = pickle.loads(pickle.dumps(model))
        require_equal(
            model.predict_proba(X),
            whole.predict_proba(X),
            f"{type(model).__name__} must not depend on batch sizes or pickling.",
        )


def threads():
    """Threads read a tree while another one trains it."""
    X, y = make_sea(20_000, noise=0.1, random_state=0)
    model = ConfidenceTreeClassifier().partial_fit(X[:1000], y[:1000], [0, 1])

    def learn():
        for first in range(1000, len(y), 1000):
            model.partial_fit(X[first : first + 1000], y[first : first + 1000])

    def read():
        return all(
            np.isclose(model.predict_proba(X[:100]).sum(axis=1), 1.0).all()
            for _ in range(50)
        )

    with ThreadPoolExecutor(5) as pool:
        learning = pool.submit(learn)
        reading = [pool.submit(read) for _ in range(4)]
        learning.result()
        require(
            all(future.result() for future in reading), "Probabilities must sum to 1."
        )
    alone = ConfidenceTreeClassifier().partial_fit(X, y, [0, 1])
    require_equal(
        model.predict(X), alone.predict(X), "Predictions must not change a tree."
    )


def plugins():
    """Split rules, pruning, detectors, strategies and stopping rules pass checks."""
    for bound in _instances(bounds, bounds.BaseBound):
        if bound.levels:  # values of its main parameter, from strict to permissive
            bound.set_params(**{bound.level_parameter: bound.levels[-1]})
        check_bound(bound)
    for pruning in _instances(tree, tree.BasePruning):
        check_pruning(pruning)
    for detector in _instances(drift, drift.BaseDetector):
        check_detector(detector)
    for package in (active, active.pool, active.stream):
        for strategy in _instances(package, *STRATEGIES):
            check_strategy(strategy)
    rules = active.LabelBudget(20), active.RiskBelow(0.1), active.RecallAbove(1)
    for rule in (*rules, active.StableModel()):
        check_stopping_rule(rule)


def _instances(package, *bases):
    # An instance of each public concrete class without required parameters.
    for name in package.__all__:
        kind = getattr(package, name)
        if inspect.isclass(kind) and issubclass(kind, bases) and kind not in bases:
            needed = [
                parameter
                for parameter in inspect.signature(kind).parameters.values()
                if parameter.default is parameter.empty
            ]
            if not needed and not inspect.isabstract(kind):
                yield kind()


PARTS = (known_trees, estimators, streams, threads, plugins)


def run():
    """Run all parts, print their results, and return the number that failed."""
    print(
        f"skconftree {skconftree.__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-learn "
        f"{sklearn.__version__}, {platform.system()} {platform.machine()}"
    )
    failed = 0
    for part in PARTS:
        begin = time.perf_counter()
        try:
            part()
            outcome = "passed"
        except Exception:
            traceback.print_exc(file=sys.stdout)
            failed += 1
            outcome = "FAILED"
        seconds = time.perf_counter() - begin
        print(f"{outcome} in {seconds:4.1f} s: {part.__doc__}", flush=True)
    print(f"{len(PARTS) - failed} passed, {failed} failed")
    return failed
