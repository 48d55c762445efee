// What all fuzzers ask of a core.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "input.hpp"
#include "tokenizers.hpp"

namespace lopt::fuzz {

using Ids = std::vector<uint32_t>;
template <class Core>
using Segments = decltype(Core::Workspace::segments);

// Whether this input is one of the few that are encoded by several threads: waking these up takes longer than a short text.
inline bool wants_threads(uint8_t choices) { return choices % 61 == 42; }

// Lengths of parts that the input chooses, but not hundreds of parts: these would take most of the time.
inline size_t part_length(size_t chosen, size_t text_length) { return std::max(chosen, text_length / 20 + 1); }

// Nothing where the reference has to answer.
template <class Core>
std::optional<Ids> ids_of(const Core& core, const Characters& text, const EncodeOptions& options, typename Core::Workspace& space) {
    Ids given;
    Characters own = text;
    std::shared_ptr<void> owner;  // of a text that may outlive the call
    if (options.recall) {
        const size_t bytes = text.length * static_cast<size_t>(text.unit_bytes);
        owner.reset(std::malloc(bytes + 1), std::free);
        own.data = std::memcpy(owner.get(), text.data, bytes);
    }
    try {
        core.encode(own, options, space, [&](const uint32_t* ids, size_t count, size_t) { given.insert(given.end(), ids, ids + count); }, owner);
        if (owner && core.prefix_cache().texts()) core.prefix_cache().texts()->release_removed();
    } catch (const NeedsReference&) {
        return std::nullopt;
    }
    Ids ids;
    if (space.known.ids) ids.assign(space.known.held->text.ids.data(), space.known.held->text.ids.data() + space.known.ids);
    ids.insert(ids.end(), space.ids.data(), space.ids.data() + space.ids.size());
    if (ids.empty()) ids = given;  // the workspace does not keep what the sink got, where no text is held
    CHECK(given.size() <= ids.size() && std::equal(given.rbegin(), given.rend(), ids.rbegin()));
    CHECK(options.recall || given.size() == ids.size());
    return ids;
}
template <class Core>
std::optional<Ids> ids_of(const Core& core, const Characters& text, const EncodeOptions& options) {
    typename Core::Borrowed space(core);
    return ids_of(core, text, options, *space);
}

// Appends the ids of a stretch of normalized text by the naive model, and checks that they are the stretch again.
inline void append_naive(const Core<BytePairMethod>& core, const NaiveModel& model, std::string_view stretch, Ids& out) {
    const auto* begin = reinterpret_cast<const uint8_t*>(stretch.data());
    std::vector<std::string_view> words;
    if (model.over_characters()) {
        for (size_t from = 0; from < stretch.size();) {
            size_t to = model.splits_before_spaces() ? stretch.find(' ', from + 1) : std::string_view::npos;
            to = std::min(to, stretch.size());
            words.push_back(stretch.substr(from, to - from));
            from = to;
        }
    } else {
        std::vector<Span> spans;
        core.method().encoder().pre_tokens(begin, begin + stretch.size(), spans);
        const uint8_t* at = begin;
        for (const Span& span : spans) {
            CHECK(at <= span.begin && span.begin < span.end && span.end <= begin + stretch.size());
            at = span.end;
            words.push_back(stretch.substr(static_cast<size_t>(span.begin - begin), static_cast<size_t>(span.end - span.begin)));
        }
    }
    for (const std::string_view word : words) {
        const Ids ids = model.encode(word);
        std::string joined;
        bool known = true;
        for (const uint32_t id : ids) {
            const auto& bytes = model.bytes(id);
            known &= bytes.has_value();
            if (bytes) joined += *bytes;
        }
        if (known && core.method().encoder().keeps_all()) CHECK(joined == word || !core.method().model().matcher().knows_all_bytes());
        out.insert(out.end(), ids.begin(), ids.end());
    }
}

// The ids of the segments that the core has left in `space`, by the naive model.
inline Ids naive_ids(const Core<BytePairMethod>& core, const NaiveModel& model, const Segments<BytePairCore>& segments) {
    Ids ids;
    std::string stretch;
    const auto finish = [&] {
        append_naive(core, model, stretch, ids);
        stretch.clear();
    };
    for (const Segment& segment : segments) {
        if (segment.token == NONE) stretch.append(segment.begin, segment.end);
        // Of a stretch with a metaspace in front the first piece stands apart.
        if (segment.token != NONE || !core.method().metaspace()) finish();
        if (segment.token != NONE) ids.push_back(segment.token);
    }
    finish();
    return ids;
}

// Calls check(tokenizer, cores) with the tokenizer that the input chooses.
template <class Check>
void with_tokenizer(Input& in, Check&& check) {
    auto& all = tokenizers();
    Tokenizer& tokenizer = all[in.below(all.size())];
    current_tokenizer = tokenizer.name.c_str();
    std::visit([&](auto& cores) { check(tokenizer, cores); }, tokenizer.cores);
}

}  // namespace lopt::fuzz
