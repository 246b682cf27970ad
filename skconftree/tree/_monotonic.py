"""Monotonicity constraints: the signs of the features, and the values of the nodes.

The value of a node is its probability of the second of two classes. A split on a
constrained feature sets a bound (limit) between the values of its children. All values
are clipped into the bounds of their nodes. For trees of moderate size, the values of
the leaves are then replaced by those that are closest to the unconstrained ones among
all values in the right order (isotonic regression on a partial order). A *schema* has
the names and types of the columns.

References
----------
R. Luss, S. Rosset and M. Shahar, "Efficient regularized isotonic regression with
application to gene-gene interaction search", 2012.

R. van de Kamp, A. Feelders and N. Barile, "Isotonic classification trees", 2009.
"""

import numpy as np

from .._compat import InvalidParameterError
from ._isotonic import clipped_values, isotonic_values
from .nodes._derived import shrunk

MAX_LEAVES = 2000  # of a tree with isotonic values: pairs of leaves are compared


def resolve_monotonic_cst(estimator, schema, classes):
    """The sign of each feature as a tuple, or None if no feature is constrained."""
    constraints, caller = estimator.monotonic_cst, type(estimator).__name__
    if constraints is None:
        return None
    if estimator.leaf_prediction in ("nb", "nba"):
        raise InvalidParameterError(
            f"The 'leaf_prediction' parameter of {caller} must be 'auto' or 'majority' "
            "with monotonic_cst, because naive Bayes does not keep the order. Got "
            f"{estimator.leaf_prediction!r} instead."
        )
    if isinstance(constraints, dict):
        if schema.names is None:
            raise ValueError(
                "monotonic_cst is a dict, but X has no feature names. Pass an array "
                "with a sign per feature instead."
            )
        unknown = [name for name in constraints if name not in list(schema.names)]
        if unknown:
            raise ValueError(
                f"monotonic_cst has keys that are not feature names of X: "
                f"{unknown[:5]}. The names are {list(schema.names)[:20]}."
            )
        signs = [constraints.get(name, 0) for name in schema.names]
    else:
        signs = np.asarray(constraints)
        if signs.shape != (schema.n_features,):
            shape = signs.shape if signs.ndim != 1 else len(signs)
            raise ValueError(
                f"monotonic_cst has shape {shape} but the input data X has "
                f"{schema.n_features} features."
            )
        signs = signs.tolist()
    invalid = [sign for sign in signs if sign not in (-1, 0, 1)]
    if invalid:
        raise ValueError(
            "monotonic_cst must be None or an array-like of -1, 0 or 1, or a dict of "
            f"them by feature name, but got {invalid[:5]}"
        )
    if len(classes) > 2:
        raise ValueError(
            "Monotonicity constraints are not supported with multiclass classification "
            f"(monotonic_cst is set, and y has {len(classes)} classes). Set "
            "monotonic_cst=None, or combine classes."
        )
    if schema.is_categorical is not None:
        for j in np.flatnonzero(schema.is_categorical):
            if signs[j]:
                raise ValueError(
                    f"monotonic_cst must be 0 for the nominal column "
                    f"{schema.columns[j]!r}, whose categories have no order. Got "
                    f"{signs[j]!r}. Set it to 0, or make the column numeric."
                )
    if len(classes) < 2 or not any(signs):
        return None
    return tuple(map(int, signs))


def constrain(tree, signs):
    """Clip the probabilities of all nodes into the bounds of the splits above them."""
    signs = np.array(signs, dtype=np.int8)
    tree._set_values(clipped_values(tree, signs, tree.raw_proba, tree.proba))


def make_isotonic(tree, signs):
    """Replace clipped values of leaves by isotonic ones.

    Among all values that are in the right order for any pair of rows, they have the
    smallest weighted sum of squares to the values without constraints, and the smallest
    weighted cross-entropy.
    """
    if tree.node_count == 1 or tree.n_leaves > MAX_LEAVES:
        return
    target = tree.raw_proba  # class proportions, before shrinkage toward ancestors
    if tree.shrinkage > 0.0:
        n_rows = tree.counts.sum(axis=1)
        target = shrunk(target, n_rows, tree.parent, tree.depth, tree.shrinkage)
    values = isotonic_values(
        tree,
        np.array(signs, dtype=np.int8),
        target,
        tree.proba,
        tree.weighted_n_node_samples,
    )
    if values is not None:
        tree._set_values(values)
