// The Python class of the Unigram core.
#include "compiled/read_core.hpp"
#include "python/python_growing.hpp"

namespace lopt {

void define_unigram(nb::module_& module) {
    nb::class_<PythonGrowing<UnigramCore>> type(module, "UnigramCore");
    PythonGrowing<UnigramCore>::define(type, module, &unigram_core, "UnigramIntervals");
}

}  // namespace lopt
