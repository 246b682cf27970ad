"""Trains the compiled tree and the slow one on the same stream."""

import numpy as np

from skconftree import ConfidenceTreeClassifier

from .cases import settings_of
from .online import OnlineTree
from .streams import learn, settle_ties
from .tree import assert_same_evidence

# What a bound counts and looks at, said again and not read off the bound, so that a
# wrong attribute is found; all others count the rows of a leaf's own only.
# Against "no split" Hoeffding's bound stands in for the credible one (A5).
AT_ONCE = ("credible", "hoeffding-no-split", "hoeffding-interval")
# Those that count rows handed over count every row where leaves keep rows.
HANDED_ROWS = ("gtest", "chi2", "bayes_factor")
EVERY_ROW = ("none", "possibilistic", *HANDED_ROWS, *AT_ONCE)
FIXED_CUTS = ("evalue",)


def family(case, names):
    return any(case == name or case.startswith(f"{name}-") for name in names)


def in_order_of_appearance(stream):
    """Give the categories the codes that the estimator does."""
    tables = [stream.X] if stream.X_pool is None else [stream.X_pool, stream.X]
    learned = [
        *tables[:-1],
        stream.X[stream.weights > 0],
        stream.X[stream.weights == 0],
    ]
    for f in stream.nominal or ():
        met = np.concatenate([table[:, f] for table in learned])
        values, first = np.unique(met, return_index=True)
        values = values[np.argsort(first)]
        for table in tables:
            table[:, f] = np.argmax(table[:, [f]] == values, axis=1)


def grow_both(
    case,
    criterion,
    stream,
    class_weight=None,
    multiway=False,
    tie_threshold=0.0,
    **growth,
):
    bound, expected = settings_of(case, criterion, stream.n_classes)
    settle_ties(bound, tie_threshold)
    model = ConfidenceTreeClassifier(
        bound=bound,
        criterion=criterion,
        leaf_memory="rows",
        leaf_prediction="majority",
        class_weight=class_weight,
        categorical_features=stream.nominal,
        nominal_splits="multiway" if multiway else "binary",
        **{"grace_period": 1, **growth},
    )
    learn(model, stream)
    if class_weight is not None:
        class_weight = [class_weight[c] for c in range(stream.n_classes)]
    tree = OnlineTree(
        stream.X,
        stream.y,
        n_classes=stream.n_classes,
        criterion=criterion,
        bound=expected,
        counts_every_row=family(case, EVERY_ROW),
        examines_children=family(case, AT_ONCE),
        fixes_cuts=family(case, FIXED_CUTS),
        sample_weight=stream.weight,
        X_pool=stream.X_pool,
        class_weight=class_weight,
        nominal=stream.nominal or (),
        multiway=multiway,
        tie_threshold=tie_threshold,
        **growth,
    )
    tree.run()
    return model.tree_, tree


def assert_same(found, expected):
    """Compare the nodes one by one: they have the same numbers."""
    assert found.node_count == len(expected.nodes)
    for node in expected.nodes:
        i = node.number
        where = f"node {i} (depth {node.depth}, attempt {node.attempt})"
        assert found.parent[i] == node.parent, where
        assert found.depth[i] == node.depth, where
        assert found.n_node_samples[i] == len(node.rows) or node.split is not None
        if node.split is None:
            assert found.feature[i] == -2, f"{where} was split"
            counts = expected.counts_of(np.array(node.rows, dtype=int))
            # differences of fractional weights leave a rounding where nothing is left
            np.testing.assert_allclose(
                found.counts[i], counts, rtol=1e-12, atol=1e-12, err_msg=where
            )
            continue
        assert found.feature[i] == node.split.feature, where
        assert_same_evidence(found, i, node.split.evidence, where)
        assert found.children(i).tolist() == [one.number for one in node.children]
        if node.branches is None:
            assert found.threshold[i] == node.split.threshold, where
        else:
            leads_to = enumerate(found.branches(i) - node.children[0].number)
            known = {code: z for code, z in leads_to if z >= 0}
            assert known == node.branches, where
