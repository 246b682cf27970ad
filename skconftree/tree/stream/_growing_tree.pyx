"""A tree that grows row by row, and what it predicts meanwhile."""

from skconftree.utils._codec import damaged

import numpy as np


from libc.string cimport memset

from skconftree.tree.leaves._bayes cimport make_scratch
from skconftree.tree.leaves._pool_rows cimport leave_pool, place_in_pool
from skconftree.tree.nodes._shrinkage cimport fill_shrunk
from skconftree.utils._memory cimport Arena
from skconftree.utils._spare_memory cimport give_way


cdef class GrowingTree:
    """A tree with what its leaves remember and predict by; a `Grower` makes it."""

    cdef intp_t _route_row(
        self, const float32_t* x, bint finite, intp_t* stopped_at
    ) noexcept nogil:
        # The leaf of a row. A category that is not known at a node goes on with the
        # child that was the largest; the first such node is noted.
        cdef intp_t node = 0
        cdef intp_t to
        stopped_at[0] = -1
        if not finite or self.tree.n_ordinals > 0:
            while self.tree.nodes[node].feature >= 0:
                to = self.tree.child(node, x)
                if to == node:
                    if stopped_at[0] < 0:
                        stopped_at[0] = node
                    to = self.tree.nodes[node].left + (
                        self.tree.branching[node].missing_left
                    )
                node = to
            return node
        while self.tree.nodes[node].feature >= 0:
            node = self.tree.nodes[node].left + (
                x[self.tree.nodes[node].feature] > self.tree.nodes[node].threshold
            )
        return node

    @property
    def predicts_by_bayes(self):
        """Whether leaves may predict by naive Bayes."""
        return self.predictor.judging

    def predict_proba(self, const float32_t[:, ::1] X, bint finite):
        """Class probabilities of rows, for whoever holds the lock to read."""
        cdef intp_t n = X.shape[0]
        cdef intp_t K = self.policy.n_classes
        require_fit(X.shape[1] == self.policy.n_features)
        proba = np.empty((n, K))
        cdef float64_t[:, ::1] out = proba
        cdef const Leaf* leaf
        cdef Arena arena = Arena()
        cdef Scratch scratch
        cdef intp_t i, stopped_at
        make_scratch(arena, &scratch, self.policy.n_features, K)
        with nogil:
            for i in range(n):
                leaf = self.leaves.at[self._route_row(&X[i, 0], finite, &stopped_at)]
                self._fill_proba(leaf, stopped_at, &X[i, 0], &scratch, &out[i, 0])
        return proba

    cdef void _fill_proba(
        self, const Leaf* leaf, intp_t stopped_at, const float32_t* x,
        Scratch* scratch, float64_t* out,
    ) noexcept nogil:
        # Class probabilities of a row at its leaf, or where its category is unknown.
        if stopped_at < 0:
            self.predictor.fill_proba(self.tree, leaf, x, scratch, out)
        else:
            self._fill_below(stopped_at, out)

    cdef bint _is_summed(self, const Leaf* leaf, intp_t stopped_at) noexcept nogil:
        # Whether the prediction of a row rests on a sum over several leaves.
        cdef intp_t c
        if stopped_at >= 0:
            return True
        for c in range(self.policy.n_classes):
            if self.tree.counts[leaf.node * self.policy.n_classes + c] > 0.0:
                return False
        return True

    cdef int _ask_tree(self, intp_t node, float64_t* out) except -1:
        # It predicts where no leaf learns how; sums of fractions round as they do there.
        while True:
            try:
                return self.tree.fill_value(node, out)
            except MemoryError:
                give_way()

    cdef void _fill_below(self, intp_t node, float64_t* out) noexcept nogil:
        # What an internal node predicts.
        cdef intp_t c
        cdef float64_t total = 0.0
        if self.tree.shrinkage > 0.0:
            fill_shrunk(
                self.tree.counts, self.policy.n_classes, self.tree.parent,
                self.tree.depth, self.tree.shrinkage, self.class_weight, node, out,
            )
            return
        memset(out, 0, self.policy.n_classes * sizeof(float64_t))
        self.tree.add_counts(node, out)
        for c in range(self.policy.n_classes):
            if self.class_weight != NULL:
                out[c] *= self.class_weight[c]
            total += out[c]
        for c in range(self.policy.n_classes):
            out[c] = out[c] / total if total > 0.0 else 1.0 / self.policy.n_classes

    cdef intp_t _majority_below(self, intp_t node) noexcept nogil:
        cdef intp_t best = 0
        cdef intp_t c
        self._fill_below(node, self.below)
        for c in range(1, self.policy.n_classes):
            if self.below[c] > self.below[best]:
                best = c
        return best

    # -- rows to be learnt ----------------------------------------------------------

    cdef int _check_stored(
        self, intp_t n_features, const int32_t[::1] places, const int64_t[::1] starts,
        const float32_t[::1] stored, const label_t[::1] y, const float64_t[::1] weight,
    ) except -1:
        # As _check_rows, for what a sparse table stores; it has no categories.
        cdef intp_t n = starts.shape[0] - 1
        cdef intp_t i
        cdef bint sound = (
            n_features == self.policy.n_features and y.shape[0] == n
            and (weight is None or weight.shape[0] == n)
            and self.policy.n_nominal == 0 and starts[0] == 0
            and places.shape[0] >= starts[n] and stored.shape[0] >= starts[n]
        )
        if sound:
            with nogil:
                for i in range(n):
                    sound = sound and (
                        y[i] < self.policy.n_classes and starts[i] <= starts[i + 1]
                    )
                for i in range(starts[n]):
                    sound = sound and 0 <= places[i] < n_features
        return require_fit(sound)

    cdef int _check_rows(
        self, const float32_t[:, ::1] X, const label_t[::1] y,
        const float64_t[::1] weight,
    ) except -1:
        # Before the first of them is learnt: labels and codes index arrays. A row that
        # is not learnt, as it weighs nothing, asks for predictions at most.
        cdef intp_t n = X.shape[0]
        cdef intp_t i, j, f
        cdef bint sound = (
            X.shape[1] == self.policy.n_features and y.shape[0] == n
            and (weight is None or weight.shape[0] == n)
        )
        if sound:
            with nogil:
                for i in range(n):
                    sound = sound and y[i] < self.policy.n_classes
                for j in range(self.policy.n_nominal):
                    f = self.policy.nominal[j]
                    for i in range(n):
                        sound = sound and (
                            self.splitter.tests.sets.has_room(X[i, f])
                            or X[i, f] == -1.0 and weight is not None
                            and weight[i] <= 0.0
                        )
        return require_fit(sound)

    # -- rows of the leaves ---------------------------------------------------------

    cdef open_pool(self, const uint8_t[::1] learnt=None):
        # Hand the rows of `X_pool` to the leaves that they reach, but for those that
        # have been learnt.
        cdef const float32_t[:, ::1] pool = self.source.pool
        cdef intp_t[::1] home
        cdef intp_t i, stopped_at
        if pool is None:
            return
        home = np.full(pool.shape[0], -1, dtype=np.intp)
        for i in range(pool.shape[0]):
            if learnt is None or not learnt[i]:
                home[i] = self._route_row(&pool[i, 0], False, &stopped_at)
        self.leaves.open_pool(home)

    cdef learnt_bits(self):
        # For a state: where the others lie, the tree says.
        waiting = self.unlabelled()
        return None if waiting is None else np.packbits(~waiting).tobytes()

    cdef take_pool(self, bits):
        # Hand out the rows as a state says.
        cdef const float32_t[:, ::1] pool = self.source.pool
        if (pool is None) != (bits is None):
            raise damaged("growing tree")
        if pool is None:
            return
        learnt = np.unpackbits(np.frombuffer(bits, dtype=np.uint8))
        n = pool.shape[0]
        if len(learnt) != n + -n % 8 or learnt[n:].any():
            raise damaged("growing tree")
        self.open_pool(learnt)

    def fresh_counts(self):
        """Weight of the rows of each class since each leaf was made; 0 at inner nodes.
        """
        cdef intp_t node, c
        counts = np.zeros((self.tree.node_count, self.policy.n_classes))
        cdef float64_t[:, ::1] out = counts
        for node in range(self.tree.node_count):
            if self.leaves.at[node] != NULL:
                for c in range(self.policy.n_classes):
                    out[node, c] = self.leaves.at[node].fresh[c]
        return counts

    def unlabelled(self):
        """Which rows of `X_pool` have not been learnt, as a mask; None without one."""
        cdef const Leaf* leaf
        cdef intp_t node, i
        cdef uint8_t[::1] found
        if self.source.pool is None:
            return None
        mask = np.zeros(self.source.pool.shape[0], dtype=np.bool_)
        found = mask.view(np.uint8)
        for node in range(self.tree.node_count):
            leaf = self.leaves.at[node]
            if leaf != NULL:
                for i in range(leaf.n_pool):
                    found[leaf.pool[i]] = True
        return mask

    def are_unlabelled(self, const int32_t[::1] rows not None):
        """Which of some rows of `X_pool` have not been learnt, as a mask."""
        cdef intp_t i, stopped_at, node
        mask = np.zeros(rows.shape[0], dtype=np.bool_)
        for i in range(rows.shape[0]):
            node = self._route_row(&self.source.pool[rows[i], 0], False, &stopped_at)
            mask[i] = place_in_pool(self.leaves.at[node], rows[i]) >= 0
        return mask

    def leave_out(self, const int32_t[::1] rows not None):
        """Take rows out of `X_pool` that have been learnt elsewhere."""
        cdef Leaf* leaf
        cdef intp_t i, stopped_at
        for i in range(rows.shape[0]):
            leaf = self.leaves.at[
                self._route_row(&self.source.pool[rows[i], 0], False, &stopped_at)
            ]
            leave_pool(
                leaf, self.policy, self.source.pool, place_in_pool(leaf, rows[i])
            )


cdef int require_fit(bint fits) except -1:
    if not fits:
        raise ValueError(
            "Rows do not fit the growing tree: the estimator's attributes have been "
            "changed."
        )
    return 0
