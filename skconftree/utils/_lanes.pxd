# Approximate functions that compilers can vectorize (a lane is an element of a vector
# register). They are used to discard candidate splits before exact values are computed,
# and never for a result. Their values do not depend on the math library of the platform.

from skconftree.utils._typedefs cimport float32_t

cdef enum:
    LANES = 12          # numbers processed together: a multiple of the 4 floats of a
                        # 128-bit register


cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    /* There are no comparisons, which would prevent vectorization. */

    /* x log2(|x|) for x in [-1, 1], with an error of at most 0.00012 |x|; 0 at 0. */
    static inline float skconftree_xlog2x(float x)
    {
        uint32_t bits;
        float s, whole;
        memcpy(&bits, &x, 4);
        bits &= 0x7fffffff;
        whole = (float) ((int32_t) (bits >> 23) - 127);
        bits = (bits & 0x7fffff) | 0x3f800000;
        memcpy(&s, &bits, 4);
        s -= 1.0f;
        return x * (whole + s + s * (1.0f - s) * (
            0.43872564f + s * (-0.23905777f + s * 0.08213025f)));
    }

    /* Standard normal distribution function at z * sqrt(2) for z in [-6, 6], with an
       error of at most 2e-6 (Abramowitz and Stegun, 7.1.28). */
    static inline float skconftree_normal_below(float z)
    {
        uint32_t bits, sign;
        float x, t;
        memcpy(&bits, &z, 4);
        sign = bits & 0x80000000u;
        bits ^= sign;
        memcpy(&x, &bits, 4);
        t = 1.0f + x * (0.0705230784f + x * (0.0422820123f + x * (0.0092705272f
            + x * (0.0001520143f + x * (0.0002765672f + x * 0.0000430638f)))));
        t *= t;
        t *= t;
        t *= t;
        t *= t;
        t = 0.5f - 0.5f / t;
        memcpy(&bits, &t, 4);
        bits |= sign;       /* the function minus one half is odd */
        memcpy(&t, &bits, 4);
        return 0.5f + t;
    }
    """
    float32_t rough_xlog2x "skconftree_xlog2x"(float32_t x) nogil
    float32_t rough_normal_below "skconftree_normal_below"(float32_t z) nogil
