"""What grows a tree whose rows lie in parts."""

import numpy as np

from ...tables._encoded_table import EncodedTable
from ...tables._row_codes import RowCodes
from ..nodes._tree import Tree
from ._drawn_source import DrawnSource
from ._node_rows import NodeRows
from ._parted_builder import PartedBuilder, PartedRunnerUp
from ._parted_source import PartedSource
from ._parted_subtrees import PartedSubtrees
from ._table_source import TableSource


def make_parted_builder(nodes, growth, root, root_facts, looks_up):
    """Make the builder of a tree from nodes in parts, see `_parted_source.pxd`.

    `root_facts` makes the facts of the root of a tree below a node. Nodes of few rows
    look codes up, or divide all features.
    """
    settings = growth.settings
    table = EncodedTable.of_codes(1, nodes.heads)
    label = np.zeros(1, np.uint16)
    heads = NodeRows(table, label, None, None, settings.multiway)
    source = PartedSource(nodes, heads, settings, root)
    splitter = growth.splitter(source)
    runner_up = None
    if growth.may_compare and not looks_up:
        runner_up = PartedRunnerUp(splitter, source, growth.least_compared)
    nodes.grow_by(GrowBelow(growth, root_facts, looks_up))
    return PartedBuilder(
        splitter,
        settings,
        growth.least_split,
        runner_up,
        PartedSubtrees(source, growth.draws),
    )


class GrowBelow:
    """Grows the tree below a node, whose rows are in one place, in any process.

    Threads may grow several trees at a time.
    """

    def __init__(self, growth, root_facts, looks_up):
        self.growth, self.root_facts, self.looks_up = growth, root_facts, looks_up
        self._kernels = []  # that no thread has at the moment

    def __reduce__(self):
        return GrowBelow, (self.growth, self.root_facts, self.looks_up)

    def __call__(self, node, columns, y, counts, distinct):
        """Grow it from coded columns, classes, counts and weights for a bound.

        The `node` is an `OpenNode`.
        """
        try:
            kernels = self._kernels.pop()
        except IndexError:
            kernels = self.growth.kernels()
        growth = self.growth._replace(kernels=lambda: kernels)
        settings = growth.settings
        table = EncodedTable.of_codes(len(y), columns)
        facts = self.root_facts(distinct=distinct, root_id=node.id, moved=node.moved)
        source = None
        if self.looks_up:
            source = DrawnSource(RowCodes(table), y, counts, settings, facts)
        if source is None or not source.fits:
            rows = NodeRows(table, y, counts, None, settings.multiway, True)
            source = TableSource(rows, settings, facts)
        tree = Tree(
            growth.n_features,
            growth.n_classes,
            growth.class_weight,
            settings.bound is not None,
            keep_rivals=growth.may_compare and not self.looks_up,
        )
        tree = growth.builder(growth.splitter(source), source).build(
            tree,
            node.counts,
            node.n_labelled,
            node.pool,
            node.box,
            node.features,
            node.depth,
        )
        self._kernels.append(kernels)
        return tree
