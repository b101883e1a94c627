#include "runtime/cpu/kernel_calls.hpp"
#include "runtime/cpu/cpu_backend.hpp"

#include <emmintrin.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include <damo/error.hpp>

#include "runtime/cpu/cpu_compiler.hpp"
#include "runtime/cpu/cpu_module.hpp"
#include "runtime/cpu/dialect.hpp"
#include "runtime/cpu/fourier.hpp"
#include "runtime/cpu/host_cache.hpp"
#include "runtime/cpu/kernel_watchdog.hpp"
#include "runtime/cpu/lapack_solver.hpp"
#include "runtime/cpu/launch_check.hpp"
#include "runtime/cpu/launch_report.hpp"
#include "runtime/cpu/line_sort.hpp"
#include "runtime/cpu/matrix_engine.hpp"
#include "runtime/cpu/value_sort.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/memory/pinned_pool.hpp"

namespace damo {
namespace {

using cpu_backend::LaunchFrame;

/// CUDA C threads worth a task of its own: fewer take less time than handing the task over does.
constexpr std::int64_t kThreadsPerTask = 2048;
constexpr std::size_t kCopyBlock = 256 << 10;
constexpr std::size_t kSharedCopy = 4 << 20;  // the caches hold less; below it one thread is as fast

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "x86-64";
}

const char* architecture() {
  if (__builtin_cpu_supports("avx512f")) return "x86-64 avx512";
  if (__builtin_cpu_supports("avx2")) return "x86-64 avx2";
  if (__builtin_cpu_supports("avx")) return "x86-64 avx";
  return "x86-64 sse2";
}

struct Copy {
  std::byte* to;
  const std::byte* from;
  std::size_t bytes;
  bool streams;
};

/// Past the caches, for what they cannot hold: memcpy does so by itself only where it knows their size.
void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t head = std::min(-reinterpret_cast<std::uintptr_t>(to) % 64, bytes);
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + 64 <= bytes; at += 64) {
    for (std::size_t part = at; part < at + 64; part += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + part),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + part)));
    }
  }
  std::memcpy(to + at, from + at, bytes - at);
  _mm_sfence();  // such stores may be seen late by another core
}

/// In a kernel's form, for the worker pool.
void copy_blocks(void* const* arguments, const LaunchFrame*, std::int64_t first, std::int64_t last) {
  const Copy& copy = *static_cast<const Copy*>(arguments[0]);
  const std::size_t begin = static_cast<std::size_t>(first) * kCopyBlock;
  const std::size_t end = std::min(static_cast<std::size_t>(last) * kCopyBlock, copy.bytes);
  if (copy.streams)
    stream_copy(copy.to + begin, copy.from + begin, end - begin);
  else
    std::memcpy(copy.to + begin, copy.from + begin, end - begin);
}

/// Memory that the launch asks for follows the static part, 64-aligned.
std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

[[noreturn]] void refuse_grid(const LoadedKernel& kernel, const LaunchConfig& config) {
  const auto threads = [&](int axis) { return std::to_string(config.grid[axis] * config.block[axis]); };
  throw DeviceError("launch of '" + kernel.name() + "': " + threads(0) + " x " + threads(1) + " x " + threads(2) +
                        " threads: on the CPU an axis has fewer than 2147483648",
                    "let each thread take several elements, with a grid-stride loop");
}

}  // namespace

CpuBackend::CpuBackend(int threads) : SynchronousBackend("cpu", DeviceKind::kCpu), workers_(threads) {}
CpuBackend::~CpuBackend() {
  pool().free_cache();
  pinned_pool().free_cache();
}

DeviceProperties CpuBackend::properties() const {
  DeviceProperties properties = host_properties();
  properties.description = model_name();
  properties.architecture = architecture();
  properties.multiprocessors = workers_.threads();
  return properties;
}

void CpuBackend::copy(void* to, const void* from, std::size_t bytes, CopyKind kind, void* stream) {
  if (is_copy_logged(stream, to, from, bytes, kind)) return;
  if (is_noted(stream, [=, this] { copy(to, from, bytes, kind, nullptr); })) return;
  auto* const target = static_cast<std::byte*>(to);
  const auto* const source = static_cast<const std::byte*>(from);
  const bool overlap = target < source + bytes && source < target + bytes;
  if (bytes < kSharedCopy || overlap) return SynchronousBackend::copy(to, from, bytes, kind, stream);
  Copy copy{target, source, bytes, 2 * bytes >= cpu_backend::last_level_cache()};
  void* const arguments[] = {&copy};
  workers_.run(copy_blocks, arguments, LaunchFrame{}, static_cast<std::int64_t>((bytes + kCopyBlock - 1) / kCopyBlock));
}

void CpuBackend::reset() { cpu_backend::FaultCatcher::install(); }

const Compiler& CpuBackend::compiler() {
  static const CpuCompiler compiler;
  return compiler;
}

const Dialect& CpuBackend::dialect() { return cpu_dialect(); }

std::shared_ptr<const LoadedModule> CpuBackend::load(std::span<const std::byte> bytes, const std::string& name) {
  cpu_backend::FaultCatcher::install();
  return std::make_shared<CpuModule>(*this, bytes, name);
}

cpu_backend::LaunchCheck CpuBackend::check_of(const CpuKernel& kernel, const LaunchConfig& config, void* const* arguments) const {
  const auto [data, bytes] = kernel.object().data();
  return {{kernel.checks, *kernel.parameters(), arguments, kernel.static_shared_bytes, config.shared_bytes},
          used_memory(),
          host_ranges(),
          MemoryRange{data, bytes}};
}

void CpuBackend::launch(const LoadedKernel& loaded, const LaunchConfig& config, void* const* arguments, void* stream) {
  if (is_launch_noted(stream, loaded, config, arguments)) return;
  const auto& kernel = static_cast<const CpuKernel&>(loaded);
  LaunchFrame frame{};
  for (int axis = 0; axis < 3; ++axis) {
    frame.grid[axis] = static_cast<std::uint32_t>(config.grid[axis]);
    frame.block[axis] = static_cast<std::uint32_t>(config.block[axis]);
  }
  frame.shared_bytes = static_cast<std::uint32_t>(config.shared_bytes);
  if (!cpu_backend::fits_index_range(frame)) refuse_grid(kernel, config);
  if (!kernel.has_users_code) return workers_.run(kernel.entry, arguments, frame, config.grid.count(), 1, config.shared_bytes);
  cpu_backend::LaunchReport report(&kernel.object());
  frame.report = &report;
  std::optional<cpu_backend::LaunchDeadline> deadline;
  if (const double seconds = kernel_time_limit.load(std::memory_order_relaxed); seconds > 0) report.deadline = &deadline.emplace(seconds);
  std::optional<cpu_backend::LaunchCheck> check;
  if (kernel.is_checked) report.check = &check.emplace(check_of(kernel, config, arguments));
  // A block of one thread is how a kernel asks for large pieces of work.
  const std::int64_t threads = config.block.count();
  const std::int64_t blocks_per_task = threads == 1 ? 1 : std::max<std::int64_t>(kThreadsPerTask / threads, 1);
  workers_.run(kernel.entry, arguments, frame, config.grid.count(), blocks_per_task,
               aligned(kernel.static_shared_bytes) + config.shared_bytes);
  if (!report.failed()) return;
  cpu_backend::release_kernel_memory(report);
  throw DeviceError("kernel '" + kernel.name() + "': " + report.what(), report.remedy());
}

std::shared_ptr<const LoadedKernel> CpuBackend::native_kernel(std::string_view name) {
  for (const auto kernels : {cpu_backend::line_sort_kernels(), cpu_backend::value_sort_kernels()}) {
    for (const cpu_backend::NativeKernel& kernel : kernels) {
      if (kernel.name == name) return std::make_shared<CpuKernel>(*this, kernel);
    }
  }
  return nullptr;
}

std::unique_ptr<MatrixEngine> CpuBackend::make_matrix_engine() { return cpu_backend::make_matrix_engine(*this, workers_); }
std::unique_ptr<FourierEngine> CpuBackend::make_fourier_engine() { return cpu_backend::make_fourier_engine(*this, workers_); }
std::unique_ptr<DenseSolver> CpuBackend::make_dense_solver() { return cpu_backend::make_lapack_solver(*this, workers_.threads()); }

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace damo
