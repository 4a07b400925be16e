/* The tokens, the parse and the phrases of a sentence as JSON; see results/json_writing.py, which writes the same in Python.

   Numbers need no vectors here, so this is compiled once for all processors. */
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define FIXED_ROOM 256   /* more than the keys, brackets and whole numbers of one token or phrase take */
#define NUMBER_ROOM 16   /* more than any other number takes: -0.123456 */
#define LARGEST 1000999L /* of what is a number from -1 to 1 but for rounding */

INLINE char *add(char *out, const char *from, long size) {
    memcpy(out, from, (size_t)size);
    return out + size;
}

#define ADD(out, literal) add(out, literal, sizeof(literal) - 1)

INLINE char *add_whole(char *out, int64_t number) {
    char digits[20];
    long first = sizeof digits;
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return add(out, digits + first, (long)sizeof digits - first);
}

/* A number of millionths as Python writes the float: 0.5, 0.000123, and 1.2e-05 for what is smaller. */
INLINE char *add_millionths(char *out, int32_t number) {
    if (number < 0) *out++ = '-';
    const long rest = number < 0 ? -(long)number : number;
    if (rest > 0 && rest < 100) {
        const long first = rest < 10 ? rest : rest / 10, second = rest < 10 ? 0 : rest % 10;
        *out++ = (char)('0' + first);
        if (second) {
            *out++ = '.';
            *out++ = (char)('0' + second);
        }
        return rest < 10 ? ADD(out, "e-06") : ADD(out, "e-05");
    }
    const long high = rest / 1000 % 1000, low = rest % 1000;
    out[0] = (char)('0' + rest / 1000000);
    out[1] = '.';
    out[2] = (char)('0' + high / 100);
    out[3] = (char)('0' + high / 10 % 10);
    out[4] = (char)('0' + high % 10);
    out[5] = (char)('0' + low / 100);
    out[6] = (char)('0' + low / 10 % 10);
    out[7] = (char)('0' + low % 10);
    long size = 8;
    while (size > 3 && out[size - 1] == '0') size--;
    return out + size;
}

/* The tokens of a sentence: where they stand in the document and, `shift` less, in the sentence's text, which is written as
   JSON has it. The starts of all tokens come first, then their ends. */
typedef struct {
    const int64_t *positions, *places;
    int64_t count, shift;
    const char *text;
} Tokens;

INLINE const char *start_of(const Tokens *tokens, long token) { return tokens->text + tokens->places[token] - tokens->shift; }
INLINE const char *end_of(const Tokens *tokens, long token) { return start_of(tokens, tokens->count + token); }

/* Whether all tokens lie inside the text, one after the other. */
static int are_inside(const Tokens *tokens, int64_t text_size) {
    int64_t reached = 0;
    for (long token = 0; token < tokens->count; token++) {
        const int64_t start = tokens->places[token] - tokens->shift, end = tokens->places[tokens->count + token] - tokens->shift;
        if (start < reached || end < start || tokens->positions[token] < 0 || tokens->positions[tokens->count + token] < 0) return 0;
        reached = end;
    }
    return reached <= text_size;
}

INLINE char *add_span(char *out, const Tokens *tokens, long first, long last) {
    out = add_whole(ADD(out, "{\"start\": "), tokens->positions[first]);
    out = add_whole(ADD(out, ", \"end\": "), tokens->positions[tokens->count + last]);
    const char *start = start_of(tokens, first);
    return ADD(add(ADD(out, ", \"text\": \""), start, end_of(tokens, last) - start), "\"");
}

/* The words and numbers of labels: what stands before the probability of the likeliest label, for each label; before each of all
   probabilities; and before the score. Piece k lies from borders[k] to borders[k + 1]. */
typedef struct {
    const char *text;
    const int64_t *borders;
    int64_t num_labels, has_scores;
} Pieces;

INLINE char *add_piece(char *out, const Pieces *pieces, long number) {
    return add(out, pieces->text + pieces->borders[number], pieces->borders[number + 1] - pieces->borders[number]);
}

/* row [labels + 4]: the likeliest label and, in millionths, its probability, all probabilities, score and head's share. */
INLINE char *add_labels(char *out, const Pieces *pieces, const int32_t *row) {
    const long num_labels = pieces->num_labels;
    out = add_millionths(add_piece(out, pieces, row[0]), row[1]);
    for (long label = 0; label < num_labels; label++)
        out = add_millionths(add_piece(out, pieces, num_labels + label), row[label + 2]);
    out = add_piece(out, pieces, 2 * num_labels);
    return pieces->has_scores ? add_millionths(out, row[num_labels + 2]) : ADD(out, "null");
}

static int are_numbers(const int32_t *row, long count) {
    for (long k = 0; k < count; k++)
        if (row[k] < -LARGEST || row[k] > LARGEST) return 0;
    return 1;
}

/* Writes to out, which has so much room, and returns how much was written; -1 if there is too little room, or if anything is out
   of its range. Nodes are in pre-order, shape [nodes, 3] are their first word, the word after their last, and what is not read;
   heads [nodes], the numbers of their head words, may be null. Without nodes there are no phrases. */
__attribute__((visibility("default"))) int64_t
lexitree_write_sentence(const int64_t *positions, const int64_t *places, int64_t num_tokens, int64_t shift, const char *text,
                        int64_t text_size, const char *parse, int64_t parse_size, const int32_t *shape, const int64_t *heads,
                        const int32_t *numbers, int64_t num_nodes, const char *piece_text, const int64_t *piece_borders,
                        int64_t num_labels, int64_t has_scores, char *out, int64_t room) {
    const Tokens tokens = {positions, places, num_tokens, shift, text};
    const Pieces pieces = {piece_text, piece_borders, num_labels, has_scores};
    char *const begin = out;
    char *const end = out + room;
    if (!are_inside(&tokens, text_size) || room < FIXED_ROOM) return -1;
    out = ADD(out, "\"tokens\": [");
    for (long token = 0; token < num_tokens; token++) {
        if (end - out < FIXED_ROOM + text_size) return -1;
        if (token) out = ADD(out, ", ");
        out = ADD(add_span(out, &tokens, token, token), "}");
    }
    if (end - out < FIXED_ROOM + parse_size) return -1;
    out = add(ADD(out, "], \"parse\": "), parse, parse_size);
    if (num_nodes == 0) return out - begin;
    out = ADD(out, ", \"phrases\": [");
    const long labels_room = piece_borders[2 * num_labels + 1] + (num_labels + 3) * NUMBER_ROOM;
    for (long node = 0; node < num_nodes; node++) {
        const long first = shape[3 * node], last = shape[3 * node + 1] - 1;
        const int32_t *row = numbers + node * (num_labels + 4);
        if (end - out < FIXED_ROOM + labels_room + 2 * text_size) return -1;
        if (first < 0 || last < first || last >= num_tokens || row[0] < 0 || row[0] >= num_labels) return -1;
        if (!are_numbers(row + 1, num_labels + 3)) return -1;
        if (node) out = ADD(out, ", ");
        out = add_labels(add_span(out, &tokens, first, last), &pieces, row);
        out = ADD(out, ", \"children\": [");
        if (first < last) {
            /* The left part comes right after its phrase; it has two nodes less one for each of its words. */
            if (node + 1 >= num_nodes) return -1;
            const long left_words = shape[3 * (node + 1) + 1] - first;
            if (left_words < 1) return -1;
            out = add_whole(ADD(add_whole(out, node + 1), ", "), node + 2 * left_words);
        }
        out = ADD(out, "]");
        if (heads) {
            const long head = heads[node];
            if (head < 0 || head >= num_tokens) return -1;
            const char *start = start_of(&tokens, head);
            out = add(ADD(out, ", \"head\": \""), start, end_of(&tokens, head) - start);
            out = ADD(add_whole(ADD(out, "\", \"head_index\": "), head), ", \"head_weight\": ");
            out = add_millionths(out, row[num_labels + 3]);
        }
        out = ADD(out, "}");
    }
    return ADD(out, "]") - begin;
}
