/* The operations that depend on the processor, and one table of them per instruction set.

   Weights are stored in blocks of BLOCK outputs, so that one step over the inputs reads consecutive
   memory: float32 (out / 64, in, 64); int8 (out / 64, in / 4, 64, 4), four inputs of an output
   together; int16 (out / 64, in / 2, 64, 2). All sizes are padded to multiples of 64 with zeros. */
#ifndef CLEARHEAD_KERNELS_H
#define CLEARHEAD_KERNELS_H
#include <math.h>
#include <stdint.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

enum { BLOCK = 64 };
#define SMALLEST 4e-37f /* rows of 8-bit integers whose largest element is less are 0: 127 / it overflows */

typedef struct {
    int in, out;     /* padded */
    float *bias;     /* (out,) */
    float *weight;   /* float32: (out / 64, in, 64), or NULL */
    uint16_t *half;  /* the same in float16, where that is exact, or NULL */
    int8_t *weight8; /* int8: (out / 64, in / 4, 64, 4), or NULL */
    uint8_t *weight4; /* int4: (out / 64, in / 8, 64, 4), inputs k and k + 4 in a byte, or NULL */
    int16_t *weight16; /* int16: (out / 64, in / 2, 64, 2), or NULL */
    float *error;    /* int4: (out,) the length of what rounding took from each output's weights */
    float *scale;    /* integers: (out,) one for each output */
    int32_t *shift;  /* int8, int4: (out,) offset times the sum of the output's weights */
    float *largest;  /* int8 as an approximation: (out / 64, 3) of each block the largest length of a
                        row of weights, of its rounding errors, and the largest bias; int16: (3,)
                        the same of all outputs; or NULL */
} Linear;

/* Rows of activations: float32, or 8-bit or 16-bit integers with one scale per row. */
typedef struct {
    const float *x;
    const uint8_t *x8;
    const int16_t *x16;
    const float *scale;
    int rows, stride;
} Rows;

/* What happens to a product before it is stored: max(y, low), then the sum with what is there. */
typedef struct {
    float low;
    int add;
} Epilogue;

typedef enum { NO_ACTIVATION, RELU, GELU, GELU_TANH, SWISH } Activation;

/* `half`: keys and values are float16 */
typedef struct {
    int h, d_k, half;
    float scale;
} Heads;

/* Of one row's logits: the best tokens so far, best first, and the terms of log-sum-exp. */
typedef struct {
    int wanted, found;
    int32_t *token; /* (wanted,) */
    float *logit;   /* (wanted,) */
    float max, sum[16]; /* log-sum-exp = max + log(all of sum); one element of a vector in each */
} Best;

/* 0 where no terms were collected */
static inline float log_sum_exp(const Best *best) {
    float total = 0.0f;
    for (int i = 0; i < 16; i++) total += best->sum[i];
    return total > 0.0f ? best->max + logf(total) : 0.0f;
}

typedef struct {
    const char *name;
    int offset; /* added to 8-bit activations where the processor multiplies unsigned by signed */
    int fast_int8; /* whether 8-bit products are several times as fast as float32 */
    /* y (rows, 64) = x W^T + b for one block of 64 outputs */
    void (*linear_float)(const Rows *x, const Linear *w, int block, Epilogue e, float *y, int stride);
    void (*linear_int8)(const Rows *x, const Linear *w, int block, Epilogue e, float *y, int stride);
    /* the same from weights rounded to multiples of 16; NULL where that is not faster for a few rows */
    void (*linear_int4)(const Rows *x, const Linear *w, int block, Epilogue e, float *y, int stride);
    /* NULL where 16-bit products are not faster than float32 */
    void (*linear_int16)(const Rows *x, const Linear *w, int block, Epilogue e, float *y, int stride);
    /* the same from float16 weights, which are widened in registers */
    void (*linear_half)(const Rows *x, const Linear *w, int block, Epilogue e, float *y, int stride);
    void (*widen)(const uint16_t *half, int64_t n, float *x);
    void (*to_half)(const float *x, int n, uint16_t *half);
    /* scale = max|x| / 127, x8 = round(x / scale) + offset; returns the scale */
    float (*quantize)(const float *x, int n, uint8_t *x8);
    /* alpha (x - mean) / (deviation + eps) + bias over n features, stored in `padded` ones;
       biased: alpha (x - mean) / sqrt(variance + eps) + bias */
    void (*normalize)(const float *x, int n, int padded, const float *alpha, const float *bias,
                      float eps, int biased, float *y);
    /* softmax(q K^T scale) V for one query and every head; key i is at keys + offset[i];
       weights: (h, stride) of which the first n of each head are used; stride: a multiple of 16 */
    void (*attend)(const float *q, const void *keys, const void *values, const int64_t *offset, int n,
                   const Heads *heads, float *weights, int stride, float *y);
    void (*softmax_columns)(float *x, int n); /* over the n rows of each of 64 columns */
    void (*activate)(float *x, int n, Activation kind);
    void (*add)(const float *x, const float *y, int n, float scale, float *z); /* z = x scale + y */
    float (*largest)(const float *x); /* of 64 */
    /* of x (n,) and w from element `at` on; half: w is float16 */
    float (*inner_product)(const float *x, const void *w, int64_t at, int n, int half);
    /* Takes the 64 logits of a block into account; `first` is the token of the first of them. */
    void (*collect)(const float *logits, int first, int with_sum, Best *best);
} Kernels;

/* The best table for this processor, or the one of that name; NULL where it cannot run here. */
const Kernels *kernels_named(const char *name);

extern const Kernels kernels_portable;
#if defined(__x86_64__)
extern const Kernels kernels_avx512, kernels_avx2;
/* Older compilers and their assemblers do not know its instruction. */
#if defined(__clang__) ? __clang_major__ >= 13 : __GNUC__ >= 11
#define HAS_AVXVNNI
extern const Kernels kernels_avxvnni;
#endif
#elif defined(__aarch64__)
extern const Kernels kernels_neon;
#endif
#endif
