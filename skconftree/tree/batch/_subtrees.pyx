"""What lies below the smaller nodes of a tree, grown by many threads."""

from libc.string cimport memcpy

from skconftree.tree.batch._lookahead cimport LookaheadBuilder
from skconftree.utils._typedefs cimport int16_t

cdef enum:
    # Of the rows of a root; a node of more than one is large. They are larger where
    # columns are not worth sharing.
    PARTS_A_WORKER = 8
    LARGER_PARTS_A_WORKER = 2
    FIRST_ROOM = 512        # nodes


cdef class Subtrees(Helpers):
    """Lets workers grow what lies below the smaller nodes, each with its builder.

    Nodes of fewer values than are `worth_setting_aside` are grown at once. Without
    builders workers only scan and divide the columns of large nodes. Look-ahead needs two
    of these: another one for the trials.
    """

    def __init__(
        self, Workers workers not None, list builders not None,
        intp_t worth_setting_aside,
    ):
        self.workers = workers
        self.worth_setting_aside = worth_setting_aside
        self.builders = builders
        self.sets_aside = len(builders) > 0
        self.arena = Arena()

    cdef int check(self) except -1 nogil:
        return self.workers.check()

    cdef bint take(self, Builder builder, const Candidate* candidate) except -1 nogil:
        cdef intp_t n = candidate.record.end - candidate.record.start
        cdef intp_t n_parts = LARGER_PARTS_A_WORKER
        if self.workers.are_worth_it(&candidate.record):
            n_parts = PARTS_A_WORKER
        if (
            not self.sets_aside
            or n * n_parts * self.workers.n_workers > builder.n_root
            or n * candidate.record.n_features < self.worth_setting_aside
        ):
            return False
        if self.n_leaves == self.room:
            self.room = 2 * self.room + 16
            self.leaves = <Candidate*> self.arena.resize(
                self.leaves, self.room, sizeof(Candidate)
            )
        self.leaves[self.n_leaves] = candidate[0]
        self.n_leaves += 1
        return True

    cdef int finish(self, Builder builder) except -1 nogil:
        if self.n_leaves > 0:
            with gil:
                self._grow_all(builder)
        return 0

    cdef int _grow_all(self, Builder builder) except -1:
        cdef LookaheadBuilder one, other
        cdef intp_t i
        if isinstance(builder, LookaheadBuilder):
            one = builder
            for other in self.builders:     # it may have been told that it is enough
                other.first = one.first
                other.end = one.end
        self.top = builder.tree
        self.trees = [None] * self.n_leaves
        # the largest first, so that all end at about the same time
        self.order = sorted(range(self.n_leaves), key=self._rows_of, reverse=True)
        self.workers.team.run(self._grow, self.n_leaves)
        builder.tree = joined(
            self.top,
            {self.leaves[i].record.id: self.trees[i] for i in range(self.n_leaves)},
        )
        for i in range(self.n_leaves):
            builder._release(&self.leaves[i])
        self.n_leaves = 0
        self.top = None
        self.trees = None
        return 0

    def _rows_of(self, intp_t leaf):
        return self.leaves[leaf].record.end - self.leaves[leaf].record.start

    def _grow(self, intp_t worker, intp_t part):
        cdef intp_t leaf = self.order[part]
        cdef Builder builder = self.builders[worker]
        cdef Tree before = builder.tree     # that trials are grown in
        cdef Tree tree = like(self.top, min(self._rows_of(leaf) // 4, FIRST_ROOM))
        cdef const Candidate* root = &self.leaves[leaf]
        builder.tree = tree
        with nogil:
            builder.grow_below(root, self.top)
        builder.tree = before
        self.trees[leaf] = tree


cdef Tree like(Tree tree, intp_t capacity):
    # One without nodes that keeps the same of each.
    cdef Tree made = type(tree)(*tree._arguments())
    made.reserve(capacity)
    return made


cdef Tree joined(Tree top, dict below):
    # Nodes get their numbers as their parents split, parents before their children and
    # the first child first.
    cdef Arena arena = Arena()
    cdef int32_t* places = <int32_t*> arena.take(top.node_count, sizeof(int32_t))
    cdef int32_t* splits = <int32_t*> arena.take(top.node_count, sizeof(int32_t))
    cdef intp_t n_nodes = top.node_count
    cdef intp_t node, i, child
    cdef Tree tree, whole
    for tree in below.values():
        n_nodes += tree.node_count
    whole = like(top, n_nodes)
    _number_splits(top, splits)
    add_node(whole, -1, top, 0)
    places[0] = 0
    node = 0
    while node >= 0:
        if top.n_children[node] > 0:
            copy_test(whole, places[node], top, node, splits[node])
            for i in range(top.n_children[node]):
                child = top.first_child[node] + i
                places[child] = <int32_t> add_node(whole, places[node], top, child)
        elif node in below:
            append(whole, places[node], below[node])
        node = top.next_below(0, node)
    return whole


cdef void _number_splits(Tree tree, int32_t* splits) noexcept nogil:
    # In the order of their first children.
    cdef int32_t n = 0
    cdef intp_t node, parent
    for node in range(1, tree.node_count):
        parent = tree.parent[node]
        if tree.first_child[parent] == node:
            splits[parent] = n
            n += 1


cdef int append(Tree whole, intp_t place, Tree tree) except -1:
    cdef intp_t moved = whole.node_count - 1
    cdef intp_t split = 0
    cdef intp_t node, parent, above
    for node in range(1, tree.node_count):
        parent = tree.parent[node]
        above = place if parent == 0 else parent + moved
        if tree.first_child[parent] == node:
            copy_test(whole, above, tree, parent, split)
            split += 1
        add_node(whole, above, tree, node)
    return 0


cdef intp_t add_node(Tree whole, intp_t parent, Tree tree, intp_t node) noexcept:
    cdef intp_t added = whole.add_leaf(
        parent, tree.counts + node * tree.n_classes, tree.n_node_samples[node],
        tree.impurity[node],
    )
    if parent < 0:
        whole.depth[added] = tree.depth[node]
    return added


cdef int copy_test(
    Tree whole, intp_t place, Tree tree, intp_t node, intp_t split
) except -1:
    # The children are added next.
    cdef intp_t first = tree.branching[node].first
    cdef intp_t n_codes = tree.branching[node].n_codes
    tree._copy_split(whole, split)
    whole.nodes[place] = tree.nodes[node]
    whole.nodes[place].left = <int32_t> whole.node_count
    whole.branching[place] = tree.branching[node]
    if first >= 0:
        whole.reserve_ordinals(whole.n_ordinals + n_codes)
        whole.branching[place].first = <int32_t> whole.n_ordinals
        memcpy(
            whole.ordinals + whole.n_ordinals, tree.ordinals + first,
            n_codes * sizeof(int16_t),
        )
        whole.n_ordinals += n_codes
    return 0
