// Makes an ELF relocatable object for x86-64 runnable in this process: what the compiler plugin gives, or the disk
// cache. Needs neither LLVM nor a linker.
//
// In: the bytes of one object. Out: functions and variables by name, until the LoadedObject dies.
// Memory: one mapping in three parts, code (read, execute), constants (read), data (read, write); never two of write
// and execute. Undefined symbols are looked for in a fixed table (memcpy, fmodf, ...), never in the process.
// Every field is checked against the file: a truncated or damaged object is an error text, not a crash. The contents of
// the code are not checked; a cache has to keep a checksum of its own.
// Debug sections are not loaded; an object that has line tables is kept as it came, for source_place.hpp.
// Never: threads, thread-local variables, constructors. See tests/runtime/cpu/elf_loader_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/cpu/kernel_abi.hpp"

namespace damo::cpu_backend {

class LoadedObject {
 public:
  /// Throws where the object can't be loaded. name is used in the error's text.
  LoadedObject(std::span<const std::byte> object, const std::string& name);
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;
  ~LoadedObject();

  /// The address of a global function or variable; null if there is none.
  void* find(std::string_view symbol) const;

  /// find() as a kernel. Throws, naming what there is.
  KernelEntry kernel(std::string_view symbol) const;

  /// Size in bytes of a global symbol, 0 if there is none: for __constant__ and __device__ variables.
  std::size_t size_of(std::string_view symbol) const;

  /// Names of the global functions, sorted.
  std::vector<std::string> functions() const;

  /// Symbols of the global variables.
  std::vector<std::string> variables() const;

  /// As check_table.hpp describes it; empty if the code is not checked.
  std::string_view check_table() const;
  /// Address and bytes of the constants and variables, all of them together.
  std::pair<std::uintptr_t, std::size_t> data() const { return data_; }

  // For the lines of faults.
  struct Place {
    std::size_t section;   ///< its number in the object
    std::uint64_t offset;  ///< in it
  };
  /// First address of the code, and the first behind it.
  std::pair<std::uintptr_t, std::uintptr_t> code() const { return code_; }
  /// Where in the object an address of the code comes from.
  std::optional<Place> place_of(std::uintptr_t address) const;
  /// The object's bytes, kept if it has line tables; else empty.
  std::span<const std::byte> image() const { return image_; }

  /// The plugin's list of kernels and parameter types (see plugin.h); empty if the object has none.
  std::string_view signatures() const;

 private:
  struct Symbol {
    void* address;
    std::size_t bytes;
    bool is_function;
  };
  friend class ObjectReader;

  struct CodeSection {
    std::size_t number;
    std::uintptr_t begin, end;
  };

  std::string name_;
  std::string_view text_of(std::string_view symbol) const;

  std::pair<std::uintptr_t, std::uintptr_t> code_ = {0, 0};
  std::pair<std::uintptr_t, std::size_t> data_ = {0, 0};
  std::vector<CodeSection> code_sections_;
  std::vector<std::byte> image_;
  void* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::unordered_map<std::string, Symbol> symbols_;
};

/// The address that compiled code gets for an external name, null if it may not call it.
void* runtime_symbol(std::string_view name);

}  // namespace damo::cpu_backend
