"""Posterior moments and quantiles of the heterogeneity of a node."""

from libc.math cimport INFINITY, exp, fabs, log, log1p, sqrt
from scipy.special.cython_special cimport (
    betainc, betainccinv, betaincinv, betaln, ndtri, psi,
)

cdef float64_t LN_HALF = -0.6931471805599453


cdef float64_t trigamma_excess(float64_t x) noexcept nogil:
    # x (x+1) psi1(x+2) + x / (x+1) - x, where psi1 is the trigamma function.
    cdef float64_t total = 0.0
    cdef float64_t y
    cdef float64_t s
    if x < 8.0:
        y = x + 2.0
        while y < 10.0:
            total += 1.0 / (y * y)
            y += 1.0
        s = 1.0 / (y * y)
        total += (1.0 + 0.5 / y + s * (
            1.0 / 6.0 - s * (1.0 / 30.0 - s * (1.0 / 42.0 - s / 30.0))
        )) / y
        return x * (x + 1.0) * total + x / (x + 1.0) - x
    s = 1.0 / (x * x)
    s = 0.5 / x + s * (
        1.0 / 6.0 - s * (1.0 / 30.0 - s * (1.0 / 42.0 - s * (1.0 / 30.0 - s * 5 / 66)))
    )
    return (x + 1.0) * s - 1.0 / x


cdef void moments(
    Heterogeneity kind, const float64_t* counts, intp_t n_classes, float64_t alpha,
    float64_t* mean, float64_t* variance,
) noexcept nogil:
    # Posterior mean and variance of the entropy or of the variance (A6), written
    # as sums that do not cancel, so that they hold from empty to huge nodes.
    # With a_c = n_c + alpha, A = sum a_c and elementary symmetric sums e_2, e_3:
    #   variance  E = e_2 / (A (A+1))
    #             Var = (A (A+1) ((A+1) e_2 + 3 e_3) - e_2^2 (4A + 6))
    #                   / (A^2 (A+1)^2 (A+2) (A+3))
    # Entropy: with g_c = psi(a_c + 1) - psi(A + 1), H = -sum mu_c g_c - Z for a Z of
    # mean zero that is uncorrelated with sum mu_c g_c. So with w = trigamma_excess
    #   entropy   E = -sum a_c g_c / A
    #             Var = sum a_c (g_c + E)^2 / (A (A+1)) + (sum w(a_c) - w(A)) / (A (A+1))
    cdef intp_t c
    cdef float64_t a
    cdef float64_t total = 0.0
    cdef float64_t e2 = 0.0
    cdef float64_t e3 = 0.0
    cdef float64_t spread = 0.0
    cdef float64_t excess = 0.0
    cdef float64_t top
    cdef float64_t g
    if kind == ENTROPY:
        for c in range(n_classes):
            total += counts[c] + alpha
        top = psi(total + 1.0)
        mean[0] = 0.0
        for c in range(n_classes):
            a = counts[c] + alpha
            mean[0] -= a * (psi(a + 1.0) - top)
        mean[0] /= total
        for c in range(n_classes):
            a = counts[c] + alpha
            g = psi(a + 1.0) - top + mean[0]
            spread += a * g * g
            excess += trigamma_excess(a)
        excess -= trigamma_excess(total)
        variance[0] = (spread + excess) / (total * (total + 1.0))
        return
    for c in range(n_classes):
        a = counts[c] + alpha
        e3 += a * e2
        e2 += a * total
        total += a
    g = total * (total + 1.0)
    mean[0] = e2 / g
    # Each factor is of order one, so that counts of 1e100 would not overflow.
    e2 /= total * total
    e3 /= total * total * total
    variance[0] = (
        (1.0 + 1.0 / total) * ((1.0 + 1.0 / total) * e2 + 3.0 * e3)
        - e2 * e2 * (4.0 + 6.0 / total)
    ) * total / ((total + 2.0) * (total + 3.0)) * (total / (total + 1.0)) * (
        total / (total + 1.0)
    )


cdef float64_t tail_quantile(
    float64_t p, float64_t q, float64_t z, float64_t* margin
) noexcept nogil:
    # Logit of the point that a Beta(p, q) variable exceeds with probability
    # 1 - Phi(z), z > 0, from one Newton step in the signed likelihood root of the
    # logit (error of order m^{-3/2}, m = min(p, q)). The true logit is at least the
    # result minus the margin, which the tests verify on a dense grid.
    cdef float64_t n = p + q
    cdef float64_t sd = sqrt(n / (p * q))
    cdef float64_t u = 1.0 / p
    cdef float64_t v = 1.0 / q
    cdef float64_t variance = u + v + 0.5 * (u * u + v * v)
    cdef float64_t theta
    cdef float64_t odds
    cdef float64_t x
    cdef float64_t gap
    cdef float64_t r
    cdef float64_t z2 = z * z
    cdef float64_t m = min(p, q)
    theta = (
        log(p * v) + 0.5 * (v - u) + sqrt(variance) * z
        + (v * v - u * u) / variance * (z2 - 1.0) / 6.0
    )
    odds = exp(theta)
    x = odds / (1.0 + odds)
    gap = n * x - p
    r = 2.0 * (p * log1p(-gap / (n * x)) + q * log1p(gap * (1.0 + odds) / n))
    margin[0] = INFINITY
    # Without a step that is clearly to the right of the mode there is no answer.
    if not (r > 0.0 and gap > 0.0):
        return theta
    r = sqrt(r)
    theta -= (r + log(gap * sd / r) / r - z) * r / gap
    margin[0] = sd * (0.03 * (1.0 + z2 * z2 / 81.0) / (m * sqrt(m)) + 2e-5)
    return theta


cdef inline float64_t beta_density(
    float64_t x, float64_t a, float64_t b, float64_t log_beta
) noexcept nogil:
    # Density of Beta(a, b) at x plus that at 1 - x.
    cdef float64_t p = log(x)
    cdef float64_t q = log1p(-x)
    return exp((a - 1.0) * p + (b - 1.0) * q - log_beta) + exp(
        (b - 1.0) * p + (a - 1.0) * q - log_beta
    )


cdef float64_t binary_upper(
    Heterogeneity kind, float64_t a, float64_t b, float64_t delta
) noexcept nogil:
    # eps(delta): P(x < mu < 1 - x) = delta. Let X ~ Beta(b, a) be the rarer
    # class's probability. P(X > x) - P(X > 1 - x) = delta, so the quantile of
    # X alone is an upper bound of x, and is x when the second term vanishes.
    cdef float64_t x = betainccinv(b, a, delta)
    cdef float64_t low
    cdef float64_t high = 0.5
    cdef float64_t u
    cdef float64_t step
    cdef float64_t mass
    cdef float64_t slope
    cdef float64_t log_beta
    cdef intp_t _
    # P(X > 1 - x) is at most (x / (1 - x))^(a - b).
    if x < 0.5 and (a - b) * log(x / (1.0 - x)) < log(delta) - 40.0:
        return binary_heterogeneity(kind, x)
    # Solve for u = 1/2 - x; for small u the mass is proportional to it, hence
    # logarithms. H is flat at u = 0, so cancellation there is harmless.
    log_beta = betaln(a, b)
    # A little room: the solution may be this end of the bracket.
    low = max(0.5 - x, 0.0) * (1.0 - 1e-6)
    # Start from the quantile of X if the second term is small there, else from
    # the density at 1/2.
    if x < 0.5 and (a - b) * log(x / (1.0 - x)) < log(delta):
        u = low
    else:
        u = max(0.5 * delta * exp(log_beta - (a + b - 2.0) * LN_HALF), low)
    if not u < 0.45:
        u = 0.5 * (low + 0.5)
    for _ in range(200):
        x = 0.5 - u
        mass = betainc(a, b, 0.5 + u) - betainc(a, b, x)
        if mass < delta:
            low = u
        else:
            high = u
        step = INFINITY
        slope = beta_density(x, a, b, log_beta)
        if mass > 0.0 and slope > 0.0:
            step = u * exp(log(delta / mass) * mass / (u * slope)) - u
        if not low <= u + step <= high:
            step = 0.5 * (low + high) - u
        u += step
        # The error left is of the order of the square of the step.
        if fabs(step) <= 1e-8 * min(u, 0.5 - u) or high - low <= 1e-16:
            break
    return binary_heterogeneity(kind, 0.5 - u)


cdef float64_t binary_lower(
    Heterogeneity kind, float64_t a, float64_t b, float64_t delta
) noexcept nogil:
    # eps(1 - delta): P(X < x) + P(X > 1 - x) = delta.
    cdef float64_t x = betaincinv(b, a, delta)
    cdef float64_t low
    cdef float64_t high = x
    cdef float64_t step
    cdef float64_t mass
    cdef float64_t slope
    cdef float64_t log_beta
    cdef intp_t _
    if (a - b) * log(x / (1.0 - x)) < log(delta) - 40.0:
        return binary_heterogeneity(kind, x)
    # The second term is the smaller one, so the first is at least delta / 2.
    low = betaincinv(b, a, 0.5 * delta) * (1.0 - 1e-6)
    log_beta = betaln(a, b)
    for _ in range(200):
        mass = betainc(b, a, x) + betainc(a, b, x)
        if mass < delta:
            low = x
        else:
            high = x
        step = INFINITY
        slope = beta_density(x, a, b, log_beta)
        if mass > 0.0 and slope > 0.0:
            step = x * exp(log(delta / mass) * mass / (x * slope)) - x
        if not low <= x + step <= high:
            step = 0.5 * (low + high) - x
        x += step
        if fabs(step) <= 1e-8 * x:
            break
    return binary_heterogeneity(kind, x)


cdef float64_t largest_heterogeneity(
    Heterogeneity kind, intp_t n_classes
) noexcept nogil:
    cdef float64_t k = n_classes
    return log(k) if kind == ENTROPY else 0.5 * (1.0 - 1.0 / k)


cdef void match_beta(
    float64_t mean, float64_t variance, float64_t* p, float64_t* q
) noexcept nogil:
    cdef float64_t s
    if variance <= 0.0:     # less than its rounding
        p[0] = q[0] = INFINITY
        return
    s = mean * (1.0 - mean) / variance - 1.0
    p[0] = mean * s
    q[0] = (1.0 - mean) * s


cdef float64_t matched_limit(
    Heterogeneity kind, const float64_t* counts, intp_t n_classes, float64_t alpha,
    float64_t delta, bint upper,
) noexcept nogil:
    # Limit for K > 2: quantile of the Beta law with the posterior mean and
    # variance of the heterogeneity divided by its largest value.
    cdef float64_t largest = largest_heterogeneity(kind, n_classes)
    cdef float64_t mean
    cdef float64_t variance
    cdef float64_t p
    cdef float64_t q
    cdef float64_t x
    moments(kind, counts, n_classes, alpha, &mean, &variance)
    mean /= largest
    variance /= largest * largest
    match_beta(mean, variance, &p, &q)
    if not (p > 0.0 and q > 0.0 and p + q < INFINITY):
        x = mean    # the variance is less than its rounding
    elif p > 1e8 and q > 1e8:
        # A normal law but for its skewness, and beyond what betaincinv is fit for.
        x = -ndtri(delta) if upper else ndtri(delta)
        x += (q - p) / sqrt(p * q * (p + q)) * (x * x - 1.0) / 3.0
        x = mean + x * sqrt(mean * (1.0 - mean) / (p + q))
    elif upper:
        x = betainccinv(p, q, delta)
    else:
        x = betaincinv(p, q, delta)
    x *= largest
    return sqrt(x) if kind == DEVIATION else x
