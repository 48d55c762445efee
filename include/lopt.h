/* The C interface of lopt_plugin: from UTF-8 to the ids of the Hugging Face tokenizer that a file was compiled from.

   `lopt compile MODEL --out FILE` writes such a file. docs/c-interface.md says more.

   Every function may be called from any thread, and one tokenizer by many threads at once; only lopt_close needs to be the
   last call with its tokenizer. No function changes the file or any global state. */
#ifndef LOPT_H
#define LOPT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LOPT_API __attribute__((visibility("default")))
#else
#define LOPT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Increased when a program that was compiled against an older header would no longer work. */
#define LOPT_INTERFACE_VERSION 1

/* What a function returns. The numbers do not change. */
typedef enum lopt_status {
    LOPT_OK = 0,
    LOPT_INVALID_ARGUMENT = 1,  /* a null pointer, or an unknown flag */
    LOPT_CANNOT_READ = 2,       /* the file is not there, or the system does not let it be read */
    LOPT_INVALID_FILE = 3,      /* not a compiled file, a damaged one, or one of another version */
    LOPT_INVALID_UTF8 = 4,      /* the text is not valid UTF-8 */
    LOPT_NEEDS_REFERENCE = 5,   /* only the Hugging Face library is known to answer this text exactly */
    LOPT_BUFFER_TOO_SMALL = 6,  /* nothing was written; *count says how many ids there are */
    LOPT_OUT_OF_MEMORY = 7,
    LOPT_INTERNAL_ERROR = 8     /* a mistake in this library: please report it */
} lopt_status;

/* Flags of lopt_encode and lopt_count. Without any, a special token in the text becomes its id. */
#define LOPT_ADD_SPECIAL_TOKENS 1u    /* put the ids of the post-processor around those of the text */
#define LOPT_SPLIT_SPECIAL_TOKENS 2u  /* a special token in the text is text like any other */

/* Why a function did not return LOPT_OK: one line, which a zero byte ends. Where there is no error it stays as it is. */
typedef struct lopt_error {
    char message[256];
} lopt_error;

typedef struct lopt_tokenizer lopt_tokenizer;

/* LOPT_INTERFACE_VERSION of the library, which may be newer than that of the header. */
LOPT_API uint32_t lopt_interface_version(void);

/* The version of lopt_plugin: a file has to be compiled by the same one. */
LOPT_API const char *lopt_version(void);

/* Opens a compiled file, which is read to its end and closed again.

   path       of the file, as the system has it
   tokenizer  the new tokenizer; NULL where the status is not LOPT_OK
   error      NULL, or where the reason goes */
LOPT_API lopt_status lopt_open(const char *path, lopt_tokenizer **tokenizer, lopt_error *error);

/* Writes the ids of a text.

   text      `length` bytes of UTF-8, which may hold zero bytes; NULL only if length is 0
   flags     LOPT_ADD_SPECIAL_TOKENS, LOPT_SPLIT_SPECIAL_TOKENS, both or 0
   ids       room for `capacity` ids; NULL only if capacity is 0. Few texts have more ids than bytes
   count     how many ids the text has; set with LOPT_OK and LOPT_BUFFER_TOO_SMALL, 0 otherwise
   error     NULL, or where the reason goes */
LOPT_API lopt_status lopt_encode(const lopt_tokenizer *tokenizer, const char *text, size_t length, uint32_t flags,
                                 uint32_t *ids, size_t capacity, size_t *count, lopt_error *error);

/* How many ids lopt_encode gives. It takes as long. */
LOPT_API lopt_status lopt_count(const lopt_tokenizer *tokenizer, const char *text, size_t length, uint32_t flags,
                                size_t *count, lopt_error *error);

/* What the file was compiled from, in one line. Valid until lopt_close. */
LOPT_API const char *lopt_source(const lopt_tokenizer *tokenizer);

/* Frees the tokenizer. NULL is allowed. */
LOPT_API void lopt_close(lopt_tokenizer *tokenizer);

#ifdef __cplusplus
}
#endif

#endif
