/* What kernels return, and the checks of the numbers in arrays of indices: each takes a moment, and no other memory than
   that of the arrays is ever read or written. The sizes of the arrays are compared before (signatures.py). */
#ifndef LEXITREE_INDICES_H
#define LEXITREE_INDICES_H

#include <stdint.h>

#define NO_MEMORY 1
#define WRONG_INDICES 2

/* Whether all of some numbers are from 0 up to the limit, which is not among them. */
static inline int are_below(const int64_t *numbers, int64_t count, int64_t limit) {
    int64_t wrong = 0;
    for (int64_t k = 0; k < count; k++) wrong |= numbers[k] < 0 || numbers[k] >= limit;
    return !wrong;
}

/* Whether levels, which begin at their offsets, follow each other from `first` to `last`. */
static inline int are_levels(const int64_t *offset, int64_t num_levels, int64_t first, int64_t last) {
    if (num_levels < 0 || first < 0 || offset[0] != first || offset[num_levels] != last) return 0;
    for (int64_t level = 0; level < num_levels; level++)
        if (offset[level] > offset[level + 1]) return 0;
    return 1;
}

/* Whether each phrase has two children in levels below its own. */
static inline int are_trees(const int64_t *level_offset, int64_t num_levels, int64_t num_leaves, int64_t num_nodes,
                            const int64_t *children) {
    if (!are_levels(level_offset, num_levels, num_leaves, num_nodes)) return 0;
    for (int64_t level = 0; level < num_levels; level++) {
        const int64_t first = level_offset[level], end = level_offset[level + 1];
        if (!are_below(children + 2 * (first - num_leaves), 2 * (end - first), first)) return 0;
    }
    return 1;
}

#endif
