// Reading a cubin, which is an ELF file. What lies outside of the file reads as zeros, so that a damaged one ends in nothing found.
#pragma once
#include <elf.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace damo::cuda_backend {

class CubinFile {
 public:
  explicit CubinFile(std::span<const std::byte> code) : code_(code), header_(at<Elf64_Ehdr>(0)) {}

  /// False for PTX.
  bool is_cubin() const { return std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 && header_.e_ident[EI_CLASS] == ELFCLASS64; }
  std::size_t section_count() const { return header_.e_shnum; }
  Elf64_Shdr section(std::size_t number) const { return at<Elf64_Shdr>(header_.e_shoff + number * sizeof(Elf64_Shdr)); }
  std::string name_of(const Elf64_Shdr& section) const { return text_at(this->section(header_.e_shstrndx).sh_offset + section.sh_name); }
  std::size_t size() const { return code_.size(); }

  /// A record of the file.
  template <class T>
  T at(std::size_t offset) const {
    T record{};
    if (offset <= code_.size() && sizeof(T) <= code_.size() - offset) std::memcpy(&record, code_.data() + offset, sizeof(T));
    return record;
  }
  /// The text that ends with a NUL within the file.
  std::string text_at(std::size_t offset) const {
    if (offset >= code_.size()) return {};
    const std::string_view rest(reinterpret_cast<const char*>(code_.data()) + offset, code_.size() - offset);
    const std::size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string() : std::string(rest.substr(0, end));
  }

 private:
  std::span<const std::byte> code_;
  Elf64_Ehdr header_;
};

}  // namespace damo::cuda_backend
