"""Trees that are given arrays, and files that name the columns."""


def with_columns(tree, names):
    """A tree like this one whose columns have such names; None: it takes arrays."""
    state = tree.__getstate__()
    model = state["_model"]
    schema = {**model["schema"], "names": names}
    named = type(tree)()
    named.__setstate__({**state, "_model": {**model, "schema": schema}})
    return named
