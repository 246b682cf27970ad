"""Bounds of nodes by monotonicity constraints, and isotonic regression."""

import numpy as np
from libc.math cimport INFINITY

from skconftree.utils._typedefs cimport float64_t, int32_t, intp_t


def bounds_of_nodes(
    const int32_t[::1] parent not None, const intp_t[::1] sign not None,
    const float64_t[:] value not None,
):
    """Lower and upper bounds of the probability of the second class in each node.

    A split with a `sign` sets a bound halfway between the values of its two children,
    within the bounds of its node. Growth computes the same bounds, which differ only if
    pruning has moved rows.
    """
    cdef intp_t node, above, left
    cdef float64_t middle
    bounds = np.empty((2, parent.shape[0]))
    cdef float64_t[:, ::1] bound = bounds
    bound[0, 0] = -INFINITY
    bound[1, 0] = INFINITY
    # children have larger ids than their parent, and siblings are adjacent
    for node in range(1, parent.shape[0]):
        above = parent[node]
        bound[0, node] = bound[0, above]
        bound[1, node] = bound[1, above]
        if sign[above] != 0:
            left = node - (parent[node - 1] == above)
            middle = 0.5 * (value[left] + value[left + 1])
            middle = min(max(middle, bound[0, above]), bound[1, above])
            # the upper child gets a lower bound
            bound[0 if (node > left) == (sign[above] > 0) else 1, node] = middle
    return bounds


# The isotonic recursive partitioning of Luss, Rosset and Shahar (2012). A group of values is
# divided into a lower and an upper group, until all values of a group should be its mean.
# An upper group may be any set that contains, with each value, all values of the group that
# must not be smaller. Among these sets, the one with the largest sum of the excesses
# weight * (target - mean) is selected. It is found as a minimum cut: values of positive excess
# are sources of a flow, values of negative excess are sinks, and each pair is an edge of
# infinite capacity from its lower to its upper value. After a maximum flow, the upper group
# consists of the values that can be reached from sources with remaining excess. The maximum
# flow is computed by Dinic's algorithm: blocking flows along shortest paths.

cdef float64_t TOLERANCE = 1e-12    # of the remaining excess, relative to the positive sum


def isotonic_regression(target, weight, first, second):
    """Minimize the weighted sum of squares so that no first value is above the second.

    The pairs must define a partial order, and the weights be above 0.
    """
    regression = _Regression(target, weight, first, second)
    regression.solve()
    return np.asarray(regression.value)


cdef class _Regression:
    cdef const float64_t[::1] target
    cdef const float64_t[::1] weight
    cdef intp_t[:, ::1] ends        # [2, n_pairs] the lower and the upper value of each pair
    cdef intp_t[:, ::1] start       # [2, n + 1] in `pairs`, of the pairs in which each value is
                                    # the lower one, and in which it is the upper one
    cdef intp_t[:, ::1] pairs       # [2, n_pairs] indices of pairs, sorted by that value
    cdef intp_t[::1] members        # [n] indices of the values, group by group
    cdef intp_t[::1] group          # [n] of each value
    cdef intp_t[::1] level          # [n] length of the shortest path to it, -1 = none
    cdef intp_t[::1] arc            # [n] the next edge to try
    cdef intp_t[::1] queue          # [n + 1] values of a search or of a path
    cdef intp_t[::1] via            # [n + 1] pair of each edge of a path; ~pair: reverse edge
    cdef float64_t[::1] excess      # [n] remaining; negative at a sink
    cdef float64_t[::1] flow        # [n_pairs]
    cdef readonly float64_t[::1] value
    cdef float64_t min_excess       # a smaller excess of a source is ignored

    def __init__(self, target, weight, first, second):
        n, m = len(target), len(first)
        self.target = target
        self.weight = weight
        ends = np.ascontiguousarray([first, second], dtype=np.intp)
        self.ends = ends
        self.pairs = np.argsort(ends, axis=1, kind="stable")
        start = np.zeros((2, n + 1), dtype=np.intp)
        for row, of_side in zip(start, ends):
            row[1:] = np.cumsum(np.bincount(of_side, minlength=n))
        self.start = start
        self.members = np.arange(n)
        self.group, self.level, self.arc = np.zeros((3, n), dtype=np.intp)
        self.queue, self.via = np.zeros((2, n + 1), dtype=np.intp)
        self.excess = np.zeros(n)
        self.flow = np.zeros(m)
        self.value = np.array(target, dtype=np.float64)

    def solve(self):
        """Set the values."""
        cdef intp_t n = self.target.shape[0], n_groups = 1, begin, end, middle, i
        cdef bint changed = True
        stack = [(0, n)]
        while stack:
            begin, end = stack.pop()
            if self._is_in_order(begin, end):
                continue
            middle = self._divide(begin, end)
            if middle < end:
                for i in range(middle, end):
                    self.group[self.members[i]] = n_groups
                n_groups += 1
                stack += [(begin, middle), (middle, end)]
        while changed:      # rounding errors may have changed the order
            changed = False
            for i in range(self.ends.shape[1]):
                if self.value[self.ends[0, i]] > self.value[self.ends[1, i]]:
                    self.value[self.ends[1, i]] = self.value[self.ends[0, i]]
                    changed = True

    cdef bint _is_in_order(self, intp_t begin, intp_t end) noexcept nogil:
        cdef intp_t i, k, node, above
        for i in range(begin, end):
            node = self.members[i]
            for k in range(self.start[0, node], self.start[0, node + 1]):
                above = self.ends[1, self.pairs[0, k]]
                if self.group[above] == self.group[node]:
                    if self.target[node] > self.target[above]:
                        return False
        return True

    cdef intp_t _divide(self, intp_t begin, intp_t end) noexcept nogil:
        # Move the upper group to the end of the range; return where it begins. If the
        # group is not divided, set its values to the mean and return `end`.
        cdef float64_t total = 0.0, mean = 0.0
        cdef intp_t i, k, node, middle = end
        for i in range(begin, end):
            node = self.members[i]
            total += self.weight[node]
            mean += self.weight[node] * self.target[node]
        mean /= total
        total = 0.0
        for i in range(begin, end):
            node = self.members[i]
            self.excess[node] = self.weight[node] * (self.target[node] - mean)
            total += max(self.excess[node], 0.0)
            for k in range(self.start[0, node], self.start[0, node + 1]):
                self.flow[self.pairs[0, k]] = 0.0
        self.min_excess = TOLERANCE * total
        while self._find_levels(begin, end):
            self._push(begin, end)
        i = begin
        while i < middle:
            node = self.members[i]
            if self.level[node] >= 0:
                middle -= 1
                self.members[i] = self.members[middle]
                self.members[middle] = node
            else:
                i += 1
        if middle == begin:     # a rounding error
            middle = end
        if middle == end:
            for i in range(begin, end):
                self.value[self.members[i]] = mean
        return middle

    cdef intp_t _edge(self, intp_t node, intp_t arc, intp_t* pair) noexcept nogil:
        # The value at the other end of an edge of the residual graph; -1 if the edge has
        # no capacity or leaves the group, -2 after the last edge.
        cdef intp_t n_out = self.start[0, node + 1] - self.start[0, node]
        cdef intp_t other
        if arc < n_out:
            pair[0] = self.pairs[0, self.start[0, node] + arc]
            other = self.ends[1, pair[0]]
        else:
            arc += self.start[1, node] - n_out
            if arc >= self.start[1, node + 1]:
                return -2
            pair[0] = ~self.pairs[1, arc]
            if not self.flow[~pair[0]] > 0.0:
                return -1
            other = self.ends[0, ~pair[0]]
        return other if self.group[other] == self.group[node] else -1

    cdef bint _find_levels(self, intp_t begin, intp_t end) noexcept nogil:
        # Breadth-first search from the sources. Returns whether it reaches a sink.
        cdef intp_t size = 0, head = 0, arc, i, node, other, pair
        cdef bint found = False
        for i in range(begin, end):
            node = self.members[i]
            self.level[node] = -1
            self.arc[node] = 0
            if self.excess[node] > self.min_excess:
                self.level[node] = 0
                self.queue[size] = node
                size += 1
        while head < size:
            node = self.queue[head]
            head += 1
            found = found or self.excess[node] < 0.0
            arc = 0
            while True:
                other = self._edge(node, arc, &pair)
                arc += 1
                if other == -2:
                    break
                if other >= 0 and self.level[other] < 0:
                    self.level[other] = self.level[node] + 1
                    self.queue[size] = other
                    size += 1
        return found

    cdef void _push(self, intp_t begin, intp_t end) noexcept nogil:
        # Add a blocking flow: push the excess of each source along shortest paths.
        cdef intp_t i, k, node, other, pair, source, length
        cdef float64_t amount
        for i in range(begin, end):
            source = self.members[i]
            if not self.excess[source] > self.min_excess:
                continue
            length = 0
            self.queue[0] = source
            while length >= 0:
                node = self.queue[length]
                if self.excess[node] < 0.0:
                    amount = min(self.excess[source], -self.excess[node])
                    for k in range(length):
                        if self.via[k] < 0:
                            amount = min(amount, self.flow[~self.via[k]])
                    for k in range(length):
                        if self.via[k] < 0:
                            self.flow[~self.via[k]] -= amount
                        else:
                            self.flow[self.via[k]] += amount
                    self.excess[source] -= amount
                    self.excess[node] += amount
                    if not self.excess[source] > self.min_excess:
                        break
                    length = 0
                    continue
                while True:
                    other = self._edge(node, self.arc[node], &pair)
                    if other == -2 or (
                        other >= 0 and self.level[other] == self.level[node] + 1
                    ):
                        break
                    self.arc[node] += 1
                if other >= 0:
                    self.via[length] = pair
                    length += 1
                    self.queue[length] = other
                else:
                    length -= 1
                    if length >= 0:
                        self.arc[self.queue[length]] += 1
