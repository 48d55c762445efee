/* The ids of a text:  encode tokenizer.lopt "some text" */
#include <lopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
    lopt_tokenizer *tokenizer;
    lopt_error error;
    uint32_t *ids;
    size_t length, id_count, i;
    if (count != 3) {
        fprintf(stderr, "usage: encode FILE TEXT\n");
        return 2;
    }
    if (lopt_open(arguments[1], &tokenizer, &error) != LOPT_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    length = strlen(arguments[2]);
    if (lopt_count(tokenizer, arguments[2], length, LOPT_ADD_SPECIAL_TOKENS, &id_count, &error) != LOPT_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    ids = malloc((id_count + 1) * sizeof *ids);
    if (!ids) return 1;
    lopt_encode(tokenizer, arguments[2], length, LOPT_ADD_SPECIAL_TOKENS, ids, id_count, &id_count, NULL);
    for (i = 0; i < id_count; i++) printf(i ? " %u" : "%u", ids[i]);
    printf("\n");
    free(ids);
    lopt_close(tokenizer);
    return 0;
}
