"""Reference implementations of all bounds, written for reading.

Shares no code with the compiled kernels; quantiles come from root searches and
SciPy's distributions rather than from the special functions the kernels call. A
bound is made for one criterion and number of classes. It is asked at one node
with ``node_stats`` (the fields of the compiled ``NodeStats``) and answers with
(split, evidence), evidence being a dictionary with fields of ``SplitEvidence``.

Each class has a ``kind``:

race      decide(node_stats, children, evidence); where `ranks_features`, attributes
          compete by rank(node_stats, children, number of tests of the attribute)
interval  limit(node_stats), cost(node_stats, counts, n, pool, r): it chooses the test;
          `per` is the fact by which both are divided in the evidence
evidence  log_evidence(node_stats, children), decide(node_stats, log_mean) -> (split,
          confidence): it may choose
"""

import functools
import itertools
import math

from scipy import optimize, special, stats

from .contingency import chi2_log_pvalue, chi2_pvalue, log_chi2_tail
from .criteria import edges, phi


def largest_phi(criterion, n_classes):
    return phi(criterion, [1.0] * n_classes)


# --- no bound ---------------------------------------------------------------


class NoBound:
    kind = "race"

    def __init__(self, criterion, n_classes):
        pass

    def decide(self, node_stats, children, evidence):
        return True, evidence


# --- credible (A1-A3, A6, G4) -----------------------------------------------


def heterogeneity_a1(criterion, mu):
    if criterion == "entropy":
        return -sum(p * math.log(p) for p in (mu, 1.0 - mu) if p > 0)
    if criterion == "gini":
        return mu * (1.0 - mu)
    return math.sqrt(mu * (1.0 - mu))


def credible_two_classes(criterion, n1, n0, delta, pseudo_count):
    """Solve P(H(mu) >= e) = delta under the Beta posterior for e."""
    a, b = n1 + pseudo_count, n0 + pseudo_count

    def excess(u):
        above, below = stats.beta.cdf((0.5 + u, 0.5 - u), a, b)
        return above - below - delta

    u = optimize.brentq(excess, 0.0, 0.5, xtol=1e-15, rtol=1e-14, maxiter=500)
    return heterogeneity_a1(criterion, max(0.5 - u, 0.0))


def variance_moments(alpha):
    """Posterior mean and variance of (1 - sum mu^2) / 2."""
    A = sum(alpha)
    q = [a * (a + 1) for a in alpha]
    m2 = sum(q) / (A * (A + 1))
    fourth = sum(a * (a + 1) * (a + 2) * (a + 3) for a in alpha)
    cross = sum(x * y for x, y in itertools.permutations(q, 2))
    e4 = (fourth + cross) / (A * (A + 1) * (A + 2) * (A + 3))
    return (1.0 - m2) / 2.0, (e4 - m2**2) / 4.0


def entropy_moments(alpha):
    """Posterior mean and variance of the entropy in nats."""
    A = sum(alpha)
    mean = special.digamma(A + 1) - sum(a / A * special.digamma(a + 1) for a in alpha)
    last = special.polygamma(1, A + 2)
    d = [special.digamma(a + 1) - special.digamma(A + 2) for a in alpha]
    square = sum(
        alpha[i] * alpha[j] * (d[i] * d[j] - last)
        for i, j in itertools.permutations(range(len(alpha)), 2)
    )
    square += sum(
        a
        * (a + 1)
        * (
            (special.digamma(a + 2) - special.digamma(A + 2)) ** 2
            + special.polygamma(1, a + 2)
            - last
        )
        for a in alpha
    )
    return mean, square / (A * (A + 1)) - mean**2


def credible_many_classes(criterion, counts, delta, pseudo_count):
    """Take the quantile of a Beta distribution with the moments of H."""
    alpha = [c + pseudo_count for c in counts]
    K = len(counts)
    if criterion == "entropy":
        mean, variance = entropy_moments(alpha)
        largest = math.log(K)
    else:
        mean, variance = variance_moments(alpha)
        largest = (1.0 - 1.0 / K) / 2.0
    m, v = mean / largest, variance / largest**2
    s = m * (1.0 - m) / v - 1.0
    quantile = largest * stats.beta.isf(delta, m * s, (1.0 - m) * s)
    return math.sqrt(quantile) if criterion == "kearns_mansour" else quantile


@functools.cache
def _credible_eps(criterion, counts, delta, prior):
    K = len(counts)
    pseudo_count = 1.0 if prior == "uniform" else 1.0 / K
    if K == 2:
        return credible_two_classes(criterion, *counts, delta, pseudo_count)
    return credible_many_classes(criterion, counts, delta, pseudo_count)


def credible_eps(criterion, counts, delta, prior="uniform"):
    """Return what the heterogeneity exceeds with probability delta."""
    return _credible_eps(criterion, tuple(counts), delta, prior)


class Credible:
    kind = "interval"
    per = "pool"

    def __init__(
        self, criterion, n_classes, delta, prior="uniform", pool_weight="pool"
    ):
        self.criterion, self.delta, self.prior = criterion, delta, prior
        self.pool_weight = pool_weight

    def limit(self, node_stats):
        eps = credible_eps(
            self.criterion, node_stats["counts"], 1.0 - self.delta, self.prior
        )
        return node_stats["pool"] * eps

    def cost(self, node_stats, counts, n, pool, r):
        return pool * credible_eps(self.criterion, counts, self.delta, self.prior)


# --- possibilistic (B1-B3) --------------------------------------------------


@functools.cache
def two_sided_quantile(gamma):
    return stats.norm.isf(gamma / 2.0)


def agresti_coull_upper(p, n, gamma):
    z = two_sided_quantile(gamma)
    n_tilde = n + z**2
    p_tilde = (p * n + z**2 / 2.0) / n_tilde
    return min(1.0, p_tilde + z * math.sqrt(p_tilde * (1.0 - p_tilde) / n_tilde))


def possibilistic_entropy(counts, gamma):
    q, n = len(counts), sum(counts)
    shares = sorted(c / n if n > 0 else 1.0 / q for c in counts)
    result = 0.0
    for j in range(q):
        T = min(sum(shares[: j + 1]), 1.0) if j < q - 1 else 1.0
        pi = agresti_coull_upper(T, n, gamma)
        result -= T / 2 * math.log(pi / 2) + (1 - T / 2) * math.log(1 - pi / 2)
    return result / (q * math.log(2.0))


def dunn_sidak(gamma, r):
    return -math.expm1(math.log1p(-gamma) / r)


class Possibilistic:
    kind = "interval"
    per = "n"  # paper B knows no unlabeled rows

    def __init__(
        self, criterion, n_classes, delta, correction="branches", classes="present"
    ):
        self.delta, self.correction, self.classes = delta, correction, classes

    def kept(self, node_stats, counts):
        if self.classes == "all":
            return list(counts)
        pairs = sorted(zip(node_stats["counts"], counts, strict=True), reverse=True)
        present = sum(count > 0 for count in node_stats["counts"])
        return [count for _, count in pairs[: max(2, present)]]

    def limit(self, node_stats):
        counts = self.kept(node_stats, node_stats["counts"])
        return node_stats["n"] * possibilistic_entropy(counts, self.delta)

    def cost(self, node_stats, counts, n, pool, r):
        if self.correction == "all_tests":
            r = r * node_stats["n_tests"]
        counts = self.kept(node_stats, counts)
        return n * possibilistic_entropy(counts, dunn_sidak(self.delta, r))


# --- race bounds (A5, C2-C5, C11) -------------------------------------------


class Race:
    """Splits iff the best test beats its best competitor by more than factor * radius.

    Competitors are the best test of every other attribute and no split; with
    against="no_split" the latter alone. The best test must also beat no split.
    """

    kind = "race"
    factor = 1.0
    against = "runner_up"

    def radius(self, node_stats, r=2):
        raise NotImplementedError

    def confidence(self, node_stats):
        return 1.0 - self.delta

    def decide(self, node_stats, children, evidence):
        evidence = dict(evidence)
        no_split = phi(self.criterion, node_stats["counts"])
        if self.against == "no_split" or evidence["runner_up_score"] >= no_split:
            evidence["runner_up_score"] = no_split
            evidence["runner_up_feature"] = -1
        evidence["radius"] = self.radius(node_stats, len(children))
        evidence["statistic"] = self.confidence(node_stats)
        if evidence["score"] >= no_split - 1e-12:
            return False, evidence
        gap = evidence["runner_up_score"] - evidence["score"]
        return gap > self.factor * evidence["radius"], evidence


def hoeffding_range(criterion, n_classes):
    """Range of the gain on the scale of C1."""
    return 1.0 if criterion == "gini" else _range_c11(criterion, n_classes)


def _range_c11(criterion, n_classes):
    if criterion == "error":
        return 1.0
    return largest_phi(criterion, n_classes)


class Hoeffding(Race):
    def __init__(self, criterion, n_classes, delta, against="runner_up", factor=1.0):
        self.criterion, self.delta = criterion, delta
        self.against, self.factor = against, factor
        # A5 takes the largest heterogeneity; C11 the range of a gain.
        self.range = (
            largest_phi(criterion, n_classes)
            if against == "no_split"
            else hoeffding_range(criterion, n_classes)
        )

    def radius(self, node_stats, r=2):
        m = node_stats["n"] if self.against == "no_split" else node_stats["n_fresh"]
        return self.range * math.sqrt(math.log(1.0 / self.delta) / (2.0 * m))


class HoeffdingInterval:
    """The credible rule with heterogeneity +- a Hoeffding radius (A5 b)."""

    kind = "interval"
    per = "pool"

    def __init__(self, criterion, n_classes, delta, factor=1.0):
        self.criterion, self.delta, self.factor = criterion, delta, factor
        self.largest = self._heterogeneity([1.0] * n_classes)

    def _heterogeneity(self, counts):
        """Evaluate what the credible rule takes, on the scale of C1 at K = 2."""
        if self.criterion == "kearns_mansour":
            return math.sqrt(phi("gini", counts) / 2.0)
        return phi(self.criterion, counts)

    def _clip(self, counts, n, sign):
        if n == 0:
            return self.largest if sign > 0 else 0.0
        radius = self.largest * math.sqrt(math.log(1.0 / self.delta) / (2.0 * n))
        value = self._heterogeneity(counts) + sign * self.factor * radius
        return min(max(value, 0.0), self.largest)

    def limit(self, node_stats):
        return node_stats["pool"] * self._clip(
            node_stats["counts"], node_stats["n"], -1
        )

    def cost(self, node_stats, counts, n, pool, r):
        return pool * self._clip(counts, n, +1)


class McDiarmid(Race):
    def __init__(self, criterion, n_classes, delta):
        self.criterion, self.delta, self.n_classes = criterion, delta, n_classes

    def radius(self, node_stats, r=2):
        m, K = node_stats["n_fresh"], self.n_classes
        if self.criterion == "gini":
            constant = 8.0
        else:
            constant = 6.0 * (K * math.log2(math.e * m) + math.log2(2.0 * m))
            constant += 2.0 * math.log2(K)
            constant /= 2.0  # the gain is in bits, the impurity is half of it
        return constant * math.sqrt(math.log(1.0 / self.delta) / (2.0 * m))


def eps_entropy(m, delta, K, r=2, tight=False):
    """C3 eq (4) in bits."""
    cells = (K * r - 1) + (0 if tight else r - 1)
    return math.log2(m) * math.sqrt(2.0 / m * math.log(4.0 / delta)) + cells / (
        2.0 * m * math.log(2.0)
    )


def eps_gini(m, delta, K, r=2, tight=False):
    """C3 eq (5). Each of r K cells has a share of the printed form's 4 / sqrt(m)."""
    if tight:
        return math.sqrt(2.0 / m * math.log(2.0 / delta)) + r * (1.0 - 1.0 / K) / m
    return math.sqrt(8.0 / m * math.log(2.0 / delta)) + r * K / math.sqrt(m)


def eps_kearns_mansour(m, delta, K, r=2, tight=False):
    """C3 eq (6)."""
    if K == 2:
        return 2 * r * math.sqrt(math.log(4 * r / delta) / m)
    return r * K * math.sqrt(math.log(4 * r * K / delta) / m)


EPS = {
    "entropy": eps_entropy,
    "gini": eps_gini,
    "kearns_mansour": eps_kearns_mansour,
}


class DeRosa(Race):
    def __init__(self, criterion, n_classes, delta=None, form="practical", c=None):
        self.criterion, self.n_classes = criterion, n_classes
        self.delta, self.form, self.c = delta, form, c
        self.factor = 1.0 if form == "practical" else 2.0

    def node_delta(self, node_stats):
        h, m, t = node_stats["depth"], node_stats["n_fresh"], node_stats["time"]
        d, N, j = (
            node_stats["n_attributes"],
            node_stats["n_tests"],
            node_stats["attempt"],
        )
        if self.form == "anytime":
            return self.delta / ((h + 1) * (h + 2) * j * (j + 1) * N)
        return self.delta / ((h + 1) * (h + 2) * t * d * m)

    def radius(self, node_stats, r=2):
        m = node_stats["n_fresh"]
        if self.form == "practical":
            h = node_stats["depth"] + 1
            inside = m**2 * h**2 * node_stats["time"] * node_stats["n_attributes"]
            eps = self.c * math.sqrt(math.log(inside) / m)
            return eps * math.log(m) if self.criterion == "entropy" else eps
        return EPS[self.criterion](
            m,
            self.node_delta(node_stats),
            self.n_classes,
            r,
            tight=self.form != "paper",
        )

    def confidence(self, node_stats):
        if self.form == "practical":
            return 1.0 - 1.0 / node_stats["time"]
        return 1.0 - self.delta


# --- tests (D8, D9, G3) -----------------------------------------------------


class Chi2:
    """Splits iff the p-value of the criterion's best test is at most delta."""

    kind = "race"

    def __init__(self, criterion, n_classes, delta, correction=None):
        self.delta, self.correction = delta, correction
        self.ranks_features = correction is not None

    def rank(self, node_stats, children, attribute_tests):
        number = attribute_tests if self.correction == "tests" else 1
        return chi2_log_pvalue(children) + math.log(number)

    def decide(self, node_stats, children, evidence):
        p = chi2_pvalue(children)
        if self.correction is not None:
            p *= node_stats["n_varying"]
        if self.correction == "tests":
            p *= node_stats["attribute_tests"]
        return p <= self.delta, {**evidence, "statistic": min(p, 1.0)}


def ec2_beta(noise, outcomes=2):
    """Probability that noise hides the difference between two outcomes."""
    a, r = noise, outcomes
    return a * (2 * r - r * a - 2) / (r - 1) ** 2


def noise_beta_prior(noise, p):
    """Give `ec2_beta` for outcomes with probabilities p (Lemma 5.4, corrected)."""
    numerator = denominator = 0.0
    for z, other in itertools.permutations(range(len(p)), 2):
        weight = p[z] * p[other]
        third = sum(x * x for i, x in enumerate(p) if i not in (z, other))
        both = noise**2 * third / ((1 - p[z]) * (1 - p[other]))
        one = p[other] / (1 - p[z]) + p[z] / (1 - p[other])
        numerator += weight * (both + noise * (1 - noise) * one)
        denominator += weight
    return numerator / denominator


def ec2_confidence(parent, children, depth, beta, eps=0.0):
    """Evaluate D8's delta."""
    n, everything = sum(parent), edges(parent)
    expected = everything * (1.0 - (1.0 - beta) ** depth)
    cut = sum(sum(c) / n * (everything - edges(c)) for c in children)
    excess = cut - expected - eps
    if excess < 0:
        return 0.0
    return -math.expm1(-2.0 * excess**2 / everything)


def ec2_confidence_over_chance(parent, children, noise, eps=0.0):
    """Evaluate delta with the edges that random outcomes of these sizes cut."""
    n, everything, K = sum(parent), edges(parent), len(parent)
    differ = 1.0 - (1.0 - noise) ** 2 - (K - 1) * (noise / (K - 1)) ** 2
    if n <= 1 or everything <= n * (n - 1) / 2 * differ:
        return 0.0
    cut = by_chance = 0.0
    for child in children:
        rows = sum(child)
        together = rows * max(rows - 1, 0) / (n * (n - 1))
        cut += rows / n * (everything - edges(child))
        by_chance += rows / n * everything * (1 - together)
    excess = cut - by_chance - eps
    return -math.expm1(-2.0 * excess**2 / everything) if excess > 0 else 0.0


class EC2:
    kind = "race"

    def __init__(
        self,
        criterion,
        n_classes,
        noise,
        confidence,
        error_outcomes="uniform",
        margin=0.0,
        against="mistakes",
    ):
        self.noise, self.minimum, self.margin = noise, confidence, margin
        self.error_outcomes, self.against = error_outcomes, against

    def decide(self, node_stats, children, evidence):
        n = node_stats["n"]
        if self.against == "chance":
            confidence = ec2_confidence_over_chance(
                node_stats["counts"], children, self.noise, self.margin
            )
            return confidence >= self.minimum, {**evidence, "statistic": confidence}
        if self.error_outcomes == "uniform":
            beta = ec2_beta(self.noise, len(children))
        else:
            beta = noise_beta_prior(self.noise, [sum(c) / n for c in children])
        confidence = ec2_confidence(
            node_stats["counts"], children, node_stats["depth"], beta, self.margin
        )
        return confidence >= self.minimum, {**evidence, "statistic": confidence}


class GTest:
    """Splits iff fewer than delta tests look as good by chance.

    Each attribute has an equal share of them, whatever the number of its tests.
    """

    kind = "race"
    ranks_features = True

    def __init__(self, criterion, n_classes, delta):
        self.delta = delta

    def rank(self, node_stats, children, attribute_tests):
        n = sum(map(sum, children))
        parent = [sum(column) for column in zip(*children, strict=True)]
        G = 0.0
        for child in children:
            for c, observed in enumerate(child):
                if observed > 0:
                    expected = parent[c] * sum(child) / n
                    G += 2.0 * observed * math.log(observed / expected)
        present = sum(c > 0 for c in parent)
        freedom = (present - 1) * (len(children) - 1)
        return math.log(attribute_tests) + log_chi2_tail(freedom, G)

    def decide(self, node_stats, children, evidence):
        j = node_stats["attempt"]
        log_number = self.rank(node_stats, children, node_stats["attribute_tests"])
        share = node_stats["n_varying"] * j * (j + 1) / 2
        expected = math.exp(min(math.log(share) + log_number, 700))
        return expected < self.delta, {**evidence, "statistic": expected}


BY_CHANCE = ("n_candidates", "multiplicity", "log10_expected_by_chance")


def by_chance(node_stats, children, feature, compared):
    """Evidence for a split, whatever made it: A * N * p, and a factor for attempts.

    `compared` has the number of candidate splits of each feature that has any.
    """
    j, number = node_stats["attempt"], compared[feature]
    share = len(compared) * j * (j + 1) / 2
    total, huge = sum(compared.values()), 2**1000 - 1
    found = (
        math.inf if total >= huge else float(total),
        math.inf if math.log(number) >= 690 else share * number,
        (math.log(share) + GTest.rank(None, node_stats, children, number))
        / math.log(10),
    )
    return dict(zip(BY_CHANCE, found, strict=True))


# --- evidence (G1, G2) ------------------------------------------------------


def log_dirichlet_multinomial(counts, a):
    """Return log DM(n; a), the likelihood of a sequence of labels."""
    K, n = len(counts), sum(counts)
    result = math.lgamma(K * a) - math.lgamma(n + K * a)
    return result + sum(math.lgamma(c + a) - math.lgamma(a) for c in counts)


def log_no_split(counts):
    """Return log L0, the largest likelihood without a split."""
    n = sum(counts)
    return sum(c * math.log(c / n) for c in counts if c > 0)


class EValue:
    kind = "evidence"

    def __init__(
        self, criterion, n_classes, delta, a=0.5, per_path=True, choose="evidence"
    ):
        self.delta, self.a = delta, a
        self.per_path, self.choose = per_path, choose

    def log_evidence(self, node_stats, children):
        split = sum(log_dirichlet_multinomial(c, self.a) for c in children)
        return split - log_no_split(node_stats["counts"])

    def decide(self, node_stats, log_mean):
        h = node_stats["depth"]
        delta = self.delta / ((h + 1) * (h + 2)) if self.per_path else self.delta
        return log_mean >= math.log(1.0 / delta), min(1.0, math.exp(-log_mean))


class BayesFactor:
    kind = "evidence"

    def __init__(
        self, criterion, n_classes, delta=0.5, a=None, prior_odds=1.0, choose="evidence"
    ):
        self.delta, self.prior_odds, self.choose = delta, prior_odds, choose
        self.a = 1.0 / n_classes if a is None else a

    def log_evidence(self, node_stats, children):
        split = sum(log_dirichlet_multinomial(c, self.a) for c in children)
        return split - log_dirichlet_multinomial(node_stats["counts"], self.a)

    def decide(self, node_stats, log_mean):
        odds = math.log(self.prior_odds) + log_mean
        no_split = float(special.expit(-odds))
        return odds > math.log((1.0 - self.delta) / self.delta), no_split
