// The Python class of the WordPiece core.
#include "core/word_piece_method.hpp"
#include "python/python_growing.hpp"

namespace lopt {
namespace {

// pages, cells, changed, image_ends, images: the arrays of `character_classes.word_characters`, little endian.
using CharactersTuple = std::tuple<nb::bytes, nb::bytes, nb::bytes, nb::bytes, nb::bytes>;

std::unique_ptr<const WordCharacters> word_characters(const CharactersTuple& arrays) {
    const auto& [pages, cells, changed, image_ends, images] = arrays;
    return std::make_unique<const WordCharacters>(class_table(pages, cells), copy_of<uint32_t>(changed), copy_of<uint32_t>(image_ends),
                                                  copy_of<uint8_t>(images));
}

class PythonWordPieceCore : public PythonGrowing<WordPieceCore> {
  public:
    using PythonGrowing::PythonGrowing;

    static void create(PythonWordPieceCore* self, nb::dict vocabulary, uint32_t unknown_id, const std::string& continuing_prefix,
                       size_t max_characters, const CharactersTuple& characters, std::optional<CharactersTuple> text_characters,
                       nb::object order, const std::vector<AddedTokenTuple>& added_tokens) {
        const auto names = vocabulary_items(vocabulary);
        auto added = added_token_sets(added_tokens);
        uint32_t largest = std::max(added.largest_id, unknown_id);
        for (const auto& item : names) largest = std::max(largest, item.id);
        WordPieceConfiguration configuration{word_characters(characters),
                                             text_characters ? word_characters(*text_characters) : nullptr,
                                             normalizer(std::move(order)),
                                             continuing_prefix,
                                             unknown_id,
                                             max_characters};
        std::unique_ptr<WordPieceCore> core;
        {
            const InterpreterUnlocked unlocked;
            auto method = std::make_unique<WordPieceMethod>(std::move(configuration), names);
            core = std::make_unique<WordPieceCore>(std::move(method), std::move(added.raw), std::move(added.normalized), false);
        }
        new (self) PythonWordPieceCore(std::move(core), largest);
    }
};

}  // namespace

void define_word_piece(nb::module_& module) {
    nb::class_<PythonWordPieceCore> type(module, "WordPieceCore");
    type.def("__init__", &PythonWordPieceCore::create, nb::kw_only(), nb::arg("vocabulary"), nb::arg("unknown_id"),
             nb::arg("continuing_prefix"), nb::arg("max_characters"), nb::arg("characters"), nb::arg("text_characters").none(),
             nb::arg("order").none(), nb::arg("added_tokens"))
        .def("info", &PythonWordPieceCore::info);
    PythonWordPieceCore::define(type, module, "WordPieceIntervals", "WordPieceGrowingWord");
}

}  // namespace lopt
