// LinalgError: a matrix that has no such factors: singular, not positive definite, not finite. NumPy's LinAlgError.
#pragma once
#include <damo/error.hpp>

namespace damo {

struct LinalgError : UserError { using UserError::UserError; };

}  // namespace damo
