// The module, and the core for byte-level BPE: arguments in, lists and arrays out.
#include <tuple>

#include "byte_level.hpp"
#include "python_core.hpp"

namespace lopt {

void define_word_piece(nb::module_& module);

namespace {

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

using RefinementTuple = std::tuple<std::string, std::string, bool, bool>;

ByteLevelConfiguration configuration_of(nb::bytes class_pages, nb::bytes class_cells, nb::bytes compose_pairs, nb::bytes byte_classes,
                                        const std::string& scanner, const std::vector<RefinementTuple>& refinements, nb::object normalize) {
    if (byte_classes.size() != 256) throw std::invalid_argument("byte_classes: 256 bytes expected");
    ByteLevelConfiguration configuration{class_table(class_pages, class_cells),
                                         copy_of<ComposingPair>(compose_pairs),
                                         normalizer(std::move(normalize)),
                                         scanner,
                                         {},
                                         {}};
    std::memcpy(configuration.byte_classes.data(), byte_classes.c_str(), 256);
    for (const auto& [matcher, behavior, invert, after_byte_level] : refinements)
        configuration.refinements.push_back(make_refinement(matcher, behavior, invert, after_byte_level));
    return configuration;
}

class PythonByteLevelCore : public PythonCore<ByteLevelCore> {
  public:
    using PythonCore::PythonCore;

    static void create(PythonByteLevelCore* self, nb::dict vocabulary, nb::list merges, bool ignore_merges, nb::bytes class_pages,
                       nb::bytes class_cells, nb::bytes compose_pairs, nb::bytes byte_classes, const std::string& scanner,
                       const std::vector<RefinementTuple>& refinements, bool add_prefix_space, nb::object normalize,
                       const std::vector<AddedTokenTuple>& added_tokens, nb::bytes dropped_bytes) {
        const auto names = vocabulary_items(vocabulary);
        const auto merge_names = merge_items(merges);
        auto configuration =
            configuration_of(class_pages, class_cells, compose_pairs, byte_classes, scanner, refinements, std::move(normalize));
        auto added = added_token_sets(added_tokens);
        const std::string_view dropped(dropped_bytes.c_str(), dropped_bytes.size());
        uint32_t largest = added.largest_id;
        for (const auto& item : names) largest = std::max(largest, item.id);
        std::unique_ptr<ByteLevelCore> core;
        {
            const InterpreterUnlocked unlocked;
            auto method = std::make_unique<ByteLevel>(std::move(configuration), Vocabulary(names, dropped), merge_names, ignore_merges);
            core = std::make_unique<ByteLevelCore>(std::move(method), std::move(added.raw), std::move(added.normalized), add_prefix_space);
        }
        new (self) PythonByteLevelCore(std::move(core), largest);
    }

    std::vector<std::tuple<size_t, size_t>> pre_tokens(nb::str text) const {
        const std::string_view utf8 = utf8_of(text);
        const auto* begin = reinterpret_cast<const uint8_t*>(utf8.data());
        std::vector<Span> spans;
        core().method().encoder().pre_tokens(begin, begin + utf8.size(), spans);
        std::vector<std::tuple<size_t, size_t>> offsets;
        for (const auto& span : spans) offsets.emplace_back(span.begin - begin, span.end - begin);
        return offsets;
    }
    nb::object encode_word(nb::bytes word, bool by_rank) const {
        const Model& model = core().method().model();
        const auto* p = reinterpret_cast<const uint8_t*>(word.c_str());
        const size_t n = word.size();
        for (size_t i = 0; i < n; i++)
            if (!model.knows_byte(p[i])) throw std::invalid_argument("encode_word: a byte that no text holds");
        std::vector<uint32_t> ids(n + 1);
        size_t count = 0;
        if (n) count = by_rank ? merge_by_rank(model.merges(), p, n, ids.data())
                               : static_cast<size_t>(model.matcher().encode(p, static_cast<uint32_t>(n), ids.data()) - ids.data());
        IdObjects::List list(objects());
        list.append(ids.data(), count);
        return nb::steal(list.finish());
    }
    nb::dict info() const {
        nb::dict result = PythonCore::info();
        result["matcher_usable"] = core().method().model().matcher().usable();
        return result;
    }
};

}  // namespace
}  // namespace lopt

NB_MODULE(_core, module) {
    using namespace lopt;
    nb::set_leak_warnings(false);  // a tokenizer that lives as long as its process is no leak
    module.doc() = "The native cores: text to ids for one pipeline.";
    nb::exception<LoneSurrogateError>(module, "LoneSurrogateError", PyExc_ValueError);
    nb::class_<PythonByteLevelCore> type(module, "Core");
    type.def("__init__", &PythonByteLevelCore::create, nb::kw_only(), nb::arg("vocabulary"), nb::arg("merges"), nb::arg("ignore_merges"),
             nb::arg("class_pages"), nb::arg("class_cells"), nb::arg("compose_pairs"), nb::arg("byte_classes"), nb::arg("scanner"),
             nb::arg("refinements"), nb::arg("add_prefix_space"), nb::arg("normalize").none(), nb::arg("added_tokens"),
             nb::arg("dropped_bytes") = nb::bytes("", 0))
        .def("pre_tokens", &PythonByteLevelCore::pre_tokens, nb::arg("text"))
        .def("encode_word", &PythonByteLevelCore::encode_word, nb::arg("data"), nb::arg("by_rank"))
        .def("info", &PythonByteLevelCore::info);
    PythonByteLevelCore::define(type);
    define_word_piece(module);
}
