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
    given = tree.categorical_features
    if given is None or isinstance(given, str):  # a rule instead of places
        return repr(tree)
    try:
        tree.categorical_features = [names[place] for place in given]
        return repr(tree)
    finally:
        tree.categorical_features = given


def _with_schema(tree, state, schema):
    made = type(tree)()
    made.__setstate__({**state, "_model": {**state["_model"], "schema": schema}})
    return made
