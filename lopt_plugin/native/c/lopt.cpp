// The C interface to compiled tokenizers. It lets no exception escape.
#include <lopt.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "compiled/compiled_tokenizer.hpp"

struct lopt_tokenizer {
    lopt::CompiledTokenizer tokenizer;
};

namespace lopt {
namespace {

// An error that has no exception type in the core.
struct CallError {
    lopt_status status;
    std::string reason;
};

lopt_status failed(lopt_status status, const char* reason, lopt_error* error) {
    if (error) std::snprintf(error->message, sizeof error->message, "%s", reason);
    return status;
}

// The status of work(), with exceptions converted to statuses.
template <class Work>
lopt_status status_of(lopt_error* error, Work&& work) noexcept {
    try {
        work();
        return LOPT_OK;
    } catch (const CallError& reason) {
        return failed(reason.status, reason.reason.c_str(), error);
    } catch (const InvalidFileError& reason) {
        return failed(LOPT_INVALID_FILE, reason.what(), error);
    } catch (const InvalidUtf8Error& reason) {
        return failed(LOPT_INVALID_UTF8, reason.what(), error);
    } catch (const NeedsReference& reason) {
        return failed(LOPT_NEEDS_REFERENCE, reason.what(), error);
    } catch (const std::bad_alloc&) {
        return failed(LOPT_OUT_OF_MEMORY, "out of memory", error);
    } catch (const std::exception& reason) {
        return failed(LOPT_INTERNAL_ERROR, reason.what(), error);
    } catch (...) {
        return failed(LOPT_INTERNAL_ERROR, "an unknown exception", error);
    }
}

std::string contents(const char* path) {
    constexpr size_t PART = size_t{1} << 20, MOST = size_t{1} << 30;
    const auto cannot_read = [path] { return CallError{LOPT_CANNOT_READ, std::string(std::strerror(errno)) + ": " + path}; };
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "rb"), std::fclose);
    if (!file) throw cannot_read();
    std::string read;
    for (size_t got = PART; got == PART;) {
        const size_t before = read.size();
        if (before > MOST) throw InvalidFileError("the compiled file has more than 2^30 bytes");
        read.resize(before + PART);
        got = std::fread(read.data() + before, 1, PART, file.get());
        read.resize(before + got);
    }
    if (std::ferror(file.get())) throw cannot_read();
    return read;
}

CompiledTokenizer opened(const char* path) {
    const std::string file = contents(path);
    try {
        return CompiledTokenizer(file, LOPT_VERSION);
    } catch (const InvalidFileError&) {
        throw;
    } catch (const std::invalid_argument& reason) {
        throw InvalidFileError(std::string("the compiled file is damaged: ") + reason.what());
    }
}

void check(bool valid, const char* reason) {
    if (!valid) throw CallError{LOPT_INVALID_ARGUMENT, reason};
}

// Returns the number of ids, and writes them if they fit.
size_t encode(const lopt_tokenizer* tokenizer, const char* text, size_t length, uint32_t flags, uint32_t* ids, size_t capacity) {
    check(tokenizer, "the tokenizer is a null pointer");
    check(text || !length, "the text is a null pointer");
    check(ids || !capacity, "ids is a null pointer");
    check(!(flags & ~(LOPT_ADD_SPECIAL_TOKENS | LOPT_SPLIT_SPECIAL_TOKENS)), "an unknown flag");
    return tokenizer->tokenizer.encode({length ? text : "", length}, flags & LOPT_ADD_SPECIAL_TOKENS, flags & LOPT_SPLIT_SPECIAL_TOKENS, ids, capacity);
}

}  // namespace
}  // namespace lopt

uint32_t lopt_interface_version(void) { return LOPT_INTERFACE_VERSION; }

const char* lopt_version(void) { return LOPT_VERSION; }

lopt_status lopt_open(const char* path, lopt_tokenizer** tokenizer, lopt_error* error) {
    return lopt::status_of(error, [&] {
        lopt::check(tokenizer, "tokenizer is a null pointer");
        *tokenizer = nullptr;
        lopt::check(path, "the path is a null pointer");
        *tokenizer = new lopt_tokenizer{lopt::opened(path)};
    });
}

lopt_status lopt_encode(const lopt_tokenizer* tokenizer, const char* text, size_t length, uint32_t flags, uint32_t* ids, size_t capacity,
                        size_t* count, lopt_error* error) {
    return lopt::status_of(error, [&] {
        lopt::check(count, "count is a null pointer");
        *count = 0;
        *count = lopt::encode(tokenizer, text, length, flags, ids, capacity);
        if (*count > capacity) throw lopt::CallError{LOPT_BUFFER_TOO_SMALL, "the text has more ids than there is room for"};
    });
}

lopt_status lopt_count(const lopt_tokenizer* tokenizer, const char* text, size_t length, uint32_t flags, size_t* count, lopt_error* error) {
    return lopt::status_of(error, [&] {
        lopt::check(count, "count is a null pointer");
        *count = 0;
        *count = lopt::encode(tokenizer, text, length, flags, nullptr, 0);
    });
}

const char* lopt_source(const lopt_tokenizer* tokenizer) { return tokenizer ? tokenizer->tokenizer.source().c_str() : ""; }

void lopt_close(lopt_tokenizer* tokenizer) { delete tokenizer; }
