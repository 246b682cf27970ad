"""The evidence on the path of a row."""

from itertools import pairwise

import numpy as np

from ._node_table import read_nodes


def explain_rows(estimator, rows, rivals=0):
    """Records of `ConfidenceTreeClassifier.explain`, of rows with coded categories."""
    tree = estimator.tree_
    paths = tree.path(tree.apply(rows))
    nodes = np.unique(paths.indices)
    evidence = tree.evidence
    fields = evidence.dtype.names
    said = {
        record.node: (record, dict(zip(fields, values, strict=True)))
        for record, values in zip(
            read_nodes(estimator, nodes, rivals=rivals),
            evidence[nodes].tolist(),
            strict=True,
        )
    }
    categories = estimator.categories_

    def step(node, child, row):
        record, fields = said[node]
        value = row[record.feature].item()
        places = [branch.node for branch in record.branches]
        leading = None
        if record.keeps_unknown:
            known = categories[record.feature]
            if child == node:
                # later categories may have no place in the array yet
                targets = np.full(len(known), node)
                branches = tree.branches(node)[: len(known)]
                targets[: len(branches)] = branches
                leading = [known[code] for code in np.flatnonzero(targets == node)]
            else:
                leading = list(record.branches[places.index(child)].categories)
            value = known[int(value)] if 0 <= value < len(known) else None
        if child == node:
            goes = "stays"
        elif record.n_children > 2:
            goes = "branch"
        else:
            goes = "left" if child == places[0] else "right"
        close = {"rivals": [one._asdict() for one in record.rivals]} if rivals else {}
        return {
            "node": node,
            "feature": record.feature,
            "name": record.name,
            "threshold": record.threshold,
            "categories": leading,
            "value": value,
            "goes": goes,
            **fields,
            **close,
        }

    explanations = []
    for row, (start, end) in zip(rows, pairwise(paths.indptr), strict=True):
        path = paths.indices[start:end].tolist()  # from the root down
        steps = [step(*pair, row) for pair in pairwise(path)]
        if said[path[-1]][0].n_children:
            steps.append(step(path[-1], path[-1], row))
        explanations.append(steps)
    return explanations
