/* The int8 product in vectors of 8 sums, for kernels that define dot and TILE_ROWS. */
static inline __m256i four_bytes(const uint8_t *x) {
    int32_t word;
    memcpy(&word, x, 4);
    return _mm256_set1_epi32(word);
}

#define NAME(x) int8_##x
#define INPUT uint8_t
#define INPUTS __m256i
#define INPUTS_A_STEP 4
#define MOST_INPUTS INT32_MAX
#define WEIGHT int8_t
#define WEIGHTS __m256i
#define STRIDE (4 * BLOCK)
#define ACCUMULATOR __m256i
#define LOAD(w, j) _mm256_loadu_si256((const __m256i *)((w) + (j) * 4 * WIDTH))
#define BROADCAST(x) four_bytes(x)
#define MULTIPLY_ADD(c, a, b) dot(c, a, b)
#define SHIFT(j) _mm256_loadu_si256((const __m256i *)(linear->shift + column + (j) * WIDTH))
#define FINISH(c, r, j) \
    (_mm256_cvtepi32_ps(_mm256_sub_epi32(c, SHIFT(j))) * \
     (SPLAT(scale_x[r]) * load(linear->scale + column + (j) * WIDTH)) + load(linear->bias + column + (j) * WIDTH))
#include "tile.h"
