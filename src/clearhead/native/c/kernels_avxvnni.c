/* AVX-VNNI: AVX2 with an instruction for 8 sums of four 8-bit products. */
#include "kernels.h"
#if defined(HAS_AVXVNNI)
#include <immintrin.h>
#include <stddef.h>
#include <string.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,avxvnni"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif

#define WIDTH 8
#define COLUMNS 2
#define OFFSET 128
#define SPLAT(x) _mm256_set1_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define LARGER(a, b) _mm256_max_ps(a, b)
#define SUM(v) sum_of(v)
#define LARGEST(v) largest_of(v)
#define SUM_4(to, a, b, c, d, factor) _mm_storeu_ps(to, _mm_mul_ps(sum_4(a, b, c, d), _mm_set1_ps(factor)))
#define LOAD_HALF(x) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x)))
#define STORE_HALF(to, v) _mm_storeu_si128((__m128i *)(to), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT))
#define STORE_BYTES(to, whole) store_bytes((to), (__m256i)(whole))

static inline float sum_of(__m256 v) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
static inline float largest_of(__m256 v) {
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
static inline __m128 sum_4(__m256 a, __m256 b, __m256 c, __m256 d) {
    const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    return _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
}
static inline void store_bytes(uint8_t *to, __m256i whole) {
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64((__m128i *)to, _mm_packus_epi16(words, words));
}
#include "vector.h"

#define NAME(x) float_##x
#define TILE_ROWS 6
#define INPUT float
#define INPUTS __m256
#define INPUTS_A_STEP 1
#define WEIGHT float
#define WEIGHTS __m256
#define STRIDE BLOCK
#define ACCUMULATOR __m256
#define LOAD(w, j) _mm256_loadu_ps((w) + (j) * WIDTH)
#define BROADCAST(x) _mm256_broadcast_ss(x)
#define MULTIPLY_ADD(c, a, b) _mm256_fmadd_ps(a, b, c)
#define FINISH(c, r, j) (c + load(bias + (j) * WIDTH))
#define MOST_INPUTS 1024
#include "tile.h"

#define NAME(x) half_##x
#define TILE_ROWS 6
#define INPUT float
#define INPUTS __m256
#define INPUTS_A_STEP 1
#define MOST_INPUTS 1024
#define WEIGHT uint16_t
#define WEIGHTS __m256
#define STRIDE BLOCK
#define ACCUMULATOR __m256
#define LOAD(w, j) LOAD_HALF((w) + (j) * WIDTH)
#define BROADCAST(x) SPLAT(*(x))
#define MULTIPLY_ADD(c, a, b) FMA(a, b, c)
#define FINISH(c, r, j) (c + load(bias + (j) * WIDTH))
#include "tile.h"

/* As in kernels_avx512.c no intrinsic; {vex} chooses the encoding that needs no AVX-512. */
static inline __m256i dot(__m256i c, __m256i a, __m256i b) {
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
    return c;
}
static inline __m256i four_bytes(const uint8_t *x) {
    int32_t word;
    memcpy(&word, x, 4);
    return _mm256_set1_epi32(word);
}

#define NAME(x) int8_##x
#define TILE_ROWS 6
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

#define TABLE kernels_avxvnni
#define TITLE "AVX-VNNI"
#include "table.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
