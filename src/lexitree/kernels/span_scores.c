/* The scores of all labels for all spans of many sentences, from what stands between their words; no gradients.

   Spans are in the order of ChartOrder: by width, then by start. Returns 0 or NO_MEMORY. */
#include "products.h"

INLINE real sum_lanes(vector values) {
    real sum = 0;
    for (long lane = 0; lane < LANES; lane++) sum += values[lane];
    return sum;
}

/* relu(layer_norm(last - first + bias)) of one span. */
static void make_features(long size, const real *first, const real *last, const real *bias, const real *gain,
                          const real *shift, real epsilon, real *features) {
    vector sums = {0}, squares = {0};
    FOR_EACH_VECTOR(size) {
        const vector apart = load_some(last + at, left) - load_some(first + at, left) + load_some(bias + at, left);
        store_some(features + at, apart, left);
        sums += apart;
    }
    const real mean = sum_lanes(sums) / size;
    FOR_EACH_VECTOR(size) {
        vector apart = load_some(features + at, left) - mean;
        if (left < LANES) { /* what lies behind the row is not the mean away from it */
            real rest[LANES];
            store(rest, apart);
            apart = load_first(rest, left);
        }
        squares += apart * apart;
    }
    const real spread = 1 / __builtin_sqrt(sum_lanes(squares) / size + epsilon);
    FOR_EACH_VECTOR(size) {
        const vector scaled = (load_some(features + at, left) - mean) * spread;
        const vector normal = scaled * load_some(gain + at, left) + load_some(shift + at, left);
        store_some(features + at, choose(normal < 0, (vector){0}, normal), left);
    }
}

/* Fills scores [spans, sentences, labels] from ends [words + 1, sentences, size]. */
EXPORT(span_scores)(const real *ends, const real *bias, const real *gain, const real *shift, const real *labels,
                    const real *label_bias, double epsilon, int64_t size, int64_t num_labels, int64_t num_words,
                    int64_t num_sentences, real *scores) {
    const long label_size = packed_size(size, num_labels);
    real *memory = allocate(label_size + ROW_BLOCK * size);
    if (!memory) return NO_MEMORY;
    const Factor times_labels = packed_factor(memory, size, num_labels);
    pack_transposed(times_labels, 0, labels, size, size);
    real *features = memory + label_size;
    long waiting = 0;
    for (long width = 1; width <= num_words; width++)
        for (long start = 0; start + width <= num_words; start++)
            for (long sentence = 0; sentence < num_sentences; sentence++) {
                make_features(size, ends + (start * num_sentences + sentence) * size,
                              ends + ((start + width) * num_sentences + sentence) * size, bias, gain, shift, (real)epsilon,
                              features + waiting * size);
                const int is_last = width == num_words && sentence == num_sentences - 1;
                if (++waiting < ROW_BLOCK && !is_last) continue;
                multiply(features, size, waiting, times_labels, label_bias, 0, scores, num_labels);
                scores += waiting * num_labels;
                waiting = 0;
            }
    free(memory);
    return 0;
}
