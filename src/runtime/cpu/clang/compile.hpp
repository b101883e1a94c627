// One compile from request to object: front end, CUDA lowering where asked, optimiser, code generator.
#pragma once
#include <string>

#include "progress.hpp"

struct damo_clang_request;

namespace damo::clang_plugin {

struct Output {
  bool ok = false;
  bool is_broken = false;  ///< not ok, and not the text's fault: another form may do
  std::string object;
  std::string log;
  std::string signatures;
};

Output compile(const damo_clang_request& request, const Progress& progress);

}  // namespace damo::clang_plugin
