"""EC2 by its definition (D6): a graph of hypotheses, edge by edge."""

import itertools

import numpy as np


def score(outcomes, weights, groups, alive):
    """Expected weight of the edges that one test cuts.

    Parameters
    ----------
    outcomes : sequence of length n_hypotheses
        What each hypothesis foresees of the test.
    weights, groups, alive : sequence of length n_hypotheses

    Returns
    -------
    float
    """
    members = [h for h in range(len(outcomes)) if alive[h]]
    edges = [
        (h, other)
        for h, other in itertools.combinations(members, 2)
        if groups[h] != groups[other]
    ]
    total = sum(weights[h] for h in members)
    expected = 0.0
    for truth in members:  # the outcome is what it foresees
        for h, other in edges:
            if outcomes[h] != outcomes[truth] or outcomes[other] != outcomes[truth]:
                expected += weights[truth] / total * weights[h] * weights[other]
    return expected


def greedy(outcomes, weights, groups, answers, n_rounds, ties):
    """Rows in the order in which EC2 asks for them, hypotheses drawn once.

    Parameters
    ----------
    outcomes : ndarray of shape (n_hypotheses, n_rows)
    weights, groups : ndarray of shape (n_hypotheses,)
    answers : ndarray of shape (n_rows,)
    n_rounds : int
    ties : ndarray of shape (n_rows,)
        Lower ones come first among rows of equal score.

    Returns
    -------
    rows : list of int
        Shorter than `n_rounds` if no edge is left.
    scores : list of float
    """
    alive = np.ones(len(weights), dtype=bool)
    open_rows = list(range(outcomes.shape[1]))
    rows, scores = [], []
    for _ in range(n_rounds):
        found = [score(outcomes[:, x], weights, groups, alive) for x in open_rows]
        best = max(found)
        if best <= 1e-12:
            break
        tied = [
            x
            for x, one in zip(open_rows, found, strict=True)
            if np.isclose(one, best, rtol=1e-9, atol=0)
        ]
        x = min(tied, key=lambda one: ties[one])
        rows.append(x)
        scores.append(best)
        open_rows.remove(x)
        alive &= outcomes[:, x] == answers[x]
    return rows, scores
