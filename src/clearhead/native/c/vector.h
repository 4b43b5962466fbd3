/* Everything but the products, written once in vector types of the compiler and compiled for every
   instruction set. The including file defines WIDTH, COLUMNS, OFFSET, SPLAT, FMA, LARGER, SUM,
   LARGEST (of a vector's elements), STORE_BYTES, LOAD_HALF and STORE_HALF. */
#include <float.h>
#include <math.h>
#include <string.h>

typedef float FLOATS __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));
typedef int32_t INTS __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));

static inline FLOATS load(const float *x) { return *(const FLOATS *)x; }
static inline void store(float *x, FLOATS v) { *(FLOATS *)x = v; }
static inline FLOATS larger(FLOATS a, FLOATS b) { return LARGER(a, b); }
static inline FLOATS magnitude(FLOATS x) { return (FLOATS)((INTS)x & INT32_MAX); }
#ifndef IN_REGISTER /* keeps a vector from being read from memory again for every row */
#define IN_REGISTER(v)
#endif
#ifndef ABOVE /* a bit for each element that is greater */
#define ABOVE(v, x) above((v), (x))
static inline unsigned above(FLOATS v, float x) {
    unsigned mask = 0;
    for (int i = 0; LARGEST(v) > x && i < WIDTH; i++) mask |= (unsigned)(v[i] > x) << i;
    return mask;
}
#endif
#ifndef SUM_4 /* four sums times a factor, stored one after another */
#define SUM_4(to, a, b, c, d, factor) \
    ((to)[0] = SUM(a) * (factor), (to)[1] = SUM(b) * (factor), (to)[2] = SUM(c) * (factor), (to)[3] = SUM(d) * (factor))
#endif

/* The nearest integers, halves to even, for |x| < 2^22: adding 1.5 * 2^23 leaves no bits for more. */
static inline FLOATS nearest(FLOATS x, INTS *as_integers) {
    const FLOATS magic = SPLAT(12582912.0f);
    const FLOATS shifted = x + magic;
    *as_integers = (INTS)shifted - (INTS)magic;
    return shifted - magic;
}

/* e^x = 2^n e^r with |r| <= ln(2) / 2 and a polynomial for e^r: relative error 2e-7. x <= 0; below
   -87 it is the value at -87. */
static inline FLOATS exponential_of_negative(FLOATS x) {
    INTS n;
    const FLOATS bounded = larger(x, SPLAT(-87.0f));
    const FLOATS whole = nearest(bounded * SPLAT(1.44269504f), &n);
    FLOATS r = FMA(whole, SPLAT(-0.693359375f), bounded);
    r = FMA(whole, SPLAT(2.12194440e-4f), r);
    FLOATS p = SPLAT(1.9875691500e-4f);
    p = FMA(p, r, SPLAT(1.3981999507e-3f));
    p = FMA(p, r, SPLAT(8.3334519073e-3f));
    p = FMA(p, r, SPLAT(4.1665795894e-2f));
    p = FMA(p, r, SPLAT(1.6666665459e-1f));
    p = FMA(p, r, SPLAT(5.0000001201e-1f));
    p = FMA(p * r, r, r + SPLAT(1.0f));
    return (FLOATS)((INTS)p + (n << 23));
}

/* The same for every x; above 88 it is the value at 88. */
static inline FLOATS exponential(FLOATS x) { return exponential_of_negative(-larger(-x, SPLAT(-88.0f))); }

/* Abramowitz and Stegun 7.1.26: absolute error 1.5e-7. */
static inline FLOATS error_function(FLOATS x) {
    const FLOATS size = magnitude(x), t = SPLAT(1.0f) / FMA(SPLAT(0.3275911f), size, SPLAT(1.0f));
    FLOATS p = SPLAT(1.061405429f);
    p = FMA(p, t, SPLAT(-1.453152027f));
    p = FMA(p, t, SPLAT(1.421413741f));
    p = FMA(p, t, SPLAT(-0.284496736f));
    p = FMA(p, t, SPLAT(0.254829592f));
    const FLOATS y = SPLAT(1.0f) - p * t * exponential_of_negative(-(x * x));
    return (FLOATS)((INTS)y | ((INTS)x & INT32_MIN)); /* y >= 0 gets the sign of x */
}

static void activate(float *x, int n, Activation kind) {
    for (int i = 0; i < n; i += WIDTH) {
        const FLOATS v = load(x + i), one = SPLAT(1.0f);
        if (kind == RELU) {
            store(x + i, larger(v, SPLAT(0.0f)));
        } else if (kind == GELU) {
            store(x + i, SPLAT(0.5f) * v * (one + error_function(v * SPLAT(0.70710678f))));
        } else { /* v sigmoid(u): tanh(u / 2) = 2 sigmoid(u) - 1 turns GELU's approximation into one */
            const FLOATS cube = FMA(SPLAT(0.044715f) * v * v, v, v);
            if (kind == SWISH) store(x + i, v / (one + exponential(-v)));
            else store(x + i, v / (one + exponential(SPLAT(-1.59576912f) * cube)));
        }
    }
}

static void add(const float *x, const float *y, int n, float scale, float *z) {
    for (int i = 0; i < n; i += WIDTH) store(z + i, FMA(load(x + i), SPLAT(scale), load(y + i)));
}

static void normalize(const float *x, int n, int padded, const float *alpha, const float *bias,
                      float eps, int biased, float *y) {
    FLOATS total = SPLAT(0.0f), squares = SPLAT(0.0f);
    for (int i = 0; i < padded; i += WIDTH) total += load(x + i);
    const float mean = SUM(total) / (float)n;
    for (int i = 0; i < n; i += WIDTH) {
        FLOATS d = load(x + i) - SPLAT(mean);
        for (int j = n - i; j < WIDTH; j++) d[j] = 0.0f; /* padding is no part of the deviation */
        squares = FMA(d, d, squares);
    }
    const float all = SUM(squares);
    const float spread = biased ? sqrtf(all / (float)n + eps) : sqrtf(all / (float)(n - 1)) + eps;
    const FLOATS factor = SPLAT(1.0f / spread);
    for (int i = 0; i < padded; i += WIDTH)
        store(y + i, FMA((load(x + i) - SPLAT(mean)) * factor, load(alpha + i), load(bias + i)));
}

static float quantize(const float *x, int n, uint8_t *x8) {
    FLOATS most = SPLAT(0.0f);
    for (int i = 0; i < n; i += WIDTH) {
        const FLOATS v = load(x + i);
        most = larger(most, magnitude(v));
    }
    const float largest = LARGEST(most);
    const float inverse = largest > SMALLEST ? 127.0f / largest : 0.0f;
    for (int i = 0; i < n; i += WIDTH) {
        INTS whole;
        nearest(load(x + i) * SPLAT(inverse), &whole);
        STORE_BYTES(x8 + i, whole + OFFSET);
    }
    return largest / 127.0f;
}

/* Over x (n,), padded to a multiple of WIDTH; the padding gets e^-87. */
static inline void softmax(float *x, int n) {
    for (int i = n; i % WIDTH; i++) x[i] = -INFINITY;
    FLOATS most = load(x);
    for (int i = WIDTH; i < n; i += WIDTH) most = larger(most, load(x + i));
    const FLOATS largest = SPLAT(LARGEST(most));
    FLOATS total = SPLAT(0.0f);
    for (int i = 0; i < n; i += WIDTH) {
        const FLOATS e = exponential_of_negative(load(x + i) - largest);
        store(x + i, e);
        total += e;
    }
    const FLOATS factor = SPLAT(1.0f / SUM(total));
    for (int i = 0; i < n; i += WIDTH) store(x + i, load(x + i) * factor);
}

static inline __attribute__((always_inline)) FLOATS element(const void *x, int64_t i, const int half) {
    if (half) return LOAD_HALF((const uint16_t *)x + i);
    return load((const float *)x + i);
}

static inline __attribute__((always_inline)) FLOATS product(const float *q, const void *keys, int64_t at, int d_k,
                                                            const int half) {
    FLOATS sum = load(q) * element(keys, at, half);
    for (int j = WIDTH; j < d_k; j += WIDTH) sum = FMA(load(q + j), element(keys, at + j, half), sum);
    return sum;
}

/* Inlined with the usual d_k as a constant, so that the loops over it disappear. */
static inline __attribute__((always_inline)) void attend_heads(
    const float *q, const void *keys, const void *values, const int64_t *offset, int n, int h, float scale,
    const int d_k, const int half, float *weights, int stride, float *y) {
    for (int head = 0; head < h; head++, weights += stride, q += d_k, y += d_k) {
        const int64_t first = (int64_t)head * d_k;
        int i = 0;
        for (; i + 4 <= n; i += 4) /* scores: q · k */
            SUM_4(weights + i, product(q, keys, offset[i] + first, d_k, half),
                  product(q, keys, offset[i + 1] + first, d_k, half),
                  product(q, keys, offset[i + 2] + first, d_k, half),
                  product(q, keys, offset[i + 3] + first, d_k, half), scale);
        for (; i < n; i++) weights[i] = SUM(product(q, keys, offset[i] + first, d_k, half)) * scale;
        softmax(weights, n);
        for (int j = 0; j < d_k; j += 2 * WIDTH) { /* output: the weighted sum of the values */
            FLOATS a = SPLAT(0.0f), b = a, c = a, d = a;
            const int two = j + WIDTH < d_k ? WIDTH : 0;
            for (i = 0; i + 1 < n; i += 2) {
                const int64_t even = offset[i] + first + j, odd = offset[i + 1] + first + j;
                const FLOATS w = SPLAT(weights[i]), v = SPLAT(weights[i + 1]);
                a = FMA(w, element(values, even, half), a), b = FMA(w, element(values, even + two, half), b);
                c = FMA(v, element(values, odd, half), c), d = FMA(v, element(values, odd + two, half), d);
            }
            if (i < n) {
                const int64_t last = offset[i] + first + j;
                const FLOATS w = SPLAT(weights[i]);
                a = FMA(w, element(values, last, half), a), b = FMA(w, element(values, last + two, half), b);
            }
            store(y + j + two, b + d), store(y + j, a + c);
        }
    }
}

static void attend(const float *q, const void *keys, const void *values, const int64_t *offset, int n,
                   const Heads *heads, float *weights, int stride, float *y) {
    const int h = heads->h, d_k = heads->d_k;
    const float scale = heads->scale;
    if (heads->half && d_k == 64) attend_heads(q, keys, values, offset, n, h, scale, 64, 1, weights, stride, y);
    else if (heads->half) attend_heads(q, keys, values, offset, n, h, scale, d_k, 1, weights, stride, y);
    else if (d_k == 64) attend_heads(q, keys, values, offset, n, h, scale, 64, 0, weights, stride, y);
    else attend_heads(q, keys, values, offset, n, h, scale, d_k, 0, weights, stride, y);
}

static void softmax_columns(float *x, int n) {
    for (int j = 0; j < BLOCK; j += WIDTH) {
        FLOATS most = load(x + j), total = SPLAT(0.0f);
        for (int64_t i = 1; i < n; i++) most = larger(most, load(x + i * BLOCK + j));
        for (int64_t i = 0; i < n; i++) {
            const FLOATS e = exponential_of_negative(load(x + i * BLOCK + j) - most);
            store(x + i * BLOCK + j, e);
            total += e;
        }
        const FLOATS factor = SPLAT(1.0f) / total;
        for (int64_t i = 0; i < n; i++) store(x + i * BLOCK + j, load(x + i * BLOCK + j) * factor);
    }
}

static void widen(const uint16_t *half, int64_t n, float *x) {
    for (int64_t i = 0; i < n; i += WIDTH) store(x + i, LOAD_HALF(half + i));
}

static void to_half(const float *x, int n, uint16_t *half) {
    for (int i = 0; i < n; i += WIDTH) STORE_HALF(half + i, load(x + i));
}

static float inner_product(const float *x, const void *w, int64_t at, int n, int half) {
    return half ? SUM(product(x, w, at, n, 1)) : SUM(product(x, w, at, n, 0));
}

/* Keeps the best `wanted` tokens sorted; few logits pass the worst of them. */
static void insert(Best *best, int32_t token, float logit) {
    int i = best->found < best->wanted ? best->found++ : best->wanted - 1;
    for (; i > 0 && best->logit[i - 1] < logit; i--) {
        best->logit[i] = best->logit[i - 1];
        best->token[i] = best->token[i - 1];
    }
    best->logit[i] = logit;
    best->token[i] = token;
}

/* The value that a logit must exceed; -inf, the logit of padding, never does. */
static inline float worst(const Best *best) {
    return best->found < best->wanted ? -INFINITY : best->logit[best->wanted - 1];
}

static float largest(const float *x) {
    FLOATS most = load(x);
    for (int i = WIDTH; i < BLOCK; i += WIDTH) most = larger(most, load(x + i));
    return LARGEST(most);
}

/* Horizontal operations are slow, so sums stay vectors, and a maximum is taken only where it grows. */
static void collect(const float *logits, int first, int with_sum, Best *best) {
    FLOATS most = load(logits);
    for (int i = WIDTH; i < BLOCK; i += WIDTH) most = larger(most, load(logits + i));
    if (with_sum) {
        FLOATS total = load(best->sum);
        if (ABOVE(most, best->max)) {
            const float largest = LARGEST(most);
            total *= SPLAT(expf(best->max - largest));
            best->max = largest;
        }
        for (int i = 0; i < BLOCK; i += WIDTH) total += exponential_of_negative(load(logits + i) - SPLAT(best->max));
        store(best->sum, total);
    }
    if (!ABOVE(most, worst(best))) return;
    for (int i = 0; i < BLOCK; i += WIDTH)
        for (unsigned left = ABOVE(load(logits + i), worst(best)); left; left &= left - 1) {
            const int j = i + __builtin_ctz(left);
            if (logits[j] > worst(best)) insert(best, first + j, logits[j]);
        }
}
