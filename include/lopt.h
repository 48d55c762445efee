/* The C interface of lopt_plugin: encodes UTF-8 to the ids of the Hugging Face tokenizer that a file was compiled from.

   `lopt compile MODEL --out FILE` writes such a file. See docs/c-interface.md for details.

   Any thread may call any function, and many threads may use one tokenizer at the same time. lopt_close must be the last
   call with its tokenizer. No function changes the file or any global state. */
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

/* Increased when programs compiled with an older header would no longer work. */
#define LOPT_INTERFACE_VERSION 1

/* The result of a function. The numbers never change. */
typedef enum lopt_status {
    LOPT_OK = 0,
    LOPT_INVALID_ARGUMENT = 1,  /* a null pointer, or an unknown flag */
    LOPT_CANNOT_READ = 2,       /* the file does not exist or is not readable */
    LOPT_INVALID_FILE = 3,      /* not a compiled file, damaged, or written by another version */
    LOPT_INVALID_UTF8 = 4,      /* the text is not valid UTF-8 */
    LOPT_NEEDS_REFERENCE = 5,   /* only the Hugging Face library can encode this text exactly */
    LOPT_BUFFER_TOO_SMALL = 6,  /* nothing was written; *count is the number of ids */
    LOPT_OUT_OF_MEMORY = 7,
    LOPT_INTERNAL_ERROR = 8     /* a bug in this library: please report it */
} lopt_status;

/* Flags of lopt_encode and lopt_count. By default, a special token in the text becomes its id. */
#define LOPT_ADD_SPECIAL_TOKENS 1u    /* add the ids of the post-processor around the text */
#define LOPT_SPLIT_SPECIAL_TOKENS 2u  /* treat special tokens in the text as plain text */

/* Why a function did not return LOPT_OK: one line, terminated by a zero byte. Unchanged if there is no error. */
typedef struct lopt_error {
    char message[256];
} lopt_error;

typedef struct lopt_tokenizer lopt_tokenizer;

/* LOPT_INTERFACE_VERSION of the library, which may be newer than the header's. */
LOPT_API uint32_t lopt_interface_version(void);

/* The version of lopt_plugin. A file must have been compiled by the same version. */
LOPT_API const char *lopt_version(void);

/* Opens a compiled file, reads it completely, and closes it.

   path       of the file, in the system's encoding
   tokenizer  receives the new tokenizer; NULL if the status is not LOPT_OK
   error      NULL, or receives the reason */
LOPT_API lopt_status lopt_open(const char *path, lopt_tokenizer **tokenizer, lopt_error *error);

/* Writes the ids of a text.

   text      `length` bytes of UTF-8, which may contain zero bytes; NULL only if length is 0
   flags     LOPT_ADD_SPECIAL_TOKENS, LOPT_SPLIT_SPECIAL_TOKENS, both or 0
   ids       room for `capacity` ids; NULL only if capacity is 0. Few texts have more ids than bytes
   count     receives the number of ids with LOPT_OK and LOPT_BUFFER_TOO_SMALL, 0 otherwise
   error     NULL, or receives the reason */
LOPT_API lopt_status lopt_encode(const lopt_tokenizer *tokenizer, const char *text, size_t length, uint32_t flags,
                                 uint32_t *ids, size_t capacity, size_t *count, lopt_error *error);

/* Counts the ids that lopt_encode would write. Takes as long as lopt_encode. */
LOPT_API lopt_status lopt_count(const lopt_tokenizer *tokenizer, const char *text, size_t length, uint32_t flags,
                                size_t *count, lopt_error *error);

/* A one-line description of what the file was compiled from. Valid until lopt_close. */
LOPT_API const char *lopt_source(const lopt_tokenizer *tokenizer);

/* Frees the tokenizer. NULL is allowed. */
LOPT_API void lopt_close(lopt_tokenizer *tokenizer);

#ifdef __cplusplus
}
#endif

#endif
