// What a scanner is, and all of them by name.
#pragma once

#include <cstdint>
#include <string_view>

#include "scan/scan_cl100k.hpp"
#include "scan/scan_clip.hpp"
#include "scan/scan_deepseek.hpp"
#include "scan/scan_falcon.hpp"
#include "scan/scan_gpt2.hpp"
#include "scan/scan_o200k.hpp"
#include "scan/scan_whole.hpp"
#include "text/unicode.hpp"

namespace lopt {

// A scanner cuts a text into pre-tokens and looks only ahead:
//   next(table, p, end)  the end of the pre-token that starts at p < end;
//   starts(table, p)     later pre-token starts among the 64 readable bytes from the pre-token start p on, as far as
//                        these bytes alone make them certain; 0 when they make none certain.
// Two scans of one text that share a start therefore share all later ones. A scanner that leaves out some of the text has
//   parts(table, p, end, out)  appends the pre-tokens of the step [p, end), if any.

template <class Masks = VectorMasks>
struct Scanners {
    using Qwen2 = Cl100kScanner<1, Masks>;
    using Cl100k = Cl100kScanner<3, Masks>;
    using O200k = O200kScanner<true, 3, Masks>;
    using Tekken = O200kScanner<false, 1, Masks>;
    using Gpt2 = Gpt2Scanner<Masks>;
    using Deepseek = DeepseekScanner<Masks>;
    using Falcon = FalconScanner<Masks>;
    using Clip = ClipScanner<Masks>;

    // Calls visitor.template operator()<Scanner>() for the scanner of that name; false when there is none.
    template <class Visitor>
    static bool visit(std::string_view name, Visitor&& visitor) {
        return try_each<Qwen2, Cl100k, O200k, Tekken, Gpt2, Deepseek, Falcon, Clip, WholeScanner>(name, visitor);
    }

  private:
    template <class... Candidates, class Visitor>
    static bool try_each(std::string_view name, Visitor& visitor) {
        return ((name == Candidates::name && (visitor.template operator()<Candidates>(), true)) || ...);
    }
};

template <class Visitor>
bool visit_scanner(std::string_view name, Visitor&& visitor) {
    return Scanners<>::visit(name, visitor);
}

}  // namespace lopt
