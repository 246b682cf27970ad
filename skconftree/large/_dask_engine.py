"""Coded parts of a table on the workers of a Dask cluster."""

import time
from threading import Semaphore

import numpy as np

from . import _steps
from ._engine import in_order, in_table, n_rows_of, sample_of_parts

JOINED = 8  # results that are added up in one step
GROWING = 2  # trees below nodes for each thread of a worker that are on their way
PATIENCE = 1.0  # seconds between two checks of whether the cluster still exists
MOST_SECONDS_ALONE = 300.0  # without any worker, which may be replaced meanwhile


class DaskEngine:
    """Parts whose codes are on workers, each of which has a group of them.

    What is known of a node, its rows too, stays there, and counts come here. The rows
    of small nodes go to a worker, from which the tree below comes. A result that was
    lost with its worker is made anew by Dask.
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
        self.n_rows = sum(map(n_rows_of, places))
        # What workers know of the places of rows in the table: where parts begin, if
        # their rows follow each other there. They have no room for the place of each.
        self._follow = all(isinstance(one, slice) for one in places)
        self._known = self._places
        if not self._follow:
            self._known = [[None] * len(one) for one in self._places]
        self._room = Semaphore(GROWING * sum(client.nthreads().values()))

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
        found = self._client.gather(self._each(_steps.whole))
        places = [one for group in self._places for one in group]
        return in_order(_steps.join_columns(found), places)

    def begin(self, counts, repeated, weights):
        """Begin a tree, as `LocalEngine.begin`."""
        sampled = []
        for worker, places in zip(self._workers, self._places, strict=True):
            # a part at a time: no message is as long as the table
            parts = [
                self._submit(worker, _steps.Sampled, *part)
                for part in sample_of_parts(places, counts, repeated, weights)
            ]
            sampled.append(self._submit(worker, _listed, *parts))
        found = self._each(_steps.begin, sampled)
        counts, weights = self._total(_sums_of, found)
        weight = None if weights is None else weights[0]
        return sampled, self._rows_of(found, 0), counts[0], weight

    def _rows_of(self, found, place):
        # Those of one node by themselves, so that others can be forgotten before.
        return [
            self._submit(worker, _members, one, place)
            for worker, one in zip(self._workers, found, strict=True)
        ]

    def divide(self, sampled, members, questions):
        """Divide the rows of nodes: those of children, counts, and weights."""
        of_workers = list(map(list, zip(*members, strict=True)))
        found = self._each(
            _steps.divide, sampled, of_workers, [questions] * len(of_workers)
        )
        counts, weights = self._total(_sums_of, found)
        n_kept = sum(len(question.kept) for question in questions)
        children = [self._rows_of(found, place) for place in range(n_kept)]
        return _steps.Found(children, counts, weights)

    def count_cells(self, sampled, members, tests):
        """Count the rows of a node by the outcomes of tests."""
        found = self._each(_count_cells, sampled, members, [tests] * len(members))
        return self._total(_itself, found)[0]

    def sent(self, grow_below):
        """What grows trees below nodes, as workers have it."""
        return self._client.submit(_itself, grow_below, pure=False)

    def grow(self, sampled, members, grow_below, node):
        """Have a tree grown below a node, by a worker that all its rows come to."""
        self._wait_for_room()  # all rows would wait on the workers for their trees
        try:
            places = None if self._follow else self._places_of(members)
            rows = self._each(_steps.collect, sampled, members, self._known)
            # counts come first: who asks for them has nothing else to do
            growing = self._client.submit(
                _grow, grow_below, node, places, *rows, pure=False, priority=-1
            )
        except BaseException:
            self._room.release()
            raise
        growing.add_done_callback(self._has_room)
        return growing

    def _wait_for_room(self):
        # Trees of a cluster that has died never end, and give no room.
        alone_since = None
        while not self._room.acquire(timeout=PATIENCE):
            if self._client.status in ("closing", "closed"):
                raise RuntimeError(
                    "The connection to the Dask cluster was lost while trees were "
                    "grown. Connect to a cluster and call large.fit again."
                )
            if self._client.nthreads():
                alone_since = None
                continue
            now = time.monotonic()
            alone_since = now if alone_since is None else alone_since
            if now - alone_since > MOST_SECONDS_ALONE:
                raise RuntimeError(
                    f"The Dask cluster has had no worker for {now - alone_since:.0f} "
                    "seconds while trees were grown. Add workers and call large.fit "
                    "again."
                )

    def _has_room(self, grown):
        self._room.release()

    def _places_of(self, members):
        # Where the rows of a node are in the table.
        found = self._client.gather(self._each(_steps.numbers, members))
        return _steps.joined(list(map(in_table, self._places, found)))

    def grown(self, growing):
        """The trees that workers grow."""
        return self._client.gather(growing)


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


# -- what workers call --------------------------------------------------------------


def _listed(*parts):
    return list(parts)


def _members(found, place):
    return found.members[place]


def _count_cells(*given):
    return _steps.count_cells(*given), None


def _grow(grow_below, node, places, *rows):
    rows = _steps.join_collected(rows)
    if places is not None:
        rows = rows._replace(places=places)
    return grow_below(node, rows)


def _itself(found):
    return found


def _sums_of(found):
    return found.counts, found.weights


def _add(found):
    counts, weights = zip(*found, strict=True)
    total = np.sum(counts, axis=0)
    return total, None if weights[0] is None else np.sum(weights, axis=0)
