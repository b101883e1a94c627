// The roles of damo-bench's child processes; see process_benchmarks.cpp, workload_benchmarks.cpp.
#include <sys/resource.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "child_process.hpp"
#include "runtime/backend.hpp"
#if DAMO_HAS_CPU
#include "runtime/cpu/clang_plugin.hpp"
#endif
#include "timing.hpp"
#include "workload.hpp"

namespace damo::bench {
namespace {

Options on(Device device) {
  Options options;
  options.device = device;
  return options;
}

/// The device with its context made: memory was allocated and written.
Device ready(const std::string& name) {
  const Device device(name);
  Array::full({1024}, 0.5, float32, device);
  device.synchronize();
  return device;
}

void first_call(std::ostream& out, const std::string& name, const std::string& file) {
  const auto start = Clock::now();
  const Device device = ready(name);
  const auto opened = Clock::now();
  const Variable x = vector("x"), y = vector("y");
  const Function f = function({x, y}, {twenty_ops(x, y)}, on(device));
  const auto built = Clock::now();
  const Array a = Array::full({1024}, 0.5, float32, device);
  const auto called = Clock::now();
  f(a, a);
  device.synchronize();
  const double call = seconds_since(called);
  out << "device_ms " << std::chrono::duration<double, std::milli>(opened - start).count() << "\nfunction_ms "
      << std::chrono::duration<double, std::milli>(built - opened).count() << "\ncall_ms " << call * 1e3
      << "\nfirst_call_ms " << (std::chrono::duration<double>(built - opened).count() + call) * 1e3 << "\nkernels "
      << f.kernels().size() << "\n";
  std::ofstream(file + ".source") << f.kernels().at(0).name << "\n" << f.kernels().at(0).source;
}

/// The compiler alone, in a process that has not used it, on what first_call compiled.
void compile(std::ostream& out, const std::string& name, const std::string& file) {
  std::ifstream in(file + ".source");
  CompileRequest request;
  request.file_name = "generated";
  request.kernels.resize(1);
  std::getline(in, request.kernels[0]);
  request.source.assign(std::istreambuf_iterator<char>(in), {});
  const Compiler& compiler = Device(name).backend().compiler();
#if DAMO_HAS_CPU
  if (name == "cpu") {  // Clang and LLVM are opened by the first compile: their start, apart from it
    const auto start = Clock::now();
    cpu_backend::plugin_problem();
    out << "compiler_open_ms " << seconds_since(start) * 1e3 << "\n";
  }
#endif
  for (const char* figure : {"compiler_ms", "compiler_again_ms"}) {
    const auto start = Clock::now();
    compiler.compile(request);
    out << figure << " " << seconds_since(start) * 1e3 << "\n";
  }
}

/// Each number below 32 makes another order of ops, and so another text: kernels that differ in numbers alone are one.
Variable unlike_ops(Variable z, const Variable& y, unsigned number) {
  for (int bit = 0; bit < 5; ++bit) z = number >> bit & 1u ? tanh(z * y) : exp(z - y);
  return z;
}

void twenty_kernels(std::ostream& out, const std::string& name) {
  const auto opening = Clock::now();
  const Device device = ready(name);
  out << "device_ms " << seconds_since(opening) * 1e3 << "\n";
  const auto start = Clock::now();
  const Variable x = vector("x"), y = vector("y");
  std::vector<Function> functions;
  for (unsigned i = 0; i < 20; ++i) functions.push_back(function({x, y}, {unlike_ops(x, y, i)}, on(device)));
  const double built = seconds_since(start);
  const CacheStatistics statistics = cache_statistics(device);
  out << "inside_ms " << built * 1e3 << "\ncompiles " << statistics.compiles << "\ndisk_hits " << statistics.disk_hits
      << "\n";
}

Workload workload_named(DeviceKind kind, const std::string& name) {
  for (bool compositions_only : {false, true}) {
    for (Workload& workload : workloads(kind, compositions_only)) {
      if (workload.name == name) return std::move(workload);
    }
  }
  throw std::runtime_error("no workload named " + name);
}

/// function() of a workload and its first result, with arrays and device ready and no kernel compiled.
void cold_workload(std::ostream& out, const std::string& device_name, const std::string& name, bool fuse) {
  const Device device = ready(device_name);
  const Workload workload = workload_named(device.kind(), name);
  std::vector<Array> inputs;
  for (const Shape& shape : workload.shapes) inputs.push_back(Array::full(shape, 0.5, workload.dtype_of(inputs.size()), device));
  device.synchronize();
  const auto start = Clock::now();
  const Function function = workload.build(device, fuse);
  out << "compile_s " << seconds_since(start) << "\n";
  function.call(inputs);
  device.synchronize();
  out << "first_result_s " << seconds_since(start) << "\n";
  if (cache_statistics(device).disk_hits != 0) throw std::runtime_error("the kernel cache was not empty");
}

/// function() of a large graph with no kernel compiled, the process's compiler opened before.
void large_graph(std::ostream& out, const std::string& device_name, const std::string& name) {
  const Device device = ready(device_name);
  {
    const Variable x = vector("x");
    function({x}, {sqrt(x)}, on(device));
  }
  for (const LargeGraph& graph : large_graphs()) {
    if (graph.name != name) continue;
    const Variable x = input({float32, {1024}}, "x");
    auto start = Clock::now();
    Variable z = graph.make(x);
    out << "build_s " << seconds_since(start) << "\n";
    const std::uint64_t compiles = cache_statistics(device).compiles;
    start = Clock::now();
    const double busy = processor_seconds();
    std::optional<Function> f = function({x}, {z}, on(device));
    out << "function_s " << seconds_since(start) << "\nprocessor_s " << processor_seconds() - busy << "\nrewrite_s " << f->build_report().graph_milliseconds * 1e-3 << "\nkernels "
        << f->kernels().size() << "\ncompiles " << cache_statistics(device).compiles - compiles << "\n";
    start = Clock::now();
    f.reset();
    z = x;
    out << "free_s " << seconds_since(start) << "\n";
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    out << "peak_megabytes " << static_cast<double>(usage.ru_maxrss) / 1024 << "\n";
    return;
  }
  throw std::runtime_error("no large graph named " + name);
}

constexpr std::string_view kLargeRole = "large_graph/", kWorkloadRole = "workload/", kUnfusedRole = "unfused_workload/";

}  // namespace

int run_child(const std::string& role, const std::string& device, const std::string& file) {
  if (role == "end") return 0;
  try {
    std::ofstream out(file);
    if (role == "first_call")
      first_call(out, device, file);
    else if (role == "compile")
      compile(out, device, file);
    else if (role == "twenty_kernels")
      twenty_kernels(out, device);
    else if (role.starts_with(kLargeRole))
      large_graph(out, device, role.substr(kLargeRole.size()));
    else if (role.starts_with(kWorkloadRole))
      cold_workload(out, device, role.substr(kWorkloadRole.size()), true);
    else if (role.starts_with(kUnfusedRole))
      cold_workload(out, device, role.substr(kUnfusedRole.size()), false);
    else
      return 2;
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "damo-bench, as child in the role " << role << ": " << error.what() << "\n";
    return 1;
  }
}

}  // namespace damo::bench
