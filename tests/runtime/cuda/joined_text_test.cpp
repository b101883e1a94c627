// The CUDA text of joined kernels: NVRTC takes it; and it runs on the CPU in a GPU's place, tables and all, and gives what single launches give.
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array.hpp>
#include <damo/error.hpp>

#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "runtime/cuda/text_as_cuda_c.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/kernel/joined_kernel.hpp"

namespace damo {
namespace {

/// y = x * n0 + s, z = x - y; s: one element for all.
KernelSpec spec_adding(float number) {
  const auto step = [](std::string name, std::string code, std::vector<int> inputs) {
    Step step;
    step.name = std::move(name);
    step.code = std::move(code);
    step.inputs = std::move(inputs);
    return step;
  };
  KernelSpec spec;
  spec.name = "scaled";
  spec.inputs = {float32, float32};
  spec.numbers = {Scalar(number)};
  spec.steps = {step("mul", "x0 * x1", {0, 2}), step("add", "x0 + x1", {3, 1}), step("sub", "x0 - x1", {0, 4})};
  spec.stores = {4, 5};
  spec.outputs = {float32, float32};
  return spec;
}

struct Member {
  KernelSpec spec;
  Array x, s, y, z;
  Member(std::int64_t size, float number, Device device) : spec(spec_adding(number)) {
    std::vector<float> values(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97) - 40;
    x = Array::from(values, device);
    s = Array::scalar(number + 1, device);
    y = Array::zeros({size}, float32, device);
    z = Array::zeros({size}, float32, device);
  }
  std::vector<const Array*> arrays() const { return {&x, &s, &y, &z}; }
  std::vector<ArrayLayout> layouts() const {
    std::vector<ArrayLayout> all;
    for (const Array* array : arrays()) all.push_back({&array->shape(), &array->strides()});
    return all;
  }
};

Layout joined_layout(const Member& member, bool in_place) {
  Layout layout = cuda_dialect().adapt(member.spec, classify(Geometry(member.x.shape(), member.layouts()), 2));
  layout.in_place = in_place;
  layout.joined = true;
  return layout;
}

TEST(CudaJoined, NvrtcTakesTheText) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const cuda_backend::NvrtcCompiler compiler(90);
  const Member member(100, 2, Device("null"));
  for (const bool in_place : {false, true}) {
    EXPECT_NO_THROW(compiler.compile({cuda_dialect().emit(member.spec, joined_layout(member, in_place)), SourceKind::kGenerated, "joined.cu"}));
  }
}

TEST(CudaJoined, GivesEachMemberItsOwnValuesOnCpu) {
  Device device("null");
  try {
    device = cpu();
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs the CPU back end: " << error.what();
  }
  std::vector<Member> members;
  float number = 1;
  for (const std::int64_t size : {1, 5000, 512, 513, 3}) members.emplace_back(size, number++, device);
  const Layout layout = joined_layout(members[1], false);  // one element is a scalar, which dense code reads too
  std::vector<std::byte> table;
  std::vector<std::uint32_t> map;
  const auto append = [&](const void* from, std::size_t bytes) { table.insert(table.end(), static_cast<const std::byte*>(from), static_cast<const std::byte*>(from) + bytes); };
  LaunchConfig config;
  std::int64_t begin = 0;
  for (const Member& member : members) {
    const Geometry geometry(member.x.shape(), member.layouts());
    const Work work = cuda_dialect().work(member.spec, layout, geometry, {.count = 132, .cluster = 8});
    ArgumentBlock block(member.spec, layout, geometry, cuda_dialect().vector_width(member.spec, layout), work);
    int parameter = 0;
    for (const Array* array : member.arrays()) block.set_pointer(parameter++, array->data());
    block.set_fast();
    append(block.data(), block.size());
    append(&begin, sizeof begin);
    map.insert(map.end(), static_cast<std::size_t>(work.launches[0].config.grid[0]), static_cast<std::uint32_t>(&member - members.data()));
    begin += work.launches[0].config.grid[0];
    config = work.launches[0].config;
  }
  config.grid = {begin};
  CompileRequest request;
  request.source = as_cuda_c(cuda_dialect().emit(members[0].spec, layout));
  request.kind = SourceKind::kCudaC;
  request.kernels = entry_names(members[0].spec, layout);
  const auto module = device.backend().cache().get(request);
  const void* joined[] = {table.data(), map.data()};
  void* arguments[] = {joined};
  device.backend().launch(*module->kernel(request.kernels[0]), config, arguments, nullptr);
  number = 1;
  for (const Member& member : members) {
    const auto x = member.x.to_vector<float>(), y = member.y.to_vector<float>(), z = member.z.to_vector<float>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(y[i], x[i] * number + (number + 1)) << "member " << number << " element " << i;
      ASSERT_EQ(z[i], x[i] - y[i]);
    }
    ++number;
  }
}

}  // namespace
}  // namespace damo
