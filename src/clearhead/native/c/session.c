/* One step at a time, for sampling in Python, for forced scoring and for encoders. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* Sentences being written, one in each slot, and what they look back at. */
typedef struct {
    const Model *m;
    Work work;
    int rows;     /* of the last call, whose hidden states are in work.x */
    int *written; /* (slots,) positions whose keys and values are in the cache */
} Session;

EXPORT void clearhead_session_free(Session *s) {
    if (s) work_free(&s->work), free(s->written);
    free(s);
}

/* Room for `rows` tokens at once, slots of tgt_len positions, sources of src_len tokens. */
EXPORT Session *clearhead_session_new(const Model *m, int rows, int slots, int src_len, int tgt_len) {
    if (rows < 1 || slots < 1 || src_len < 1 || tgt_len < 1 || tgt_len > m->sizes.tgt_len) return NULL;
    if (!m->sizes.cross) src_len = 1;
    if (m->sizes.cross && src_len > m->sizes.src_len) return NULL;
    Session *s = calloc(1, sizeof(Session));
    if (!s) return NULL;
    s->m = m;
    s->work = (Work){.rows = rows, .decoder_rows = rows, .slots = slots, .beams = 1, .src_len = src_len,
                     .tgt_len = tgt_len};
    s->written = calloc(slots, sizeof(int));
    if (s->written && work_new(m, &s->work) == OK) return s;
    clearhead_session_free(s);
    return NULL;
}

/* Reads the source of slot 0, 1 …; start (sentences + 1,) */
EXPORT int clearhead_session_source(Session *s, const int32_t *ids, const int64_t *start, int sentences) {
    if (!s->m->sizes.cross || sentences < 1 || sentences > s->work.slots || start[sentences] > s->work.rows)
        return BAD_SIZE;
    for (int i = 0; i < sentences; i++)
        if (start[i + 1] - start[i] < 1 || start[i + 1] - start[i] > s->work.src_len) return BAD_SIZE;
    s->rows = 0;
    const int failed = encode(s->m, &s->work, ids, start, sentences);
    for (int i = 0; !failed && i < sentences; i++) s->work.memory_len[i] = 0;
    int *slot = malloc(sizeof(int) * sentences);
    if (!slot) return NO_MEMORY;
    for (int i = 0; i < sentences; i++) slot[i] = i;
    if (!failed) remember(s->m, &s->work, start, sentences, slot);
    free(slot);
    return failed;
}

/* The decoder reads `count` tokens, each at its position of its slot; those before it in the slot
   were read earlier or come before it in this call. capture: (layers, h, count, source tokens) attention
   weights of the only slot, or NULL. */
EXPORT int clearhead_session_decode(Session *s, int count, const int32_t *token, const int32_t *position,
                                    const int32_t *slot, float *capture) {
    Work *w = &s->work;
    if (count < 1 || count > w->decoder_rows) return BAD_SIZE;
    for (int i = 0; i < count; i++)
        if (slot[i] < 0 || slot[i] >= w->slots || position[i] < 0 || position[i] >= w->tgt_len ||
            (s->m->sizes.cross && !w->memory_len[slot[i]])) return BAD_SIZE;
    int32_t *beam = calloc((size_t)count + w->slots, sizeof(int32_t)), *before = beam ? beam + count : NULL;
    if (!beam) return NO_MEMORY;
    memcpy(before, s->written, sizeof(int) * w->slots);
    int failed = OK;
    for (int i = 0; i < count; i++) {
        if (position[i] > s->written[slot[i]]) failed = BAD_ID; /* the one before it is unknown */
        else if (position[i] == s->written[slot[i]]) s->written[slot[i]]++;
    }
    for (int i = 0; i < count; i++)
        for (int64_t p = 0; p <= position[i]; p++) w->past[(int64_t)i * w->tgt_len + p] = p * 2 * s->m->width;
    const DecoderRows rows = {count, token, position, slot, beam};
    w->capture = capture;
    if (!failed) failed = decode(s->m, w, &rows);
    if (failed) memcpy(s->written, before, sizeof(int) * w->slots);
    s->rows = failed ? 0 : count;
    w->capture = NULL;
    free(beam);
    return failed;
}

/* Only these rows of the last call are looked at further, ascending. */
EXPORT int clearhead_session_keep(Session *s, const int32_t *rows, int count) {
    const size_t size = sizeof(float) * s->m->d_model;
    for (int i = 0; i < count; i++) {
        if (rows[i] < i || rows[i] >= s->rows) return BAD_SIZE;
        memmove(s->work.x + (int64_t)i * s->m->d_model, s->work.x + (int64_t)rows[i] * s->m->d_model, size);
    }
    s->rows = count;
    return OK;
}

/* logits (rows, padded vocabulary) of the first rows of the last call; -inf in the padding */
EXPORT int clearhead_session_logits(Session *s, int rows, float *logits) {
    if (rows < 1 || rows > s->rows || !s->m->projection.out) return BAD_SIZE;
    project_all(s->m, &s->work, rows, logits);
    return OK;
}

/* The likeliest token of each row (without `forced` neither padding nor BOS), and the log-probability of the
   token `forced` if that is given. */
EXPORT int clearhead_session_best(Session *s, int rows, int32_t *token, const int32_t *forced, float *score) {
    if (rows < 1 || rows > s->rows || !s->m->projection.out) return BAD_SIZE;
    for (int i = 0; forced && i < rows; i++)
        if (forced[i] < 0 || forced[i] >= s->m->sizes.tgt_vocab) return BAD_ID;
    Best *best = calloc(rows, sizeof(Best));
    float *logit = calloc(rows, sizeof(float));
    const int ready = best && logit;
    for (int i = 0; ready && i < rows; i++)
        best[i] = (Best){.wanted = 1, .token = token + i, .logit = logit + i, .max = -INFINITY};
    if (ready) project(s->m, &s->work, rows, forced != NULL, best, forced, score);
    for (int i = 0; ready && forced && i < rows; i++) score[i] -= log_sum_exp(&best[i]);
    int finite = 1;
    for (int i = 0; ready && i < rows; i++) finite = finite && best[i].found;
    free(best), free(logit);
    return !ready ? NO_MEMORY : finite ? OK : NOT_FINITE;
}

/* Hidden states of texts whose embeddings are in x (tokens, padded d_model), in place. */
EXPORT int clearhead_encode(const Model *m, float *x, const int64_t *start, int texts) {
    int64_t longest = 1;
    for (int i = 0; i < texts; i++) {
        const int64_t length = start[i + 1] - start[i];
        if (length < 1 || length > m->sizes.src_len) return BAD_SIZE;
        longest = length > longest ? length : longest;
    }
    if (texts < 1 || start[texts] > INT32_MAX / m->d_model) return BAD_SIZE;
    Work w = {.rows = (int)start[texts], .decoder_rows = 1, .slots = 1, .beams = 1, .src_len = (int)longest,
              .tgt_len = 1};
    if (work_new(m, &w)) return NO_MEMORY;
    const size_t bytes = sizeof(float) * start[texts] * m->d_model;
    memcpy(w.x, x, bytes);
    encode_embedded(m, &w, start, texts);
    memcpy(x, w.x, bytes);
    const int finite = is_finite(x, start[texts] * m->d_model);
    work_free(&w);
    return finite ? OK : NOT_FINITE;
}
