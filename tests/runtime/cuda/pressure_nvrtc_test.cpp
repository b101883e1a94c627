// The model of registers (runtime/kernel/pressure.hpp) against what NVRTC reports.
#include "runtime/kernel/pressure.hpp"

#include <elf.h>

#include <cstring>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "runtime/cuda/schedule.hpp"

namespace damo::cuda_backend {
namespace {

struct Usage {
  int registers = 0, stack_bytes = 0;
};

template <class T>
T read(std::span<const std::byte> bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.subspan(at, sizeof value).data(), sizeof value);
  return value;
}

/// Of a cubin with one kernel. Its section .nv.info is a list of {u8 format, u8 attribute, u16 size, then size bytes}.
Usage usage_of(std::span<const std::byte> cubin) {
  constexpr std::uint8_t kSized = 4, kFrameSize = 0x11, kRegisterCount = 0x2f;
  const auto header = read<Elf64_Ehdr>(cubin, 0);
  const auto section = [&](std::size_t i) { return read<Elf64_Shdr>(cubin, header.e_shoff + i * header.e_shentsize); };
  const Elf64_Shdr names = section(header.e_shstrndx);
  Usage usage;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr found = section(i);
    if (std::string(reinterpret_cast<const char*>(cubin.data()) + names.sh_offset + found.sh_name) != ".nv.info") continue;
    for (std::size_t at = found.sh_offset; at + 4 <= found.sh_offset + found.sh_size;) {
      const auto format = read<std::uint8_t>(cubin, at), attribute = read<std::uint8_t>(cubin, at + 1);
      const auto size = read<std::uint16_t>(cubin, at + 2);
      if (format == kSized && attribute == kRegisterCount) usage.registers = static_cast<int>(read<std::uint32_t>(cubin, at + 8));
      if (format == kSized && attribute == kFrameSize) usage.stack_bytes += static_cast<int>(read<std::uint32_t>(cubin, at + 8));
      at += 4 + (format == kSized ? size : 0);
    }
  }
  return usage;
}

Step step(const char* name, const char* code, DType dtype, std::vector<int> inputs, int cost) {
  Step made;
  made.name = name;
  made.code = code;
  made.compute = made.result = dtype;
  made.inputs = std::move(inputs);
  made.cost = cost;
  return made;
}

/// A chain of n functions and its derivative: all n values are held when the way back begins.
KernelSpec there_and_back(int n, DType dtype, const char* code = "tanh(x0)", int cost = 13) {
  KernelSpec spec;
  spec.name = "there_and_back";
  spec.inputs = {dtype};
  std::vector<Step>& steps = spec.steps;
  for (int i = 0; i < n; ++i) steps.push_back(step("there", code, dtype, {i}, cost));
  steps.push_back(step("start", "T(1) - x0 * x0", dtype, {n}, 2));
  for (int i = n - 1; i > 0; --i) steps.push_back(step("back", "x0 * (T(1) - x1 * x1)", dtype, {static_cast<int>(steps.size()), i}, 3));
  spec.stores = {static_cast<int>(steps.size())};
  spec.outputs = {dtype};
  return spec;
}

/// x * n0 + x * n1 + ...
KernelSpec products(int n) {
  KernelSpec spec;
  spec.name = "products";
  spec.inputs = {float32};
  for (int i = 0; i < n; ++i) spec.numbers.push_back(1.0f / static_cast<float>(i + 1));
  std::vector<Step>& steps = spec.steps;
  steps.push_back(step("mul", "x0 * x1", float32, {0, 1}, 1));
  for (int i = 1; i < n; ++i) {
    const int sum = n + static_cast<int>(steps.size());
    steps.push_back(step("mul", "x0 * x1", float32, {0, 1 + i}, 1));
    steps.push_back(step("add", "x0 + x1", float32, {sum, sum + 1}, 1));
  }
  spec.stores = {n + static_cast<int>(steps.size())};
  spec.outputs = {float32};
  return spec;
}

Usage compiled(const KernelSpec& spec) {
  const NvrtcCompiler compiler(90);
  const Layout layout{.rank = 1, .access = {Access::kDense, Access::kDense}};
  return usage_of(compiler.compile({cuda_dialect().emit(spec, layout), SourceKind::kGenerated, "pressure.cu"}).bytes);
}

TEST(Pressure, CountsWhatIsHeldAtOnce) {
  EXPECT_EQ(words_held(products(100)), 4) << "the array, two summands, their sum";
  EXPECT_EQ(words_held(there_and_back(100, float32)), 101);
  EXPECT_EQ(words_held(there_and_back(100, float64)), 202) << "two words each";
  EXPECT_EQ(words_held(there_and_back(100, float16)), 101) << "computed in float32";
}

TEST(Pressure, WhatTheModelFitsIntoRegistersIsNotSpilled) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const KernelSpec specs[] = {there_and_back(20, float32),         there_and_back(60, float32), there_and_back(100, float32),
                              there_and_back(190, float32),        there_and_back(50, float64), there_and_back(90, float64),
                              there_and_back(100, float32, "x0 * T(1.5) + T(0.25)", 2), products(65), products(200)};
  for (const KernelSpec& spec : specs) {
    const CudaSchedule schedule = cuda_schedule(spec);
    const int words = words_held(spec) * schedule.vector;
    const Usage usage = compiled(spec);
    EXPECT_EQ(usage.stack_bytes, 0) << words << " words, " << usage.registers << " registers";
    if (words > 40) { EXPECT_GE(2 * usage.registers, words) << "the model asks for far more than is needed"; }
  }
}

}  // namespace
}  // namespace damo::cuda_backend
