// The only file that knows Python: arguments in, lists and arrays out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <tuple>

#include "core.hpp"
#include "id_objects.hpp"
#include "interpreter_lock.hpp"
#include "offset_objects.hpp"

namespace nb = nanobind;
using namespace lopt;

namespace {

constexpr size_t GIL_FREE_FROM = 2048;  // characters; below, letting go of the lock costs more than it gives

std::string_view utf8_of(nb::handle text) {
    Py_ssize_t length;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &length);
    if (!data) throw nb::python_error();
    return {data, static_cast<size_t>(length)};
}

Characters characters_of(nb::handle text) {
    PyObject* object = text.ptr();
    const auto length = static_cast<size_t>(PyUnicode_GET_LENGTH(object));
    if (length > size_t{1} << 30) throw std::invalid_argument("texts of more than 2^30 characters are left to Hugging Face");
    return {PyUnicode_DATA(object), length, static_cast<int>(PyUnicode_KIND(object)), bool(PyUnicode_IS_ASCII(object))};
}

template <class Element>
std::vector<Element> copy_of(nb::bytes data) {
    std::vector<Element> elements(data.size() / sizeof(Element));
    if (!elements.empty()) std::memcpy(elements.data(), data.c_str(), elements.size() * sizeof(Element));
    return elements;
}

// The names point into the strings of the caller's objects, which outlive the construction.
std::vector<VocabularyItem> vocabulary_items(nb::dict vocabulary) {
    std::vector<VocabularyItem> items;
    items.reserve(vocabulary.size());
    for (auto [name, id] : vocabulary) {
        if (!PyUnicode_Check(name.ptr())) throw nb::type_error("vocabulary: a name is not a str");
        items.push_back({utf8_of(name), nb::cast<uint32_t>(id)});
    }
    return items;
}

std::vector<MergeItem> merge_items(nb::list merges) {
    std::vector<MergeItem> items;
    items.reserve(merges.size());
    for (nb::handle merge : merges) {
        if (PyUnicode_Check(merge.ptr())) {
            const std::string_view both = utf8_of(merge);
            const size_t blank = both.find(' ');
            if (blank == std::string_view::npos) throw std::invalid_argument("a merge is not two names");
            items.push_back({both.substr(0, blank), both.substr(blank + 1)});
        } else {
            const nb::object pair = nb::borrow(merge);
            if (nb::len(pair) != 2) throw std::invalid_argument("a merge is not two names");
            items.push_back({utf8_of(pair[0]), utf8_of(pair[1])});
        }
    }
    return items;
}

Nfc::Normalize normalizer(nb::object function) {
    if (function.is_none()) return {};
    // The reference is dropped with the core, under the lock.
    return [function = std::move(function)](std::string_view text) {
        const InterpreterLocked locked;
        const nb::object result = function(nb::str(text.data(), text.size()));
        return std::string(utf8_of(result));
    };
}

Aligner::Ask aligner(nb::object function) {
    if (function.is_none()) return {};
    return [function = std::move(function)](std::string_view text) {
        const InterpreterLocked locked;
        const nb::object result = function(nb::str(text.data(), text.size()));
        std::vector<Offset> offsets;
        for (nb::handle item : result) {
            const auto [begin, end] = nb::cast<std::tuple<int32_t, int32_t>>(item);
            offsets.push_back({begin, end});
        }
        return offsets;
    };
}

using AddedTokenTuple = std::tuple<std::string, uint32_t, bool, bool, bool, bool, bool>;
using RefinementTuple = std::tuple<std::string, std::string, bool, bool>;

CoreConfiguration configuration_of(nb::bytes class_pages, nb::bytes class_cells, nb::bytes compose_pairs, nb::bytes byte_classes,
                                   const std::string& scanner, const std::vector<RefinementTuple>& refinements, bool add_prefix_space,
                                   nb::object normalize, nb::object align, const std::vector<AddedTokenTuple>& added_tokens) {
    const auto pages = copy_of<uint16_t>(class_pages), cells = copy_of<uint16_t>(class_cells);
    if (byte_classes.size() != 256) throw std::invalid_argument("byte_classes: 256 bytes expected");
    CoreConfiguration configuration{ClassTable(pages.data(), pages.size(), cells.data(), cells.size()),
                                    copy_of<ComposingPair>(compose_pairs),
                                    normalizer(std::move(normalize)),
                                    aligner(std::move(align)),
                                    scanner,
                                    {},
                                    {},
                                    add_prefix_space,
                                    {},
                                    {}};
    std::memcpy(configuration.byte_classes.data(), byte_classes.c_str(), 256);
    for (const auto& [matcher, behavior, invert, after_byte_level] : refinements)
        configuration.refinements.push_back(make_refinement(matcher, behavior, invert, after_byte_level));
    for (const auto& [content, id, single_word, lstrip, rstrip, normalized, special] : added_tokens) {
        if (content.empty()) throw std::invalid_argument("an added token is empty");
        if (id > MAX_ID) throw std::invalid_argument("an added token's id is above 2^20 - 2");
        (normalized ? configuration.normalized_tokens : configuration.raw_tokens).push_back({content, id, single_word, lstrip, rstrip, special});
    }
    return configuration;
}

nb::ndarray<nb::numpy, int32_t, nb::ndim<1>> array_of(const uint32_t* ids, size_t count) {
    auto* data = static_cast<int32_t*>(std::malloc(count * sizeof(int32_t) + 1));
    if (!data) throw std::bad_alloc();
    nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    if (count) std::memcpy(data, ids, count * sizeof(int32_t));
    return nb::ndarray<nb::numpy, int32_t, nb::ndim<1>>(data, {count}, owner);
}

// Offsets of ids [first, last) of a text.
struct OffsetArray {
    struct Free {
        void operator()(Offset* p) const { std::free(p); }
    };
    std::unique_ptr<Offset[], Free> data;
    size_t first = 0, last = 0;
};

nb::ndarray<nb::numpy, int32_t, nb::ndim<2>> array_of_offsets(OffsetArray offsets) {
    Offset* data = offsets.data.release();
    nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    return nb::ndarray<nb::numpy, int32_t, nb::ndim<2>>(data + offsets.first, {offsets.last - offsets.first, 2}, owner);
}

class PythonCore {
  public:
    PythonCore(nb::dict vocabulary, nb::list merges, bool ignore_merges, nb::bytes class_pages, nb::bytes class_cells,
               nb::bytes compose_pairs, nb::bytes byte_classes, const std::string& scanner, const std::vector<RefinementTuple>& refinements,
               bool add_prefix_space, nb::object normalize, const std::vector<AddedTokenTuple>& added_tokens, nb::bytes dropped_bytes,
               nb::object align) {
        const auto names = vocabulary_items(vocabulary);
        const auto merge_names = merge_items(merges);
        auto configuration = configuration_of(class_pages, class_cells, compose_pairs, byte_classes, scanner, refinements,
                                              add_prefix_space, std::move(normalize), std::move(align), added_tokens);
        const std::string_view dropped(dropped_bytes.c_str(), dropped_bytes.size());
        uint32_t most = 0;
        for (const auto& item : names) most = std::max(most, item.id);
        for (const auto& token : added_tokens) most = std::max(most, std::get<1>(token));
        {
            const InterpreterUnlocked unlocked;
            core_ = std::make_unique<Core>(std::move(configuration), Vocabulary(names, dropped), merge_names, ignore_merges);
        }
        objects_ = std::make_unique<IdObjects>(most);
    }
    PythonCore(const PythonCore&) = delete;
    PythonCore& operator=(const PythonCore&) = delete;

    nb::object encode(nb::str text, size_t threads, size_t chunk_bytes, bool split_special) const {
        Core::Borrowed space(*core_);
        IdObjects::List list(*objects_);
        const EncodeOptions options{std::max<size_t>(threads, 1), chunk_bytes, split_special};
        if (options.threads == 1) {
            space->stretch.window.read_later = objects_->addresses();
            run(text, options, *space);
            list.append(space->ids.data(), space->ids.size());
        } else {
            // Part of the list is made while other threads still encode.
            run(text, options, *space, [&list](const uint32_t* ids, size_t count) {
                const InterpreterLocked locked;
                list.append(ids, count);
            });
        }
        return nb::steal(list.finish());
    }
    auto encode_array(nb::str text, size_t threads, size_t chunk_bytes, bool split_special) const {
        Core::Borrowed space(*core_);
        run(text, {std::max<size_t>(threads, 1), chunk_bytes, split_special}, *space);
        return array_of(space->ids.data(), space->ids.size());
    }
    // Ids and offsets, cut to `limit` ids.
    nb::tuple encode_with_offsets(nb::str text, size_t threads, size_t chunk_bytes, bool split_special, bool trim_blanks, bool spare_first,
                                  std::optional<size_t> limit, bool keep_end, bool as_lists) const {
        Core::Borrowed space(*core_);
        OffsetArray offsets;
        run(text, [&](const Characters& characters) {
            core_->encode(characters, {std::max<size_t>(threads, 1), chunk_bytes, split_special, true}, *space);
            offsets = offsets_of(*space, threads, {trim_blanks, spare_first, 0}, limit, keep_end);
        });
        const uint32_t* ids = space->ids.data() + offsets.first;
        const size_t count = offsets.last - offsets.first;
        if (!as_lists) return nb::make_tuple(array_of(ids, count), array_of_offsets(std::move(offsets)));
        IdObjects::List list(*objects_);
        list.append(ids, count);
        return nb::make_tuple(nb::steal(list.finish()), nb::steal(offset_list(offsets)));
    }
    nb::tuple encode_batch(nb::list texts, size_t threads, bool split_special) const {
        const std::vector<IdBuffer> ids = encode_rows(texts, threads, split_special);
        IdBuffer all;
        auto* offsets = static_cast<int64_t*>(std::malloc((ids.size() + 1) * sizeof(int64_t)));
        if (!offsets) throw std::bad_alloc();
        nb::capsule owner(offsets, [](void* p) noexcept { std::free(p); });
        offsets[0] = 0;
        for (size_t i = 0; i < ids.size(); i++) {
            all.append(ids[i].data(), ids[i].size());
            offsets[i + 1] = static_cast<int64_t>(all.size());
        }
        return nb::make_tuple(array_of(all.data(), all.size()),
                              nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>(offsets, {ids.size() + 1}, owner));
    }
    nb::list encode_batch_lists(nb::list texts, size_t threads, bool split_special) const {
        nb::list rows;
        for (const IdBuffer& ids : encode_rows(texts, threads, split_special)) {
            IdObjects::List list(*objects_);
            list.append(ids.data(), ids.size());
            rows.append(nb::steal(list.finish()));
        }
        return rows;
    }

    std::vector<std::tuple<size_t, size_t>> pre_tokens(nb::str text) const {
        const std::string_view utf8 = utf8_of(text);
        const auto* begin = reinterpret_cast<const uint8_t*>(utf8.data());
        std::vector<Span> spans;
        core_->stretches().pre_tokens(begin, begin + utf8.size(), spans);
        std::vector<std::tuple<size_t, size_t>> offsets;
        for (const auto& span : spans) offsets.emplace_back(span.begin - begin, span.end - begin);
        return offsets;
    }
    nb::object encode_word(nb::bytes word, bool by_rank) const {
        const auto* p = reinterpret_cast<const uint8_t*>(word.c_str());
        const size_t n = word.size();
        for (size_t i = 0; i < n; i++)
            if (!core_->model().knows_byte(p[i])) throw std::invalid_argument("encode_word: a byte that no text holds");
        std::vector<uint32_t> ids(n + 1);
        size_t count = 0;
        if (n) count = by_rank ? merge_by_rank(core_->model().merges(), p, n, ids.data())
                               : static_cast<size_t>(core_->model().matcher().encode(p, static_cast<uint32_t>(n), ids.data()) - ids.data());
        IdObjects::List list(*objects_);
        list.append(ids.data(), count);
        return nb::steal(list.finish());
    }
    size_t default_chunk_bytes(size_t text_bytes, size_t threads) const { return Core::default_chunk(text_bytes, std::max<size_t>(threads, 1)); }
    nb::dict info() const {
        nb::dict result;
        result["table_bytes"] = core_->bytes();
        result["id_object_bytes"] = objects_->bytes();
        result["matcher_usable"] = core_->model().matcher().usable();
        return result;
    }

  private:
    void run(nb::handle text, const EncodeOptions& options, Core::Workspace& space, const Core::Sink& sink = {}) const {
        run(text, [&](const Characters& characters) { core_->encode(characters, options, space, sink); });
    }
    template <class Work>
    static void run(nb::handle text, Work&& work) {
        const Characters characters = characters_of(text);
        if (characters.length < GIL_FREE_FROM) return work(characters);
        const InterpreterUnlocked unlocked;
        work(characters);
    }
    std::vector<IdBuffer> encode_rows(nb::list texts, size_t threads, bool split_special) const {
        std::vector<Characters> rows;
        rows.reserve(texts.size());
        for (nb::handle text : texts) {
            if (!PyUnicode_Check(text.ptr())) throw nb::type_error("encode_batch: a text is not a str");
            rows.push_back(characters_of(text));
        }
        // The strings must outlive the work even if another thread empties the list meanwhile.
        const nb::tuple alive(texts);
        std::vector<IdBuffer> ids(rows.size());
        const InterpreterUnlocked unlocked;
        // Rows that need the normalizer, and so Python, wait for the calling thread.
        std::vector<uint8_t> deferred(rows.size(), 0);
        const auto encode_row = [&](size_t i) {
            Core::Borrowed space(*core_);
            core_->encode(rows[i], {1, 0, split_special}, *space);
            ids[i].append(space->ids.data(), space->ids.size());
        };
        core_->pool().run(rows.size(), threads, [&](size_t i) {
            try {
                encode_row(i);
            } catch (const NotPythonThread&) {
                deferred[i] = 1;
            }
        });
        for (size_t i = 0; i < rows.size(); i++)
            if (deferred[i]) encode_row(i);
        return ids;
    }
    PyObject* offset_list(const OffsetArray& offsets) const {
        return list_of_offsets(offsets.data.get() + offsets.first, offsets.last - offsets.first, objects_->integers());
    }
    // Offsets of the ids in `space`, of which [first, last) are kept.
    OffsetArray offsets_of(const Core::Workspace& space, size_t threads, Trim trim, std::optional<size_t> limit, bool keep_end) const {
        const size_t count = space.ids.size(), kept = std::min(limit.value_or(count), count);
        OffsetArray offsets{nullptr, keep_end ? count - kept : 0, keep_end ? count : kept};
        trim.first = offsets.first;
        offsets.data.reset(static_cast<Offset*>(std::malloc(offsets.last * sizeof(Offset) + 1)));
        if (!offsets.data) throw std::bad_alloc();
        core_->offsets(space, threads, offsets.last, trim, offsets.data.get());
        return offsets;
    }

    std::unique_ptr<Core> core_;
    std::unique_ptr<IdObjects> objects_;
};

}  // namespace

NB_MODULE(_core, module) {
    nb::set_leak_warnings(false);  // a tokenizer that lives as long as its process is no leak
    module.doc() = "The native core: text to ids for one byte-level BPE pipeline.";
    nb::exception<LoneSurrogateError>(module, "LoneSurrogateError", PyExc_ValueError);
    nb::exception<OffsetsUnknownError>(module, "OffsetsUnknownError", PyExc_ValueError);
    nb::class_<PythonCore>(module, "Core")
        .def(nb::init<nb::dict, nb::list, bool, nb::bytes, nb::bytes, nb::bytes, nb::bytes, const std::string&,
                      const std::vector<RefinementTuple>&, bool, nb::object, const std::vector<AddedTokenTuple>&, nb::bytes, nb::object>(),
             nb::kw_only(), nb::arg("vocabulary"), nb::arg("merges"), nb::arg("ignore_merges"), nb::arg("class_pages"),
             nb::arg("class_cells"), nb::arg("compose_pairs"), nb::arg("byte_classes"), nb::arg("scanner"), nb::arg("refinements"),
             nb::arg("add_prefix_space"), nb::arg("normalize").none(), nb::arg("added_tokens"),
             nb::arg("dropped_bytes") = nb::bytes("", 0), nb::arg("align") = nb::none())
        .def("encode", &PythonCore::encode, nb::arg("text"), nb::arg("threads") = 1, nb::arg("chunk_bytes") = 0,
             nb::arg("split_special_tokens") = false)
        .def("encode_array", &PythonCore::encode_array, nb::arg("text"), nb::arg("threads") = 1, nb::arg("chunk_bytes") = 0,
             nb::arg("split_special_tokens") = false)
        .def("encode_with_offsets", &PythonCore::encode_with_offsets, nb::arg("text"), nb::arg("threads") = 1, nb::arg("chunk_bytes") = 0,
             nb::arg("split_special_tokens") = false, nb::arg("trim_blanks") = false, nb::arg("spare_first") = false,
             nb::arg("limit") = nb::none(), nb::arg("keep_end") = false, nb::arg("as_lists") = false)
        .def("encode_batch", &PythonCore::encode_batch, nb::arg("texts"), nb::arg("threads") = 1, nb::arg("split_special_tokens") = false)
        .def("encode_batch_lists", &PythonCore::encode_batch_lists, nb::arg("texts"), nb::arg("threads") = 1,
             nb::arg("split_special_tokens") = false)
        .def("pre_tokens", &PythonCore::pre_tokens, nb::arg("text"))
        .def("encode_word", &PythonCore::encode_word, nb::arg("data"), nb::arg("by_rank"))
        .def("default_chunk_bytes", &PythonCore::default_chunk_bytes, nb::arg("text_bytes"), nb::arg("threads"))
        .def("info", &PythonCore::info);
}
