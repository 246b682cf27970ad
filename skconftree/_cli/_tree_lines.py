"""A tree in words, behind the figures of a stream."""

from skconftree.tree import export_text

MOST_LEAVES = 40  # of a tree that is printed whole
TOP = 4


def tree_lines(tree, names):
    """The tree, or its upper levels."""
    n_leaves = tree.get_n_leaves()
    if n_leaves == 1:
        return tree.summary()
    if n_leaves <= MOST_LEAVES:
        return export_text(tree, **names).rstrip()
    upper = export_text(tree, **names, max_depth=TOP).rstrip()
    return f"{upper}\n\n{n_leaves} leaves; these are the upper {TOP} levels"
