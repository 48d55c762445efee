// What libFuzzer calls. Included at the end of a harness, whose `check(tokenizer, cores, in)` it runs.
#pragma once

#include "tokenizers.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    lopt::fuzz::tokenizers();  // before anything is timed
    return 0;
}
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    lopt::fuzz::Input in(data, size);
    lopt::fuzz::with_tokenizer(in, [&](const auto& tokenizer, const auto& cores) { lopt::fuzz::check(tokenizer, cores, in); });
    return 0;
}
