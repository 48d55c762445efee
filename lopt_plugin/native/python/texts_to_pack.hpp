// The texts of a batch for the GPU route: their sizes first, then their UTF-8, in as many buffers as the route chooses.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/packed_rows.hpp"
#include "python/python_arguments.hpp"

namespace lopt {

class TextsToPack {
  public:
    // The added tokens of a tokenizer: the bytes of the longest; are there any in a text; and where. Several threads ask.
    struct AddedTokensIn {
        size_t most_bytes;
        std::function<bool(const uint8_t*, const uint8_t*)> any;
        std::function<void(const uint8_t*, const uint8_t*, bool, Buffer<Segment>&)> find;
    };

    // packing: of the strings of `texts`. may_change: for each text, may the normalizer change it?
    TextsToPack(nb::tuple texts, std::unique_ptr<const Packing> packing, std::vector<uint8_t> may_change, AddedTokensIn added_tokens)
        : texts_(std::move(texts)), packing_(std::move(packing)), may_change_(std::move(may_change)), added_tokens_(std::move(added_tokens)) {}

    nb::tuple chunks(size_t added, size_t around, size_t most, size_t longest) const {
        std::vector<uint8_t> left_out = may_change_;
        for (size_t i = 0; i < left_out.size(); i++) left_out[i] |= packing_->bytes(i) + added > longest;
        nb::list chunks;
        for (const Packing::Chunk& chunk : packing_->chunks(left_out, around, most))
            chunks.append(nb::make_tuple(array_of<int64_t>(chunk.texts.data(), chunk.texts.size()), chunk.bytes));
        std::vector<int64_t> others;
        for (size_t i = 0; i < left_out.size(); i++)
            if (left_out[i]) others.push_back(static_cast<int64_t>(i));
        return nb::make_tuple(std::move(chunks), array_of<int64_t>(others.data(), others.size()));
    }
    nb::tuple pack(HostArray<const int64_t> numbers, HostArray<uint8_t> out, std::vector<int32_t> prefix, std::vector<int32_t> suffix,
                   bool split_special, size_t threads) const {
        const std::vector<size_t> chosen(numbers.data(), numbers.data() + numbers.shape(0));
        if (std::any_of(chosen.begin(), chosen.end(), [&](size_t number) { return number >= packing_->size(); })) throw nb::index_error("pack: no such text");
        const PackedRows::Around around{std::move(prefix), std::move(suffix)};
        std::optional<PackedRows> packed;
        {
            const InterpreterUnlocked unlocked;
            const auto written = packing_->write(chosen, around.before(), around.after(), out.data(), out.shape(0), threads, added_tokens_.most_bytes, added_tokens_.any);
            packed.emplace(out.data(), written, around, packing_->pool(), threads, [&](const uint8_t* begin, const uint8_t* end, Buffer<Segment>& segments) {
                added_tokens_.find(begin, end, split_special, segments);
            });
        }
        const auto array = [](const std::vector<int32_t>& values) { return array_of<int32_t>(values.data(), values.size()); };
        return nb::make_tuple(packed->bytes, array(packed->positions), array(packed->ids), array(packed->row_ends));
    }

    static void define(nb::module_& module) {
        nb::class_<TextsToPack>(module, "TextsToPack")
            .def("chunks", &TextsToPack::chunks, nb::arg("added"), nb::arg("around"), nb::arg("most"), nb::arg("longest"))
            .def("pack", &TextsToPack::pack, nb::arg("numbers").noconvert(), nb::arg("out").noconvert(), nb::arg("prefix"), nb::arg("suffix"),
                 nb::arg("split_special_tokens") = false, nb::arg("threads") = 1);
    }

  private:
    const nb::tuple texts_;
    const std::unique_ptr<const Packing> packing_;
    const std::vector<uint8_t> may_change_;
    const AddedTokensIn added_tokens_;
};

}  // namespace lopt
