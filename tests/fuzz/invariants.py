"""Invariants of every model, whatever calls were made."""

import io
import pickle

import numpy as np

from .failures import Finding, require

ARRAYS = (
    *("children_left", "children_right", "n_children", "parent", "depth", "feature"),
    *("threshold", "missing_go_to_left", "missing_seen", "is_nominal", "counts"),
    *("proba", "impurity", "n_node_samples", "weighted_n_node_samples", "evidence"),
)

BOUNDARY = 1024  # rows, after which a growing model looks at its memory


def state_of(model):
    """All a model knows, as bytes."""
    return pickle.dumps(model)


def values_of(one):
    """All that anything knows, as bytes: which parts are one object does not matter."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    pickler.fast = True  # without references
    pickler.dump(one)
    return file.getvalue()


def growth_of(model):
    """What it has learned, as plain values: no parameters."""
    return _growth(model.tree_, model._model.grower), model.n_rows_seen_


def _growth(tree, grower):
    state = () if grower is None else grower.__getstate__()
    return tree.__getstate__(), *map(_plain, state)


def _plain(value):
    if isinstance(value, tuple):  # of a tree in the background
        return tuple(map(_plain, value))
    if isinstance(value, dict):  # of a detector
        return repr(value)
    if hasattr(value, "__getstate__") and type(value).__module__ != "builtins":
        return repr(value.__reduce__()[1:])
    return value


# -- predictions -------------------------------------------------------------------


def probabilities(model, proba, n):
    require(
        proba.shape == (n, model.n_classes_), "shape of probabilities", str(proba.shape)
    )
    require(np.isfinite(proba).all(), "probabilities that are not finite")
    require((proba >= 0.0).all(), "negative probabilities")
    require(
        (abs(proba.sum(axis=1) - 1.0) < 1e-9).all(),
        "probabilities that do not sum to 1",
        lambda: str(proba.sum(axis=1)),
    )


def predictions(model, X, n, proba):
    """`predict` is the class of the largest probability."""
    expected = model.classes_[proba.argmax(axis=1)]
    require(np.array_equal(model.predict(X), expected), "predict is not the argmax")


def paths(model, X, n):
    """A row passes as many nodes as its last one is deep, and that one at last."""
    tree = model.tree_
    leaves = model.apply(X)
    require(leaves.shape == (n,), "shape of apply")
    require(((leaves >= 0) & (leaves < tree.node_count)).all(), "leaves out of range")
    path = model.decision_path(X)
    require(path.shape == (n, tree.node_count), "shape of decision_path")
    lengths = np.asarray(path.sum(axis=1)).ravel()
    require(np.array_equal(lengths, tree.depth[leaves] + 1), "length of a path")
    require(
        all(path.indices[path.indptr[i + 1] - 1] == leaves[i] for i in range(n)),
        "end of a path",
    )
    stays = tree.feature[leaves] >= 0
    require(
        not stays.any() or tree.is_nominal[leaves[stays]].all(),
        "rows stay at a numeric test",
    )
    return leaves


def intervals(model, X, n, level, method="conditional"):
    limits = model.predict_proba_interval(X, confidence_level=level, method=method)
    require(limits.shape == (n, model.n_classes_, 2), "shape of intervals")
    require(np.isfinite(limits).all(), "intervals that are not finite")
    require(
        ((limits >= 0.0) & (limits <= 1.0)).all()
        and (limits[..., 0] <= limits[..., 1] + 1e-12).all(),
        "limits of intervals",
    )


def explanations(model, X, leaves):
    """One step for every test on the path, and the fields that are promised."""
    steps = model.explain(X)
    tree = model.tree_
    for path, leaf in zip(steps, leaves, strict=True):
        stays = tree.feature[leaf] >= 0
        require(len(path) == tree.depth[leaf] + stays, "length of an explanation")
        for step in path:
            require(
                step["goes"] in ("left", "right", "branch", "stays"),
                "where an explanation goes",
            )


def same_in_sklearn(model, X, proba):
    """The copy made of scikit-learn's parts predicts the same, bit for bit."""
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()  # scikit-learn's pipelines know no pyarrow
    with np.errstate(invalid="ignore"):  # of sums that scikit-learn tries
        other = model.to_sklearn().predict_proba(X)
    require(
        np.array_equal(other, proba),
        "to_sklearn predicts otherwise",
        lambda: f"{other} instead of {proba}",
    )


# -- the tree ----------------------------------------------------------------------


def structure(model):
    """Arrays fit each other; counts of a node are those of its children."""
    tree = model.tree_
    m = tree.node_count
    arrays = {name: getattr(tree, name) for name in ARRAYS}
    for name, array in arrays.items():
        require(len(array) == m, f"length of tree_.{name}")
    parent, depth, counts = arrays["parent"], arrays["depth"], arrays["counts"]
    require(parent[0] == -1 and (parent[1:] < np.arange(1, m)).all(), "parents")
    require(np.array_equal(depth[1:], depth[parent[1:]] + 1), "depths")
    require(model.get_depth() == depth.max(), "get_depth")
    leaf = arrays["feature"] < 0
    require(model.get_n_leaves() == leaf.sum(), "get_n_leaves")
    require(leaf.sum() == (arrays["n_children"] == 0).sum(), "children of leaves")
    require(np.isfinite(counts).all() and (counts >= 0.0).all(), "counts of nodes")
    proba = arrays["proba"]
    require(
        np.isfinite(proba).all() and (abs(proba.sum(axis=1) - 1.0) < 1e-9).all(),
        "tree_.proba",
    )
    require(np.isfinite(arrays["impurity"]).all(), "impurities that are not finite")
    summed = np.zeros_like(counts)
    np.add.at(summed, parent[1:], counts[1:])
    require(
        np.allclose(summed[~leaf], counts[~leaf], rtol=1e-9, atol=0.0),
        "counts of a node are not those of its children",
    )
    share = model.feature_importances_
    require(
        (np.isfinite(share).all() and abs(share.sum() - 1.0) < 1e-6) or not share.any(),
        "feature importances",
        lambda: str(share),
    )
    require(model.n_bytes_ > 0, "n_bytes_")


def size(model, parameters):
    """A tree has no more leaves, and is no deeper, than it may be."""
    most = parameters.get("max_leaf_nodes")
    leaves = model.get_n_leaves()
    require(most is None or leaves <= most, "more leaves than max_leaf_nodes")
    most = parameters.get("max_depth")
    require(most is None or model.get_depth() <= most, "deeper than max_depth")


def memory(model, parameters):
    """After every so many rows leaves have forgotten what there is no room for."""
    most = parameters.get("max_bytes")
    n = 0 if most is None else model._model.grower.n_rows_seen
    if n > 0 and n % BOUNDARY == 0:
        require(
            model.n_bytes_ <= most,
            "more bytes than max_bytes",
            lambda: f"{model.n_bytes_} instead of {most}",
        )


def reaches_leaf(model, X):
    """What has just been learned is known to all tests on its way."""
    require(
        (model.tree_.feature[model.apply(X)] < 0).all(), "a learned row stays at a test"
    )


def counts_of_leaves(model, expected, *, rtol=1e-9):
    """Counts of the leaves sum to the weights of the rows, class by class."""
    tree = model.tree_
    found = tree.counts[tree.feature < 0].sum(axis=0)
    require(
        np.allclose(found, expected, rtol=rtol, atol=rtol * expected.sum()),
        "leaf counts do not sum to the weights",
        lambda: f"{found} instead of {expected}",
    )


def rows_reach_their_leaves(model, X, y, weight):
    """Sent down again, the rows of `fit` are counted where they were."""
    tree = model.tree_
    found = np.zeros_like(tree.counts)
    np.add.at(found, (model.apply(X), y), weight)
    leaf = tree.feature < 0
    require(
        np.allclose(
            found[leaf], tree.counts[leaf], rtol=1e-9, atol=1e-9 * weight.max()
        ),
        "rows do not reach the leaves that counted them",
    )


def read_only(model):
    """Nothing that is written into an array of `tree_` changes the model."""
    tree = model.tree_
    before = tree.__getstate__()
    for name in ARRAYS:
        array = getattr(tree, name)
        while isinstance(array, np.ndarray):
            try:
                array.flags.writeable = True
            except ValueError:
                pass
            if array.flags.writeable and array.size and array.dtype.names is None:
                kept = array.copy()
                array[...] = 1
                changed = tree.__getstate__() != before
                array[...] = kept
                if changed:
                    raise Finding("tree_ can be written into", name)
            array = array.base


# -- errors ------------------------------------------------------------------------


def unchanged(model, before, name):
    require(state_of(model) == before, "a failed call changed the model", name)
