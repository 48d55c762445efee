// Which characters of a stretch each character of its normalized form came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "remembered.hpp"
#include "unicode.hpp"

namespace lopt {

// Characters [begin, end) of a text.
struct Offset {
    int32_t begin, end;
};

// Offsets cannot be told for this text or pipeline; the reference library has to be asked.
struct OffsetsUnknownError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

inline bool is_continuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

inline size_t count_characters(const uint8_t* p, const uint8_t* end) {
    size_t count = 0;
    for (; p < end; p++) count += !is_continuation(*p);
    return count;
}

// Asks the reference library, and remembers its answers for short texts.
class Aligner {
  public:
    // The characters of a text that each character of its normalized form came from; may throw.
    using Ask = std::function<std::vector<Offset>(std::string_view)>;

    Aligner() = default;
    explicit Aligner(Ask ask) : ask_(std::move(ask)) {}

    // Throws OffsetsUnknownError unless the answer has `count` characters, each that of one in the text.
    std::vector<Offset> align(std::string_view text, size_t count) const {
        if (!ask_) throw OffsetsUnknownError("the normalizer does not say where its characters came from");
        std::vector<Offset> answer = answers_(text, ask_);
        const auto* p = reinterpret_cast<const uint8_t*>(text.data());
        const auto length = static_cast<int32_t>(count_characters(p, p + text.size()));
        bool known = answer.size() == count;
        for (const Offset& offset : answer) known = known && 0 <= offset.begin && offset.end == offset.begin + 1 && offset.end <= length;
        if (!known) throw OffsetsUnknownError("a normalized character has no place in the text");
        return answer;
    }

  private:
    Ask ask_;
    Remembered<std::vector<Offset>> answers_;
};

// For each character of a text that was made of another, the character of that one which it came from. Through every step
// the reference library has a character take the place of just one that was there before it.
class Sources {
  public:
    // The next characters of the old text, [p, end), stay as they are.
    void keep(const uint8_t* p, const uint8_t* end) {
        const size_t first = of_.size(), count = count_characters(p, end);
        of_.resize(first + count);
        for (size_t i = 0; i < count; i++) of_[first + i] = passed_ + static_cast<int32_t>(i);
        passed_ += static_cast<int32_t>(count);
    }
    // [p, end) becomes `count` characters, which take the place of its first or last one.
    void replace(const uint8_t* p, const uint8_t* end, size_t count, bool by_last) {
        const auto passed = static_cast<int32_t>(count_characters(p, end));
        of_.insert(of_.end(), count, by_last ? passed_ + passed - 1 : passed_);
        passed_ += passed;
    }
    // [p, end) becomes characters of which `offsets` says where in it they came from.
    void replace(const uint8_t* p, const uint8_t* end, const std::vector<Offset>& offsets) {
        for (const Offset& offset : offsets) of_.push_back(passed_ + offset.begin);
        passed_ += static_cast<int32_t>(count_characters(p, end));
    }
    // These were made of a text that was itself made of another: `before` says of which.
    void follow(const Sources& before) {
        for (int32_t& source : of_) source = before.of_[static_cast<size_t>(source)];
    }

    const int32_t* data() const { return of_.data(); }
    size_t size() const { return of_.size(); }

  private:
    std::vector<int32_t> of_;
    int32_t passed_ = 0;
};

// Where the characters of one normalized stretch came from.
struct Alignment {
    const uint8_t* normalized;  // where the normalized form begins
    const uint8_t* original;    // where the stretch begins in the text
    Sources sources;            // counted from `original`
};

}  // namespace lopt
