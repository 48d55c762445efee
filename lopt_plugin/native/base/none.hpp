// What stands for no id and for no character.
#pragma once

#include <cstdint>

namespace lopt {

inline constexpr uint32_t NONE = ~uint32_t{0};

}  // namespace lopt
