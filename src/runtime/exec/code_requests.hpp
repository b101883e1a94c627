// CodeRequests: what a thunk will have compiled, see ThunkContext::foresee_code.
#pragma once
#include <vector>

#include "runtime/backend.hpp"

namespace damo {

struct CodeRequests {
  std::vector<CompileRequest> all;
};

}  // namespace damo
