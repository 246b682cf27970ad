"""The public face of an active learner, for sessions, journals and recorders."""

import numpy as np

from ...utils._codec import to_json


class LearnerView:
    """Public view of an active learner, whose arrays are read-only."""

    def __init__(self, learner):
        self._learner = learner

    @property
    def _settled(self):
        if not self._learner._is_settled():
            self._learner._settle_first()
        return self._learner

    @property
    def X(self):
        """The pool."""
        return self._learner._pool.X

    @property
    def n_rows(self):
        """Rows of the pool."""
        return self._learner._pool.n_rows

    @property
    def seed(self):
        """What all random choices follow from."""
        return self._learner._seed

    @property
    def start(self):
        """The labels that the pool had at the start, a `Batch`."""
        return self._learner._start

    def squared_distances(self, row, rows):
        """Squared distances of rows to another one, as strategies see them."""
        return self._learner._pool.embedding.squared_distances(row, rows)

    @property
    def answers(self):
        """What was taught since `fit`, a list of `Batch`, one a call."""
        return list(self._settled._answers)

    @property
    def labeled(self):
        """Rows with a label, in the order in which they were learned."""
        return np.array(self._settled._order, dtype=np.intp)

    @property
    def codes(self):
        """Place of each row's label in `classes_`; -1 without one."""
        return self._settled._codes.copy()

    @property
    def model(self):
        """The classifier; None before there are labels of two classes."""
        return self._settled._model()

    @property
    def description(self):
        """The learner and its parameters, as a journal holds them."""
        return to_json(self._learner, names=True)

    def audit_rows(self, share):
        """Draw an audit question at random, or None if the strategy is to ask."""
        return self._learner._audit_rows(self._learner.batch_size, share)

    def look(self, rules, look):
        """Call a function with the `QueryContext` that stopping rules look at."""
        return self._learner._call_with_context(rules, look)

    def plain_label(self, label):
        """A label as a journal holds it, None for none; an error if it is not valid."""
        return self._learner._plain_label(label)

    def learn(self, rows, labels, n_wrong):
        """Learn labels (None: skipped); `n_wrong` of them were mispredicted."""
        self._learner._learn_answers(rows, labels, n_wrong)

    def replace_answers(self, told, seed):
        """Learn lists of arguments of `learn` in the place of all former answers."""
        self._learner._replace_answers(told, seed)

    def with_answers(self, rows, labels, n_wrong):
        """Another learner that has learned more answers, as by `learn`."""
        learner = self._settled
        batch = learner._told(rows, labels, n_wrong)
        return learner._with_answers([*learner._answers, batch])

    def before(self, n_labels):
        """Another learner, as it was before the last labels."""
        kept = self.answers
        while kept and n_labels > 0:
            n_labels -= int(kept.pop().known.sum())
        return self._settled._with_answers(kept)
