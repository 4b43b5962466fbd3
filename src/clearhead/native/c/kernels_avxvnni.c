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

#define TILE_ROWS 6
#include "avx2_int8.h"

#define TABLE kernels_avxvnni
#define TITLE "AVX-VNNI"
#define FAST_INT8 1
#include "table.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
