// docs/from_pycuda.md puts Damo's calls beside PyCUDA's. Each of them stands in this file as well, so that it compiles,
// and runs on each device but for what needs a second process or a file.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <damo/array_math.hpp>
#include <damo/array_reduce.hpp>
#include <damo/damo.hpp>
#include <damo/dlpack.hpp>
#include <damo/elementwise_kernel.hpp>
#include <damo/reduction_kernel.hpp>
#include <damo/array_scan.hpp>
#include <damo/scan_kernel.hpp>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

using namespace damo;

namespace {

class FromPycuda : public damo::testing::OnEachDevice {
 protected:
  static constexpr const char* source = R"(
    __constant__ float coefficients[4];
    __global__ void scale(float* x, float factor, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) x[i] *= factor;
    })";
  const int n = 1024;
};

TEST_P(FromPycuda, ModulesAreCompiled) {
  Device device = this->device();
  Module module(device, source);
  const std::array<float, 4> values{1, 2, 3, 4};
  module.global("coefficients").set(values);
  EXPECT_EQ(module.global("coefficients").to_vector<float>(), std::vector<float>(values.begin(), values.end()));
  EXPECT_EQ((module.global("coefficients").get<std::array<float, 4>>()), values);

  const ModuleOptions all[] = {
      ModuleOptions{.defines = {{"TILE", "16"}}}, ModuleOptions{.fast_math = true},
      ModuleOptions{.standard = "c++17"},         ModuleOptions{.max_registers = 32},
      ModuleOptions{.line_info = true},           ModuleOptions{.include_directories = {"include"}}};
  for (const ModuleOptions& options : all) EXPECT_EQ(Module(device, source, options).kernel("scale").parameters().size(), 3u);
  const char* const told = "__global__ void f(int* x) { x[0] = TILE; x[1] = __cplusplus / 100; }";
  const Array answers = Array::zeros({2}, int32, device);
  ModuleOptions both = all[0];
  both.standard = all[2].standard;
  Module(device, told, both).kernel("f").launch_1d(1, answers);
  EXPECT_EQ(answers.to_vector<int>(), (std::vector<int>{16, 2017}));
  {
    Module module(device, "template <class T> __global__ void scale(T* x) { x[threadIdx.x] *= 2; }",
                  ModuleOptions{.kernels = {"scale<float>"}});
    const Array x = Array::ones({2}, float32, device);
    module.kernel("scale<float>")({.block = {2}}, x);
    EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{2, 2}));
  }
  const LinkInput first_part("__device__ float twice(float x) { return 2 * x; }");
  const LinkInput second_part("__device__ float twice(float x); __global__ void f(float* x) { *x = twice(*x); }");
  const Array x = Array::ones({1}, float32, device);
  Module::link(device, {first_part, second_part}).kernel("f")({}, x);
  EXPECT_EQ(x.to_vector<float>()[0], 2);

  const std::string path = ::testing::TempDir() + "/from_pycuda.cu";
  std::ofstream(path) << source;
  Module::from_file(device, path).kernel("scale").launch_1d(1, x, 3.0f, 1);
  EXPECT_EQ(x.to_vector<float>()[0], 6);
  EXPECT_EQ(LinkInput::file(path).contents(), source);
  EXPECT_THROW(Module::load(device, path), Error);  // no PTX, cubin or fatbin
  try {
    Module(device, "__global__ void f() { wrong(); }");
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_NE(std::invoke(&CompileError::log, error).find("wrong"), std::string::npos);
  }
}

TEST(FromPycudaCache, HasADirectoryThatCanBeCleared) {
  const damo::testing::ScratchDirectory scratch;
  const damo::testing::Environment variable("DAMO_CACHE_DIR", scratch.path());
  EXPECT_EQ(cache_directory(), scratch.path());
  std::ofstream(scratch / std::string(64, 'a')) << "an entry";
  EXPECT_EQ(cache_entries().size(), 1u);
  clear_cache();
  EXPECT_EQ(cache_entries().size(), 0u);
}

TEST_P(FromPycuda, KernelsAreLaunched) {
  Device device = this->device();
  Module module(device, source);
  const Kernel kernel = module.kernel("scale");
  Stream stream(device);
  const Array x = Array::ones({n}, float32, device);
  kernel({.grid = {4}, .block = {256}}, x, 2.0f, n);
  device.synchronize();
  kernel({.grid = {4}, .block = {256}, .shared_bytes = 1024, .stream = stream}, x, 2.0f, n);
  stream.synchronize();
  kernel.launch_1d(n, x, 2.0f, n);
  std::vector<float> values(1024, 8.0f);
  EXPECT_EQ(x.to_vector<float>(), values);
  kernel.launch_1d(n, InOut(values), 2.0f, n);
  EXPECT_EQ(values[1023], 16);

  const auto prepared = kernel.prepare<Array, float, int>();
  prepared({.grid = {4}, .block = {256}}, x, 2.0f, n);
  device.synchronize();
  prepared({.grid = {4}, .block = {256}, .stream = stream}, x, 2.0f, n);
  stream.synchronize();
  EXPECT_EQ(x.to_vector<float>()[0], 32);

  const DeviceMemory memory = DeviceMemory::from(device, std::vector<float>{1, 1, 1, 1});
  const DevicePointer third = memory + 8;
  kernel.launch_1d(2, third, 2.0f, 2);
  EXPECT_EQ(memory.to_vector<float>(), (std::vector<float>{1, 1, 2, 2}));

  EXPECT_EQ(kernel.attributes().registers > 0, !device.is_host());
  EXPECT_GT(kernel.attributes().max_threads_per_block, 0);
  EXPECT_GT(kernel.occupancy(256).fraction, 0);
  EXPECT_GT(kernel.suggested_block(), 0);
}

TEST_P(FromPycuda, MemoryIsAllocatedAndCopied) {
  Device device = this->device();
  Stream stream(device);
  DeviceMemory memory(device, 4096);
  const DeviceMemory other = DeviceMemory::of<float>(device, 1024);
  std::vector<float> values(1024, 3.0f);
  memory.copy_from_host(values);
  other.copy_from(memory, 4096);
  values.assign(1024, 0.0f);
  memory.copy_to_host(values);
  EXPECT_EQ(values, std::vector<float>(1024, 3.0f));
  memory.copy_from_host(values, stream);
  memory.copy_to_host(values, stream);
  stream.synchronize();
  EXPECT_EQ(DeviceMemory::from(device, values).to_vector<float>(), memory.to_vector<float>());

  const DeviceMemory pitched = DeviceMemory::pitched(device, 100, 20);
  values.assign(500, 4.0f);
  copy_2d(pitched, Rows(values, 100), 100, 20);
  pitched.fill_2d(1.0f, pitched.pitch(), 25, 20);
  copy_2d(Rows(values, 100), pitched, 100, 20);
  EXPECT_EQ(values, std::vector<float>(500, 1.0f));

  memory.fill(1.0f);
  memory.fill(1.0f, 1024, stream);
  memory.fill(std::uint8_t{1}, 64);
  EXPECT_EQ((memory + 256).as<float>() - memory.as<float>(), 64);
  EXPECT_GT(device.properties().free_memory_bytes, 0u);

  const DeviceMemory shareable = DeviceMemory::shareable(device, 4096);
  const std::string text = shareable.ipc_handle().text();
  if (device.is_host())
    EXPECT_EQ(DeviceMemory::open(device, IpcHandle::parse(text)).size(), 4096u);
  else
    EXPECT_EQ(IpcHandle::parse(text).text(), text);  // a GPU's opens in another process: ipc_test.cpp

  const Array array = Array::ones({2}, float32, device);
  EXPECT_EQ(Array::from_dlpack(array.to_dlpack()).to_vector<float>(), array.to_vector<float>());
  memory.free();
}

struct Wrapped {
  DevicePointer place;
};
KernelArgument to_kernel_argument(const Wrapped& wrapped) { return to_kernel_argument(wrapped.place); }

TEST_P(FromPycuda, HostMemoryAndOwnTypesAreArguments) {
  Device device = this->device();
  Stream stream(device);
  const Kernel kernel = Module(device, source).kernel("scale");
  const DeviceMemory memory = DeviceMemory::from(device, std::vector<float>{1, 2});
  kernel.launch_1d(2, Wrapped{memory}, 2.0f, 2);
  EXPECT_EQ(memory.to_vector<float>(), (std::vector<float>{2, 4}));

  PinnedMemory staging(4096, device);
  EXPECT_EQ(staging.as<float>().size(), 1024u);
  PinnedMemory mapped(4096, device, {.mapped = true});
  mapped.as<float>()[0] = 1;
  kernel.launch_1d(1, static_cast<float*>(mapped.device_data()), 2.0f, 1);
  device.synchronize();
  EXPECT_EQ(mapped.as<float>()[0], 2);
  const PinnedMemory combined(8, device, PinnedOptions{.write_combined = true});
  combined.as<float>()[0] = 5;
  combined.as<float>()[1] = 6;
  memory.copy_from_host(combined.as<float>(), stream);
  stream.synchronize();
  EXPECT_EQ(memory.to_vector<float>(), (std::vector<float>{5, 6}));
  std::vector<float> values(1024, 7.0f);
  {
    RegisteredMemory registered(values, device);
    memory.copy_from_host(values.data(), 8, stream);
    stream.synchronize();
  }
  EXPECT_EQ(memory.to_vector<float>(), (std::vector<float>{7, 7}));
  ManagedMemory managed(4096, device);
  managed.as<float>()[0] = 1;
  managed.advise(MemoryAdvice::kReadMostly);
  managed.prefetch(stream);
  stream.synchronize();
  kernel.launch_1d(1, managed, 3.0f, 1);
  device.synchronize();
  EXPECT_EQ(managed.as<float>()[0], 3);
}

TEST_P(FromPycuda, StreamsAndEventsOrderAndTime) {
  Device device = this->device();
  Stream stream(device);
  const Stream urgent(device, {.priority = -1, .non_blocking = true});
  Event begin(device), end(device);
  const Event order(device, EventOptions{.timing = false, .blocking = true});
  const Array x = Array::ones({n}, float32, device);
  const Kernel kernel = Module(device, source).kernel("scale");
  device.synchronize();  // the ones, before another stream uses them
  kernel({.grid = {4}, .block = {256}, .stream = urgent}, x, 0.5f, n);
  order.record(urgent);
  stream.wait(order);
  begin.record(stream);
  kernel({.grid = {4}, .block = {256}, .stream = stream}, x, 4.0f, n);
  stream.wait(begin);
  bool called = false;
  const auto function = [&] { called = true; };
  stream.add_callback(function);
  end.record(stream);
  end.synchronize();
  EXPECT_TRUE(end.is_done());
  EXPECT_GT(end.milliseconds_since(begin), 0);
  EXPECT_LT(begin.milliseconds_since(end), 0);
  EXPECT_TRUE(order.is_done());
  stream.synchronize();
  EXPECT_TRUE(called && stream.is_done());

  const auto work = [&] { kernel({.grid = {4}, .block = {256}, .stream = stream}, x, 2.0f, n); };
  const CapturedGraph graph = capture(stream, work);
  graph.launch(stream);
  graph.launch(stream);
  stream.synchronize();
  EXPECT_EQ(x.to_vector<float>()[0], 8);
}

TEST_P(FromPycuda, DevicesTellWhatTheyAre) {
  Device device = this->device();
  const std::vector<Device> all = devices();
  const auto gpus = std::count_if(all.begin(), all.end(), [](Device found) { return found.kind() == DeviceKind::kCuda; });
  if (gpus > 1)
    EXPECT_EQ(cuda(1), Device("cuda:1"));
  else
    EXPECT_THROW(cuda(1), DeviceError);
  EXPECT_FALSE(device.properties().description.empty());
  EXPECT_FALSE(device.properties().architecture.empty());
  EXPECT_GT(device.properties().memory_bytes, 0u);
  EXPECT_GT(device.properties().max_threads_per_block, 0);
  const std::size_t before = device.memory().in_use_bytes, pinned_before = device.pinned_memory().in_use_bytes;
  {
    const DeviceMemory memory(device, 4096);
    const PinnedMemory pinned(4096, device);
    EXPECT_EQ(device.memory().in_use_bytes, before + 4096);
    EXPECT_EQ(device.pinned_memory().in_use_bytes, pinned_before + 4096);
  }
  EXPECT_GE(device.memory().cached_bytes, 4096u);
  device.synchronize();
  device.free_cache();
  EXPECT_EQ(device.memory().cached_bytes, 0u);
  device.set_memory_limit(before + 4096);
  EXPECT_THROW(DeviceMemory(device, 8192), OutOfMemoryError);
  device.set_memory_limit(0);
  EXPECT_EQ(DeviceMemory(device, 8192).size(), 8192u);
  const Array kept = Array::ones({2}, float32, device);
  if (device.is_host()) device.reset();  // of a GPU: in a process of its own, fault_test.cpp
  EXPECT_EQ(kept.to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_GT(Device().properties().max_threads_per_block, 0);
}

TEST_P(FromPycuda, ArraysAreMadeAndSliced) {
  Device device = this->device();
  std::vector<float> values(1024);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Array array = Array::from(values, {32, 32}, device);
  const Array other_array = Array::empty({32, 32}, float32, device);
  other_array.copy_from(array);
  EXPECT_EQ(other_array.to_vector<float>(), values);
  EXPECT_EQ(empty_like(array).size(), 1024);
  EXPECT_EQ(arange(0, 10, 2, float32, device).to_vector<float>(), (std::vector<float>{0, 2, 4, 6, 8}));
  EXPECT_EQ(array.shape()[0], 32);
  EXPECT_EQ(array.strides(), (Strides{32, 1}));
  EXPECT_EQ(array.reshape({4, 256}).data(), array.data());
  EXPECT_EQ(squeeze(array).shape(), array.shape());
  EXPECT_EQ(array.permute(std::array{1, 0}).data(), array.data());
  EXPECT_EQ(flip(array).to_vector<float>()[0], 1023);
  EXPECT_EQ(concatenate({array, other_array}, 0).shape(), (Shape{64, 32}));
  EXPECT_EQ(stack({array, other_array}, 0).shape(), (Shape{2, 32, 32}));
  EXPECT_EQ(array.view(int32, {32, 32}, {32, 1}, 0).dtype(), int32);
  EXPECT_EQ(array.slice({{1, 3}, {.step = -1}}).to_vector<float>()[0], 63);
  EXPECT_EQ(array.transpose().to_vector<float>()[1], 32);
  EXPECT_NE(array.copy().data(), array.data());
  EXPECT_EQ(array.to(device).data(), array.data());

  const Array positions = Array::from<int>({3, -1}, {2}, device), new_values = Array::from<float>({7, 8}, {2}, device);
  EXPECT_EQ(take(array, positions).to_vector<float>(), (std::vector<float>{3, 1023}));
  EXPECT_EQ(sum(take(array, positions)).item().as_double(), 1026);
  put(array, positions, new_values);
  EXPECT_EQ(take(array, positions).to_vector<float>(), (std::vector<float>{7, 8}));

  const Stream stream(device);
  const DeviceMemory memory(device, 4096);
  EXPECT_EQ(memory.array(float32, {32, 32}).data(), memory.data());
  EXPECT_EQ(memory.size(), 4096u);
  device.synchronize();
  DevicePointer(array).copy_from_host(values, stream);
  values.assign(1024, 0.0f);
  DevicePointer(array).copy_to_host(values, stream);
  stream.synchronize();
  EXPECT_EQ(values[1023], 1023);
}

const Elementwise square{{.name = "from_pycuda_square", .doc = "x^2", .code = "x0 * x0"}};

TEST_P(FromPycuda, ArraysAreComputedWith) {
  Device device = this->device();
  const Array array = Array::from<float>({1, 2, 3, 4}, {2, 2}, device),
              other_array = Array::full({2, 2}, 2.0f, float32, device);
  const auto is = [](const Array& a, const std::vector<double>& values) { EXPECT_EQ(a.to_doubles(), values); };
  is(2 * array + other_array, {4, 6, 8, 10});
  is(2 * array + 3 * other_array, {8, 10, 12, 14});
  is(pow(array, 2), {1, 4, 9, 16});
  is(int_div(array, other_array), {0, 1, 1, 2});
  is(array % other_array, {1, 0, 1, 0});
  is(abs(array), {1, 2, 3, 4});
  is(eq(array, other_array), {0, 1, 0, 0});
  is(array < other_array, {1, 0, 0, 0});
  is(maximum(array, other_array), {2, 2, 3, 4});
  is(minimum(array, 0), {0, 0, 0, 0});
  is(where(array > 0, array, other_array), {1, 2, 3, 4});
  is(and_(neq(array, 0), neq(other_array, 0)), {1, 1, 1, 1});
  is(invert(array > 0), {0, 0, 0, 0});
  is(fmod(array, other_array), {1, 0, 1, 0});
  EXPECT_EQ(astype(array, float64).dtype(), float64);
  EXPECT_NEAR(exp(array).to_doubles()[0], 2.718281828, 1e-6);
  assign(other_array, exp(array));
  EXPECT_NEAR(other_array.to_doubles()[3], 54.59815, 1e-4);
  array += other_array;
  assign(array, 5);
  array.slice({{0, 2}}) *= 0.5;
  is(array, {2.5, 2.5, 2.5, 2.5});
  is(apply_elementwise(square.row(), {array}), {6.25, 6.25, 6.25, 6.25});
}

TEST_P(FromPycuda, ArraysAreReduced) {
  Device device = this->device();
  const Array array = Array::from<float>({1, 2, 3, 4}, {2, 2}, device),
              other_array = Array::full({2, 2}, 2.0f, float32, device);
  const auto is = [](const Array& a, const std::vector<double>& values) { EXPECT_EQ(a.to_doubles(), values); };
  is(sum(array), {10});
  is(sum(array, 0), {4, 6});
  is(max(array), {4});
  is(min(array, {0, 1}), {1});
  is(argmax(array), {3});
  is(mean(array), {2.5});
  is(any(array), {1});
  is(all(array), {1});
  is(vdot(array, other_array), {20});
  const Array subset = array > 2;
  is(sum(where(subset, array, 0)), {7});

  const ElementwiseKernel scale("float a, const float* x, float* z", "z[i] = a * x[i]");
  scale(5, array, other_array);
  is(other_array, {5, 10, 15, 20});
  is(scale.results(5, array).front(), {5, 10, 15, 20});
  const ReductionKernel inner({.dtype_out = float32,
                               .neutral = "0",
                               .reduce = "a + b",
                               .map = "x[i] * y[i]",
                               .arguments = "const float* x, const float* y"});
  is(inner(array, other_array), {150});
  EXPECT_EQ(inner(array, other_array).item().as_double(), 150);
  is(inner.along(0, false, array, other_array), {50, 100});
  JoinDefinition range{.dtype_out = float32,
                       .neutral = "Range{1e30f, -1e30f}",
                       .reduce = "Range{fminf(a.low, b.low), fmaxf(a.high, b.high)}",
                       .map = "Range{x[i], x[i]}",
                       .arguments = "const float* x"};
  range.preamble = "struct Range { float low, high; };";
  range.post = "a.high - a.low";
  range.*(&JoinDefinition::accumulator) = "Range";
  is(ReductionKernel(range)(array), {3});

  const InclusiveScanKernel running_sum(float32, "a + b");
  const ExclusiveScanKernel sum_before(float32, "a + b", "0");
  is(running_sum(array), {1, 3, 3, 7});
  is(sum_before(array, 0), {0, 0, 1, 2});
  is(cumsum(array), {1, 3, 6, 10});
  const InclusiveScanKernel products({.reduce = "a + b", .map = "x[i] * y[i]", .arguments = "const float* x, const float* y"});
  is(products.along(0, array, other_array), {5, 20, 50, 100});
}

TEST_P(FromPycuda, ErrorsHaveKinds) {
  Device device = this->device();
  EXPECT_THROW(Module(device, "__global__ void f() { return 1; }"), CompileError);
  EXPECT_THROW(DeviceMemory(device, std::size_t{1} << 50), OutOfMemoryError);
  const Kernel kernel = Module(device, source).kernel("scale");
  const Array x = Array::ones({n}, float32, device);
  EXPECT_THROW(kernel({.block = {4096}}, x, 2.0f, n), DeviceError);
  EXPECT_THROW(kernel({.block = {32}}, x, 2.0, n), TypeError);
}

DAMO_ON_EACH_DEVICE(FromPycuda);

std::string without_blanks(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c); });
  return text;
}

/// What stands in a comment is compiled by nobody.
std::string without_comments(const std::string& text) {
  std::string code, line;
  for (std::istringstream lines(text); std::getline(lines, line);) code += line.substr(0, line.find("//")) + "\n";
  return code;
}

std::string text_of(const std::string& file) {
  std::ifstream in(DAMO_SOURCE_DIR "/" + file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The pieces of code in a table's cell.
std::vector<std::string> code_in(const std::string& cell) {
  std::vector<std::string> pieces;
  for (std::size_t open = cell.find('`'); open != std::string::npos;) {
    const std::size_t close = cell.find('`', open + 1);
    pieces.push_back(cell.substr(open + 1, close - open - 1));
    open = cell.find('`', close + 1);
  }
  return pieces;
}

TEST(FromPycudaPage, HasOnlyCallsThatThisFileCompiles) {
  const std::string here = without_blanks(without_comments(text_of("tests/examples/from_pycuda_test.cpp")));
  std::istringstream page(text_of("docs/from_pycuda.md"));
  int calls = 0;
  for (std::string line, header; std::getline(page, line);) {
    if (!line.starts_with("|")) {
      header.clear();
      continue;
    }
    if (header.empty()) header = line;
    if (header.find("| Damo |") == std::string::npos || line == header || line.starts_with("|---")) continue;
    const std::size_t second = line.find(" | "), third = line.find(" | ", second + 1);
    for (const std::string& piece : code_in(line.substr(second, third - second))) {
      ++calls;
      EXPECT_NE(here.find(without_blanks(piece)), std::string::npos) << "not compiled: " << piece << "\nin " << line;
    }
  }
  EXPECT_GT(calls, 90);
}

}  // namespace
