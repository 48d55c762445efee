#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "scan_cl100k.hpp"
#include "scan_deepseek.hpp"
#include "scan_falcon.hpp"
#include "scan_gpt2.hpp"
#include "scan_o200k.hpp"
#include "scan_whole.hpp"
#include "unicode.hpp"

namespace lopt {

// A scanner cuts a text into pre-tokens and looks only ahead:
//   next(table, p, end)  the end of the pre-token that starts at p < end;
//   starts(p)            later pre-token starts among the 64 readable bytes from the pre-token start p on, as far as
//                        these bytes alone make them certain; 0 when they make none certain.
// Two scans of one text that share a start therefore share all later ones.

template <class Masks = VectorMasks>
struct Scanners {
  using Qwen2 = Cl100kScanner<1, Masks>;
  using Cl100k = Cl100kScanner<3, Masks>;
  using O200k = O200kScanner<true, 3, Masks>;
  using Tekken = O200kScanner<false, 1, Masks>;
  using Gpt2 = Gpt2Scanner<Masks>;
  using Deepseek = DeepseekScanner<Masks>;
  using Falcon = FalconScanner<Masks>;

  // Calls visitor.template operator()<Scanner>() for the scanner of that name; false when there is none.
  template <class Visitor>
  static bool visit(std::string_view name, Visitor&& visitor) {
    return try_each<Qwen2, Cl100k, O200k, Tekken, Gpt2, Deepseek, Falcon, WholeScanner>(name, visitor);
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

// Calls accept(end) for every pre-token from p on, in order, until accept returns false or the text ends; p is a
// pre-token start. Windows are tried only where eight bytes of ASCII lie ahead: elsewhere they would find little.
template <class Scanner, class Accept>
void scan(const ClassTable& table, const uint8_t* p, const uint8_t* end, Accept&& accept) {
  while (p < end) {
    if (end - p >= 64) {
      uint64_t ahead;
      std::memcpy(&ahead, p, sizeof ahead);
      if ((ahead & 0x8080808080808080u) == 0) {
        uint64_t starts = Scanner::starts(p);
        if (starts != 0) {
          const uint8_t* window = p;
          do {
            p = window + __builtin_ctzll(starts);
            starts &= starts - 1;
            if (!accept(p)) return;
          } while (starts != 0);
          continue;
        }
      }
    }
    p = Scanner::next(table, p, end);
    if (!accept(p)) return;
  }
}

}  // namespace lopt
