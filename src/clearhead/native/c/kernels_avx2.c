/* AVX2: 8 floats, or 8 sums of four 8-bit products, at a time. */
#include "kernels.h"
#if defined(__x86_64__)
#include <immintrin.h>
#include <stddef.h>
#include <string.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif

#define OFFSET 0
#define PACK_BYTES _mm_packs_epi16 /* 16 bits to 8, signed */
#include "avx2.h"

/* The unit multiplies unsigned by signed and adds pairs in 16 bits: |x| (sign of x) w never
   exceeds 2 · 127 · 127 there, so the sums are exact. */
static inline __m256i dot(__m256i c, __m256i x, __m256i w) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(w, x));
    return _mm256_add_epi32(c, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
static inline __m256i four_bytes(const uint8_t *x) {
    int32_t word;
    memcpy(&word, x, 4);
    return _mm256_set1_epi32(word);
}

#define NAME(x) int8_##x
#define TILE_ROWS 4
#define INPUT uint8_t
#define INPUTS __m256i
#define INPUTS_A_STEP 4
#define MOST_INPUTS INT32_MAX
#define WEIGHT int8_t
#define WEIGHTS __m256i
#define STRIDE (4 * BLOCK)
#define ACCUMULATOR __m256i
#define LOAD(w, j) _mm256_loadu_si256((const __m256i *)((w) + (j) * 4 * WIDTH))
#define BROADCAST(x) four_bytes(x)
#define MULTIPLY_ADD(c, a, b) dot(c, a, b)
#define SHIFT(j) _mm256_loadu_si256((const __m256i *)(linear->shift + column + (j) * WIDTH))
#define FINISH(c, r, j) \
    (_mm256_cvtepi32_ps(_mm256_sub_epi32(c, SHIFT(j))) * \
     (SPLAT(scale_x[r]) * load(linear->scale + column + (j) * WIDTH)) + load(linear->bias + column + (j) * WIDTH))
#include "tile.h"

#define TABLE kernels_avx2
#define TITLE "AVX2"
#include "table.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
