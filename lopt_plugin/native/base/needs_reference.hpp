// The one exception for what the reference has to answer.
#pragma once

#include <stdexcept>

namespace lopt {

// This text cannot be answered here, for the reason that the message gives. Any other exception is a mistake.
struct NeedsReference : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

}  // namespace lopt
