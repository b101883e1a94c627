// What the front end tells the lowering about each CUDA C kernel.
#pragma once
#include <string>
#include <vector>

namespace damo::clang_plugin {

struct KernelInfo {
  std::string name;                         ///< as asked for: "scale", "scale<float>"
  std::string entry;                        ///< the symbol that runs it over blocks, before lowering renames it
  std::vector<std::string> parameter_types;
  std::vector<unsigned> parameter_bytes;
};

}  // namespace damo::clang_plugin
