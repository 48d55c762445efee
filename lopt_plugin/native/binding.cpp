// The only file that knows Python: arguments in, lists and arrays out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <optional>
#include <tuple>

#include "core.hpp"
#include "end_of_word.hpp"
#include "id_objects.hpp"
#include "interpreter_lock.hpp"
#include "map_characters.hpp"
#include "normalization_form.hpp"
#include "replace.hpp"
#include "sentencepiece_vocabulary.hpp"
#include "text_edges.hpp"

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

ReferenceNormalize reference_normalizer(nb::object function) {
    // The steps are moved about, and dropped when a core is refused, without the lock.
    const std::shared_ptr<nb::object> shared(new nb::object(std::move(function)), [](nb::object* last) {
        const InterpreterLocked locked;
        delete last;
    });
    return [shared](std::string_view text) {
        const InterpreterLocked locked;
        const nb::object result = (*shared)(nb::str(text.data(), text.size()));
        return std::string(utf8_of(result));
    };
}

// What normalization forms ask about characters; `forms` may be null where NFC is the only one.
struct FormTables {
    std::shared_ptr<const ClassTable> classes, forms;
    std::vector<ComposingPair> composing_pairs;
};

std::unique_ptr<NormalizerStep> normalization_form(const std::string& name, nb::object function, const FormTables& tables) {
    const struct {
        std::string_view name;
        const FormBits& bits;
    } known[] = {{"NFC", NFC_BITS}, {"NFD", NFD_BITS}, {"NFKC", NFKC_BITS}, {"NFKD", NFKD_BITS}};
    for (const auto& form : known) {
        if (form.name != name) continue;
        const auto& classes = name == "NFC" ? tables.classes : tables.forms;
        if (!classes) throw std::invalid_argument("no table of what " + name + " changes");
        return std::make_unique<NormalizationForm>(classes, form.bits, tables.composing_pairs, reference_normalizer(std::move(function)));
    }
    throw std::invalid_argument("unknown normalization form " + name);
}

CharacterSet character_set(const std::string& members) {
    std::vector<uint32_t> code_points;
    const auto* p = reinterpret_cast<const uint8_t*>(members.data());
    int length;
    for (const auto* end = p + members.size(); p < end; p += length) code_points.push_back(decode_character(p, length));
    return CharacterSet(code_points);
}

// A step is a tuple: its kind, then what _core.pyi says.
std::unique_ptr<NormalizerStep> normalizer_step(nb::tuple step, const FormTables& tables) {
    if (nb::len(step) == 0) throw std::invalid_argument("a normalizer step is empty");
    const auto kind = nb::cast<std::string>(step[0]);
    const auto has = [&step, &kind](std::string_view name, size_t arguments) { return kind == name && nb::len(step) == arguments + 1; };
    const auto text = [&step](size_t i) { return nb::cast<std::string>(step[i]); };
    if (has("form", 2)) return normalization_form(text(1), step[2], tables);
    if (has("replace", 2)) return std::make_unique<ReplaceText>(text(1), text(2));
    if (has("replace_runs", 4))
        return std::make_unique<ReplaceRuns>(character_set(text(1)), nb::cast<size_t>(step[2]), nb::cast<bool>(step[3]), text(4));
    if (has("strip", 3)) return std::make_unique<Strip>(character_set(text(1)), nb::cast<bool>(step[2]), nb::cast<bool>(step[3]));
    if (has("prepend", 1)) return std::make_unique<Prepend>(text(1));
    if (has("reference", 1)) return std::make_unique<ReferenceStep>(reference_normalizer(step[1]));
    if (has("characters", 1)) {
        std::vector<MappedCharacter> mapped;
        for (const auto& [code_point, becomes] : nb::cast<std::vector<std::tuple<uint32_t, std::string>>>(step[1])) mapped.push_back({code_point, becomes});
        return std::make_unique<MapCharacters>(mapped);
    }
    throw std::invalid_argument("unknown normalizer step " + kind);
}

std::vector<std::unique_ptr<NormalizerStep>> normalizer_steps(nb::list steps, const FormTables& tables) {
    std::vector<std::unique_ptr<NormalizerStep>> made;
    for (nb::handle step : steps) made.push_back(normalizer_step(nb::cast<nb::tuple>(step), tables));
    return made;
}

using AddedTokenTuple = std::tuple<std::string, uint32_t, bool, bool, bool, bool, bool>;
using UnknownTuple = std::tuple<std::optional<std::string>, bool, bool>;
using BlankSignsTuple = std::tuple<bool, bool, std::string>;
using RefinementTuple = std::tuple<std::string, std::string, bool, bool>;

std::shared_ptr<const ClassTable> class_table(nb::bytes class_pages, nb::bytes class_cells) {
    const auto pages = copy_of<uint16_t>(class_pages), cells = copy_of<uint16_t>(class_cells);
    return std::make_shared<const ClassTable>(pages.data(), pages.size(), cells.data(), cells.size());
}

CoreConfiguration configuration_of(std::shared_ptr<const ClassTable> classes, std::vector<std::unique_ptr<NormalizerStep>> normalizer,
                                   nb::bytes byte_classes, const std::string& scanner, const std::vector<RefinementTuple>& refinements,
                                   bool add_prefix_space, const std::vector<AddedTokenTuple>& added_tokens) {
    if (byte_classes.size() != 256) throw std::invalid_argument("byte_classes: 256 bytes expected");
    CoreConfiguration configuration{std::move(classes),
                                    std::move(normalizer),
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

BlankSigns blank_signs_of(const BlankSignsTuple& signs) {
    const auto& [in_normalizer, normalizer_prepends, scheme] = signs;
    if (scheme == "never") return {in_normalizer, normalizer_prepends, PrependScheme::never};
    if (scheme == "first") return {in_normalizer, normalizer_prepends, PrependScheme::first};
    if (scheme == "always") return {in_normalizer, normalizer_prepends, PrependScheme::always};
    throw std::invalid_argument("unknown prepend scheme " + scheme);
}

nb::ndarray<nb::numpy, int32_t, nb::ndim<1>> array_of(const uint32_t* ids, size_t count) {
    auto* data = static_cast<int32_t*>(std::malloc(count * sizeof(int32_t) + 1));
    if (!data) throw std::bad_alloc();
    nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    if (count) std::memcpy(data, ids, count * sizeof(int32_t));
    return nb::ndarray<nb::numpy, int32_t, nb::ndim<1>>(data, {count}, owner);
}

class PythonCore {
  public:
    PythonCore(nb::dict vocabulary, nb::list merges, bool ignore_merges, nb::bytes class_pages, nb::bytes class_cells,
               nb::bytes compose_pairs, nb::bytes byte_classes, const std::string& scanner, const std::vector<RefinementTuple>& refinements,
               bool add_prefix_space, nb::list normalizer, const std::vector<AddedTokenTuple>& added_tokens, nb::bytes dropped_bytes,
               nb::bytes form_pages, nb::bytes form_cells, const std::string& end_of_word_suffix,
               const std::optional<UnknownTuple>& unknown_characters, const std::optional<BlankSignsTuple>& blank_signs) {
        auto names = vocabulary_items(vocabulary);
        auto merge_names = merge_items(merges);
        if (!end_of_word_suffix.empty()) {
            if (ignore_merges) throw std::invalid_argument("merges are ignored for whole entries, and words end in a suffix");
            if (unknown_characters) throw std::invalid_argument("words end in a suffix, and the model is over characters");
            end_words(end_of_word_suffix, names, merge_names);
        }
        const auto classes = class_table(class_pages, class_cells);
        const auto forms = form_cells.size() ? class_table(form_pages, form_cells) : nullptr;
        auto configuration = configuration_of(classes, normalizer_steps(normalizer, {classes, forms, copy_of<ComposingPair>(compose_pairs)}),
                                              byte_classes, scanner, refinements, add_prefix_space, added_tokens);
        if (blank_signs) {
            if (nb::len(normalizer)) throw std::invalid_argument("blanks are spelled as signs, and there is another normalizer");
            configuration.blank_signs = blank_signs_of(*blank_signs);
        }
        const std::string_view dropped(dropped_bytes.c_str(), dropped_bytes.size());
        uint32_t most = 0;
        for (const auto& item : names) most = std::max(most, item.id);
        for (const auto& token : added_tokens) most = std::max(most, std::get<1>(token));
        {
            const InterpreterUnlocked unlocked;
            if (unknown_characters) {
                const auto& [token, fused, byte_fallback] = *unknown_characters;
                const SentencePieceVocabulary loaded(names, merge_names, {token, fused, byte_fallback});
                configuration.separate_blanks = loaded.separate_blanks();
                core_ = std::make_unique<Core>(std::move(configuration), loaded.vocabulary(), loaded.merges(), ignore_merges,
                                               loaded.unknown_characters());
            } else {
                core_ = std::make_unique<Core>(std::move(configuration), Vocabulary(names, dropped, end_of_word_suffix), merge_names, ignore_merges);
            }
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
    nb::tuple encode_batch(nb::list texts, size_t threads, bool split_special) const {
        std::vector<Characters> rows;
        rows.reserve(texts.size());
        for (nb::handle text : texts) {
            if (!PyUnicode_Check(text.ptr())) throw nb::type_error("encode_batch: a text is not a str");
            rows.push_back(characters_of(text));
        }
        // The strings must outlive the work even if another thread empties the list meanwhile.
        const nb::tuple alive(texts);
        std::vector<IdBuffer> ids(rows.size());
        {
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
        }
        IdBuffer all;
        auto* offsets = static_cast<int64_t*>(std::malloc((rows.size() + 1) * sizeof(int64_t)));
        if (!offsets) throw std::bad_alloc();
        nb::capsule owner(offsets, [](void* p) noexcept { std::free(p); });
        offsets[0] = 0;
        for (size_t i = 0; i < ids.size(); i++) {
            all.append(ids[i].data(), ids[i].size());
            offsets[i + 1] = static_cast<int64_t>(all.size());
        }
        return nb::make_tuple(array_of(all.data(), all.size()),
                              nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>(offsets, {rows.size() + 1}, owner));
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
    nb::str normalize(nb::str text) const {
        const std::string_view utf8 = utf8_of(text);
        const auto* begin = reinterpret_cast<const uint8_t*>(utf8.data());
        const auto* end = begin + utf8.size();
        bool marked = false;
        int length;
        for (const uint8_t* p = begin; p < end; p += length) {
            const uint32_t c = decode_character(p, length);
            marked |= c >= 0x80 && core_->normalizer().page_marks()[c >> 4];
        }
        std::string changed;
        if (begin == end || !core_->normalizer().apply(begin, end, marked, changed)) return text;
        return nb::str(changed.data(), changed.size());
    }
    nb::object encode_word(nb::bytes word, bool by_rank) const {
        std::string bytes(word.c_str(), word.size());
        const bool ends_words = core_->model().ends_words();
        for (const char byte : bytes)
            if (!core_->model().knows_byte(static_cast<uint8_t>(byte)) || (ends_words && static_cast<uint8_t>(byte) == END_OF_WORD))
                throw std::invalid_argument("encode_word: a byte that no text holds");
        if (ends_words && !bytes.empty()) bytes.push_back(static_cast<char>(END_OF_WORD));
        const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
        const size_t n = bytes.size();
        std::vector<uint32_t> ids(n + 1);
        size_t count = 0;
        if (n) count = by_rank ? merge_by_rank(core_->model().merges(), p, n, ids.data())
                               : static_cast<size_t>(core_->model().matcher().encode(p, static_cast<uint32_t>(n), ids.data()) - ids.data());
        count = static_cast<size_t>(core_->model().unknown_characters().replace(ids.data(), ids.data() + count) - ids.data());
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
        const Characters characters = characters_of(text);
        if (characters.length < GIL_FREE_FROM) return core_->encode(characters, options, space, sink);
        const InterpreterUnlocked unlocked;
        core_->encode(characters, options, space, sink);
    }

    std::unique_ptr<Core> core_;
    std::unique_ptr<IdObjects> objects_;
};

}  // namespace

NB_MODULE(_core, module) {
    nb::set_leak_warnings(false);  // a tokenizer that lives as long as its process is no leak
    module.doc() = "The native core: text to ids for one BPE pipeline.";
    nb::exception<LoneSurrogateError>(module, "LoneSurrogateError", PyExc_ValueError);
    nb::class_<PythonCore>(module, "Core")
        .def(nb::init<nb::dict, nb::list, bool, nb::bytes, nb::bytes, nb::bytes, nb::bytes, const std::string&,
                      const std::vector<RefinementTuple>&, bool, nb::list, const std::vector<AddedTokenTuple>&, nb::bytes, nb::bytes,
                      nb::bytes, const std::string&, const std::optional<UnknownTuple>&, const std::optional<BlankSignsTuple>&>(),
             nb::kw_only(), nb::arg("vocabulary"), nb::arg("merges"), nb::arg("ignore_merges"), nb::arg("class_pages"),
             nb::arg("class_cells"), nb::arg("compose_pairs"), nb::arg("byte_classes"), nb::arg("scanner"), nb::arg("refinements"),
             nb::arg("add_prefix_space"), nb::arg("normalizer"), nb::arg("added_tokens"),
             nb::arg("dropped_bytes") = nb::bytes("", 0), nb::arg("form_pages") = nb::bytes("", 0),
             nb::arg("form_cells") = nb::bytes("", 0), nb::arg("end_of_word_suffix") = "",
             nb::arg("unknown_characters") = nb::none(), nb::arg("blank_signs") = nb::none())
        .def("encode", &PythonCore::encode, nb::arg("text"), nb::arg("threads") = 1, nb::arg("chunk_bytes") = 0,
             nb::arg("split_special_tokens") = false)
        .def("encode_array", &PythonCore::encode_array, nb::arg("text"), nb::arg("threads") = 1, nb::arg("chunk_bytes") = 0,
             nb::arg("split_special_tokens") = false)
        .def("encode_batch", &PythonCore::encode_batch, nb::arg("texts"), nb::arg("threads") = 1, nb::arg("split_special_tokens") = false)
        .def("pre_tokens", &PythonCore::pre_tokens, nb::arg("text"))
        .def("normalize", &PythonCore::normalize, nb::arg("text"))
        .def("encode_word", &PythonCore::encode_word, nb::arg("data"), nb::arg("by_rank"))
        .def("default_chunk_bytes", &PythonCore::default_chunk_bytes, nb::arg("text_bytes"), nb::arg("threads"))
        .def("info", &PythonCore::info);
}
