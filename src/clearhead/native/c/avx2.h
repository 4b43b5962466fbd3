/* Vectors of 8 floats, for the kernels with AVX2 and with AVX-VNNI, which define OFFSET and PACK_BYTES. */
#define WIDTH 8
#define COLUMNS 2
#define IN_REGISTER(v) __asm__("" : "+x"(v));
#define SPLAT(x) _mm256_set1_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define LARGER(a, b) _mm256_max_ps(a, b)
#define SUM(v) sum_of(v)
#define LARGEST(v) largest_of(v)
#define ABOVE(v, x) (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(v, SPLAT(x), _CMP_GT_OQ))
#define SUM_4(to, a, b, c, d, factor) _mm_storeu_ps(to, _mm_mul_ps(sum_4(a, b, c, d), _mm_set1_ps(factor)))
#define LOAD_HALF(x) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x)))
#define STORE_HALF(to, v) _mm_storeu_si128((__m128i *)(to), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT))
#define STORE_BYTES(to, whole) store_bytes((to), (__m256i)(whole))

static inline float sum_of(__m256 v) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
static inline float largest_of(__m256 v) {
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
static inline __m128 sum_4(__m256 a, __m256 b, __m256 c, __m256 d) {
    const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    return _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
}
static inline void store_bytes(uint8_t *to, __m256i whole) {
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64((__m128i *)to, PACK_BYTES(words, words));
}
#include "vector.h"

#define NAME(x) float_##x
#define TILE_ROWS 6
#define INPUT float
#define INPUTS __m256
#define INPUTS_A_STEP 1
#define WEIGHT float
#define WEIGHTS __m256
#define STRIDE BLOCK
#define ACCUMULATOR __m256
#define LOAD(w, j) _mm256_loadu_ps((w) + (j) * WIDTH)
#define BROADCAST(x) _mm256_broadcast_ss(x)
#define MULTIPLY_ADD(c, a, b) _mm256_fmadd_ps(a, b, c)
#define FINISH(c, r, j) (c + load(bias + (j) * WIDTH))
#define MOST_INPUTS 1024
#include "tile.h"

#define NAME(x) half_##x
#define TILE_ROWS 6
#define INPUT float
#define INPUTS __m256
#define INPUTS_A_STEP 1
#define MOST_INPUTS 1024
#define WEIGHT uint16_t
#define WEIGHTS __m256
#define STRIDE BLOCK
#define ACCUMULATOR __m256
#define LOAD(w, j) LOAD_HALF((w) + (j) * WIDTH)
#define BROADCAST(x) SPLAT(*(x))
#define MULTIPLY_ADD(c, a, b) FMA(a, b, c)
#define FINISH(c, r, j) (c + load(bias + (j) * WIDTH))
#include "tile.h"
