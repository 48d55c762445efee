// The Python class of the WordPiece core.
#include "compiled/read_core.hpp"
#include "python/python_growing.hpp"

namespace lopt {

void define_word_piece(nb::module_& module) {
    nb::class_<PythonGrowing<WordPieceCore>> type(module, "WordPieceCore");
    PythonGrowing<WordPieceCore>::define(type, module, &word_piece_core, "WordPieceIntervals");
}

}  // namespace lopt
