/* The end of every kernel file: its functions as a table. */
static void linear_float(const Rows *x, const Linear *w, int block, Epilogue e, float *y, int stride) {
    float_block(x->x, x, w, w->weight + (int64_t)block * BLOCK * w->in, block, e, y, stride);
}
static void linear_int8(const Rows *x, const Linear *w, int block, Epilogue e, float *y, int stride) {
    int8_block(x->x8, x, w, w->weight8 + (int64_t)block * BLOCK * w->in, block, e, y, stride);
}
#ifdef FAST_INT4
static void linear_int4(const Rows *x, const Linear *w, int block, Epilogue e, float *y, int stride) {
    int4_block(x->x8, x, w, w->weight4 + (int64_t)block * BLOCK * w->in / 2, block, e, y, stride);
}
#else
#define linear_int4 NULL
#endif
#ifdef FAST_INT16
static void linear_int16(const Rows *x, const Linear *w, int block, Epilogue e, float *y, int stride) {
    int16_block(x->x16, x, w, w->weight16 + (int64_t)block * BLOCK * w->in, block, e, y, stride);
}
#else
#define linear_int16 NULL
#endif
static void linear_half(const Rows *x, const Linear *w, int block, Epilogue e, float *y, int stride) {
    half_block(x->x, x, w, w->half + (int64_t)block * BLOCK * w->in, block, e, y, stride);
}
const Kernels TABLE = {TITLE, OFFSET, FAST_INT8, linear_float, linear_int8, linear_int4, linear_int16, linear_half,
                       widen, to_half, quantize, normalize, attend, softmax_columns, activate, add, largest,
                       inner_product, collect};
