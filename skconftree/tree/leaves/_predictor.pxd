# LeafPredictor: what a growing leaf predicts, and which of its models it trusts.
#
# A leaf has up to four models: its class frequencies, naive Bayes over all it
# holds (what it took over from its parent included), naive Bayes over its own rows
# alone, and the frequencies of its latest rows. In `hits` it keeps how much weight of
# late rows each would have predicted; it trusts the best. So a young leaf goes on
# predicting with its parent's model until its own is better, and a leaf that has
# seen the concept change can leave behind what it knew.
#
# Naive Bayes is far too sure where features depend on each other. Its probabilities are
# raised to the power, the same in all leaves of a tree, that would have given late rows
# the smallest log loss, and those of every model get one pseudo-row, spread evenly over
# the classes. Neither changes which class is the most probable. Leaves that predict by
# their frequencies alone have neither, nor have the trees of a forest: their votes are
# better as sure as they are.

cimport cython

from skconftree.tree.leaves._contract cimport Leaf, Policy
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t, label_t

cdef enum Prediction:
    BY_MAJORITY
    BY_BAYES        # whichever naive Bayes has predicted more
    BY_BETTER       # whichever model has

cdef enum Model:    # places in Leaf.hits
    MAJORITY
    HELD
    OWN
    RECENT
    N_MODELS

cdef enum:
    N_POWERS = 5    # 1, 1/2, 1/4, ...
    JUDGED = 4      # they are judged by one of so many rows of a leaf: that is slow


cdef struct Scratch:            # of one caller, all of it behind `precision`
    float32_t* row              # [n_features] the row as its leaf sees it
    int32_t* places             # [n_features] its bins
    float32_t* past_row         # [n_features] the same for Leaf.past
    int32_t* past_positions
    int32_t* telling            # [n_features] what tells classes apart, by moments
    float64_t* scores           # [n_classes]
    float64_t* products         # [n_classes]
    float64_t* inverse          # [n_classes]
    float64_t* precision        # [n_features] of those


cdef int make_scratch(
    Arena arena, Scratch* scratch, intp_t n_features, intp_t n_classes
) except -1


@cython.final
cdef class LeafPredictor:
    cdef Arena arena
    cdef const Policy* policy
    cdef Prediction prediction
    cdef bint judging                   # keeps hits
    cdef bint calibrates                # learns how sure it may be
    cdef const float64_t[::1] _class_weight
    cdef const float64_t* class_weight  # [n_classes] or NULL
    cdef float64_t* log_weight          # [n_classes] its logarithm
    cdef Scratch scratch                # of the rows that are learnt
    cdef intp_t guess[4]                # of each model for the last row; -1 = none
    cdef float64_t basis                # weight behind its trusted naive Bayes, or 0
    cdef float64_t* gaps                # [n_classes] whose scores less their largest
    cdef float64_t losses[N_POWERS]     # of late rows, with each power of naive Bayes
    cdef float64_t power                # with the least

    cdef const float32_t* locate(
        self, const Leaf* leaf, const float32_t* x, Scratch* scratch
    ) noexcept nogil
    cdef intp_t predict_before(
        self, Tree tree, const Leaf* leaf, const float32_t* x, const float32_t* row,
        bint tells, float64_t* proba,
    ) noexcept nogil
    cdef void judge(self, Leaf* leaf, label_t y, float64_t weight) noexcept nogil
    cdef void pass_on(self, const Leaf* parent, Leaf* child) noexcept nogil
    cdef void fill_proba(
        self, Tree tree, const Leaf* leaf, const float32_t* x, Scratch* scratch,
        float64_t* out,
    ) noexcept nogil
    cdef void choose_power(self) noexcept nogil
    cdef void trade(self, LeafPredictor other) noexcept nogil
    cdef const float64_t* _counts(
        self, Tree tree, intp_t node, Scratch* scratch
    ) noexcept nogil
    cdef intp_t _score(
        self, const Leaf* leaf, Model model, const float32_t* x, const float32_t* row,
        Scratch* scratch,
    ) noexcept nogil
