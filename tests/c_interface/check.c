/* The C interface from C: check FILE CASES

   A line of CASES has the flags, the text in hexadecimal digits, and its ids. Four threads share the tokenizer, and each tries
   all lines. Then comes what is wrong: arguments, files, texts. */
#include <lopt.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define MOST 4096

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

struct test_case {
    uint32_t flags;
    size_t length, count;
    char text[MOST];
    uint32_t ids[MOST];
};

static struct test_case *cases;
static size_t case_count;
static lopt_tokenizer *tokenizer;

static void read_case(char *line) {
    char *at, *digits;
    struct test_case *made;
    cases = realloc(cases, (case_count + 1) * sizeof *cases);
    CHECK(cases);
    made = memset(&cases[case_count++], 0, sizeof *cases);
    made->flags = (uint32_t)strtoul(line, &at, 10);
    for (digits = at + 1; *digits != ' ' && *digits != '\n'; digits += 2) {
        unsigned byte;
        CHECK(made->length < MOST && sscanf(digits, "%2x", &byte) == 1);
        made->text[made->length++] = (char)byte;
    }
    for (at = digits; *at == ' '; made->count++) {
        CHECK(made->count < MOST);
        made->ids[made->count] = (uint32_t)strtoul(at, &at, 10);
    }
}

static void read_cases(const char *path) {
    static char line[8 * MOST];
    FILE *file = fopen(path, "r");
    CHECK(file);
    while (fgets(line, sizeof line, file)) read_case(line);
    fclose(file);
}

static void *try_all(void *unused) {
    uint32_t ids[MOST];
    size_t i, count;
    lopt_error error;
    for (i = 0; i < case_count; i++) {
        const struct test_case *given = &cases[i];
        CHECK(lopt_encode(tokenizer, given->text, given->length, given->flags, ids, MOST, &count, &error) == LOPT_OK);
        CHECK(count == given->count && memcmp(ids, given->ids, count * sizeof *ids) == 0);
        CHECK(lopt_count(tokenizer, given->text, given->length, given->flags, &count, NULL) == LOPT_OK);
        CHECK(count == given->count);
        if (count == 0) continue;
        CHECK(lopt_encode(tokenizer, given->text, given->length, given->flags, ids, count - 1, &count, NULL) == LOPT_BUFFER_TOO_SMALL);
        CHECK(count == given->count);
    }
    return unused;
}

static void try_what_is_wrong(const char *cases_path) {
    lopt_tokenizer *opened = tokenizer;
    lopt_error error;
    size_t count = 1;
    uint32_t id;
    CHECK(lopt_open("no such file", &opened, &error) == LOPT_CANNOT_READ && !opened && strstr(error.message, "no such file"));
    CHECK(lopt_open(cases_path, &opened, &error) == LOPT_INVALID_FILE && !opened && error.message[0]);
    CHECK(lopt_open(NULL, &opened, NULL) == LOPT_INVALID_ARGUMENT);
    CHECK(lopt_encode(tokenizer, "\xC3", 1, 0, &id, 1, &count, &error) == LOPT_INVALID_UTF8 && count == 0);
    CHECK(lopt_encode(tokenizer, "a", 1, 128, &id, 1, &count, &error) == LOPT_INVALID_ARGUMENT);
    CHECK(lopt_encode(NULL, "a", 1, 0, &id, 1, &count, NULL) == LOPT_INVALID_ARGUMENT);
    CHECK(lopt_encode(tokenizer, NULL, 0, 0, NULL, 0, &count, NULL) == LOPT_OK && count == 0);
    CHECK(lopt_interface_version() == LOPT_INTERFACE_VERSION && lopt_version()[0] && lopt_source(tokenizer)[0]);
    lopt_close(NULL);
}

int main(int argument_count, char **arguments) {
    pthread_t threads[THREADS];
    lopt_error error;
    int i;
    CHECK(argument_count == 3);
    read_cases(arguments[2]);
    if (lopt_open(arguments[1], &tokenizer, &error) != LOPT_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, try_all, NULL) == 0);
    for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    try_what_is_wrong(arguments[2]);
    lopt_close(tokenizer);
    free(cases);
    printf("%lu texts, %d threads, no difference\n", (unsigned long)case_count, THREADS);
    return 0;
}
