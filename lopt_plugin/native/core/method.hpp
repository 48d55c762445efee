// What a core needs to know about how the text between added tokens is encoded.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/added_token_edges.hpp"
#include "normalize/metaspace.hpp"
#include "offsets/offsets.hpp"
#include "text/alignment.hpp"
#include "text/seam.hpp"
#include "text/unicode.hpp"

namespace lopt {

class Model;

// `begin`, `end`: of a stretch of text. `c`: a character.
template <class Method>
concept EncodingMethod = requires(const Method& method, const uint8_t* begin, const uint8_t* end, uint32_t c, std::string& out, Sources* sources,
                                  const Junction& at, const AddedTokenEdges& tokens, std::string_view text, OffsetWalk& walk, const Segment& segment,
                                  const Origin& origin) {
    // Its encode(text, space, ids) appends the ids of a stretch of normalized text.
    { method.encoder() } -> std::same_as<const typename Method::Encoder&>;
    // For added tokens.
    { method.classes() } -> std::same_as<const ClassTable&>;

    // One mark per 16 code points: zero if none of them needs the normalizer.
    { method.page_marks() } -> std::same_as<const uint8_t*>;
    // May ASCII text also need the normalizer?
    { method.normalizes_ascii() } -> std::same_as<bool>;
    // Returns false if [begin, end) is unchanged; otherwise sets `out` to the result. May throw. The third argument: may it
    // contain characters of marked pages? `sources`: null, or receives where the characters came from; throws
    // OffsetsUnknownError if that is not known.
    { method.normalize(begin, end, true, out, sources) } -> std::same_as<bool>;
    // Are the text before such a character, and the text from it on, always normalized independently of each other?
    { method.begins_apart(c) } -> std::same_as<bool>;
    // What such a character becomes if no id depends on how many of it follow each other, provided that enough do; else NONE.
    { method.dropped_as(c) } -> std::same_as<uint32_t>;
    // Is a text unchanged by the normalizer, and every part of it too?
    { method.keeps(text) } -> std::same_as<bool>;
    // For pipelines that write spaces as U+2581, in place of a normalizer; otherwise null.
    { method.metaspace() } -> std::same_as<const Metaspace*>;

    // Do the normalizer, the added tokens of the normalized text, and the words all allow a seam here?
    { method.divides(at, tokens) } -> std::same_as<bool>;
    // An upper bound on the characters of a stretch that one id stands for, except `fused_id`; 0 if unknown.
    { method.most_characters_of_id() } -> std::same_as<size_t>;
    // The id that stands for any number of consecutive unknown characters; NONE if each has an id of its own.
    { method.fused_id() } -> std::same_as<uint32_t>;
    // The model, if GrowingWord supports it; else null.
    { method.growing_model() } -> std::same_as<const Model*>;
    // The number of digits per word, counted from the start of a run of digits; 0 if unknown or unlimited.
    { method.digits_in_group() } -> std::same_as<size_t>;

    // Computes the offsets of the ids of a stretch.
    { method.walk(walk, segment, origin) } -> std::same_as<void>;
    // The size of its tables.
    { method.bytes() } -> std::same_as<size_t>;
};

}  // namespace lopt
