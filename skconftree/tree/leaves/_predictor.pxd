# LeafPredictor: predictions of growing leaves (those of an incrementally trained tree), and
# selection among their models.
#
# A leaf has up to four models: its class frequencies, naive Bayes over all its rows
# (including those inherited from its parent), naive Bayes over the rows since its
# creation, and the frequencies of its latest rows. `hits` is the decayed weight of the
# rows that each model predicted correctly, and the best model is used. A new leaf
# therefore predicts with its parent's model until its own is better, and after a
# concept drift a leaf stops using outdated statistics. A policy has the settings that the
# leaves share (_contract.pxd).
#
# Naive Bayes is overconfident if features depend on each other. Its probabilities are
# raised to a power, the same in all leaves of a tree: the one with the smallest log loss
# on past rows. The probabilities of every model are then smoothed by one pseudo-row, spread
# evenly over the classes (additive smoothing). Neither changes the most probable class.
# Leaves that predict only by their frequencies skip both. The trees of a forest do, too,
# because overconfident votes are more accurate.

cimport cython

from skconftree.tree.leaves._contract cimport Leaf, Policy
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t, label_t

cdef enum Prediction:
    BY_MAJORITY
    BY_BAYES        # the naive Bayes model with more hits
    BY_BETTER       # the model with the most hits

cdef enum Model:    # indices in Leaf.hits
    MAJORITY
    ALL_ROWS
    OWN_ROWS        # rows since the creation of the leaf
    RECENT
    N_MODELS

cdef enum:
    N_POWERS = 5    # 1, 1/2, 1/4, ...
    LOSS_INTERVAL = 4  # one of so many rows of a leaf updates the losses, which is slow


cdef struct Scratch:            # of one thread; one allocation, which starts at `precision`
    float32_t* row              # [n_features] features that the leaf uses
    int32_t* bin_indices        # [n_features] its bins
    float32_t* inherited_row    # [n_features] the same for Leaf.inherited_model
    int32_t* inherited_bin_indices
    int32_t* informative        # [n_features] numeric features that vary among the leaf's
                                # rows and have a value in the current row
    float64_t* scores           # [n_classes] log scores of naive Bayes
    float64_t* products         # [n_classes] of factors of naive Bayes; also scratch
    float64_t* inverse          # [n_classes] 1 / (weight of the class + 1)
    float64_t* precision        # [n_features] of the informative features


cdef int make_scratch(Arena arena, Scratch* scratch, intp_t n_features, intp_t n_classes) except -1


@cython.final
cdef class LeafPredictor:
    cdef Arena arena
    cdef const Policy* policy
    cdef Prediction prediction
    cdef bint counts_hits               # updates hits: leaves may predict by naive Bayes
    cdef bint calibrates                # updates the power, and smooths probabilities
    cdef const float64_t[::1] _class_weight
    cdef const float64_t* class_weight  # [n_classes] or NULL
    cdef float64_t* log_weight          # [n_classes] its logarithm
    cdef Scratch scratch                # for learned rows
    cdef intp_t predicted[4]            # class of each model for the last row; -1: none
    cdef float64_t score_weight         # training weight of the leaf's best Bayes model, or 0
    cdef float64_t* score_gaps          # [n_classes] that model's scores minus the largest
    cdef float64_t losses[N_POWERS]     # past log loss of naive Bayes with each power
    cdef float64_t power                # with the smallest loss

    # The values of a row x of the features that the leaf uses. Their bins are stored in `scratch`.
    cdef const float32_t* locate(
        self, const Leaf* leaf, const float32_t* x, Scratch* scratch
    ) noexcept nogil
    # Predict a row before it is learned. `row` is the result of locate(). Returns the class if
    # `returns_class`; `proba` is filled with the class probabilities unless it is NULL.
    cdef intp_t predict_before(
        self, Tree tree, const Leaf* leaf, const float32_t* x, const float32_t* row,
        bint returns_class, float64_t* proba,
    ) noexcept nogil
    # Update the hits with the true class of the row that was predicted last.
    cdef void update_hits(self, Leaf* leaf, label_t y, float64_t weight) noexcept nogil
    cdef void inherit_hits(self, const Leaf* parent, Leaf* child) noexcept nogil
    # Write the class probabilities of a row that is not learned to `out`.
    cdef void fill_proba(
        self, Tree tree, const Leaf* leaf, const float32_t* x, Scratch* scratch, float64_t* out,
    ) noexcept nogil
    cdef void choose_power(self) noexcept nogil     # the one with the smallest loss
    cdef void swap(self, LeafPredictor other) noexcept nogil    # swap the losses
    # Class counts of an internal node.
    cdef const float64_t* _counts(self, Tree tree, intp_t node, Scratch* scratch) noexcept nogil
    # Compute the log scores of a naive Bayes model; returns the best class, -1 without a model.
    cdef intp_t _score(
        self, const Leaf* leaf, Model model, const float32_t* x, const float32_t* row,
        Scratch* scratch,
    ) noexcept nogil
