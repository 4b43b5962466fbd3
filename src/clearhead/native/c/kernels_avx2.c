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

/* Wide tiles, because |x| and its sign are shared by the columns. */
#undef COLUMNS
#define COLUMNS 4
#define TILE_ROWS 2
#include "avx2_int8.h"

#define TABLE kernels_avx2
#define TITLE "AVX2"
#define FAST_INT8 0
#include "table.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
