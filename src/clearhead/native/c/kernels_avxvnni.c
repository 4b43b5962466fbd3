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

#define OFFSET 128
#define PACK_BYTES _mm_packus_epi16 /* 16 bits to 8, unsigned */
#include "avx2.h"

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
