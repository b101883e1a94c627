// What a Function consists of.
#pragma once
#include <memory>

#include <damo/function.hpp>
#include "runtime/exec/executor.hpp"

namespace damo {

struct Function::Data {
  Options options;
  SourceLine where;
  FunctionGraph graph;
  BuildReport report;
  std::unique_ptr<Executor> executor;
};

}  // namespace damo
