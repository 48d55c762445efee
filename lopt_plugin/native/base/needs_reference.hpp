// The only exception for inputs that the reference must handle.
#pragma once

#include <stdexcept>

namespace lopt {

// This text cannot be handled here, for the reason in the message. Any other exception is a bug.
struct NeedsReference : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

}  // namespace lopt
