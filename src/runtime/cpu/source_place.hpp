// From an address in loaded code to the user's line. Needs the compiler plugin, which is opened when the first fault asks.
#pragma once
#include <cstdint>
#include <string>

namespace damo::cpu_backend {

class LoadedObject;

/// " at user.cu:3:7", or " near ..." where the optimiser has mixed lines; "" if it is not known: code without line tables, no plugin, an address elsewhere.
std::string source_place_text(const LoadedObject* object, std::uintptr_t address);

}  // namespace damo::cpu_backend
