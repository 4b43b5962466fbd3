/* The Transformer of the block files, for inference: weights, working memory and layers. */
#ifndef CLEARHEAD_ENGINE_H
#define CLEARHEAD_ENGINE_H
#include <stdint.h>

#include "kernels.h"

/* As the configuration writes them. A size without a part, say decoder_layers of BERT, is 0. */
typedef struct {
    int32_t d_model, h, d_ff, encoder_layers, decoder_layers;
    int32_t src_vocab, tgt_vocab, src_len, tgt_len; /* tokens, positions */
    int32_t cross, pre_norm, biased_norm, activation, int8;
    int32_t pad_id, bos_id, eos_id;
    float eps;
} Sizes;

typedef struct {
    float *alpha, *bias; /* (d_model,); NULL where a stack has no such norm */
} Norm;

/* A block of the encoder or, with the cross-attention, of the decoder. */
typedef struct {
    Linear qkv, out;                 /* self-attention: W_q, W_k and W_v in one matrix; W_o */
    Linear cross_q, cross_kv, cross_out;
    Linear linear_1, linear_2;       /* feed-forward */
    Norm norms[3];                   /* of the residual connections, in the order of the block */
} Layer;

typedef struct {
    Sizes sizes;
    const Kernels *kernels;
    int d_model, d_k, width, d_ff; /* padded; width = h d_k */
    Layer *layers;                 /* the encoder's, then the decoder's */
    Norm norms[2];                 /* the final norms of encoder and decoder */
    Linear projection;
    Linear screen;  /* beside float32: the projection in int8, which finds the few blocks with the largest logits */
    Linear screen4; /* the projection in int4, which does so for a few rows of any model */
    Linear sum;     /* the projection in int16, for the sum over the vocabulary */
    void *rows;     /* beside `sum`: the projection (vocabulary, d_model), float32 or float16 */
    /* Borrowed tables: token embeddings times their factor, positions, cosines and sines. */
    const float *src_embedding, *tgt_embedding, *src_positions, *tgt_positions, *rotary;
} Model;

/* The memory of one thread: activations, the keys and values of `slots` sentences. */
typedef struct {
    int rows, decoder_rows, slots, beams, src_len, tgt_len; /* capacities */
    int longest;              /* the larger of both lengths, padded: the stride of `weights` */
    float *x, *y, *wide, *logits, *weights, *scale;
    float *bounds;            /* (rows at once, blocks of the screen) no logit of the block is larger */
    uint8_t *x8;
    int16_t *x16;
    float *tiles;             /* queries, output (d_k, 64) each, scores (src_len, 64), values (d_k, src_len) */
    void *memory;             /* (slots, layers, src_len, 2 width) keys and values of the source */
    void *cache;              /* (layers, slots, beams, tgt_len, 2 width) of what is written */
    int *memory_len;          /* (slots,) */
    int64_t *steps;           /* 0, 1, 2 … times the distance of two keys in `wide` or `memory` */
    int64_t *past;            /* (decoder_rows, tgt_len) where the keys of a row's past lie in its slot */
    float *capture;           /* (layers, h, rows, source tokens) cross-attention weights, or NULL */
} Work;

/* Positions that are decoded together; every row writes its keys before any row attends. */
typedef struct {
    int count;
    const int32_t *token, *position, *slot, *beam; /* (count,) */
} DecoderRows;

/* Padding and BOS are never written; the token that GPT-2 has for BOS and EOS is. */
static inline int is_never_written(const Sizes *s, int32_t token) {
    return token == s->pad_id || (token == s->bos_id && token != s->eos_id);
}

enum { OK = 0, NO_MEMORY = 1, BAD_SIZE = 2, BAD_ID = 3, NOT_FINITE = 4 };
enum { FEW_ROWS = 12 };      /* for which float16 weights are faster than float32 */
enum { FEW_ROWS_4 = 2 };     /* for which int4 weights are faster than int8 */
enum { FEW_KEYS = 28 };      /* for which queries are faster one by one */
enum { ROWS_AT_ONCE = 96 }; /* what lies between two products of so many rows stays in the cache */

enum { SPARE = 13 };        /* candidates beside those wanted: rounding seldom hides one of the best */
enum { EXACT_TERMS = 16 };  /* of the sum, as many whatever the options; at least 3 candidates are wanted */
/* Lengths of rows of 16-bit integers. A sum of products is at most the product of both lengths (Cauchy-
   Schwarz); with a rounding error of sqrt(MOST_INPUTS_16) / 2 in each it stays below 2^31. The rounding of
   an activation shifts all logits alike, that of a weight only one: activations get more bits. */
enum { LENGTH_OF_X = 92000, LENGTH_OF_W = 23000, MOST_INPUTS_16 = 4096 };

int work_new(const Model *model, Work *work);
void work_free(Work *work);

/* sqrt(x · x); n is a multiple of 16 */
float length_of(const float *x, int n);
/* the greatest length of the rounding errors of a row of n integers */
float rounding_error(float scale, int n);
/* x16 = round(x / scale) of at most this length; returns the scale, which is not finite where x is not */
float quantize16(const float *x, int n, int length, int16_t *x16);
/* y = max(x W^T + b, low), or y + that; x (rows, in), y (rows, out) */
void linear(const Model *m, Work *w, const Linear *l, const float *x, int stride_x, int rows, Epilogue e,
            float *y, int stride_y);
/* ids of sentences one after another, `start` (sentences + 1,) -> work->x (tokens, d_model) */
int encode(const Model *m, Work *w, const int32_t *ids, const int64_t *start, int sentences);
/* the same of embeddings that are in work->x already */
void encode_embedded(const Model *m, Work *w, const int64_t *start, int sentences);
/* work->x of `encode` -> the keys and values of these slots, for every decoder layer */
void remember(const Model *m, Work *w, const int64_t *start, int sentences, const int *slot);
/* -> work->x (rows, d_model), what comes after each position */
int decode(const Model *m, Work *w, const DecoderRows *rows);
/* work->x -> the best tokens of every row, without a sum never padding or BOS; `best` of a sum has room for
   SPARE more; `forced` (rows,) and its logits may be NULL */
void project(const Model *m, Work *w, int rows, int with_sum, Best *best, const int32_t *forced,
             float *forced_logit);
/* work->x -> (rows, vocabulary) */
void project_all(const Model *m, Work *w, int rows, float *logits);
int is_finite(const float *x, int64_t n);
#endif
