/* Weights into the layout of the kernels, and the memory of a thread. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#if defined(_WIN32) /* has other functions for aligned memory */
#include <malloc.h>
#define aligned_alloc(alignment, size) _aligned_malloc(size, alignment)
#define aligned_free _aligned_free
#else
#define aligned_free free
#endif

enum { ENCODER, DECODER };
/* Which matrix or vector of a layer; the same numbers as in model.py. */
enum { QKV, OUT, CROSS_Q, CROSS_KV, CROSS_OUT, LINEAR_1, LINEAR_2, PROJECTION };

static int64_t larger_size(int64_t a, int64_t b) { return a > b ? a : b; }
static int padded(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

/* Elements of an array, or a number that no memory holds where they overflow. */
static int64_t elements(int64_t a, int64_t b, int64_t c) {
    int64_t product;
    const int64_t most = (int64_t)1 << 48;
    const int overflows = __builtin_mul_overflow(a, b, &product) || __builtin_mul_overflow(product, c, &product);
    return overflows || product > most ? most : product;
}

static void *aligned(int64_t bytes) {
    const size_t size = ((size_t)bytes + 63) / 64 * 64;
    void *memory = aligned_alloc(64, size ? size : 64);
    return memory;
}

static int sane(const Sizes *s) {
    const int32_t most = 1 << 24;
    const int32_t all[] = {s->d_model, s->h, s->d_ff, s->encoder_layers, s->decoder_layers, s->src_vocab,
                           s->tgt_vocab, s->src_len, s->tgt_len};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] < 0 || all[i] > most) return 0;
    return s->d_model > 0 && s->h > 0 && s->d_model % s->h == 0 && s->encoder_layers + s->decoder_layers <= 4096 &&
           s->activation >= NO_ACTIVATION && s->activation <= SWISH && (int64_t)s->d_model * s->d_ff <= INT32_MAX;
}

void clearhead_model_free(Model *m);

EXPORT Model *clearhead_model_new(const Sizes *sizes, const char *kernels) {
    const Kernels *table = kernels_named(kernels);
    if (!table || !sane(sizes)) return NULL;
    Model *m = calloc(1, sizeof(Model));
    if (!m) return NULL;
    m->sizes = *sizes;
    m->kernels = table;
    m->d_model = padded(sizes->d_model, BLOCK);
    m->d_k = padded(sizes->d_model / sizes->h, 16);
    m->width = padded(sizes->h * m->d_k, BLOCK);
    m->d_ff = padded(sizes->d_ff, BLOCK);
    m->layers = calloc((size_t)(sizes->encoder_layers + sizes->decoder_layers) + 1, sizeof(Layer));
    if (m->layers) return m;
    clearhead_model_free(m);
    return NULL;
}

static Linear *linear_of(Model *m, int layer, int which) {
    if (which == PROJECTION) return &m->projection;
    if (layer < 0 || layer >= m->sizes.encoder_layers + m->sizes.decoder_layers) return NULL;
    Layer *l = &m->layers[layer];
    Linear *all[] = {&l->qkv, &l->out, &l->cross_q, &l->cross_kv, &l->cross_out, &l->linear_1, &l->linear_2};
    return which >= QKV && which <= LINEAR_2 ? all[which] : NULL;
}

/* The padded sizes that a matrix must come in: (out, in). */
static void shape_of(const Model *m, int which, int *out, int *in) {
    const int width = m->width, d = m->d_model;
    const int outs[] = {3 * width, d, width, 2 * width, d, m->d_ff, d, padded(m->sizes.tgt_vocab, BLOCK)};
    const int ins[] = {d, width, d, d, width, d, m->d_ff, d};
    *out = outs[which];
    *in = ins[which];
}

/* w (out, in) -> float32 blocks (out / 64, in, 64) */
static int pack_float(Linear *l, const float *w) {
    l->weight = aligned((int64_t)l->out * l->in * sizeof(float));
    if (!l->weight) return NO_MEMORY;
    for (int o = 0; o < l->out; o++) {
        float *to = l->weight + (int64_t)(o / BLOCK) * BLOCK * l->in + o % BLOCK;
        for (int i = 0; i < l->in; i++) to[(int64_t)i * BLOCK] = w[(int64_t)o * l->in + i];
    }
    return OK;
}

static int pack_half(Linear *l, const uint16_t *w) {
    l->half = aligned((int64_t)l->out * l->in * sizeof(uint16_t));
    if (!l->half) return NO_MEMORY;
    for (int o = 0; o < l->out; o++) {
        uint16_t *to = l->half + (int64_t)(o / BLOCK) * BLOCK * l->in + o % BLOCK;
        for (int i = 0; i < l->in; i++) to[(int64_t)i * BLOCK] = w[(int64_t)o * l->in + i];
    }
    return OK;
}

/* Three of the values in `largest` become at least these; a bias that is not finite is that of padding. */
static void enlarge(float *largest, float length, float error, float bias) {
    const float all[] = {length, error, isfinite(bias) ? fabsf(bias) : 0.0f};
    for (int i = 0; i < 3; i++) largest[i] = all[i] > largest[i] ? all[i] : largest[i];
}

/* Takes output o, packed from `row`, into account in `largest`. */
static void enlarge_block(Linear *l, int o, const float *row) {
    const int8_t *packed = l->weight8 + (int64_t)(o / BLOCK) * BLOCK * l->in + o % BLOCK * 4;
    double length = 0.0, error = 0.0;
    for (int i = 0; i < l->in; i++) {
        const double off = row[i] - (double)l->scale[o] * packed[(int64_t)(i / 4) * BLOCK * 4 + i % 4];
        length += (double)row[i] * row[i], error += off * off;
    }
    enlarge(l->largest + o / BLOCK * 3, (float)sqrt(length), (float)sqrt(error), l->bias[o]);
}

/* w (out, in), float32 or float16 -> int8 blocks (out / 64, in / 4, 64, 4): round(w / scale), scale =
   max|w| / 127 of each output */
static int pack_int8(const Kernels *k, Linear *l, const void *w, int half) {
    float *widened = half ? aligned(l->in * sizeof(float)) : NULL;
    l->weight8 = aligned((int64_t)l->out * l->in);
    l->scale = aligned(l->out * sizeof(float));
    l->shift = aligned(l->out * sizeof(int32_t));
    if (!l->weight8 || !l->scale || !l->shift || (half && !widened)) return aligned_free(widened), NO_MEMORY;
    for (int o = 0; o < l->out; o++) {
        const float *row = half ? widened : (const float *)w + (int64_t)o * l->in;
        if (half) k->widen((const uint16_t *)w + (int64_t)o * l->in, l->in, widened);
        float most = 0.0f;
        for (int i = 0; i < l->in; i++) most = fabsf(row[i]) > most ? fabsf(row[i]) : most;
        const float inverse = most > SMALLEST ? 127.0f / most : 0.0f;
        int8_t *to = l->weight8 + (int64_t)(o / BLOCK) * BLOCK * l->in + o % BLOCK * 4;
        int32_t sum = 0;
        for (int i = 0; i < l->in; i++) {
            const float magic = 12582912.0f; /* rounds halves to even, as the kernels do */
            const int8_t whole = (int8_t)((row[i] * inverse + magic) - magic);
            to[(int64_t)(i / 4) * BLOCK * 4 + i % 4] = whole;
            sum += whole;
        }
        l->scale[o] = most / 127.0f;
        l->shift[o] = sum * k->offset;
        if (l->largest) enlarge_block(l, o, row);
    }
    aligned_free(widened);
    return OK;
}

/* The projection beside float32 weights as an approximation in int8. */
static int pack_screen(Model *m, const void *w, int half) {
    Linear *l = &m->screen;
    *l = (Linear){.in = m->projection.in, .out = m->projection.out, .bias = m->projection.bias};
    const int64_t size = l->out / BLOCK * 3 * sizeof(float);
    l->largest = aligned(size);
    if (!l->largest) return NO_MEMORY;
    memset(l->largest, 0, size);
    return pack_int8(m->kernels, l, w, half);
}

/* 8-bit weights as round(w / 16). No logit is larger than its 4-bit product plus `error` times the length of x
   (Cauchy-Schwarz); a little more for float32's rounding. */
static int pack_int4(const Kernels *k, const Linear *whole, Linear *l) {
    const int in = whole->in, out = whole->out;
    *l = (Linear){.in = in, .out = out, .scale = whole->scale, .largest = whole->largest};
    l->bias = aligned(out * sizeof(float));
    l->weight4 = aligned((int64_t)out * in / 2);
    l->shift = aligned(out * sizeof(int32_t));
    l->error = aligned(out * sizeof(float));
    if (!l->bias || !l->weight4 || !l->shift || !l->error) return NO_MEMORY;
    memset(l->weight4, 0, (int64_t)out * in / 2);
    for (int o = 0; o < out; o++) {
        const int8_t *row = whole->weight8 + (int64_t)(o / BLOCK) * BLOCK * in + o % BLOCK * 4;
        uint8_t *to = l->weight4 + (int64_t)(o / BLOCK) * BLOCK * in / 2 + o % BLOCK * 4;
        const float bias = whole->bias[o];
        int32_t sum = 0;
        double error = 0.0, length = 0.0;
        for (int i = 0; i < in; i++) {
            const int exact = row[(int64_t)(i / 4) * BLOCK * 4 + i % 4];
            const int rounded = exact > 119 ? 7 : (exact + 128 + 8) / 16 - 8;
            to[(int64_t)(i / 8) * BLOCK * 4 + i % 4] |= (uint8_t)((rounded & 15) << (i % 8 < 4 ? 0 : 4));
            sum += 16 * rounded;
            length += exact * exact, error += (exact - 16 * rounded) * (exact - 16 * rounded);
        }
        l->shift[o] = sum * k->offset;
        l->error[o] = l->scale[o] * (float)(1.0001 * sqrt(error) + 1e-5 * sqrt(length)) + SMALLEST;
        l->bias[o] = isfinite(bias) ? bias + 4 * FLT_EPSILON * fabsf(bias) : bias;
    }
    return OK;
}

/* The projection beside float32 weights in int16, and as it is, row by row. */
static int pack_sum(Model *m, const void *w, int half) {
    const int in = m->projection.in, out = m->projection.out;
    Linear *l = &m->sum;
    *l = (Linear){.in = in, .out = out, .bias = m->projection.bias};
    float *widened = half ? aligned(in * sizeof(float)) : NULL;
    int16_t *whole = aligned(in * sizeof(int16_t));
    l->weight16 = aligned((int64_t)out * in * sizeof(int16_t));
    l->scale = aligned(out * sizeof(float));
    l->largest = aligned(3 * sizeof(float));
    const int64_t bytes = (int64_t)out * in * (half ? sizeof(uint16_t) : sizeof(float));
    m->rows = aligned(bytes);
    const int ready = (!half || widened) && whole && l->weight16 && l->scale && l->largest && m->rows;
    if (ready) memcpy(m->rows, w, bytes), memset(l->largest, 0, 3 * sizeof(float));
    for (int o = 0; ready && o < out; o++) {
        const float *row = half ? widened : (const float *)w + (int64_t)o * in;
        if (half) m->kernels->widen((const uint16_t *)w + (int64_t)o * in, in, widened);
        l->scale[o] = quantize16(row, in, LENGTH_OF_W, whole);
        int16_t *to = l->weight16 + (int64_t)(o / BLOCK) * BLOCK * in + o % BLOCK * 2;
        for (int i = 0; i < in; i++) to[(int64_t)(i / 2) * BLOCK * 2 + i % 2] = whole[i];
        enlarge(l->largest, length_of(row, in), rounding_error(l->scale[o], in), l->bias[o]);
    }
    aligned_free(widened), aligned_free(whole);
    return ready ? OK : NO_MEMORY;
}

static int widen(const Model *m, Linear *l) {
    const int64_t n = (int64_t)l->out * l->in;
    if (!l->half || l->weight) return OK;
    float *weight = aligned(n * sizeof(float));
    if (!weight) return NO_MEMORY;
    m->kernels->widen(l->half, n, weight);
    __atomic_store_n(&l->weight, weight, __ATOMIC_RELEASE); /* searches may run meanwhile */
    return OK;
}

/* float32 beside float16 weights, for batches; only one thread at a time may do this. */
EXPORT int clearhead_widen(Model *m) {
    for (int n = 0; n < m->sizes.encoder_layers + m->sizes.decoder_layers; n++)
        for (int which = QKV; which <= LINEAR_2; which++)
            if (widen(m, linear_of(m, n, which))) return NO_MEMORY;
    return widen(m, &m->projection);
}

static int copy(float **to, const float *from, int n) {
    *to = aligned(n * sizeof(float));
    if (!*to) return NO_MEMORY;
    memcpy(*to, from, n * sizeof(float));
    return OK;
}

/* What finds the best tokens faster than the projection itself. */
static int pack_approximations(Model *m, const void *w, int half) {
    const Kernels *k = m->kernels;
    const int int8 = m->sizes.int8;
    if (!int8 && !k->fast_int8) return OK;
    if (!int8 && k->linear_int16 && m->projection.in <= MOST_INPUTS_16 && pack_sum(m, w, half)) return NO_MEMORY;
    if (!int8 && pack_screen(m, w, half)) return NO_MEMORY;
    return k->linear_int4 ? pack_int4(k, int8 ? &m->projection : &m->screen, &m->screen4) : OK;
}

/* weight (out, in), float32, or float16 (`half`) unless the model is int8; bias (out,). Both are
   padded with zeros, the bias of the projection with -inf. Each may be set once. */
EXPORT int clearhead_set_linear(Model *m, int layer, int which, const void *weight, int half,
                                const float *bias, int out, int in) {
    Linear *l = linear_of(m, layer, which);
    int wanted_out, wanted_in;
    if (!l || l->bias) return BAD_SIZE;
    shape_of(m, which, &wanted_out, &wanted_in);
    if (out != wanted_out || in != wanted_in || (half && m->sizes.int8)) return BAD_SIZE;
    l->out = out;
    l->in = in;
    if (copy(&l->bias, bias, out)) return NO_MEMORY;
    if (m->sizes.int8 ? pack_int8(m->kernels, l, weight, 0) : half ? pack_half(l, weight) : pack_float(l, weight))
        return NO_MEMORY;
    return which == PROJECTION ? pack_approximations(m, weight, half) : OK;
}

/* layer -1 and -2: the final norms of encoder and decoder. alpha and bias (padded d_model,) */
EXPORT int clearhead_set_norm(Model *m, int layer, int which, const float *alpha, const float *bias, int n) {
    const int layers = m->sizes.encoder_layers + m->sizes.decoder_layers;
    if (n != m->d_model || which < 0 || which > 2 || layer < -2 || layer >= layers) return BAD_SIZE;
    Norm *norm = layer < 0 ? &m->norms[-1 - layer] : &m->layers[layer].norms[which];
    if (norm->alpha) return BAD_SIZE;
    return copy(&norm->alpha, alpha, n) || copy(&norm->bias, bias, n) ? NO_MEMORY : OK;
}

/* The caller keeps these tables (rows, padded d_model) alive. */
EXPORT void clearhead_set_tables(Model *m, const float *src_embedding, const float *tgt_embedding,
                          const float *src_positions, const float *tgt_positions, const float *rotary) {
    m->src_embedding = src_embedding;
    m->tgt_embedding = tgt_embedding;
    m->src_positions = src_positions;
    m->tgt_positions = tgt_positions;
    m->rotary = rotary;
}

/* y (rows, out) of one product alone, for the tests of the kernels. */
EXPORT int clearhead_product(Model *m, int layer, int which, const float *x, int rows, float *y) {
    const Linear *l = linear_of(m, layer, which);
    Work w = {.rows = rows, .decoder_rows = 1, .slots = 1, .beams = 1, .src_len = 1, .tgt_len = 1};
    if (!l || !l->bias || rows < 1) return BAD_SIZE;
    if (work_new(m, &w)) return NO_MEMORY;
    linear(m, &w, l, x, l->in, rows, (Epilogue){-INFINITY, 0}, y, l->out);
    work_free(&w);
    return OK;
}

static void linear_free(Linear *l) {
    aligned_free(l->bias), aligned_free(l->weight), aligned_free(l->half), aligned_free(l->weight8);
    aligned_free(l->weight4), aligned_free(l->weight16), aligned_free(l->error), aligned_free(l->scale);
    aligned_free(l->shift), aligned_free(l->largest);
}

static void norm_free(Norm *n) { aligned_free(n->alpha), aligned_free(n->bias); }

EXPORT void clearhead_model_free(Model *m) {
    if (!m) return;
    for (int n = 0; m->layers && n < m->sizes.encoder_layers + m->sizes.decoder_layers; n++) {
        for (int which = QKV; which <= LINEAR_2; which++) linear_free(linear_of(m, n, which));
        for (int i = 0; i < 3; i++) norm_free(&m->layers[n].norms[i]);
    }
    m->screen.bias = m->sum.bias = m->screen4.scale = m->screen4.largest = NULL; /* another's */
    linear_free(&m->projection), linear_free(&m->screen), linear_free(&m->screen4), linear_free(&m->sum);
    aligned_free(m->rows);
    for (int i = 0; i < 2; i++) norm_free(&m->norms[i]);
    free(m->layers);
    free(m);
}

/* The capacities of `work` are set; NO_MEMORY leaves nothing allocated. */
int work_new(const Model *m, Work *w) {
    const int64_t rows = w->rows, some = rows < ROWS_AT_ONCE ? rows : ROWS_AT_ONCE;
    const int64_t kv = 2 * m->width * (m->sizes.int8 ? sizeof(uint16_t) : sizeof(float));
    const int64_t wide = larger_size(rows * 3 * m->width, some * m->d_ff);
    const int widest = larger_size(larger_size(m->d_model, m->width), m->d_ff);
    const int longest = w->longest = padded(larger_size(w->src_len, w->tgt_len), BLOCK);
    w->x = aligned(rows * m->d_model * sizeof(float));
    w->y = aligned(rows * larger_size(m->d_model, m->width) * sizeof(float));
    w->wide = aligned(wide * sizeof(float));
    w->logits = aligned(some * BLOCK * sizeof(float));
    w->bounds = aligned(some * (m->projection.out / BLOCK) * sizeof(float));
    w->weights = aligned((int64_t)m->sizes.h * longest * sizeof(float));
    w->scale = aligned(some * sizeof(float));
    w->x8 = aligned(some * widest);
    w->x16 = aligned(some * m->sum.in * sizeof(int16_t));
    w->tiles = aligned(((int64_t)m->d_k * (2 * BLOCK + w->src_len) + (int64_t)w->src_len * BLOCK) * sizeof(float));
    w->memory = aligned(elements((int64_t)w->slots * m->sizes.cross, (int64_t)m->sizes.decoder_layers * w->src_len, kv));
    w->cache = aligned(elements((int64_t)m->sizes.decoder_layers * w->tgt_len, (int64_t)w->slots * w->beams, kv));
    w->memory_len = aligned(w->slots * sizeof(int));
    w->steps = aligned((int64_t)longest * sizeof(int64_t));
    w->past = aligned((int64_t)w->decoder_rows * w->tgt_len * sizeof(int64_t));
    if (w->x && w->y && w->wide && w->logits && w->bounds && w->weights && w->scale && w->x8 && w->x16 && w->tiles &&
        w->memory && w->cache && w->memory_len && w->steps && w->past) {
        memset(w->memory_len, 0, w->slots * sizeof(int)); /* no slot has a source */
        return OK;
    }
    work_free(w);
    return NO_MEMORY;
}

void work_free(Work *w) {
    void *all[] = {w->x, w->y, w->wide, w->logits, w->bounds, w->weights, w->scale, w->x8, w->x16, w->tiles, w->memory,
                   w->cache, w->memory_len, w->steps, w->past};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) aligned_free(all[i]);
    memset(w, 0, sizeof *w);
}
