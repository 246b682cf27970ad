"""Drawn features and cuts: the tree equals the slow reference, node for node.

The reference writes the random numbers out in whole numbers. That fixes what contract
1 of growth promises: a draw depends on the seed, the node, the attempt and the
feature, not on what was drawn before.
"""

import functools

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from reference.cases import settings_of
from reference.contingency import UndecidedError
from reference.draws import DrawingGrower, DrawingOnlineTree
from reference.effort import examples
from reference.streams import learn, streams
from reference.tables import assert_same, grow_both, problems
from reference.tree import kept
from sklearn.utils import check_random_state

from skconftree import ConfidenceTreeClassifier

# A few of each kind: what is drawn does not depend on the bound.
CASES = [
    ("none", "gini"),
    ("none", "gain_ratio"),
    ("credible", "entropy"),
    ("credible-volume", "gini"),
    ("possibilistic-all", "entropy"),
    ("hoeffding-no-split", "gini"),
    ("derosa", "gini"),
    ("chi2-tests", "entropy"),
    ("bayes_factor", "gini"),
    ("evalue", "entropy"),
    ("gtest", "gini"),
]


def draws(random_state, max_features, splitter, n_features):
    """Arguments of a drawing reference."""
    return {
        "seed": check_random_state(random_state).randint(2**31 - 1),
        "max_features": n_features if max_features is None else max_features,
        "random_cuts": splitter == "random",
    }


def settings_of_draws(data, n_features):
    return {
        "random_state": data.draw(st.integers(0, 99), label="random state"),
        "max_features": data.draw(
            st.sampled_from([None, *range(1, n_features + 1)]), label="max_features"
        ),
        "splitter": data.draw(st.sampled_from(["best", "random"]), label="splitter"),
    }


@pytest.mark.parametrize(("case", "criterion"), CASES)
@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems(), data=st.data())
def test_batch(case, criterion, problem, data):
    parameters = settings_of_draws(data, problem["X"].shape[1])
    bound, expected = settings_of(case, criterion, problem["K"])
    make = functools.partial(
        DrawingGrower, **draws(**parameters, n_features=problem["X"].shape[1])
    )
    try:
        estimator, root = grow_both(
            problem, bound, expected, criterion, make, **parameters
        )
    except UndecidedError:
        reject()
    assume(not root.ambiguous)
    assert_same(estimator.tree_, root)


@pytest.mark.parametrize(
    ("case", "criterion"),
    # cuts of evidence bounds with fixed cuts are drawn among those
    [pair for pair in CASES if pair[0] not in ("evalue", "credible-volume")],
)
@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.too_slow])
@given(
    stream=streams(
        min_rows=10, max_rows=50, kinds_of_features=("continuous", "ties", "holes")
    ),
    grace=st.sampled_from([1, 4]),
    data=st.data(),
)
def test_stream(case, criterion, stream, grace, data):
    assume(stream.weights.any())
    n_features = stream.X.shape[1]
    parameters = settings_of_draws(data, n_features)
    bound, expected = settings_of(case, criterion, stream.n_classes)
    model = ConfidenceTreeClassifier(
        bound=bound,
        criterion=criterion,
        leaf_memory="rows",
        leaf_prediction="majority",
        grace_period=grace,
        **parameters,
    )
    learn(model, stream)
    slow = DrawingOnlineTree(
        stream.X,
        stream.y,
        n_classes=stream.n_classes,
        criterion=criterion,
        bound=expected,
        counts_every_row=bound is None
        or bound.counts_every_row
        or bound.counts_stored_rows,
        examines_children=bound is not None and bound.examines_children,
        sample_weight=stream.weight,
        X_pool=stream.X_pool if bound is not None and bound.uses_pool else None,
        grace_period=grace,
        **draws(**parameters, n_features=n_features),
    )
    try:
        slow.run()
    except UndecidedError:
        reject()
    assume(not slow.ambiguous)
    found = model.tree_
    assert found.node_count == len(slow.nodes)
    for node in slow.nodes:
        i = node.number
        assert found.parent[i] == node.parent
        if node.split is None:
            assert found.feature[i] == -2
            counts = slow.counts_of(np.array(node.rows, dtype=int))
            np.testing.assert_allclose(found.counts[i], counts, rtol=1e-12)
            continue
        assert found.feature[i] == node.split.feature
        assert found.threshold[i] == node.split.threshold
        assert found.missing_go_to_left[i] == node.missing_left
        for name, value in kept(found, node.split.evidence).items():
            if name not in ("runner_up_feature", "runner_up_score"):
                assert found.evidence[i][name] == pytest.approx(value, nan_ok=True)
