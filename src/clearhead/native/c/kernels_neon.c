/* NEON with dot products: 4 floats, or 4 sums of four 8-bit products, at a time. */
#include "kernels.h"
#if defined(__aarch64__)
#include <arm_neon.h>
#include <stddef.h>
#include <string.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
#else
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif

#define WIDTH 4
#define COLUMNS 4
#define OFFSET 0
#define SPLAT(x) vdupq_n_f32(x)
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#define LARGER(a, b) vmaxq_f32(a, b)
#define SUM(v) vaddvq_f32(v)
#define LARGEST(v) vmaxvq_f32(v)
#define LOAD_HALF(x) vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x)))
#define STORE_HALF(to, v) vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32(v)))
#define STORE_BYTES(to, whole) store_bytes((to), (int32x4_t)(whole))

static inline void store_bytes(uint8_t *to, int32x4_t whole) {
    const int16x4_t words = vmovn_s32(whole);
    const int8x8_t bytes = vmovn_s16(vcombine_s16(words, words));
    const uint32_t four = vget_lane_u32(vreinterpret_u32_s8(bytes), 0);
    memcpy(to, &four, 4);
}
#include "vector.h"

#define NAME(x) float_##x
#define TILE_ROWS 6
#define INPUT float
#define INPUTS float32x4_t
#define INPUTS_A_STEP 1
#define WEIGHT float
#define WEIGHTS float32x4_t
#define STRIDE BLOCK
#define ACCUMULATOR float32x4_t
#define LOAD(w, j) vld1q_f32((w) + (j) * WIDTH)
#define BROADCAST(x) vld1q_dup_f32(x)
#define MULTIPLY_ADD(c, a, b) vfmaq_f32(c, a, b)
#define FINISH(c, r, j) (c + load(bias + (j) * WIDTH))
#define MOST_INPUTS 1024
#include "tile.h"

#define NAME(x) half_##x
#define TILE_ROWS 6
#define INPUT float
#define INPUTS float32x4_t
#define INPUTS_A_STEP 1
#define MOST_INPUTS 1024
#define WEIGHT uint16_t
#define WEIGHTS float32x4_t
#define STRIDE BLOCK
#define ACCUMULATOR float32x4_t
#define LOAD(w, j) LOAD_HALF((w) + (j) * WIDTH)
#define BROADCAST(x) SPLAT(*(x))
#define MULTIPLY_ADD(c, a, b) FMA(a, b, c)
#define FINISH(c, r, j) (c + load(bias + (j) * WIDTH))
#include "tile.h"

/* An instruction of its own: arm_neon.h of older compilers lacks it without -march. */
static inline int32x4_t dot(int32x4_t c, int8x16_t a, int8x16_t b) {
    __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(c) : "w"(a), "w"(b));
    return c;
}
static inline int8x16_t four_bytes(const uint8_t *x) {
    int32_t word;
    memcpy(&word, x, 4);
    return vreinterpretq_s8_s32(vdupq_n_s32(word));
}

#define NAME(x) int8_##x
#define TILE_ROWS 6
#define INPUT uint8_t
#define INPUTS int8x16_t
#define INPUTS_A_STEP 4
#define MOST_INPUTS INT32_MAX
#define WEIGHT int8_t
#define WEIGHTS int8x16_t
#define STRIDE (4 * BLOCK)
#define ACCUMULATOR int32x4_t
#define LOAD(w, j) vld1q_s8((w) + (j) * 4 * WIDTH)
#define BROADCAST(x) four_bytes(x)
#define MULTIPLY_ADD(c, a, b) dot(c, a, b)
#define FINISH(c, r, j) \
    (vcvtq_f32_s32(vsubq_s32(c, vld1q_s32(linear->shift + column + (j) * WIDTH))) * \
     (SPLAT(scale_x[r]) * load(linear->scale + column + (j) * WIDTH)) + load(linear->bias + column + (j) * WIDTH))
#include "tile.h"

#define TABLE kernels_neon
#define TITLE "NEON"
#define FAST_INT8 1
#include "table.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
