"""What grows a tree whose rows lie in parts."""

import numpy as np

from ...tables._encoded_table import EncodedTable
from ...tables._row_codes import RowCodes
from ._drawn_source import DrawnSource
from ._node_rows import NodeRows
from ._parted_builder import PartedBuilder, PartedRunnerUp
from ._parted_source import PartedSource
from ._table_source import TableSource


def make_parted_builder(nodes, growth, root_facts, looks_up):
    """Make the builder of a tree from nodes in parts, see `_parted_source.pxd`.

    `root_facts` makes the facts of the root, other `distinct` weights being given if
    there are some. Gathered nodes look codes up, or divide all features.
    """
    settings, kernels = growth.settings, growth.kernels()
    growth = growth._replace(kernels=lambda: kernels)  # one thread at a time has them
    table = EncodedTable.of_codes(1, nodes.heads)
    label = np.zeros(1, np.uint16)
    heads = NodeRows(table, label, None, None, settings.multiway)
    root = root_facts()
    source = PartedSource(nodes, heads, settings, root)
    splitter = growth.splitter(source)
    runner_up = None
    if growth.may_compare and not looks_up:
        runner_up = PartedRunnerUp(splitter, source, growth.least_compared)

    def builder_of(gathered):
        y, count = gathered.y, gathered.counts
        table = EncodedTable.of_codes(len(y), gathered.columns)
        facts = root
        if gathered.distinct is not None:
            facts = root_facts(distinct=gathered.distinct)
        source = None
        if looks_up:
            source = DrawnSource(RowCodes(table), y, count, settings, facts)
        if source is None or not source.fits:
            rows = NodeRows(table, y, count, None, settings.multiway, True)
            source = TableSource(rows, settings, facts)
        return growth.builder(growth.splitter(source), source)

    return PartedBuilder(
        splitter,
        settings,
        growth.least_split,
        runner_up,
        builder_of,
        nodes.most_gathered,
    )
