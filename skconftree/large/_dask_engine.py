"""Coded parts of a table on the workers of a Dask cluster."""

import numpy as np

from . import _steps
from ._engine import sample_of_parts

JOINED = 8  # results that are added up in one step


class DaskEngine:
    """Parts whose codes are on workers, each of which has a group of them.

    What is known of a node, its rows too, stays there; counts, and the rows of small
    nodes, come here. A result that was lost with its worker is made anew by Dask.
    """

    is_here = is_one_part = False

    def __init__(self, client, coded, places):
        self._client = client
        self._groups, self._places, self._workers = [], [], []
        for worker, found in _by_worker(client, coded).items():
            self._groups.append(
                self._submit(worker, _listed, *(coded[place] for place in found))
            )
            self._places.append([places[place] for place in found])
            self._workers.append(worker)
        self.n_rows = sum(_n_rows(one) for group in self._places for one in group)

    def with_team(self, team):
        """The same: workers have threads of their own."""
        return self

    def _submit(self, worker, function, *arguments):
        # It goes elsewhere if the worker is no more.
        return self._client.submit(
            function,
            *arguments,
            pure=False,
            workers=[worker],
            allow_other_workers=True,
        )

    def _each(self, function, *arguments):
        # Of each group in turn; arguments are lists with an entry for each.
        return [
            self._submit(worker, function, group, *rest)
            for worker, group, *rest in zip(
                self._workers, self._groups, *arguments, strict=True
            )
        ]

    def _total(self, function, found):
        # The sum of what a function takes from what was found.
        taken = [
            self._submit(worker, function, one)
            for worker, one in zip(self._workers, found, strict=True)
        ]
        while len(taken) > JOINED:
            taken = [
                self._client.submit(_add, taken[i : i + JOINED], pure=False)
                for i in range(0, len(taken), JOINED)
            ]
        return _add(self._client.gather(taken))

    def columns(self):
        """Codes of all rows, column by column."""
        return _steps.in_order(*self._client.gather(self._each(_steps.whole)))

    def begin(self, counts, repeated, weights):
        """Begin a tree, as `LocalEngine.begin`."""
        sampled = []
        for worker, places in zip(self._workers, self._places, strict=True):
            parts = zip(
                *sample_of_parts(places, counts, repeated, weights), strict=True
            )
            # a part at a time: no message is as long as the table
            sampled.append([self._submit(worker, _kept, *part) for part in parts])
        found = self._each(_begin, sampled)
        counts, weights = self._total(_sums_of, found)
        sampled = [
            self._submit(worker, _listed, *parts)
            for worker, parts in zip(self._workers, sampled, strict=True)
        ]
        weight = None if weights is None else weights[0]
        return sampled, (found, 0), counts[0], weight

    def divide(self, sampled, members, question):
        """Divide the rows of a node: those of children, counts, and weights."""
        nodes, place = members
        n = len(nodes)
        found = self._each(_divide, sampled, nodes, [place] * n, [question] * n)
        counts, weights = self._total(_sums_of, found)
        children = [(found, place) for place in range(len(question.kept))]
        return _steps.Found(children, counts, weights)

    def count_cells(self, sampled, members, tests):
        """Count the rows of a node by the outcomes of tests."""
        nodes, place = members
        n = len(nodes)
        found = self._each(_count_cells, sampled, nodes, [place] * n, [tests] * n)
        return self._total(_itself, found)[0]

    def collect(self, sampled, members):
        """Take the rows of a node."""
        nodes, place = members
        found = self._each(_collect, sampled, nodes, [place] * len(nodes))
        return _steps.join_collected(self._client.gather(found))


def _by_worker(client, coded):
    # Places of coded parts by the worker that has them; each thread has a group.
    from distributed import wait

    wait(coded)
    for one in coded:
        if one.status == "error":
            one.result()  # raises
    threads = client.nthreads()
    groups = {}
    who_has = client.who_has(coded)
    for place, one in enumerate(coded):
        holders = who_has.get(one.key) or list(threads)
        groups.setdefault(min(holders), []).append(place)
    return groups


def _n_rows(places):
    return places.stop - places.start if isinstance(places, slice) else len(places)


# -- what workers call --------------------------------------------------------------


def _listed(*parts):
    return list(parts)


def _kept(present, sampled):
    return present, sampled


def _itself(counts):
    return counts, None


def _sums_of(found):
    return found.counts, found.weights


def _add(found):
    counts, weights = zip(*found, strict=True)
    total = np.sum(counts, axis=0)
    return total, None if weights[0] is None else np.sum(weights, axis=0)


def _begin(parts, sampled):
    present, sampled = zip(*sampled, strict=True)
    return _steps.begin(parts, present, sampled)


def _divide(parts, sampled, found, place, question):
    return _steps.divide(parts, _of(sampled), found.members[place], question)


def _count_cells(parts, sampled, found, place, tests):
    return _steps.count_cells(parts, _of(sampled), found.members[place], tests)


def _collect(parts, sampled, found, place):
    return _steps.collect(parts, _of(sampled), found.members[place])


def _of(sampled):
    return [one for _, one in sampled]
