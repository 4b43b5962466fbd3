/* AVX-512 with VNNI: 16 floats, or 16 sums of four 8-bit products, at a time. */
#include "kernels.h"
#if defined(__x86_64__)
#include <immintrin.h>
#include <stddef.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma")
#endif

#define WIDTH 16
#define COLUMNS 4
#define OFFSET 128
#define IN_REGISTER(v) __asm__("" : "+v"(v));
#define SPLAT(x) _mm512_set1_ps(x)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define SUM(v) _mm512_reduce_add_ps(v)
#define LARGER(a, b) _mm512_max_ps(a, b)
#define LARGEST(v) _mm512_reduce_max_ps(v)
#define ABOVE(v, x) _mm512_cmp_ps_mask(v, SPLAT(x), _CMP_GT_OQ)
#define SUM_4(to, a, b, c, d, factor) _mm_storeu_ps(to, _mm_mul_ps(sum_4(a, b, c, d), _mm_set1_ps(factor)))
#define LOAD_HALF(x) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(x)))
#define STORE_HALF(to, v) _mm256_storeu_si256((__m256i *)(to), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT))
#define STORE_BYTES(to, whole) \
    _mm_storeu_si128((__m128i *)(to), _mm512_cvtepi32_epi8((__m512i)(whole)))
static inline __m256 half(__m512 v) {
    return _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
}
static inline __m128 sum_4(__m512 a, __m512 b, __m512 c, __m512 d) {
    const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(half(a), half(b)), _mm256_hadd_ps(half(c), half(d)));
    return _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
}
#include "vector.h"

#define NAME(x) float_##x
#define TILE_ROWS 6
#define INPUT float
#define INPUTS __m512
#define INPUTS_A_STEP 1
#define WEIGHT float
#define WEIGHTS __m512
#define STRIDE BLOCK
#define ACCUMULATOR __m512
#define LOAD(w, j) _mm512_loadu_ps((w) + (j) * WIDTH)
#define BROADCAST(x) _mm512_set1_ps(*(x))
#define MULTIPLY_ADD(c, a, b) _mm512_fmadd_ps(a, b, c)
#define FINISH(c, r, j) (c + load(bias + (j) * WIDTH))
#define MOST_INPUTS 1024
#include "tile.h"

#define NAME(x) half_##x
#define TILE_ROWS 6
#define INPUT float
#define INPUTS __m512
#define INPUTS_A_STEP 1
#define WEIGHT uint16_t
#define WEIGHTS __m512
#define STRIDE BLOCK
#define ACCUMULATOR __m512
#define LOAD(w, j) LOAD_HALF((w) + (j) * WIDTH)
#define BROADCAST(x) SPLAT(*(x))
#define MULTIPLY_ADD(c, a, b) FMA(a, b, c)
#define FINISH(c, r, j) (c + load(bias + (j) * WIDTH))
#define MOST_INPUTS 1024
#include "tile.h"

/* The intrinsic makes gcc 12 copy the accumulator around every instruction, at half the speed. */
static inline __m512i dot(__m512i c, __m512i a, __m512i b) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
}
static inline __m512i dot_words(__m512i c, __m512i a, __m512i b) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
}
static inline __m512i four_bytes(const void *x) {
    int32_t word;
    memcpy(&word, x, 4);
    return _mm512_set1_epi32(word);
}

#define NAME(x) int8_##x
#define TILE_ROWS 6
#define INPUT uint8_t
#define INPUTS __m512i
#define INPUTS_A_STEP 4
#define MOST_INPUTS INT32_MAX
#define WEIGHT int8_t
#define WEIGHTS __m512i
#define STRIDE (4 * BLOCK)
#define ACCUMULATOR __m512i
#define LOAD(w, j) _mm512_loadu_si512((w) + (j) * 4 * WIDTH)
#define BROADCAST(x) four_bytes(x)
#define MULTIPLY_ADD(c, a, b) dot(c, a, b)
#define FINISH(c, r, j) \
    (_mm512_cvtepi32_ps(_mm512_sub_epi32(c, _mm512_loadu_si512(linear->shift + column + (j) * WIDTH))) * \
     (SPLAT(scale_x[r]) * load(linear->scale + column + (j) * WIDTH)) + load(linear->bias + column + (j) * WIDTH))
#include "tile.h"

/* Eight inputs a step; a byte holds two weights divided by 16, the later one in its upper half. Two sums,
   because one would wait for itself. */
typedef struct { __m512i first, later; } Two;
static inline __m512i upper(__m512i v) { return _mm512_and_si512(v, _mm512_set1_epi8((char)0xF0)); }

#define NAME(x) int4_##x
#define TILE_ROWS 2
#define INPUT uint8_t
#define INPUTS Two
#define INPUTS_A_STEP 8
#define MOST_INPUTS INT32_MAX
#define WEIGHT uint8_t
#define WEIGHTS __m512i
#define STRIDE (4 * BLOCK)
#define ACCUMULATOR Two
#define LOAD(w, j) _mm512_loadu_si512((w) + (j) * 4 * WIDTH)
#define BROADCAST(x) {four_bytes(x), four_bytes((x) + 4)}
#define MULTIPLY_ADD(c, a, b) \
    (Two){dot(c.first, a.first, upper(_mm512_slli_epi32(b, 4))), dot(c.later, a.later, upper(b))}
#define FINISH(c, r, j) \
    (_mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_add_epi32(c.first, c.later), \
                                         _mm512_loadu_si512(linear->shift + column + (j) * WIDTH))) * \
     (SPLAT(scale_x[r]) * load(linear->scale + column + (j) * WIDTH)) + load(linear->bias + column + (j) * WIDTH))
#include "tile.h"

#define NAME(x) int16_##x
#define TILE_ROWS 6
#define INPUT int16_t
#define INPUTS __m512i
#define INPUTS_A_STEP 2
#define MOST_INPUTS INT32_MAX
#define WEIGHT int16_t
#define WEIGHTS __m512i
#define STRIDE (2 * BLOCK)
#define ACCUMULATOR __m512i
#define LOAD(w, j) _mm512_loadu_si512((w) + (j) * 2 * WIDTH)
#define BROADCAST(x) four_bytes(x)
#define MULTIPLY_ADD(c, a, b) dot_words(c, a, b)
#define FINISH(c, r, j) \
    (_mm512_cvtepi32_ps(c) * (SPLAT(scale_x[r]) * load(linear->scale + column + (j) * WIDTH)) + \
     load(linear->bias + column + (j) * WIDTH))
#include "tile.h"

#define FAST_INT4
#define FAST_INT16
#define TABLE kernels_avx512
#define TITLE "AVX512-VNNI"
#define FAST_INT8 1
#include "table.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
