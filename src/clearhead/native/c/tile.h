/* y (R, columns) for R = 1 … TILE_ROWS rows and COLUMNS vectors of outputs; included once for each
   type of weights. The accumulators are named variables: arrays of them would live in memory.

   NAME(tile_R), INPUT, WEIGHT, ACCUMULATOR, LOAD(w, j), BROADCAST(x), MULTIPLY_ADD(c, a, b),
   FINISH(c, r, j) and STRIDE, the distance of two steps in the weights, are
   defined outside. */
#ifndef TILE
#define COLUMN_2(OP, r) OP(r, 0) OP(r, 1)
#define COLUMN_4(OP, r) OP(r, 0) OP(r, 1) OP(r, 2) OP(r, 3)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define EACH_COLUMN(OP, r) JOIN(COLUMN_, COLUMNS)(OP, r)
#define EACH_ROW_1(OP) OP(0)
#define EACH_ROW_2(OP) EACH_ROW_1(OP) OP(1)
#define EACH_ROW_3(OP) EACH_ROW_2(OP) OP(2)
#define EACH_ROW_4(OP) EACH_ROW_3(OP) OP(3)
#define EACH_ROW_5(OP) EACH_ROW_4(OP) OP(4)
#define EACH_ROW_6(OP) EACH_ROW_5(OP) OP(5)

#define START_ONE(r, j) ACCUMULATOR c##r##j = {0};
#define START(r) EACH_COLUMN(START_ONE, r) const INPUT *x##r = x + (int64_t)(r) * stride_x;
#define LOAD_ONE(r, j) WEIGHTS b##j = LOAD(w, j); IN_REGISTER(b##j)
#define STEP_ONE(r, j) c##r##j = MULTIPLY_ADD(c##r##j, a##r, b##j);
#define STEP(r) INPUTS a##r = BROADCAST(x##r + k); EACH_COLUMN(STEP_ONE, r)
#define STORE_ONE(r, j) { \
    FLOATS v = FINISH(c##r##j, r, j); \
    FLOATS *to = (FLOATS *)(y + (int64_t)(r) * stride_y + (j) * WIDTH); \
    if (e.add) v += *to; \
    *to = LARGER(v, low); }
#define STORE(r) EACH_COLUMN(STORE_ONE, r)
#define TILE(R) static void NAME(tile_##R)( \
    const INPUT *x, int64_t stride_x, const float *scale_x, const WEIGHT *w, int in, \
    const Linear *linear, int column, const float *bias, Epilogue e, float *y, int64_t stride_y) { \
    const FLOATS low = SPLAT(e.low); \
    (void)scale_x, (void)bias, (void)linear, (void)column; \
    EACH_ROW_##R(START) \
    for (int k = 0; k < in; k += INPUTS_A_STEP, w += STRIDE) { \
        EACH_COLUMN(LOAD_ONE, 0) \
        EACH_ROW_##R(STEP) \
    } \
    EACH_ROW_##R(STORE) }
#endif

TILE(1)
TILE(2)
#if TILE_ROWS >= 4
TILE(3)
TILE(4)
#endif
#if TILE_ROWS == 6
TILE(5)
TILE(6)
#endif

/* All rows of one block of 64 outputs, in tiles of nearly equal height; so many inputs at a time
   that their weights stay in the cache. */
static void NAME(block)(const INPUT *x, const Rows *rows, const Linear *w, const WEIGHT *weight,
                        int block, Epilogue e, float *y, int stride_y) {
    typedef void Tile(const INPUT *, int64_t, const float *, const WEIGHT *, int, const Linear *, int,
                      const float *, Epilogue, float *, int64_t);
    static const float zeros[BLOCK];
    static Tile *const tiles[] = {NULL, NAME(tile_1), NAME(tile_2),
#if TILE_ROWS >= 4
                                  NAME(tile_3), NAME(tile_4),
#endif
#if TILE_ROWS == 6
                                  NAME(tile_5), NAME(tile_6),
#endif
    };
    const int count = (rows->rows + TILE_ROWS - 1) / TILE_ROWS;
    for (int64_t first = 0; first < w->in; first += MOST_INPUTS) {
        const int inputs = w->in - first < MOST_INPUTS ? (int)(w->in - first) : MOST_INPUTS;
        const float *bias = first ? zeros : w->bias + block * BLOCK;
        const Epilogue own = {first + inputs < w->in ? -INFINITY : e.low, first ? 1 : e.add};
        for (int part = 0; part < BLOCK; part += COLUMNS * WIDTH) {
            for (int i = 0, row = 0; i < count; i++) {
                const int height = rows->rows / count + (i < rows->rows % count);
                tiles[height](x + (int64_t)row * rows->stride + first, rows->stride,
                              rows->scale ? rows->scale + row : NULL,
                              weight + first * BLOCK + part * (STRIDE / BLOCK), inputs, w,
                              block * BLOCK + part, bias + part, own, y + (int64_t)row * stride_y + part,
                              stride_y);
                row += height;
            }
        }
    }
}
#undef INPUT
#undef INPUTS
#undef WEIGHT
#undef WEIGHTS
#undef ACCUMULATOR
#undef LOAD
#undef BROADCAST
#undef MULTIPLY_ADD
#undef FINISH
#undef STRIDE
#undef INPUTS_A_STEP
#undef TILE_ROWS
#undef MOST_INPUTS
#undef NAME
