#include "runtime/cuda/cubin_variables.hpp"

#include <utility>

#include "runtime/cuda/cubin_file.hpp"

namespace damo::cuda_backend {

std::vector<std::string> cubin_variables(std::span<const std::byte> code) {
  std::vector<std::string> symbols;
  const CubinFile file(code);
  if (!file.is_cubin()) return symbols;
  for (std::size_t i = 0; i < file.section_count(); ++i) {
    const Elf64_Shdr table = file.section(i);
    if (table.sh_type != SHT_SYMTAB || table.sh_size > file.size()) continue;
    const Elf64_Shdr names = file.section(table.sh_link);
    for (std::size_t offset = 0; offset + sizeof(Elf64_Sym) <= table.sh_size; offset += sizeof(Elf64_Sym)) {
      const auto symbol = file.at<Elf64_Sym>(table.sh_offset + offset);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF) continue;
      if (std::string name = file.text_at(names.sh_offset + symbol.st_name); !name.empty()) symbols.push_back(std::move(name));
    }
  }
  return symbols;
}

}  // namespace damo::cuda_backend
