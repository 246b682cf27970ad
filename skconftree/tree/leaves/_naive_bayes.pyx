"""Naive Bayes predictions of a leaf."""

from libc.math cimport INFINITY, fabs, log

from skconftree.tree.leaves._moments cimport (
    HIGH, LOW, MEAN, SQUARES, takes_two_values, weight_known,
)
from skconftree.utils._inline cimport prefetch

cdef enum:      # factors whose product stays within a float, for leaves of 1e9 rows
    BINS_OF_A_LOG = 20
    VARIANCES_OF_A_LOG = 14

# What no leaf that has grown comes near, so that a damaged one divides by no zero.
cdef float64_t LEAST_SHARE = 1e-16      # below the rounding of 1
cdef float64_t LEAST_SQUARE = 1e-300    # of a weight


cdef inline float64_t _at_least(float64_t least, float64_t value) noexcept nogil:
    # fmax of libm is a call, for which a loop has to give up its registers.
    return value if value > least else least


cdef int make_scratch(
    Arena arena, Scratch* scratch, intp_t n_features, intp_t n_classes
) except -1:
    # In one piece, so that it is near.
    cdef intp_t n = n_features + 3 * n_classes
    scratch.precision = <float64_t*> arena.take(
        n * sizeof(float64_t)
        + n_features * (3 * sizeof(int32_t) + 2 * sizeof(float32_t)), 1
    )
    scratch.scores = scratch.precision + n_features
    scratch.products = scratch.scores + n_classes
    scratch.inverse = scratch.products + n_classes
    scratch.places = <int32_t*> (scratch.precision + n)
    scratch.past_places = scratch.places + n_features
    scratch.telling = scratch.past_places + n_features
    scratch.row = <float32_t*> (scratch.telling + n_features)
    scratch.past_row = scratch.row + n_features
    return 0


cdef class NaiveBayes:
    """Scores the classes of a row from a leaf's memory.

    Each class starts with one pseudo-row: spread evenly over the bins of a feature, or
    with the variance the feature has over all classes. So a value that a class has not
    shown yet does not rule it out, and a feature without variance is no trouble.
    Moments of a feature that has taken two values only are as good as their counts: it
    is no normal distribution then. A missing value is a bin of its own in a histogram
    and says nothing otherwise.
    """

    def __cinit__(self, intp_t n_features, intp_t n_classes):
        self.n_features = n_features
        self.n_classes = n_classes

    cdef bint score(
        self, const Leaf* leaf, bint own, const float32_t* x, Scratch* scratch
    ) noexcept nogil:
        # Scores of all classes from all a leaf holds or from its own rows alone,
        # -infinity for classes it has not seen. False if there is no such model. The
        # row is one that the leaf sees.
        cdef intp_t d = self.n_features
        cdef const int32_t* n_codes = self.n_codes
        cdef const float64_t* n = leaf.held
        cdef const float64_t* histogram = leaf.histogram
        cdef const Moments* moments = &leaf.moments
        cdef float64_t total = leaf.n_held
        cdef intp_t n_present = 0
        cdef intp_t c
        if own:
            n = leaf.fresh
            histogram = leaf.fresh_histogram
            moments = &leaf.fresh_moments
            total = leaf.n_fresh
        if not total > 0.0 or histogram == NULL and moments.blocks == NULL:
            return False
        if leaf.drawn != NULL:
            d = leaf.drawn.policy.n_features
            n_codes = leaf.drawn.policy.n_codes
        for c in range(self.n_classes):
            scratch.scores[c] = 0.0 if n[c] > 0.0 else -INFINITY
            n_present += n[c] > 0.0
        if n_present == 1:
            return True     # whatever the row
        if histogram != NULL:
            self._score_bins(&leaf.bins, d, histogram, n, scratch)
        if moments.blocks != NULL:
            self._score_moments(moments, d, n_codes, n, histogram == NULL, x, scratch)
        return True

    cdef void _score_bins(
        self, const Bins* bins, intp_t d, const float64_t* histogram,
        const float64_t* n, Scratch* scratch,
    ) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef const int32_t* places = scratch.places
        cdef float64_t* scores = scratch.scores
        cdef float64_t* products = scratch.products
        cdef float64_t* inverse = scratch.inverse
        cdef const float64_t* counts
        cdef float64_t spread
        cdef intp_t f, c, n_bins
        cdef intp_t in_group = 0
        for c in range(K):
            products[c] = n[c]      # the share of the class
            inverse[c] = 1.0 / (n[c] + 1.0)
        for f in range(d):
            if places[f] >= 0:
                prefetch(histogram + places[f] * K)
        if K == 2:
            self._score_bins_of_two(bins, d, histogram, scratch)
            return
        for f in range(d):
            n_bins = bins.first[f + 1] - bins.first[f]
            if n_bins == 1 or places[f] < 0:
                continue
            counts = histogram + places[f] * K
            spread = 1.0 / n_bins
            for c in range(K):
                products[c] *= (counts[c] + spread) * inverse[c]
            in_group += 1
            if in_group == BINS_OF_A_LOG:
                in_group = 0
                for c in range(K):
                    scores[c] += log(products[c])
                    products[c] = 1.0
        for c in range(K):
            scores[c] += log(products[c])

    cdef void _score_bins_of_two(
        self, const Bins* bins, intp_t d, const float64_t* histogram, Scratch* scratch
    ) noexcept nogil:
        # The same for two classes, whose products need not leave the processor.
        cdef const int32_t* places = scratch.places
        cdef const float64_t* counts
        cdef float64_t product = scratch.products[0]
        cdef float64_t other = scratch.products[1]
        cdef float64_t inverse = scratch.inverse[0]
        cdef float64_t inverse_of_other = scratch.inverse[1]
        cdef float64_t spread
        cdef intp_t f, n_bins
        cdef intp_t in_group = 0
        for f in range(d):
            n_bins = bins.first[f + 1] - bins.first[f]
            if n_bins == 1 or places[f] < 0:
                continue
            counts = histogram + places[f] * 2
            spread = 1.0 / n_bins
            product *= (counts[0] + spread) * inverse
            other *= (counts[1] + spread) * inverse_of_other
            in_group += 1
            if in_group == BINS_OF_A_LOG:
                in_group = 0
                scratch.scores[0] += log(product)
                scratch.scores[1] += log(other)
                product = 1.0
                other = 1.0
        scratch.scores[0] += log(product)
        scratch.scores[1] += log(other)

    cdef void _score_moments(
        self, const Moments* moments, intp_t d, const int32_t* n_codes,
        const float64_t* weights, bint alone, const float32_t* x, Scratch* scratch,
    ) noexcept nogil:
        # Variances are taken relative to those over all classes, which cancel.
        cdef float64_t* precision = scratch.precision
        cdef const int32_t* telling = scratch.telling
        cdef const float64_t* centre = moments.blocks[self.n_classes] + MEAN * d
        cdef intp_t n_telling = self._find_telling(moments, d, n_codes, x, scratch)
        cdef const float64_t* mean
        cdef const float64_t* squares
        cdef const float64_t* known
        cdef float64_t n, inverse, gap, ratio, product, distance, total
        cdef intp_t f, c, i, start
        for c in range(self.n_classes):
            if moments.blocks[c] == NULL or not weights[c] > 0.0:
                continue
            mean = moments.blocks[c] + MEAN * d
            squares = moments.blocks[c] + SQUARES * d
            n = moments.n[c]
            inverse = 1.0 / (n + 1.0)
            product = 1.0
            known = NULL if moments.known == NULL else moments.known[c]
            if alone:       # the share of the class
                product = 1.0 / _at_least(LEAST_SQUARE, weights[c] * weights[c])
            distance = 0.0
            total = 0.0
            start = 0
            while True:
                for i in range(start, min(start + VARIANCES_OF_A_LOG, n_telling)):
                    f = telling[i]
                    gap = x[f] - mean[f]
                    if known != NULL:
                        n = known[f]
                        inverse = 1.0 / (n + 1.0)
                        if not n > 0.0:
                            gap = x[f] - centre[f]      # the pseudo-row alone
                    if precision[i] > 0.0:
                        ratio = (squares[f] * precision[i] + 1.0) * inverse
                        distance += gap * gap * precision[i] / ratio
                    else:   # share of the other value, then of this one
                        if precision[i] != -1.0:    # as it is for zeros and ones
                            gap /= precision[i]
                        ratio = (n * fabs(gap) + 0.5) * inverse
                        ratio = _at_least(LEAST_SHARE, 1.0 - ratio)
                        ratio = 1.0 / (ratio * ratio)
                    product *= ratio
                start += VARIANCES_OF_A_LOG
                if start > n_telling:
                    break
                total += log(product)
                product = 1.0
            scratch.scores[c] -= 0.5 * (distance + total + log(product))

    cdef intp_t _find_telling(
        self, const Moments* moments, intp_t d, const int32_t* n_codes,
        const float32_t* x, Scratch* scratch,
    ) noexcept nogil:
        # The numeric features that vary and that the row has a value of, and their
        # precisions; one below 0 is that of a feature of two values: minus its range.
        cdef const float64_t* together = moments.blocks[self.n_classes]
        cdef const float64_t* squares = together + SQUARES * d
        cdef const float64_t* low = together + LOW * d
        cdef const float64_t* high = together + HIGH * d
        cdef float64_t n = moments.n[self.n_classes]
        cdef float64_t precision
        cdef intp_t n_telling = 0
        cdef intp_t f
        for f in range(d):
            if not squares[f] > 0.0 or n_codes != NULL and n_codes[f] >= 0:
                continue
            if moments.known != NULL:
                n = weight_known(moments, self.n_classes, f)
            if (x[f] == low[f] or x[f] == high[f]) and takes_two_values(
                together, n, d, f
            ):
                precision = low[f] - high[f]
            else:
                precision = n / squares[f] if x[f] == x[f] else 0.0
            scratch.precision[n_telling] = precision
            scratch.telling[n_telling] = <int32_t> f
            n_telling += precision != 0.0
        return n_telling
