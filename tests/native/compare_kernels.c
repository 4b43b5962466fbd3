/* Compares a table of kernels with the portable one: int8 to the bit, float32 closely.

   cc -DKERNELS=kernels_neon -I src/clearhead/native/c compare_kernels.c kernels_*.c -lm */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

enum { IN = 1088, ROWS = 13, KINDS = 3, HEADS = 3, MOST_D_K = 80, KEYS = 21, PADDED_KEYS = 64 };
static const Kernels *const both[] = {&KERNELS, &kernels_portable};
static int failures = 0;

static float uniform(void) { return (float)rand() / (float)RAND_MAX * 2.0f - 1.0f; }
static void fill(float *x, int n) {
    for (int i = 0; i < n; i++) x[i] = uniform();
}

static void compare(const char *what, const float *found, const float *expected, int n, float tolerance) {
    for (int i = 0; i < n; i++)
        if (!(fabsf(found[i] - expected[i]) <= tolerance * (1.0f + fabsf(expected[i])))) {
            printf("%s: element %d is %.9g, expected %.9g\n", what, i, found[i], expected[i]);
            failures++;
            return;
        }
}

/* Every number of rows, so every height of a tile, of a product stored or added. */
static void compare_products(void) {
    static const char *const names[] = {"float32 product", "int8 product", "float16 product"};
    static const float tolerance[] = {2e-5f, 0.0f, 2e-5f};
    static float x[ROWS * IN], bias[BLOCK], weight[IN * BLOCK], scale[BLOCK], y[2][ROWS * BLOCK];
    static uint16_t half[IN * BLOCK];
    static uint8_t x8[ROWS * IN];
    static int8_t weight8[IN * BLOCK];
    static int32_t shift[BLOCK];
    float scales[ROWS];
    fill(x, ROWS * IN), fill(bias, BLOCK), fill(weight, IN * BLOCK), fill(scale, BLOCK);
    for (int i = 0; i < IN * BLOCK; i++) weight8[i] = (int8_t)(uniform() * 127.9f);
    kernels_portable.to_half(weight, IN * BLOCK, half);
    for (int rows = 1; rows <= ROWS; rows++)
        for (int add = 0; add < 2; add++)
            for (int kind = 0; kind < KINDS; kind++) {
                const Epilogue e = {add ? -INFINITY : 0.0f, add};
                for (int k = 0; k < 2; k++) {
                    for (int i = 0; i < rows; i++) scales[i] = both[k]->quantize(x + i * IN, IN, x8 + i * IN);
                    memset(shift, 0, sizeof shift);
                    for (int i = 0; i < IN * BLOCK; i++) shift[i % (4 * BLOCK) / 4] += both[k]->offset * weight8[i];
                    const Linear w = {.in = IN, .out = BLOCK, .bias = bias, .weight = weight, .half = half,
                                      .weight8 = weight8, .scale = scale, .shift = shift};
                    const Rows in = kind == 1 ? (Rows){.x8 = x8, .scale = scales, .rows = rows, .stride = IN}
                                              : (Rows){.x = x, .rows = rows, .stride = IN};
                    for (int i = 0; i < ROWS * BLOCK; i++) y[k][i] = (float)i;
                    if (kind == 0) both[k]->linear_float(&in, &w, 0, e, y[k], BLOCK);
                    else if (kind == 1) both[k]->linear_int8(&in, &w, 0, e, y[k], BLOCK);
                    else both[k]->linear_half(&in, &w, 0, e, y[k], BLOCK);
                }
                compare(names[kind], y[0], y[1], ROWS * BLOCK, tolerance[kind]);
            }
}

static void compare_quantize(void) {
    float x[IN], scale[2];
    uint8_t x8[2][IN];
    for (int turn = 0; turn < 100; turn++) {
        for (int i = 0; i < IN; i++) x[i] = turn ? uniform() * powf(10.0f, (float)(turn % 60 - 30)) : 0.0f;
        for (int k = 0; k < 2; k++) {
            scale[k] = both[k]->quantize(x, IN, x8[k]);
            for (int i = 0; i < IN; i++) x8[k][i] = (uint8_t)(x8[k][i] - both[k]->offset);
        }
        compare("scale", scale, scale + 1, 1, 0.0f);
        if (memcmp(x8[0], x8[1], IN)) puts("the integers of a row differ"), failures++;
    }
}

/* Every float16 number widened, and numbers between, at and around each two of them narrowed. */
static void compare_half(void) {
    static uint16_t half[1 << 16], narrow[2][1 << 16];
    static float wide[2][1 << 16], x[1 << 16];
    for (int i = 0; i < 1 << 16; i++) half[i] = (uint16_t)((i & 0x7C00) == 0x7C00 ? i & 0xFC00 : i);
    for (int k = 0; k < 2; k++) both[k]->widen(half, 1 << 16, wide[k]);
    if (memcmp(wide[0], wide[1], sizeof wide[0])) puts("float16 is widened differently"), failures++;
    for (int step = 0; step < 5; step++) {
        for (int i = 0; i < 1 << 16; i++) {
            const float next = wide[1][i ^ 1], middle = isinf(next) ? wide[1][i] : (wide[1][i] + next) / 2.0f;
            const float tries[] = {wide[1][i], middle, middle * 1.00001f, middle * 0.99999f, uniform() * 70000.0f};
            x[i] = tries[step];
        }
        for (int k = 0; k < 2; k++) both[k]->to_half(x, 1 << 16, narrow[k]);
        if (memcmp(narrow[0], narrow[1], sizeof narrow[0])) puts("float16 is rounded differently"), failures++;
        if (step == 0 && memcmp(narrow[0], half, sizeof half)) puts("float16 does not come back"), failures++;
    }
}

static void compare_attention(int d_k, int as_half) {
    enum { WIDEST = HEADS * MOST_D_K };
    static float q[WIDEST], kv[KEYS * 2 * WIDEST], y[2][WIDEST], weights[2][HEADS * PADDED_KEYS];
    static uint16_t half[KEYS * 2 * WIDEST];
    const int width = HEADS * d_k;
    const Heads heads = {HEADS, d_k, as_half, 0.3f};
    const void *keys = as_half ? (const void *)half : (const void *)kv;
    const void *values = as_half ? (const void *)(half + width) : (const void *)(kv + width);
    int64_t offset[KEYS];
    fill(q, width), fill(kv, KEYS * 2 * width);
    kernels_portable.to_half(kv, KEYS * 2 * width, half);
    for (int i = 0; i < KEYS; i++) offset[i] = (int64_t)(KEYS - 1 - i) * 2 * width;
    for (int n = 1; n <= KEYS; n++) {
        for (int k = 0; k < 2; k++)
            both[k]->attend(q, keys, values, offset, n, &heads, weights[k], PADDED_KEYS, y[k]);
        compare("attention", y[0], y[1], width, 1e-5f);
        for (int head = 0; head < HEADS; head++)
            compare("attention weights", weights[0] + head * PADDED_KEYS, weights[1] + head * PADDED_KEYS, n, 1e-5f);
    }
}

static void compare_the_rest(void) {
    float x[IN], alpha[IN] = {0}, bias[IN] = {0}, out[2][IN], logits[2][5], sums[2];
    int32_t tokens[2][5];
    fill(alpha, 150), fill(bias, 150);
    for (int i = 0; i < IN; i++) out[0][i] = out[1][i] = uniform() * 20.0f;
    for (int k = 0; k < 2; k++) both[k]->softmax_columns(out[k], IN / BLOCK);
    compare("softmax of columns", out[0], out[1], IN, 1e-5f);
    for (int kind = RELU; kind <= SWISH; kind++) {
        for (int i = 0; i < IN; i++) x[i] = out[0][i] = out[1][i] = uniform() * 20.0f;
        for (int k = 0; k < 2; k++) both[k]->activate(out[k], IN, (Activation)kind);
        compare("activation", out[0], out[1], IN, 1e-5f);
    }
    for (int biased = 0; biased < 2; biased++) {
        memset(x + 150, 0, sizeof(float) * (IN - 150));
        for (int k = 0; k < 2; k++) both[k]->normalize(x, 150, IN, alpha, bias, 1e-5f, biased, out[k]);
        compare("normalization", out[0], out[1], IN, 1e-5f);
        for (int k = 0; k < 2; k++) both[k]->add(x, alpha, IN, 1.7f, out[k]);
        compare("sum", out[0], out[1], IN, 1e-6f);
    }
    for (int k = 0; k < 2; k++) {
        Best best = {5, 0, tokens[k], logits[k], -INFINITY, {0.0f}};
        for (int block = 0; block < IN / BLOCK; block++) both[k]->collect(x + block * BLOCK, block * BLOCK, 1, &best);
        sums[k] = log_sum_exp(&best);
    }
    compare("log-sum-exp", sums, sums + 1, 1, 1e-5f);
    compare("largest logits", logits[0], logits[1], 5, 0.0f);
    if (memcmp(tokens[0], tokens[1], sizeof tokens[0])) puts("the likeliest tokens differ"), failures++;
}

int main(void) {
    compare_quantize();
    compare_half();
    for (int turn = 0; turn < 5; turn++) compare_products(), compare_the_rest();
    for (int d_k = 16; d_k <= MOST_D_K; d_k += 16) compare_attention(d_k, 0), compare_attention(d_k, 1);
    printf("%s equals %s: %s\n", both[0]->name, both[1]->name, failures ? "no" : "yes");
    return failures != 0;
}
