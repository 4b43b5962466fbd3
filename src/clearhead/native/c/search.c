/* Greedy and beam search with continuous batching: finished sentences leave, new ones enter.

   A thread calls clearhead_search; threads share a Job and take the next sentences from it. */
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

typedef struct {
    int32_t beam_size, n_best, no_repeat_ngram, min_length, early_stopping, scores, slots;
    double length_penalty;
} Options;

/* Sentences to translate, longest first, and room for what is found. */
typedef struct {
    const int32_t *ids;
    const int64_t *start;  /* (sentences + 1,) */
    const int32_t *limit;  /* (sentences,) most tokens, EOS included */
    int32_t sentences, room;
    _Atomic int32_t next, stop;
    int32_t *found;        /* (sentences, n_best, room) tokens, EOS left out */
    int32_t *length;       /* (sentences, n_best); -1: no such hypothesis */
    float *score;          /* (sentences, n_best) sum of log-probabilities; NaN without `scores` */
    double *normalized;    /* (sentences, n_best) score / tokens^length_penalty */
    int32_t *finished;     /* (sentences, n_best) 0 where the limit came before EOS */
} Job;

typedef struct {
    float score;
    int32_t beam, token;
} Candidate;

/* One sentence being written. `ids` and `origin` are (beam_size, room) each: what a hypothesis has
   written, and in which beam's cache the keys of each of its positions lie. */
typedef struct {
    int sentence, age, limit, living, count; /* count: hypotheses that ever finished */
    int32_t *ids, *origin, *spare_ids, *spare_origin;
    float *score;
} Slot;

typedef struct {
    const Model *m;
    const Options *o;
    Job *job;
    Work work;
    Slot *slots;
    int active, room;
    int32_t *token, *position, *slot, *beam;  /* (rows,) of one step */
    Best *best;                               /* (rows,) */
    Candidate *candidates;                    /* (2 beam_size,) */
    int64_t *encode_start;
    void *blocks[16];
    int allocated;
} Search;

static void *take(Search *s, size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    return s->blocks[s->allocated++] = block;
}

/* Whether the scores are asked for, or needed to compare hypotheses. */
static int with_sum(const Search *s) { return s->o->scores || s->o->beam_size > 1; }

/* Candidates of a hypothesis, so that one is left when some are banned; a sum includes padding and BOS. */
static int wanted(const Search *s, int age) {
    const int banned = 2 * with_sum(s) + (s->o->min_length > age) + (s->o->no_repeat_ngram ? age : 0);
    return (s->o->beam_size == 1 ? 1 : 2 * s->o->beam_size) + banned;
}

enum { ENCODE_TOKENS = 384 }; /* tokens that the encoder reads together, at least one sentence */

static int search_new(Search *s, int longest) {
    const int slots = s->o->slots, beams = s->o->beam_size, rows = slots * beams;
    const int tokens = longest > ENCODE_TOKENS ? longest : ENCODE_TOKENS;
    const int most = wanted(s, s->room - 1) + 1 + SPARE; /* EOS before min_length; spare candidates */
    s->work = (Work){.rows = rows > tokens ? rows : tokens, .decoder_rows = rows, .slots = slots,
                     .beams = beams, .src_len = longest, .tgt_len = s->room};
    if (work_new(s->m, &s->work)) return NO_MEMORY;
    s->slots = take(s, slots, sizeof(Slot));
    s->token = take(s, 4 * (size_t)rows, sizeof(int32_t));
    s->best = take(s, rows, sizeof(Best));
    s->candidates = take(s, 2 * (size_t)beams, sizeof(Candidate));
    s->encode_start = take(s, slots + 1, sizeof(int64_t));
    int32_t *ids = take(s, 4 * (size_t)rows * s->room, sizeof(int32_t));
    float *scores = take(s, rows, sizeof(float)), *logits = take(s, (size_t)rows * most, sizeof(float));
    int32_t *tokens_of = take(s, (size_t)rows * most, sizeof(int32_t));
    for (int i = 0; i < s->allocated; i++)
        if (!s->blocks[i]) return NO_MEMORY;
    s->position = s->token + rows, s->slot = s->position + rows, s->beam = s->slot + rows;
    for (int i = 0; i < slots; i++) {
        int32_t *own = ids + 4 * (size_t)i * beams * s->room;
        const size_t size = (size_t)beams * s->room;
        s->slots[i] = (Slot){.sentence = -1, .ids = own, .origin = own + size, .spare_ids = own + 2 * size,
                             .spare_origin = own + 3 * size, .score = scores + (size_t)i * beams};
    }
    for (int i = 0; i < rows; i++)
        s->best[i] = (Best){.token = tokens_of + (size_t)i * most, .logit = logits + (size_t)i * most};
    return OK;
}

static void search_free(Search *s) {
    for (int i = 0; i < s->allocated; i++) free(s->blocks[i]);
    work_free(&s->work);
}

/* The `count` sentences from `first` on are encoded and put into free slots. */
static int enter(Search *s, int first, int count, const int *slot) {
    const int64_t begin = s->job->start[first];
    for (int i = 0; i <= count; i++) s->encode_start[i] = s->job->start[first + i] - begin;
    const int failed = encode(s->m, &s->work, s->job->ids + begin, s->encode_start, count);
    if (failed) return failed;
    remember(s->m, &s->work, s->encode_start, count, slot);
    for (int i = 0; i < count; i++) {
        Slot *new = &s->slots[slot[i]];
        new->sentence = first + i;
        new->limit = s->job->limit[first + i];
        new->age = new->count = 0;
        new->living = 1;
        new->score[0] = 0.0f;
        for (int n = 0; n < s->o->n_best; n++) s->job->length[(int64_t)(first + i) * s->o->n_best + n] = -1;
    }
    s->active += count;
    return OK;
}

/* Free slots are filled, some sentences of like length at a time. */
static int refill(Search *s) {
    Job *job = s->job;
    int slot[ENCODE_TOKENS], count = 0, first = 0;
    int64_t tokens = 0;
    for (int i = 0; i < s->o->slots; i++) {
        if (s->slots[i].sentence >= 0) continue;
        const int next = atomic_fetch_add(&job->next, 1);
        if (next >= job->sentences) break;
        const int64_t length = job->start[next + 1] - job->start[next];
        if (count && (next != first + count || tokens + length > ENCODE_TOKENS)) {
            const int failed = enter(s, first, count, slot);
            if (failed) return failed;
            count = 0, tokens = 0;
        }
        if (!count) first = next;
        slot[count++] = i;
        tokens += length;
    }
    return count ? enter(s, first, count, slot) : OK;
}

/* The decoder reads the last token of every living hypothesis and ranks the next ones. */
static int advance(Search *s) {
    const Work *w = &s->work;
    int rows = 0;
    for (int i = 0; i < s->o->slots; i++) {
        const Slot *slot = &s->slots[i];
        for (int b = 0; slot->sentence >= 0 && b < slot->living; b++, rows++) {
            int32_t *origin = slot->origin + (int64_t)b * s->room;
            s->token[rows] = slot->age ? slot->ids[(int64_t)b * s->room + slot->age - 1] : s->m->sizes.bos_id;
            s->position[rows] = slot->age, s->slot[rows] = i, s->beam[rows] = b;
            origin[slot->age] = b;
            for (int64_t p = 0; p <= slot->age; p++)
                w->past[(int64_t)rows * w->tgt_len + p] = (origin[p] * (int64_t)w->tgt_len + p) * 2 * s->m->width;
            s->best[rows].wanted = wanted(s, slot->age);
            s->best[rows].found = 0, s->best[rows].max = -INFINITY;
            memset(s->best[rows].sum, 0, sizeof s->best[rows].sum);
        }
    }
    const DecoderRows all = {rows, s->token, s->position, s->slot, s->beam};
    const int failed = decode(s->m, &s->work, &all);
    if (failed) return failed;
    project(s->m, &s->work, rows, with_sum(s), s->best, NULL, NULL);
    for (int i = 0; i < rows; i++)
        if (!s->best[i].found || !(s->best[i].logit[0] <= FLT_MAX)) return NOT_FINITE;
    return OK;
}

/* Whether the last n - 1 tokens and this one stand in the history already. */
static int repeats(const int32_t *ids, int age, int n, int32_t token) {
    for (int end = n - 1; end < age; end++)
        if (ids[end] == token && !memcmp(ids + end - n + 1, ids + age - n + 1, sizeof(int32_t) * (n - 1))) return 1;
    return 0;
}

static int allowed(const Search *s, const int32_t *ids, int age, int32_t token) {
    const Sizes *sizes = &s->m->sizes;
    if (token == sizes->eos_id && age < s->o->min_length) return 0;
    if (is_never_written(sizes, token)) return 0;
    return !s->o->no_repeat_ngram || !repeats(ids, age, s->o->no_repeat_ngram, token);
}

/* The best continuations of one hypothesis join the candidates of its sentence. */
static int continue_with(Search *s, const Slot *slot, int beam, const Best *best, int found, int most) {
    const int32_t *ids = slot->ids + (int64_t)beam * s->room;
    const float total = slot->score[beam] - log_sum_exp(best);
    int permitted = 0;
    for (int i = 0; i < best->found; i++) permitted += allowed(s, ids, slot->age, best->token[i]);
    for (int i = 0; i < best->found; i++) {
        /* Where every token is forbidden, EOS is free. */
        if (permitted ? !allowed(s, ids, slot->age, best->token[i]) : best->token[i] != s->m->sizes.eos_id) continue;
        const float score = total + best->logit[i];
        if (found == most && score <= s->candidates[most - 1].score) break;
        int to = found < most ? found++ : most - 1;
        for (; to > 0 && s->candidates[to - 1].score < score; to--) s->candidates[to] = s->candidates[to - 1];
        s->candidates[to] = (Candidate){score, beam, best->token[i]};
    }
    return found;
}

static double normalize(float score, int length, double alpha) { return score / pow(length, alpha); }

/* Puts a hypothesis among the n_best of its sentence, behind those as good. */
static void keep(Search *s, Slot *slot, float score, int length, int tokens, const int32_t *ids, int finished) {
    const int n_best = s->o->n_best;
    Job *job = s->job;
    const int64_t base = (int64_t)slot->sentence * n_best;
    const double rank = normalize(score, length, s->o->length_penalty);
    int to = 0;
    while (to < n_best && job->length[base + to] >= 0 &&
           (job->finished[base + to] > finished ||
            (job->finished[base + to] == finished && job->normalized[base + to] >= rank)))
        to++;
    if (to == n_best) return;
    for (int i = n_best - 1; i > to; i--) {
        const int64_t a = base + i, b = base + i - 1;
        job->length[a] = job->length[b], job->score[a] = job->score[b];
        job->normalized[a] = job->normalized[b], job->finished[a] = job->finished[b];
        if (job->length[b] > 0)
            memcpy(job->found + a * job->room, job->found + b * job->room, sizeof(int32_t) * job->length[b]);
    }
    job->length[base + to] = tokens, job->score[base + to] = score;
    job->normalized[base + to] = rank, job->finished[base + to] = finished;
    memcpy(job->found + (base + to) * job->room, ids, sizeof(int32_t) * tokens);
}

/* Greedy search: the likeliest token; the sentence ends with EOS or at its limit. */
static int step_greedy(Search *s, Slot *slot, int first_row) {
    const int found = continue_with(s, slot, 0, &s->best[first_row], 0, 1);
    const int32_t token = found ? s->candidates[0].token : s->m->sizes.eos_id;
    slot->score[0] = found ? s->candidates[0].score : -INFINITY;
    const int ends = token == s->m->sizes.eos_id;
    slot->ids[slot->age++] = token;
    if (!ends && slot->age < slot->limit) return 0;
    keep(s, slot, s->o->scores ? slot->score[0] : NAN, slot->age, slot->age - ends, slot->ids, ends);
    return 1;
}

/* No unfinished hypothesis can overtake the n_best finished ones: scores only fall, so one of score
   s that ends at a length n <= limit reaches at most max s / n^alpha. */
static int is_settled(const Search *s, const Slot *slot) {
    const double alpha = s->o->length_penalty;
    const int64_t last = (int64_t)slot->sentence * s->o->n_best + s->o->n_best - 1;
    if (!slot->living || slot->age >= slot->limit) return 1;
    if (s->o->early_stopping && slot->count >= s->o->beam_size) return 1;
    return s->job->length[last] >= 0 &&
           s->job->normalized[last] >= normalize(slot->score[0], alpha >= 0 ? slot->limit : slot->age + 1, alpha);
}

/* Beam search: of the 2K best continuations those that end among the first K are finished, and
   the K best others go on. */
static int step_beam(Search *s, Slot *slot, int first_row) {
    const int K = s->o->beam_size, room = s->room, age = slot->age;
    int found = 0, living = 0;
    for (int b = 0; b < slot->living; b++) found = continue_with(s, slot, b, &s->best[first_row + b], found, 2 * K);
    for (int i = 0; i < found && i < K; i++) {
        const Candidate *c = &s->candidates[i];
        if (c->token != s->m->sizes.eos_id || !(c->score > -INFINITY)) continue;
        slot->count++;
        keep(s, slot, c->score, age + 1, age, slot->ids + (int64_t)c->beam * room, 1);
    }
    for (int i = 0; i < found && living < K; i++) {
        const Candidate *c = &s->candidates[i];
        if (c->token == s->m->sizes.eos_id || !(c->score > -INFINITY)) continue;
        const int64_t to = (int64_t)living * room, from = (int64_t)c->beam * room;
        memcpy(slot->spare_ids + to, slot->ids + from, sizeof(int32_t) * age);
        memcpy(slot->spare_origin + to, slot->origin + from, sizeof(int32_t) * (age + 1));
        slot->spare_ids[to + age] = c->token;
        slot->score[living++] = c->score;
    }
    int32_t *ids = slot->ids, *origin = slot->origin;
    slot->ids = slot->spare_ids, slot->spare_ids = ids;
    slot->origin = slot->spare_origin, slot->spare_origin = origin;
    slot->living = living;
    slot->age++;
    if (!is_settled(s, slot)) return 0;
    for (int b = 0; b < living && s->job->length[((int64_t)slot->sentence + 1) * s->o->n_best - 1] < 0; b++)
        keep(s, slot, slot->score[b], slot->age, slot->age, slot->ids + (int64_t)b * room, 0);
    return 1;
}

static int run(Search *s) {
    while (!atomic_load(&s->job->stop)) {
        const int free_slots = s->o->slots - s->active;
        if (free_slots * 8 >= s->o->slots && atomic_load(&s->job->next) < s->job->sentences) {
            const int failed = refill(s);
            if (failed) return failed;
        }
        if (!s->active) return OK;
        const int failed = advance(s);
        if (failed) return failed;
        for (int i = 0, row = 0; i < s->o->slots; i++) {
            Slot *slot = &s->slots[i];
            if (slot->sentence < 0) continue;
            const int living = slot->living;
            if (s->o->beam_size == 1 ? step_greedy(s, slot, row) : step_beam(s, slot, row))
                slot->sentence = -1, s->active--;
            row += living;
        }
    }
    return OK;
}

/* Translates sentences of the job until none is left; one call per thread. */
EXPORT int clearhead_search(const Model *m, const Options *o, Job *job) {
    if (!job->sentences) return OK;
    int64_t longest = 0, room = 1;
    for (int i = 0; i < job->sentences; i++) {
        const int64_t length = job->start[i + 1] - job->start[i];
        if (length < 1 || length > m->sizes.src_len || job->limit[i] < 1 || job->limit[i] > m->sizes.tgt_len ||
            job->limit[i] > job->room) return BAD_SIZE;
        longest = length > longest ? length : longest;
        room = job->limit[i] > room ? job->limit[i] : room;
    }
    if (o->beam_size < 1 || o->n_best < 1 || o->n_best > o->beam_size || o->slots < 1 || o->slots > ENCODE_TOKENS ||
        o->beam_size > 1024 || o->no_repeat_ngram < 0) return BAD_SIZE;
    Search s = {.m = m, .o = o, .job = job, .room = (int)room};
    int failed = search_new(&s, (int)longest);
    if (!failed) failed = run(&s);
    if (failed) atomic_store(&job->stop, 1);
    search_free(&s);
    return failed;
}
