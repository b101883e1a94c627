#include "runtime/cuda/cubin_waits.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "runtime/cuda/cubin_file.hpp"

namespace damo::cuda_backend {
namespace {

constexpr std::size_t kInstructionBytes = 16;
constexpr std::uint16_t kOperation = 0xfff;
constexpr std::uint16_t kWait = 0x82e;  // ACQBULK
constexpr std::uint16_t kPredicate = 0xf000, kAlways = 0x7000;  // the 4 bits above: which of a thread's predicates lets it take part
// LDC, ULDC (parameters), S2R, S2UR, CS2R (the thread's own numbers), NOP, and on a warp's shared registers UMOV, UIADD3, ULEA, ULOP3, USHF, UISETP.
constexpr std::uint16_t kHarmless[] = {0xb82, 0xab9, 0x919, 0x9c3, 0x805, 0x918, 0x882, 0xc82, 0x290, 0x890, 0x291, 0x891, 0x292, 0x892, 0x299, 0x899, 0x28c, 0x88c};
// By their low 8 bits, whatever the kinds of their operands, for which the 4 bits above are even: MOV, SEL, ISETP, IADD3, LEA, LOP3, PRMT, SHF,
// IMAD, HFMA2 (which makes constants).
constexpr std::uint8_t kArithmetic[] = {0x02, 0x07, 0x0c, 0x10, 0x11, 0x12, 0x16, 0x19, 0x24, 0x25, 0x27, 0x31, 0x35};

bool is_harmless(std::uint16_t operation) {
  const bool is_arithmetic = (operation >> 8) % 2 == 0 && std::find(std::begin(kArithmetic), std::end(kArithmetic), operation & 0xff) != std::end(kArithmetic);
  return is_arithmetic || std::find(std::begin(kHarmless), std::end(kHarmless), operation) != std::end(kHarmless);
}

bool waits_first(const CubinFile& file, const Elf64_Shdr& text) {
  for (std::size_t at = 0; at + kInstructionBytes <= text.sh_size; at += kInstructionBytes) {
    const auto word = file.at<std::uint16_t>(text.sh_offset + at);
    const auto operation = static_cast<std::uint16_t>(word & kOperation);
    if (operation == kWait) return (word & kPredicate) == kAlways;  // else some threads go on without
    if (!is_harmless(operation)) return false;
  }
  return false;
}

}  // namespace

std::set<std::string> kernels_that_wait_first(std::span<const std::byte> code) {
  constexpr std::string_view kText = ".text.";
  std::set<std::string> kernels;
  const CubinFile file(code);
  if (!file.is_cubin()) return kernels;
  for (std::size_t i = 0; i < file.section_count(); ++i) {
    const Elf64_Shdr section = file.section(i);
    const std::string name = file.name_of(section);
    if (section.sh_type == SHT_PROGBITS && name.starts_with(kText) && waits_first(file, section)) kernels.insert(name.substr(kText.size()));
  }
  return kernels;
}

}  // namespace damo::cuda_backend
