"""Impurities and the choice among candidate tests, written for reading.

Shares no code with the compiled kernels. ``phi`` is scaled so that two
balanced classes have 1/2; a *total* is the sum over outcomes of n_z * phi_z.
"""

import math

# A test replaces the best so far only if it is better by more than this share
# of the node's weight; below it, differences are rounding.
TIE = 1e-10


def proportions(counts):
    total = float(sum(counts))
    return [c / total for c in counts] if total > 0 else [0.0] * len(counts)


def phi_entropy(counts):
    """Half the entropy in bits."""
    return 0.5 * sum(p * math.log2(1.0 / p) for p in proportions(counts) if p > 0)


def phi_gini(counts):
    if sum(counts) == 0:
        return 0.0
    return 1.0 - sum(p * p for p in proportions(counts))


def phi_kearns_mansour(counts):
    return 0.5 * sum(math.sqrt(p * max(1.0 - p, 0.0)) for p in proportions(counts))


def phi_error(counts):
    if sum(counts) == 0:
        return 0.0
    return 1.0 - max(proportions(counts))


PHI = {
    "entropy": phi_entropy,
    "gini": phi_gini,
    "kearns_mansour": phi_kearns_mansour,
    "error": phi_error,
    "gain_ratio": phi_entropy,
    "ec2": phi_gini,
    "balance": phi_gini,
    "imbalance": phi_gini,
}

# A finer test may have a higher total, and the best set of categories be no prefix.
NOT_CONCAVE = ("ec2", "balance", "imbalance")

# `tree_.impurity` and min_impurity_decrease are in scikit-learn's units.
SCIKIT_LEARN_UNITS = {"entropy": 2.0, "gain_ratio": 2.0}


def phi(criterion, counts):
    return PHI[criterion](counts)


def impurity(criterion, counts):
    return SCIKIT_LEARN_UNITS.get(criterion, 1.0) * phi(criterion, counts)


def edges(counts):
    """Pairs of rows with different labels."""
    n = sum(counts)
    return (n * n - sum(c * c for c in counts)) / 2.0


def edges_cut(children):
    """Expect so many edges to be cut by a test: S of the EC2 criterion."""
    parent = [sum(column) for column in zip(*children, strict=True)]
    n = sum(parent)
    everything = edges(parent)
    return sum(sum(c) / n * (everything - edges(c)) for c in children)


def ec2_score(children):
    """S / N^2, to be maximized."""
    n = sum(sum(c) for c in children)
    return edges_cut(children) / n**2


def split_information(children):
    """Half the entropy, in bits, of the outcome itself."""
    return phi_entropy([sum(c) for c in children])


def total(criterion, children):
    """Sum what a scan minimizes over the node's rows.

    EC2: what remains of the edges, 2 n (|E| - S) / n^2, so that no split has
    n * gini and the largest S / N^2 the smallest total. Balance: n * gini less the rows
    of the smallest outcome; imbalance: less the rows that are not in it.
    """
    if criterion == "ec2":
        n = sum(sum(c) for c in children)
        return sum(2.0 * sum(c) * edges(c) for c in children) / n**2
    if criterion in ("balance", "imbalance"):
        node = [sum(column) for column in zip(*children, strict=True)]
        n = sum(node)
        smallest = min(sum(c) for c in children)
        if len(children) == 1 or smallest <= 0:
            worth = 0.0
        else:
            worth = smallest if criterion == "balance" else n - smallest
        return n * phi(criterion, node) - worth
    return sum(sum(c) * phi(criterion, c) for c in children)


def first_lowest(scores, tolerance):
    """Index of the lowest score; the earliest of those within the tolerance."""
    best = None
    for i, score in enumerate(scores):
        if best is None or score < scores[best] - tolerance:
            best = i
    return best


def best_by_criterion(criterion, features, children, n):
    """Best test and best test of another attribute.

    Parameters
    ----------
    features : list of int
        Attribute of each candidate, ascending.
    children : list
        Class counts of the outcomes of each candidate.
    n : float
        Weight of the node.

    Returns
    -------
    best, competitor, scores : int, int or None, list of float
        ``scores`` are totals; for gain_ratio minus n * gain ratio.
    """
    if criterion == "gain_ratio":
        return _best_gain_ratio(features, children, n)
    scores = [total(criterion, c) for c in children]
    best = first_lowest(scores, TIE * n)
    return best, _competitor(best, features, scores, n), scores


def _competitor(best, features, scores, n):
    others = [
        i
        for i, f in enumerate(features)
        if f != features[best] and math.isfinite(scores[i])
    ]
    if not others:
        return None
    return others[first_lowest([scores[i] for i in others], TIE * n)]


def _best_gain_ratio(features, children, n):
    """Choose as C4.5 does.

    Each attribute proposes the cut with the most gain; among the proposals with
    at least their average gain the largest ratio of gain to the outcome's own
    entropy wins.
    """
    parent = [sum(column) for column in zip(*children[0], strict=True)]
    no_split = sum(parent) * phi_entropy(parent)
    totals = [total("entropy", c) for c in children]
    proposals = []
    for feature in sorted(set(features)):
        own = [i for i, f in enumerate(features) if f == feature]
        proposals.append(own[first_lowest([totals[i] for i in own], TIE * n)])
    gains = {i: no_split - totals[i] for i in proposals}
    average = sum(gains.values()) / len(gains)
    scores = [math.inf] * len(children)
    for i in proposals:
        if gains[i] >= average - TIE * n:
            scores[i] = -n * (gains[i] / n) / split_information(children[i])
    best = first_lowest(scores, TIE * n)
    return best, _competitor(best, features, scores, n), scores
