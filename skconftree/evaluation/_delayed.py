"""One step of a run in which labels come late, or rows are learnt one by one."""

import time

import numpy as np

from ._pieces import part
from ._waiting import Waiting, steps


class DelayedStep:
    """Predict the rows of a call, and learn those whose labels come meanwhile.

    What has been done is known at any time, so that a call that ends early counts as
    far as it went.
    """

    def __init__(self, run, X=None, n=0, first=0, comes=None):
        self.run, self.X, self.first = run, X, first
        self.comes = np.zeros(0, dtype=bool) if comes is None else comes
        self.n_before = len(run._waiting)
        known = self.n_before + np.cumsum(self.comes)
        self.entries = [self.n_before, *known.tolist()]  # before each row
        self.n_asked = 0
        self.learnt = []  # places, in the order in which they were learnt
        self.baselines = run._baselines.copy()
        self.rows = run._waiting
        self.told = np.full(n, -1, dtype=np.intp)
        self.unweighted = False  # no row has a weight
        self._now = None  # places that are being learnt, and rows seen before

    def expect(self, due, true, weight):
        """Join the rows of the call whose labels come to those that wait."""
        there = self.comes
        weight = None if weight is None else weight[there]
        numbers = self.first + np.flatnonzero(there)
        self.rows = self.rows.joined(
            self.X, self.first, numbers, due[there], true, weight
        )

    def go(self, time, last_is_over):
        """Do all of it."""
        self.unweighted = bool(np.isnan(self.rows.weight).all())
        plan = steps(self.rows, time, last_is_over)
        if not self.run._per_row:
            places = [found for _, found in plan]
            plan = [(len(self.told), np.concatenate(places))] if places else []
        for stop, places in plan:
            if not self._meet(stop, places):
                self._ask(stop)
                self._learn(places)
        self._ask(len(self.told))

    def _meet(self, stop, places):
        # A row that is learnt at once, and the first: what predicts and learns in one
        # call knows how to predict before there is a model.
        run, start = self.run, stop - 1
        if self.n_asked == stop or not run._can_meet():
            return False
        entries = self._entries(start, stop)
        if places.tolist() != [entries.start]:
            return False
        self._ask(start)
        self._remember(start, stop)
        given = self._given(places)
        self._now = places, run._n_rows_seen()
        X, true = part(self.X, start, stop), self.rows.true[places]
        told, proba = run._meet(X, run.classes_.take(true), given)
        self.told[start] = self.rows.predicted[entries.start] = told[0]
        if proba is not None:
            self.rows.proba[entries] = proba
        self._take_over(places)
        return True

    def _entries(self, start, stop):
        return slice(self.entries[start], self.entries[stop])

    def _ask(self, stop):
        start, run = self.n_asked, self.run
        if start == stop:
            return
        entries, some = self._entries(start, stop), slice(start, stop)
        if hasattr(run.estimator, "classes_"):
            told, proba = run._ask(part(self.X, start, stop))
            self.told[some] = told
            self.rows.predicted[entries] = told[self.comes[some]]
            if proba is not None:
                self.rows.proba[entries] = proba[self.comes[some]]
        self._remember(start, stop)

    def _remember(self, start, stop):
        entries = self._entries(start, stop)
        last, majority = self.baselines.guess()
        self.rows.no_change[entries], self.rows.majority[entries] = last, majority
        self.n_asked = stop

    def _learn(self, places):
        run = self.run
        for X, found in self.rows.rows(places):
            labels, given = run.classes_.take(self.rows.true[found]), self._given(found)
            self._now = found, run._n_rows_seen()
            run.estimator.partial_fit(X, labels, **given)
            self._take_over(found)

    def _given(self, places):
        weight = self._weight(places)
        given = {} if weight is None else {"sample_weight": weight}
        if not hasattr(self.run.estimator, "classes_"):
            given["classes"] = self.run.classes_
        return given

    def _take_over(self, places):
        self.learnt.append(places)
        self._now = None
        self.baselines.take(self.rows.true[places], self._weight(places))

    def _weight(self, places):
        if self.unweighted:
            return None
        weight = self.rows.weight[places]
        given = ~np.isnan(weight)
        return np.where(given, weight, 1.0) if given.any() else None

    def count(self, start):
        """Take over what has been done, all at once; `start`: in CPU seconds."""
        run, learnt = self.run, self.learnt
        if self._now is not None and (not learnt or learnt[-1] is not self._now[0]):
            places, seen = self._now
            n = run._n_learnt(seen, self._weight(places), len(places))
            learnt = [*learnt, places[:n]]
        learnt = np.concatenate([np.zeros(0, np.intp), *learnt])
        done, weight = self.rows.at(learnt), self._weight(learnt)
        baselines, window = run._baselines.copy(), run._window.copy()
        baselines.take(done.true, weight)
        tested = done.predicted >= 0
        parts = done.true, done.predicted, done.no_change, done.majority
        parts = [one[tested] for one in parts]
        weight = None if weight is None else weight[tested]
        window.add(*parts, weight)
        predictions = run._predictions
        if run._scorers and tested.any():
            proba = None if done.proba is None else done.proba[tested]
            predictions = predictions.add(*parts[:2], proba, weight)
        come = self.comes[: self.n_asked]
        unasked = np.arange(self.entries[self.n_asked], len(self.rows))
        vars(run).update(
            n_rows_=run.n_rows_ + len(learnt),
            n_tested_=run.n_tested_ + int(np.count_nonzero(tested)),
            n_unlabelled_=run.n_unlabelled_ + int(np.count_nonzero(~come)),
            cpu_seconds_=run.cpu_seconds_ + time.process_time() - start,
            _waiting=self.rows.without(np.union1d(learnt, unasked)),
            _window=window,
            _baselines=baselines,
            _predictions=predictions,
        )


def nothing_waits(run):
    """Make what a run begins with."""
    return Waiting(len(run.classes_) if run._asks_proba else None)
