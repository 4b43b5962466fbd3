/* The forward pass: the same functions under the same names as in the block files. */
#include "engine.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A few rows take as long as reading the weights: float16 halves that. */
static void block_of(const Kernels *k, const Linear *l, const Rows *x, int block, Epilogue e, float *y, int stride) {
    if (l->weight8) k->linear_int8(x, l, block, e, y, stride);
    else if (l->weight4) k->linear_int4(x, l, block, e, y, stride);
    else if (l->weight16) k->linear_int16(x, l, block, e, y, stride);
    else if (l->half && (x->rows <= FEW_ROWS || !__atomic_load_n(&l->weight, __ATOMIC_ACQUIRE)))
        k->linear_half(x, l, block, e, y, stride);
    else k->linear_float(x, l, block, e, y, stride);
}

float length_of(const float *x, int n) {
    float squares[16] = {0}, total = 0.0f; /* so many sums that the compiler forms a vector */
    for (int i = 0; i < n; i += 16)
        for (int j = 0; j < 16; j++) squares[j] += x[i + j] * x[i + j];
    for (int j = 0; j < 16; j++) total += squares[j];
    return sqrtf(total);
}

float rounding_error(float scale, int n) { return 0.5001f * scale * sqrtf((float)n); }

float quantize16(const float *x, int n, int length, int16_t *x16) {
    float most = 0.0f;
    for (int i = 0; i < n; i++) most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    const float by_length = length_of(x, n) / (float)length, by_most = most / INT16_MAX;
    const float scale = by_most > by_length ? by_most : by_length;
    const float inverse = scale > SMALLEST && scale <= FLT_MAX ? 1.0f / scale : 0.0f;
    for (int i = 0; i < n; i++) x16[i] = inverse > 0.0f ? (int16_t)lrintf(x[i] * inverse) : 0;
    return scale;
}

/* Rows of activations in the format of the weights: float32, or quantized to 8 or 16 bits. */
static Rows rows_for(const Model *m, Work *w, const Linear *l, const float *x, int stride, int count) {
    if (!l->scale) return (Rows){.x = x, .rows = count, .stride = stride};
    for (int i = 0; i < count; i++, x += stride)
        w->scale[i] = l->weight16 ? quantize16(x, l->in, LENGTH_OF_X, w->x16 + (int64_t)i * l->in)
                                  : m->kernels->quantize(x, l->in, w->x8 + (int64_t)i * l->in);
    return (Rows){.x8 = w->x8, .x16 = w->x16, .scale = w->scale, .rows = count, .stride = l->in};
}

void linear(const Model *m, Work *w, const Linear *l, const float *x, int stride_x, int rows, Epilogue e,
            float *y, int stride_y) {
    const Kernels *k = m->kernels;
    for (int first = 0; first < rows; first += ROWS_AT_ONCE) {
        const int count = rows - first < ROWS_AT_ONCE ? rows - first : ROWS_AT_ONCE;
        const Rows some = rows_for(m, w, l, x + (int64_t)first * stride_x, stride_x, count);
        for (int block = 0; block < l->out / BLOCK; block++) {
            float *to = y + (int64_t)first * stride_y + block * BLOCK;
            block_of(k, l, &some, block, e, to, stride_y);
        }
    }
}

static const Epilogue PLAIN = {-INFINITY, 0}, ADD = {-INFINITY, 1}, POSITIVE = {0.0f, 0};

/* LayerNormalization: alpha (x - mean) / deviation + bias, (rows, d_model) -> (rows, d_model) */
static void layer_normalization(const Model *m, const Norm *norm, const float *x, int rows, float *y) {
    for (int i = 0; i < rows; i++)
        m->kernels->normalize(x + (int64_t)i * m->d_model, m->sizes.d_model, m->d_model, norm->alpha,
                              norm->bias, m->sizes.eps, m->sizes.biased_norm, y + (int64_t)i * m->d_model);
}

/* ResidualConnection, first half. Pre-norm: the sublayer reads Norm(x) and adds to x;
   post-norm: it reads x, and the sum is normalized afterwards. */
static const float *sublayer_input(const Model *m, Work *w, const Norm *norm, int rows) {
    if (!m->sizes.pre_norm) return w->x;
    layer_normalization(m, norm, w->x, rows, w->y);
    return w->y;
}

static void after_sublayer(const Model *m, Work *w, const Norm *norm, int rows) {
    if (!m->sizes.pre_norm) layer_normalization(m, norm, w->x, rows, w->x);
}

/* RotaryPositions: the halves (a, b) of a head become (a cos - b sin, b cos + a sin).
   x: one row of h heads, d_k apart; rotary: (position, 2, true d_k / 2) */
static void rotate(const Model *m, float *x, int position) {
    const int half = m->sizes.d_model / m->sizes.h / 2;
    const float *cosine = m->rotary + (int64_t)position * 2 * half, *sine = cosine + half;
    for (int head = 0; head < m->sizes.h; head++, x += m->d_k)
        for (int i = 0; i < half; i++) {
            const float a = x[i], b = x[half + i];
            x[i] = a * cosine[i] - b * sine[i];
            x[half + i] = b * cosine[i] + a * sine[i];
        }
}

/* MultiHeadAttentionBlock for one query: softmax(q K^T / sqrt(d_k)) V in every head.
   q: (h d_k,); n rows of keys at keys + offset[i], their values `width` behind -> y (h d_k,) */
static void multi_head_attention(const Model *m, Work *w, const float *q, const void *keys, int half,
                                 const int64_t *offset, int n, float *y) {
    const Heads heads = {m->sizes.h, m->d_k, half, 1.0f / sqrtf((float)(m->sizes.d_model / m->sizes.h))};
    const void *values = (const char *)keys + m->width * (half ? sizeof(uint16_t) : sizeof(float));
    m->kernels->attend(q, keys, values, offset, n, &heads, w->weights, w->longest, y);
    for (int i = m->sizes.h * m->d_k; i < m->width; i++) y[i] = 0.0f; /* padding, never garbage */
}

/* The same for all n queries of a long text, 64 at a time, as products: S = K Q^T / sqrt(d_k), a
   softmax over its columns, and V^T S. qkv (n, 3 width), y (n, width) */
static void attention_of_text(const Model *m, Work *w, const float *qkv, int n, float *y) {
    static const float zeros[BLOCK];
    const float scale = 1.0f / sqrtf((float)(m->sizes.d_model / m->sizes.h));
    const int d_k = m->d_k, stride = 3 * m->width;
    float *queries = w->tiles, *output = queries + d_k * BLOCK, *scores = output + d_k * BLOCK;
    float *values = scores + (int64_t)n * BLOCK;
    const Linear by_query = {.in = d_k, .out = BLOCK, .bias = (float *)zeros, .weight = queries};
    const Linear by_weight = {.in = n, .out = BLOCK, .bias = (float *)zeros, .weight = scores};
    for (int head = 0; head < m->sizes.h; head++, qkv += d_k, y += d_k) {
        const Rows keys = {.x = qkv + m->width, .rows = n, .stride = stride};
        const Rows transposed = {.x = values, .rows = d_k, .stride = n};
        for (int64_t i = 0; i < n; i++) /* V^T */
            for (int j = 0; j < d_k; j++) values[(int64_t)j * n + i] = qkv[i * stride + 2 * m->width + j];
        for (int64_t first = 0; first < n; first += BLOCK) {
            const int count = n - first < BLOCK ? (int)(n - first) : BLOCK;
            memset(queries, 0, sizeof(float) * d_k * BLOCK);
            for (int i = 0; i < count; i++)
                for (int j = 0; j < d_k; j++) queries[j * BLOCK + i] = qkv[(first + i) * stride + j] * scale;
            m->kernels->linear_float(&keys, &by_query, 0, PLAIN, scores, BLOCK);
            m->kernels->softmax_columns(scores, n);
            m->kernels->linear_float(&transposed, &by_weight, 0, PLAIN, output, BLOCK);
            for (int i = 0; i < count; i++)
                for (int j = 0; j < d_k; j++) y[(first + i) * m->width + j] = output[j * BLOCK + i];
        }
    }
    for (int64_t i = 0; i < n; i++) /* y now points behind the last head */
        memset(y + i * m->width, 0, sizeof(float) * (m->width - m->sizes.h * d_k));
}

/* FeedForwardBlock: x + activation(y W_1 + b_1) W_2 + b_2, (rows, d_model) -> (rows, d_model).
   Some rows at a time, so that what lies between the products stays in the cache. */
static void feed_forward(const Model *m, Work *w, const Layer *layer, int rows) {
    const float *y = sublayer_input(m, w, &layer->norms[m->sizes.cross && layer->cross_q.out ? 2 : 1], rows);
    const Epilogue first = m->sizes.activation == RELU ? POSITIVE : PLAIN;
    for (int i = 0; i < rows; i += ROWS_AT_ONCE) {
        const int count = rows - i < ROWS_AT_ONCE ? rows - i : ROWS_AT_ONCE;
        linear(m, w, &layer->linear_1, y + (int64_t)i * m->d_model, m->d_model, count, first, w->wide, m->d_ff);
        if (m->sizes.activation != RELU)
            m->kernels->activate(w->wide, count * m->d_ff, (Activation)m->sizes.activation);
        linear(m, w, &layer->linear_2, w->wide, m->d_ff, count, ADD, w->x + (int64_t)i * m->d_model, m->d_model);
    }
}

/* EncoderBlock: self-attention over each sentence, then the feed-forward block.
   x: (tokens, d_model) of sentences one after another; wide: (tokens, 3 width) q, k, v */
static void encoder_block(const Model *m, Work *w, const Layer *layer, const int64_t *start, int sentences) {
    const int rows = (int)start[sentences], stride = 3 * m->width;
    linear(m, w, &layer->qkv, sublayer_input(m, w, &layer->norms[0], rows), m->d_model, rows, PLAIN, w->wide, stride);
    for (int s = 0; s < sentences; s++) {
        float *first = w->wide + start[s] * stride;
        const int n = (int)(start[s + 1] - start[s]);
        for (int i = 0; m->rotary && i < n; i++) {
            rotate(m, first + (int64_t)i * stride, i);
            rotate(m, first + (int64_t)i * stride + m->width, i);
        }
        if (n > FEW_KEYS) attention_of_text(m, w, first, n, w->y + start[s] * m->width);
        for (int i = 0; n <= FEW_KEYS && i < n; i++)
            multi_head_attention(m, w, first + (int64_t)i * stride, first + m->width, 0, w->steps, n,
                                 w->y + (start[s] + i) * m->width);
    }
    linear(m, w, &layer->out, w->y, m->width, rows, ADD, w->x, m->d_model);
    after_sublayer(m, w, &layer->norms[0], rows);
    feed_forward(m, w, layer, rows);
    after_sublayer(m, w, &layer->norms[1], rows);
}

/* one id at its position -> x: embedding + position, (d_model,) */
static int embed(const Model *m, const float *embedding, const float *positions, int vocab, int len,
                 int32_t id, int position, float *x) {
    if (id < 0 || id >= vocab || position < 0 || position >= len) return BAD_ID;
    const float *token = embedding + (int64_t)id * m->d_model, *place = positions + (int64_t)position * m->d_model;
    m->kernels->add(token, place, m->d_model, 1.0f, x);
    return OK;
}

void encode_embedded(const Model *m, Work *w, const int64_t *start, int sentences) {
    for (int64_t i = 0; i < w->src_len; i++) w->steps[i] = i * 3 * m->width;
    for (int n = 0; n < m->sizes.encoder_layers; n++) encoder_block(m, w, &m->layers[n], start, sentences);
    if (m->norms[0].alpha) layer_normalization(m, &m->norms[0], w->x, (int)start[sentences], w->x);
}

int encode(const Model *m, Work *w, const int32_t *ids, const int64_t *start, int sentences) {
    for (int s = 0; s < sentences; s++)
        for (int64_t i = start[s]; i < start[s + 1]; i++)
            if (embed(m, m->src_embedding, m->src_positions, m->sizes.src_vocab, m->sizes.src_len, ids[i],
                      (int)(i - start[s]), w->x + i * m->d_model)) return BAD_ID;
    encode_embedded(m, w, start, sentences);
    return is_finite(w->x, start[sentences] * m->d_model) ? OK : NOT_FINITE;
}

/* Keys and values are kept in float32, or beside 8-bit weights in float16: at the batch sizes of a
   translator they are most of what a step reads from memory. */
static void keep(const Model *m, const float *from, int64_t n, void *kept, int64_t at) {
    if (m->sizes.int8) m->kernels->to_half(from, (int)n, (uint16_t *)kept + at);
    else memcpy((float *)kept + at, from, sizeof(float) * n);
}

static const void *kept_at(const Model *m, const void *kept, int64_t at) {
    return m->sizes.int8 ? (const void *)((const uint16_t *)kept + at) : (const void *)((const float *)kept + at);
}

void remember(const Model *m, Work *w, const int64_t *start, int sentences, const int *slot) {
    const int rows = (int)start[sentences], stride = 2 * m->width;
    for (int n = 0; n < m->sizes.decoder_layers; n++) {
        const Layer *layer = &m->layers[m->sizes.encoder_layers + n];
        linear(m, w, &layer->cross_kv, w->x, m->d_model, rows, PLAIN, w->wide, stride);
        for (int s = 0; s < sentences; s++) {
            const int64_t layers = m->sizes.decoder_layers, to = (slot[s] * layers + n) * w->src_len * stride;
            keep(m, w->wide + start[s] * stride, (start[s + 1] - start[s]) * stride, w->memory, to);
            w->memory_len[slot[s]] = (int)(start[s + 1] - start[s]);
        }
    }
}

/* Masked self-attention: each row adds its key and value to the cache and sees its past. */
static void self_attention(const Model *m, Work *w, const Layer *layer, int n, const DecoderRows *rows) {
    const int stride = 3 * m->width;
    const int64_t beam = (int64_t)w->tgt_len * 2 * m->width, slot = beam * w->beams, first = n * slot * w->slots;
    linear(m, w, &layer->qkv, sublayer_input(m, w, &layer->norms[0], rows->count), m->d_model, rows->count,
           PLAIN, w->wide, stride);
    for (int i = 0; i < rows->count; i++)
        keep(m, w->wide + (int64_t)i * stride + m->width, 2 * m->width, w->cache,
             first + rows->slot[i] * slot + rows->beam[i] * beam + (int64_t)rows->position[i] * 2 * m->width);
    for (int i = 0; i < rows->count; i++)
        multi_head_attention(m, w, w->wide + (int64_t)i * stride,
                             kept_at(m, w->cache, first + rows->slot[i] * slot), m->sizes.int8,
                             w->past + (int64_t)i * w->tgt_len, rows->position[i] + 1,
                             w->y + (int64_t)i * m->width);
    linear(m, w, &layer->out, w->y, m->width, rows->count, ADD, w->x, m->d_model);
    after_sublayer(m, w, &layer->norms[0], rows->count);
}

/* Cross-attention: each row queries the remembered keys and values of its source sentence. */
static void cross_attention(const Model *m, Work *w, const Layer *layer, int n, const DecoderRows *rows) {
    const int64_t layers = m->sizes.decoder_layers, size = (int64_t)w->src_len * 2 * m->width;
    linear(m, w, &layer->cross_q, sublayer_input(m, w, &layer->norms[1], rows->count), m->d_model, rows->count,
           PLAIN, w->wide, m->width);
    for (int i = 0; i < rows->count; i++) {
        const int length = w->memory_len[rows->slot[i]];
        multi_head_attention(m, w, w->wide + (int64_t)i * m->width,
                             kept_at(m, w->memory, (rows->slot[i] * layers + n) * size), m->sizes.int8,
                             w->steps, length, w->y + (int64_t)i * m->width);
        for (int head = 0; w->capture && head < m->sizes.h; head++)
            memcpy(w->capture + (((int64_t)n * m->sizes.h + head) * rows->count + i) * length,
                   w->weights + (int64_t)head * w->longest, sizeof(float) * length);
    }
    linear(m, w, &layer->cross_out, w->y, m->width, rows->count, ADD, w->x, m->d_model);
    after_sublayer(m, w, &layer->norms[1], rows->count);
}

/* DecoderBlock: masked self-attention, cross-attention if there is a source, feed-forward. */
static void decoder_block(const Model *m, Work *w, int n, const DecoderRows *rows) {
    const Layer *layer = &m->layers[m->sizes.encoder_layers + n];
    self_attention(m, w, layer, n, rows);
    if (m->sizes.cross) cross_attention(m, w, layer, n, rows);
    feed_forward(m, w, layer, rows->count);
    after_sublayer(m, w, &layer->norms[m->sizes.cross ? 2 : 1], rows->count);
}

int decode(const Model *m, Work *w, const DecoderRows *rows) {
    for (int i = 0; i < rows->count; i++)
        if (embed(m, m->tgt_embedding, m->tgt_positions, m->sizes.tgt_vocab, m->sizes.tgt_len, rows->token[i],
                  rows->position[i], w->x + (int64_t)i * m->d_model)) return BAD_ID;
    for (int64_t i = 0; i < w->src_len; i++) w->steps[i] = i * 2 * m->width;
    for (int n = 0; n < m->sizes.decoder_layers; n++) decoder_block(m, w, n, rows);
    if (m->norms[1].alpha) layer_normalization(m, &m->norms[1], w->x, rows->count, w->x);
    return OK;
}

/* The tokens of this block that are never written lose their logits. */
static void forbid(const Sizes *s, int block, float *logits) {
    const int32_t special[] = {s->pad_id, s->bos_id};
    for (int i = 0; i < 2; i++)
        if (special[i] >= 0 && special[i] / BLOCK == block && is_never_written(s, special[i]))
            logits[special[i] % BLOCK] = -INFINITY;
}

/* ProjectionLayer: logits x W + b in blocks of 64 tokens, which are looked at while they are in the
   cache; log-probabilities are logits minus the log-sum-exp that `best` collects. */
static void project_rows(const Model *m, Work *w, const Linear *l, const float *x, int rows, int with_sum, Best *best,
                         const int32_t *forced, float *forced_logit) {
    const Rows some = rows_for(m, w, l, x, m->d_model, rows);
    for (int block = 0; block < l->out / BLOCK; block++) {
        block_of(m->kernels, l, &some, block, PLAIN, w->logits, BLOCK);
        for (int i = 0; i < rows; i++) {
            if (!with_sum) forbid(&m->sizes, block, w->logits + i * BLOCK);
            m->kernels->collect(w->logits + i * BLOCK, block * BLOCK, with_sum, &best[i]);
            if (forced && forced[i] / BLOCK == block) forced_logit[i] = w->logits[i * BLOCK + forced[i] % BLOCK];
        }
    }
}

/* No logit differs from its approximation by more than |x - x'| |w| + |x'| |w - w'|, where x' and w' are rounded
   (Cauchy-Schwarz), and the rounding errors of float32 sums. x (n,) of this length, `off` |x - x'|; `most` the
   largest |w|, |w - w'| and bias. */
static inline float logit_error(const float *most, float length, float off, int n) {
    const float unit = (float)n * FLT_EPSILON;
    return most[0] * (off + unit * length) + most[1] * (length + off) + most[2] * 4 * FLT_EPSILON;
}

/* What no logit of each block is larger than, from 8-bit or 4-bit products. */
static void bound_logits(const Model *m, Work *w, const Linear *l, const float *x, int rows) {
    const int blocks = l->out / BLOCK;
    const Rows some = rows_for(m, w, l, x, m->d_model, rows);
    float length[ROWS_AT_ONCE], off[ROWS_AT_ONCE];
    for (int i = 0; i < rows; i++, x += m->d_model)
        length[i] = length_of(x, m->d_model), off[i] = rounding_error(w->scale[i], l->in);
    for (int block = 0; block < blocks; block++) {
        block_of(m->kernels, l, &some, block, PLAIN, w->logits, BLOCK);
        for (int i = 0; i < rows; i++) {
            float *logits = w->logits + i * BLOCK;
            if (l->error) m->kernels->add(l->error + block * BLOCK, logits, BLOCK, length[i] + off[i], logits);
            float bound = m->kernels->largest(logits);
            if (l->largest) bound += logit_error(l->largest + block * 3, length[i], off[i], l->in);
            w->bounds[i * blocks + block] = bound <= FLT_MAX ? bound : INFINITY; /* NaN excludes nothing */
        }
    }
}

/* The same as project_rows without sums: exact logits only of the blocks that can hold one of the
   best, those with the largest bounds first. */
static void project_screened(const Model *m, Work *w, const Linear *screen, const float *x, int rows, Best *best) {
    const int blocks = screen->out / BLOCK;
    bound_logits(m, w, screen, x, rows);
    for (int i = 0; i < rows; i++) {
        const Rows one = {.x = x + (int64_t)i * m->d_model, .x8 = w->x8 + (int64_t)i * m->d_model,
                          .scale = w->scale + i, .rows = 1, .stride = m->d_model};
        float *bounds = w->bounds + i * blocks;
        for (;;) {
            int block = 0;
            for (int b = 1; b < blocks; b++) block = bounds[b] > bounds[block] ? b : block;
            const int full = best[i].found == best[i].wanted;
            if (!(bounds[block] > (full ? best[i].logit[best[i].found - 1] : -INFINITY))) break;
            block_of(m->kernels, &m->projection, &one, block, PLAIN, w->logits, BLOCK);
            forbid(&m->sizes, block, w->logits);
            m->kernels->collect(w->logits, block * BLOCK, 0, &best[i]);
            bounds[block] = -INFINITY;
        }
    }
}

/* Candidates of 16-bit logits -> the `wanted` best ones, and the largest terms of the sum, exactly; 0 where
   rounding may have hidden one of the best. */
static int correct(const Model *m, const float *x, float scale, Best *best) {
    const Linear *l = &m->sum;
    const int n = m->d_model, half = m->projection.half != NULL, known = best->found;
    const float error = logit_error(l->largest, length_of(x, n), rounding_error(scale, n), n);
    if (!(error <= FLT_MAX)) return 0;
    const float others = known < best->wanted + SPARE ? -INFINITY : best->logit[known - 1] + error;
    best->found = 0;
    for (int i = 0; i < known; i++) {
        const int32_t token = best->token[i];
        const float about = best->logit[i];
        const float logit = m->kernels->inner_product(x, m->rows, (int64_t)token * n, n, half) + l->bias[token];
        if (i < EXACT_TERMS) best->sum[0] += expf(logit - best->max) - expf(about - best->max);
        int to = best->found++;
        for (; to > 0 && best->logit[to - 1] < logit; to--)
            best->logit[to] = best->logit[to - 1], best->token[to] = best->token[to - 1];
        best->logit[to] = logit, best->token[to] = token;
    }
    if (known > best->wanted) best->found = best->wanted;
    return known == best->found || best->logit[best->found - 1] > others;
}

/* The same as project_rows with sums and about half the work: logits are approximated in 16 bits, with errors of
   1e-5 |x| |w| that nearly cancel in the sum; the largest are exact. */
static void project_with_sum(const Model *m, Work *w, const float *x, int rows, Best *best) {
    for (int i = 0; i < rows; i++) best[i].wanted += SPARE;
    project_rows(m, w, &m->sum, x, rows, 1, best, NULL, NULL);
    for (int i = 0; i < rows; i++) best[i].wanted -= SPARE;
    for (int i = 0; i < rows; i++) {
        const float *own = x + (int64_t)i * m->d_model;
        if (correct(m, own, w->scale[i], &best[i])) continue;
        best[i] = (Best){.wanted = best[i].wanted, .token = best[i].token, .logit = best[i].logit, .max = -INFINITY};
        project_rows(m, w, &m->projection, own, 1, 1, &best[i], NULL, NULL);
    }
}

void project(const Model *m, Work *w, int rows, int with_sum, Best *best, const int32_t *forced,
             float *forced_logit) {
    for (int first = 0; first < rows; first += ROWS_AT_ONCE) {
        const int count = rows - first < ROWS_AT_ONCE ? rows - first : ROWS_AT_ONCE;
        const float *x = w->x + (int64_t)first * m->d_model;
        const Linear *screen = count <= FEW_ROWS_4 && m->screen4.out ? &m->screen4 : &m->screen;
        if (screen->out && !with_sum && !forced) project_screened(m, w, screen, x, count, best + first);
        else if (m->sum.out && with_sum && !forced) project_with_sum(m, w, x, count, best + first);
        else project_rows(m, w, &m->projection, x, count, with_sum, best + first, forced ? forced + first : NULL,
                          forced ? forced_logit + first : NULL);
    }
}

void project_all(const Model *m, Work *w, int rows, float *logits) {
    linear(m, w, &m->projection, w->x, m->d_model, rows, PLAIN, logits, m->projection.out);
}

int is_finite(const float *x, int64_t n) {
    float total = 0.0f; /* 0 x is NaN where x is not finite */
    for (int64_t i = 0; i < n; i++) total += 0.0f * x[i];
    return total == 0.0f;
}
