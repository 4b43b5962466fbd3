/* For every processor and compiler that has no kernels of its own here. */
#include "kernels.h"

#include <stddef.h>

#define WIDTH 4
#define COLUMNS 2
#define OFFSET 0
#define SPLAT(x) ((FLOATS){(x), (x), (x), (x)})
#define FMA(a, b, c) ((a) * (b) + (c))
#define LARGER(a, b) portable_larger(a, b)
#define SUM(v) (((v)[0] + (v)[1]) + ((v)[2] + (v)[3]))
#define LARGEST(v) portable_largest(v)
#define LOAD_HALF(x) portable_load_half(x)
#define STORE_HALF(to, v) portable_store_half((to), (v))
#define STORE_BYTES(to, whole) portable_store((to), (whole))

typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t FourIntegers __attribute__((vector_size(16), aligned(4), may_alias));
typedef int8_t Bytes __attribute__((vector_size(16), aligned(1), may_alias));

static inline Four portable_larger(Four a, Four b) {
    const FourIntegers first = a > b;
    return (Four)((first & (FourIntegers)a) | (~first & (FourIntegers)b));
}
/* float16 has 5 bits of exponent around 15 and 10 of mantissa; 2^112 moves the exponent to 127. */
static inline Four portable_load_half(const uint16_t *x) {
    Four v;
    for (int i = 0; i < 4; i++) {
        union { uint32_t bits; float value; } u = {(uint32_t)(x[i] & 0x7FFF) << 13};
        u.value *= 0x1p112f;
        if ((x[i] & 0x7C00) == 0x7C00) u.bits |= 0x7F800000;
        u.bits |= (uint32_t)(x[i] & 0x8000) << 16;
        v[i] = u.value;
    }
    return v;
}
/* Rounds to the nearest, halves to even: adding a power of two 13 bits above the last bit that stays
   drops the others. Too large becomes infinity. */
static inline void portable_store_half(uint16_t *to, Four v) {
    for (int i = 0; i < 4; i++) {
        union { float value; uint32_t bits; } u = {v[i]}, unit, sum;
        const uint32_t sign = u.bits >> 16 & 0x8000;
        u.bits &= 0x7FFFFFFF;
        unit.bits = (u.bits < 0x38800000 ? 0x38800000 : u.bits & 0x7F800000) + (13u << 23);
        sum.value = u.value + unit.value;
        const uint32_t mantissa = sum.bits - unit.bits, exponent = (unit.bits >> 23) - 13 - 113;
        const uint32_t half = u.bits >= 0x47800000 ? 0x7C00 : (exponent << 10) + mantissa;
        to[i] = (uint16_t)(sign | (half > 0x7C00 ? 0x7C00 : half));
    }
}
static inline float portable_largest(Four v) {
    float largest = v[0];
    for (int i = 1; i < 4; i++) largest = v[i] > largest ? v[i] : largest;
    return largest;
}
static inline void portable_store(uint8_t *to, FourIntegers whole) {
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)whole[i];
}
#include "vector.h"

#define NAME(x) float_##x
#define TILE_ROWS 4
#define INPUT float
#define INPUTS FLOATS
#define INPUTS_A_STEP 1
#define WEIGHT float
#define WEIGHTS FLOATS
#define STRIDE BLOCK
#define ACCUMULATOR FLOATS
#define LOAD(w, j) load((w) + (j) * WIDTH)
#define BROADCAST(x) SPLAT(*(x))
#define MULTIPLY_ADD(c, a, b) FMA(a, b, c)
#define FINISH(c, r, j) (c + load(bias + (j) * WIDTH))
#define MOST_INPUTS 1024
#include "tile.h"

#define NAME(x) half_##x
#define TILE_ROWS 4
#define INPUT float
#define INPUTS FLOATS
#define INPUTS_A_STEP 1
#define WEIGHT uint16_t
#define WEIGHTS FLOATS
#define STRIDE BLOCK
#define ACCUMULATOR FLOATS
#define LOAD(w, j) LOAD_HALF((w) + (j) * WIDTH)
#define BROADCAST(x) SPLAT(*(x))
#define MULTIPLY_ADD(c, a, b) FMA(a, b, c)
#define FINISH(c, r, j) (c + load(bias + (j) * WIDTH))
#define MOST_INPUTS 1024
#include "tile.h"

/* Four outputs of four inputs each: the sums of four products. */
static inline INTS dot(INTS c, const uint8_t *x, Bytes w) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[i] += (int8_t)x[j] * w[4 * i + j];
    return c;
}

#define NAME(x) int8_##x
#define TILE_ROWS 4
#define INPUT uint8_t
#define INPUTS const uint8_t *
#define INPUTS_A_STEP 4
#define MOST_INPUTS INT32_MAX
#define WEIGHT int8_t
#define WEIGHTS Bytes
#define STRIDE (4 * BLOCK)
#define ACCUMULATOR INTS
#define LOAD(w, j) (*(const Bytes *)((w) + (j) * 4 * WIDTH))
#define BROADCAST(x) (x)
#define MULTIPLY_ADD(c, a, b) dot(c, a, b)
#define FINISH(c, r, j) \
    (__builtin_convertvector(c - *(const INTS *)(linear->shift + column + (j) * WIDTH), FLOATS) * \
     (SPLAT(scale_x[r]) * load(linear->scale + column + (j) * WIDTH)) + load(linear->bias + column + (j) * WIDTH))
#include "tile.h"

#define TABLE kernels_portable
#define TITLE "portable"
#define FAST_INT8 0
#include "table.h"
