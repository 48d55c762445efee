// The Python module, and the class of the BPE core.
#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/idle_cores.hpp"
#include "base/processor.hpp"
#include "compiled/read_core.hpp"
#include "python/batch_arrays.hpp"
#include "python/cpython_layout.hpp"
#include "python/python_growing.hpp"
#include "text/ascii_masks.hpp"

namespace lopt {

void define_compiled(nb::module_& module);
void define_decoding(nb::module_& module);
void define_unigram(nb::module_& module);
void define_word_piece(nb::module_& module);

namespace {

// The compiler, the processor, and the vectors in use here, such as "g++ 12.2.0 for x86-64 with AVX-512".
std::string build_description() {
#if defined(__clang__)
    const std::string compiler = "clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__) + "." +
                                 std::to_string(__clang_patchlevel__);
#elif defined(__GNUC__)
    const std::string compiler = "g++ " __VERSION__;
#else
    const std::string compiler = "an unknown compiler";
#endif
#if defined(__x86_64__)
    const std::string processor = "x86-64";
#elif defined(__aarch64__)
    const std::string processor = "arm64";
#else
    const std::string processor = "an unknown processor";
#endif
    return compiler + " for " + processor + " with " + (has_avx512() ? "AVX-512" : VECTORS);
}

class PythonBytePairCore : public PythonGrowing<BytePairCore> {
  public:
    using PythonGrowing::PythonGrowing;

    nb::ndarray<nb::numpy, int64_t, nb::ndim<2>> pre_tokens(nb::str text) const {
        const std::string_view utf8 = utf8_of(text);
        const auto* begin = reinterpret_cast<const uint8_t*>(utf8.data());
        std::vector<Span> spans;
        {
            const InterpreterUnlocked unlocked;
            core().method().encoder().pre_tokens(begin, begin + utf8.size(), spans);
        }
        auto offsets = allocated<int64_t>(2 * spans.size());
        for (size_t i = 0; i < spans.size(); i++) {
            offsets[2 * i] = spans[i].begin - begin;
            offsets[2 * i + 1] = spans[i].end - begin;
        }
        return array_over<int64_t, 2>(std::move(offsets), {spans.size(), 2});
    }
    nb::str normalize(nb::str text) const {
        const std::string_view utf8 = utf8_of(text);
        const auto* begin = reinterpret_cast<const uint8_t*>(utf8.data());
        const auto* end = begin + utf8.size();
        std::string changed;
        if (begin == end || !core().method().normalizer().apply(begin, end, true, changed)) return text;
        return nb::str(changed.data(), changed.size());
    }
    nb::object encode_word(nb::bytes word, bool by_rank) const {
        const Model& model = core().method().model();
        std::string bytes(word.c_str(), word.size());
        const bool ends_words = model.ends_words();
        for (const char byte : bytes)
            if (!model.knows_byte(static_cast<uint8_t>(byte)) || (ends_words && static_cast<uint8_t>(byte) == END_OF_WORD))
                throw std::invalid_argument("encode_word: a byte that no text holds");
        std::erase_if(bytes, [&model](char byte) { return model.drops_byte(static_cast<uint8_t>(byte)); });
        if (ends_words && !bytes.empty()) bytes.push_back(static_cast<char>(END_OF_WORD));
        const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
        const size_t n = bytes.size();
        std::vector<uint32_t> ids(n + 1);
        size_t count = 0;
        if (n) count = by_rank ? merge_by_rank(model.merges(), p, n, ids.data())
                               : static_cast<size_t>(model.matcher().encode(p, static_cast<uint32_t>(n), ids.data()) - ids.data());
        count = static_cast<size_t>(model.unknown_characters().replace(ids.data(), ids.data() + count) - ids.data());
        return id_list(largest_id(), ids.data(), count);
    }
    // Encodes the pre-tokens [begins[i], ends[i]) of `text`; returns all ids, concatenated, and their number per
    // pre-token.
    nb::tuple encode_pre_tokens(HostArray<const uint8_t> text, HostArray<const int32_t> begins, HostArray<const int32_t> ends, size_t threads) const {
        if (begins.size() != ends.size()) throw std::invalid_argument("encode_pre_tokens: not as many ends as begins");
        const size_t words = begins.size();
        for (size_t i = 0; i < words; i++)
            if (begins.data()[i] < 0 || begins.data()[i] >= ends.data()[i] || static_cast<size_t>(ends.data()[i]) > text.size())
                throw std::invalid_argument("encode_pre_tokens: a pre-token is not in the text");
        std::vector<std::vector<uint32_t>> ids(words);
        const Matcher& matcher = core().method().model().matcher();
        {
            const InterpreterUnlocked unlocked;
            core().pool().run(words, threads, [&](size_t i) {
                const int32_t begin = begins.data()[i], length = ends.data()[i] - begin;
                ids[i].resize(static_cast<size_t>(length));
                const uint32_t* const end = matcher.encode(text.data() + begin, static_cast<uint32_t>(length), ids[i].data());
                ids[i].resize(static_cast<size_t>(end - ids[i].data()));
            });
        }
        size_t count = 0;
        for (const auto& of_word : ids) count += of_word.size();
        const auto write_all = [&ids](int32_t* to) {
            for (const auto& of_word : ids) to = std::copy(of_word.begin(), of_word.end(), to);
        };
        const auto write_counts = [&ids](int32_t* to) {
            for (const auto& of_word : ids) *to++ = static_cast<int32_t>(of_word.size());
        };
        return nb::make_tuple(written_array(count, write_all), written_array(words, write_counts));
    }
};

bool ids_within(nb::list ids, long long largest) {
    return take_ids(ids.ptr(), [largest](int64_t id) { return 0 <= id && id <= largest; });
}

// Writes the ids, eight bytes each, to a buffer of exactly that size. Returns false if one of them is not an int.
bool copy_ids(nb::list ids, nb::object out) {
    Py_buffer buffer;
    if (PyObject_GetBuffer(out.ptr(), &buffer, PyBUF_CONTIG)) throw nb::python_error();
    const bool has_room = static_cast<size_t>(buffer.len) == nb::len(ids) * sizeof(int64_t);
    auto* to = static_cast<unsigned char*>(buffer.buf);
    const auto write = [&to](int64_t id) {
        std::memcpy(to, &id, sizeof id);
        to += sizeof id;
        return true;
    };
    const bool copied = has_room && take_ids(ids.ptr(), write);
    PyBuffer_Release(&buffer);
    if (!has_room) throw std::invalid_argument("copy_ids: out has not eight bytes for each id");
    return copied;
}

}  // namespace
}  // namespace lopt

NB_MODULE(_core, module) {
    using namespace lopt;
    cpython::trust(true);
    nb::set_leak_warnings(false);  // a tokenizer that lives as long as the process is not a leak
    module.doc() = "The native cores: text to ids for one pipeline.";
    const nb::exception<NeedsReference> needs_reference(module, "NeedsReference", PyExc_ValueError);
    nb::exception<LoneSurrogateError>(module, "LoneSurrogateError", needs_reference.ptr());
    nb::exception<OffsetsUnknownError>(module, "OffsetsUnknownError", needs_reference.ptr());
    nb::class_<FinalIds>(module, "SettledIds")
        .def("__len__", &FinalIds::size)
        .def("extend", &FinalIds::extend, nb::arg("more"))
        .def("list_from", &FinalIds::list_from, nb::arg("before"), nb::arg("start"));
    nb::class_<PythonBytePairCore> type(module, "Core");
    type.def("pre_tokens", &PythonBytePairCore::pre_tokens, nb::arg("text"))
        .def("normalize", &PythonBytePairCore::normalize, nb::arg("text"))
        .def("encode_word", &PythonBytePairCore::encode_word, nb::arg("data"), nb::arg("by_rank"))
        .def("encode_pre_tokens", &PythonBytePairCore::encode_pre_tokens, nb::arg("text").noconvert(), nb::arg("begins").noconvert(),
             nb::arg("ends").noconvert(), nb::arg("threads") = 1);
    PythonBytePairCore::define(type, module, &byte_pair_core, "Intervals");
    define_unigram(module);
    define_word_piece(module);
    define_decoding(module);
    define_compiled(module);
    define_prefetched_texts(module);
    ShortEncoder::define(module);
    TextsToPack::define(module);
    module.def("ids_within", &ids_within, nb::arg("ids"), nb::arg("largest"));
    module.def("build_description", &build_description);
    module.def("_covers_layouts", &cpython::covers, nb::arg("version_hex"));
    module.def(
        "_trust_layouts",
        [](bool wanted) {
            const bool before = cpython::trusted();
            cpython::trust(wanted);
            return before;
        },
        nb::arg("wanted"));
    module.def("with_added_ids", &with_added_ids, nb::arg("ids"), nb::arg("row_offsets"), nb::arg("before"), nb::arg("after"));
    module.def("copy_ids", &copy_ids, nb::arg("ids"), nb::arg("out"));
    module.def(
        "idle_cores",
        [](std::string load, size_t cores) {
            const size_t idle = idle_cores(load, cores);
            return idle == SIZE_MAX ? std::optional<size_t>() : idle;
        },
        nb::arg("load"), nb::arg("cores"));
}
