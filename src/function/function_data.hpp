// What a Function consists of.
#pragma once
#include <memory>

#include <damo/function.hpp>
#include "ops/rewrites/fusion_record.hpp"
#include "runtime/exec/executor.hpp"

namespace damo {

struct Function::Data {
  Options options;
  SourceLine where;
  FunctionGraph graph;
  BuildReport report;
  FusionRecord fusion;
  std::vector<int> donated;      // inputs, by position
  std::vector<Array> defaults;   // by input; empty Arrays where there is none, nothing where no input has one
  bool is_plain = true;          // neither defaults nor a guard: calls go to the executor as they are
  std::unique_ptr<Executor> executor;
};

}  // namespace damo
