#include "runtime/cpu/source_place.hpp"

#include "runtime/cpu/clang_plugin.hpp"
#include "runtime/cpu/elf_loader.hpp"

namespace damo::cpu_backend {

std::string source_place_text(const LoadedObject* object, std::uintptr_t address) {
  if (!object || object->image().empty()) return {};
  const auto place = object->place_of(address);
  if (!place) return {};
  const std::string text = source_place(object->image(), place->section, place->offset);
  return text.empty() ? text : text.starts_with("near ") ? " " + text : " at " + text;
}

}  // namespace damo::cpu_backend
