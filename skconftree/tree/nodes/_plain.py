"""Trees as plain values, for files of any kind."""

from ._node_state import damaged


def write_nodes(tree):
    """A tree as plain values: arguments, and its arrays as bytes."""
    _, arguments, arrays = tree.__reduce__()
    return arguments, arrays


def read_nodes(kind, state):
    """Make a tree from what `write_nodes` has written, which is not believed."""
    if not (
        isinstance(state, tuple) and len(state) == 2 and isinstance(state[0], tuple)
    ):
        raise damaged("its parts")
    arguments, arrays = state
    try:
        tree = kind(*arguments)
    except TypeError as error:
        raise damaged("its size") from error
    tree.__setstate__(arrays)
    return tree
