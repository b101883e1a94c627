#include "runtime/cuda/cubin_variables.hpp"

#include <elf.h>

#include <cstring>
#include <string_view>

namespace damo::cuda_backend {
namespace {

/// A record of the file; zeros if it does not lie in it.
template <class T>
T at(std::span<const std::byte> code, std::size_t offset) {
  T record{};
  if (offset <= code.size() && sizeof(T) <= code.size() - offset) std::memcpy(&record, code.data() + offset, sizeof(T));
  return record;
}

/// The text that ends with a NUL within the file.
std::string text_at(std::span<const std::byte> code, std::size_t offset) {
  if (offset >= code.size()) return {};
  const std::string_view rest(reinterpret_cast<const char*>(code.data()) + offset, code.size() - offset);
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string() : std::string(rest.substr(0, end));
}

}  // namespace

std::vector<std::string> cubin_variables(std::span<const std::byte> code) {
  std::vector<std::string> symbols;
  const auto header = at<Elf64_Ehdr>(code, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return symbols;
  const auto section = [&](std::size_t number) { return at<Elf64_Shdr>(code, header.e_shoff + number * sizeof(Elf64_Shdr)); };
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_SYMTAB || table.sh_size > code.size()) continue;
    const Elf64_Shdr names = section(table.sh_link);
    for (std::size_t offset = 0; offset + sizeof(Elf64_Sym) <= table.sh_size; offset += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(code, table.sh_offset + offset);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF) continue;
      if (std::string name = text_at(code, names.sh_offset + symbol.st_name); !name.empty()) symbols.push_back(std::move(name));
    }
  }
  return symbols;
}

}  // namespace damo::cuda_backend
