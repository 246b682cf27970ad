"""Whether a bound would refuse any test of a node."""

from libc.math cimport INFINITY

from skconftree.criteria._criterion import Entropy, Gini

from skconftree.criteria._criterion cimport GAIN_ERROR
from skconftree.utils._lanes cimport LANES

cdef enum:
    MOST_CLASSES = 256      # whose rough values add up within GAIN_ERROR

cdef float64_t LARGEST_GAIN = 0.5   # of two outcomes, whose own entropy is a bit at most
cdef float64_t ROUGH_SHARE = 0.001  # of the rows: a child that is larger by so much than
                                    # it must be is not dropped


cdef class Foresight:
    """Tells, for some nodes, that the bound would refuse whatever test is the best.

    It sees nothing unless the source knows rough counts, the bound waits by gain and
    all of them see the counts as they are. Other tests than those of the source, such
    as random ones, and of more than two outcomes are not foreseen.
    """

    def __init__(
        self, Source source not None, Criterion criterion not None, Bound bound
    ):
        cdef intp_t K = source.node.n_classes
        cdef intp_t d = source.node.n_features
        self.source = source
        self.criterion = criterion
        self.bound = bound
        self.node = source.node
        self.is_entropy = type(criterion) is Entropy
        self.sees = (
            source.sketches and bound is not None and bound.waits_by_gain
            and type(criterion) in (Entropy, Gini) and K <= MOST_CLASSES
            and self.node.class_weight == NULL and not self.node.has_pool
            and not self.node.settings.multiway
        )
        self.arena = Arena()
        self.left = <float32_t*> self.arena.take_zeros(LANES * K, sizeof(float32_t))
        self.least = <float64_t*> self.arena.take_zeros(d, sizeof(float64_t))
        self.most = <float64_t*> self.arena.take_zeros(d, sizeof(float64_t))

    cdef bint must_wait(self, float64_t impurity, intp_t max_features) noexcept nogil:
        cdef float64_t gain = impurity
        cdef float64_t lead
        cdef intp_t j
        if self.is_entropy:
            gain = min(gain, LARGEST_GAIN)
        gain += GAIN_ERROR
        if not self.bound.may_accept(&self.node.facts, gain, gain):
            return True
        if self.bound.may_accept(&self.node.facts, 0.0, 0.0):
            return False    # a tie
        if self.node.record.n_features > max_features or not self._limit_gains(impurity):
            return False
        gain = -INFINITY
        for j in range(self.node.record.n_features):
            gain = max(gain, self.most[j])
        lead = self._largest_lead()
        return lead == lead and not self.bound.may_accept(&self.node.facts, gain, lead)

    cdef bint _limit_gains(self, float64_t impurity) noexcept nogil:
        # What the best test of each feature gains.
        cdef float64_t needed = (
            max(self.node.min_weight, self.node.min_seen_weight) / self.node.n
            + ROUGH_SHARE
        )
        cdef float32_t scores[LANES]
        cdef float32_t n_left[LANES]
        cdef float64_t least, most
        cdef intp_t j, b, n
        for j in range(self.node.record.n_features):
            n = self.source.sketch(self.node.record.features[j], self.left)
            if n < 0:
                return False
            self.criterion.rough_scores(self.left, n, scores, n_left)
            least = most = INFINITY
            for b in range(n):
                most = min(most, scores[b])
                if n_left[b] >= needed and 1.0 - n_left[b] >= needed:
                    least = min(least, scores[b])
            self.most[j] = impurity - most + GAIN_ERROR
            self.least[j] = impurity - least - GAIN_ERROR
        return True

    cdef float64_t _largest_lead(self) noexcept nogil:
        # Of any feature above all others, and no split.
        cdef intp_t n = self.node.record.n_features
        cdef float64_t first = 0.0      # the two largest of `least`
        cdef float64_t second = 0.0
        cdef float64_t lead = -INFINITY
        cdef intp_t holder = -1
        cdef intp_t j
        for j in range(n):
            if self.least[j] > first:
                second = first
                first = self.least[j]
                holder = j
            elif self.least[j] > second:
                second = self.least[j]
        for j in range(n):
            lead = max(lead, self.most[j] - (second if j == holder else first))
        return lead
