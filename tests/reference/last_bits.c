/* Another mathematical library, to be loaded before the system's: what it computes is
   off by one unit in the last place, up, down or not at all, as the argument's bits say.
   Whole numbers are what they are, as in every library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static double off(double x, double y)
{
    uint64_t bits;
    if (!isfinite(y) || y == rint(y))
        return y;
    memcpy(&bits, &x, sizeof bits);
    bits *= 0x9E3779B97F4A7C15u;
    bits ^= bits >> 29;
    bits *= 0xBF58476D1CE4E5B9u;
    bits ^= bits >> 32;
    switch (bits % 3) {
    case 0:
        return nextafter(y, INFINITY);
    case 1:
        return nextafter(y, -INFINITY);
    default:
        return y;
    }
}

#define OFF(name)                                                     \
    double name(double x)                                             \
    {                                                                 \
        static double (*known)(double);                               \
        if (!known)                                                   \
            known = (double (*)(double))dlsym(RTLD_NEXT, #name);      \
        return off(x, known(x));                                      \
    }

OFF(erf)
OFF(erfc)
OFF(exp)
OFF(expm1)
OFF(log)
OFF(log1p)
OFF(log2)
OFF(lgamma)
