#include "runtime/cpu/elf_loader.hpp"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>

#include "runtime/cpu/fail.hpp"

namespace damo::cpu_backend {
namespace {

/// Where a section goes; the order is the order in memory.
enum Part { kCode, kConstants, kData, kParts };

constexpr std::size_t kStubBytes = 16;             // jmp *[rip+2], then the address
constexpr std::size_t kLargestObject = 1u << 30;   // relative addresses reach 2 GiB
constexpr std::uint64_t kLargestAlignment = 4096;  // the mapping's own

std::size_t round_up(std::size_t value, std::size_t alignment) { return (value + alignment - 1) / alignment * alignment; }

}  // namespace

/// One load, step by step; the object's bytes are only read through at(), which checks.
class ObjectReader {
 public:
  ObjectReader(std::span<const std::byte> bytes, LoadedObject& object) : bytes_(bytes), object_(object) {}

  void load() {
    read_header();
    read_sections();
    read_symbol_table();
    lay_out();
    map();
    copy_sections();
    place_symbols();
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type == SHT_RELA) relocate(section);
    }
    protect();
    publish();
    keep_for_lines();
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    fail("object '" + object_.name_ + "' is damaged or not for this machine: " + what);
  }

  /// A T at a byte offset of the file, copied because nothing promises its alignment.
  template <class T>
  T at(std::uint64_t offset, const char* what) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) damaged(std::string(what) + " lies outside the file");
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  void read_header() {
    header_ = at<Elf64_Ehdr>(0, "the header");
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) damaged("it is no ELF file");
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB || header_.e_machine != EM_X86_64) {
      damaged("it is not for x86-64");
    }
    if (header_.e_type != ET_REL) damaged("it is no relocatable object");
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) damaged("its section headers have an unknown size");
    if (bytes_.size() > kLargestObject) damaged("it is larger than 1 GiB");
  }

  void read_sections() {
    for (std::size_t i = 0; i < header_.e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr), "a section header");
      if (header_.e_shoff > bytes_.size()) damaged("the section table lies outside the file");
      const bool has_bytes = section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL;
      if (has_bytes && (section.sh_offset > bytes_.size() || section.sh_size > bytes_.size() - section.sh_offset)) {
        damaged("section " + std::to_string(i) + " lies outside the file");
      }
      sections_.push_back(section);
    }
    if (sections_.empty()) damaged("it has no sections");
  }

  void read_symbol_table() {
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].sh_type != SHT_SYMTAB) continue;
      if (symbol_section_) damaged("it has two symbol tables");
      symbol_section_ = i;
    }
    if (!symbol_section_) damaged("it has no symbol table");
    const Elf64_Shdr& table = sections_[symbol_section_];
    if (table.sh_link >= sections_.size() || sections_[table.sh_link].sh_type != SHT_STRTAB) damaged("its symbols have no names");
    strings_ = table.sh_link;
    for (std::uint64_t offset = 0; offset + sizeof(Elf64_Sym) <= table.sh_size; offset += sizeof(Elf64_Sym)) {
      elf_symbols_.push_back(at<Elf64_Sym>(table.sh_offset + offset, "a symbol"));
    }
  }

  std::string name_of(const Elf64_Sym& symbol) const {
    const Elf64_Shdr& table = sections_[strings_];
    if (symbol.st_name >= table.sh_size) damaged("a symbol's name lies outside the string table");
    const char* begin = reinterpret_cast<const char*>(bytes_.data()) + table.sh_offset + symbol.st_name;
    const std::size_t limit = table.sh_size - symbol.st_name;
    const std::size_t length = strnlen(begin, limit);
    if (length == limit) damaged("a symbol's name has no end");
    return {begin, length};
  }

  static bool is_external(const Elf64_Sym& symbol) {
    return symbol.st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL;
  }

  Part part_of(const Elf64_Shdr& section) const {
    if (section.sh_flags & SHF_EXECINSTR) return kCode;
    return section.sh_flags & SHF_WRITE ? kData : kConstants;
  }

  bool is_loaded(const Elf64_Shdr& section) const {
    if (!(section.sh_flags & SHF_ALLOC)) return false;
    if (section.sh_type == SHT_X86_64_UNWIND) return false;
    return section.sh_type == SHT_PROGBITS || section.sh_type == SHT_NOBITS;
  }

  void lay_out() {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    places_.assign(sections_.size(), kNowhere);
    std::size_t end = 0;
    for (int part = 0; part < kParts; ++part) {
      end = round_up(end, page);
      part_begin_[part] = end;
      for (std::size_t i = 0; i < sections_.size(); ++i) {
        const Elf64_Shdr& section = sections_[i];
        if (section.sh_flags & SHF_TLS) damaged("it has thread-local variables");
        if (section.sh_type == SHT_INIT_ARRAY || section.sh_type == SHT_FINI_ARRAY) damaged("it has constructors");
        if (!is_loaded(section) || part_of(section) != part) continue;
        const std::uint64_t alignment = std::max<std::uint64_t>(section.sh_addralign, 1);
        if (alignment > kLargestAlignment || (alignment & (alignment - 1))) damaged("a section has an impossible alignment");
        if (section.sh_size > kLargestObject) damaged("a section is larger than 1 GiB");
        places_[i] = round_up(end, alignment);
        end = places_[i] + section.sh_size;
        if (end > kLargestObject) damaged("it needs more than 1 GiB");
      }
      if (part == kCode) end = add_table(end, kStubBytes, stubs_begin_);
      if (part == kConstants) end = add_table(end, sizeof(void*), slots_begin_);
    }
    part_begin_[kParts] = round_up(end, page);
  }

  /// Room for one entry a symbol: stubs for far calls, address slots (GOT).
  std::size_t add_table(std::size_t end, std::size_t entry_bytes, std::size_t& begin) {
    begin = round_up(end, 16);
    return begin + entry_bytes * elf_symbols_.size();
  }

  void map() {
    const std::size_t bytes = std::max<std::size_t>(part_begin_[kParts], 1);
    void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) fail("object '" + object_.name_ + "': no memory for it: " + std::strerror(errno));
    object_.mapping_ = mapping;
    object_.mapped_bytes_ = bytes;
    base_ = static_cast<std::byte*>(mapping);
  }

  void copy_sections() {
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (places_[i] == kNowhere || sections_[i].sh_type == SHT_NOBITS || sections_[i].sh_size == 0) continue;
      std::memcpy(base_ + places_[i], bytes_.data() + sections_[i].sh_offset, sections_[i].sh_size);
    }
  }

  void place_symbols() {
    for (const Elf64_Sym& symbol : elf_symbols_) addresses_.push_back(address_of(symbol));
  }

  std::uint64_t address_of(const Elf64_Sym& symbol) const {
    if (symbol.st_shndx == SHN_ABS) return symbol.st_value;
    if (symbol.st_shndx == SHN_COMMON) damaged("it has common symbols");
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE) return 0;
    if (symbol.st_shndx >= sections_.size()) damaged("a symbol's section does not exist");
    if (places_[symbol.st_shndx] == kNowhere) return 0;
    if (symbol.st_value > sections_[symbol.st_shndx].sh_size) damaged("a symbol lies outside its section");
    if (symbol.st_size > sections_[symbol.st_shndx].sh_size - symbol.st_value) damaged("a symbol is larger than its section");
    return reinterpret_cast<std::uint64_t>(base_) + places_[symbol.st_shndx] + symbol.st_value;
  }

  /// The address of a relocation's symbol; an external one is looked up when it is first used.
  std::uint64_t resolve(std::size_t index) {
    if (index >= elf_symbols_.size()) damaged("a relocation names a symbol that does not exist");
    if (addresses_[index] == 0 && is_external(elf_symbols_[index])) {
      const std::string name = name_of(elf_symbols_[index]);
      void* found = runtime_symbol(name);
      if (!found) fail("object '" + object_.name_ + "' uses '" + name + "', which has no definition, or which compiled code may not call");
      addresses_[index] = reinterpret_cast<std::uint64_t>(found);
    }
    return addresses_[index];
  }

  std::uint64_t slot_for(std::size_t index) {
    const std::uint64_t target = resolve(index);
    std::byte* slot = base_ + slots_begin_ + sizeof(void*) * index;
    std::memcpy(slot, &target, sizeof target);
    return reinterpret_cast<std::uint64_t>(slot);
  }

  /// A near place that jumps to an external function, which may be further away than a call reaches.
  std::uint64_t stub_for(std::size_t index) {
    const std::uint64_t target = resolve(index);
    if (!is_external(elf_symbols_[index])) return target;
    std::byte* stub = base_ + stubs_begin_ + kStubBytes * index;
    const unsigned char jump[] = {0xff, 0x25, 0x02, 0x00, 0x00, 0x00, 0x66, 0x90};
    std::memcpy(stub, jump, sizeof jump);
    std::memcpy(stub + sizeof jump, &target, sizeof target);
    return reinterpret_cast<std::uint64_t>(stub);
  }

  void relocate(const Elf64_Shdr& table) {
    if (table.sh_info >= sections_.size()) damaged("relocations are for a section that does not exist");
    const std::size_t place = places_[table.sh_info];
    if (place == kNowhere) return;  // debug information and the like
    if (sections_[table.sh_info].sh_type == SHT_NOBITS) damaged("relocations are for a section without bytes");
    if (table.sh_link != symbol_section_) damaged("relocations use an unknown symbol table");
    const std::uint64_t bytes = sections_[table.sh_info].sh_size;
    for (std::uint64_t offset = 0; offset + sizeof(Elf64_Rela) <= table.sh_size; offset += sizeof(Elf64_Rela)) {
      const auto entry = at<Elf64_Rela>(table.sh_offset + offset, "a relocation");
      apply(entry, base_ + place, bytes);
    }
  }

  void apply(const Elf64_Rela& entry, std::byte* section, std::uint64_t section_bytes) {
    const std::size_t symbol = ELF64_R_SYM(entry.r_info);
    const std::uint32_t type = ELF64_R_TYPE(entry.r_info);
    const std::uint64_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
    if (entry.r_offset > section_bytes || width > section_bytes - entry.r_offset) damaged("a relocation lies outside its section");
    std::byte* field = section + entry.r_offset;
    const auto here = reinterpret_cast<std::uint64_t>(field);
    const auto addend = static_cast<std::uint64_t>(entry.r_addend);
    switch (type) {
      case R_X86_64_NONE: return;
      case R_X86_64_64: return store(field, resolve(symbol) + addend, 8);
      case R_X86_64_PC64: return store(field, resolve(symbol) + addend - here, 8);
      case R_X86_64_PC32: return store_signed(field, resolve(symbol) + addend - here);
      case R_X86_64_PLT32: return store_signed(field, stub_for(symbol) + addend - here);
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX: return store_signed(field, slot_for(symbol) + addend - here);
      case R_X86_64_32S: return store_signed(field, resolve(symbol) + addend);
      case R_X86_64_32: {
        const std::uint64_t value = resolve(symbol) + addend;
        if (value > std::numeric_limits<std::uint32_t>::max()) damaged("a 32-bit address does not reach its symbol");
        return store(field, value, 4);
      }
      default: damaged("relocation type " + std::to_string(type) + " is not known");
    }
  }

  static void store(std::byte* field, std::uint64_t value, std::size_t width) { std::memcpy(field, &value, width); }

  void store_signed(std::byte* field, std::uint64_t value) const {
    const auto wide = static_cast<std::int64_t>(value);
    if (wide != static_cast<std::int32_t>(wide)) damaged("a relative address does not reach its symbol");
    store(field, value, 4);
  }

  void protect() const {
    const int rights[kParts] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
    for (int part = 0; part < kParts; ++part) {
      const std::size_t bytes = part_begin_[part + 1] - part_begin_[part];
      if (bytes && mprotect(base_ + part_begin_[part], bytes, rights[part]) != 0) {
        fail("object '" + object_.name_ + "': the system refuses its memory protection: " + std::strerror(errno));
      }
    }
  }

  void publish() {
    for (std::size_t i = 0; i < elf_symbols_.size(); ++i) {
      const Elf64_Sym& symbol = elf_symbols_[i];
      const bool defined = addresses_[i] != 0 && symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE;
      const int type = ELF64_ST_TYPE(symbol.st_info);
      if (!defined || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || (type != STT_FUNC && type != STT_OBJECT)) continue;
      const bool is_code = part_of(sections_[symbol.st_shndx]) == kCode;
      if ((type == STT_FUNC) != is_code) damaged("a function is no code, or a variable is");
      object_.symbols_[name_of(symbol)] = {reinterpret_cast<void*>(addresses_[i]), symbol.st_size, type == STT_FUNC};
    }
  }

  bool has_line_table() const {
    constexpr std::string_view kName = ".debug_line";
    if (header_.e_shstrndx >= sections_.size()) return false;
    const Elf64_Shdr& names = sections_[header_.e_shstrndx];
    return std::any_of(sections_.begin(), sections_.end(), [&](const Elf64_Shdr& section) {
      if (names.sh_type != SHT_STRTAB || section.sh_name >= names.sh_size || names.sh_size - section.sh_name <= kName.size()) return false;
      return std::memcmp(bytes_.data() + names.sh_offset + section.sh_name, kName.data(), kName.size() + 1) == 0;
    });
  }

  void keep_for_lines() {
    const auto base = reinterpret_cast<std::uintptr_t>(base_);
    object_.code_ = {base + part_begin_[kCode], base + part_begin_[kCode + 1]};
    object_.data_ = {base + part_begin_[kConstants], part_begin_[kParts] - part_begin_[kConstants]};
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (places_[i] == kNowhere || part_of(sections_[i]) != kCode) continue;
      object_.code_sections_.push_back({i, base + places_[i], base + places_[i] + sections_[i].sh_size});
    }
    if (has_line_table()) object_.image_.assign(bytes_.begin(), bytes_.end());
  }

  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

  std::span<const std::byte> bytes_;
  LoadedObject& object_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> elf_symbols_;
  std::vector<std::uint64_t> addresses_;  ///< of each symbol; 0: external and not yet looked up, or nowhere
  std::vector<std::size_t> places_;       ///< of each section in the mapping
  std::size_t part_begin_[kParts + 1] = {};
  std::size_t stubs_begin_ = 0, slots_begin_ = 0;
  std::size_t symbol_section_ = 0, strings_ = 0;
  std::byte* base_ = nullptr;
};

LoadedObject::LoadedObject(std::span<const std::byte> object, const std::string& name) : name_(name) {
  try {
    ObjectReader(object, *this).load();
  } catch (...) {
    if (mapping_) munmap(mapping_, mapped_bytes_);
    throw;
  }
}

LoadedObject::~LoadedObject() {
  if (mapping_) munmap(mapping_, mapped_bytes_);
}

std::optional<LoadedObject::Place> LoadedObject::place_of(std::uintptr_t address) const {
  for (const CodeSection& section : code_sections_) {
    if (address >= section.begin && address < section.end) return Place{section.number, address - section.begin};
  }
  return std::nullopt;
}

void* LoadedObject::find(std::string_view symbol) const {
  const auto found = symbols_.find(std::string(symbol));
  return found == symbols_.end() ? nullptr : found->second.address;
}

KernelEntry LoadedObject::kernel(std::string_view symbol) const {
  const auto found = symbols_.find(std::string(symbol));
  if (found != symbols_.end() && found->second.is_function) return reinterpret_cast<KernelEntry>(found->second.address);
  std::string known;
  for (const std::string& function : functions()) known += (known.empty() ? "" : ", ") + function;
  fail("object '" + name_ + "' has no kernel '" + std::string(symbol) + "'; it has: " + (known.empty() ? "none" : known));
}

std::size_t LoadedObject::size_of(std::string_view symbol) const {
  const auto found = symbols_.find(std::string(symbol));
  return found == symbols_.end() || found->second.is_function ? 0 : found->second.bytes;
}

std::vector<std::string> LoadedObject::functions() const {
  std::vector<std::string> names;
  for (const auto& [name, symbol] : symbols_) {
    if (symbol.is_function) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> LoadedObject::variables() const {
  std::vector<std::string> names;
  for (const auto& [name, symbol] : symbols_) {
    if (!symbol.is_function) names.push_back(name);
  }
  return names;
}

std::string_view LoadedObject::signatures() const { return text_of("damo_signatures"); }
std::string_view LoadedObject::check_table() const { return text_of("damo_check_table"); }

std::string_view LoadedObject::text_of(std::string_view symbol) const {
  const auto found = symbols_.find(std::string(symbol));
  if (found == symbols_.end() || found->second.is_function || found->second.bytes == 0) return {};
  return {static_cast<const char*>(found->second.address), strnlen(static_cast<const char*>(found->second.address), found->second.bytes)};
}

}  // namespace damo::cpu_backend
