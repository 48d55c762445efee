// Reads the values of a compiled file in order. Never reads outside the file, whatever it contains.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/needs_reference.hpp"
#include "bpe/vocabulary.hpp"
#include "normalize/character_forms.hpp"
#include "normalize/normalizer.hpp"
#include "text/alignment.hpp"
#include "text/invalid_utf8.hpp"

namespace lopt {

struct InvalidFileError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// What follows reads from any sequence of values: a FileReader, or PythonValues.
template <class Element, class Values>
std::vector<Element> read_array(Values& in) {
    const std::string_view taken = in.bytes();
    if (taken.size() % sizeof(Element)) in.fail("an array has half an element");
    std::vector<Element> elements(taken.size() / sizeof(Element));
    if (!elements.empty()) std::memcpy(elements.data(), taken.data(), taken.size());
    return elements;
}
// Calls read() for each row; a row contains at least one number.
template <class Values, class Read>
void read_rows(Values& in, Read&& read) {
    for (uint32_t left = in.number(); left > 0; left--) read();
}

// A number has four bytes, little endian. Bytes and texts are preceded by their length, and rows by their number. Results
// point into the file.
class FileReader {
    static_assert(std::endian::native == std::endian::little);

  public:
    explicit FileReader(std::string_view file) : rest_(file) {}

    [[noreturn]] static void fail(const std::string& reason) { throw InvalidFileError("the compiled file is damaged: " + reason); }

    std::string_view take(size_t size) {
        if (size > rest_.size()) fail("it ends too early");
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }
    uint32_t number() {
        uint32_t value;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }
    bool flag() {
        const uint32_t value = number();
        if (value > 1) fail("a flag is neither 0 nor 1");
        return value;
    }
    std::string_view bytes() { return take(number()); }
    // Must be valid UTF-8.
    std::string_view text() {
        const std::string_view taken = bytes();
        if (!is_utf8(taken)) fail("a text is not UTF-8");
        return taken;
    }
    std::string_view rest() const { return rest_; }

    std::vector<VocabularyItem> vocabulary() {
        std::vector<VocabularyItem> items;
        read_rows(*this, [&] {
            const std::string_view name = text();
            items.push_back({name, number()});
        });
        return items;
    }
    // Stands in for a function of the reference, which is not available.
    static ReferenceNormalize function() {
        return [](std::string_view) -> std::string { throw NeedsReference("the normalizer of the Hugging Face library has to be asked about this text"); };
    }
    // A normalization form, and nothing in place of a function that tells where characters came from.
    std::pair<ReferenceNormalize, ReferenceAlign> form() {
        const auto forms = std::make_shared<CharacterForms>();
        read_rows(*this, [&] {
            const uint32_t c = number();
            forms->decompositions[c] = code_points_of(text());
        });
        read_rows(*this, [&] {
            const uint32_t c = number();
            forms->ranks[c] = number();
        });
        read_rows(*this, [&] {
            const uint64_t first = number(), second = number(), composed = number();
            if (composed >= 0x110000) fail("a number is no code point");
            forms->compositions[first << 32 | second] = static_cast<uint32_t>(composed);
        });
        return {[forms](std::string_view text) { return forms->normalize(text); }, {}};
    }
    // make(): builds the core from what was read.
    template <class Make>
    static auto build(Make&& make) {
        return make();
    }

  private:
    std::string_view rest_;
};

}  // namespace lopt
