// What a scanner must provide, and all scanners by name.
#pragma once

#include <cstdint>
#include <string_view>

#include "scan/scan_cl100k.hpp"
#include "scan/scan_clip.hpp"
#include "scan/scan_deepseek.hpp"
#include "scan/scan_gpt2.hpp"
#include "scan/scan_o200k.hpp"
#include "text/unicode.hpp"

namespace lopt {

// A scanner divides a text into pre-tokens and only looks ahead:
//   next(table, p, end)  the end of the pre-token that starts at p < end;
//   starts_of(table, p, masks)  the pre-token starts after p among the 64 readable bytes at the pre-token start p, as far
//                        as these bytes alone determine them; 0 if they determine none. `masks` are those of the 64 bytes;
//   starts_among(classes, first_bytes)  the same for up to 64 characters, of which these are the classes and the first bytes. Bit
//                        i stands for character i. Only where windows are used; with it go `kept` and `kinds`, see WindowScanner.
// Therefore, two scans of one text that share a start also share all later ones. A scanner that leaves out parts of the
// text has
//   parts(table, p, end, out)  appends the pre-tokens of the step [p, end), if any.
// What all scanners say of their patterns:
//   separates_lines      a run of white space is divided after its last newline, wherever it ends;
//   separates_capitals   capitals begin words;
//   digits_in_group      how many digits a pre-token has, counted from the start of a run; 0 if unknown or unlimited.

// The whole text is one pre-token.
struct WholeScanner {
    static constexpr const char* name = "whole";
    static constexpr bool separates_lines = false, separates_capitals = false;
    static constexpr size_t digits_in_group = 0;
    static const uint8_t* next(const ClassTable&, const uint8_t*, const uint8_t* end) { return end; }
    static uint64_t starts_of(const ClassTable&, const uint8_t*, const AsciiMasks&) { return 0; }
};

struct Scanners {
    using Qwen2 = Cl100kScanner<1>;
    using Qwen3_5 = Cl100kScanner<1, Cl100kVariant::qwen3_5>;
    using Seed = Cl100kScanner<1, Cl100kVariant::seed>;
    using Cl100k = Cl100kScanner<3>;
    using Cl100kTiktoken = Cl100kScanner<3, Cl100kVariant::tiktoken>;
    using O200k = O200kScanner<true, 3>;
    using Tekken = O200kScanner<false, 1>;
    using Kimi = O200kScanner<true, 3, true>;
    using Gpt2 = Gpt2Scanner<false>;
    using Falcon = Gpt2Scanner<true>;
    using Deepseek = DeepseekScanner;
    using Clip = ClipScanner;

    // Calls visitor.template operator()<Scanner>() for the scanner with this name; returns false if there is none.
    template <class Visitor>
    static bool visit(std::string_view name, Visitor&& visitor) {
        return try_each<Qwen2, Qwen3_5, Seed, Cl100k, Cl100kTiktoken, O200k, Tekken, Kimi, Gpt2, Falcon, Deepseek, Clip, WholeScanner>(name, visitor);
    }

  private:
    template <class... Candidates, class Visitor>
    static bool try_each(std::string_view name, Visitor& visitor) {
        return ((name == Candidates::name && (visitor.template operator()<Candidates>(), true)) || ...);
    }
};

}  // namespace lopt
