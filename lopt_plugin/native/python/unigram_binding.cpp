// The Python class of the Unigram core.
#include "core/unigram_method.hpp"
#include "python/normalizer_arguments.hpp"
#include "python/python_growing.hpp"

namespace lopt {
namespace {

class PythonUnigramCore : public PythonGrowing<UnigramCore> {
  public:
    using PythonGrowing::PythonGrowing;

    static void create(PythonUnigramCore* self, nb::list names, std::vector<double> scores, uint32_t unknown_id, bool byte_fallback,
                       const std::string& scanner, const std::string& white_space, const std::string& scheme, nb::bytes class_pages,
                       nb::bytes class_cells, nb::bytes compose_pairs, nb::list steps, nb::bytes form_pages, nb::bytes form_cells,
                       const std::vector<AddedTokenTuple>& added_tokens) {
        const nb::tuple alive(names);
        std::vector<std::string_view> pieces;
        for (nb::handle name : alive) {
            if (!PyUnicode_Check(name.ptr())) throw nb::type_error("names: a name is not a str");
            pieces.push_back(utf8_of(name));
        }
        auto added = added_token_sets(added_tokens);
        const auto largest = std::max(added.largest_id, static_cast<uint32_t>(pieces.size()) - 1);
        const auto classes = std::make_shared<const ClassTable>(class_table(class_pages, class_cells));
        UnigramConfiguration configuration{classes,
                                           normalizer_steps(steps, form_tables(classes, form_pages, form_cells, compose_pairs)),
                                           UnigramWords(word_division(scanner), code_points_of(white_space)),
                                           prepend_scheme(scheme),
                                           std::move(scores),
                                           unknown_id,
                                           byte_fallback};
        std::unique_ptr<UnigramCore> core;
        {
            const InterpreterUnlocked unlocked;
            auto method = std::make_unique<UnigramMethod>(std::move(configuration), pieces);
            core = std::make_unique<UnigramCore>(std::move(method), std::move(added.raw), std::move(added.normalized), false);
        }
        new (self) PythonUnigramCore(std::move(core), largest);
    }
};

}  // namespace

void define_unigram(nb::module_& module) {
    nb::class_<PythonUnigramCore> type(module, "UnigramCore");
    type.def("__init__", &PythonUnigramCore::create, nb::kw_only(), nb::arg("names"), nb::arg("scores"), nb::arg("unknown_id"),
             nb::arg("byte_fallback"), nb::arg("scanner"), nb::arg("white_space"), nb::arg("prepend_scheme"), nb::arg("class_pages"),
             nb::arg("class_cells"), nb::arg("compose_pairs"), nb::arg("normalizer"), nb::arg("form_pages"), nb::arg("form_cells"),
             nb::arg("added_tokens"))
        .def("info", &PythonUnigramCore::info);
    PythonUnigramCore::define(type, module, "UnigramIntervals", "UnigramGrowingWord");
}

}  // namespace lopt
