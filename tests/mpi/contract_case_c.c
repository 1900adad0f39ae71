/* The case table of tests/contract_cases.toml in C: contract_case_c SCRIPT DIRECTORY ANSWERS. tests/test_contract.py says what the
 * lines of a script mean. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tailrace/tailrace.h>

enum { most_words = 32, most_blocks = 8, most_elements = 256 };

static int rank, ranks, words;
static char *word[most_words];
static const char *directory;
static FILE *answers;
static tailrace_stream *stream;
static tailrace_reader *reader;
static double reals[most_blocks * 2 * most_elements]; /* what is put stays until the step has ended */
static int32_t integers[most_blocks * 2 * most_elements];
static char text[most_elements];
static size_t used;

static int list(const char *numbers, uint64_t *out) { /* "2,3"; "-": none */
    int n = 0;
    if (strcmp(numbers, "-") == 0) return 0;
    for (const char *at = numbers; at != NULL; at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL)
        out[n++] = strtoull(at, NULL, 10);
    return n;
}

static const char *name_of(char *text) { return strcmp(text, "NULL") == 0 ? NULL : text; }

static tailrace_type type_named(const char *name) {
    return strcmp(name, "i4") == 0 ? TAILRACE_I32 : strcmp(name, "f8") == 0 ? TAILRACE_F64 : TAILRACE_CHAR;
}

static tailrace_var_info info_of(const tailrace_definitions *definitions, const char *name) {
    tailrace_var_info info = {.type = TAILRACE_F64};
    int number;
    if (tailrace_inquire_var_id(definitions, name, &number) == TAILRACE_OK) tailrace_inquire_var_info(definitions, number, &info);
    return info;
}

static const tailrace_definitions *defined(void) {
    const tailrace_definitions *definitions = NULL;
    if (stream != NULL) tailrace_get_definitions(stream, &definitions);
    if (reader != NULL) tailrace_read_definitions(reader, &definitions);
    return definitions;
}

static int define_var(void) {
    const char *dims[TAILRACE_MAX_DIMS];
    int n = 0;
    if (strcmp(word[5], "-") != 0)
        for (char *at = strtok(word[5], ","); at != NULL; at = strtok(NULL, ",")) dims[n++] = name_of(at);
    return tailrace_define_var(stream, name_of(word[2]), type_named(word[3]), n, dims, atoi(word[4]));
}

/* put VAR FIRST HOW [OFFSETS COUNTS]... */
static int put(void) {
    const tailrace_type type = info_of(defined(), word[2]).type;
    const size_t bytes = type == TAILRACE_I32 ? sizeof(int32_t) : sizeof(double);
    const size_t step = strcmp(word[4], "strided") == 0 ? 2 : 1;
    static uint64_t offset[most_blocks][TAILRACE_MAX_DIMS], count[most_blocks][TAILRACE_MAX_DIMS];
    static int64_t stride[most_blocks][TAILRACE_MAX_DIMS];
    tailrace_block blocks[most_blocks];
    int n = 0, value = atoi(word[3]);
    for (int w = 5; w + 1 < words; w += 2, ++n) {
        const int dims = list(word[w + 1], count[n]);
        offset[n][0] = TAILRACE_RAGGED;
        list(word[w], offset[n]);
        size_t elements = 1;
        for (int d = dims - 1; d >= 0; --d) {
            stride[n][d] = (int64_t)(elements * step * bytes);
            elements *= count[n][d];
        }
        for (size_t k = 0; k < elements; ++k, ++value) {
            reals[used + k * step] = value;
            integers[used + k * step] = value;
        }
        const void *data = type == TAILRACE_I32 ? (const void *)(integers + used) : (const void *)(reals + used);
        blocks[n] = (tailrace_block){data, offset[n], count[n], step == 2 ? stride[n] : NULL};
        used += elements * step;
    }
    return tailrace_put(stream, word[2], n, blocks);
}

/* put_indices VAR FIRST HOW DIM INDICES COUNTS */
static int put_indices(void) {
    const tailrace_type type = info_of(defined(), word[2]).type;
    const size_t bytes = type == TAILRACE_I32 ? sizeof(int32_t) : sizeof(double);
    const size_t step = strcmp(word[4], "strided") == 0 ? 2 : 1;
    uint64_t indices[most_words], count[TAILRACE_MAX_DIMS];
    int64_t stride[TAILRACE_MAX_DIMS];
    const int n = list(word[6], indices), dims = list(word[7], count);
    size_t elements = 1;
    for (int d = dims - 1; d >= 0; --d) {
        stride[d] = (int64_t)(elements * step * bytes);
        elements *= count[d];
    }
    for (size_t k = 0; k < elements; ++k) {
        reals[used + k * step] = atoi(word[3]) + (double)k;
        integers[used + k * step] = atoi(word[3]) + (int32_t)k;
    }
    const void *data = type == TAILRACE_I32 ? (const void *)(integers + used) : (const void *)(reals + used);
    used += elements * step;
    return tailrace_put_indices(stream, word[2], word[5], (uint64_t)n, indices, data, step == 2 ? stride : NULL);
}

static int put_strings(void) {
    const tailrace_var_info info = info_of(defined(), word[2]);
    const uint64_t width = info.shape[1], offset[] = {strtoull(word[3], NULL, 10), 0}, count[] = {(uint64_t)(words - 4), width};
    memset(text, 0, sizeof text);
    for (int w = 4; w < words; ++w) memcpy(text + (uint64_t)(w - 4) * width, word[w], strlen(word[w]));
    return tailrace_put(stream, word[2], 1, &(tailrace_block){.data = text, .offset = offset, .count = count});
}

static int put_whole(void) {
    double real[most_words];
    int32_t integer[most_words];
    for (int w = 3; w < words; ++w) {
        real[w - 3] = atof(word[w]);
        integer[w - 3] = atoi(word[w]);
    }
    const int is_integer = info_of(defined(), word[2]).type == TAILRACE_I32;
    return tailrace_put_replicated(stream, word[2], is_integer ? (const void *)integer : (const void *)real);
}

static int shape(void) {
    const tailrace_definitions *definitions = NULL;
    int number;
    int status = reader != NULL ? tailrace_read_definitions(reader, &definitions) : tailrace_get_definitions(stream, &definitions);
    if (status == TAILRACE_OK) status = tailrace_inquire_var_id(definitions, word[2], &number);
    if (status != TAILRACE_OK) return status;
    const tailrace_var_info info = info_of(definitions, word[2]);
    fprintf(answers, "%s %s %d", "OK", info.type == TAILRACE_I32 ? "i4" : info.type == TAILRACE_F64 ? "f8" : "S1", info.flags);
    for (int d = 0; d < info.ndims; ++d)
        if (info.shape[d] == TAILRACE_RAGGED)
            fprintf(answers, " ragged");
        else
            fprintf(answers, " %d", (int)info.shape[d]);
    return -1;
}

static int get(int shared) {
    const tailrace_var_info info = info_of(defined(), word[2]);
    uint64_t offset[TAILRACE_MAX_DIMS], count[TAILRACE_MAX_DIMS], elements = 1;
    if (!shared) {
        list(word[3], offset);
        list(word[4], count);
    }
    for (int d = 0; d < info.ndims; ++d) elements *= shared ? info.shape[d] : count[d];
    void *const into = info.type == TAILRACE_I32 ? (void *)integers : (void *)reals;
    const tailrace_target target = {.data = into, .offset = offset, .count = count};
    const int status = shared ? tailrace_get_shared(reader, word[2], into) : tailrace_get(reader, word[2], 1, &target);
    if (status != TAILRACE_OK) return status;
    fprintf(answers, "OK");
    for (uint64_t k = 0; k < elements; ++k) fprintf(answers, " %.0f", info.type == TAILRACE_I32 ? (double)integers[k] : reals[k]);
    return -1;
}

/* get_indices VAR DIM INDICES COUNTS */
static int get_indices(void) {
    const tailrace_var_info info = info_of(defined(), word[2]);
    uint64_t indices[most_words], count[TAILRACE_MAX_DIMS], elements = 1;
    const int n = list(word[4], indices), dims = list(word[5], count);
    for (int d = 0; d < dims; ++d) elements *= count[d];
    void *const into = info.type == TAILRACE_I32 ? (void *)integers : (void *)reals;
    const int status = tailrace_get_indices(reader, word[2], word[3], (uint64_t)n, indices, into, NULL);
    if (status != TAILRACE_OK) return status;
    fprintf(answers, "OK");
    for (uint64_t k = 0; k < elements; ++k) fprintf(answers, " %.0f", info.type == TAILRACE_I32 ? (double)integers[k] : reals[k]);
    return -1;
}

static int get_strings(void) {
    const uint64_t width = info_of(defined(), word[2]).shape[1], offset[] = {strtoull(word[3], NULL, 10), 0},
                   count[] = {strtoull(word[4], NULL, 10), width};
    const int status = tailrace_get(reader, word[2], 1, &(tailrace_target){.data = text, .offset = offset, .count = count});
    if (status != TAILRACE_OK) return status;
    fprintf(answers, "OK");
    for (uint64_t k = 0; k < count[0]; ++k) fprintf(answers, " %.*s", (int)width, text + k * width);
    return -1;
}

static int numbers(int status, uint64_t n, const uint64_t *values) {
    if (status != TAILRACE_OK) return status;
    fprintf(answers, "OK");
    for (uint64_t k = 0; k < n; ++k) fprintf(answers, " %d", (int)values[k]);
    return -1;
}

static int step_count(void) {
    uint64_t count = 0;
    const int status = tailrace_step_count(stream, &count);
    return numbers(status, 1, &count);
}

static int steps(void) {
    uint64_t count = 0;
    const uint64_t *all = NULL;
    const int status = tailrace_get_steps(reader, &count, &all, NULL);
    return numbers(status, count, all);
}

/* Its status; -1 where the answer is written already. */
static int call(const char *operation) {
    const char *owner = words > 2 && strcmp(word[2], ".") == 0 ? NULL : word[2];
    if (strcmp(operation, "resume") == 0) {
        static char options[512];
        for (char *at = word[3]; *at != '\0'; ++at)
            if (*at == ';') *at = '\n';
        snprintf(options, sizeof options, "%s\nresume_before = %s\n", word[3], word[4]);
        return tailrace_open(MPI_COMM_WORLD, directory, word[2], options, &stream);
    }
    if (strcmp(operation, "open") == 0) {
        for (char *at = word[3]; *at != '\0'; ++at)
            if (*at == ';') *at = '\n';
        return tailrace_open(MPI_COMM_WORLD, directory, name_of(word[2]), word[3], &stream);
    }
    if (strcmp(operation, "close") == 0) return tailrace_close(&stream);
    if (strcmp(operation, "dim") == 0)
        return tailrace_define_dim(stream, name_of(word[2]),
                                   strcmp(word[3], "ragged") == 0 ? TAILRACE_RAGGED : strtoull(word[3], NULL, 10));
    if (strcmp(operation, "var") == 0) return define_var();
    if (strcmp(operation, "text") == 0) return tailrace_put_attr_text(stream, owner, name_of(word[3]), name_of(word[4]));
    if (strcmp(operation, "texts") == 0) {
        const char *texts[8];
        uint64_t n = 0;
        for (char *at = strtok(word[4], ","); at != NULL; at = strtok(NULL, ",")) texts[n++] = at;
        return tailrace_put_attr_texts(stream, owner, word[3], n, texts);
    }
    if (strcmp(operation, "number") == 0) {
        const double value = strtod(word[4], NULL);
        return tailrace_put_attr(stream, owner, word[3], TAILRACE_F64, 1, &value);
    }
    if (strcmp(operation, "begin") == 0) {
        used = 0;
        return tailrace_begin_step(stream, atof(word[2]));
    }
    if (strcmp(operation, "put") == 0) return put();
    if (strcmp(operation, "put_indices") == 0) return put_indices();
    if (strcmp(operation, "get_indices") == 0) return get_indices();
    if (strcmp(operation, "strings") == 0) return put_strings();
    if (strcmp(operation, "whole") == 0) return put_whole();
    if (strcmp(operation, "refuse") == 0) return tailrace_refuse_step(stream, TAILRACE_NOT_FOUND, "no data here");
    if (strcmp(operation, "end") == 0) return tailrace_end_step(stream);
    if (strcmp(operation, "flush") == 0) return tailrace_flush(stream);
    if (strcmp(operation, "count") == 0) return step_count();
    if (strcmp(operation, "shape") == 0) return shape();
    if (strcmp(operation, "read") == 0) return tailrace_open_read(MPI_COMM_WORLD, directory, name_of(word[2]), &reader);
    if (strcmp(operation, "select") == 0) return tailrace_select_step(reader, atoi(word[2]));
    if (strcmp(operation, "steps") == 0) return steps();
    if (strcmp(operation, "get") == 0) return get(0);
    if (strcmp(operation, "get_shared") == 0) return get(1);
    if (strcmp(operation, "get_strings") == 0) return get_strings();
    if (strcmp(operation, "close_read") == 0) return tailrace_close_read(&reader);
    fprintf(stderr, "contract_case_c: unknown operation %s\n", operation);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return -1;
}

int main(int argc, char **argv) {
    char line[1024], path[4096], me[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
    directory = argv[2];
    snprintf(path, sizeof path, "%s/%d", argv[3], rank);
    snprintf(me, sizeof me, "%d", rank);
    FILE *script = fopen(argv[1], "r");
    answers = fopen(path, "w");
    if (script == NULL || answers == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
    for (int number = 0; fgets(line, sizeof line, script) != NULL; ++number) {
        words = 0;
        for (char *at = strtok(line, " \n"); at != NULL && words < most_words; at = strtok(NULL, " \n")) word[words++] = at;
        if (strcmp(word[0], "all") != 0 && strcmp(word[0], me) != 0) continue;
        fprintf(answers, "%d ", number);
        const int status = call(word[1]);
        if (status >= 0) fprintf(answers, "%s", tailrace_status_name(status));
        fprintf(answers, "\n");
        fflush(answers);
    }
    fclose(script);
    fclose(answers);
    MPI_Finalize();
    return 0;
}
