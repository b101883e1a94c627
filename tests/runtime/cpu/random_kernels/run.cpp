#include "runtime/cpu/random_kernels/run.hpp"

#include <algorithm>

#include <damo/cuda_c.hpp>
#include <damo/error.hpp>
#include <damo/log.hpp>
#include <damo/module.hpp>

#include "runtime/cpu/clang_plugin.hpp"
#include "runtime/cpu/elf_loader.hpp"
#include "runtime/cpu/kernel_guard.hpp"

namespace damo::random_kernels {

std::string run_on_cpu(const Program& program, const std::string& form, Arrays& arrays) {
  using namespace cpu_backend;
  std::vector<std::string> flags = {"--damo-no-line-tables"};
  if (!form.empty()) flags.push_back(form);
  const std::string source = program.source("k");
  std::string gave_way;
  set_log_sink([&](LogLevel, std::string_view line) { gave_way += line; });
  const CompileOutput compiled = compile({.source = source, .file_name = "k.cu", .language = SourceLanguage::kCudaC, .flags = flags});
  set_log_sink({});
  if (!compiled.ok) return compiled.log;
  if (!gave_way.empty()) return "gave way: " + gave_way;
  const LoadedObject object(compiled.object, "k");
  void *a = arrays.a.data(), *b = arrays.b.empty() ? arrays.a.data() + arrays.b_offset : arrays.b.data();
  void *c = arrays.c.data(), *acc = arrays.acc.data(), *bounds = arrays.bounds.data();
  unsigned n = program.n(), total = program.launch.total(), each = program.each, live = program.live();
  void* arguments[] = {&a, &b, &c, &acc, &bounds, &n, &total, &each, &live};
  alignas(64) static std::byte shared[48 << 10];
  const Launch& launch = program.launch;
  LaunchReport report(&object);
  LaunchFrame frame{{launch.grid[0], launch.grid[1], launch.grid[2]}, {launch.block[0], launch.block[1], launch.block[2]},
                    launch.shared_bytes * launch.threads(), 0, shared, &report};
  KernelGuard::call(report, [&] { object.kernel("k")(arguments, &frame, 0, launch.blocks()); });
  return report.failed() ? report.what() : std::string();
}

std::string run_on_gpu(const Program& program, Arrays& arrays) {
  try {
    const Device device = cuda();
    const auto copy = [&](const auto& values) {
      DeviceMemory memory(device, std::max<std::size_t>(values.size() * sizeof values[0], 16));
      if (!values.empty()) memory.copy_from_host(values);
      return memory;
    };
    const Module module(device, program.source("k"), {.defines = {{"NO_RECURSION", ""}}, .file_name = "k.cu"});
    const DeviceMemory a = copy(arrays.a), own = copy(arrays.b), c = copy(arrays.c), acc = copy(arrays.acc), bounds = copy(arrays.bounds);
    const DevicePointer b = arrays.b.empty() ? a + arrays.b_offset : DevicePointer(own);
    const auto extents = [](const std::array<unsigned, 3>& v) { return Dim3{v[0], v[1], v[2]}; };
    const Launch& launch = program.launch;
    module.kernel("k")({.grid = extents(launch.grid), .block = extents(launch.block), .shared_bytes = launch.shared_bytes * launch.threads()}, a, b, c, acc,
                       bounds, program.n(), launch.total(), program.each, program.live());
    device.synchronize();
    a.copy_to_host(arrays.a);
    if (!arrays.b.empty()) own.copy_to_host(arrays.b);
    acc.copy_to_host(arrays.acc);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

std::string compare_forms(const Program& program, const std::vector<std::string>& forms) {
  Arrays expected(program);
  if (std::string problem = run_on_cpu(program, forms.back(), expected); !problem.empty()) return std::string(name_of_form(forms.back())) + " form: " + problem;
  for (std::size_t i = 0; i + 1 < forms.size(); ++i) {
    Arrays given(program);
    const std::string form = std::string(name_of_form(forms[i])) + " form: ";
    if (std::string problem = run_on_cpu(program, forms[i], given); !problem.empty()) return form + problem;
    if (std::string difference = expected.difference(given); !difference.empty()) return form + difference + " (" + name_of_form(forms.back()) + ", " + name_of_form(forms[i]) + ")";
  }
  return {};
}

}  // namespace damo::random_kernels
