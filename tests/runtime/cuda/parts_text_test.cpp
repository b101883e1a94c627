// The CUDA text of kernels whose body comes in parts (kernel/body_parts.hpp): NVRTC takes it, and run on the CPU in a GPU's place it gives what the steps give.
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array.hpp>
#include <damo/error.hpp>

#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "runtime/cuda/schedule.hpp"
#include "runtime/cuda/text_as_cuda_c.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/cache.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;

constexpr int kCount = 40;

/// With w = x: w = w * number + s, again and again, plus x in every tenth turn; y is the w half way, z the last one, t is s and v the number behind. Integers wrap, so values are exact.
KernelSpec spec_of_turns() {
  KernelSpec spec;
  spec.name = "turns";
  spec.inputs = {int32, int32};
  for (int i = 0; i <= kCount; ++i) spec.numbers.emplace_back(std::int32_t{3 + i});
  const auto add = [&](const char* name, const char* code, int a, int b) {
    Step step;
    step.name = name;
    step.code = code;
    step.compute = step.result = int32;
    step.inputs = {a, b};
    spec.steps.push_back(std::move(step));
    return spec.first_step() + static_cast<int>(spec.steps.size()) - 1;
  };
  int w = 0, half = 0;
  for (int i = 0; i < kCount; ++i) {
    w = add("add", "x0 + x1", add("mul", "x0 * x1", w, 2 + i), 1);
    if (i % 10 == 9) w = add("add", "x0 + x1", w, 0);
    if (i == kCount / 2) half = w;
  }
  spec.stores = {half, w, 1, 2 + kCount};
  spec.outputs = {int32, int32, int32, int32};
  return spec;
}

Layout layout_of(const KernelSpec& spec, const std::vector<const Array*>& arrays) {
  std::vector<ArrayLayout> all;
  for (const Array* array : arrays) all.push_back({&array->shape(), &array->strides()});
  return cuda_dialect().adapt(spec, classify(Geometry(arrays[2]->shape(), all), 2));
}

std::int32_t expected(std::int32_t x, std::int32_t s, int turns) {
  auto w = static_cast<std::uint32_t>(x);
  for (int i = 0; i < turns; ++i) w = w * static_cast<std::uint32_t>(3 + i) + static_cast<std::uint32_t>(s) + (i % 10 == 9 ? static_cast<std::uint32_t>(x) : 0u);
  return static_cast<std::int32_t>(w);
}

/// x and s may stretch over the outputs' shape.
void check(Device device, const Array& x, const Array& s, const Shape& shape) {
  const KernelSpec spec = spec_of_turns();
  std::vector<Array> outputs;
  for (int i = 0; i < 4; ++i) outputs.push_back(Array::zeros(shape, int32, device));
  const std::vector<const Array*> arrays{&x, &s, &outputs[0], &outputs[1], &outputs[2], &outputs[3]};
  const Layout layout = layout_of(spec, arrays);
  std::vector<ArrayLayout> all;
  for (const Array* array : arrays) all.push_back({&array->shape(), &array->strides()});
  const Geometry geometry(shape, all);
  const Work work = cuda_dialect().work(spec, layout, geometry, kProcessors);
  ArgumentBlock block(spec, layout, geometry, cuda_dialect().vector_width(spec, layout), work);
  int parameter = 0;
  for (const Array* array : arrays) block.set_pointer(parameter++, array->data());
  block.set_fast();
  CompileRequest request;
  const std::string text = cuda_dialect().emit(spec, layout);
  EXPECT_THAT(text, HasSubstr("part1(numbers, "));
  request.source = as_cuda_c(text);
  request.kind = SourceKind::kCudaC;
  request.kernels = entry_names(spec, layout);
  const auto module = device.backend().cache().get(request);
  void* arguments[] = {block.data()};
  device.backend().launch(*module->kernel(request.kernels[0]), work.launches[0].config, arguments, nullptr);
  const auto xs = x.broadcast_to(shape).copy().to_vector<std::int32_t>(), ss = s.broadcast_to(shape).copy().to_vector<std::int32_t>();
  const auto y = outputs[0].to_vector<std::int32_t>(), z = outputs[1].to_vector<std::int32_t>(), t = outputs[2].to_vector<std::int32_t>(), v = outputs[3].to_vector<std::int32_t>();
  for (std::size_t i = 0; i < y.size(); ++i) {
    ASSERT_EQ(y[i], expected(xs[i], ss[i], kCount / 2 + 1)) << i;
    ASSERT_EQ(z[i], expected(xs[i], ss[i], kCount)) << i;
    ASSERT_EQ(t[i], ss[i]) << i;
    ASSERT_EQ(v[i], 3 + kCount) << i;
  }
}

TEST(CudaParts, NvrtcTakesTheText) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const cuda_backend::NvrtcCompiler compiler(90);
  const KernelSpec spec = spec_of_turns();
  const Layout layout{.rank = 1, .access = std::vector<Access>(6, Access::kDense)};
  EXPECT_NO_THROW(compiler.compile({cuda_dialect().emit(spec, layout), SourceKind::kGenerated, "parts.cu"}));
}

TEST(CudaParts, GiveWhatTheStepsGiveOnCpu) {
  Device device("null");
  try {
    device = cpu();
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs the CPU back end: " << error.what();
  }
  const auto filled = [&](const Shape& shape) {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    std::vector<std::int32_t> values(count);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i * 7919 % 1009) - 300;
    return Array::from(values, device).reshape(shape);
  };
  for (const std::int64_t size : {1, 7, 512, 1023, 1024, 3000}) check(device, filled({size}), filled({size}), {size});
  check(device, filled({3000}), filled({1}), {3000});
  check(device, filled({70, 33}), filled({33}), {70, 33});
  check(device, filled({70, 64}), filled({70, 1}), {70, 64});
}

}  // namespace
}  // namespace damo
