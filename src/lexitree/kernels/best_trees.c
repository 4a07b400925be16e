/* The best tree of each of many sentences by the scores of their spans: the CKY algorithm; see parsers/best_trees.py.

   Spans are in the order of ChartOrder: by width, then by start. Returns 0, NO_MEMORY or WRONG_INDICES. */
#include "products.h"

INLINE long row_of(long num_words, long start, long width) {
    return (width - 1) * num_words - (width - 1) * (width - 2) / 2 + start;
}

/* The first of the best labels of one span; only a word may have label 0, no phrase. */
INLINE long best_label(const real *scores, long num_labels, int is_word) {
    long best = is_word ? 0 : 1;
    for (long label = best + 1; label < num_labels; label++)
        if (scores[label] > scores[best]) best = label;
    return best;
}

/* Where the best sum of a left and a right part of a span is split; `lefts` and `rights` are those of its parts by width. */
INLINE long best_split(const real *lefts, const real *rights, long num_splits, real *sum) {
    long best = 0;
    *sum = lefts[0] + rights[0];
    for (long split = 1; split < num_splits; split++) {
        const real found = lefts[split] + rights[split];
        if (found > *sum) {
            *sum = found;
            best = split;
        }
    }
    return best;
}

/* From scores [spans, sentences, labels], fills splits, labels and is_closed [spans, sentences] and best_scores [sentences]. */
EXPORT(best_trees)(const real *scores, int64_t num_words, int64_t num_sentences, int64_t num_labels, const int64_t *lengths,
                   int64_t *splits, int64_t *labels, uint8_t *is_closed, real *best_scores) {
    /* No sentence is longer than the longest, and a phrase needs a label besides 0. */
    if (num_labels < 2 || !are_below(lengths, num_sentences, num_words + 1)) return WRONG_INDICES;
    /* Of each span as a left part, by its start, and as a right part, by its end: those of one border side by side. */
    real *lefts = allocate(2 * num_words * num_words), *rights = lefts + num_words * num_words;
    if (!lefts) return NO_MEMORY;
    for (long sentence = 0; sentence < num_sentences; sentence++) {
        for (long width = 1; width <= num_words; width++)
            for (long start = 0; start + width <= num_words; start++) {
                const long cell = row_of(num_words, start, width) * num_sentences + sentence;
                splits[cell] = labels[cell] = is_closed[cell] = 0;
                if (start + width > lengths[sentence]) continue;
                const real *span = scores + cell * num_labels;
                labels[cell] = best_label(span, num_labels, width == 1);
                const real as_phrase = span[labels[cell]], as_part = span[0];
                is_closed[cell] = as_phrase >= as_part;
                real sum = 0;
                const long end = start + width;
                /* The right part of split k has width - 1 - k words: those of one end stand from the widest on. */
                if (width > 1)
                    splits[cell] = best_split(lefts + start * num_words, rights + end * num_words - width + 1, width - 1, &sum);
                lefts[start * num_words + width - 1] = sum + (width == 1 || as_phrase > as_part ? as_phrase : as_part);
                rights[end * num_words - width] = sum + as_phrase;
            }
        const long length = lengths[sentence];
        best_scores[sentence] = rights[length * num_words - length];
    }
    free(lefts);
    return 0;
}
