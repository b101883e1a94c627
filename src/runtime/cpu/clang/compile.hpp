// One compile from request to object: front end, CUDA lowering where asked, optimiser, code generator.
#pragma once
#include <string>

struct damo_clang_request;

namespace damo::clang_plugin {

struct Output {
  bool ok = false;
  std::string object;
  std::string log;
  std::string signatures;
};

Output compile(const damo_clang_request& request);

}  // namespace damo::clang_plugin
