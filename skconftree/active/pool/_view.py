"""Read-only view of an active learner, for sessions and journals."""

import numpy as np

from ...utils._codec import to_json


class LearnerView:
    """Read-only view of an active learner."""

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
        """Number of rows of the pool."""
        return self._learner._pool.n_rows

    @property
    def seed(self):
        """Seed of all random choices."""
        return self._learner._seed

    @property
    def start(self):
        """Initial labels of the pool, a `Batch`."""
        return self._learner._start

    def squared_distances(self, row, rows):
        """Squared distances of rows to another row, as strategies use them."""
        return self._learner._pool.embedding.squared_distances(row, rows)

    @property
    def answers(self):
        """Labels taught since `fit`, a list of one `Batch` per call."""
        return list(self._settled._answers)

    @property
    def labeled(self):
        """Labeled rows, in the order in which they were learned."""
        return np.array(self._settled._order, dtype=np.intp)

    @property
    def codes(self):
        """Index in `classes_` of each row's label; -1 for unlabeled rows."""
        return self._settled._codes.copy()

    @property
    def model(self):
        """The classifier; None before there are labels of two classes."""
        return self._settled._model()

    @property
    def description(self):
        """The learner and its parameters, as a journal stores them."""
        return to_json(self._learner, names=True)

    def audit_rows(self, share):
        """Rows of a random audit, or None if the strategy selects the next rows."""
        return self._learner._audit_rows(self._learner.batch_size, share)

    def with_context(self, rules, function):
        """Call a function with the `QueryContext` of stopping rules."""
        return self._learner._call_with_context(rules, function)

    def plain_label(self, label):
        """Label as a journal stores it, None if missing; an error if it is invalid."""
        return self._learner._plain_label(label)

    def learn(self, rows, labels, n_wrong):
        """Learn labels (None: skipped); `n_wrong` of them were mispredicted."""
        self._learner._learn_answers(rows, labels, n_wrong)

    def replace_answers(self, batches, seed):
        """Replace all labels by those of `batches`, tuples of arguments of `learn`."""
        self._learner._replace_answers(batches, seed)

    def with_answers(self, rows, labels, n_wrong):
        """Copy of the learner that has learned further labels, as by `learn`."""
        learner = self._settled
        batch = learner._make_batch(rows, labels, n_wrong)
        return learner._with_answers([*learner._answers, batch])

    def before(self, n_labels):
        """Copy of the learner without the last labels."""
        retained = self.answers
        while retained and n_labels > 0:
            n_labels -= int(retained.pop().known.sum())
        return self._settled._with_answers(retained)
