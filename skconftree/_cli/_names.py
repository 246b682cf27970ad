"""Trees that are given arrays, which tell nothing of the columns but numbers."""


def with_columns(tree, names):
    """A tree like this one whose columns have such names; None: it takes arrays."""
    state = tree.__getstate__()
    return _with_schema(tree, state, {**state["_model"]["schema"], "names": names})


def with_dates(tree, kinds):
    """The tree, told which columns are days since 1970-01-01; see `date_kinds`."""
    if kinds is None:
        return tree
    state = tree.__getstate__()
    return _with_schema(tree, state, {**state["_model"]["schema"], "dates": kinds})


def with_feature_names(tree, names):
    """Write the tree's parameters, its nominal columns by name."""
    if tree.categorical_features is None:
        return repr(tree)
    nominal = [names[place] for place in tree.categorical_features]
    places = tree.categorical_features
    try:
        tree.categorical_features = nominal
        return repr(tree)
    finally:
        tree.categorical_features = places


def _with_schema(tree, state, schema):
    made = type(tree)()
    made.__setstate__({**state, "_model": {**state["_model"], "schema": schema}})
    return made
