"""What a growing tree notes of the rows at each of its nodes."""

from skconftree.utils._codec import damaged

import numpy as np


from libc.math cimport sqrt
from libc.string cimport memcpy, memset

from skconftree.utils._memory cimport give_all_back
from skconftree.utils._spare_memory cimport resize_array

cdef enum:
    LATE = 5000         # rows whose errors are the past of a node, at most
    LEAST = 100         # rows before it is compared
    REFRESH = 32        # rows between two looks at the past, a power of 2

cdef float64_t WARNING = 1000.0
cdef float64_t ERRORS = 2.5     # standard errors that are added to a share


cdef class Watches:
    """Watches of the nodes of a tree with so many classes."""

    def __init__(self, intp_t n_classes):
        self.n_classes = n_classes

    def __dealloc__(self):
        give_all_back(&self.blocks)

    cdef int reserve(self, intp_t n_nodes) except -1 nogil:
        cdef intp_t room = max(n_nodes, 2 * self.room)
        cdef intp_t K = self.n_classes
        if n_nodes <= self.room:
            return 0
        self.seen = <float64_t*> resize_array(
            &self.blocks, self.seen, room * K, sizeof(float64_t)
        )
        self.at = <Watch*> resize_array(&self.blocks, self.at, room, sizeof(Watch))
        memset(
            self.seen + self.room * K, 0, (room - self.room) * K * sizeof(float64_t)
        )
        memset(self.at + self.room, 0, (room - self.room) * sizeof(Watch))
        self.room = room
        return 0

    cdef intp_t follow(
        self, const int32_t* parent, intp_t leaf, bint wrong, label_t y,
        float64_t weight, uint64_t* path,
    ) noexcept nogil:
        # Note a row at the nodes above a leaf, and there; returns the uppermost node
        # whose errors seem to rise, unless a tree grows beside one above it, or -1.
        # `path` becomes a mask of the slots of those trees that are to learn the row.
        cdef intp_t node = leaf
        cdef intp_t warned = -1
        cdef Watch* watch
        path[0] = 0
        while node >= 0:
            watch = &self.at[node]
            self.seen[node * self.n_classes + y] += weight
            if watch.n_rows & (REFRESH - 1) == 0:
                _refresh(watch)
            watch.n_rows += 1
            watch.n += 1.0
            watch.n_wrong += wrong
            watch.wealth = max(watch.wealth, 1.0) * (
                watch.if_wrong if wrong else watch.if_right
            )
            if watch.slot > 0:
                path[0] |= <uint64_t> 1 << (watch.slot - 1)
                warned = -1
            if watch.wealth >= WARNING and watch.n_rows >= max(watch.rest, <int64_t> LEAST):
                warned = node
            node = parent[node]
        return warned

    cdef void start(self, intp_t node) noexcept nogil:
        # Another subtree is there: the past of the one before is forgotten.
        cdef Watch* watch = &self.at[node]
        watch.n = 0.0
        watch.n_wrong = 0.0
        watch.n_rows = 0
        watch.rest = 0
        watch.wealth = 1.0

    cdef intp_t node_bytes(self) noexcept nogil:
        return sizeof(Watch) + self.n_classes * sizeof(float64_t)

    # -- state --------------------------------------------------------------------

    def write(self, intp_t n_nodes):
        """Watches of the nodes that there are, as bytes."""
        cdef intp_t of_node = self.n_classes * sizeof(float64_t)
        cdef intp_t n = min(self.room, n_nodes)
        at, seen = b"", b""
        if n > 0:
            at = bytes(
                <const unsigned char[:n * sizeof(Watch)]> <unsigned char*> self.at
            )
            seen = bytes(<const unsigned char[:n * of_node]> <unsigned char*> self.seen)
        # the nodes that have met no row yet, as `reserve` makes them
        return at + bytes((n_nodes - n) * sizeof(Watch)), seen + bytes((n_nodes - n) * of_node)

    def read(self, state, intp_t n_nodes):
        """Take what `write` has written, which is not believed."""
        cdef intp_t K = self.n_classes
        if not (
            isinstance(state, tuple) and len(state) == 2
            and isinstance(state[0], bytes) and isinstance(state[1], bytes)
            and len(state[0]) % sizeof(Watch) == 0
        ):
            raise damaged("growing tree")
        cdef bytes watches = state[0]
        cdef bytes seen = state[1]
        cdef intp_t n = len(watches) // sizeof(Watch)
        if n > n_nodes or len(seen) != n * K * sizeof(float64_t):
            raise damaged("growing tree")
        # of each node, fields of 8 bytes; a tree that was fitted has watched none yet
        counts = np.frombuffer(watches, np.int64).reshape(n, sizeof(Watch) // 8)
        if not bool(((counts[:, 5:] >= 0) & (counts[:, 5:] < 2**62)).all()):
            raise damaged("growing tree")
        self.reserve(n_nodes)
        if n > 0:
            memcpy(self.at, <const char*> watches, n * sizeof(Watch))
            memcpy(self.seen, <const char*> seen, n * K * sizeof(float64_t))

    def n_slots(self):
        """Nodes beside which a tree grows."""
        cdef intp_t node
        cdef intp_t n = 0
        for node in range(self.room):
            n += self.at[node].slot > 0
        return n

    def counts(self, intp_t n_nodes):
        """Class counts of the rows at each node since it was made."""
        cdef intp_t n = min(self.room, n_nodes)
        found = np.zeros((n_nodes, self.n_classes))
        cdef float64_t[:, ::1] out = found
        if n > 0:
            memcpy(&out[0, 0], self.seen, n * self.n_classes * sizeof(float64_t))
        return found


cdef void _refresh(Watch* watch) noexcept nogil:
    # What the past of a node says of its next rows; of a long one the latest count.
    cdef float64_t scale, share, more
    if watch.n > LATE:
        scale = LATE / watch.n
        watch.n *= scale
        watch.n_wrong *= scale
    share = (watch.n_wrong + 0.5) / (watch.n + 1.0)
    more = share + 0.1 * sqrt(share * (1.0 - share)) + 0.01
    more = min(more, 0.5 * (1.0 + share))
    watch.if_wrong = more / share
    watch.if_right = (1.0 - more) / (1.0 - share)


cdef float64_t usual_share(const Watch* watch) noexcept nogil:
    cdef float64_t share = (watch.n_wrong + 0.5) / (watch.n + 1.0)
    return min(share + ERRORS * sqrt(share * (1.0 - share) / (watch.n + 1.0)), 0.9)
